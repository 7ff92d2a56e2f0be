//! BLEU: the share of n-grams of a text that its reference has, for n from one to four (Papineni et al. 2002), with the
//! brevity penalty and the smoothing of sacrebleu (Post 2018).
//!
//! Scores are from 0 to 100. Where no sequence of a length is found, exponential smoothing gives it half a find, the next such length a
//! quarter, and so on. Of a sentence, lengths that it is too short for are left out (effective order); of a
//! corpus they make the score 0. A text with no token found scores 0.
//!
//! Beside it stands the form of textbooks (Dive into Deep Learning, section 10.7): longer sequences weigh less, and nothing is smoothed.

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

/// The longest sequence that is counted.
const ORDER: usize = 4;

/// BLEU of a corpus or a sentence.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Bleu {
    /// From 0 to 100.
    pub score: f64,
    /// Percentages of sequences of 1 to 4 tokens that stand in the reference, smoothed.
    pub precisions: [f64; ORDER],
    /// The brevity penalty: the factor of a text shorter than its reference.
    pub brevity: f64,
}

/// The counts over the pairs of a corpus.
#[derive(Clone, Copy, Debug, Default)]
struct NgramMatches {
    found: [u64; ORDER],
    all: [u64; ORDER],
    written: u64,
    reference: u64,
}

/// BLEU of a corpus: pairs of what was written and its reference, as tokens.
pub fn corpus_bleu<'t, T: AsRef<str> + 't>(pairs: impl IntoIterator<Item = (&'t [T], &'t [T])>) -> Bleu {
    let mut counts = NgramMatches::default();
    for (written, reference) in pairs {
        counts.add(written, reference);
    }
    counts.bleu(false)
}

/// BLEU of one text against its reference.
pub fn sentence_bleu<T: AsRef<str>>(written: &[T], reference: &[T]) -> Bleu {
    let mut counts = NgramMatches::default();
    counts.add(written, reference);
    counts.bleu(true)
}

/// BLEU of one text with the weights of textbooks, from 0 to 100: `exp(min(0, 1 - r/c))` times the product of `p_n^(1/2^n)` for n from 1 to
/// `longest`, or to the length of the text. One length of which no sequence is found makes it 0, as nothing is smoothed.
pub fn textbook_bleu<T: AsRef<str>>(written: &[T], reference: &[T], longest: usize) -> f64 {
    if written.is_empty() {
        return 0.0;
    }
    let brevity = (1.0 - reference.len() as f64 / written.len() as f64).min(0.0).exp();
    let share = |order: usize| common(written, reference, order) as f64 / (written.len() + 1 - order) as f64;
    let weighted = (1..=longest.min(written.len())).map(|order| share(order).powf(0.5f64.powi(order as i32)));
    100.0 * brevity * weighted.product::<f64>()
}

impl NgramMatches {
    fn add<T: AsRef<str>>(&mut self, written: &[T], reference: &[T]) {
        self.written += written.len() as u64;
        self.reference += reference.len() as u64;
        for order in 1..=ORDER {
            self.found[order - 1] += common(written, reference, order);
            self.all[order - 1] += (written.len() + 1).saturating_sub(order) as u64;
        }
    }

    fn bleu(&self, effective_order: bool) -> Bleu {
        let brevity = match (self.written, self.reference) {
            (written, reference) if written >= reference => 1.0,
            (0, _) => 0.0,
            (written, reference) => (1.0 - reference as f64 / written as f64).exp(),
        };
        let mut precisions = [0.0; ORDER];
        if self.found.iter().all(|found| *found == 0) {
            return Bleu { score: 0.0, precisions, brevity };
        }
        let (mut smoothing, mut orders) = (1.0, ORDER);
        for (order, precision) in precisions.iter_mut().enumerate() {
            let all = self.all[order] as f64;
            if self.all[order] == 0 {
                break;
            }
            if effective_order {
                orders = order + 1;
            }
            *precision = if self.found[order] == 0 {
                smoothing *= 2.0;
                100.0 / (smoothing * all)
            } else {
                100.0 * self.found[order] as f64 / all
            };
        }
        // The logarithm of 0 takes the whole to 0.
        let mean = precisions[..orders].iter().map(|precision| precision.ln()).sum::<f64>() / orders as f64;
        Bleu { score: brevity * mean.exp(), precisions, brevity }
    }
}

/// Sequences of `order` tokens in both, each as often as in the one that has it less often.
pub(super) fn common<T: AsRef<str>>(written: &[T], reference: &[T], order: usize) -> u64 {
    let mut left: FxHashMap<Vec<&str>, u64> = FxHashMap::default();
    for tokens in reference.windows(order) {
        *left.entry(tokens.iter().map(AsRef::as_ref).collect()).or_default() += 1;
    }
    let mut found = 0;
    let mut key = Vec::with_capacity(order);
    for tokens in written.windows(order) {
        key.clear();
        key.extend(tokens.iter().map(AsRef::as_ref));
        if let Some(count) = left.get_mut(&key).filter(|count| **count > 0) {
            *count -= 1;
            found += 1;
        }
    }
    found
}

/// Cuts Chinese text as sacrebleu's `zh` does: every Chinese character and full-width sign apart, the rest by white space and
/// punctuation, where a point or comma between digits stays.
pub fn chinese_tokens(text: &str) -> Vec<String> {
    let mut apart = String::with_capacity(text.len() * 2);
    for c in text.trim().chars() {
        if chinese(c) {
            apart.extend([' ', c, ' ']);
        } else {
            apart.push(c);
        }
    }
    // The rules one after the other, each from left to right over what the one before left, as its expressions are.
    let signs = spread(&apart, |c| matches!(c, '{'..='~' | '['..='`' | ' '..='&' | '('..='+' | ':'..='@' | '/'));
    let after = pairs(&signs, |a, b| !a.is_ascii_digit() && matches!(b, '.' | ','), |a, b| format!("{a} {b} "));
    let before = pairs(&after, |a, b| matches!(a, '.' | ',') && !b.is_ascii_digit(), |a, b| format!(" {a} {b}"));
    let dashes = pairs(&before, |a, b| a.is_ascii_digit() && b == '-', |a, b| format!("{a} {b} "));
    dashes.split_whitespace().map(str::to_owned).collect()
}

/// Every character of a text, in its own right.
pub fn character_tokens(text: &str) -> Vec<String> {
    text.chars().filter(|c| !c.is_whitespace()).map(String::from).collect()
}

fn spread(text: &str, sign: impl Fn(char) -> bool) -> String {
    let mut out = String::with_capacity(text.len() * 2);
    for c in text.chars() {
        if sign(c) {
            out.extend([' ', c, ' ']);
        } else {
            out.push(c);
        }
    }
    out
}

/// Replaces pairs of neighbours; a replacement is no part of the next pair.
fn pairs(text: &str, is: impl Fn(char, char) -> bool, with: impl Fn(char, char) -> String) -> String {
    let mut out = String::with_capacity(text.len() * 2);
    let mut chars = text.chars().peekable();
    while let Some(a) = chars.next() {
        match chars.peek().copied() {
            Some(b) if is(a, b) => {
                chars.next();
                out.push_str(&with(a, b));
            }
            _ => out.push(a),
        }
    }
    out
}

/// sacrebleu's ranges as they work there: those beyond the basic plane are written in it with four digits instead of eight, so that they
/// cover U+2001 to U+2A6D (quotation marks, dashes, arrows, signs) and no rare characters.
fn chinese(c: char) -> bool {
    matches!(c,
        '\u{2001}'..='\u{2a6d}' | '\u{2e80}'..='\u{2fdf}' | '\u{2ff0}'..='\u{303f}' | '\u{3100}'..='\u{312f}'
        | '\u{31a0}'..='\u{31ef}' | '\u{3200}'..='\u{4db5}' | '\u{4e00}'..='\u{9fbb}' | '\u{f900}'..='\u{fa2d}'
        | '\u{fa30}'..='\u{fa6a}' | '\u{fa70}'..='\u{fad9}' | '\u{fe10}'..='\u{fe1f}' | '\u{fe30}'..='\u{fe4f}'
        | '\u{ff00}'..='\u{ffef}')
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    fn close(found: Bleu, wanted: &Value) {
        let same = |found: f64, wanted: &Value| {
            let wanted = wanted.as_f64().unwrap();
            assert!((found - wanted).abs() <= 1e-9 * wanted.abs().max(1.0), "{found} is not {wanted}");
        };
        same(found.score, &wanted["score"]);
        same(found.brevity, &wanted["brevity"]);
        for (order, precision) in found.precisions.into_iter().enumerate() {
            same(precision, &wanted["precisions"][order]);
        }
    }

    #[test]
    fn scores_are_sacrebleus() {
        let reference: Value =
            serde_json::from_str(include_str!("../../../../tests/reference/onnx/metrics.json")).unwrap();
        for (name, cut) in [("zh", chinese_tokens as fn(&str) -> Vec<String>), ("characters", character_tokens)] {
            let pairs: Vec<(Vec<String>, Vec<String>)> = reference["pairs"]
                .as_array()
                .unwrap()
                .iter()
                .map(|pair| (cut(pair[0].as_str().unwrap()), cut(pair[1].as_str().unwrap())))
                .collect();
            close(corpus_bleu(pairs.iter().map(|(a, b)| (&a[..], &b[..]))), &reference[format!("bleu_{name}")]);
            for ((written, right), wanted) in
                pairs.iter().zip(reference[format!("sentence_bleu_{name}")].as_array().unwrap())
            {
                close(sentence_bleu(written, right), wanted);
            }
        }
    }

    #[test]
    fn chinese_is_cut_as_by_sacrebleu() {
        for (text, tokens) in [
            (" 公司AI芯片订单约12.5亿元, 升8%! ", "公 司 AI 芯 片 订 单 约 12.5 亿 元 , 升 8 % !"),
            ("1,000.50-3 a.b c, d. 2.", "1,000.50 - 3 a . b c , d . 2."),
            ("“净利润”——同比…e.g.,x/y", "“ 净 利 润 ” — — 同 比 … e . g . , x / y"),
            ("Ｑ３（含税）it's ok-ish 3-4", "Ｑ ３ （ 含 税 ） it's ok-ish 3 - 4"),
            ("𠮷野家..,,1..2", "𠮷 野 家 . . , ,1 . . 2"),
            ("", ""),
        ] {
            assert_eq!(chinese_tokens(text).join(" "), tokens, "{text}");
        }
        assert_eq!(character_tokens("净 利\n润a"), ["净", "利", "润", "a"]);
    }

    #[test]
    fn shares_of_found_sequences_are_those_worked_by_hand() {
        // Dive into Deep Learning, section 10.7: A B B C D for A B C D E F. The share of four tokens, 0 of 2, is smoothed.
        let tokens = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
        let bleu = sentence_bleu(&tokens("A B B C D"), &tokens("A B C D E F"));
        for (precision, expected) in bleu.precisions.into_iter().zip([4.0 / 5.0, 3.0 / 4.0, 1.0 / 3.0, 1.0 / 4.0]) {
            assert!((precision - 100.0 * expected).abs() < 1e-12, "{precision}, not {expected}");
        }
        assert!((bleu.brevity - (-0.2f64).exp()).abs() < 1e-12);
    }

    #[test]
    fn the_textbook_form_has_the_totals_of_its_book() {
        // The function `bleu` of Dive into Deep Learning gives these totals; the last two texts are its own and one shorter than four tokens.
        let tokens = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
        for (written, reference, longest, total) in [
            ("A B B C D", "A B C D E F", 1, 0.7322950476607851),
            ("A B B C D", "A B C D E F", 2, 0.6814773296495302),
            ("A B B C D", "A B C D E F", 3, 0.5940339360503315),
            ("A B B C D", "A B C D E F", 4, 0.0),
            ("il est mouillé .", "il est calme .", 2, 0.6580370064762462),
            ("a b", "a b c", 4, 0.6065306597126334),
        ] {
            let found = textbook_bleu(&tokens(written), &tokens(reference), longest);
            assert!((found - 100.0 * total).abs() < 1e-10, "{written}, up to {longest}: {found}, not {total}");
        }
        assert_eq!(textbook_bleu::<String>(&[], &tokens("a"), 4), 0.0);
        assert_eq!(textbook_bleu::<String>(&tokens("a"), &[], 4), 0.0);
    }

    #[test]
    fn by_hand() {
        let tokens = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
        let bleu = sentence_bleu(&tokens("a b c d"), &tokens("a b c d e"));
        assert_eq!(bleu.precisions, [100.0; 4]);
        assert!((bleu.score - 100.0 * (-0.25f64).exp()).abs() < 1e-12);
        // Three tokens have no sequence of four: a corpus of them has no score.
        let (short, long) = (tokens("a b c"), tokens("a b c"));
        assert_eq!(corpus_bleu([(&short[..], &long[..])]).score, 0.0);
        assert!((sentence_bleu(&short, &long).score - 100.0).abs() < 1e-9);
        // A token counts as often as the reference has it.
        assert_eq!(sentence_bleu(&tokens("a a a a"), &tokens("a b")).precisions[0], 25.0);
        assert_eq!(sentence_bleu::<String>(&[], &tokens("a")), Bleu::default());
    }
}
