//! Terms as hashes: MurmurHash3 (x86, 32 bits, seed 0; Appleby) of the UTF-8 text, as in scikit-learn's FeatureHasher.

use super::{Analyzer, Fields, Formula, VectorizerParams};

/// MurmurHash3 for 32-bit machines with seed 0.
fn murmur3(bytes: &[u8]) -> u32 {
    const C1: u32 = 0xcc9e_2d51;
    const C2: u32 = 0x1b87_3593;
    let scramble = |k: u32| k.wrapping_mul(C1).rotate_left(15).wrapping_mul(C2);
    let mut words = bytes.chunks_exact(4);
    let mut hash = words.by_ref().fold(0u32, |hash, word| {
        let k = u32::from_le_bytes([word[0], word[1], word[2], word[3]]);
        (hash ^ scramble(k)).rotate_left(13).wrapping_mul(5).wrapping_add(0xe654_6b64)
    });
    let tail = words.remainder();
    if !tail.is_empty() {
        hash ^= scramble(tail.iter().rev().fold(0, |k, &byte| k << 8 | u32::from(byte)));
    }
    hash ^= bytes.len() as u32;
    hash = (hash ^ hash >> 16).wrapping_mul(0x85eb_ca6b);
    hash = (hash ^ hash >> 13).wrapping_mul(0xc2b2_ae35);
    hash ^ hash >> 16
}

/// Column and sign of a term.
fn bucket(term: &[u8], buckets: u32) -> (u32, f32) {
    let hash = murmur3(term) as i32;
    let column = match hash {
        // The one number whose absolute value does not fit; scikit-learn takes this column.
        i32::MIN => (i32::MAX as u32 - (buckets - 1)) % buckets,
        hash => hash.unsigned_abs() % buckets,
    };
    (column, if hash >= 0 { 1.0 } else { -1.0 })
}

/// The hashed counts of a document, columns ascending, those that cancel out left out; and its length in terms.
pub(super) fn count(analyzer: &Analyzer, fields: Fields<'_>, params: &VectorizerParams) -> (Vec<(u32, f32)>, u32) {
    let mut counts: Vec<(u32, f32)> = Vec::new();
    analyzer.for_each_term(fields, params, |term, _| {
        let (column, sign) = bucket(term.as_bytes(), params.buckets as u32);
        counts.push((column, if params.alternate_sign { sign } else { 1.0 }));
    });
    let length = counts.len() as u32;
    counts.sort_unstable_by_key(|&(column, _)| column);
    let binary = params.formula == Formula::Binary;
    let sums = counts.chunk_by(|a, b| a.0 == b.0);
    let sums = sums.map(|run| (run[0].0, if binary { 1.0 } else { run.iter().map(|&(_, sign)| sign).sum() }));
    (sums.filter(|&(_, sum)| sum != 0.0).collect(), length)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vectorize::Preset;

    #[test]
    fn hashes_are_those_of_scikit_learn() {
        // sklearn.utils.murmurhash3_32(text, seed=0, positive=True)
        for (text, hash) in REFERENCE {
            assert_eq!(murmur3(text.as_bytes()), hash, "{text}");
        }
    }

    const REFERENCE: [(&str, u32); 5] =
        [("", 0), ("a", 1009084850), ("增长", 1201979205), ("净利润 增长", 3398226108), ("ETF基金", 528743501)];

    #[test]
    fn long_texts_hash_the_same_terms_as_short_ones() {
        let params =
            VectorizerParams { ngram_range: (1, 2), buckets: 1 << 16, ..VectorizerParams::preset(Preset::Hashing) };
        let analyzer = Analyzer::new(&params, None).unwrap();
        let long = "利润 增长 ".repeat(900);
        let (counts, length) = count(&analyzer, Fields::body(&long), &params);
        assert_eq!(length, 2 * 1800 - 1);
        let mut expected: Vec<(u32, f32)> =
            [("利润", 900.0), ("增长", 900.0), ("利润 增长", 900.0), ("增长 利润", 899.0)]
                .map(|(term, n)| (bucket(term.as_bytes(), 1 << 16), n))
                .map(|((column, sign), n)| (column, sign * n))
                .into();
        expected.sort_by_key(|e| e.0);
        assert_eq!(counts, expected);
    }
}
