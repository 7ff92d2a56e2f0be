//! The n-grams of a model, made for one question: the probability of a word after a context.
//!
//! An n-gram is an entry in the table of its order, under the hash of its context's place and its last word; unigrams are
//! entries 0.. by word id. An entry has its log10 probability, its log10 back-off weight and the place of the longest of
//! its proper suffixes that says anything as a context. So a word costs one look for each back-off and one more, each in
//! a line or two of memory, whatever the order (compare KenLM's probing model, Heafield 2011, which looks once for each order).
//!
//! A context that no n-gram continues and whose back-off weight is 1 changes nothing; it is passed over for its suffixes
//! beforehand. Entry, 20 bytes: hash (two halves), probability, back-off weight, next context. At the load of the tables that
//! is 25 bytes an n-gram.

use super::table::{first_place, hash_of, is_empty, span};

/// `[low, high]` half of the hash, log10 probability (negated; its sign bit says that it serves as a context), log10 back-off
/// weight, place of the next shorter context.
pub(super) type IndexEntry = [u32; 5];

/// The offset of an order's entries, and its number of n-grams.
pub(super) type Order = [u64; 2];

/// The empty context.
pub(super) const ROOT: u32 = u32::MAX;
/// Sign bit of a probability: the n-gram serves as a context.
pub(super) const CONTEXT: u32 = 1 << 31;

// Two odd factors and their inverses modulo 2^64.
const MIX: [u64; 2] = [0x9e37_79b9_7f4a_7c15, 0xd6e8_feb8_6659_fd93];
const UNMIX: [u64; 2] = [inverse(MIX[0]), inverse(MIX[1])];

/// The inverse of an odd number modulo 2^64, by Newton's iteration.
const fn inverse(odd: u64) -> u64 {
    let mut x = odd;
    let mut bits = 3;
    while bits < 64 {
        x = x.wrapping_mul(2u64.wrapping_sub(odd.wrapping_mul(x)));
        bits *= 2;
    }
    x
}

/// The hash of an n-gram: one to one, so that it stands for context and word.
#[inline]
pub(super) fn key(context: u32, word: u32) -> u64 {
    let x = (u64::from(context) << 32 | u64::from(word)).wrapping_mul(MIX[0]);
    (x ^ x >> 32).wrapping_mul(MIX[1])
}

/// Context and word of an n-gram's hash.
fn unkey(key: u64) -> (u32, u32) {
    let x = key.wrapping_mul(UNMIX[1]);
    let x = (x ^ x >> 32).wrapping_mul(UNMIX[0]);
    ((x >> 32) as u32, x as u32)
}

/// A context: the longest n-gram before a word that the model knows and that says anything of what follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct State {
    pub(super) place: u32,
    pub(super) order: u32,
}

impl State {
    pub(crate) const EMPTY: State = State { place: ROOT, order: 0 };
}

/// A word after a context.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Step {
    /// log10 of its probability.
    pub log10: f32,
    /// log10 of the probability that its n-gram has, before back-off weights.
    pub(crate) own_log10: f32,
    /// Order of that n-gram.
    pub order: u32,
    /// The context of the next word.
    pub state: State,
}

/// The n-grams of a model, in memory or in a model file.
#[derive(Clone, Copy)]
pub struct Index<'a> {
    entries: &'a [IndexEntry],
    orders: &'a [Order],
}

/// A look for a word after a context: what was read before anything was decided.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Look {
    hash: u64,
    /// The place of an entry that is not pushed further.
    place: usize,
    /// The hash of what lies there.
    there: u64,
    /// log10 of the context's back-off weight.
    pub(super) weight: f32,
    /// The context to look after next.
    shorter: u32,
}

impl<'a> Index<'a> {
    /// None when the parts do not fit together.
    pub(super) fn new(entries: &'a [IndexEntry], orders: &'a [Order]) -> Option<Index<'a>> {
        let ends = orders.iter().skip(1).map(|order| order[0]).chain([entries.len() as u64]);
        let fits = |(order, end): (&Order, u64)| order[0].checked_add(order[1]).is_some_and(|e| e <= end);
        let begins = orders.first().is_some_and(|first| first[0] == 0 && first[1] > 2);
        (begins && orders.iter().zip(ends).all(fits) && entries.len() < ROOT as usize)
            .then_some(Index { entries, orders })
    }

    pub fn order(&self) -> usize {
        self.orders.len()
    }

    /// Number of n-grams of each order.
    pub fn sizes(&self) -> Vec<u64> {
        self.orders.iter().map(|order| order[1]).collect()
    }

    /// The word of this id, less than the size of the vocabulary, after a context.
    pub fn step(&self, state: State, word: u32) -> Step {
        self.step_by(state, word, |_, _| ())
    }

    /// Like [`Index::step`]; `passed` is told each context that was backed off from, and log10 of its weight.
    pub fn step_by(&self, mut state: State, word: u32, mut passed: impl FnMut(State, f32)) -> Step {
        let mut back_off = 0.0;
        loop {
            let look = self.look(state, word);
            if let Some(place) = self.found(look) {
                let step = self.arrive(place, state);
                return Step { log10: back_off + step.log10, ..step };
            }
            passed(state, look.weight);
            back_off += look.weight;
            state = self.shorter(state, look);
        }
    }

    /// The n-gram of a context and a word, exactly.
    pub(super) fn child(&self, state: State, word: u32) -> Option<u32> {
        self.found(self.look(state, word))
    }

    /// Prepares the search for a word after a context.
    #[inline]
    pub(super) fn look(&self, state: State, word: u32) -> Look {
        if state.place == ROOT {
            // A word is always there, whatever lies at its place; it is read so that it is near when it is needed.
            let weight = self.entries.get(word as usize).map_or(0.0, |entry| f32::from_bits(entry[3]));
            let hash = u64::from(word);
            return Look { hash, place: word as usize, there: hash, weight, ..Look::default() };
        }
        let [start, n] = self.orders.get(state.order as usize).copied().unwrap_or([u64::MAX, 0]);
        let hash = key(state.place, word);
        let place = start as usize + first_place(hash, span(n as usize));
        let there = self.entries.get(place).map_or(u64::MAX, hash_of);
        let context = self.entries.get(state.place as usize).copied().unwrap_or_default();
        Look { hash, place, there, weight: f32::from_bits(context[3]), shorter: context[4] }
    }

    /// Ends a look: the place of the n-gram, if there is one.
    #[inline]
    pub(super) fn found(&self, look: Look) -> Option<u32> {
        let Look { hash, mut place, mut there, .. } = look;
        while there < hash {
            place += 1;
            there = self.entries.get(place).map_or(u64::MAX, hash_of);
        }
        (there == hash && hash != u64::MAX).then_some(place as u32)
    }

    /// The context to look after next, when the word was not found after this one.
    #[inline]
    pub(super) fn shorter(&self, state: State, look: Look) -> State {
        // Shorter n-grams lie before longer ones. A damaged file must not send us round in circles.
        if look.shorter < state.place { self.state(look.shorter) } else { State::EMPTY }
    }

    /// The values of an n-gram that was found after a context.
    #[inline]
    pub(super) fn arrive(&self, place: u32, before: State) -> Step {
        let entry = &self.entries[place as usize];
        let order = before.order + 1;
        let state = match entry[2] & CONTEXT {
            0 if entry[4] < place => self.state(entry[4]),
            0 => State::EMPTY,
            _ => State { place, order },
        };
        {
            let log10 = -f32::from_bits(entry[2] & !CONTEXT);
            Step { log10, own_log10: log10, order, state }
        }
    }

    /// The n-gram at a place as a context.
    #[inline]
    pub(super) fn state(&self, place: u32) -> State {
        let order = self.orders.iter().map(|order| u32::from(order[0] <= u64::from(place))).sum();
        State { place, order }
    }

    /// The n-grams of an order, from 2 on, as they lie in its table: place of the context, last word, own place.
    pub(super) fn grams(&self, order: usize) -> impl Iterator<Item = (u32, u32, u32)> + '_ {
        let start = self.orders[order - 1][0] as usize;
        let end = self.orders.get(order).map_or(self.entries.len(), |next| next[0] as usize);
        let places = (start..end).filter(|&place| !is_empty(&self.entries[place]));
        places.map(|place| {
            let (context, word) = unkey(hash_of(&self.entries[place]));
            (context, word, place as u32)
        })
    }

    /// log10 of the probability of the n-gram at a place.
    pub(super) fn log10(&self, place: u32) -> f32 {
        -f32::from_bits(self.entries[place as usize][2] & !CONTEXT)
    }

    /// The parts of the index: entries, and the offset of each order.
    pub(super) fn parts(&self) -> (&'a [IndexEntry], &'a [Order]) {
        (self.entries, self.orders)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_hash_stands_for_context_and_word(context: u32, word: u32) {
            prop_assert_eq!(unkey(key(context, word)), (context, word));
        }
    }
}
