//! Statistics of a set: its columns, the rows that repeat others, and the months of the corpus that it covers.

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use chrono::Datelike;
use rand::{SeedableRng, seq::index::sample};
use rand_chacha::ChaCha8Rng;
use rustc_hash::FxHashSet;

use super::columns::{Column, ColumnName, Running};
use super::near::times;
use crate::extract::SetMeta;
use inkstone_base::job::Ctx;
use inkstone_base::language::Word;
use inkstone_store::{Header, Rows, Set, Values};
use inkstone_tables::corpus::Parts;

/// Rows that quartiles and histograms are computed from at the most.
const SAMPLED: usize = 4096;
/// Seed of the draw of these rows, fixed so that the same set always shows the same figures.
const SEED: u64 = 1;
/// Columns of a dense set that are listed.
const MOST_DENSE: usize = 512;
/// Columns of a sparse set that are listed: those with most entries.
const MOST_SPARSE: usize = 64;
/// Columns of a sparse set that are counted; hashed terms can have more.
const COUNTED: usize = 1 << 20;
/// Rows that are compared with those before them.
const COMPARED: u64 = 2_000_000;

/// Statistics of a feature set.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Health {
    pub rows: u64,
    /// Rows that have a finite value in a column, or, sparse, an entry.
    pub filled: u64,
    /// Number of columns; of a sparse set those that any row has.
    pub columns: usize,
    /// The listed columns: the first ones, or of a sparse set two figures of its rows and the columns with most entries.
    pub told: Vec<Column>,
    /// Columns in which all rows with a value have the same one.
    pub constant: u64,
    /// Columns in which no row has a value.
    pub empty: u64,
    pub sampled: u64,
    /// Rows with values that equal, to the bit, those of a row before; rows without any value do not count.
    pub repeats: u64,
    /// Rows that were compared to count `repeats`.
    pub compared: u64,
    /// Documents by month of publication, in order.
    pub months: Vec<Month>,
    /// Rows without a document in the present corpus.
    pub strays: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Month {
    pub year: i32,
    /// From 1.
    pub month: u32,
    pub documents: u64,
    /// Documents of the month that have a value.
    pub filled: u64,
}

/// Reads a set once. `progress` gets the number of rows read so far.
pub fn health(set: &Set<'_>, clean: &Parts, progress: &dyn Fn(u64), ctx: &Ctx) -> Result<Health> {
    let header = set.header();
    let mut tally = Tally::new(header)?;
    for (part, rows) in set.batches().enumerate() {
        ctx.check()?;
        tally.take(&rows?, clean, part)?;
        progress(tally.health.rows);
    }
    Ok(tally.conclude(header))
}

struct Tally {
    health: Health,
    columns: Vec<Running>,
    /// Entries and length of sparse rows.
    of_rows: [Running; 2],
    /// Numbers of the sampled rows, ascending, and their values row by row; of a sparse set its two figures.
    chosen: Vec<u64>,
    values: Vec<f32>,
    width: usize,
    seen: FxHashSet<u64>,
    months: BTreeMap<(i32, u32), [u64; 2]>,
}

impl Tally {
    fn new(header: &Header) -> Result<Tally> {
        let rows = usize::try_from(header.rows)
            .context(Word("行数超出本机能计数的范围", "more rows than this machine can count"))?;
        let mut rng = ChaCha8Rng::seed_from_u64(SEED);
        let mut chosen: Vec<u64> =
            sample(&mut rng, rows, rows.min(SAMPLED)).into_iter().map(|row| row as u64).collect();
        chosen.sort_unstable();
        Ok(Tally {
            health: Health { sampled: chosen.len() as u64, ..Health::default() },
            columns: Vec::new(),
            of_rows: [const { Running::NEW }; 2],
            chosen,
            values: Vec::new(),
            width: 0,
            seen: FxHashSet::default(),
            months: BTreeMap::new(),
        })
    }

    fn take(&mut self, rows: &Rows, clean: &Parts, part: usize) -> Result<()> {
        let times = times(clean, part)?.filter(|times| times.len() == rows.len());
        if times.is_none() {
            self.health.strays += rows.len() as u64;
        }
        for row in 0..rows.len() {
            let filled = match &rows.values {
                Values::Dense { dim, data } => self.dense(&data[row * dim..(row + 1) * dim]),
                Values::Sparse { indptr, indices, values } => {
                    let places = indptr[row]..indptr[row + 1];
                    self.sparse(&indices[places.clone()], &values[places])
                }
            };
            self.health.rows += 1;
            self.health.filled += u64::from(filled);
            if let Some(time) = times.as_ref().and_then(|times| times[row]) {
                let month = self.months.entry((time.year(), time.month())).or_default();
                month[0] += 1;
                month[1] += u64::from(filled);
            }
        }
        Ok(())
    }

    fn dense(&mut self, row: &[f32]) -> bool {
        self.columns.resize(row.len(), Running::NEW);
        self.width = row.len().min(MOST_DENSE);
        for (column, value) in self.columns.iter_mut().zip(row) {
            column.add(*value);
        }
        if self.is_chosen() {
            self.values.extend(&row[..self.width]);
        }
        let filled = row.iter().any(|value| value.is_finite());
        if filled {
            self.compare(&[], row);
        }
        filled
    }

    fn sparse(&mut self, columns: &[u32], values: &[f32]) -> bool {
        for (column, value) in columns.iter().zip(values) {
            let place = *column as usize;
            if place < COUNTED {
                if place >= self.columns.len() {
                    self.columns.resize(place + 1, Running::NEW);
                }
                self.columns[place].add(*value);
            }
        }
        let length = values.iter().map(|v| f64::from(*v).powi(2)).sum::<f64>().sqrt();
        let figures = [values.len() as f32, length as f32];
        for (running, figure) in self.of_rows.iter_mut().zip(figures) {
            running.add(figure);
        }
        self.width = figures.len();
        if self.is_chosen() {
            self.values.extend(figures);
        }
        if !values.is_empty() {
            self.compare(columns, values);
        }
        !values.is_empty()
    }

    fn is_chosen(&self) -> bool {
        self.chosen.binary_search(&self.health.rows).is_ok()
    }

    /// Counts a row that repeats the values of an earlier row.
    fn compare(&mut self, columns: &[u32], values: &[f32]) {
        if self.health.compared == COMPARED {
            return;
        }
        self.health.compared += 1;
        let mut hasher = blake3::Hasher::new();
        hasher.update(bytemuck::cast_slice(columns)).update(bytemuck::cast_slice(values));
        let hash = hasher.finalize();
        let short = hash.as_bytes().first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes));
        self.health.repeats += u64::from(!self.seen.insert(short));
    }

    fn conclude(mut self, header: &Header) -> Health {
        let rows = self.health.rows;
        let sparse = self.of_rows[0].rows() > 0;
        if sparse {
            for column in &mut self.columns {
                column.add_zeros(rows - column.rows());
            }
        }
        let (values, width) = (&self.values, self.width);
        let sampled = |column: usize| values.iter().skip(column).step_by(width.max(1)).copied();
        let meta = SetMeta::read(header).unwrap_or_default();
        let mut health = self.health;
        if sparse {
            let mut order: Vec<usize> = (0..self.columns.len()).filter(|c| self.columns[*c].filled() > 0).collect();
            health.columns = order.len();
            order.sort_by_key(|column| std::cmp::Reverse(self.columns[*column].filled()));
            order.truncate(MOST_SPARSE);
            for (figure, name) in [ColumnName::Entries, ColumnName::Length].into_iter().enumerate() {
                health.told.push(self.of_rows[figure].conclude(name, sampled(figure)));
            }
            for column in order {
                let name = ColumnName::Named(column_name(&meta, column));
                health.told.push(self.columns[column].conclude(name, std::iter::empty()));
            }
        } else {
            health.columns = self.columns.len();
            for (place, column) in self.columns.iter().enumerate() {
                let concluded = column.conclude(ColumnName::Named(column_name(&meta, place)), std::iter::empty());
                health.constant += u64::from(concluded.is_constant());
                health.empty += u64::from(concluded.mean.is_nan());
                if place < width {
                    health.told.push(column.conclude(concluded.name, sampled(place)));
                }
            }
        }
        let months = self.months.into_iter();
        health.months =
            months.map(|((year, month), [documents, filled])| Month { year, month, documents, filled }).collect();
        health
    }
}

/// The name of a column in the notes of a set, or else its number from 1.
fn column_name(meta: &SetMeta, place: usize) -> String {
    let term = || meta.vocabulary.as_ref()?.get(place).map(AsRef::as_ref);
    let name = if meta.columns.is_empty() { term() } else { meta.columns.get(place).map(String::as_str) };
    name.map_or_else(|| format!("#{}", place + 1), str::to_owned)
}
