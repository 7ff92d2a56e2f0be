//! K-means on dense or sparse rows.

use anyhow::Result;
use rayon::prelude::*;

use crate::random::Random;
use crate::{Csr, DenseRows};
use inkstone_base::ensure;
use inkstone_base::job::Ctx;

/// Rows of a task.
const TASK: usize = 512;

params! {
    pub struct ClusterParams {
        /// Clusters.
        ///
        /// 类数。
        k: usize = 20, number("N", "feature.clusters.k", short = 'k');
        /// Rows are clustered as they are; without this they are scaled to length 1, so that clusters go by angles.
        ///
        /// 按原样聚类；不写时各行缩放为长度 1，按夹角聚类。
        as_is: bool = false, arg(long);
        /// Starts, each from seeds of its own; the one with the least inertia stays.
        ///
        /// 起点数，每次另取种子，保留惯性最小者。
        starts: usize = 4, number("N", "feature.clusters.starts");
        /// Rounds of a start at the most.
        ///
        /// 每个起点最多的轮数。
        rounds: usize = 300, number("N", "feature.clusters.rounds");
        /// A start ends when the centres move by less than this share of the variance of the columns.
        ///
        /// 中心移动小于各列方差的该比例时结束。
        tolerance: f64 = 1e-4, number("SHARE", "feature.clusters.tolerance");
    }
}

/// Rows that can be put into clusters.
#[derive(Clone, Copy)]
pub enum ClusterRows<'r> {
    Dense(&'r DenseRows),
    /// Rows of `[rows, dim]`, one after another.
    Plain(&'r [f32], usize),
    Sparse(&'r Csr),
}

impl ClusterRows<'_> {
    pub fn len(&self) -> usize {
        match self {
            ClusterRows::Dense(rows) => rows.rows(),
            ClusterRows::Plain(data, dim) => data.len() / dim.max(&1),
            ClusterRows::Sparse(rows) => rows.rows(),
        }
    }

    /// True if there is no row.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub fn dim(&self) -> usize {
        match self {
            ClusterRows::Dense(rows) => rows.dim(),
            ClusterRows::Plain(_, dim) => *dim,
            ClusterRows::Sparse(rows) => rows.cols(),
        }
    }

    /// Gives each value of a row that is not zero, with its column.
    #[inline]
    fn for_each(&self, row: usize, mut give: impl FnMut(usize, f64)) {
        let dense = |values: &[f32], give: &mut dyn FnMut(usize, f64)| {
            values.iter().enumerate().for_each(|(j, value)| give(j, f64::from(*value)));
        };
        match self {
            ClusterRows::Dense(rows) => dense(rows.row(row), &mut give),
            ClusterRows::Plain(data, dim) => dense(&data[row * dim..(row + 1) * dim], &mut give),
            ClusterRows::Sparse(rows) => rows.row(row).iter().for_each(|(j, value)| give(j as usize, f64::from(value))),
        }
    }

    /// The rows, among `rows`, whose values are finite and not all zero.
    pub fn with_direction(&self, rows: impl IntoIterator<Item = u32>) -> Vec<u32> {
        let has = |row: &u32| {
            let squares = self.squares(*row as usize);
            squares.is_finite() && squares > 0.0
        };
        rows.into_iter().filter(has).collect()
    }

    /// Sum of the squares of a row.
    fn squares(&self, row: usize) -> f64 {
        let mut sum = 0.0;
        self.for_each(row, |_, value| sum += value * value);
        sum
    }
}

/// Centres of clusters, `[k, dim]`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Centres {
    pub k: usize,
    pub dim: usize,
    /// True if rows are scaled to length 1 before they are compared.
    pub unit: bool,
    pub values: Vec<f64>,
}

/// Clusters of the rows that they were made of.
#[derive(Clone, Debug, PartialEq)]
pub struct Clustering {
    pub centres: Centres,
    /// The cluster of each row, in the order in which the rows were named.
    pub labels: Vec<u32>,
    /// Sum of the squared distances of rows to their centres.
    pub inertia: f64,
    /// Rounds of the start that stayed.
    pub rounds: usize,
}

impl Centres {
    pub fn row(&self, cluster: usize) -> &[f64] {
        &self.values[cluster * self.dim..][..self.dim]
    }

    /// The centres as columns, `[dim, k]`, and the squares of each centre.
    fn turned(&self) -> (Vec<f64>, Vec<f64>) {
        let mut turned = vec![0.0; self.values.len()];
        for (cluster, row) in self.values.chunks(self.dim).enumerate() {
            row.iter().enumerate().for_each(|(j, value)| turned[j * self.k + cluster] = *value);
        }
        (turned, self.values.chunks(self.dim).map(|row| row.iter().map(|v| v * v).sum()).collect())
    }

    /// Squared distances of a row to all centres; none for a row without a direction, or with a value that is no number.
    fn distances(
        &self,
        (turned, squares): &(Vec<f64>, Vec<f64>),
        rows: ClusterRows<'_>,
        row: usize,
    ) -> Option<Vec<f64>> {
        let own = rows.squares(row);
        if !own.is_finite() || self.unit && own == 0.0 {
            return None;
        }
        let scale = if self.unit { 1.0 / own.sqrt() } else { 1.0 };
        let mut products = vec![0.0; self.k];
        rows.for_each(row, |j, value| {
            // Terms that no document had which the centres were made of.
            if j >= self.dim {
                return;
            }
            let value = value * scale;
            products.iter_mut().zip(&turned[j * self.k..][..self.k]).for_each(|(sum, centre)| *sum += value * centre);
        });
        let own = own * scale * scale;
        Some(products.iter().zip(squares).map(|(product, square)| (own - 2.0 * product + square).max(0.0)).collect())
    }

    /// For each of some rows the squared distances to all centres. Call inside `Ctx::install`.
    pub fn all_distances(&self, rows: ClusterRows<'_>, wanted: &[u32]) -> Vec<Option<Vec<f64>>> {
        let turned = self.turned();
        let distances = |row: &u32| self.distances(&turned, rows, *row as usize);
        wanted.par_iter().with_min_len(TASK).map(distances).collect()
    }

    /// For each of some rows the nearest centre and the squared distance to it. Call inside `Ctx::install`.
    fn nearest(&self, rows: ClusterRows<'_>, wanted: &[u32]) -> Vec<(u32, f64)> {
        let turned = self.turned();
        let nearest = |row: &u32| {
            let distances = self.distances(&turned, rows, *row as usize).unwrap_or_default();
            nearest(&distances).map_or((0, 0.0), |cluster| (cluster as u32, distances[cluster]))
        };
        wanted.par_iter().with_min_len(TASK).map(nearest).collect()
    }
}

/// The nearest of some centres, the first of equal ones.
pub(super) fn nearest(distances: &[f64]) -> Option<usize> {
    (0..distances.len()).min_by(|a, b| distances[*a].total_cmp(&distances[*b]).then(a.cmp(b)))
}

/// Puts some rows into clusters, from given centres or, without them, from seeds of its own. Rows without a direction must not be among them.
pub fn cluster(
    rows: ClusterRows<'_>,
    wanted: &[u32],
    params: &ClusterParams,
    start: Option<&Centres>,
    ctx: &Ctx,
) -> Result<Clustering> {
    ensure!(
        wanted.len() >= params.k && params.k > 0,
        "{} 行不能分成 {} 类；请减小 k",
        "{} rows do not make {} clusters; choose a smaller k",
        wanted.len(),
        params.k
    );
    let threshold = params.tolerance * mean_variance(rows, wanted, !params.as_is);
    if let Some(start) = start {
        return ctx.install(|| lloyd(rows, wanted, start.clone(), params, threshold, ctx));
    }
    let mut best: Option<Clustering> = None;
    for number in 0..params.starts.max(1) {
        let found = ctx.install(|| {
            let seeds = seeds(rows, wanted, params, Random::new([ctx.seed(), number as u64, 0x6b6d]), ctx)?;
            lloyd(rows, wanted, seeds, params, threshold, ctx)
        })?;
        if best.as_ref().is_none_or(|best| found.inertia < best.inertia) {
            best = Some(found);
        }
    }
    Ok(best.expect("there was at least one start"))
}

/// The factor that scales a row to length 1; 1 unless `unit`.
fn scale(rows: ClusterRows<'_>, row: usize, unit: bool) -> f64 {
    let squares = if unit { rows.squares(row) } else { 1.0 };
    if squares > 0.0 { 1.0 / squares.sqrt() } else { 0.0 }
}

/// Mean over the columns of their variance.
fn mean_variance(rows: ClusterRows<'_>, wanted: &[u32], unit: bool) -> f64 {
    // Columns that no row has count for nothing: later documents may have them.
    let (mut sums, mut squares, mut columns) = (vec![0.0; rows.dim()], 0.0, vec![false; rows.dim()]);
    for row in wanted {
        let by = scale(rows, *row as usize, unit);
        rows.for_each(*row as usize, |j, value| {
            sums[j] += value * by;
            squares += value * by * value * by;
            columns[j] |= value != 0.0;
        });
    }
    let n = wanted.len() as f64;
    let means: f64 = sums.iter().map(|sum| (sum / n).powi(2)).sum();
    (squares / n - means) / columns.iter().filter(|has| **has).count().max(1) as f64
}

/// A row as a centre.
fn as_centre(rows: ClusterRows<'_>, row: usize, unit: bool) -> Vec<f64> {
    let by = scale(rows, row, unit);
    let mut centre = vec![0.0; rows.dim()];
    rows.for_each(row, |j, value| centre[j] = value * by);
    centre
}

/// Squared distances of all rows to a centre.
fn to_centre(rows: ClusterRows<'_>, wanted: &[u32], centre: &[f64], unit: bool) -> Vec<f64> {
    let square: f64 = centre.iter().map(|value| value * value).sum();
    let distance = |row: &u32| {
        let row = *row as usize;
        let by = scale(rows, row, unit);
        let (mut own, mut product) = (0.0, 0.0);
        rows.for_each(row, |j, value| {
            own += value * value;
            product += value * centre[j];
        });
        (own * by * by - 2.0 * product * by + square).max(0.0)
    };
    wanted.par_iter().with_min_len(TASK).map(distance).collect()
}

/// Seeds by k-means++: each is drawn in proportion to the squared distance to the seeds before it, the best of several draws.
fn seeds(
    rows: ClusterRows<'_>,
    wanted: &[u32],
    params: &ClusterParams,
    mut random: Random,
    ctx: &Ctx,
) -> Result<Centres> {
    let (k, dim, unit) = (params.k, rows.dim(), !params.as_is);
    let draws = 2 + (k as f64).ln() as usize;
    let mut uniform = || (random.next() >> 11) as f64 / (1u64 << 53) as f64;
    let mut values = Vec::with_capacity(k * dim);
    let first = ((uniform() * wanted.len() as f64) as usize).min(wanted.len() - 1);
    values.extend(as_centre(rows, wanted[first] as usize, unit));
    let mut closest = to_centre(rows, wanted, &values, unit);
    for _ in 1..k {
        ctx.check()?;
        let mut ends = Vec::with_capacity(closest.len());
        let total = closest.iter().fold(0.0, |sum, distance| {
            ends.push(sum + distance);
            sum + distance
        });
        let mut best: Option<(f64, Vec<f64>, Vec<f64>)> = None;
        for _ in 0..draws {
            let at = uniform() * total;
            let drawn = ends.partition_point(|end| *end <= at).min(wanted.len() - 1);
            let centre = as_centre(rows, wanted[drawn] as usize, unit);
            let mut distances = to_centre(rows, wanted, &centre, unit);
            distances.iter_mut().zip(&closest).for_each(|(new, old)| *new = new.min(*old));
            let potential: f64 = distances.iter().sum();
            if best.as_ref().is_none_or(|best| potential < best.0) {
                best = Some((potential, distances, centre));
            }
        }
        let (_, distances, centre) = best.expect("there was a draw");
        closest = distances;
        values.extend(centre);
    }
    Ok(Centres { k, dim, unit, values })
}

/// Lloyd's rounds from given centres. Call inside `Ctx::install`.
fn lloyd(
    rows: ClusterRows<'_>,
    wanted: &[u32],
    mut centres: Centres,
    params: &ClusterParams,
    threshold: f64,
    ctx: &Ctx,
) -> Result<Clustering> {
    let mut labels: Vec<u32> = Vec::new();
    let (mut rounds, mut settled) = (0, false);
    while rounds < params.rounds && !settled {
        ctx.check()?;
        rounds += 1;
        let near = centres.nearest(rows, wanted);
        let moved = means(rows, wanted, &near, &centres);
        let shift: f64 = moved.values.iter().zip(&centres.values).map(|(a, b)| (a - b).powi(2)).sum();
        centres = moved;
        let new: Vec<u32> = near.iter().map(|(cluster, _)| *cluster).collect();
        settled = new == labels;
        labels = new;
        if shift <= threshold {
            break;
        }
    }
    let near = centres.nearest(rows, wanted);
    // Rows that have settled keep their clusters where two centres are equally near.
    if !settled {
        labels = near.iter().map(|(cluster, _)| *cluster).collect();
    }
    let inertia = near.iter().map(|(_, distance)| distance).sum();
    Ok(Clustering { centres, labels, inertia, rounds })
}

/// The means of the clusters. An empty cluster takes the row that is farthest from its centre.
fn means(rows: ClusterRows<'_>, wanted: &[u32], near: &[(u32, f64)], before: &Centres) -> Centres {
    let Centres { k, dim, unit, .. } = *before;
    let mut members: Vec<Vec<u32>> = vec![Vec::new(); k];
    for (row, (cluster, _)) in wanted.iter().zip(near) {
        members[*cluster as usize].push(*row);
    }
    let empty: Vec<usize> = (0..k).filter(|cluster| members[*cluster].is_empty()).collect();
    if !empty.is_empty() {
        let mut farthest: Vec<usize> = (0..wanted.len()).collect();
        farthest.sort_by(|a, b| near[*b].1.total_cmp(&near[*a].1).then(a.cmp(b)));
        for (cluster, at) in empty.into_iter().zip(farthest) {
            members[near[at].0 as usize].retain(|row| *row != wanted[at]);
            members[cluster].push(wanted[at]);
        }
    }
    let mean = |(cluster, members): (usize, &Vec<u32>)| -> Vec<f64> {
        if members.is_empty() {
            return before.row(cluster).to_vec();
        }
        let mut sums = vec![0.0; dim];
        for row in members {
            let by = scale(rows, *row as usize, unit);
            rows.for_each(*row as usize, |j, value| sums[j] += value * by);
        }
        sums.iter_mut().for_each(|sum| *sum /= members.len() as f64);
        sums
    };
    let values: Vec<Vec<f64>> = members.par_iter().enumerate().map(mean).collect();
    Centres { k, dim, unit, values: values.concat() }
}
