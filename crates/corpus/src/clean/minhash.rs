//! Sketches of texts: a MinHash signature of their shingles, and a small sample of their numbers.
//!
//! A shingle is `k` letters in a row of the title and the body ([`letters`]): white space and punctuation are left out
//! (editors change them), ASCII is lower case. Digits stay, with their points and signs, for a text with other figures
//! tells something else. An agency's dateline (`财联社6月18日电，`) is left out. The estimated Jaccard similarity of two shingle sets is
//! the share of equal components (Broder 1997); its standard error at 0.8 is 0.04. Components are cut to 16 bits (Li and König
//! 2010), so two unequal ones agree by chance once in 65,536 times. A sketch takes 224 bytes.

use std::sync::LazyLock;

use inkstone_base::data::Key;
use regex::Regex;

/// The beginning of a flash up to the end of its dateline. Group 1 is the text before the dateline: a headline in brackets, and a clause
/// that names who passes the flash on. The dateline is an agency, a place, a month (group 2), a day (group 3) and the word for a wire.
static DATELINE: LazyLock<Regex> = LazyLock::new(|| {
    let before = r"^(\s*(?:【[^】]{0,200}】)?\s*(?:[^，,。！!：:\s]{1,20}[，,！!：:])?)\s*";
    let dateline = r"[\p{Han}A-Za-z·]{2,16}?(?:\d{4}年)?(?:(\d{1,2})月)?(\d{1,2})日(?:电|讯|消息)[，,：:\s]";
    Regex::new(&format!("{before}{dateline}")).expect("the pattern is sound")
});

/// The date of a dateline.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Dateline {
    month: Option<u8>,
    day: u8,
}

impl Dateline {
    /// True if two datelines may be of one day.
    pub(super) fn agrees(self, other: Dateline) -> bool {
        self.day == other.day && self.month.zip(other.month).is_none_or(|(own, other)| own == other)
    }
}

/// The title and the body of a document, without the dateline that the body may begin with.
pub(super) struct ComparedText<'t> {
    pieces: [&'t str; 3],
    pub(super) dateline: Option<Dateline>,
}

impl<'t> ComparedText<'t> {
    pub(super) fn new(title: &'t str, body: &'t str) -> ComparedText<'t> {
        let full_text = ComparedText { pieces: [title, body, ""], dateline: None };
        let Some(found) = DATELINE.captures(body) else { return full_text };
        let number = |group: usize| found.get(group)?.as_str().parse().ok();
        let Some(day) = number(3) else { return full_text };
        let before = found.get(1).map_or("", |before| before.as_str());
        let after = &body[found.get_match().end()..];
        ComparedText { pieces: [title, before, after], dateline: Some(Dateline { month: number(2), day }) }
    }
}

/// Components of a signature.
pub(super) const PERMUTATIONS: usize = 96;
/// Bands of the signature; each is [`BAND_ROWS`] components, which must all agree for two texts to be compared. A pair
/// at similarity 0.8 meets in some band with probability 1 - 3e-6, at 0.6 with 0.96, at 0.3 with 0.18.
pub(super) const BANDS: usize = PERMUTATIONS / BAND_ROWS;
const BAND_ROWS: usize = 4;
const NUMBERS: usize = 16;
/// Texts with fewer letters than this are compared exactly: one word (北向, 南向) makes all the difference to them.
const LEAST_LETTERS: usize = 20;

/// MinHash sketch of a text.
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

    /// The estimated share of the numbers of the text with fewer of them that the other text has as well; `None` when one
    /// has none. Leaving out a number does not lower it, changing one does.
    pub(super) fn numbers_in_common(&self, other: &Sketch) -> Option<f64> {
        // Up to the lesser of the largest sampled hashes both samples are complete.
        let complete = self.numbers[NUMBERS - 1].min(other.numbers[NUMBERS - 1]);
        let sample = |sketch: &Sketch| sketch.numbers.iter().filter(|&&n| n <= complete && n != u16::MAX).count();
        let fewer = sample(self).min(sample(other));
        let shared = self.numbers.iter().filter(|&n| *n != u16::MAX && other.numbers.binary_search(n).is_ok()).count();
        (fewer > 0).then(|| shared as f64 / fewer as f64)
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

    /// The sketch of a text, by its [`letters`]; `None` when it is too short for one.
    pub(super) fn sketch(&self, text: &ComparedText<'_>, letters: &[char]) -> Option<Sketch> {
        let mut minima = [u32::MAX; PERMUTATIONS];
        if letters.len() < LEAST_LETTERS {
            return None;
        }
        let mut shingles: Vec<u32> = letters.windows(self.shingle).map(hash_of).collect();
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
        Some(Sketch { components, numbers: sample_numbers(text) })
    }
}

/// The characters by which texts are compared: letters and digits, points inside numbers, signs and percent signs beside
/// them; ASCII in lower case.
pub(super) fn letters(text: &ComparedText<'_>) -> Vec<char> {
    let mut letters = Vec::with_capacity(text.pieces.iter().map(|piece| piece.len()).sum::<usize>() / 3);
    for piece in text.pieces {
        let mut before = ' ';
        let mut rest = piece.chars();
        while let Some(c) = rest.next() {
            let after = || rest.clone().next().unwrap_or(' ');
            let counts = match c {
                '.' => before.is_ascii_digit() && after().is_ascii_digit(),
                '-' | '+' => after().is_ascii_digit(),
                '%' | '‰' => before.is_ascii_digit(),
                _ => c.is_alphanumeric(),
            };
            if counts {
                letters.push(c.to_ascii_lowercase());
            }
            before = c;
        }
    }
    letters
}

/// The key of a text's letters: equal for texts that differ by punctuation and spaces alone.
pub(super) fn key_of_letters(letters: &[char]) -> Key {
    Key::of(letters.iter().collect::<String>().as_bytes())
}

/// The smallest hashes of the distinct numbers in a text; `1,234.5` and `1234.5` are one number.
fn sample_numbers(text: &ComparedText<'_>) -> [u16; NUMBERS] {
    let part_of_number = |c: char| c.is_ascii_digit() || c == '.' || c == ',';
    let runs = text.pieces.into_iter().flat_map(|piece| piece.split(|c| !part_of_number(c)));
    let numbers = runs.map(|run| run.trim_matches(['.', ','])).filter(|run| !run.is_empty());
    let mut hashes: Vec<u16> = numbers
        .map(|number| {
            let digits: Vec<char> = number.chars().filter(|&c| c != ',').collect();
            (hash_of(&digits) >> 16) as u16
        })
        .filter(|&hash| hash != u16::MAX)
        .collect();
    hashes.sort_unstable();
    hashes.dedup();
    hashes.resize(NUMBERS, u16::MAX);
    std::array::from_fn(|i| hashes[i])
}

fn hash_of(chars: &[char]) -> u32 {
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

    fn letters(body: &str) -> Vec<char> {
        super::letters(&ComparedText::new("", body))
    }

    fn sketch(body: &str) -> Sketch {
        Sketcher::new(3).sketch(&ComparedText::new("", body), &letters(body)).unwrap()
    }

    #[test]
    fn a_dateline_takes_no_part() {
        let news = "公司公告，拟以自有资金回购股份，金额不低于1.5亿元，价格不超过12.8元，用于员工持股计划";
        let own = sketch(news);
        for dateline in ["财联社6月18日电，", "新华社北京2026年6月17日电 ", "中新网17日讯："] {
            let text = format!("{dateline}{news}");
            assert_eq!(letters(&text), letters(news), "{dateline}");
            assert_eq!(sketch(&text), own, "{dateline}");
        }
        let headed = letters(&format!("【回购】财联社6月18日电，{news}"));
        assert_eq!(headed, letters(&format!("回购{news}")), "the headline stays");
        let passed_on = letters(&format!("据青简周刊报道，财联社6月18日电，{news}"));
        assert_eq!(passed_on, letters(&format!("据青简周刊报道{news}")), "who passes it on stays");
        // A date that is news.
        let dated = "公司将于6月18日召开股东大会，审议回购股份的议案，并公布上半年的经营情况";
        assert_eq!(letters(dated).len(), dated.chars().filter(|c| c.is_alphanumeric()).count());
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
        let text = "远山科技（STAR）发布公告，预计净利润增长12.5%至38.1%。";
        assert_eq!(sketch(text), sketch("远山科技 star，发布公告：预计净利润增长12.5%至38.1%！"));
        assert!(sketch(text).similarity(&sketch(&text.replace("12.5", "60.7"))) < 0.9);
        let short = ComparedText::new("南向资金", "净流入超30亿元。");
        assert_eq!(Sketcher::new(5).sketch(&short, &super::letters(&short)), None);
    }

    #[test]
    fn points_and_signs_count_beside_digits_alone() {
        let read = |text: &str| letters(text).into_iter().collect::<String>();
        assert_eq!(read("A股，涨-1.5%；2.3 - 好.%"), "a股涨-1.5%2.3好");
        assert_ne!(read("涨1.5%"), read("涨15%"));
    }

    #[test]
    fn a_number_left_out_is_no_other_number() {
        let text = "收入1,200万元，成本800万元，费用30万元，人数56人，其余各项指标与上年持平";
        let numbers = |other: &str| sketch(text).numbers_in_common(&sketch(other));
        assert_eq!(numbers(&text.replace("1,200", "1200.")), Some(1.0));
        assert_eq!(numbers(&text.replace("，人数56人", "，人数没有公布")), Some(1.0));
        assert_eq!(numbers(&text.replace("56", "57")), Some(0.75));
        assert_eq!(numbers("收入、成本、费用和人数等各项指标都与上年持平，没有变化"), None);
        // Two hundred numbers each, half of them the same: more than a sample holds.
        let many = |from: u32| (from..from + 200).map(|n| format!("{}元", n * 37)).collect::<String>();
        let estimate = sketch(&many(0)).numbers_in_common(&sketch(&many(100))).unwrap();
        assert!((0.2..0.8).contains(&estimate), "{estimate}");
    }
}
