//! Terms by number: units (words or characters) by their bytes, n-grams by the numbers of their prefix and last unit.
//!
//! An n-gram costs sixteen bytes and no text; its text is put together when it is asked for. The same table grows while a
//! corpus is counted and stands still in a fitted model.

use std::hash::Hasher;

use rustc_hash::FxHasher;

/// No term.
pub(super) const NONE: u32 = u32::MAX;

/// The term that stands before the terms of titles, when titles and bodies are counted apart. No text has it.
pub(super) const TITLE: u32 = 0;

/// Prefix of a title's term.
pub const TITLE_TEXT: &str = "title:";

const FIRST_SLOTS: usize = 1 << 10;

/// The parts of a term.
#[derive(Clone, Copy, Debug)]
enum Term {
    /// Bytes of the arena.
    Unit { start: u32, end: u32 },
    /// A term and the unit (behind [`TITLE`]: the term) that follows it.
    Gram { prefix: u32, last: u32 },
}

/// A place of the table. What most units are told apart by stands in it, so that a look-up touches nothing else.
#[derive(Clone, Copy, Debug, Default)]
struct Slot {
    /// [`Key::head`] and [`Key::hash`]; a key within would be padded, and the table half as large again.
    head: u64,
    hash: u32,
    /// The number plus 1; 0 is free.
    taken: u32,
}

/// The key of a term.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Key {
    /// A unit's length and first seven bytes, or the two numbers of an n-gram.
    head: u64,
    /// Odd for n-grams, even for units.
    hash: u32,
}

/// Bytes of a unit that its key holds wholly.
const WHOLE: usize = 7;

impl Key {
    #[inline]
    fn unit(unit: &[u8]) -> Key {
        let four = |at: usize| u64::from(u32::from_le_bytes([unit[at], unit[at + 1], unit[at + 2], unit[at + 3]]));
        let length = unit.len();
        // Overlapping reads put the bytes in their places without a loop over them.
        let bytes = match length {
            0 => 0,
            1..=3 => {
                let (middle, last) = (length / 2, length - 1);
                u64::from(unit[0]) | u64::from(unit[middle]) << (8 * middle) | u64::from(unit[last]) << (8 * last)
            }
            4..=WHOLE => four(0) | four(length - 4) << (8 * (length - 4)),
            _ => four(0) | four(WHOLE - 4) << (8 * (WHOLE - 4)),
        };
        let head = (length.min(WHOLE + 1) as u64) << 56 | bytes;
        if length <= WHOLE {
            return Key { head, hash: mix(head) & !1 };
        }
        let mut hasher = FxHasher::default();
        hasher.write(unit);
        Key { head, hash: (hasher.finish() >> 32) as u32 & !1 }
    }

    #[inline]
    fn gram(prefix: u32, last: u32) -> Key {
        let head = u64::from(prefix) << 32 | u64::from(last);
        Key { head, hash: mix(head) | 1 }
    }
}

/// Two rounds of multiply and fold: numbers of terms and first bytes of words are close to each other, and one product alone
/// would leave them close.
#[inline]
fn mix(head: u64) -> u32 {
    let mixed = head.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mixed = (mixed ^ mixed >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    (mixed >> 32) as u32
}

/// Numbers of terms, from 1 in the order in which they came; 0 is [`TITLE`].
#[derive(Clone, Debug)]
pub(super) struct Terms {
    arena: Vec<u8>,
    terms: Vec<Term>,
    /// Open addressing.
    slots: Vec<Slot>,
}

impl Default for Terms {
    fn default() -> Terms {
        let title = Term::Unit { start: 0, end: TITLE_TEXT.len() as u32 };
        Terms { arena: TITLE_TEXT.into(), terms: vec![title], slots: vec![Slot::default(); FIRST_SLOTS] }
    }
}

impl Terms {
    /// Numbers given, [`TITLE`] included.
    pub(super) fn len(&self) -> usize {
        self.terms.len()
    }

    /// The number of a unit; a new one when it has none. `None` when the table is full.
    #[inline]
    pub(super) fn add_unit(&mut self, unit: &[u8]) -> Option<u32> {
        let key = Key::unit(unit);
        match self.find_unit(key, unit) {
            Ok(id) => Some(id),
            Err(at) => {
                let start = u32::try_from(self.arena.len()).ok()?;
                let end = u32::try_from(self.arena.len() + unit.len()).ok()?;
                self.arena.extend_from_slice(unit);
                self.insert(at, key, Term::Unit { start, end })
            }
        }
    }

    /// The number of the n-gram of `prefix` and `last`; a new one when it has none. `None` when the table is full.
    #[inline]
    pub(super) fn add_gram(&mut self, prefix: u32, last: u32) -> Option<u32> {
        let key = Key::gram(prefix, last);
        match self.find(key, |_| true) {
            Ok(id) => Some(id),
            Err(at) => self.insert(at, key, Term::Gram { prefix, last }),
        }
    }

    /// The number of a unit, or [`NONE`].
    #[inline]
    pub(super) fn unit(&self, unit: &[u8]) -> u32 {
        self.find_unit(Key::unit(unit), unit).unwrap_or(NONE)
    }

    /// The number of an n-gram, or [`NONE`].
    #[inline]
    pub(super) fn gram(&self, prefix: u32, last: u32) -> u32 {
        if prefix == NONE || last == NONE {
            return NONE;
        }
        self.find(Key::gram(prefix, last), |_| true).unwrap_or(NONE)
    }

    /// Takes in the terms of another table and gives the number that each of them has here.
    pub(super) fn take_in(&mut self, other: &Terms) -> Option<Vec<u32>> {
        let mut here = Vec::with_capacity(other.len());
        here.push(TITLE);
        for term in &other.terms[1..] {
            here.push(match *term {
                Term::Unit { start, end } => self.add_unit(&other.arena[start as usize..end as usize])?,
                // A prefix has a lower number than what begins with it.
                Term::Gram { prefix, last } => self.add_gram(here[prefix as usize], here[last as usize])?,
            });
        }
        Some(here)
    }

    /// The units of a term in their order, [`TITLE`] the first of a title's.
    pub(super) fn spelling(&self, id: u32, units: &mut Vec<u32>) {
        match self.terms[id as usize] {
            Term::Unit { .. } => units.push(id),
            Term::Gram { prefix, last } => {
                self.spelling(prefix, units);
                self.spelling(last, units);
            }
        }
    }

    /// The text of a unit.
    pub(super) fn unit_text(&self, id: u32) -> &str {
        match self.terms[id as usize] {
            Term::Unit { start, end } => std::str::from_utf8(&self.arena[start as usize..end as usize]),
            Term::Gram { .. } => Ok(""),
        }
        .expect("units came as text")
    }

    /// True if a term is one of titles.
    pub(super) fn is_title(&self, id: u32) -> bool {
        matches!(self.terms[id as usize], Term::Gram { prefix: TITLE, .. })
    }

    #[inline]
    fn find_unit(&self, key: Key, unit: &[u8]) -> Result<u32, usize> {
        let same = |id: u32| match self.terms[id as usize] {
            Term::Unit { start, end } => &self.arena[start as usize..end as usize] == unit,
            Term::Gram { .. } => false,
        };
        self.find(key, |id| unit.len() <= WHOLE || same(id))
    }

    /// The number of the term with this key that `same` knows, or the slot where it would be.
    #[inline]
    fn find(&self, key: Key, same: impl Fn(u32) -> bool) -> Result<u32, usize> {
        let mask = self.slots.len() - 1;
        // The lowest bit of a hash says what it is of.
        let mut at = (key.hash >> 1) as usize & mask;
        loop {
            let slot = self.slots[at];
            if slot.taken == 0 {
                return Err(at);
            }
            if (slot.head, slot.hash) == (key.head, key.hash) && same(slot.taken - 1) {
                return Ok(slot.taken - 1);
            }
            at = (at + 1) & mask;
        }
    }

    fn insert(&mut self, at: usize, key: Key, term: Term) -> Option<u32> {
        // The last number is left to NONE.
        let id = u32::try_from(self.terms.len()).ok().filter(|&id| id < NONE - 1)?;
        self.terms.push(term);
        self.slots[at] = Slot { head: key.head, hash: key.hash, taken: id + 1 };
        if self.terms.len() * 3 > self.slots.len() * 2 {
            self.grow();
        }
        Some(id)
    }

    fn grow(&mut self) {
        let mut slots = vec![Slot::default(); self.slots.len() * 2];
        let mask = slots.len() - 1;
        for slot in self.slots.iter().filter(|slot| slot.taken != 0) {
            let mut at = (slot.hash >> 1) as usize & mask;
            while slots[at].taken != 0 {
                at = (at + 1) & mask;
            }
            slots[at] = *slot;
        }
        self.slots = slots;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn text(terms: &Terms, id: u32) -> String {
        let mut units = Vec::new();
        terms.spelling(id, &mut units);
        units.iter().map(|&unit| terms.unit_text(unit)).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn grams_are_spelled_by_their_units_and_titles_stand_apart() {
        let mut terms = Terms::default();
        let [up, more] = ["增长", "放缓"].map(|unit| terms.add_unit(unit.as_bytes()).unwrap());
        let pair = terms.add_gram(up, more).unwrap();
        let title = terms.add_gram(TITLE, pair).unwrap();
        assert_eq!((text(&terms, pair), text(&terms, title)), ("增长 放缓".into(), "title: 增长 放缓".into()));
        assert_eq!((terms.is_title(title), terms.is_title(pair)), (true, false));
        assert_eq!((terms.gram(up, more), terms.gram(more, up), terms.gram(NONE, up)), (pair, NONE, NONE));
        assert_eq!(terms.unit("title:".as_bytes()), NONE, "a word of that text is another term");
    }

    proptest! {
        #[test]
        fn every_term_is_found_again_here_and_in_a_table_that_took_it_in(
            words in prop::collection::vec("[一-三a]{0,3}", 1..60), pairs in prop::collection::vec((0usize..60, 0usize..60), 0..40)
        ) {
            let mut terms = Terms::default();
            // Enough others that the table grows on the way.
            let ids: Vec<u32> = words.iter().map(|w| terms.add_unit(w.as_bytes()).unwrap()).collect();
            (0..2000).for_each(|i| { terms.add_unit(format!("{i}").as_bytes()).unwrap(); });
            let at = |i: usize| ids[i % ids.len()];
            let grams: Vec<u32> = pairs.iter().map(|&(a, b)| terms.add_gram(at(a), at(b)).unwrap()).collect();
            let mut merged = Terms::default();
            merged.add_unit("别处".as_bytes()).unwrap();
            let here = merged.take_in(&terms).unwrap();
            for (word, &id) in words.iter().zip(&ids) {
                prop_assert_eq!(terms.unit(word.as_bytes()), id);
                prop_assert_eq!(merged.unit(word.as_bytes()), here[id as usize]);
            }
            for (&(a, b), &id) in pairs.iter().zip(&grams) {
                prop_assert_eq!(terms.gram(at(a), at(b)), id);
                prop_assert_eq!(text(&merged, here[id as usize]), text(&terms, id));
            }
        }
    }
}
