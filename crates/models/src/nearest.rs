//! Nearest rows by cosine, exactly: every row is looked at.
//!
//! Rows are `[rows, dim] f32`, row after row, and stay where they are (a model's memory, a mapped file); a length a row is
//! all that is added. Sums are f32 in sixteen lanes, added up in one order, so that the result depends on neither threads
//! nor on what else is asked. Equal similarities stand in the order of the rows. A row of zeros, or with a value that is no
//! number, is near to nothing.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::collections::BinaryHeap;

use anyhow::Result;
use rayon::prelude::*;

use super::Row;

use inkstone_base::ensure;

/// Queries that look at a row while it lies in the nearest cache.
const TOGETHER: usize = 8;

/// Rows of a task.
const TASK: usize = 1 << 14;

/// Rows that can be asked for their nearest.
pub struct Nearest<'r> {
    rows: Cow<'r, [f32]>,
    dim: usize,
    /// 1 / length of each row; 0 for a row without a direction.
    scales: Vec<f32>,
}

/// A row that is near.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Neighbour {
    /// The number of the row.
    pub row: usize,
    /// Cosine of the angle to the query.
    pub similarity: f32,
}

impl Eq for Neighbour {}

/// The nearer one is the less: so the heap gives up the farthest, and sorting puts the nearest first.
impl Ord for Neighbour {
    fn cmp(&self, other: &Neighbour) -> Ordering {
        other.similarity.total_cmp(&self.similarity).then(self.row.cmp(&other.row))
    }
}

impl PartialOrd for Neighbour {
    fn partial_cmp(&self, other: &Neighbour) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<'r> Nearest<'r> {
    /// Makes rows of `dim` values ready. Call inside `Ctx::install`.
    pub fn new(rows: impl Into<Cow<'r, [f32]>>, dim: usize) -> Result<Nearest<'r>> {
        let rows = rows.into();
        ensure!(
            dim > 0 && rows.len().is_multiple_of(dim),
            "{} 个值不能组成 {dim} 维的行",
            "{} values do not make rows of {dim}",
            rows.len()
        );
        let scales = rows.par_chunks(dim).with_min_len(TASK).map(scale).collect();
        Ok(Nearest { rows, dim, scales })
    }

    pub fn len(&self) -> usize {
        self.scales.len()
    }

    /// True if there is no row.
    pub fn is_empty(&self) -> bool {
        self.scales.is_empty()
    }

    pub fn row(&self, i: usize) -> &[f32] {
        &self.rows[i * self.dim..][..self.dim]
    }

    /// The `k` rows that are nearest to a vector of `dim` values, the nearest first. Call inside `Ctx::install`.
    pub fn query(&self, vector: &[f32], k: usize) -> Vec<Neighbour> {
        self.query_all(vector, k).pop().unwrap_or_default()
    }

    /// [`Nearest::query`] for several vectors, one after the other in `vectors`.
    pub fn query_all(&self, vectors: &[f32], k: usize) -> Vec<Vec<Neighbour>> {
        assert!(vectors.len().is_multiple_of(self.dim), "{} values do not make queries of {}", vectors.len(), self.dim);
        let groups: Vec<&[f32]> = vectors.chunks(TOGETHER * self.dim).collect();
        let tasks: Vec<(&[f32], usize)> =
            groups.iter().flat_map(|&group| (0..self.len()).step_by(TASK).map(move |start| (group, start))).collect();
        let found: Vec<Vec<Vec<Neighbour>>> =
            tasks.par_iter().map(|&(group, start)| self.scan(group, start, k)).collect();
        let per_group = self.len().div_ceil(TASK);
        let mut all = Vec::with_capacity(vectors.len() / self.dim);
        for (g, group) in groups.iter().enumerate() {
            for q in 0..group.len() / self.dim {
                let parts = &found[g * per_group..(g + 1) * per_group];
                let mut merged: Vec<Neighbour> = parts.iter().flat_map(|part| part[q].iter().copied()).collect();
                merged.sort_unstable();
                merged.truncate(k);
                all.push(merged);
            }
        }
        all
    }

    /// The nearest to each of some queries among the rows of one task.
    fn scan(&self, queries: &[f32], start: usize, k: usize) -> Vec<Vec<Neighbour>> {
        let queries: Vec<(&[f32], f32)> = queries.chunks(self.dim).map(|query| (query, scale(query))).collect();
        let mut heaps = vec![BinaryHeap::new(); queries.len()];
        for row in start..self.len().min(start + TASK) {
            let by = self.scales[row];
            for ((query, length), heap) in queries.iter().zip(&mut heaps) {
                if by > 0.0 && *length > 0.0 {
                    let similarity = dot(query, self.row(row)) * by * length;
                    keep(heap, Neighbour { row, similarity }, k);
                }
            }
        }
        heaps.into_iter().map(BinaryHeap::into_vec).collect()
    }
}

/// A vector at length 1, zeros where it has no direction.
pub fn unit(vector: &[f32]) -> Vec<f32> {
    let by = scale(vector);
    vector.iter().map(|v| v * by).collect()
}

/// Cosine of the angle between two vectors; 0 where one has no direction.
pub fn cosine(a: &[f32], b: &[f32]) -> f32 {
    dot(a, b) * scale(a) * scale(b)
}

/// The cosine of the angle between two sparse rows; 0 where one has no direction.
pub fn sparse_cosine(a: Row<'_>, b: Row<'_>) -> f32 {
    (a.product(&b) * f64::from(scale(a.values)) * f64::from(scale(b.values))) as f32
}

fn keep(heap: &mut BinaryHeap<Neighbour>, neighbour: Neighbour, k: usize) {
    if heap.len() < k {
        heap.push(neighbour);
    } else if let Some(mut farthest) = heap.peek_mut()
        && neighbour < *farthest
    {
        *farthest = neighbour;
    }
}

/// 1 / length; 0 when that is no number.
fn scale(row: &[f32]) -> f32 {
    let length = row.iter().map(|&v| f64::from(v) * f64::from(v)).sum::<f64>().sqrt();
    if length > 0.0 && length.is_finite() { (1.0 / length) as f32 } else { 0.0 }
}

fn dot(a: &[f32], b: &[f32]) -> f32 {
    const LANES: usize = 16;
    let ((a, a_rest), (b, b_rest)) = (a.as_chunks::<LANES>(), b.as_chunks::<LANES>());
    let mut sums = [0.0f32; LANES];
    for (a, b) in a.iter().zip(b) {
        for (sum, (x, y)) in sums.iter_mut().zip(a.iter().zip(b)) {
            *sum += x * y;
        }
    }
    sums.iter().sum::<f32>() + a_rest.iter().zip(b_rest).map(|(x, y)| x * y).sum::<f32>()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::Csr;

    fn rows(found: &[Neighbour]) -> Vec<usize> {
        found.iter().map(|n| n.row).collect()
    }

    #[test]
    fn the_nearest_come_first_and_equal_ones_in_order() {
        let table = [3.0, 4.0, 0.0, 0.0, 0.0, 2.0, 8.0, 6.0, 0.0, 9.0, -1.0, 0.0, f32::NAN, 1.0];
        let nearest = Nearest::new(&table[..], 2).unwrap();
        let found = nearest.query(&[0.0, 1.0], 9);
        // Rows 2 and 4 point straight there; rows 1 and 6 have no direction.
        assert_eq!(rows(&found), [2, 4, 0, 3, 5]);
        assert_eq!((found[0].similarity, found[4].similarity), (1.0, 0.0));
        assert!((found[2].similarity - 0.8).abs() < 1e-6 && (found[3].similarity - 0.6).abs() < 1e-6);
        assert_eq!(rows(&nearest.query(&[0.0, 1.0], 2)), [2, 4]);
        assert!(nearest.query(&[0.0, 0.0], 3).is_empty());
        assert!(Nearest::new(&table[..3], 2).is_err());
    }

    #[test]
    fn sparse_rows_have_the_cosines_of_their_dense_form() {
        let dense = [[1.5, 0.0, -2.0, 0.0, 0.5], [0.0, 3.0, 1.0, 0.0, 0.0], [0.0, 0.0, 0.0, 4.0, 0.0], [0.0; 5]];
        let mut sparse = Csr::new(5);
        for row in dense {
            sparse.push_row((0..).zip(row).filter(|(_, value)| *value != 0.0));
        }
        for (i, a) in dense.iter().enumerate() {
            for (j, b) in dense.iter().enumerate() {
                let found = sparse_cosine(sparse.row(i), sparse.row(j));
                assert!((found - cosine(a, b)).abs() < 1e-6, "{i} and {j}: {found}");
            }
        }
        assert!((sparse_cosine(sparse.row(0), sparse.row(1)) + 0.2480695).abs() < 1e-6, "-2 / (2.54951 x 3.16228)");
    }

    proptest! {
        #[test]
        fn many_queries_give_what_each_gives_and_what_sorting_gives(
            table in prop::collection::vec(-3i8..4, 3 * 40),
            queries in prop::collection::vec(-3i8..4, 3 * 11),
            k in 0usize..9,
        ) {
            let table: Vec<f32> = table.into_iter().map(f32::from).collect();
            let queries: Vec<f32> = queries.into_iter().map(f32::from).collect();
            let nearest = Nearest::new(&table[..], 3).unwrap();
            let all = nearest.query_all(&queries, k);
            prop_assert_eq!(all.len(), 11);
            for (query, found) in queries.chunks(3).zip(&all) {
                prop_assert_eq!(found, &nearest.query(query, k));
                let mut sorted: Vec<Neighbour> = (0..40)
                    .filter(|&row| scale(nearest.row(row)) * scale(query) > 0.0)
                    .map(|row| Neighbour { row, similarity: dot(query, nearest.row(row)) * scale(nearest.row(row)) * scale(query) })
                    .collect();
                sorted.sort();
                sorted.truncate(k);
                prop_assert_eq!(found, &sorted);
            }
        }
    }
}
