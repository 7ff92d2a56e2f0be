//! Hash tables as arrays of plain numbers, which are used without decoding: entries in the order of their hashes, with gaps.
//!
//! An entry is `[u32; K]`: the low and the high half of its 64-bit hash, then `K - 2` numbers. The first place of a hash is
//! in proportion to it, so an entry lies there or a few places behind, and a search ends at the first entry of a larger
//! hash: 2 to 3 neighbouring entries at the load used here, found or not. Unlike tables filled one by one, a set of entries
//! has only one layout (Celis 1986, Robin Hood hashing with ties by hash).

/// Places for every 4 entries.
const PLACES_FOR_4: usize = 5;

/// The hash of an empty place.
const EMPTY: [u32; 2] = [u32::MAX; 2];

/// Places that the first places of `n` entries spread over; the table is longer by those pushed beyond its end.
pub(super) fn span(n: usize) -> usize {
    n * PLACES_FOR_4 / 4 + 1
}

/// The hash of an entry.
#[inline]
pub(super) fn hash_of<const K: usize>(entry: &[u32; K]) -> u64 {
    u64::from(entry[1]) << 32 | u64::from(entry[0])
}

/// True if nothing is here.
#[inline]
pub(super) fn is_empty<const K: usize>(entry: &[u32; K]) -> bool {
    [entry[0], entry[1]] == EMPTY
}

/// Two halves, as an entry begins with.
pub(super) fn halves(hash: u64) -> [u32; 2] {
    [hash as u32, (hash >> 32) as u32]
}

/// The place at which a search for a hash begins.
#[inline]
pub(super) fn first_place(hash: u64, span: usize) -> usize {
    ((u128::from(hash) * span as u128) >> 64) as usize
}

/// The place of the entry of this hash; `span` is that of the number of entries.
#[inline]
pub(super) fn find<const K: usize>(table: &[[u32; K]], span: usize, hash: u64) -> Option<usize> {
    let mut place = first_place(hash, span);
    loop {
        // The last place is always empty, so the search ends within the table; a damaged one ends it as not found.
        let found = hash_of(table.get(place)?);
        if found >= hash {
            return (found == hash && hash != u64::MAX).then_some(place);
        }
        place += 1;
    }
}

/// Makes a table of the entries from `start` on, which are in the order of their hashes, all different.
pub(super) fn spread<const K: usize>(entries: &mut Vec<[u32; K]>, start: usize) {
    let n = entries.len() - start;
    let span = span(n);
    let mut end = 0;
    let place = |entry: &[u32; K]| {
        let place = first_place(hash_of(entry), span).max(end);
        end = place + 1;
        place as u32
    };
    let places: Vec<u32> = entries[start..].iter().map(place).collect();
    let mut empty = [0; K];
    empty[..2].copy_from_slice(&EMPTY);
    entries.resize(start + end.max(span) + 1, empty);
    // From behind: an entry's place is never before where it lies now.
    for (i, &place) in places.iter().enumerate().rev() {
        let entry = std::mem::replace(&mut entries[start + i], empty);
        entries[start + place as usize] = entry;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn whatever_was_put_in_is_found_and_nothing_else(hashes: std::collections::BTreeSet<u64>, others: Vec<u64>) {
            let mut table = vec![[7, 7, 7]];
            let hashes: Vec<u64> = hashes.into_iter().filter(|&h| h != u64::MAX).collect();
            for (i, &hash) in hashes.iter().enumerate() {
                let [low, high] = halves(hash);
                table.push([low, high, i as u32]);
            }
            spread(&mut table, 1);
            let (table, span) = (&table[1..], span(hashes.len()));
            for (i, &hash) in hashes.iter().enumerate() {
                let place = find(table, span, hash);
                prop_assert_eq!(place.map(|p| table[p][2]), Some(i as u32));
            }
            for hash in others.into_iter().chain([0, 1, u64::MAX]) {
                prop_assert_eq!(find(table, span, hash).is_some(), hashes.contains(&hash));
            }
            prop_assert!(is_empty(&table[table.len() - 1]));
        }
    }

    #[test]
    fn hashes_at_the_very_end_are_pushed_beyond_it() {
        let mut table: Vec<[u32; 2]> = (1..40).rev().map(|i| halves(u64::MAX - i)).collect();
        spread(&mut table, 0);
        assert!(table.len() > span(39));
        assert!((1..40).all(|i| find(&table, span(39), u64::MAX - i).is_some()));
        assert_eq!(find(&table, span(39), u64::MAX), None);
    }
}
