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

/// What a title's term begins with.
const TITLE_TEXT: &str = "title:";

const FIRST_SLOTS: usize = 1 << 10;

/// What a term is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Term {
    /// Bytes of the arena.
    Unit { start: u32, end: u32 },
    /// A term and the unit (behind [`TITLE`]: the term) that follows it.
    Gram { prefix: u32, last: u32 },
}

/// Numbers of terms, from 1 in the order in which they came; 0 is [`TITLE`].
#[derive(Clone, Debug)]
pub(super) struct Terms {
    arena: Vec<u8>,
    terms: Vec<Term>,
    /// Open addressing: upper half of the hash, and the number plus 1; 0 is free.
    slots: Vec<u64>,
}

impl Default for Terms {
    fn default() -> Terms {
        let title = Term::Unit { start: 0, end: TITLE_TEXT.len() as u32 };
        Terms { arena: TITLE_TEXT.into(), terms: vec![title], slots: vec![0; FIRST_SLOTS] }
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
        let hash = hash_unit(unit);
        match self.find(hash, |term| self.is_unit(term, unit)) {
            Ok(id) => Some(id),
            Err(slot) => {
                let start = u32::try_from(self.arena.len()).ok()?;
                let end = u32::try_from(self.arena.len() + unit.len()).ok()?;
                self.arena.extend_from_slice(unit);
                self.insert(slot, hash, Term::Unit { start, end })
            }
        }
    }

    /// The number of the n-gram of `prefix` and `last`; a new one when it has none. `None` when the table is full.
    #[inline]
    pub(super) fn add_gram(&mut self, prefix: u32, last: u32) -> Option<u32> {
        let (hash, gram) = (hash_gram(prefix, last), Term::Gram { prefix, last });
        match self.find(hash, |term| term == gram) {
            Ok(id) => Some(id),
            Err(slot) => self.insert(slot, hash, gram),
        }
    }

    /// The number of a unit, or [`NONE`].
    #[inline]
    pub(super) fn unit(&self, unit: &[u8]) -> u32 {
        self.find(hash_unit(unit), |term| self.is_unit(term, unit)).unwrap_or(NONE)
    }

    /// The number of an n-gram, or [`NONE`].
    #[inline]
    pub(super) fn gram(&self, prefix: u32, last: u32) -> u32 {
        if prefix == NONE || last == NONE {
            return NONE;
        }
        self.find(hash_gram(prefix, last), |term| term == Term::Gram { prefix, last }).unwrap_or(NONE)
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

    /// Whether a term is one of titles.
    pub(super) fn is_title(&self, id: u32) -> bool {
        matches!(self.terms[id as usize], Term::Gram { prefix: TITLE, .. })
    }

    #[inline]
    fn is_unit(&self, term: Term, unit: &[u8]) -> bool {
        matches!(term, Term::Unit { start, end } if &self.arena[start as usize..end as usize] == unit)
    }

    /// The number of the term that `same` knows, or the slot where it would be.
    #[inline]
    fn find(&self, hash: u32, same: impl Fn(Term) -> bool) -> Result<u32, usize> {
        let mask = self.slots.len() - 1;
        let mut at = hash as usize & mask;
        loop {
            let slot = self.slots[at];
            if slot == 0 {
                return Err(at);
            }
            let id = slot as u32 - 1;
            if (slot >> 32) as u32 == hash && same(self.terms[id as usize]) {
                return Ok(id);
            }
            at = (at + 1) & mask;
        }
    }

    fn insert(&mut self, slot: usize, hash: u32, term: Term) -> Option<u32> {
        // The last number is left to NONE.
        let id = u32::try_from(self.terms.len()).ok().filter(|&id| id < NONE - 1)?;
        self.terms.push(term);
        self.slots[slot] = u64::from(hash) << 32 | u64::from(id + 1);
        if self.terms.len() * 4 > self.slots.len() * 3 {
            self.grow();
        }
        Some(id)
    }

    fn grow(&mut self) {
        let mut slots = vec![0u64; self.slots.len() * 2];
        let mask = slots.len() - 1;
        for &slot in self.slots.iter().filter(|&&slot| slot != 0) {
            let mut at = (slot >> 32) as usize & mask;
            while slots[at] != 0 {
                at = (at + 1) & mask;
            }
            slots[at] = slot;
        }
        self.slots = slots;
    }
}

#[inline]
fn hash_unit(unit: &[u8]) -> u32 {
    let mut hasher = FxHasher::default();
    hasher.write(unit);
    (hasher.finish() >> 32) as u32
}

#[inline]
fn hash_gram(prefix: u32, last: u32) -> u32 {
    // Two rounds of multiply and fold: neighbouring numbers are the rule here, and one product alone would leave them close.
    let mixed = (u64::from(prefix) << 32 | u64::from(last)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mixed = (mixed ^ mixed >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    (mixed >> 32) as u32
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
            let mut whole = Terms::default();
            whole.add_unit("别处".as_bytes()).unwrap();
            let here = whole.take_in(&terms).unwrap();
            for (word, &id) in words.iter().zip(&ids) {
                prop_assert_eq!(terms.unit(word.as_bytes()), id);
                prop_assert_eq!(whole.unit(word.as_bytes()), here[id as usize]);
            }
            for (&(a, b), &id) in pairs.iter().zip(&grams) {
                prop_assert_eq!(terms.gram(at(a), at(b)), id);
                prop_assert_eq!(text(&whole, here[id as usize]), text(&terms, id));
            }
        }
    }
}
