//! Sketches of texts: a MinHash signature of their shingles, and a small sample of their numbers.
//!
//! A shingle is `k` characters in a row of the title and the body, where only letters and digits count: white space
//! and punctuation are left out (editors change them) and ASCII letters are lower case. Digits stay, for a text with
//! other figures tells something else. The estimated Jaccard similarity of two shingle sets is the share of equal
//! components (Broder 1997); its standard error at 0.8 is 0.04. Components are cut to 16 bits (Li and König 2010), so
//! two unequal ones agree by chance once in 65,536 times. A sketch takes 224 bytes.

/// Components of a signature.
pub(super) const PERMUTATIONS: usize = 96;
/// Bands of the signature; each is [`BAND_ROWS`] components, which must all agree for two texts to be compared. A pair
/// at similarity 0.8 meets in some band with probability 1 - 5e-6, at 0.6 with 0.96, at 0.3 with 0.18.
pub(super) const BANDS: usize = PERMUTATIONS / BAND_ROWS;
const BAND_ROWS: usize = 4;
const NUMBERS: usize = 16;
/// Fewer distinct numbers than this say nothing about two texts.
const NUMBERS_THAT_TELL: usize = 4;

/// What is kept of a text to compare it with others.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Sketch {
    components: [u16; PERMUTATIONS],
    /// The smallest hashes of the distinct numbers, ascending; `u16::MAX` fills the rest.
    numbers: [u16; NUMBERS],
}

impl Sketch {
    /// The estimated Jaccard similarity of the two texts' shingles.
    pub(super) fn similarity(&self, other: &Sketch) -> f32 {
        let pairs = self.components.iter().zip(&other.components);
        pairs.map(|(a, b)| u16::from(a == b)).sum::<u16>() as f32 / PERMUTATIONS as f32
    }

    /// The estimated Jaccard similarity of the two texts' numbers; `None` when there are too few to tell.
    pub(super) fn numbers_in_common(&self, other: &Sketch) -> Option<f64> {
        // The smallest hashes of the union are a sample of it; those on both sides are the sample of what is shared.
        let (mut i, mut j, mut union, mut shared) = (0, 0, 0, 0);
        while union < NUMBERS {
            let a = self.numbers.get(i).copied().unwrap_or(u16::MAX);
            let b = other.numbers.get(j).copied().unwrap_or(u16::MAX);
            if a == u16::MAX && b == u16::MAX {
                break;
            }
            i += usize::from(a <= b);
            j += usize::from(b <= a);
            shared += usize::from(a == b);
            union += 1;
        }
        (union >= NUMBERS_THAT_TELL).then(|| shared as f64 / union as f64)
    }

    /// The hash of band `band`, by which texts that may be alike are found.
    pub(super) fn band(&self, band: usize) -> u32 {
        let rows = &self.components[band * BAND_ROWS..(band + 1) * BAND_ROWS];
        let joined = rows.iter().fold(0u64, |joined, &c| joined << 16 | u64::from(c));
        (mix(joined) >> 32) as u32
    }
}

/// Makes sketches with one shingle length. Hash functions are fixed: sketches of different runs can be compared.
pub(super) struct Sketcher {
    shingle: usize,
    /// Multiplier (odd) and addend of each permutation of the 32-bit integers.
    permutations: [(u32, u32); PERMUTATIONS],
}

impl Sketcher {
    pub(super) fn new(shingle: usize) -> Sketcher {
        let permutations = std::array::from_fn(|i| {
            let random = mix(i as u64 + 1);
            ((random >> 32) as u32 | 1, random as u32)
        });
        Sketcher { shingle, permutations }
    }

    /// The sketch of a text; `None` when it is shorter than a shingle.
    pub(super) fn sketch(&self, title: &str, body: &str) -> Option<Sketch> {
        let letters = title.chars().chain(body.chars()).filter(|c| c.is_alphanumeric());
        let letters: Vec<u32> = letters.map(|c| c.to_ascii_lowercase() as u32).collect();
        let mut minima = [u32::MAX; PERMUTATIONS];
        let mut shingles: Vec<u32> = letters.windows(self.shingle).map(hash_of).collect();
        if shingles.is_empty() {
            return None;
        }
        // Sets, not bags: sorting out the repeats first saves their permutations.
        shingles.sort_unstable();
        shingles.dedup();
        for shingle in shingles {
            for (minimum, (multiplier, addend)) in minima.iter_mut().zip(&self.permutations) {
                *minimum = (*minimum).min(shingle.wrapping_mul(*multiplier).wrapping_add(*addend));
            }
        }
        // The minimum of many values has mostly zero high bits, so the cut takes from all of them.
        let components = minima.map(|m| (mix(u64::from(m)) >> 48) as u16);
        Some(Sketch { components, numbers: sample_numbers(title, body) })
    }
}

/// The smallest hashes of the distinct numbers in a text; `1,234.5` and `1234.5` are one number.
fn sample_numbers(title: &str, body: &str) -> [u16; NUMBERS] {
    let part_of_number = |c: char| c.is_ascii_digit() || c == '.' || c == ',';
    let runs = [title, body].into_iter().flat_map(|text| text.split(|c| !part_of_number(c)));
    let numbers = runs.map(|run| run.trim_matches(['.', ','])).filter(|run| !run.is_empty());
    let mut hashes: Vec<u16> = numbers
        .map(|number| {
            let digits: Vec<u32> = number.chars().filter(|&c| c != ',').map(u32::from).collect();
            (hash_of(&digits) >> 16) as u16
        })
        .filter(|&hash| hash != u16::MAX)
        .collect();
    hashes.sort_unstable();
    hashes.dedup();
    hashes.resize(NUMBERS, u16::MAX);
    std::array::from_fn(|i| hashes[i])
}

fn hash_of(chars: &[u32]) -> u32 {
    (chars.iter().fold(0u64, |hash, &c| mix(hash ^ u64::from(c))) >> 32) as u32
}

/// The finaliser of SplitMix64 (Steele et al. 2014).
fn mix(x: u64) -> u64 {
    let x = x.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    x ^ (x >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    fn sketch(text: &str) -> Sketch {
        Sketcher::new(3).sketch("", text).unwrap()
    }

    #[test]
    fn the_estimate_is_near_the_exact_jaccard_similarity() {
        // Two runs of 300 distinct letters that share `shared` of them, so all similarities are known.
        for shared in [30usize, 150, 240, 285] {
            let text = |from: usize| -> String {
                (from..from + 300).map(|i| char::from_u32(0x4E00 + i as u32).unwrap()).collect()
            };
            let (a, b) = (text(0), text(300 - shared));
            let shingles = |t: &str| -> BTreeSet<Vec<char>> {
                t.chars().collect::<Vec<_>>().windows(3).map(<[char]>::to_vec).collect()
            };
            let (sa, sb) = (shingles(&a), shingles(&b));
            let exact = sa.intersection(&sb).count() as f32 / sa.union(&sb).count() as f32;
            let estimate = sketch(&a).similarity(&sketch(&b));
            assert!((estimate - exact).abs() < 0.13, "exact {exact}, estimated {estimate}");
        }
    }

    #[test]
    fn punctuation_and_case_do_not_count_but_figures_do() {
        assert_eq!(sketch("远山科技（STAR）发布公告。"), sketch("远山科技 star，发布公告！"));
        assert!(sketch("净利润增长12.5%").similarity(&sketch("净利润增长38.1%")) < 0.9);
        assert_eq!(Sketcher::new(5).sketch("短", "文"), None);
    }

    #[test]
    fn numbers_are_compared_as_sets_and_only_when_there_are_enough() {
        let a = sketch("收入1,200万元，成本800万元，费用30万元，人数56人");
        let b = sketch("人数56人，费用30万元；收入1200万元，成本800万元");
        let c = sketch("收入1,300万元，成本900万元，费用40万元，人数56人");
        assert_eq!(a.numbers_in_common(&b), Some(1.0));
        assert_eq!(a.numbers_in_common(&c), Some(1.0 / 7.0));
        assert_eq!(a.numbers_in_common(&sketch("没有数字的文字")), Some(0.0));
        assert_eq!(sketch("第1次会议").numbers_in_common(&sketch("第2次会议")), None);
    }
}
