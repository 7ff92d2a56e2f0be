//! Positive pointwise mutual information, and word vectors by its singular value decomposition.
//!
//! Levy, Goldberg and Dagan (2015), "Improving distributional similarity": the cell of a word `w` and a context `c` is
//! `max(0, ln(#(w,c) x Z / (#(w) x #(c)^cds)) - ln(neg))` where `Z` is the sum of `#(c)^cds` over all contexts, natural
//! logarithms. With the decomposition `U S V'` of that matrix a word's vector is its row of `U S^eig`.

use std::path::Path;

use anyhow::Result;
use rayon::prelude::*;

use super::Cooccurrence;
use crate::svd::{project, truncated};
use crate::{Row, RowsWriter, SparseRows, SvdParams};
use inkstone_base::ensure;
use inkstone_base::job::Ctx;

params! {
    /// Parameters of PPMI and of its vectors, under the names that they have in hyperwords.
    pub struct PpmiParams {
        /// Negative samples that the matrix stands for; the logarithm is taken off each cell.
        ///
        /// 矩阵所对应的负样本数；每格减去其对数。
        neg: f64 = 1.0, number("N", "--weight");
        /// Exponent of the contexts' counts; below 1, rare contexts weigh less.
        ///
        /// 上下文计数的指数；小于 1 时少见的上下文权重更低。
        cds: f64 = 0.75, number("X", "--weight");
        /// Exponent of the singular values in the vectors.
        ///
        /// 向量中奇异值的指数。
        eig: f64 = 0.5, number("X", "--weight");
        svd: SvdParams = SvdParams::default(), command(flatten);
    }
}

impl PpmiParams {
    fn check(&self) -> Result<()> {
        ensure!(
            self.neg >= 1.0 && self.neg.is_finite(),
            "neg = {} 小于 1；1 表示不减",
            "neg = {} is not at least 1; 1 takes nothing off",
            self.neg
        );
        ensure!(
            self.cds > 0.0 && self.cds <= 1.0,
            "cds = {} 须大于 0 且不超过 1；通常为 0.75",
            "cds = {} is not above 0 and at most 1; 0.75 is usual",
            self.cds
        );
        ensure!(
            (0.0..=1.0).contains(&self.eig),
            "eig = {} 须在 0 到 1 之间；通常为 0.5",
            "eig = {} is not between 0 and 1; 0.5 is usual",
            self.eig
        );
        Ok(())
    }
}

/// The matrix of positive pointwise mutual information, `[words, contexts]`.
pub struct Ppmi {
    pub(super) rows: SparseRows,
}

/// Vectors of words, and what the decomposition says of itself.
pub struct Vectors {
    /// `[words, dim]`, row by row.
    pub rows: Vec<f32>,
    pub singular_values: Vec<f64>,
    /// By how much, as a share, the singular values may be too small.
    pub error: f64,
}

impl Ppmi {
    /// The matrix of counted pairs; a scratch file, if need be, is made in `folder`.
    pub fn new(counts: &Cooccurrence, params: &PpmiParams, folder: &Path, ctx: &Ctx) -> Result<Ppmi> {
        params.check()?;
        let smoothed: Vec<f64> = counts.sums.iter().map(|sum| sum.powf(params.cds)).collect();
        // The part of the formula that is the context's own.
        let total = (smoothed.iter().sum::<f64>() / params.neg).ln();
        let of_context: Vec<f64> = smoothed.iter().map(|sum| total - sum.ln()).collect();
        let mut rows = RowsWriter::new(counts.rows.cols(), folder);
        let (mut indices, mut values) = (Vec::new(), Vec::new());
        let mut words = counts.sums.iter().map(|sum| sum.ln());
        for block in 0..counts.rows.blocks() {
            ctx.check()?;
            for (row, of_word) in counts.rows.block(block).zip(&mut words) {
                indices.clear();
                values.clear();
                for (j, count) in row.iter() {
                    let value = (f64::from(count).ln() - of_word + of_context[j as usize]) as f32;
                    if value > 0.0 {
                        indices.push(j);
                        values.push(value);
                    }
                }
                rows.push(Row { indices: &indices, values: &values })?;
            }
        }
        Ok(Ppmi { rows: rows.finish()? })
    }

    /// Writes the matrix as `.npz`, rows and columns under their words.
    pub fn write_npz(&self, path: &Path, words: &[Box<str>], ctx: &Ctx) -> Result<()> {
        super::write_words(&self.rows, path, words, ctx)
    }

    /// Cells above 0.
    pub fn cells(&self) -> u64 {
        self.rows.entries()
    }

    pub fn vectors(&self, params: &PpmiParams, ctx: &Ctx) -> Result<Vectors> {
        params.check()?;
        self.rows.check(params.svd.dim, "words", "contexts")?;
        let svd = truncated(&self.rows, &params.svd, ctx)?;
        let dim = params.svd.dim;
        // The matrix times the right vectors is U S.
        let scales: Vec<f32> = svd.singular_values.iter().map(|s| s.powf(params.eig - 1.0) as f32).collect();
        let blocks: Vec<Vec<f32>> = ctx.install(|| {
            let block = |i: usize| {
                ctx.check()?;
                let mut out = Vec::new();
                for row in self.rows.block(i) {
                    let start = out.len();
                    out.resize(start + dim, 0.0);
                    project(row, &svd.right, &mut out[start..]);
                    out[start..].iter_mut().zip(&scales).for_each(|(v, scale)| *v *= scale);
                }
                Ok(out)
            };
            (0..self.rows.blocks()).into_par_iter().map(block).collect::<Result<_>>()
        })?;
        Ok(Vectors { rows: blocks.concat(), singular_values: svd.singular_values, error: svd.error })
    }
}
