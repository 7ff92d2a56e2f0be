//! Sixteen columns of a tall dense matrix, `[rows, 16] f32`: a row is a cache line, which one vector instruction or a few load.
//!
//! The loops have fixed widths so that the compiler makes vector instructions of them. Sums over rows are taken in f32
//! within 64 rows and in f64 beyond, always between the same borders, so they do not depend on the threads.

use rayon::prelude::*;

use inkstone_base::simd::wide;

/// Columns of a slice.
pub(super) const LANES: usize = 16;

/// Rows over which a kernel sums in registers.
const TILE: usize = 64;

/// Rows of a task.
const TASK: usize = 4096;

#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(align(64))]
pub(super) struct SliceRow(pub(super) [f32; LANES]);

impl SliceRow {
    pub(super) const ZERO: SliceRow = SliceRow([0.0; LANES]);

    /// Adds `x` times the other.
    #[inline(always)]
    pub(super) fn add(&mut self, x: f32, other: &SliceRow) {
        for (y, v) in self.0.iter_mut().zip(&other.0) {
            *y += x * v;
        }
    }
}

/// All rows of sixteen columns.
pub(super) type Slice = Vec<SliceRow>;

/// A square of products of columns, `[16, 16]`.
pub(super) type Tile = [[f64; LANES]; LANES];

/// The transposed product of each slice of `left` with `right`. Call inside `Ctx::install`.
pub(super) fn products(left: &[Slice], right: &[SliceRow]) -> Vec<Tile> {
    let mut sums = vec![[[0.0; LANES]; LANES]; left.len()];
    // Some tasks at a time, so that what waits to be summed stays small.
    for (round, rows) in right.chunks(64 * TASK).enumerate() {
        let of_task = |(i, rows): (usize, &[SliceRow])| {
            let start = round * 64 * TASK + i * TASK;
            let product = |slice: &Slice| {
                wide(
                    #[inline(always)]
                    || product(&slice[start..start + rows.len()], rows),
                )
            };
            left.iter().map(product).collect::<Vec<Tile>>()
        };
        let parts: Vec<Vec<Tile>> = rows.par_chunks(TASK).enumerate().map(of_task).collect();
        for part in parts {
            sums.iter_mut().zip(&part).for_each(|(sum, part)| add(sum, part));
        }
    }
    sums
}

/// Adds `sign` times each slice of `left` times its tile to `out`. Call inside `Ctx::install`.
pub(super) fn add_products(left: &[Slice], tiles: &[Tile], sign: f64, out: &mut [SliceRow]) {
    let blocks: Vec<[SliceRow; LANES]> =
        tiles.iter().map(|tile| tile.map(|row| SliceRow(row.map(|v| (sign * v) as f32)))).collect();
    out.par_chunks_mut(TASK).enumerate().for_each(|(i, out)| {
        for (j, out) in out.chunks_mut(TILE).enumerate() {
            let start = i * TASK + j * TILE;
            for (slice, block) in left.iter().zip(&blocks) {
                wide(
                    #[inline(always)]
                    || multiply(&slice[start..start + out.len()], block, out),
                );
            }
        }
    });
}

/// Adds a tile to another.
pub(super) fn add(sum: &mut Tile, other: &Tile) {
    for (sums, others) in sum.iter_mut().zip(other) {
        for (sum, other) in sums.iter_mut().zip(others) {
            *sum += other;
        }
    }
}

#[inline(always)]
fn multiply(rows: &[SliceRow], block: &[SliceRow; LANES], out: &mut [SliceRow]) {
    let (pairs, last) = rows.as_chunks::<2>();
    let (out_pairs, out_last) = out.as_chunks_mut::<2>();
    for ([a, b], [x, y]) in pairs.iter().zip(out_pairs) {
        // Sums of two rows stay in registers.
        let (mut p, mut q) = (*x, *y);
        for (i, lane) in block.iter().enumerate() {
            p.add(a.0[i], lane);
            q.add(b.0[i], lane);
        }
        (*x, *y) = (p, q);
    }
    for (a, x) in last.iter().zip(out_last) {
        for (i, lane) in block.iter().enumerate() {
            x.add(a.0[i], lane);
        }
    }
}

#[inline(always)]
fn product(left: &[SliceRow], right: &[SliceRow]) -> Tile {
    let mut sum = [[0.0; LANES]; LANES];
    for (left, right) in left.chunks(TILE).zip(right.chunks(TILE)) {
        for i in 0..LANES / HIGH {
            for j in 0..LANES / WIDE {
                let sums = rectangle(left, right, i, j);
                for (sum, sums) in sum[i * HIGH..].iter_mut().zip(&sums) {
                    for (sum, &value) in sum[j * WIDE..].iter_mut().zip(sums) {
                        *sum += f64::from(value);
                    }
                }
            }
        }
    }
    sum
}

const HIGH: usize = 4;
const WIDE: usize = 8;

/// The products of columns `4 i` and the three after it with columns `8 j` and the seven after it: sums that stay in registers.
#[inline(always)]
fn rectangle(left: &[SliceRow], right: &[SliceRow], i: usize, j: usize) -> [[f32; WIDE]; HIGH] {
    let mut sums = [[0.0f32; WIDE]; HIGH];
    for (x, y) in left.iter().zip(right) {
        let (x, y) = (x.0.as_chunks::<HIGH>().0[i], y.0.as_chunks::<WIDE>().0[j]);
        for (sums, x) in sums.iter_mut().zip(x) {
            for (sum, y) in sums.iter_mut().zip(y) {
                *sum += x * y;
            }
        }
    }
    sums
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Small whole numbers, so that every sum is exact.
    fn slice(rows: usize, seed: usize) -> Slice {
        let value = |i: usize, j: usize| ((i * 7 + j * 3 + seed * 5) % 11) as f32 - 5.0;
        (0..rows).map(|i| SliceRow(std::array::from_fn(|j| value(i, j)))).collect()
    }

    #[test]
    fn products_are_those_of_the_plain_sums() {
        for rows in [1, 2, 63, 64, 65, 4096 + 129] {
            let (left, right) = ([slice(rows, 1), slice(rows, 2)], slice(rows, 3));
            let tiles = products(&left, &right);
            let mut out = slice(rows, 4);
            add_products(&left, &[[[1.0; LANES]; LANES], [[2.0; LANES]; LANES]], -1.0, &mut out);
            for (s, tile) in tiles.iter().enumerate() {
                for (i, j) in [(0, 0), (3, 15), (15, 8)] {
                    let plain: f32 = left[s].iter().zip(&right).map(|(a, b)| a.0[i] * b.0[j]).sum();
                    assert_eq!(tile[i][j], f64::from(plain), "{rows} rows, slice {s}, {i}, {j}");
                }
            }
            let row = rows - 1;
            let sum = |s: usize| left[s][row].0.iter().sum::<f32>();
            assert_eq!(out[row].0[9], slice(rows, 4)[row].0[9] - sum(0) - 2.0 * sum(1), "{rows} rows");
        }
    }
}
