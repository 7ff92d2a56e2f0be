//! Exact match and F1 of answers to questions, in the form of SQuAD (Rajpurkar et al. 2016) and in that of CMRC 2018 (Cui et al. 2019).
//!
//! SQuAD compares words: lower case, without ASCII punctuation and English articles; F1 is over the words that both have. CMRC compares
//! Chinese characters and Latin words, without punctuation; F1 is over their longest common part. The best figure over the right
//! answers counts.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::ratio;

/// Exact match and F1 of an answer, or their means.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct AnswerMatch {
    /// 1 where the answer is one of the right ones.
    pub exact_match: f64,
    pub f1: f64,
}

impl AnswerMatch {
    /// The means over some answers.
    pub fn mean(all: &[AnswerMatch]) -> AnswerMatch {
        let mean = |figure: fn(&AnswerMatch) -> f64| ratio(all.iter().map(figure).sum(), all.len() as f64);
        AnswerMatch { exact_match: mean(|one| one.exact_match), f1: mean(|one| one.f1) }
    }

    fn best(all: impl Iterator<Item = AnswerMatch>) -> AnswerMatch {
        all.fold(AnswerMatch::default(), |best, one| AnswerMatch {
            exact_match: best.exact_match.max(one.exact_match),
            f1: best.f1.max(one.f1),
        })
    }
}

/// An answer by the right ones as SQuAD 2.0 compares them; where none of these has a word, no answer is right.
pub fn squad_match(right: &[String], answer: &str) -> AnswerMatch {
    let found = words(answer);
    let mut right: Vec<Vec<String>> = right.iter().map(|one| words(one)).filter(|words| !words.is_empty()).collect();
    if right.is_empty() {
        right.push(Vec::new());
    }
    AnswerMatch::best(right.iter().map(|wanted| {
        let exact_match = f64::from(u8::from(*wanted == found));
        let f1 = if wanted.is_empty() || found.is_empty() {
            exact_match
        } else {
            let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
            wanted.iter().for_each(|word| *counts.entry(word).or_default() += 1);
            let mut is_wanted = |word: &&String| match counts.get_mut(word.as_str()) {
                Some(count) if *count > 0 => {
                    *count -= 1;
                    true
                }
                _ => false,
            };
            let same = found.iter().filter(|word| is_wanted(word)).count();
            2.0 * same as f64 / (wanted.len() + found.len()) as f64
        };
        AnswerMatch { exact_match, f1 }
    }))
}

/// Words in lower case, without ASCII punctuation and English articles.
fn words(text: &str) -> Vec<String> {
    let plain: String = text.to_lowercase().chars().filter(|c| !c.is_ascii_punctuation()).collect();
    let kept = plain.split_whitespace().filter(|word| !["a", "an", "the"].contains(word));
    kept.map(str::to_owned).collect()
}

/// Punctuation that CMRC leaves out.
const MARKS: &str = "-:_*^/\\~`+=，。：？！“”；’《》·、「」（）－～『』";

/// An answer by the right ones as CMRC 2018 compares them.
pub fn cmrc_match(right: &[String], answer: &str) -> AnswerMatch {
    let (plain, found) = (without_marks(answer), segments(answer));
    AnswerMatch::best(right.iter().map(|one| {
        let wanted = segments(one);
        let common = longest_common(&wanted, &found);
        let f1 = ratio(2.0 * common as f64, (wanted.len() + found.len()) as f64);
        AnswerMatch { exact_match: f64::from(u8::from(without_marks(one) == plain)), f1 }
    }))
}

fn without_marks(text: &str) -> String {
    text.to_lowercase().trim().chars().filter(|c| !MARKS.contains(*c)).collect()
}

/// Chinese characters, and words of what stands between them.
fn segments(text: &str) -> Vec<String> {
    let (mut found, mut open) = (Vec::new(), String::new());
    for c in text.to_lowercase().trim().chars() {
        let is_mark = MARKS.contains(c);
        if is_mark || ('\u{4e00}'..='\u{9fa5}').contains(&c) {
            latin_words(&std::mem::take(&mut open), &mut found);
            if !is_mark {
                found.push(c.to_string());
            }
        } else {
            open.push(c);
        }
    }
    latin_words(&open, &mut found);
    found
}

/// Words as the Penn Treebank cuts them, as far as answers have such: signs stand alone, but for those within a number.
fn latin_words(text: &str, found: &mut Vec<String>) {
    for word in text.split_whitespace() {
        let chars: Vec<char> = word.chars().collect();
        let mut open = String::new();
        for (at, &c) in chars.iter().enumerate() {
            let next = chars.get(at + 1);
            let alone = match c {
                ',' => next.is_none_or(|next| !next.is_ascii_digit()),
                ';' | '@' | '#' | '$' | '%' | '&' | '?' | '!' | '[' | ']' | '(' | ')' | '{' | '}' | '<' | '>' => true,
                _ => false,
            };
            if alone {
                found.extend((!open.is_empty()).then(|| std::mem::take(&mut open)));
                found.push(c.to_string());
            } else {
                open.push(c);
            }
        }
        found.extend((!open.is_empty()).then_some(open));
    }
}

/// The length of the longest run that both have.
fn longest_common(first: &[String], second: &[String]) -> usize {
    let (mut before, mut most) = (vec![0; second.len() + 1], 0);
    for a in first {
        let mut row = vec![0; second.len() + 1];
        for (j, b) in second.iter().enumerate() {
            if a == b {
                row[j + 1] = before[j] + 1;
                most = most.max(row[j + 1]);
            }
        }
        before = row;
    }
    most
}

#[cfg(test)]
mod tests {
    use super::super::reference;
    use super::*;

    #[test]
    fn answers_are_measured_as_the_official_scripts_do() {
        let mut all = Vec::new();
        for case in reference()["answers"].as_array().unwrap() {
            let right: Vec<String> = serde_json::from_value(case["gold"].clone()).unwrap();
            let answer = case["answer"].as_str().unwrap();
            for (form, found) in [("squad", squad_match(&right, answer)), ("cmrc", cmrc_match(&right, answer))] {
                let [exact, f1]: [f64; 2] = serde_json::from_value(case[form].clone()).unwrap();
                assert_eq!(found.exact_match, exact, "{form} {right:?} {answer}");
                assert!((found.f1 - f1).abs() < 1e-12, "{form} {right:?} {answer}: {found:?} {f1}");
            }
            all.push(squad_match(&right, answer));
        }
        let mean = AnswerMatch::mean(&all);
        assert!((mean.exact_match - 2.0 / 12.0).abs() < 1e-12, "{mean:?}");
    }
}
