//! Counting pairs in a stream of documents, in bounded memory.
//!
//! A word's pairs are counted in the table of its shard, which one thread at a time works on. When the tables are full each is
//! written, sorted, as a run; at the end the runs of a shard are merged. A pair is a key (word, then neighbour, 32 bits each)
//! with a count of units.

use std::fs::File;
use std::io::{BufReader, BufWriter, Read, Seek, Write};
use std::iter::Peekable;

use anyhow::{Context, Result, ensure};
use rayon::prelude::*;
use rustc_hash::FxHashMap;

use super::{Cooccurrence, CooccurrenceParams, Weighting};
use crate::job::Ctx;
use crate::model::svd::RowsWriter;

/// Tables: the most threads that count at once.
const SHARDS: usize = 16;

/// Units of a count of 1: divisible by all distances to 16, so that their shares are exact.
const UNIT: u64 = 720_720;

/// Bytes of a counted pair in a table, as far as that can be said.
const PAIR_BYTES: usize = 40;

/// Bytes of a pair in a run.
const RUN_BYTES: usize = 16;

/// Counts pairs of words, given as numbers below `words`.
pub struct PairCounter {
    words: usize,
    window: usize,
    /// Units by distance, from 1.
    units: Vec<u64>,
    /// Pairs that all tables may hold.
    limit: usize,
    shards: Vec<Shard>,
}

#[derive(Default)]
struct Shard {
    table: FxHashMap<u64, u64>,
    runs: Vec<File>,
}

impl PairCounter {
    /// A counter of pairs of `words` words.
    pub fn new(words: usize, params: &CooccurrenceParams) -> Result<PairCounter> {
        ensure!(
            (1..=1000).contains(&params.window),
            "a window of {} words cannot be; choose 1 to 1000 (5 is usual)",
            params.window
        );
        let units = |d: u64| match params.weighting {
            Weighting::Uniform => UNIT,
            Weighting::Harmonic => (UNIT + d / 2) / d,
        };
        Ok(PairCounter {
            words,
            window: params.window,
            units: (1..=params.window as u64).map(units).collect(),
            limit: (params.memory << 20) / PAIR_BYTES,
            shards: (0..SHARDS).map(|_| Shard::default()).collect(),
        })
    }

    /// Counts documents, each the numbers of its kept words in order.
    pub fn add(&mut self, documents: &[Vec<u32>], ctx: &Ctx) -> Result<()> {
        let (window, units) = (self.window, &self.units);
        ctx.install(|| {
            self.shards.par_iter_mut().enumerate().try_for_each(|(s, shard)| {
                for document in documents {
                    ctx.check()?;
                    shard.count(s, document, window, units);
                }
                anyhow::Ok(())
            })
        })?;
        let held: usize = self.shards.iter().map(|shard| shard.table.len()).sum();
        if held > self.limit { ctx.install(|| self.shards.par_iter_mut().try_for_each(Shard::spill)) } else { Ok(()) }
    }

    /// The counts.
    pub fn finish(self, ctx: &Ctx) -> Result<Cooccurrence> {
        let sorted: Vec<Result<Merge>> = ctx.install(|| self.shards.into_par_iter().map(Shard::into_sorted).collect());
        let mut sorted: Vec<Merge> = sorted.into_iter().collect::<Result<_>>()?;
        let mut rows = RowsWriter::new(self.words);
        let mut sums = Vec::with_capacity(self.words);
        let mut row = Vec::new();
        for word in 0..self.words as u64 {
            ctx.check()?;
            row.clear();
            let mut sum = 0;
            let pairs = &mut sorted[word as usize % SHARDS];
            while let Some((key, units)) = pairs.next_of(word)? {
                sum += units;
                row.push((key as u32, (units as f64 / UNIT as f64) as f32));
            }
            sums.push(sum as f64 / UNIT as f64);
            rows.push(&row)?;
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

    fn sorted(&mut self) -> Vec<(u64, u64)> {
        let mut pairs: Vec<(u64, u64)> = self.table.drain().collect();
        pairs.sort_unstable();
        pairs
    }

    fn spill(&mut self) -> Result<()> {
        let mut write = || -> std::io::Result<File> {
            let mut out = BufWriter::with_capacity(1 << 18, tempfile::tempfile()?);
            for (key, units) in self.sorted() {
                out.write_all(bytemuck::bytes_of(&[key, units]))?;
            }
            let mut file = out.into_inner()?;
            file.rewind()?;
            Ok(file)
        };
        let file = write().with_context(|| {
            format!(
                "cannot keep pairs of words in a scratch file in {} (set TMPDIR to a folder with more room, or allow more \
                 --memory)",
                std::env::temp_dir().display()
            )
        })?;
        self.runs.push(file);
        Ok(())
    }

    fn into_sorted(mut self) -> Result<Merge> {
        let memory = self.sorted();
        self.table = FxHashMap::default();
        let mut runs: Vec<Peekable<Run>> = vec![Run::Memory(memory.into_iter()).peekable()];
        runs.extend(self.runs.into_iter().map(|file| Run::File(BufReader::with_capacity(1 << 16, file)).peekable()));
        Ok(Merge { runs })
    }
}

/// Sorted pairs.
enum Run {
    Memory(std::vec::IntoIter<(u64, u64)>),
    File(BufReader<File>),
}

impl Iterator for Run {
    type Item = std::io::Result<(u64, u64)>;

    fn next(&mut self) -> Option<std::io::Result<(u64, u64)>> {
        match self {
            Run::Memory(pairs) => pairs.next().map(Ok),
            Run::File(file) => {
                let mut bytes = [0; RUN_BYTES];
                match file.read_exact(&mut bytes) {
                    Ok(()) => {
                        let [key, units]: [u64; 2] = bytemuck::cast(bytes);
                        Some(Ok((key, units)))
                    }
                    Err(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => None,
                    Err(error) => Some(Err(error)),
                }
            }
        }
    }
}

/// The runs of a shard as one. There are few, so the least is found by looking at each.
struct Merge {
    runs: Vec<Peekable<Run>>,
}

impl Merge {
    /// The next pair of this word, if it has one more.
    fn next_of(&mut self, word: u64) -> Result<Option<(u64, u64)>> {
        let mut least = None;
        for run in &mut self.runs {
            match run.peek() {
                Some(Ok((key, _))) if key >> 32 == word && least.is_none_or(|least| *key < least) => least = Some(*key),
                Some(Err(_)) => {
                    let error = run.next().and_then(Result::err).context("an error was seen")?;
                    return Err(error).context("cannot read pairs of words back from a scratch file");
                }
                _ => {}
            }
        }
        let Some(least) = least else { return Ok(None) };
        let mut sum = 0;
        for run in &mut self.runs {
            if let Some(Ok((_, units))) = run.next_if(|next| matches!(next, Ok((key, _)) if *key == least)) {
                sum += units;
            }
        }
        Ok(Some((least, sum)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(documents: &[Vec<u32>], params: &CooccurrenceParams, threads: usize) -> Cooccurrence {
        let ctx = Ctx::new(threads, 1).unwrap();
        let mut counter = PairCounter::new(20, params).unwrap();
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
        let params = CooccurrenceParams { weighting: Weighting::Harmonic, ..params };
        let counts = counted(&documents, &params, 1);
        assert_eq!(row(&counts, 0), [(0, 1.0), (1, 2.0), (2, 1.0)]);
        assert_eq!(row(&counts, 1), [(0, 2.0), (2, 0.5)]);
    }

    #[test]
    fn neither_threads_nor_scratch_files_change_a_count() {
        let documents: Vec<Vec<u32>> =
            (0..40u32).map(|i| (0..i % 13).map(|j| (i * 7 + j * j * 3) % 20).collect()).collect();
        let params = CooccurrenceParams { window: 4, weighting: Weighting::Harmonic, ..CooccurrenceParams::default() };
        let whole = counted(&documents, &params, 1);
        let spilled = CooccurrenceParams { memory: 0, ..params.clone() };
        for other in [counted(&documents, &params, 8), counted(&documents, &spilled, 2)] {
            assert_eq!(other.sums, whole.sums);
            (0..20).for_each(|word| assert_eq!(row(&other, word), row(&whole, word)));
        }
        // The matrix is symmetric.
        for i in 0..20 {
            for (j, count) in row(&whole, i) {
                assert!(row(&whole, j as usize).contains(&(i as u32, count)));
            }
        }
    }

    #[test]
    fn a_window_of_nothing_is_refused() {
        let params = CooccurrenceParams { window: 0, ..CooccurrenceParams::default() };
        let error = PairCounter::new(3, &params).err().unwrap().to_string();
        assert!(error.contains("window of 0") && error.contains("1 to 1000"), "{error}");
    }
}
