//! Counting pairs in a stream of documents, in bounded memory.
//!
//! A word's pairs are counted in the table of its shard, which one thread at a time works on. When the tables are full each is
//! written, sorted, as a run; at the end the runs of a shard are merged. A pair is a key (word, then neighbour, 32 bits each)
//! with a count of units.

use std::path::{Path, PathBuf};

use anyhow::Result;
use memmap2::Mmap;
use rayon::prelude::*;
use rustc_hash::FxHashMap;

use super::{Cooccurrence, CooccurrenceParams, PairWeighting};
use crate::{Row, RowsWriter};
use inkstone_base::disk::Scratch;
use inkstone_base::ensure;
use inkstone_base::job::Ctx;

/// Tables: the most threads that count at once.
const SHARDS: usize = 16;

/// Units of a count of 1: divisible by all distances to 16, so that their shares are exact.
const UNIT: u64 = 720_720;

/// Words whose pairs are counted between two looks at the memory.
const TOKENS: usize = 1 << 20;

/// Bytes of a counted pair in a table, as far as that can be said.
const PAIR_BYTES: usize = 40;

/// Counts pairs of words, given as numbers below `words`.
pub struct PairCounter {
    words: usize,
    window: usize,
    /// Units by distance, from 1.
    units: Vec<u64>,
    /// Pairs that all tables may hold.
    limit: usize,
    folder: PathBuf,
    shards: Vec<Shard>,
}

#[derive(Default)]
struct Shard {
    table: FxHashMap<u64, u64>,
    /// Sorted pairs of key and units.
    runs: Vec<Mmap>,
}

impl PairCounter {
    /// A counter of pairs of `words` words; scratch files, if need be, are made in `folder`.
    pub fn new(words: usize, params: &CooccurrenceParams, folder: &Path) -> Result<PairCounter> {
        ensure!(
            (1..=1000).contains(&params.window),
            "窗口不能是 {} 个词；请选 1 到 1000（通常为 5）",
            "a window of {} words cannot be; choose 1 to 1000 (5 is usual)",
            params.window
        );
        let units = |d: u64| match params.weighting {
            PairWeighting::Uniform => UNIT,
            PairWeighting::Harmonic => (UNIT + d / 2) / d,
        };
        Ok(PairCounter {
            words,
            window: params.window,
            units: (1..=params.window as u64).map(units).collect(),
            limit: (params.memory << 20) / PAIR_BYTES,
            folder: folder.to_owned(),
            shards: (0..SHARDS).map(|_| Shard::default()).collect(),
        })
    }

    /// Counts documents, each the numbers of its kept words in order.
    pub fn add(&mut self, documents: &[impl AsRef<[u32]> + Sync], ctx: &Ctx) -> Result<()> {
        let (window, units) = (self.window, &self.units);
        ctx.install(|| {
            self.shards.par_iter_mut().enumerate().try_for_each(|(s, shard)| {
                for document in documents {
                    ctx.check()?;
                    shard.count(s, document.as_ref(), window, units);
                }
                anyhow::Ok(())
            })
        })?;
        let held: usize = self.shards.iter().map(|shard| shard.table.len()).sum();
        if held > self.limit {
            let folder = &self.folder;
            ctx.install(|| self.shards.par_iter_mut().try_for_each(|shard| shard.spill(folder)))?;
        }
        Ok(())
    }

    /// Counts all pairs of some documents.
    pub fn count<'a>(
        words: usize,
        documents: impl Iterator<Item = &'a [u32]>,
        params: &CooccurrenceParams,
        folder: &Path,
        ctx: &Ctx,
    ) -> Result<Cooccurrence> {
        let mut counter = PairCounter::new(words, params, folder)?;
        let (mut held, mut tokens) = (Vec::new(), 0);
        for document in documents {
            tokens += document.len();
            held.push(document);
            if tokens >= TOKENS {
                counter.add(&held, ctx)?;
                held.clear();
                tokens = 0;
            }
        }
        counter.add(&held, ctx)?;
        counter.finish(ctx)
    }

    pub fn finish(mut self, ctx: &Ctx) -> Result<Cooccurrence> {
        let last: Vec<Vec<[u64; 2]>> = ctx.install(|| self.shards.par_iter_mut().map(Shard::sorted).collect());
        let mut merges: Vec<Merge<'_>> = self.shards.iter().zip(&last).map(|(shard, last)| shard.merge(last)).collect();
        let mut rows = RowsWriter::new(self.words, &self.folder);
        let mut sums = Vec::with_capacity(self.words);
        let (mut indices, mut values) = (Vec::new(), Vec::new());
        for word in 0..self.words as u64 {
            ctx.check()?;
            indices.clear();
            values.clear();
            let mut sum = 0;
            while let Some([key, units]) = merges[word as usize % SHARDS].next_of(word) {
                sum += units;
                indices.push(key as u32);
                values.push((units as f64 / UNIT as f64) as f32);
            }
            sums.push(sum as f64 / UNIT as f64);
            rows.push(Row { indices: &indices, values: &values })?;
        }
        Ok(Cooccurrence { rows: rows.finish()?, sums })
    }
}

impl Shard {
    fn count(&mut self, shard: usize, document: &[u32], window: usize, units: &[u64]) {
        for (at, &word) in document.iter().enumerate() {
            if word as usize % SHARDS != shard {
                continue;
            }
            let high = u64::from(word) << 32;
            let before = document[at.saturating_sub(window)..at].iter().rev();
            let after = document[at + 1..].iter();
            for (&other, units) in before.zip(units).chain(after.zip(units)) {
                *self.table.entry(high | u64::from(other)).or_default() += units;
            }
        }
    }

    /// Takes what the table holds.
    fn sorted(&mut self) -> Vec<[u64; 2]> {
        let table = std::mem::take(&mut self.table);
        let mut pairs: Vec<[u64; 2]> = table.into_iter().map(|(key, units)| [key, units]).collect();
        pairs.sort_unstable();
        pairs
    }

    fn spill(&mut self, folder: &Path) -> Result<()> {
        let mut scratch = Scratch::within(folder)?;
        scratch.write(bytemuck::cast_slice(&self.sorted()))?;
        self.runs.extend(scratch.map()?);
        Ok(())
    }

    fn merge<'s>(&'s self, last: &'s [[u64; 2]]) -> Merge<'s> {
        Merge { runs: self.runs.iter().map(|run| bytemuck::cast_slice(run)).chain([last]).collect() }
    }
}

/// The runs of a shard as one. There are few, so the least is found by looking at each.
struct Merge<'s> {
    runs: Vec<&'s [[u64; 2]]>,
}

impl Merge<'_> {
    /// The next pair of this word, if it has one more.
    fn next_of(&mut self, word: u64) -> Option<[u64; 2]> {
        let firsts = self.runs.iter().filter_map(|run| run.first()).map(|first| first[0]);
        let least = firsts.min().filter(|key| key >> 32 == word)?;
        let mut sum = 0;
        for run in &mut self.runs {
            if let [[key, units], rest @ ..] = run
                && *key == least
            {
                sum += units;
                *run = rest;
            }
        }
        Some([least, sum])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(documents: &[Vec<u32>], params: &CooccurrenceParams, threads: usize) -> Cooccurrence {
        let ctx = Ctx::new(threads, 1).unwrap();
        let dir = tempfile::tempdir().unwrap();
        let mut counter = PairCounter::new(20, params, dir.path()).unwrap();
        documents.chunks(3).for_each(|some| counter.add(some, &ctx).unwrap());
        counter.finish(&ctx).unwrap()
    }

    fn row(counts: &Cooccurrence, word: usize) -> Vec<(u32, f32)> {
        counts.rows.block(0).nth(word).unwrap().iter().collect()
    }

    #[test]
    fn pairs_are_as_by_hand() {
        let documents = [vec![0, 1, 0, 2], vec![2, 3]];
        let params = CooccurrenceParams { window: 2, ..CooccurrenceParams::default() };
        let counts = counted(&documents, &params, 1);
        // Within two words: 0-1, 0-0 (both look), 1-0, 1-2, 0-2; and 2-3, never across the border of documents.
        assert_eq!(row(&counts, 0), [(0, 2.0), (1, 2.0), (2, 1.0)]);
        assert_eq!(row(&counts, 1), [(0, 2.0), (2, 1.0)]);
        assert_eq!(row(&counts, 2), [(0, 1.0), (1, 1.0), (3, 1.0)]);
        assert_eq!((counts.sums[0], counts.total(), counts.pairs()), (5.0, 12.0, 9));
        let params = CooccurrenceParams { weighting: PairWeighting::Harmonic, ..params };
        let counts = counted(&documents, &params, 1);
        assert_eq!(row(&counts, 0), [(0, 1.0), (1, 2.0), (2, 1.0)]);
        assert_eq!(row(&counts, 1), [(0, 2.0), (2, 0.5)]);
    }

    #[test]
    fn neighbours_of_three_sentences_make_the_matrix_of_seven_words() {
        // I like deep learning. I like NLP. I enjoy flying. Words: I, like, enjoy, deep, learning, NLP, flying.
        let documents = [vec![0, 1, 3, 4], vec![0, 1, 5], vec![0, 2, 6]];
        let params = CooccurrenceParams { window: 1, ..CooccurrenceParams::default() };
        let counts = counted(&documents, &params, 1);
        let by_hand: [&[(u32, f32)]; 7] = [
            &[(1, 2.0), (2, 1.0)],
            &[(0, 2.0), (3, 1.0), (5, 1.0)],
            &[(0, 1.0), (6, 1.0)],
            &[(1, 1.0), (4, 1.0)],
            &[(3, 1.0)],
            &[(1, 1.0)],
            &[(2, 1.0)],
        ];
        for (word, expected) in by_hand.into_iter().enumerate() {
            assert_eq!(row(&counts, word), expected, "word {word}");
        }
    }

    #[test]
    fn ratios_tell_what_goes_with_ice_and_what_with_steam() {
        // GloVe's paper, table 1, with counts that make round ratios. Words: ice, steam, solid, gas, water, fashion.
        let times = [(0, [8, 1, 6, 1]), (1, [1, 8, 6, 1])];
        let pairs = times.iter().flat_map(|&(word, times)| (2..).zip(times).map(move |(other, n)| (word, other, n)));
        let documents: Vec<Vec<u32>> =
            pairs.flat_map(|(word, other, n)| std::iter::repeat_n(vec![word, other], n)).collect();
        let counts = counted(&documents, &CooccurrenceParams::default(), 1);
        let share = |word: usize, place: usize| f64::from(row(&counts, word)[place].1) / counts.sums[word];
        let ratios: Vec<f64> = (0..4).map(|place| share(0, place) / share(1, place)).collect();
        assert_eq!(ratios, [8.0, 0.125, 1.0, 1.0]);
    }

    #[test]
    fn neither_threads_nor_scratch_files_change_a_count() {
        let documents: Vec<Vec<u32>> =
            (0..40u32).map(|i| (0..i % 13).map(|j| (i * 7 + j * j * 3) % 20).collect()).collect();
        let params =
            CooccurrenceParams { window: 4, weighting: PairWeighting::Harmonic, ..CooccurrenceParams::default() };
        let in_memory = counted(&documents, &params, 1);
        let spilled = CooccurrenceParams { memory: 0, ..params.clone() };
        for other in [counted(&documents, &params, 8), counted(&documents, &spilled, 2)] {
            assert_eq!(other.sums, in_memory.sums);
            (0..20).for_each(|word| assert_eq!(row(&other, word), row(&in_memory, word)));
        }
        // The matrix is symmetric.
        for i in 0..20 {
            for (j, count) in row(&in_memory, i) {
                assert!(row(&in_memory, j as usize).contains(&(i as u32, count)));
            }
        }
    }

    #[test]
    fn a_window_of_nothing_is_refused() {
        let params = CooccurrenceParams { window: 0, ..CooccurrenceParams::default() };
        let error = PairCounter::new(3, &params, Path::new("")).err().unwrap().to_string();
        assert!(error.contains("window of 0") && error.contains("1 to 1000"), "{error}");
    }
}
