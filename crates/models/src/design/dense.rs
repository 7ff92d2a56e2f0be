//! Dense rows of 32-bit floats, in memory or in a mapped file, and the standardised view of some of them.

use std::path::Path;
use std::sync::Arc;

use anyhow::Result;
use rayon::prelude::*;

use super::products::{ROWS_PER_BLOCK, deviations, scaled, sums};
use crate::ModelFile;
use crate::sparse::Numbers;
use inkstone_base::disk::Scratch;
use inkstone_base::ensure;
use inkstone_base::simd::wide;

/// Rows `[rows, dim]` in memory or in a mapped scratch file. Clones share the numbers.
#[derive(Clone, Debug)]
pub struct DenseRows {
    dim: usize,
    data: Arc<Numbers<f32>>,
}

impl DenseRows {
    /// Takes rows `[rows, dim]`. Fails when the numbers are not a multiple of `dim`.
    pub fn new(dim: usize, data: Vec<f32>) -> Result<DenseRows> {
        ensure!(
            dim > 0 && data.len().is_multiple_of(dim),
            "{} 个数不能切成 {dim} 列的行",
            "{} numbers cannot be cut into rows of {dim} columns",
            data.len()
        );
        Ok(DenseRows { dim, data: Arc::new(Numbers::Held(data)) })
    }

    /// Columns of a row.
    pub fn dim(&self) -> usize {
        self.dim
    }

    pub fn rows(&self) -> usize {
        self.data.len() / self.dim.max(1)
    }

    pub fn row(&self, i: usize) -> &[f32] {
        &self.data[i * self.dim..][..self.dim]
    }

    /// All numbers, `[rows, dim]`.
    pub(super) fn data(&self) -> &[f32] {
        &self.data
    }
}

/// Writes [`DenseRows`] to a scratch file, so that they take no memory.
pub struct SpilledDense {
    dim: Option<usize>,
    rows: usize,
    data: Scratch,
}

impl SpilledDense {
    /// A writer without rows. It makes its scratch file in `folder`.
    pub fn within(folder: &Path) -> Result<SpilledDense> {
        Ok(SpilledDense { dim: None, rows: 0, data: Scratch::within(folder)? })
    }

    /// Adds a row. A missing value is NaN.
    pub fn push_row(&mut self, row: &[f32]) -> Result<()> {
        self.push_rows(row.len(), row)
    }

    /// Adds rows `[rows, dim]`. Fails when `dim` differs from the rows before.
    pub fn push_rows(&mut self, dim: usize, rows: &[f32]) -> Result<()> {
        let expected = *self.dim.get_or_insert(dim);
        ensure!(
            dim == expected && dim > 0 && rows.len().is_multiple_of(dim),
            "第 {} 行有 {dim} 列，共 {} 个数，而前面的行有 {expected} 列",
            "row {} has {dim} columns of {} numbers in all, but the rows before it have {expected} columns",
            self.rows,
            rows.len()
        );
        self.data.write(bytemuck::cast_slice(rows))?;
        self.rows += rows.len() / dim;
        Ok(())
    }

    /// The rows. The file goes when the last clone of them is dropped.
    pub fn finish(self) -> Result<DenseRows> {
        let data = Numbers::Mapped(self.data.map()?.map(Arc::new));
        Ok(DenseRows { dim: self.dim.unwrap_or_default(), data: Arc::new(data) })
    }
}

/// The shift and the factor of each column: a value counts as `(value - mean) * factor`.
#[derive(Clone, Debug, PartialEq)]
pub struct Scaling {
    /// Means, 32-bit as the values are: a missing value is replaced by it and is 0 after scaling.
    pub(super) means: Vec<f32>,
    /// One over the standard deviation (ddof 0), 1 for a column that does not vary.
    pub(super) factors: Vec<f64>,
}

impl Scaling {
    /// Means and deviations of the finite values of these rows. Call inside `Ctx::install`.
    pub fn of(source: &DenseRows, rows: &[usize]) -> Scaling {
        let dim = source.dim();
        // Blocks are the same whatever the number of threads, and are added in their order.
        let collect = |part: &(dyn Fn(&[usize]) -> Vec<f64> + Sync)| -> Vec<f64> {
            let parts: Vec<Vec<f64>> = rows.par_chunks(ROWS_PER_BLOCK).map(part).collect();
            parts.into_iter().fold(vec![0.0; 2 * dim], |mut sum, part| {
                sum.iter_mut().zip(&part).for_each(|(sum, part)| *sum += part);
                sum
            })
        };
        let data = source.data();
        let found = collect(&|rows| {
            wide(
                #[inline(always)]
                || sums(data, dim, rows),
            )
        });
        let (sums, counts) = found.split_at(dim);
        let means: Vec<f32> =
            sums.iter().zip(counts).map(|(sum, n)| if *n > 0.0 { (sum / n) as f32 } else { 0.0 }).collect();
        let found = collect(&|rows| {
            wide(
                #[inline(always)]
                || deviations(data, dim, rows, &means),
            )
        });
        let (offs, squares) = found.split_at(dim);
        let factor = |j: usize| {
            // The mean was rounded; what is left of it is taken out.
            let variance = (squares[j] - offs[j] * offs[j] / counts[j]) / counts[j];
            if variance > 0.0 { 1.0 / variance.sqrt() } else { 1.0 }
        };
        Scaling { factors: (0..dim).map(factor).collect(), means }
    }

    /// Leaves columns as they are; a missing value is 0.
    pub fn none(dim: usize) -> Scaling {
        Scaling { means: vec![0.0; dim], factors: vec![1.0; dim] }
    }

    /// Columns that it is for.
    pub fn dim(&self) -> usize {
        self.means.len()
    }

    /// Sections of a model file: `means` (f32) and `factors` (f64), a number a column.
    pub fn sections(&self) -> [(&'static str, Vec<u8>); 2] {
        [
            ("means", bytemuck::cast_slice(&self.means).to_vec()),
            ("factors", bytemuck::cast_slice(&self.factors).to_vec()),
        ]
    }

    pub fn from_file(file: &ModelFile) -> Result<Scaling> {
        let (means, factors) = (file.numbers("means")?.to_vec(), file.numbers("factors")?.to_vec());
        ensure!(
            means.len() == factors.len() && !means.is_empty(),
            "{} 个列均值，却有 {} 个系数；请重新训练",
            "{} means of columns, but {} factors; train the model again",
            means.len(),
            factors.len()
        );
        Ok(Scaling { means, factors })
    }

    /// The values of a row after scaling.
    #[inline(always)]
    pub(super) fn scaled<'r>(&'r self, row: &'r [f32]) -> impl Iterator<Item = f64> + use<'r> {
        row.iter().zip(&self.means).zip(&self.factors).map(|((value, mean), factor)| scaled(*value, *mean, *factor))
    }

    /// A value of a column after scaling.
    #[inline(always)]
    pub(super) fn scale(&self, column: usize, value: f32) -> f64 {
        scaled(value, self.means[column], self.factors[column])
    }
}

/// Some rows of a source, standardised; nothing is copied but the row numbers.
#[derive(Clone, Debug)]
pub(crate) struct DenseView {
    pub(super) source: DenseRows,
    pub(super) rows: Vec<usize>,
    pub(super) scaling: Arc<Scaling>,
}

impl DenseView {
    pub(crate) fn new(source: &DenseRows, rows: &[usize], scaling: &Arc<Scaling>) -> DenseView {
        DenseView { source: source.clone(), rows: rows.to_vec(), scaling: Arc::clone(scaling) }
    }

    pub(crate) fn dim(&self) -> usize {
        self.source.dim()
    }

    /// Row `i` of the view, before scaling.
    pub(super) fn row(&self, i: usize) -> &[f32] {
        self.source.row(self.rows[i])
    }

    /// Some rows of the view, with the same scaling.
    pub(super) fn select(&self, rows: &[usize]) -> DenseView {
        DenseView { rows: rows.iter().map(|&i| self.rows[i]).collect(), ..self.clone() }
    }

    /// True if a row has a finite value.
    pub(crate) fn has_value(&self, i: usize) -> bool {
        self.row(i).iter().any(|v| v.is_finite())
    }

    /// Writes columns from `first` on, each `rows` numbers after scaling, one after another: as many as `out` has room for.
    pub(crate) fn read_columns(&self, first: usize, out: &mut [f64]) {
        let rows = self.rows.len();
        let columns = out.len() / rows.max(1);
        for (i, &row) in self.rows.iter().enumerate() {
            let values = &self.source.row(row)[first..first + columns];
            for (c, &value) in values.iter().enumerate() {
                out[c * rows + i] = self.scaling.scale(first + c, value);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reference::farthest;

    #[test]
    fn spilled_rows_are_those_in_memory() {
        let dir = tempfile::tempdir().unwrap();
        let mut spilled = SpilledDense::within(dir.path()).unwrap();
        spilled.push_row(&[1.0, 2.0]).unwrap();
        spilled.push_rows(2, &[3.0, f32::NAN, 5.0, 6.0]).unwrap();
        let message = spilled.push_row(&[1.0]).unwrap_err().to_string();
        assert!(message.contains("row 3 has 1 columns") && message.contains("have 2 columns"), "{message}");
        let mapped = spilled.finish().unwrap();
        let held = DenseRows::new(2, vec![1.0, 2.0, 3.0, f32::NAN, 5.0, 6.0]).unwrap();
        assert_eq!((mapped.rows(), mapped.dim(), mapped.row(2)), (3, 2, held.row(2)));
        assert_eq!(Scaling::of(&mapped, &[0, 1, 2]), Scaling::of(&held, &[0, 1, 2]));
        drop(mapped);
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
        assert_eq!(SpilledDense::within(dir.path()).unwrap().finish().unwrap().rows(), 0);
        assert!(DenseRows::new(2, vec![1.0]).unwrap_err().to_string().contains("rows of 2 columns"));
    }

    #[test]
    fn columns_are_standardised_by_the_finite_values_of_the_rows_that_train() {
        let nan = f32::NAN;
        let data = vec![1.0, 7.0, nan, 3.0, 7.0, nan, nan, 7.0, nan, 5.0, 7.0, 1.0, 99.0, 99.0, 99.0];
        let rows = DenseRows::new(3, data).unwrap();
        let scaling = Scaling::of(&rows, &[0, 1, 2, 3]);
        assert_eq!(scaling.means, [3.0, 7.0, 1.0]);
        assert!(farthest(&scaling.factors, &[(3.0f64 / 8.0).sqrt(), 1.0, 1.0]) < 1e-15, "{scaling:?}");
        let view = DenseView::new(&rows, &[2, 4], &Arc::new(scaling));
        let mut columns = vec![f64::NAN; 4];
        view.read_columns(0, &mut columns);
        let expected = [0.0, 96.0 / (8.0f64 / 3.0).sqrt(), 0.0, 92.0];
        assert!(farthest(&columns, &expected) < 1e-12, "{columns:?}");
        assert!(view.has_value(0) && view.select(&[1]).has_value(0));
    }
}
