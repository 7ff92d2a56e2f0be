//! Sparse rows: a compressed matrix `[rows, cols]` of f32 values at u32 columns, as in scipy's CSR.
//!
//! Columns ascend within a row and are unique. Eight bytes a stored value, so 200,000 documents of 150 distinct words
//! take 240 MB; those of a whole corpus lie in a file ([`SpilledCsr`]). Products are computed in f64; each output element
//! is summed by one thread in column order, so the bytes of a result do not depend on the number of threads.

mod product;
mod spilled;

use rayon::prelude::*;

pub(crate) use product::{product, weighed_sum};
pub(crate) use spilled::Numbers;
pub use spilled::SpilledCsr;

/// Rows that one task computes at the least: below this the hand-over to another thread costs more than the sum.
const ROWS_PER_TASK: usize = 256;

/// A sparse matrix by rows.
#[derive(Clone, Debug, PartialEq)]
pub struct Csr {
    indptr: Vec<usize>,
    indices: Numbers<u32>,
    values: Numbers<f32>,
    cols: usize,
}

/// One row of a [`Csr`]: columns, ascending, and the values there.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Row<'a> {
    /// Columns, ascending and unique.
    pub indices: &'a [u32],
    /// The values at these columns.
    pub values: &'a [f32],
}

impl<'a> Row<'a> {
    /// The sum of value times weight at the value's column.
    pub fn dot(&self, weights: &[f64]) -> f64 {
        self.iter().map(|(j, value)| f64::from(value) * weights[j as usize]).sum()
    }

    /// The sum of the products of two rows' values in the columns that both have.
    pub fn product(&self, other: &Row<'_>) -> f64 {
        let (mut sum, mut others) = (0.0, other.iter().peekable());
        for (column, value) in self.iter() {
            while others.next_if(|(other, _)| *other < column).is_some() {}
            if let Some((_, other)) = others.next_if(|(other, _)| *other == column) {
                sum += f64::from(value) * f64::from(other);
            }
        }
        sum
    }

    /// Pairs of column and value.
    pub fn iter(&self) -> impl Iterator<Item = (u32, f32)> + Clone + use<'a> {
        self.indices.iter().copied().zip(self.values.iter().copied())
    }
}

impl Default for Csr {
    fn default() -> Csr {
        Csr::new(0)
    }
}

impl Csr {
    /// A matrix of no rows and at least `cols` columns; a row with a higher column widens it.
    pub fn new(cols: usize) -> Csr {
        Csr { indptr: vec![0], indices: Numbers::Held(Vec::new()), values: Numbers::Held(Vec::new()), cols }
    }

    /// The offset of each row in [`Csr::indices`], and the end of the last row.
    pub fn indptr(&self) -> &[usize] {
        &self.indptr
    }

    /// The columns of all rows, one after another.
    pub fn indices(&self) -> &[u32] {
        &self.indices
    }

    /// The values at these columns.
    pub fn values(&self) -> &[f32] {
        &self.values
    }

    pub fn rows(&self) -> usize {
        self.indptr.len() - 1
    }

    pub fn cols(&self) -> usize {
        self.cols
    }

    pub fn row(&self, i: usize) -> Row<'_> {
        let range = self.indptr[i]..self.indptr[i + 1];
        Row { indices: &self.indices[range.clone()], values: &self.values[range] }
    }

    /// Adds a row; its columns must ascend strictly.
    pub fn push_row(&mut self, entries: impl IntoIterator<Item = (u32, f32)>) {
        let (indices, values) = (self.indices.held(), self.values.held());
        let start = indices.len();
        for (j, value) in entries {
            debug_assert!(indices[start..].last().is_none_or(|&last| last < j), "columns of a row must ascend");
            indices.push(j);
            values.push(value);
        }
        if let Some(&last) = indices[start..].last() {
            self.cols = self.cols.max(last as usize + 1);
        }
        self.indptr.push(indices.len());
    }

    /// Adds a row that counts these token ids, which it sorts.
    pub fn push_counts(&mut self, ids: &mut [u32]) {
        ids.sort_unstable();
        self.push_row(ids.chunk_by(|a, b| a == b).map(|run| (run[0], run.len() as f32)));
    }

    /// The product with a vector of `cols` weights: one number a row. Call inside `Ctx::install`.
    pub fn dot(&self, weights: &[f64]) -> Vec<f64> {
        let mut out = vec![0.0; self.rows()];
        self.dot_into(weights, &mut out);
        out
    }

    /// [`Csr::dot`] into a vector of `rows` numbers.
    pub(crate) fn dot_into(&self, weights: &[f64], out: &mut [f64]) {
        assert!(weights.len() >= self.cols, "{} weights for {} columns", weights.len(), self.cols);
        out.par_iter_mut().with_min_len(ROWS_PER_TASK).enumerate().for_each(|(i, y)| *y = self.row(i).dot(weights));
    }

    /// The transposed matrix. The product of a transposed matrix is a plain [`Csr::dot`] of this one: solvers keep
    /// both, because adding rows into one shared vector would make the sum's order depend on the threads.
    pub fn transpose(&self) -> Csr {
        let mut indptr = vec![0usize; self.cols + 1];
        for &j in self.indices() {
            indptr[j as usize + 1] += 1;
        }
        for j in 0..self.cols {
            indptr[j + 1] += indptr[j];
        }
        let mut next = indptr.clone();
        let mut indices = vec![0u32; self.indices.len()];
        let mut values = vec![0f32; self.values.len()];
        for i in 0..self.rows() {
            for (j, value) in self.row(i).iter() {
                let slot = &mut next[j as usize];
                indices[*slot] = i as u32;
                values[*slot] = value;
                *slot += 1;
            }
        }
        Csr { indptr, indices: Numbers::Held(indices), values: Numbers::Held(values), cols: self.rows() }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn small() -> Csr {
        let mut m = Csr::new(4);
        m.push_row([(0, 1.0), (2, 2.0)]);
        m.push_row([]);
        m.push_row([(2, -1.0)]);
        m
    }

    #[test]
    fn products_are_those_of_the_dense_matrix() {
        let m = small();
        assert_eq!((m.rows(), m.cols(), m.indices.len()), (3, 4, 3));
        assert_eq!(m.dot(&[1.0, 10.0, 100.0, 1000.0]), [201.0, 0.0, -100.0]);
        assert_eq!(m.transpose().dot(&[1.0, 2.0, 3.0]), [1.0, 0.0, -1.0, 0.0]);
    }

    #[test]
    fn counted_ids_widen_the_matrix() {
        let mut m = Csr::new(0);
        m.push_counts(&mut [5, 2, 5, 5]);
        assert_eq!(m.cols(), 6);
        assert_eq!(m.row(0), Row { indices: &[2, 5], values: &[1.0, 3.0] });
    }

    proptest! {
        #[test]
        fn transposing_twice_gives_the_matrix_back(
            rows in prop::collection::vec(prop::collection::btree_map(0u32..9, -9i8..9, 0..6), 0..8)
        ) {
            let mut m = Csr::new(9);
            for row in &rows {
                m.push_row(row.iter().map(|(&j, &v)| (j, f32::from(v))));
            }
            prop_assert_eq!(m.transpose().transpose(), m);
        }
    }
}
