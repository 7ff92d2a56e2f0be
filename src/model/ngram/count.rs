//! Counting the n-grams of a corpus of any size, all lengths at once.
//!
//! Documents become ids (`<s> words </s>`, four bytes a word). Where a sequence of up to `order` words is taken at each position
//! and all are sorted, every n-gram of every length is a run of neighbours with the same beginning: one sort
//! counts all lengths and gives the trie its order. The sort is cut into shares by first word, which threads take one by one.
//!
//! When the ids outgrow the memory allowed, what is there is sorted, equal sequences are joined, and the rest is written as a
//! run to an unnamed file, which the system removes whatever happens; in the end the runs are merged, again by shares. The result is
//! the same, byte by byte, whatever the memory and the number of threads.

use std::ops::Range;
use std::path::{Path, PathBuf};

use anyhow::{Result, ensure};
use rayon::prelude::*;

use super::intern::{Coded, Coder, Interner, Tally};
use super::link::link;
use super::model::Counts;
use super::run::{self, Run};
use super::share::{MAX_SHARE, Share, Sorter, shares};
use super::trie::{Level, Trie};
use crate::job::Ctx;

/// The longest n-grams that are counted.
pub const MAX_ORDER: usize = 6;
/// Bytes that counting takes for a word of the text: its id, room for the ids to grow, and a share of the keys being sorted.
const BYTES_A_WORD: usize = 12;
/// Words that are sorted at once at the least, however little memory is allowed.
const LEAST_WORDS: usize = 1 << 10;
/// Shares that are worked on, for each thread, before they are joined to what is done.
const SHARES_A_THREAD: usize = 4;

/// Where counting may spread.
#[derive(Clone, Debug, PartialEq)]
pub struct Room {
    /// Memory for the ids of words and for sorting them, in megabytes (10^6 bytes); the vocabulary and the counts come on top.
    pub memory_mb: usize,
    /// Folder for sorted runs when that is not enough.
    pub folder: PathBuf,
}

impl Room {
    /// The usual amount of memory, and this folder.
    pub fn in_folder(folder: &Path) -> Room {
        Room { memory_mb: 1024, folder: folder.to_owned() }
    }
}

/// Takes documents and counts their n-grams.
pub struct Counter {
    order: usize,
    /// Words kept in memory before they become a run.
    most_words: usize,
    scratch: PathBuf,
    interner: Interner,
    ids: Vec<u32>,
    /// How often each word was seen in the runs.
    words_in_runs: Vec<u64>,
    runs: Vec<Run>,
    tally: Tally,
}

impl Counter {
    /// Counts n-grams of 1 to `order` words, [`MAX_ORDER`] at the most.
    pub fn new(order: usize, room: &Room) -> Result<Counter> {
        ensure!((1..=MAX_ORDER).contains(&order), "n-grams of {order} words cannot be counted: 1 to {MAX_ORDER} can");
        let memory_mb = room.memory_mb;
        ensure!(memory_mb > 0, "--memory 0 leaves no room to count in: allow at least 1 MB");
        let most_words = (memory_mb.saturating_mul(1_000_000) / BYTES_A_WORD).clamp(LEAST_WORDS, u32::MAX as usize);
        Ok(Counter {
            order,
            most_words,
            scratch: room.folder.clone(),
            interner: Interner::default(),
            ids: Vec::new(),
            words_in_runs: Vec::new(),
            runs: Vec::new(),
            tally: Tally::default(),
        })
    }

    /// Begins a block of documents; blocks can be coded side by side.
    pub fn coder(&self) -> Coder<'_> {
        Coder::new(&self.interner)
    }

    /// Takes coded documents in; the order in which it is given blocks is the order of the text.
    pub fn take(&mut self, coded: &Coded, ctx: &Ctx) -> Result<()> {
        if !self.ids.is_empty() && self.ids.len() + coded.len() > self.most_words {
            self.spill(ctx)?;
        }
        self.tally.add(coded.tally);
        self.interner.take_in(coded, &mut self.ids);
        ensure!(
            self.interner.len() <= 1 << 30,
            "more than {} different words: cut the text into smaller units",
            1u32 << 30
        );
        Ok(())
    }

    /// What was read so far.
    pub(crate) fn tally(&self) -> Tally {
        self.tally
    }

    /// Runs written to files so far.
    pub fn runs(&self) -> usize {
        self.runs.len()
    }

    /// The counts.
    pub fn finish(mut self, ctx: &Ctx) -> Result<Counts> {
        let tally = self.tally;
        ensure!(tally.documents > 0, "there is no document to count: the input is empty");
        ensure!(
            tally.tokens > 0,
            "there is no word in {} documents ({} words written like marks were left out): check --format and the \
             tokenizer's settings",
            tally.documents,
            tally.marks
        );
        let mut joined = Joined::new(self.order, self.interner.len());
        if self.runs.is_empty() {
            let sorter = ctx.install(|| Sorter::new(&self.ids, self.interner.len(), self.order))?;
            joined.words(sorter.seen());
            if self.order > 1 {
                sorter.each(self.most_keys(), ctx, |sorted| sorted.share(), |share| joined.append(share))?;
            }
        } else {
            self.spill(ctx)?;
            let seen = std::mem::take(&mut self.words_in_runs);
            joined.words(&seen);
            let runs = self.runs.iter().map(Run::records).collect::<Result<Vec<_>>>()?;
            let plan = if self.order > 1 { shares(&seen, MAX_SHARE) } else { Vec::new() };
            for wave in plan.chunks(SHARES_A_THREAD * ctx.threads()) {
                let merge = |range: &Range<u32>| ctx.check().map(|()| run::merge(&runs, range.clone(), self.order));
                let made: Vec<Share> = ctx.install(|| wave.par_iter().map(merge).collect::<Result<_, _>>())?;
                made.into_iter().try_for_each(|share| joined.append(share))?;
            }
        }
        let (mut trie, counts) = joined.finish();
        // The largest pieces of memory go before the suffixes take theirs.
        drop((self.ids, self.runs));
        ctx.install(|| link(&mut trie, ctx))?;
        Ok(Counts {
            words: self.interner.into_words(),
            trie,
            counts,
            fitted_until: tally.last_time,
            documents: tally.documents,
        })
    }

    /// Keys sorted at once: they take less than half the memory that the ids do.
    fn most_keys(&self) -> usize {
        self.most_words / 8
    }

    /// Makes a run of what is in memory.
    fn spill(&mut self, ctx: &Ctx) -> Result<()> {
        if self.ids.is_empty() {
            return Ok(());
        }
        let sorter = ctx.install(|| Sorter::new(&self.ids, self.interner.len(), self.order))?;
        self.words_in_runs.resize(self.interner.len(), 0);
        self.words_in_runs.iter_mut().zip(sorter.seen()).for_each(|(all, &here)| *all += here);
        let mut run = run::Writer::new(&self.scratch, self.order)?;
        if self.order > 1 {
            sorter.each(self.most_keys(), ctx, |sorted| sorted.records(), |records| run.write(&records))?;
        }
        self.runs.push(run.finish()?);
        self.ids.clear();
        Ok(())
    }
}

/// The shares joined so far.
struct Joined {
    levels: Vec<Level>,
    counts: Vec<Vec<u32>>,
}

impl Joined {
    fn new(order: usize, words: usize) -> Joined {
        let mut levels = vec![Level::default(); order];
        levels[0].word = (0..words as u32).collect();
        Joined { levels, counts: vec![Vec::new(); order] }
    }

    /// How often each word was seen.
    fn words(&mut self, seen: &[u64]) {
        self.counts[0] = seen.iter().map(|&n| n.min(u64::from(u32::MAX)) as u32).collect();
    }

    fn append(&mut self, share: Share) -> Result<()> {
        let base = self.levels[1].len() as u32;
        self.levels[0].first_child.extend(share.first_child.iter().map(|&child| base + child));
        for (n, part) in (1..).zip(share.levels) {
            ensure!(
                self.levels[n].len() + part.word.len() <= u32::MAX as usize,
                "more than {} n-grams of {} words: choose a lower --order",
                u32::MAX,
                n + 1
            );
            self.levels[n].word.extend_from_slice(&part.word);
            self.counts[n].extend_from_slice(&part.count);
            if let Some(longer) = self.levels.get(n + 1) {
                let base = longer.len() as u32;
                self.levels[n].first_child.extend(part.first_child.iter().map(|&child| base + child));
            }
        }
        Ok(())
    }

    fn finish(mut self) -> (Trie, Vec<Vec<u32>>) {
        for n in 1..self.levels.len() {
            let end = self.levels[n].len() as u32;
            self.levels[n - 1].first_child.push(end);
            self.levels[n].word.shrink_to_fit();
            self.counts[n].shrink_to_fit();
        }
        (Trie { levels: self.levels }, self.counts)
    }
}
