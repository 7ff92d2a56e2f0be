//! Columns in bins: a value's bin is the number of cuts at or below it.
//!
//! The cuts of a column are its distinct values but the least, or where these are many, quantiles of its values: what XGBoost
//! takes for cuts.

use anyhow::Result;
use rayon::prelude::*;

use super::BoostParams;
use super::columns::{BoostColumns, Chosen, FilledColumn, choose};
use super::goal::BoostGoal;
use super::search::{self, HistogramCell};

use inkstone_base::ensure;

/// Bins of a column at the most.
const BINS: usize = 64;
/// A column is held for every row where at least one row in so many has a value: it is then shorter than a list, and faster.
const FULL_SHARE: usize = 4;

/// The columns that trees may use, ascending.
pub(super) struct Binned {
    pub(super) rows: usize,
    pub(super) columns: Vec<BinnedColumn>,
}

pub(super) struct BinnedColumn {
    /// Number of the column among the features.
    pub(super) column: u32,
    /// Ascending; the bins are one more.
    cuts: Vec<f32>,
    pub(super) bins: Bins,
}

/// The bins of a column.
pub(super) enum Bins {
    /// Bins of the rows that have a value; `rows` is ascending.
    Listed { rows: Vec<u32>, bins: Vec<u8> },
    /// Bins of all rows. A row without a value has [`BinnedColumn::absent`].
    Full(Vec<u8>),
}

impl BinnedColumn {
    fn new(column: u32, values: &FilledColumn, rows: usize) -> BinnedColumn {
        let cuts = cuts(&values.values);
        let bin = |value: &f32| cuts.partition_point(|cut| cut <= value) as u8;
        let bins = if values.rows.len() * FULL_SHARE >= rows {
            let mut every = vec![cuts.len() as u8 + 1; rows];
            values.rows.iter().zip(&values.values).for_each(|(&i, value)| every[i as usize] = bin(value));
            Bins::Full(every)
        } else {
            Bins::Listed { rows: values.rows.clone(), bins: values.values.iter().map(bin).collect() }
        };
        BinnedColumn { column, cuts, bins }
    }

    /// The number of bins.
    pub(super) fn len(&self) -> usize {
        self.cuts.len() + 1
    }

    /// The bin of rows without a value: beyond the others.
    pub(super) fn absent(&self) -> u8 {
        self.len() as u8
    }

    /// The value that is above all of the first `bins` bins, and not above those after them.
    pub(super) fn threshold(&self, bins: u8) -> f32 {
        match bins as usize {
            0 => f32::NEG_INFINITY,
            bins if bins == self.len() => f32::INFINITY,
            bins => self.cuts[bins - 1],
        }
    }
}

/// Ascending.
fn cuts(values: &[f32]) -> Vec<f32> {
    let mut values = values.to_vec();
    values.sort_unstable_by(f32::total_cmp);
    let distinct = values.chunk_by(|a, b| a == b).count();
    let mut cuts = if distinct <= BINS {
        values.clone()
    } else {
        (1..BINS).map(|b| values[b * values.len() / BINS]).collect::<Vec<f32>>()
    };
    cuts.dedup();
    // Nothing is below the least value.
    cuts.retain(|cut| *cut > values[0]);
    cuts
}

impl Binned {
    /// Chooses columns and puts them into bins. Fails where they would take more memory than `memory_mb`. Call inside `Ctx::install`.
    pub(super) fn new(
        x: &impl BoostColumns,
        goal: &BoostGoal<'_>,
        weights: &[f64],
        outputs: usize,
        params: &BoostParams,
    ) -> Result<Binned> {
        let chosen = choose(x, goal, weights, params)?;
        let rows = x.rows();
        let needed = memory(&chosen, rows, outputs, params.max_depth).div_ceil(1 << 20);
        ensure!(
            needed <= params.memory_mb,
            "{rows} 行 {} 列的提升树约需 {needed} MB，超过 memory_mb = {}：请降低 max_features（现为 {}）、降低 max_depth，或提高 memory_mb",
            "boosted trees on {rows} rows and {} columns would take about {needed} MB, more than memory_mb = {}: lower max_features (now {}), lower max_depth, or raise memory_mb",
            chosen.len(),
            params.memory_mb,
            params.max_features
        );
        let binned = |values: &mut FilledColumn, chosen: &Chosen| {
            values.fill(x, chosen.column as usize);
            BinnedColumn::new(chosen.column, values, rows)
        };
        Ok(Binned { rows, columns: chosen.par_iter().map_init(FilledColumn::default, binned).collect() })
    }
}

/// Bytes of the bins, of the histograms that are kept, and of what each row has.
fn memory(chosen: &[Chosen], rows: usize, outputs: usize, max_depth: usize) -> usize {
    let kept = 2 * search::kept_nodes(max_depth) * (BINS + 1) * size_of::<HistogramCell>();
    let column = |chosen: &Chosen| {
        let bins = if chosen.values * FULL_SHARE >= rows { rows + kept } else { 5 * chosen.values };
        bins + size_of::<BinnedColumn>() + 4 * chosen.values.min(BINS)
    };
    let row = 2 * size_of::<u32>() + size_of::<search::Case>() + 16 * outputs;
    chosen.iter().map(column).sum::<usize>() + rows * row
}
