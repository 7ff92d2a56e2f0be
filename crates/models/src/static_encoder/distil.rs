//! Distillation: vectors of tokens whose mean is near the vector that a larger encoder gives the whole text.
//!
//! Each token has gone through the encoder alone (model2vec; Tulkens and van Dongen 2024): reduced to the directions along which the
//! encoder's vectors of documents vary most, and weighed by a / (a + p), p being the share of all tokens that it is (SIF; Arora, Liang and
//! Ma 2017). That is the start. Then the vectors are fitted to the encoder's vectors of documents, as tokenlearn does it, but by ridge
//! regression: the difference between a token's vector and its start is penalised, so that the vector of a token without documents
//! does not change. Every tenth document is left out of the fit, and the penalty is chosen by the cosines of these documents.

use anyhow::Result;
use rayon::prelude::*;
use serde::Serialize;

use crate::design::{Design, TwoWay};
use crate::projection::{Axes, along};
use crate::sparse::Csr;
use inkstone_base::ensure;
use inkstone_base::job::Ctx;

/// Penalties that are tried, as multiples of the mean sum of squares of a token that occurs.
const PENALTIES: [f64; 5] = [0.01, 0.1, 1.0, 10.0, 100.0];
/// Every so many documents, one is left out to choose the penalty.
const LEFT_OUT: usize = 10;
/// The residual, as a share of its start, at which a fit ends.
const TOLERANCE: f64 = 1e-4;
const MOST_STEPS: usize = 200;
/// Fewest documents that vectors are fitted to.
pub const LEAST_DOCUMENTS: usize = 20;

/// The vectors that a contextual encoder, the teacher, gave tokens and documents, with the counts of the tokens.
pub struct Teacher<'a> {
    /// Values of a vector.
    pub width: usize,
    /// The vector of each token, read as a text of its own, `[tokens, width]`; NaN for a token without a vector.
    pub tokens: &'a [f32],
    /// Occurrences of each token in all documents.
    pub counts: &'a [u64],
    /// Vectors of documents, `[documents, width]`.
    pub documents: &'a [f32],
    /// The share of each token among the tokens of a document, `[documents, tokens]`.
    pub shares: &'a Csr,
}

/// Vectors of tokens that were learned.
pub struct Distilled {
    /// `[tokens, dim]`.
    pub vectors: Vec<f32>,
    pub figures: DistilledFigures,
}

/// Figures of a distillation.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DistilledFigures {
    pub dim: usize,
    /// The share of the variance of the documents' vectors that lies along the `dim` directions.
    pub explained_variance: f64,
    pub penalty: f64,
    /// The mean cosine between the teacher's and the static encoder's vectors of the documents that were left out, before the fit; `cosine` is
    /// the mean after the fit.
    pub cosine_before: f64,
    pub cosine: f64,
    /// The number of documents that were left out.
    pub left_out: usize,
}

/// Learns vectors of `dim` values. `sif` is the a of the weights.
pub fn distil(teacher: &Teacher<'_>, dim: usize, sif: f64, ctx: &Ctx) -> Result<Distilled> {
    let Teacher { width, documents, shares, .. } = *teacher;
    let count = documents.len() / width;
    ensure!(
        count >= LEAST_DOCUMENTS,
        "{count} 篇文档太少，学不了：至少给 {LEAST_DOCUMENTS} 篇",
        "{count} documents are too few to learn from: give at least {LEAST_DOCUMENTS}"
    );
    let axes = Axes::new(documents, width, dim.min(width), ctx)?;
    let dim = axes.directions.len();
    let targets = projected(documents, width, &axes.mean, &axes.directions, ctx);
    let mut vectors = ctx.install(|| start(teacher, &axes, sif));
    ctx.check()?;

    let of_last = |left_out: bool| (0..count).filter(move |i| (i % LEFT_OUT == LEFT_OUT - 1) == left_out);
    let (learned_on, left_out): (Vec<usize>, Vec<usize>) = (of_last(false).collect(), of_last(true).collect());
    let all = Design::from(shares.clone());
    let rows_of = |rows: &[usize]| -> Vec<f64> {
        rows.iter().flat_map(|&i| targets[i * dim..(i + 1) * dim].iter().copied()).collect()
    };
    let (learned, held) = (all.select(&learned_on), all.select(&left_out));
    let (learned_targets, held_targets) = (rows_of(&learned_on), rows_of(&left_out));

    ctx.install(|| scale(&learned, &learned_targets, dim, &mut vectors));
    let mean_cosine = |vectors: &[f64]| {
        let mut out = vec![0.0; held.rows() * dim];
        ctx.install(|| held.product(vectors, dim, &mut out));
        let cosines = out.chunks(dim).zip(held_targets.chunks(dim)).map(|(a, b)| cosine(a, b));
        cosines.sum::<f64>() / held.rows() as f64
    };
    let cosine_before = mean_cosine(&vectors);
    let unit = mean_square(shares);
    let mut best: Option<(f64, f64)> = None;
    for factor in PENALTIES {
        let fitted = ctx.install(|| fit(&learned, &learned_targets, dim, &vectors, factor * unit, ctx))?;
        let cosine = mean_cosine(&fitted);
        if best.is_none_or(|(_, most)| cosine > most) {
            best = Some((factor * unit, cosine));
        }
    }
    let (penalty, cosine) = best.unwrap_or((unit, cosine_before));
    let fitted = ctx.install(|| fit(&all, &targets, dim, &vectors, penalty, ctx))?;
    let explained_variance = axes.shares.iter().sum();
    let left_out = left_out.len();
    let figures = DistilledFigures { dim, explained_variance, penalty, cosine_before, cosine, left_out };
    Ok(Distilled { vectors: fitted.into_iter().map(|value| value as f32).collect(), figures })
}

/// The places of rows along directions, `[rows, directions]`.
fn projected(rows: &[f32], width: usize, mean: &[f64], directions: &[Vec<f64>], ctx: &Ctx) -> Vec<f64> {
    let place = |row: &[f32]| directions.iter().map(|direction| along(row, mean, direction)).collect::<Vec<f64>>();
    ctx.install(|| rows.par_chunks(width).flat_map_iter(place).collect())
}

/// The vectors of tokens before the fit, `[tokens, dim]`: less the mean of all tokens, projected on the directions, and weighed.
fn start(teacher: &Teacher<'_>, axes: &Axes, sif: f64) -> Vec<f64> {
    let Teacher { width, tokens, counts, .. } = *teacher;
    let known = |row: &[f32]| row.iter().all(|value| value.is_finite());
    // A token that does not occur counts as one that hardly does.
    let frequency = |count: u64| (count as f64).max(0.5);
    let mut mean = vec![0.0; width];
    let mut total = 0.0;
    for (row, count) in tokens.chunks(width).zip(counts).filter(|(row, _)| known(row)) {
        total += frequency(*count);
        mean.iter_mut().zip(row).for_each(|(mean, value)| *mean += frequency(*count) * f64::from(*value));
    }
    mean.iter_mut().for_each(|value| *value /= total);
    let all: f64 = counts.iter().map(|count| frequency(*count)).sum();
    let one = |(row, count): (&[f32], &u64)| -> Vec<f64> {
        if !known(row) {
            return vec![0.0; axes.directions.len()];
        }
        let weight = sif / (sif + frequency(*count) / all);
        axes.directions.iter().map(|direction| weight * along(row, &mean, direction)).collect()
    };
    tokens.par_chunks(width).zip(counts).flat_map_iter(one).collect()
}

/// Multiplies all vectors by one number, under which the means of documents are nearest to the targets.
fn scale(x: &Design, targets: &[f64], dim: usize, vectors: &mut [f64]) {
    let mut means = vec![0.0; x.rows() * dim];
    x.product(vectors, dim, &mut means);
    let (products, squares) =
        means.iter().zip(targets).fold((0.0, 0.0), |(products, squares), (a, b)| (products + a * b, squares + a * a));
    if squares > 0.0 && products > 0.0 {
        vectors.iter_mut().for_each(|value| *value *= products / squares);
    }
}

/// The mean sum of squares of a token that occurs.
fn mean_square(shares: &Csr) -> f64 {
    let squares: f64 = shares.values().iter().map(|value| f64::from(*value).powi(2)).sum();
    let mut occurs = vec![false; shares.cols()];
    shares.indices().iter().for_each(|&token| occurs[token as usize] = true);
    squares / occurs.iter().filter(|occurs| **occurs).count().max(1) as f64
}

/// The vectors V, `[tokens, dim]`, that minimise `|XV - Y|^2 + penalty |V - V0|^2`, by conjugate gradients on all columns side by side.
fn fit(x: &Design, targets: &[f64], dim: usize, from: &[f64], penalty: f64, ctx: &Ctx) -> Result<Vec<f64>> {
    let two = TwoWay::new(x);
    let mut means = vec![0.0; x.rows() * dim];
    two.product(from, dim, &mut means);
    means.iter_mut().zip(targets).for_each(|(mean, target)| *mean = target - *mean);
    let mut residual = vec![0.0; from.len()];
    two.transposed_product(&means, dim, &mut residual);
    let mut vectors = from.to_vec();
    let mut direction = residual.clone();
    let mut product = vec![0.0; from.len()];
    let mut squares = column_products(&residual, &residual, dim);
    let least: Vec<f64> = squares.iter().map(|square| square * TOLERANCE * TOLERANCE).collect();
    for _ in 0..MOST_STEPS {
        ctx.check()?;
        if squares.iter().zip(&least).all(|(square, least)| square <= least) {
            break;
        }
        two.product(&direction, dim, &mut means);
        two.transposed_product(&means, dim, &mut product);
        product.iter_mut().zip(&direction).for_each(|(product, value)| *product += penalty * value);
        let curvatures = column_products(&direction, &product, dim);
        let steps: Vec<f64> = squares.iter().zip(&curvatures).map(|(square, curve)| ratio(*square, *curve)).collect();
        let chunks = vectors.chunks_mut(dim).zip(residual.chunks_mut(dim));
        for ((vector, residual), (direction, product)) in chunks.zip(direction.chunks(dim).zip(product.chunks(dim))) {
            for c in 0..dim {
                vector[c] += steps[c] * direction[c];
                residual[c] -= steps[c] * product[c];
            }
        }
        let next = column_products(&residual, &residual, dim);
        let turns: Vec<f64> = next.iter().zip(&squares).map(|(next, square)| ratio(*next, *square)).collect();
        for (direction, residual) in direction.chunks_mut(dim).zip(residual.chunks(dim)) {
            for c in 0..dim {
                direction[c] = residual[c] + turns[c] * direction[c];
            }
        }
        squares = next;
    }
    Ok(vectors)
}

/// A share of something; 0 of nothing, as of a column that is fitted already.
fn ratio(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { part / whole } else { 0.0 }
}

/// The product of each column of two matrices `[rows, dim]`.
fn column_products(a: &[f64], b: &[f64], dim: usize) -> Vec<f64> {
    let mut sums = vec![0.0; dim];
    for (a, b) in a.chunks(dim).zip(b.chunks(dim)) {
        sums.iter_mut().zip(a.iter().zip(b)).for_each(|(sum, (a, b))| *sum += a * b);
    }
    sums
}

fn cosine(a: &[f64], b: &[f64]) -> f64 {
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    let lengths = (dot(a, a) * dot(b, b)).sqrt();
    if lengths > 0.0 { dot(a, b) / lengths } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    use super::*;

    /// Documents of a teacher whose vectors are the means of hidden vectors of tokens, and noise; alone, tokens give other vectors.
    #[test]
    fn vectors_of_tokens_come_near_to_those_behind_the_documents() {
        let (tokens, width, documents) = (60, 12, 600);
        let mut random = ChaCha8Rng::seed_from_u64(3);
        let mut normal = |scale: f32| scale * (0..12).map(|_| random.random::<f32>() - 0.5).sum::<f32>();
        let hidden: Vec<f32> = (0..tokens * width).map(|_| normal(1.0)).collect();
        let alone: Vec<f32> = hidden.iter().map(|value| value + normal(1.0)).collect();
        let (mut shares, mut vectors, mut counts) = (Csr::new(tokens), Vec::new(), vec![0u64; tokens]);
        for d in 0..documents {
            let mut of_document: Vec<u32> =
                (0..20).map(|t| ((d * 7 + t * t * 3 + t * d) % (tokens - 10)) as u32).collect();
            of_document.sort_unstable();
            of_document.iter().for_each(|&token| counts[token as usize] += 1);
            shares.push_row(of_document.chunk_by(|a, b| a == b).map(|run| (run[0], run.len() as f32 / 20.0)));
            for j in 0..width {
                let mean: f32 = of_document.iter().map(|&t| hidden[t as usize * width + j]).sum::<f32>() / 20.0;
                vectors.push(mean + normal(0.01));
            }
        }
        let teacher = Teacher { width, tokens: &alone, counts: &counts, documents: &vectors, shares: &shares };
        let ctx = Ctx::new(2, 1).unwrap();
        let found = distil(&teacher, 8, 1e-3, &ctx).unwrap();
        let figures = &found.figures;
        assert_eq!((figures.dim, figures.left_out, found.vectors.len()), (8, 60, tokens * 8));
        assert!(figures.cosine > 0.95 && figures.cosine > figures.cosine_before + 0.05, "{figures:?}");
        // Tokens that no document has stay at their start, up to the scale of all.
        let start = start(&teacher, &Axes::new(&vectors, width, 8, &ctx).unwrap(), 1e-3);
        let of_last = |values: &[f64]| values[(tokens - 1) * 8..].to_vec();
        let last: Vec<f64> = found.vectors.iter().map(|value| f64::from(*value)).collect();
        assert!((cosine(&of_last(&start), &of_last(&last)) - 1.0).abs() < 1e-5);
        let again = distil(&teacher, 8, 1e-3, &Ctx::new(1, 1).unwrap()).unwrap();
        assert_eq!(again.vectors, found.vectors, "the same bytes with any number of threads");
    }

    #[test]
    fn the_fit_is_where_its_derivatives_vanish() {
        let mut x = Csr::new(3);
        x.push_row([(0, 1.0), (1, 0.5)]);
        x.push_row([(1, 1.0)]);
        let (targets, from) = (vec![1.0, 2.0, 3.0, -1.0], vec![0.1, 0.0, 0.2, 0.3, 0.5, -0.5]);
        let ctx = Ctx::new(1, 1).unwrap();
        let design = Design::from(x.clone());
        let fitted = ctx.install(|| fit(&design, &targets, 2, &from, 0.3, &ctx)).unwrap();
        for c in 0..2 {
            let off = |i: usize| -> f64 {
                x.row(i).iter().map(|(j, v)| f64::from(v) * fitted[j as usize * 2 + c]).sum::<f64>()
                    - targets[i * 2 + c]
            };
            for token in 0..3 {
                let of_data: f64 = (0..2)
                    .map(|i| {
                        x.row(i).iter().filter(|(j, _)| *j == token).map(|(_, v)| f64::from(v) * off(i)).sum::<f64>()
                    })
                    .sum();
                let at = token as usize * 2 + c;
                assert!((of_data + 0.3 * (fitted[at] - from[at])).abs() < 1e-3, "{fitted:?}");
            }
        }
        assert_eq!(fitted[4..], from[4..], "no document has the last token");
    }
}
