//! The products of all pairs of columns of a standardised view, `X' B X` with a weight for each row.
//!
//! Rows are packed 256 at a time into panels of sixteen columns; a tile of 8 x 16 products is summed in registers, 32-bit within the
//! 256 rows and 64-bit beyond. It conditions a solver, whose residual is computed with 64-bit sums.

use anyhow::Result;
use rayon::prelude::*;

use super::dense::DenseView;
use super::products::there;
use inkstone_base::job::Ctx;
use inkstone_base::simd::wide;

/// Rows that are packed at once.
const ROWS: usize = 256;

/// Columns of a panel.
const PANEL: usize = 16;

/// Columns of the left panel that a tile takes.
const HIGH: usize = 8;

type Panel = [[f32; PANEL]];

impl DenseView {
    /// The sums over rows of `by` times the product of two columns, `[dim, dim]`; what is right of the diagonal is that and no more.
    /// No weight is below 0. Call inside `Ctx::install`.
    pub(crate) fn gram(&self, by: &[f64], ctx: &Ctx) -> Result<Vec<f64>> {
        let dim = self.dim();
        let panels = dim.div_ceil(PANEL);
        let width = panels * PANEL;
        let mut packed = vec![[0.0f32; PANEL]; panels * ROWS];
        let mut sums = vec![0.0f64; width * width];
        for (rows, by) in self.rows.chunks(ROWS).zip(by.chunks(ROWS)) {
            ctx.check()?;
            let roots: Vec<f64> = by.iter().map(|by| by.sqrt()).collect();
            packed.par_chunks_mut(ROWS).enumerate().for_each(|(p, panel)| {
                wide(
                    #[inline(always)]
                    || self.pack(rows, &roots, p * PANEL, panel),
                );
            });
            // A panel with itself and with those to its right.
            sums.par_chunks_mut(PANEL * width).enumerate().for_each(|(p, sums)| {
                let left = &packed[p * ROWS..][..rows.len()];
                wide(
                    #[inline(always)]
                    || {
                        for q in p..panels {
                            let right = &packed[q * ROWS..][..rows.len()];
                            add_tile::<0>(left, right, &mut sums[q * PANEL..], width);
                            add_tile::<1>(left, right, &mut sums[HIGH * width + q * PANEL..], width);
                        }
                    },
                );
            });
        }
        Ok((0..dim).flat_map(|i| sums[i * width..][..dim].iter().copied()).collect())
    }

    /// Writes columns from `first` on, after scaling and times the root of the row's weight.
    #[inline(always)]
    fn pack(&self, rows: &[usize], roots: &[f64], first: usize, panel: &mut Panel) {
        let (dim, data) = (self.dim(), self.source.data());
        let columns = first..dim.min(first + PANEL);
        let (means, factors) = (&self.scaling.means[columns.clone()], &self.scaling.factors[columns.clone()]);
        for ((&row, root), out) in rows.iter().zip(roots).zip(panel) {
            let values = &data[row * dim..][columns.clone()];
            for (((out, value), mean), factor) in out.iter_mut().zip(values).zip(means).zip(factors) {
                *out = ((f64::from(there(*value, *mean)) - f64::from(*mean)) * factor * root) as f32;
            }
        }
    }
}

/// Adds the products of eight columns of the left panel, the first eight or the last, with all of the right one.
#[inline(always)]
fn add_tile<const HALF: usize>(left: &Panel, right: &Panel, sums: &mut [f64], width: usize) {
    // One by one: of an array of sums the compiler makes no registers.
    let [mut a, mut b, mut c, mut d] = [[0.0f32; PANEL]; 4];
    let [mut e, mut f, mut g, mut h] = [[0.0f32; PANEL]; 4];
    for (left, right) in left.iter().zip(right) {
        let left = &left[HALF * HIGH..][..HIGH];
        add(&mut a, left[0], right);
        add(&mut b, left[1], right);
        add(&mut c, left[2], right);
        add(&mut d, left[3], right);
        add(&mut e, left[4], right);
        add(&mut f, left[5], right);
        add(&mut g, left[6], right);
        add(&mut h, left[7], right);
    }
    for (i, tile) in [a, b, c, d, e, f, g, h].iter().enumerate() {
        for (sum, value) in sums[i * width..][..PANEL].iter_mut().zip(tile) {
            *sum += f64::from(*value);
        }
    }
}

#[inline(always)]
fn add(sums: &mut [f32; PANEL], by: f32, values: &[f32; PANEL]) {
    for (sum, value) in sums.iter_mut().zip(values) {
        *sum = by.mul_add(*value, *sum);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::design::dense::{DenseRows, Scaling};

    #[test]
    fn products_of_columns_are_those_of_the_plain_sums() {
        for (dim, rows) in [(3, 7), (16, 256), (37, 700)] {
            let value = |at: usize| if at % 29 == 5 { f32::NAN } else { ((at * 7919) % 101) as f32 / 8.0 };
            let source = DenseRows::new(dim, (0..dim * rows).map(value).collect()).unwrap();
            let chosen: Vec<usize> = (0..rows).rev().collect();
            let view = DenseView::new(&source, &chosen, &Arc::new(Scaling::of(&source, &chosen)));
            let by: Vec<f64> = (0..rows).map(|i| (i % 3) as f64).collect();
            let ctx = Ctx::new(2, 1).unwrap();
            let gram = ctx.install(|| view.gram(&by, &ctx)).unwrap();
            let mut columns = vec![0.0; dim * rows];
            view.read_columns(0, &mut columns);
            for i in 0..dim {
                for j in i..dim {
                    let products = columns[i * rows..].iter().zip(&columns[j * rows..]).zip(&by);
                    let plain: f64 = products.map(|((a, b), by)| a * b * by).sum();
                    assert!((gram[i * dim + j] - plain).abs() < 1e-5 * rows as f64, "{dim} {i} {j}");
                }
            }
        }
    }
}
