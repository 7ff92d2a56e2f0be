//! The leading eigenvectors of `A A'` or `A' A`, whichever is smaller, by a randomised block Krylov method.
//!
//! Halko, Martinsson, Shkolnisky and Tygert (2011), "An algorithm for the principal component analysis of large data sets"; Musco
//! and Musco (2015). Sixteen random columns are multiplied with the matrix again and again, and each result, made orthonormal
//! to all before, joins the basis. The eigenvalues of the matrix on the basis grow towards the true ones; the work ends when
//! all that are wanted have settled. Against power iterations of a fixed subspace the same number of products gives far
//! smaller errors where eigenvalues lie close together, as those of text do.

use anyhow::Result;
use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;
use rand_distr::StandardNormal;
use rayon::prelude::*;

use super::rows::{BLOCK, SparseRows};
use super::slice::{LANES, Slice, SliceRow, Tile, add_products, products};
use super::small::{Projected, orthonormaliser};
use crate::Row;
use inkstone_base::job::{Cancelled, Ctx};
use inkstone_base::simd::wide;

/// Columns of the basis at the most, for each dimension wanted, and some more: text settles at 3 to 4. A full basis shrinks to the
/// best part of it and grows again (thick restart, Wu and Simon 2000).
const MOST: usize = 8;
const MORE: usize = 160;

/// Columns multiplied at the most, for each dimension wanted.
const LAST: usize = 200;

/// Parts of the rows whose products are summed apart: the most threads that a product keeps busy.
const PARTS: usize = 8;

/// Squared share of a column's length that must be new for it to join the basis; the rest is the noise of f32.
const NEW: f64 = 1e-8;

/// The part that rounding leaves of a unit vector in others, and the most of it that a block may have of the basis before it.
const ROUNDING: f64 = 1e-7;
const LOST: f64 = 1e-4;

/// An orthonormal basis, and the matrix on it.
#[derive(Default)]
pub(super) struct Basis {
    /// `[rows or columns, 16]` each; a column of zeros stands where nothing new was found.
    pub(super) slices: Vec<Slice>,
    pub(super) projected: Projected,
    /// Columns that are not zero.
    pub(super) kept: usize,
    /// By how much, as a share, the singular values may still be too small; 0 when the basis spans all there is.
    pub(super) error: f64,
    /// Greatest distance of each of the last two blocks from orthogonality to the basis.
    lost: [f64; 2],
    /// True if the next block is cleaned in any case.
    clean: bool,
}

/// Grows a basis until the `dim` leading singular values have settled to a share of `tolerance`.
pub(super) fn basis(product: &Product<'_>, dim: usize, tolerance: f64, ctx: &Ctx) -> Result<Basis, Cancelled> {
    let mut basis = Basis::default();
    let mut seen = Vec::new();
    let (mut draws, mut multiplied) = (0, 0);
    let mut draw = || {
        draws += 1;
        product.apply(&product.random(ctx.seed(), draws), ctx)
    };
    let mut next = draw()?;
    let (_, mut new) = basis.take_new(&mut next);
    loop {
        if new.contains(&false) {
            // Either all is found, or the columns drawn so far miss a part of the space: others tell.
            let drawn = draw()?;
            for (lane, drawn) in next.iter_mut().zip(&drawn) {
                for i in (0..LANES).filter(|&i| !new[i]) {
                    lane.0[i] = drawn.0[i];
                }
            }
            basis.lost = [LOST; 2];
            new = basis.take_new(&mut next).1;
        }
        if !new.contains(&true) {
            basis.error = 0.0;
            return Ok(basis);
        }
        basis.kept += new.iter().filter(|&&new| new).count();
        let mut image = product.apply(&next, ctx)?;
        multiplied += LANES;
        basis.slices.push(next);
        let (tiles, of_image) = basis.take_new(&mut image);
        basis.projected.grow(tiles);
        let size = basis.projected.size();
        if size >= 2 * dim && size.is_multiple_of(2 * LANES) {
            seen.push(basis.projected.values(dim));
            basis.error = error(&seen);
            if basis.error <= tolerance || multiplied >= LAST * dim + MORE {
                return Ok(basis);
            }
        }
        if size >= MOST * dim + MORE {
            basis.shrink(2 * dim);
        }
        (next, new) = (image, of_image);
    }
}

/// The distance of the last eigenvalues from settled, as a share of a singular value. Errors shrink about geometrically, so the last
/// two steps tell what is still to come. Singular values below a hundredth of the largest are held to that share of it.
fn error(seen: &[Vec<f64>]) -> f64 {
    let [.., a, b, c] = seen else { return f64::INFINITY };
    let least = 1e-4 * c[0];
    let of_one = |i: usize| {
        let by = c[i].max(least);
        let step = |from: &[f64], to: &[f64]| 0.5 * (to[i] - from[i]).max(0.0) / by;
        let (before, last) = (step(a, b), step(b, c));
        let ratio = if before > 0.0 { (last / before).min(0.9) } else { 0.0 };
        last * ratio / (1.0 - ratio)
    };
    (0..c.len()).map(of_one).fold(0.0, f64::max)
}

impl Basis {
    /// Keeps the eigenvectors of the `count` largest eigenvalues, and some more up to a whole slice. What the matrix makes of
    /// them lies in them and in the block that comes next, as before.
    fn shrink(&mut self, count: usize) {
        let count = count.next_multiple_of(LANES);
        self.slices = self.combined(&self.projected.vectors(count));
        self.projected = self.projected.leading(count);
        self.kept = self.kept.min(count);
        self.lost = [LOST; 2];
    }

    /// The basis times a matrix, `[columns of the basis, any]` in rows of tiles.
    pub(super) fn combined(&self, by: &[Vec<Tile>]) -> Vec<Slice> {
        let combined = |b: usize| {
            let mut out = vec![SliceRow::ZERO; self.slices[0].len()];
            let tiles: Vec<Tile> = by.iter().map(|row| row[b]).collect();
            add_products(&self.slices, &tiles, 1.0, &mut out);
            out
        };
        (0..by[0].len()).map(combined).collect()
    }

    /// Leaves of a block what is new to the basis, orthonormal, zeros where nothing is; gives the products of the basis with the
    /// block, and which columns are new.
    ///
    /// The loss of orthogonality to the last two blocks grows with each block by the ratio of its length to that of its new part
    /// (Simon 1984); when it has grown to [`LOST`], this block and the next are cleaned by a second pass.
    fn take_new(&mut self, block: &mut Slice) -> (Vec<Tile>, [bool; LANES]) {
        let before = lengths(block);
        let tiles = self.subtract(block);
        let after = lengths(block);
        let by = orthonormalise(block, &std::array::from_fn(|i| (NEW * before[i]).max(1e-5 * after[i])));
        let grown = |j: usize| (0..LANES).map(|i| by[i][j].powi(2) * before[i]).sum::<f64>().sqrt();
        let mut lost = (ROUNDING + self.lost[0].max(self.lost[1])) * (0..LANES).map(grown).fold(0.0, f64::max);
        let too_much = lost > LOST;
        if too_much || self.clean {
            self.subtract(block);
            lost = ROUNDING;
        }
        (self.lost, self.clean) = ([self.lost[1], lost], too_much);
        // Once leaves the rounding errors of columns that were nearly alike.
        let by = orthonormalise(block, &[0.1; LANES]);
        (tiles, std::array::from_fn(|i| by[i][i] > 0.0))
    }

    fn subtract(&self, block: &mut Slice) -> Vec<Tile> {
        let tiles = products(&self.slices, block);
        add_products(&self.slices, &tiles, -1.0, block);
        tiles
    }
}

/// Makes the columns orthonormal; those with no more than `least` of their own become zero. Gives what they were multiplied with.
fn orthonormalise(block: &mut Slice, least: &[f64; LANES]) -> Tile {
    let by = orthonormaliser(&product(block), least);
    let mut out = vec![SliceRow::ZERO; block.len()];
    add_products(std::slice::from_ref(block), &[by], 1.0, &mut out);
    *block = out;
    by
}

fn product(block: &Slice) -> Tile {
    products(std::slice::from_ref(block), block)[0]
}

/// Squared lengths of the columns.
fn lengths(block: &Slice) -> [f64; LANES] {
    let product = product(block);
    std::array::from_fn(|i| product[i][i])
}

/// The symmetric matrix: rows times their transposed, or the transposed times the rows.
pub(super) struct Product<'a> {
    rows: &'a SparseRows,
    /// True if a vector has a value for each row, else for each column.
    pub(super) by_row: bool,
}

impl<'a> Product<'a> {
    /// The smaller of the two.
    pub(super) fn smaller(rows: &'a SparseRows) -> Product<'a> {
        Product { rows, by_row: rows.count() < rows.cols() }
    }

    /// Sixteen random vectors, drawn block by block.
    fn random(&self, seed: u64, draw: u64) -> Slice {
        let mut out = vec![SliceRow::ZERO; if self.by_row { self.rows.count() } else { self.rows.cols() }];
        out.par_chunks_mut(BLOCK).enumerate().for_each(|(i, lanes)| {
            let mut random = ChaCha8Rng::seed_from_u64(seed);
            random.set_stream((draw << 40) | i as u64);
            for lane in lanes {
                *lane = SliceRow(std::array::from_fn(|_| random.sample(StandardNormal)));
            }
        });
        out
    }

    /// The matrix times sixteen vectors.
    fn apply(&self, vectors: &[SliceRow], ctx: &Ctx) -> Result<Slice, Cancelled> {
        let blocks = self.rows.blocks();
        let part = |p: usize| p * blocks / PARTS..(p + 1) * blocks / PARTS;
        let transposed = |p: usize| {
            let mut sum = vec![SliceRow::ZERO; self.rows.cols()];
            for i in part(p) {
                ctx.check()?;
                wide(
                    #[inline(always)]
                    || {
                        for (row, at) in self.rows.block(i).zip(i * BLOCK..) {
                            let by = if self.by_row { vectors[at] } else { dot(row, vectors) };
                            scatter(row, &by, &mut sum);
                        }
                    },
                );
            }
            Ok(sum)
        };
        let sums: Vec<Slice> = (0..PARTS).into_par_iter().map(transposed).collect::<Result<_, Cancelled>>()?;
        let mut parts = sums.into_iter();
        let mut sum = parts.next().unwrap_or_default();
        for part in parts {
            sum.par_iter_mut().with_min_len(BLOCK).zip(&part).for_each(|(sum, part)| sum.add(1.0, part));
        }
        if !self.by_row {
            return Ok(sum);
        }
        let mut out = vec![SliceRow::ZERO; self.rows.count()];
        out.par_chunks_mut(BLOCK).enumerate().try_for_each(|(i, out)| {
            ctx.check()?;
            wide(
                #[inline(always)]
                || self.rows.block(i).zip(out).for_each(|(row, out)| *out = dot(row, &sum)),
            );
            Ok(())
        })?;
        Ok(out)
    }
}

/// The row times some columns.
#[inline(always)]
pub(super) fn dot(row: Row<'_>, columns: &[SliceRow]) -> SliceRow {
    let mut sum = SliceRow::ZERO;
    for (j, x) in row.iter() {
        sum.add(x, &columns[j as usize]);
    }
    sum
}

/// Adds each of the row's values times `by` at its column.
#[inline(always)]
pub(super) fn scatter(row: Row<'_>, by: &SliceRow, columns: &mut [SliceRow]) {
    for (j, x) in row.iter() {
        columns[j as usize].add(x, by);
    }
}
