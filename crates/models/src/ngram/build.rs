//! Building an index order by order: hash, sort, spread, then tie each n-gram to its next shorter context.

use anyhow::Result;
use rayon::prelude::*;

use super::index::{CONTEXT, Index, IndexEntry, Order, ROOT, key};
use super::table::{halves, hash_of, is_empty, span, spread};

use inkstone_base::ensure;

/// An n-gram to be indexed.
#[derive(Clone, Copy)]
pub(super) struct NewGram {
    /// Place of its context, as [`Builder::push`] gave it.
    pub(super) context: u32,
    pub(super) word: u32,
    pub(super) log10: f32,
    pub(super) backoff: f32,
}

pub(super) struct Builder {
    entries: Vec<IndexEntry>,
    orders: Vec<Order>,
}

/// An n-gram of an order that was there before, by its number in it.
pub(super) struct Twice(pub(super) u32);

impl Builder {
    /// A builder with the unigrams by word id, each with log10 of its probability and back-off weight. `total`: n-grams to come.
    pub(super) fn new(unigrams: impl ExactSizeIterator<Item = (f32, f32)>, total: usize) -> Result<Builder> {
        let n = unigrams.len();
        let room = ROOT as usize / 4 * 3;
        ensure!(
            n + total <= room,
            "{} 个 n 元组超过模型容量 {room}；请剪枝（--prune）",
            "{} n-grams are more than the {room} that a model holds; prune it (--prune)",
            n + total
        );
        let mut entries = Vec::with_capacity(n + span(total) + span(total) / 64);
        entries.extend((0..).zip(unigrams).map(|(word, (log10, backoff))| entry([word, 0], log10, backoff, ROOT)));
        Ok(Builder { entries, orders: vec![[0, n as u64]] })
    }

    /// Adds the next order of `n` n-grams and gives the place of each.
    pub(super) fn push(&mut self, n: usize, gram: impl Fn(usize) -> NewGram + Sync) -> Result<Vec<u32>, Twice> {
        let start = self.entries.len();
        self.entries.resize(start + n, [0; 5]);
        self.entries[start..].par_iter_mut().enumerate().for_each(|(i, slot)| {
            let NewGram { context, word, log10, backoff } = gram(i);
            *slot = entry(halves(key(context, word)), log10, backoff, i as u32);
        });
        self.entries[start..].par_sort_unstable_by_key(|e| (hash_of(e), e[4]));
        if let Some(twice) = self.entries[start..].windows(2).find(|pair| pair[0][..2] == pair[1][..2]) {
            return Err(Twice(twice[1][4]));
        }
        spread(&mut self.entries, start);
        let mut places = vec![0; n];
        for (place, entry) in (start..).zip(&self.entries[start..]).filter(|(_, entry)| !is_empty(entry)) {
            places[entry[4] as usize] = place as u32;
        }
        for i in 0..n {
            self.entries[gram(i).context as usize][2] |= CONTEXT;
        }
        self.orders.push([start as u64, n as u64]);
        self.tie(start, gram);
        Ok(places)
    }

    /// The orders so far; contexts of the newest order are not told apart yet.
    pub(super) fn index(&self) -> Index<'_> {
        Index::new(&self.entries, &self.orders).expect("a builder keeps its parts in order")
    }

    /// Gives the newest n-grams their next shorter contexts: the longest suffix is the word after the longest suffix of the
    /// context that has it, and one that serves as no context passes on its own.
    fn tie(&mut self, start: usize, gram: impl Fn(usize) -> NewGram + Sync) {
        let (below, newest) = self.entries.split_at_mut(start);
        let Some(index) = Index::new(below, &self.orders[..self.orders.len() - 1]) else { return };
        let next = |i: u32| {
            let NewGram { context, word, .. } = gram(i as usize);
            let mut state = index.state(context);
            let suffix = loop {
                state = index.shorter(state, index.look(state, word));
                if let Some(suffix) = index.child(state, word) {
                    break suffix;
                }
            };
            let entry = &below[suffix as usize];
            if entry[2] & CONTEXT != 0 { suffix } else { entry[4] }
        };
        newest.par_iter_mut().filter(|entry| !is_empty(entry)).for_each(|entry| entry[4] = next(entry[4]));
    }

    /// Entries and orders, ready for [`Index::new`].
    pub(super) fn finish(self) -> (Vec<IndexEntry>, Vec<Order>) {
        (self.entries, self.orders)
    }
}

/// An entry that serves as a context only if its back-off weight says something, until an n-gram continues it.
fn entry([low, high]: [u32; 2], log10: f32, backoff: f32, next: u32) -> IndexEntry {
    let serves = if backoff == 0.0 { 0 } else { CONTEXT };
    [low, high, (-log10.min(0.0)).to_bits() & !CONTEXT | serves, backoff.to_bits(), next]
}
