//! Truncated singular value decomposition of a large sparse matrix, `[rows, cols]`, by random projection.
//!
//! The basis of the leading singular vectors comes from `krylov`; it is found on the side of the rows or of the columns,
//! whichever is shorter. The right singular vectors follow, and one more pass over the rows gives each dimension's length and
//! variance. Memory is some 3 to 4 values for each dimension and each row or column of the shorter side; the rows
//! themselves may lie in a file.

mod krylov;
mod rows;
mod slice;
mod small;
#[cfg(test)]
mod tests;

use anyhow::Result;
use rayon::prelude::*;

use crate::Row;
use inkstone_base::ensure;
use inkstone_base::job::{Cancelled, Ctx};
use krylov::{Product, basis, dot, scatter};
use slice::{LANES, Slice, SliceRow};

pub(crate) use rows::BLOCK;
pub use rows::RowsWriter;
pub(crate) use rows::SparseRows;

/// Share by which a singular value may be too small. Randomised methods are usually stopped after some passes (Halko, Martinsson and
/// Tropp 2011); this one goes on until the bound holds.
const TOLERANCE: f64 = 1e-3;

params! {
    /// Parameters of the decomposition.
    pub struct SvdParams {
        /// Dimensions.
        ///
        /// 维数。
        dim: usize = 100, number("N", "feature.lsa.dim");
    }
}

/// The leading part of a decomposition.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Svd {
    /// Right singular vectors, `[cols, dim]` row by row; in each dimension the value that is largest in magnitude is positive.
    pub right: Vec<f32>,
    /// Singular values, the largest first.
    pub singular_values: Vec<f64>,
    /// The variance of the rows' projection on each dimension (ddof 0), as a share of the variance of the rows.
    pub explained: Vec<f64>,
    /// By how much, as a share, the singular values may be too small.
    pub error: f64,
    /// Columns of the basis that they were found in.
    pub basis: usize,
}

/// Decomposes the rows. Call [`SparseRows::check`] before, which names rows and columns.
pub(crate) fn truncated(rows: &SparseRows, params: &SvdParams, ctx: &Ctx) -> Result<Svd> {
    decompose(rows, params.dim, TOLERANCE, ctx)
}

fn decompose(rows: &SparseRows, dim: usize, tolerance: f64, ctx: &Ctx) -> Result<Svd> {
    let product = Product::smaller(rows);
    let basis = ctx.install(|| basis(&product, dim, tolerance, ctx))?;
    ensure!(
        basis.kept > 0,
        "没有可分解的：矩阵全为零",
        "there is nothing to decompose: the matrix holds nothing but zeros"
    );
    ensure!(
        basis.kept >= dim,
        "不能得到 {} 维：矩阵的秩为 {}，因为许多行或列相同；请选 1 到 {} 的 --dim",
        "{} dimensions cannot be had: the matrix has rank {}, since many of its rows or columns are alike; choose --dim from 1 to {}",
        dim,
        basis.kept,
        basis.kept
    );
    let vectors = basis.projected.vectors(dim);
    let mut right = ctx.install(|| basis.combined(&vectors));
    let (error, size) = (basis.error, basis.projected.size());
    drop(basis.slices);
    if product.by_row {
        right = ctx.install(|| transposed(rows, &right, ctx))?;
    }
    let moments = ctx.install(|| moments(rows, &right, ctx))?;
    let mut order: Vec<usize> = (0..dim).collect();
    order.sort_by(|&a, &b| moments[b].square.total_cmp(&moments[a].square).then(a.cmp(&b)));
    let (n, total) = (rows.count() as f64, rows.variance());
    let explained = |m: &Moments| if total > 0.0 { (m.square / n - (m.sum / n).powi(2)) / total } else { 0.0 };
    Ok(Svd {
        right: signed(&right, &order),
        singular_values: order.iter().map(|&i| moments[i].square.sqrt()).collect(),
        explained: order.iter().map(|&i| explained(&moments[i])).collect(),
        error,
        basis: size,
    })
}

/// The transposed rows times left vectors, each column scaled to length 1.
fn transposed(rows: &SparseRows, left: &[Slice], ctx: &Ctx) -> Result<Vec<Slice>, Cancelled> {
    let one = |left: &Slice| {
        let mut out = vec![SliceRow::ZERO; rows.cols()];
        let mut each = left.iter();
        for i in 0..rows.blocks() {
            ctx.check()?;
            rows.block(i).zip(&mut each).for_each(|(row, by)| scatter(row, by, &mut out));
        }
        let mut lengths = [0.0f64; LANES];
        for lane in &out {
            lengths.iter_mut().zip(&lane.0).for_each(|(sum, &v)| *sum += f64::from(v) * f64::from(v));
        }
        let scales = lengths.map(|l| if l > 0.0 { (1.0 / l.sqrt()) as f32 } else { 0.0 });
        for lane in &mut out {
            lane.0.iter_mut().zip(&scales).for_each(|(v, scale)| *v *= scale);
        }
        Ok(out)
    };
    left.par_iter().map(one).collect()
}

/// Moments of the rows' projections on a dimension.
#[derive(Clone, Copy, Default)]
struct Moments {
    sum: f64,
    square: f64,
}

fn moments(rows: &SparseRows, right: &[Slice], ctx: &Ctx) -> Result<Vec<Moments>, Cancelled> {
    let one = |right: &Slice| {
        let mut moments = [Moments::default(); LANES];
        for i in 0..rows.blocks() {
            ctx.check()?;
            for row in rows.block(i) {
                for (moments, &v) in moments.iter_mut().zip(&dot(row, right).0) {
                    let v = f64::from(v);
                    moments.sum += v;
                    moments.square += v * v;
                }
            }
        }
        Ok(moments)
    };
    let all: Vec<[Moments; LANES]> = right.par_iter().map(one).collect::<Result<_, Cancelled>>()?;
    Ok(all.concat())
}

/// The product of a row with right singular vectors `[cols, out.len()]` that were given row by row.
pub(crate) fn project(row: Row<'_>, right: &[f32], out: &mut [f32]) {
    let dim = out.len();
    for (j, x) in row.iter() {
        for (out, v) in out.iter_mut().zip(&right[j as usize * dim..][..dim]) {
            *out += x * v;
        }
    }
}

/// Columns in this order, row by row, each with the sign that makes its largest value positive.
fn signed(columns: &[Slice], order: &[usize]) -> Vec<f32> {
    let largest = |j: usize| {
        let column = columns[j / LANES].iter().map(|lane| lane.0[j % LANES]);
        column.fold(0.0f32, |best, v| if v.abs() > best.abs() { v } else { best })
    };
    let signs: Vec<f32> = order.iter().map(|&j| largest(j).signum()).collect();
    let row = |i: usize| order.iter().zip(&signs).map(move |(&j, sign)| sign * columns[j / LANES][i].0[j % LANES]);
    (0..columns[0].len()).flat_map(row).collect()
}
