//! Sorting a corpus by shares: all sequences whose first word lies in a range of ids.
//!
//! A sequence is packed into 128 bits, its first word highest, so that sequences are compared as numbers; what would lie beyond
//! `</s>` is 0, which no word of a text has.

use std::ops::Range;

use anyhow::Result;
use rayon::prelude::*;

use super::count::MAX_ORDER;
use super::words::END;
use inkstone_base::ensure;
use inkstone_base::job::{Cancelled, Ctx};

/// Sequences in a share, where no single word begins more: their keys (16 bytes each) stay within a processor's cache.
/// (Small in tests, so that they cross its border.)
pub(super) const MAX_SHARE: u64 = if cfg!(test) { 1 << 6 } else { 1 << 18 };
/// Words whose sequences are packed by one task. (Small in tests.)
const PIECE: usize = if cfg!(test) { 1 << 7 } else { 1 << 21 };

/// The part of a trie below a range of first words: entries are numbered within it.
pub(super) struct Share {
    /// For each first word of the range, where its continuations begin on level 1.
    pub(super) first_child: Vec<u32>,
    /// Levels 1 and up.
    pub(super) levels: Vec<SharedLevel>,
}

#[derive(Clone, Default)]
pub(super) struct SharedLevel {
    pub(super) word: Vec<u32>,
    pub(super) count: Vec<u32>,
    /// Empty on the highest level.
    pub(super) first_child: Vec<u32>,
}

/// Makes a share of sequences that come sorted.
pub(super) struct ShareBuilder {
    start: u32,
    share: Share,
}

impl ShareBuilder {
    /// A share of the first words from `start` on.
    pub(super) fn new(start: u32, order: usize) -> ShareBuilder {
        let share = Share { first_child: Vec::new(), levels: vec![SharedLevel::default(); order - 1] };
        ShareBuilder { start, share }
    }

    /// Adds a sequence (its length at most the order) that was seen `count` times and shares its first `same` words with the one before.
    pub(super) fn push(&mut self, words: &[u32], same: usize, count: u32) {
        let Share { first_child, levels } = &mut self.share;
        if same == 0 {
            // Words of the range that begin nothing have no continuations.
            first_child.resize((words[0] - self.start) as usize + 1, levels[0].word.len() as u32);
        }
        for level in &mut levels[..same.max(1) - 1] {
            // The entry was made when the level's last sequence came.
            if let Some(last) = level.count.last_mut() {
                *last = last.saturating_add(count);
            }
        }
        for n in same.max(1)..words.len() {
            let below = levels.get(n).map(|level| level.word.len() as u32);
            let level = &mut levels[n - 1];
            level.word.push(words[n]);
            level.count.push(count);
            level.first_child.extend(below);
        }
    }

    /// The share, which ends before the first word `end`.
    pub(super) fn finish(mut self, end: u32) -> Share {
        let children = self.share.levels[0].word.len() as u32;
        self.share.first_child.resize((end - self.start) as usize, children);
        self.share
    }
}

/// Cuts the vocabulary into ranges that begin at most `most` sequences, or hold one word.
pub(super) fn shares(seen: &[u64], most: u64) -> Vec<Range<u32>> {
    cut(seen, most, u32::MAX)
}

fn cut(seen: &[u64], most: u64, widest: u32) -> Vec<Range<u32>> {
    let mut shares = Vec::new();
    let (mut start, mut held) = (0, 0);
    for (word, &n) in (0..).zip(seen) {
        if word > start && (held + n > most || word - start >= widest) {
            shares.push(start..word);
            (start, held) = (word, 0);
        }
        held += n;
    }
    shares.push(start..seen.len() as u32);
    shares
}

/// A corpus in memory, planned into shares.
pub(super) struct Sorter<'c> {
    ids: &'c [u32],
    order: usize,
    seen: Vec<u64>,
    shares: Vec<Range<u32>>,
    /// The share that each word begins sequences of.
    share_of: Vec<u32>,
    /// By piece of the corpus, then by share: sequences.
    sizes: Vec<Vec<u32>>,
    /// Bits of a word in a key.
    bits: u32,
}

impl<'c> Sorter<'c> {
    /// Plans the shares of a corpus of at most `u32::MAX` ids, all below `words`.
    pub(super) fn new(ids: &'c [u32], words: usize, order: usize, ctx: &Ctx) -> Result<Sorter<'c>> {
        let bits = (words as u32).ilog2() + 1;
        let room = 128u32.checked_sub((order as u32 - 1) * bits);
        ensure!(
            room.is_some_and(|room| room > 0),
            "{words} 个不同的词对 {order} 阶来说太多：请选更低的 --order，或把文本切成更小的单位",
            "{words} different words are too many for order {order}: choose a lower --order, or cut the text into smaller units"
        );
        let widest = 1 << room.unwrap_or_default().min(31);
        let seen = ctx.install(|| {
            let none = || vec![0u64; words];
            let count = |mut seen: Vec<u64>, piece: &[u32]| {
                ctx.check()?;
                piece.iter().for_each(|&id| seen[id as usize] += 1);
                Ok(seen)
            };
            let add = |mut all: Vec<u64>, more: Vec<u64>| {
                all.iter_mut().zip(more).for_each(|(all, more)| *all += more);
                Ok::<_, Cancelled>(all)
            };
            ids.par_chunks(PIECE).try_fold(none, count).try_reduce(none, add)
        })?;
        // Nothing follows the end, so it begins no sequence.
        let mut first = seen.clone();
        first[END as usize] = 0;
        let shares = cut(&first, MAX_SHARE, widest);
        let mut share_of = vec![0u32; words];
        for (number, share) in (0..).zip(&shares) {
            share_of[share.start as usize..share.end as usize].fill(number);
        }
        let sizes = ctx.install(|| {
            let pieces = ids.par_chunks(PIECE).map(|piece| {
                ctx.check()?;
                let mut sizes = vec![0; shares.len()];
                piece.iter().filter(|&&id| id != END).for_each(|&id| sizes[share_of[id as usize] as usize] += 1);
                Ok(sizes)
            });
            pieces.collect::<Result<_, Cancelled>>()
        })?;
        Ok(Sorter { ids, order, seen, shares, share_of, sizes, bits })
    }

    /// Count of each word.
    pub(super) fn seen(&self) -> &[u64] {
        &self.seen
    }

    /// Makes something of each share, in order, `most` keys at a time or one share.
    pub(super) fn each<T: Send>(
        &self,
        most: usize,
        ctx: &Ctx,
        make: impl Fn(Sorted<'_>) -> T + Sync,
        mut take: impl FnMut(T) -> Result<()>,
    ) -> Result<()> {
        let size = |share: usize| self.sizes.iter().map(|piece| piece[share] as usize).sum::<usize>();
        let sizes: Vec<usize> = (0..self.shares.len()).map(size).collect();
        let mut keys = Vec::new();
        let mut start = 0;
        while start < sizes.len() {
            let mut held = 0;
            let fitting = sizes[start..].iter().take_while(|&&size| {
                held += size;
                held <= most
            });
            let wave = start..start + fitting.count().max(1);
            let made = ctx.install(|| -> Result<Vec<T>, Cancelled> {
                self.fill(wave.clone(), &sizes, &mut keys, ctx)?;
                let shares = split(&mut keys, sizes[wave.clone()].iter().copied());
                let work = wave.clone().into_par_iter().zip(shares).map(|(number, keys)| {
                    ctx.check()?;
                    keys.sort_unstable();
                    Ok(make(Sorted { keys, range: self.shares[number].clone(), order: self.order, bits: self.bits }))
                });
                work.collect()
            })?;
            made.into_iter().try_for_each(&mut take)?;
            start = wave.end;
        }
        Ok(())
    }

    /// The keys of a wave of shares, share after share, as they come in the corpus.
    fn fill(&self, wave: Range<usize>, sizes: &[usize], keys: &mut Vec<u128>, ctx: &Ctx) -> Result<(), Cancelled> {
        keys.resize(sizes[wave.clone()].iter().sum(), 0);
        let places = wave.clone().flat_map(|share| self.sizes.iter().map(move |piece| piece[share] as usize));
        let mut outs: Vec<Vec<std::slice::IterMut<'_, u128>>> = self.sizes.iter().map(|_| Vec::new()).collect();
        for (place, out) in split(keys, places).into_iter().enumerate() {
            outs[place % self.sizes.len()].push(out.iter_mut());
        }
        let words = self.shares[wave.start].start..self.shares[wave.end - 1].end;
        outs.into_par_iter().enumerate().try_for_each(|(piece, mut outs)| {
            ctx.check()?;
            let piece = piece * PIECE..((piece + 1) * PIECE).min(self.ids.len());
            // Backwards, what follows a position is what was there a step before, moved along by a word.
            let highest = self.bits * (self.order as u32 - 2);
            let beyond = (piece.end + self.order - 1).min(self.ids.len());
            let mut after = 0u128;
            for at in (piece.start..beyond).rev() {
                let word = self.ids[at];
                if at < piece.end && words.contains(&word) && word != END {
                    let share = self.share_of[word as usize] as usize;
                    let key = u128::from(word - self.shares[share].start) << (highest + self.bits) | after;
                    *outs[share - wave.start].next().expect("as many places as were counted") = key;
                }
                let rest = if word == END { 0 } else { after >> self.bits };
                after = u128::from(word) << highest | rest;
            }
            Ok(())
        })
    }
}

/// Cuts a slice into pieces of these sizes.
fn split<T>(mut slice: &mut [T], sizes: impl Iterator<Item = usize>) -> Vec<&mut [T]> {
    sizes
        .map(|size| {
            let (piece, rest) = std::mem::take(&mut slice).split_at_mut(size);
            slice = rest;
            piece
        })
        .collect()
}

/// The sorted sequences of a share.
pub(super) struct Sorted<'k> {
    keys: &'k [u128],
    range: Range<u32>,
    order: usize,
    bits: u32,
}

impl Sorted<'_> {
    /// The share of the trie.
    pub(super) fn share(&self) -> Share {
        let mut builder = ShareBuilder::new(self.range.start, self.order);
        self.each(|words, same, count| builder.push(words, same, count));
        builder.finish(self.range.end)
    }

    /// Records of a run: `order` words, 0 beyond the end, and how often they were seen.
    pub(super) fn records(&self) -> Vec<u32> {
        let mut records = Vec::new();
        self.each(|words, _, count| {
            records.extend_from_slice(words);
            records.resize(records.len() + self.order - words.len(), 0);
            records.push(count);
        });
        records
    }

    /// Gives each sequence once: its words, how many it shares with the one before, and how often it was seen.
    fn each(&self, mut give: impl FnMut(&[u32], usize, u32)) {
        let (order, bits) = (self.order, self.bits);
        let mask = (1 << bits) - 1;
        let mut words = [0u32; MAX_ORDER];
        let mut before = None;
        for equal in self.keys.chunk_by(u128::eq) {
            let key = equal[0];
            let same = before.map_or(0, |before: u128| {
                let highest = 127 - (key ^ before).leading_zeros();
                order - 1 - (highest / bits).min(order as u32 - 1) as usize
            });
            for (n, word) in words.iter_mut().enumerate().take(order).skip(same) {
                let shifted = key >> (bits * (order - 1 - n) as u32);
                *word = if n == 0 { shifted as u32 + self.range.start } else { shifted as u32 & mask };
            }
            let length = words[..order].iter().position(|&word| word == 0).unwrap_or(order);
            give(&words[..length], same, equal.len() as u32);
            before = Some(key);
        }
    }
}
