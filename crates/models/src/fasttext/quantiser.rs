//! A product quantiser: vectors are cut into parts of a few values, and each part is one of 256 centroids.
//!
//! Jégou, Douze, Schmid (2011), Product Quantization for Nearest Neighbor Search; k-means and layout as in fastText.
//! Parts are learned apart, each with its own seed, so the result does not depend on the number of threads.

use anyhow::Result;
use rayon::prelude::*;

use crate::random::Random;
use inkstone_base::ensure;
use inkstone_base::job::Ctx;

/// Centroids of a part: as many as a byte tells apart.
const CENTROIDS: usize = 256;
/// Rounds of k-means.
const ROUNDS: usize = 25;
/// Vectors that centroids are learned from at the most.
const POINTS: usize = 256 * CENTROIDS;
/// By how much a centroid and its split-off differ.
const SPLIT: f32 = 1e-7;

/// Centroids, part by part.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Quantiser {
    dim: usize,
    /// Values of a part; the last may be shorter.
    width: usize,
    /// `[parts, 256, width]`, the last part `[256, rest]`.
    centroids: Vec<f32>,
}

impl Quantiser {
    /// The quantiser from the numbers of a file.
    pub(super) fn new(dim: usize, width: usize, centroids: Vec<f32>) -> Result<Quantiser> {
        ensure!(
            dim > 0 && (1..=dim).contains(&width),
            "不能有 {dim} 维、按 {width} 分段的量化器",
            "a quantiser of {dim} values in parts of {width} cannot be"
        );
        ensure!(
            centroids.len() == dim * CENTROIDS,
            "{} 个值不是 {dim} 维的质心",
            "{} values are no centroids of {dim}",
            centroids.len()
        );
        Ok(Quantiser { dim, width, centroids })
    }

    pub(super) fn dim(&self) -> usize {
        self.dim
    }

    pub(super) fn width(&self) -> usize {
        self.width
    }

    pub(super) fn parts(&self) -> usize {
        self.dim.div_ceil(self.width)
    }

    pub(super) fn centroids(&self) -> &[f32] {
        &self.centroids
    }

    /// Values of a part.
    fn width_of(&self, part: usize) -> usize {
        self.width.min(self.dim - part * self.width)
    }

    /// A centroid of a part.
    pub(super) fn centroid(&self, part: usize, code: u8) -> &[f32] {
        let width = self.width_of(part);
        &self.centroids[part * CENTROIDS * self.width + code as usize * width..][..width]
    }

    /// Learns centroids of vectors `[n, dim]`, and gives each vector's codes `[n, parts]`.
    pub(super) fn learn(x: &[f32], dim: usize, width: usize, seed: u64, ctx: &Ctx) -> Result<(Quantiser, Vec<u8>)> {
        let n = x.len() / dim;
        ensure!(
            n >= CENTROIDS,
            "量化需要 {CENTROIDS} 行词与 n 元组，而模型有 {n} 行：请保持原样，或提供更多文本",
            "quantisation needs {CENTROIDS} rows of words and n-grams, and the model has {n}: keep it as it is, or give it more text"
        );
        ensure!(width > 0, "每段至少一个值（--dsub）", "a part has at least one value (--dsub)");
        let width = width.min(dim);
        let parts = dim.div_ceil(width);
        let learned = ctx.install(|| {
            let each = (0..parts).into_par_iter().map(|part| {
                let from = part * width;
                let to = (from + width).min(dim);
                let column = |rows: &[usize]| -> Vec<f32> {
                    rows.iter().flat_map(|row| &x[row * dim + from..row * dim + to]).copied().collect()
                };
                let mut draw = Random::new([seed, part as u64, 0]);
                let mut order: Vec<usize> = (0..n).collect();
                draw.shuffle(&mut order);
                order.truncate(POINTS);
                let centroids = means(&column(&order), to - from, &mut draw, ctx)?;
                let codes = (0..n).map(|row| nearest(&x[row * dim + from..row * dim + to], &centroids));
                ctx.check()?;
                Ok((centroids.clone(), codes.collect::<Vec<u8>>()))
            });
            each.collect::<Result<Vec<_>>>()
        })?;
        let codes = (0..n).flat_map(|row| learned.iter().map(move |(_, codes)| codes[row])).collect();
        let centroids = learned.iter().flat_map(|(centroids, _)| centroids).copied().collect();
        Ok((Quantiser { dim, width, centroids }, codes))
    }
}

/// The centroid that lies nearest, the first of equals.
fn nearest(x: &[f32], centroids: &[f32]) -> u8 {
    let distance = |c: &[f32]| x.iter().zip(c).map(|(x, c)| (x - c) * (x - c)).sum::<f32>();
    let mut best = (0, distance(&centroids[..x.len()]));
    for (code, centroid) in centroids.chunks_exact(x.len()).enumerate().skip(1) {
        let d = distance(centroid);
        if d < best.1 {
            best = (code, d);
        }
    }
    best.0 as u8
}

/// The centroids of vectors in random order.
fn means(x: &[f32], width: usize, draw: &mut Random, ctx: &Ctx) -> Result<Vec<f32>> {
    let mut centroids = x[..CENTROIDS * width].to_vec();
    for _ in 0..ROUNDS {
        ctx.check()?;
        let mut sums = vec![0.0f32; CENTROIDS * width];
        let mut sizes = vec![0u32; CENTROIDS];
        for x in x.chunks_exact(width) {
            let code = nearest(x, &centroids) as usize;
            sums[code * width..][..width].iter_mut().zip(x).for_each(|(sum, x)| *sum += x);
            sizes[code] += 1;
        }
        for (sum, &size) in sums.chunks_exact_mut(width).zip(&sizes).filter(|(_, size)| **size > 0) {
            sum.iter_mut().for_each(|sum| *sum /= size as f32);
        }
        // An empty one takes half of another, drawn by size.
        for empty in 0..CENTROIDS {
            if sizes[empty] > 0 {
                continue;
            }
            let left = (x.len() / width).saturating_sub(CENTROIDS) as f32;
            let mut from = 0;
            while draw.unit() * left >= sizes[from] as f32 - 1.0 {
                from = (from + 1) % CENTROIDS;
            }
            for j in 0..width {
                let by = if j % 2 == 0 { -SPLIT } else { SPLIT };
                sums[empty * width + j] = sums[from * width + j] + by;
                sums[from * width + j] -= by;
            }
            sizes[empty] = sizes[from] / 2;
            sizes[from] -= sizes[empty];
        }
        centroids = sums;
    }
    Ok(centroids)
}
