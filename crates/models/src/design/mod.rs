//! Rows of features: a sparse part and, beside it, a standardised view of dense rows.
//!
//! The columns of the dense part come after those of the sparse part. Every solver takes a [`Design`]; on sparse rows alone
//! (`Design::from(csr)`) it computes what it would without a dense part, to the last bit. [`StackedRows`](crate::StackedRows) makes the designs of folds.

mod dense;
mod folds;
mod gram;
mod products;

use std::sync::Arc;

use crate::sparse::{Csr, Row, product, weighed_sum};
pub(crate) use dense::DenseView;
pub use dense::{DenseRows, Scaling, SpilledDense};
pub use folds::FoldFeatures;
pub(crate) use products::dot_wide;
use products::{add_scaled, scaled_dot};

/// Dense columns that are read from the rows at once.
const COLUMNS_AT_ONCE: usize = 16;

/// Rows of features, `[rows, cols]`.
#[derive(Clone, Debug, Default)]
pub struct Design {
    sparse: Csr,
    dense: Option<DenseView>,
}

impl From<Csr> for Design {
    fn from(sparse: Csr) -> Design {
        Design { sparse, dense: None }
    }
}

impl Design {
    /// Both parts have the same number of rows.
    pub(crate) fn new(sparse: Csr, dense: Option<DenseView>) -> Design {
        debug_assert!(dense.as_ref().is_none_or(|dense| dense.rows.len() == sparse.rows()));
        Design { sparse, dense }
    }

    /// Dense rows alone, all of them, under a scaling of as many columns.
    pub fn of_dense(rows: &DenseRows, scaling: &Arc<Scaling>) -> Design {
        let all: Vec<usize> = (0..rows.rows()).collect();
        Design::new(without_columns(all.len()), Some(DenseView::new(rows, &all, scaling)))
    }

    pub fn rows(&self) -> usize {
        self.sparse.rows()
    }

    /// Columns of both parts.
    pub fn cols(&self) -> usize {
        self.sparse.cols() + self.dense_cols()
    }

    /// Columns of the dense part, which come last.
    pub(crate) fn dense_cols(&self) -> usize {
        self.dense.as_ref().map_or(0, DenseView::dim)
    }

    /// Values that the sparse part stores.
    pub(crate) fn stored(&self) -> usize {
        self.sparse.values().len()
    }

    pub fn row(&self, i: usize) -> DesignRow<'_> {
        let dense = self.dense.as_ref().map(|dense| (dense.row(i), &*dense.scaling));
        DesignRow { sparse: self.sparse.row(i), first_dense: self.sparse.cols() as u32, dense }
    }

    pub(crate) fn dense(&self) -> Option<&DenseView> {
        self.dense.as_ref()
    }

    /// True if a row has a value of any input.
    pub(crate) fn has_value(&self, i: usize) -> bool {
        !self.sparse.row(i).indices.is_empty() || self.dense.as_ref().is_some_and(|dense| dense.has_value(i))
    }

    /// Some rows, in this order, with the same columns and scaling.
    pub(crate) fn select(&self, rows: &[usize]) -> Design {
        let mut sparse = Csr::new(self.sparse.cols());
        rows.iter().for_each(|&i| sparse.push_row(self.sparse.row(i).iter()));
        Design { sparse, dense: self.dense.as_ref().map(|dense| dense.select(rows)) }
    }

    /// The product with weights `[cols, k]`, into `[rows, k]`. Call inside `Ctx::install`.
    pub(crate) fn product(&self, weights: &[f64], k: usize, out: &mut [f64]) {
        product(&self.sparse, weights, k, out);
        self.add_dense_product(weights, k, out);
    }

    fn add_dense_product(&self, weights: &[f64], k: usize, out: &mut [f64]) {
        if let Some(dense) = &self.dense {
            dense.add_product(&weights[self.sparse.cols() * k..], k, out);
        }
    }
}

/// Sparse rows without columns.
pub(crate) fn without_columns(rows: usize) -> Csr {
    let mut empty = Csr::new(0);
    (0..rows).for_each(|_| empty.push_row([]));
    empty
}

/// A row of a [`Design`].
#[derive(Clone, Copy, Debug)]
pub struct DesignRow<'a> {
    sparse: Row<'a>,
    /// The first dense column.
    first_dense: u32,
    dense: Option<(&'a [f32], &'a Scaling)>,
}

impl<'a> From<Row<'a>> for DesignRow<'a> {
    fn from(sparse: Row<'a>) -> DesignRow<'a> {
        DesignRow { sparse, first_dense: u32::MAX, dense: None }
    }
}

impl<'a> DesignRow<'a> {
    /// Pairs of column and value: those that the sparse part stores, then all of the dense part, standardised.
    pub fn iter(&self) -> impl Iterator<Item = (u32, f64)> + use<'a> {
        let DesignRow { sparse, first_dense, dense } = *self;
        let stored = sparse.iter().map(|(j, value)| (j, f64::from(value)));
        let scaled = dense.into_iter().flat_map(move |(values, scaling)| {
            values.iter().enumerate().map(move |(j, value)| (first_dense + j as u32, scaling.scale(j, *value)))
        });
        stored.chain(scaled)
    }

    /// The stored values of the sparse part.
    pub(crate) fn sparse(&self) -> Row<'a> {
        self.sparse
    }

    /// Writes the values of the dense part, standardised, as the numbers that they become.
    #[inline(always)]
    pub(crate) fn write_dense<T>(&self, out: &mut [T], number: impl Fn(f64) -> T) {
        let Some((values, scaling)) = self.dense else { return };
        out.iter_mut().zip(scaling.scaled(values)).for_each(|(out, value)| *out = number(value));
    }

    /// The value of a column of the dense part, given its number among all columns; `None` if it is not of that part.
    pub(crate) fn dense_value(&self, column: u32) -> Option<f64> {
        let (values, scaling) = self.dense?;
        let j = column.checked_sub(self.first_dense)? as usize;
        values.get(j).map(|value| scaling.scale(j, *value))
    }

    /// The sum of value times weight.
    pub(crate) fn dot(&self, weights: &[f64]) -> f64 {
        let sum = self.sparse.dot(weights);
        let Some((values, scaling)) = self.dense else { return sum };
        sum + scaled_dot(values, scaling, &weights[self.first_dense as usize..])
    }

    /// Adds the row times a factor to a sum of columns.
    pub(crate) fn add_to(&self, by: f64, sums: &mut [f64]) {
        for (j, value) in self.sparse.iter() {
            sums[j as usize] += by * f64::from(value);
        }
        if let Some((values, scaling)) = self.dense {
            add_scaled(values, scaling, by, &mut sums[self.first_dense as usize..]);
        }
    }
}

/// A design and its sparse part transposed: products both ways, in which each element is summed in an order that does not depend on
/// the threads. Call all inside `Ctx::install`.
pub(crate) struct TwoWay<'a> {
    pub(crate) x: &'a Design,
    pub(crate) transposed: Csr,
}

impl<'a> TwoWay<'a> {
    pub(crate) fn new(x: &'a Design) -> TwoWay<'a> {
        TwoWay { x, transposed: x.sparse.transpose() }
    }

    /// The product with weights `[cols, k]`, into `[rows, k]`.
    pub(crate) fn product(&self, weights: &[f64], k: usize, out: &mut [f64]) {
        multiply(&self.x.sparse, weights, k, out);
        self.x.add_dense_product(weights, k, out);
    }

    /// The sum over rows of `b_i x_i`, into `out`, `[cols]`, where `b_i = weigh(i, x_i w)` and w are the weights. Returns the sum of the b_i.
    /// `between`, `[rows]`, is scratch memory.
    pub(crate) fn weighed_sum(
        &self,
        weights: &[f64],
        weigh: impl Fn(usize, f64) -> f64 + Sync,
        between: &mut [f64],
        out: &mut [f64],
    ) -> f64 {
        if self.x.dense.is_none() {
            return weighed_sum(&self.x.sparse, weights, weigh, out);
        }
        self.product(weights, 1, between);
        between.iter_mut().enumerate().for_each(|(i, number)| *number = weigh(i, *number));
        self.transposed_product(between, 1, out);
        between.iter().sum()
    }

    /// The product of the transpose with `by`, `[rows, k]`, into `[cols, k]`.
    pub(crate) fn transposed_product(&self, by: &[f64], k: usize, out: &mut [f64]) {
        let (sparse, dense) = out.split_at_mut(self.x.sparse.cols() * k);
        multiply(&self.transposed, by, k, sparse);
        if let Some(view) = &self.x.dense {
            view.transposed_product(by, k, dense);
        }
    }

    /// The sums over rows of `by`, `[rows, k]`, times the squared value, for the columns of the sparse part, `[columns, k]`.
    pub(crate) fn sparse_squares(&self, by: &[f64], k: usize) -> Vec<f64> {
        let mut out = Vec::with_capacity(self.x.cols() * k);
        for j in 0..self.transposed.rows() {
            let column = self.transposed.row(j);
            out.extend(
                (0..k).map(|c| column.iter().map(|(i, v)| by[i as usize * k + c] * f64::from(v).powi(2)).sum::<f64>()),
            );
        }
        out
    }
}

fn multiply(x: &Csr, by: &[f64], k: usize, out: &mut [f64]) {
    match k {
        1 => x.dot_into(by, out),
        _ => product(x, by, k, out),
    }
}

/// Reads single columns; those of the dense part come sixteen at a time from the rows, so it pays to ask for neighbours.
#[derive(Debug, Default)]
pub(crate) struct ColumnReader {
    /// The first column that `values` holds, and the end.
    held: std::ops::Range<usize>,
    /// `[columns, rows]`.
    values: Vec<f64>,
}

impl ColumnReader {
    /// The values of a column of the dense part, by row.
    pub(crate) fn dense(&mut self, view: &DenseView, column: usize) -> &[f64] {
        let rows = view.rows.len();
        if !self.held.contains(&column) {
            let first = column / COLUMNS_AT_ONCE * COLUMNS_AT_ONCE;
            self.held = first..view.dim().min(first + COLUMNS_AT_ONCE);
            self.values.resize(rows * self.held.len(), 0.0);
            view.read_columns(first, &mut self.values);
        }
        &self.values[(column - self.held.start) * rows..][..rows]
    }
}

#[cfg(test)]
mod tests;
