//! Hierarchies: clusters that merge two by two.

use anyhow::Result;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::kmeans::Centres;
use inkstone_base::ensure;
use inkstone_base::job::Ctx;

/// Rows of the largest hierarchy: half of the square of this many distances of eight bytes are in memory, 1.6 GB.
const MOST: usize = 20_000;

/// Distance of two clusters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
#[serde(rename_all = "lowercase")]
pub enum Linkage {
    /// The growth of the squared distances to the means.
    #[default]
    Ward,
    /// The mean distance of their rows.
    Average,
    /// The largest distance of two rows.
    Complete,
    /// The smallest distance of two rows.
    Single,
}

/// Two clusters that become one. The first rows are clusters 0 to n - 1, merge `i` makes cluster `n + i`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Merge {
    pub a: usize,
    pub b: usize,
    pub distance: f64,
    /// Rows of the new cluster.
    pub rows: usize,
}

/// Distances of pairs: of `i < j` the one at `place`.
struct Distances {
    n: usize,
    values: Vec<f64>,
}

impl Distances {
    fn place(&self, i: usize, j: usize) -> usize {
        let (i, j) = if i < j { (i, j) } else { (j, i) };
        self.n * i - i * (i + 1) / 2 + j - i - 1
    }

    fn get(&self, i: usize, j: usize) -> f64 {
        self.values[self.place(i, j)]
    }
}

/// The merges of rows `[n, dim]` by Euclidean distance, the nearest first: `n - 1` of them.
pub fn linkage(rows: &[f64], dim: usize, by: Linkage, ctx: &Ctx) -> Result<Vec<Merge>> {
    let n = rows.len() / dim.max(1);
    ensure!(
        n <= MOST,
        "{n} 行太多，层次聚类最多 {MOST} 行；请用 k 均值",
        "{n} rows are too many for a hierarchy, which takes at most {MOST}; use k-means"
    );
    if n < 2 {
        return Ok(Vec::new());
    }
    let row = |i: usize| &rows[i * dim..(i + 1) * dim];
    let of_row = |i: usize| -> Vec<f64> {
        let distance = |j: usize| row(i).iter().zip(row(j)).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt();
        (i + 1..n).map(distance).collect()
    };
    let values: Vec<Vec<f64>> = ctx.install(|| (0..n).into_par_iter().map(of_row).collect());
    let mut distances = Distances { n, values: values.concat() };
    ctx.check()?;
    // A chain of nearest neighbours ends in a pair of which each is the nearest of the other.
    let (mut sizes, mut chain) = (vec![1usize; n], Vec::<usize>::new());
    let mut merges: Vec<Merge> = Vec::with_capacity(n - 1);
    for round in 0..n - 1 {
        if round % 256 == 0 {
            ctx.check()?;
        }
        if chain.is_empty() {
            chain.extend((0..n).find(|i| sizes[*i] > 0));
        }
        let (x, y, distance) = loop {
            let x = chain[chain.len() - 1];
            // The one before is taken where another is as near.
            let before = chain.len().checked_sub(2).map(|at| chain[at]);
            let mut nearest = before.map_or((usize::MAX, f64::INFINITY), |y| (y, distances.get(x, y)));
            for i in (0..n).filter(|i| sizes[*i] > 0 && *i != x) {
                let distance = distances.get(x, i);
                if distance < nearest.1 {
                    nearest = (i, distance);
                }
            }
            if Some(nearest.0) == before {
                chain.truncate(chain.len() - 2);
                break (x.min(nearest.0), x.max(nearest.0), nearest.1);
            }
            chain.push(nearest.0);
        };
        let (of_x, of_y) = (sizes[x] as f64, sizes[y] as f64);
        merges.push(Merge { a: x, b: y, distance, rows: sizes[x] + sizes[y] });
        sizes[y] += sizes[x];
        sizes[x] = 0;
        for i in (0..n).filter(|i| sizes[*i] > 0 && *i != y) {
            let (to_x, to_y, of_i) = (distances.get(i, x), distances.get(i, y), sizes[i] as f64);
            let new = match by {
                Linkage::Single => to_x.min(to_y),
                Linkage::Complete => to_x.max(to_y),
                Linkage::Average => (of_x * to_x + of_y * to_y) / (of_x + of_y),
                Linkage::Ward => {
                    let t = 1.0 / (of_x + of_y + of_i);
                    ((of_i + of_x) * t * to_x * to_x + (of_i + of_y) * t * to_y * to_y - of_i * t * distance * distance)
                        .max(0.0)
                        .sqrt()
                }
            };
            let place = distances.place(i, y);
            distances.values[place] = new;
        }
    }
    // In the order of distances, under the numbers of the clusters that they made.
    merges.sort_by(|a, b| a.distance.total_cmp(&b.distance));
    let mut cluster_of: Vec<usize> = (0..2 * n - 1).collect();
    fn root(of: &[usize], mut i: usize) -> usize {
        while of[i] != i {
            i = of[i];
        }
        i
    }
    let mut rows_of = vec![1usize; n];
    for (i, merge) in merges.iter_mut().enumerate() {
        let [a, b] = [merge.a, merge.b].map(|row| root(&cluster_of, row));
        (merge.a, merge.b) = (a.min(b), a.max(b));
        merge.rows = rows_of[a] + rows_of[b];
        rows_of.push(merge.rows);
        (cluster_of[a], cluster_of[b]) = (n + i, n + i);
    }
    Ok(merges)
}

/// The cluster of each of `n` rows once so many merges are undone that `k` clusters are left. Clusters are numbered by their first row.
pub fn cut(merges: &[Merge], n: usize, k: usize) -> Vec<u32> {
    let mut above: Vec<usize> = (0..2 * n.max(1)).collect();
    for (i, merge) in merges.iter().enumerate().take(n.saturating_sub(k.max(1))) {
        (above[merge.a], above[merge.b]) = (n + i, n + i);
    }
    let mut numbers: Vec<usize> = Vec::new();
    (0..n)
        .map(|row| {
            let mut top = row;
            while above[top] != top {
                top = above[top];
            }
            let number = numbers.iter().position(|known| *known == top);
            number.unwrap_or_else(|| {
                numbers.push(top);
                numbers.len() - 1
            }) as u32
        })
        .collect()
}

impl Centres {
    /// The means of rows `[n, dim]` by their clusters.
    pub fn of_labels(rows: &[f64], dim: usize, labels: &[u32], unit: bool) -> Centres {
        let k = labels.iter().max().map_or(0, |last| *last as usize + 1);
        let (mut values, mut counts) = (vec![0.0; k * dim], vec![0usize; k]);
        for (row, label) in rows.chunks(dim.max(1)).zip(labels) {
            let cluster = *label as usize;
            counts[cluster] += 1;
            values[cluster * dim..][..dim].iter_mut().zip(row).for_each(|(sum, value)| *sum += value);
        }
        values.chunks_mut(dim.max(1)).zip(&counts).for_each(|(row, n)| row.iter_mut().for_each(|v| *v /= *n as f64));
        Centres { k, dim, unit, values }
    }
}
