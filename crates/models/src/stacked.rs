//! Inputs side by side, fitted to the rows that train: term counts, sparse blocks as they are, dense columns standardised.

use std::sync::Arc;

use anyhow::Result;
use serde::{Deserialize, Serialize};

use super::design::{DenseRows, DenseView, Design, FoldFeatures, Scaling, without_columns};
use super::sparse::Csr;
use super::validation::Split;
use super::vectorize::{FoldCounts, Weighting, choose_terms, weigh_rows};

use inkstone_base::ensure;
use inkstone_base::language::Word;

/// Inputs with one row a sample each. A fold takes everything that is fitted from the rows that train: the terms of `counts` and their
/// weights, and the means and deviations of `dense`, in which a missing value (NaN) counts as the mean.
///
/// The columns are those of the terms, then of the sparse blocks, then the dense ones.
#[derive(Clone, Default)]
pub struct StackedRows<'a> {
    pub counts: Option<FoldCounts<'a>>,
    /// Blocks of sparse columns, taken as they are.
    pub sparse: Vec<&'a Csr>,
    pub dense: Option<&'a DenseRows>,
}

/// The origin of a column of a design.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum InputColumn {
    /// A term, by its token id.
    Term(u32),
    /// A column of a sparse block.
    Sparse {
        /// Number of the block in [`StackedRows::sparse`].
        block: usize,
        column: u32,
    },
    /// A column of the dense rows.
    Dense(u32),
}

/// Terms, weights and scales that were fitted to the training rows.
#[derive(Clone, Debug, Default)]
pub(crate) struct FittedInputs {
    /// The token id of each column of terms, ascending.
    pub(crate) terms: Vec<u32>,
    weighting: Option<Weighting>,
    /// The columns of each sparse block.
    widths: Vec<usize>,
    scaling: Option<Arc<Scaling>>,
}

impl FittedInputs {
    /// The origin of a column.
    pub(crate) fn column(&self, j: u32) -> InputColumn {
        if let Some(&id) = self.terms.get(j as usize) {
            return InputColumn::Term(id);
        }
        let mut column = j - self.terms.len() as u32;
        for (block, &width) in self.widths.iter().enumerate() {
            if (column as usize) < width {
                return InputColumn::Sparse { block, column };
            }
            column -= width as u32;
        }
        InputColumn::Dense(column)
    }
}

impl<'a> StackedRows<'a> {
    pub fn of_counts(counts: FoldCounts<'a>) -> StackedRows<'a> {
        StackedRows { counts: Some(counts), ..StackedRows::default() }
    }

    pub fn of_dense(dense: &'a DenseRows) -> StackedRows<'a> {
        StackedRows { dense: Some(dense), ..StackedRows::default() }
    }

    /// The number of rows of each input.
    fn row_counts(&self) -> impl Iterator<Item = (Word, usize)> {
        let counts = self.counts.iter().map(|counts| (Word("词频", "the token counts"), counts.counts.rows()));
        let sparse = self.sparse.iter().map(|block| (Word("稀疏块", "a sparse block"), block.rows()));
        counts.chain(sparse).chain(self.dense.iter().map(|dense| (Word("稠密行", "the dense rows"), dense.rows())))
    }

    /// Fails unless each input has this number of rows.
    pub(crate) fn check(&self, samples: usize) -> Result<()> {
        ensure!(
            self.row_counts().next().is_some(),
            "没有可学习的输入：既没有词项，也没有其他列",
            "there are no inputs to learn from: neither terms nor other columns"
        );
        for (input, rows) in self.row_counts() {
            ensure!(
                rows == samples,
                "{samples} 个样本，而 {input} 有 {rows} 行：每个样本须有一行",
                "{samples} samples, but {rows} rows of {input}: one row a sample is needed"
            );
        }
        Ok(())
    }

    /// Fits the inputs to the rows that train. Call inside `Ctx::install`.
    pub(crate) fn fit(&self, train: &[usize]) -> Result<FittedInputs> {
        let (mut terms, mut weighting) = (Vec::new(), None);
        if let Some(FoldCounts { counts, titles, params, ctx }) = self.counts {
            let (chosen, fitted) = choose_terms(counts, titles, train, params, ctx)?;
            (terms, weighting) = (chosen, Some(fitted));
        }
        let widths = self.sparse.iter().map(|block| block.cols()).collect();
        let scaling = self.dense.map(|dense| Arc::new(Scaling::of(dense, train)));
        Ok(FittedInputs { terms, weighting, widths, scaling })
    }

    /// Some rows under inputs that were fitted.
    pub(crate) fn design(&self, fitted: &FittedInputs, rows: &[usize]) -> Result<Design> {
        let mut x = match (self.counts, &fitted.weighting) {
            (Some(FoldCounts { counts, ctx, .. }), Some(weighting)) => {
                weigh_rows(counts, rows, &fitted.terms, weighting, ctx)?
            }
            _ => without_columns(rows.len()),
        };
        for block in &self.sparse {
            x = beside(&x, block, rows);
        }
        let view = self.dense.zip(fitted.scaling.as_ref()).map(|(dense, scaling)| DenseView::new(dense, rows, scaling));
        Ok(Design::new(x, view))
    }
}

/// Some rows of a block at the right of `x`.
fn beside(x: &Csr, block: &Csr, rows: &[usize]) -> Csr {
    let first = x.cols() as u32;
    let mut both = Csr::new(x.cols() + block.cols());
    for (at, &i) in rows.iter().enumerate() {
        both.push_row(x.row(at).iter().chain(block.row(i).iter().map(|(j, value)| (first + j, value))));
    }
    both
}

impl FoldFeatures for StackedRows<'_> {
    fn count(&self) -> usize {
        self.row_counts().next().map_or(0, |(_, rows)| rows)
    }

    fn fold(&self, split: &Split) -> Result<(Design, Design)> {
        self.check(self.count())?;
        let fitted = self.fit(&split.train)?;
        Ok((self.design(&fitted, &split.train)?, self.design(&fitted, &split.test)?))
    }
}

/// Some rows of a stack, numbered from 0.
pub(crate) struct StackedSubset<'a> {
    pub(crate) stack: &'a StackedRows<'a>,
    pub(crate) rows: &'a [usize],
}

impl FoldFeatures for StackedSubset<'_> {
    fn count(&self) -> usize {
        self.rows.len()
    }

    fn fold(&self, split: &Split) -> Result<(Design, Design)> {
        let rows = |rows: &[usize]| rows.iter().map(|&i| self.rows[i]).collect();
        self.stack.fold(&Split { train: rows(&split.train), test: rows(&split.test), ..Split::default() })
    }
}
