//! Sorting a corpus by shares: all sequences whose first word lies in a range of ids.
//!
//! A sequence is packed into 128 bits, its first word highest, so that sequences are compared as numbers; what would lie beyond
//! `</s>` is 0, which no word of a text has.

use std::ops::Range;

use anyhow::{Result, ensure};
use rayon::prelude::*;

use super::words::END;

/// Sequences in a share, where no single word begins more: their keys (16 bytes each) stay within a processor's cache.
pub(super) const MAX_SHARE: u64 = 1 << 18;
/// Words whose positions are sorted into shares by one task.
const PIECE: usize = 1 << 21;

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
    /// Begins the share of the first words from `start` on.
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

/// A corpus in memory, its positions sorted into shares.
pub(super) struct Sorter<'c> {
    ids: &'c [u32],
    seen: Vec<u64>,
    shares: Vec<Range<u32>>,
    /// By piece of the corpus, then by share: the positions of first words, ascending.
    positions: Vec<Vec<Vec<u32>>>,
    /// Bits of a word.
    bits: u32,
}

impl<'c> Sorter<'c> {
    /// Plans the shares of a corpus of at most `u32::MAX` ids, all below `words`.
    pub(super) fn new(ids: &'c [u32], words: usize, order: usize) -> Result<Sorter<'c>> {
        let bits = (words as u32).ilog2() + 1;
        let room = 128u32.checked_sub((order as u32 - 1) * bits);
        ensure!(
            room.is_some_and(|room| room > 0),
            "{words} different words are too many for order {order}: choose a lower --order, or cut the text into smaller \
             units"
        );
        let room = room.unwrap_or_default().min(31);
        let mut seen = vec![0u64; words];
        ids.iter().for_each(|&id| seen[id as usize] += 1);
        // Nothing follows the end, so it begins no sequence.
        let mut first = seen.clone();
        first[END as usize] = 0;
        let shares = cut(&first, MAX_SHARE, 1 << room);
        let mut share_of = vec![0u32; words];
        for (number, share) in shares.iter().enumerate() {
            share_of[share.start as usize..share.end as usize].fill(number as u32);
        }
        let positions = if order == 1 { Vec::new() } else { positions(ids, &share_of, shares.len()) };
        Ok(Sorter { ids, seen, shares, positions, bits })
    }

    /// How often each word was seen.
    pub(super) fn seen(&self) -> &[u64] {
        &self.seen
    }

    pub(super) fn shares(&self) -> &[Range<u32>] {
        &self.shares
    }

    /// A share of the trie.
    pub(super) fn share(&self, number: usize, order: usize) -> Share {
        let mut builder = ShareBuilder::new(self.shares[number].start, order);
        self.sorted(number, order, |words, same, count| builder.push(words, same, count));
        builder.finish(self.shares[number].end)
    }

    /// A share as records of a run: `order` words, 0 beyond the end, and how often they were seen.
    pub(super) fn records(&self, number: usize, order: usize) -> Vec<u32> {
        let mut records = Vec::new();
        self.sorted(number, order, |words, _, count| {
            records.extend_from_slice(words);
            records.resize(records.len() + order - words.len(), 0);
            records.push(count);
        });
        records
    }

    /// Gives the sequences of a share in order: the words, how many it shares with the one before, and how often it was seen.
    fn sorted(&self, number: usize, order: usize, mut give: impl FnMut(&[u32], usize, u32)) {
        let start = self.shares[number].start;
        let mut keys = self.keys(number, order);
        keys.sort_unstable();
        let bits = self.bits;
        let mask = (1 << bits) - 1;
        let mut words = [0u32; super::count::MAX_ORDER];
        let (mut at, mut before) = (0, None);
        while at < keys.len() {
            let key = keys[at];
            let count = keys[at..].iter().take_while(|&&other| other == key).count();
            at += count;
            let same = before.map_or(0, |before: u128| {
                let highest = 127 - (key ^ before).leading_zeros();
                order - 1 - (highest / bits).min(order as u32 - 1) as usize
            });
            for (n, word) in words.iter_mut().enumerate().take(order).skip(same) {
                let shifted = key >> (bits * (order - 1 - n) as u32);
                *word = if n == 0 { shifted as u32 + start } else { shifted as u32 & mask };
            }
            let length = words[..order].iter().position(|&word| word == 0).unwrap_or(order);
            give(&words[..length], same, count as u32);
            before = Some(key);
        }
    }

    fn keys(&self, number: usize, order: usize) -> Vec<u128> {
        let start = self.shares[number].start;
        let pieces = self.positions.iter().map(|piece| &piece[number]);
        let mut keys = Vec::with_capacity(pieces.clone().map(Vec::len).sum());
        for &position in pieces.flatten() {
            let words = &self.ids[position as usize..];
            let mut key = u128::from(words[0] - start);
            let mut left = order - 1;
            for &word in &words[1..order.min(words.len())] {
                key = key << self.bits | u128::from(word);
                left -= 1;
                if word == END {
                    break;
                }
            }
            keys.push(key << (self.bits * left as u32));
        }
        keys
    }
}

/// Sorts positions into shares, a piece of the corpus at a time.
fn positions(ids: &[u32], share_of: &[u32], shares: usize) -> Vec<Vec<Vec<u32>>> {
    let pieces = ids.par_chunks(PIECE).enumerate();
    pieces
        .map(|(number, piece)| {
            let mut sizes = vec![0; shares];
            piece.iter().filter(|&&id| id != END).for_each(|&id| sizes[share_of[id as usize] as usize] += 1);
            let mut positions: Vec<Vec<u32>> = sizes.into_iter().map(Vec::with_capacity).collect();
            for (position, &id) in ((number * PIECE) as u32..).zip(piece) {
                if id != END {
                    positions[share_of[id as usize] as usize].push(position);
                }
            }
            positions
        })
        .collect()
}
