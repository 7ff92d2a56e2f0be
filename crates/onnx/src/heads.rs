//! From the logits of a head to probabilities, and from tags of tokens to entities.
//!
//! Tags say where a name begins and goes on: `B-ORG I-ORG O`, with `E` (`L`) for the last token, `S` (`U`) for the only one and `M` for
//! one within where a model has them; or the kind alone. As in the aggregation "first" of the transformers library, a word that was
//! cut into pieces is one word with the tag of its first piece; a word that goes on with the kind before it belongs to it,
//! one that goes on with another kind begins a new entity, and the score is the mean probability of the words' tags. Ranges are
//! bytes of the text, half-open.

use std::ops::Range;

/// A name in a text.
#[derive(Clone, Debug, PartialEq)]
pub struct Entity {
    /// Kind, as `ORG`.
    pub label: String,
    /// Bytes of the text.
    pub range: Range<usize>,
    /// Mean probability of its words' tags.
    pub score: f32,
}

impl Entity {
    /// Bytes without white space at the ends, which pieces of SentencePiece and of bytes may hold.
    pub(super) fn trimmed(&self, text: &str) -> Range<usize> {
        let part = &text[self.range.clone()];
        let start = self.range.start + part.len() - part.trim_start().len();
        start..start + part.trim().len()
    }
}

/// Probabilities of which one holds; of logits that are all minus infinity, equal ones.
pub(super) fn softmax(logits: &mut [f32]) {
    let largest = logits.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    if largest == f32::NEG_INFINITY {
        let count = logits.len() as f32;
        logits.fill(1.0 / count);
        return;
    }
    let mut sum = 0.0f64;
    for logit in logits.iter_mut() {
        *logit = (*logit - largest).exp();
        sum += f64::from(*logit);
    }
    for logit in logits {
        *logit = (f64::from(*logit) / sum) as f32;
    }
}

/// Probabilities of which each holds or not.
pub(super) fn sigmoid(logits: &mut [f32]) {
    for logit in logits {
        // The exponential of what is negative never overflows.
        let small = (-logit.abs()).exp();
        *logit = if *logit < 0.0 { small } else { 1.0 } / (1.0 + small);
    }
}

/// The natural logarithm of the probability of one of some logits.
pub(super) fn log_softmax_of(logits: &[f32], one: usize) -> f64 {
    let largest = f64::from(logits.iter().copied().fold(f32::NEG_INFINITY, f32::max));
    let sum: f64 = logits.iter().map(|logit| (f64::from(*logit) - largest).exp()).sum();
    f64::from(logits[one]) - largest - sum.ln()
}

/// TagPlace of a token in a name, by its tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TagPlace {
    First,
    Within,
    Last,
    Only,
}

fn read(tag: &str) -> Option<(TagPlace, &str)> {
    let mut chars = tag.chars();
    let (first, mark) = (chars.next()?, chars.next());
    if let (Some('-' | '_'), kind) = (mark, chars.as_str())
        && !kind.is_empty()
    {
        match first {
            'B' => return Some((TagPlace::First, kind)),
            'I' | 'M' => return Some((TagPlace::Within, kind)),
            'E' | 'L' => return Some((TagPlace::Last, kind)),
            'S' | 'U' => return Some((TagPlace::Only, kind)),
            _ => {}
        }
    }
    // A number in place of a name names nothing; O is outside.
    let unnamed = tag.get(..6).is_some_and(|start| start.eq_ignore_ascii_case("label_"));
    (tag != "O" && !unnamed).then_some((TagPlace::Within, tag))
}

/// The kind of entity that a label stands for; none for tokens outside all entities.
pub(super) fn kind_of(label: &str) -> Option<&str> {
    read(label).map(|(_, kind)| kind)
}

/// The entities that the logits of a text's tokens name: a row of one number a label for each token, with the token's place and whether
/// it is inside a word that began before ([`inside_words`]).
pub(super) fn entities(logits: &[Vec<f32>], labels: &[String], offsets: &[Range<u32>], inside: &[bool]) -> Vec<Entity> {
    let mut found: Vec<Entity> = Vec::new();
    // Words of the last entity, while it may go on, and whether the word before belongs to it.
    let (mut open, mut named) = (None, false);
    for (token, (row, place)) in logits.iter().zip(offsets).enumerate() {
        let range = place.start as usize..place.end as usize;
        if token > 0 && inside[token] {
            if let Some(last) = found.last_mut().filter(|_| named) {
                last.range.end = last.range.end.max(range.end);
            }
            continue;
        }
        let mut row = row.clone();
        softmax(&mut row);
        let best = row.iter().enumerate().fold(0, |best, (label, p)| if *p > row[best] { label } else { best });
        let tag = labels.get(best).and_then(|label| read(label));
        named = tag.is_some();
        let Some((mark, kind)) = tag else {
            open = None;
            continue;
        };
        let goes_on = open
            .zip(found.last_mut())
            .filter(|(_, last)| matches!(mark, TagPlace::Within | TagPlace::Last) && last.label == kind);
        let words = match goes_on {
            Some((words, last)) => {
                last.range.end = last.range.end.max(range.end);
                last.score += (row[best] - last.score) / (words + 1) as f32;
                words + 1
            }
            None => {
                found.push(Entity { label: kind.to_owned(), range, score: row[best] });
                1
            }
        };
        open = matches!(mark, TagPlace::First | TagPlace::Within).then_some(words);
    }
    found
}

/// Which tokens go on with the word of the token before: letters and digits with nothing between. Chinese characters are words by
/// themselves.
pub(super) fn inside_words(text: &str, offsets: &[Range<u32>]) -> Vec<bool> {
    let of_word = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() && !('\u{2e80}'..='\u{9fff}').contains(&c));
    let inside = |token: usize| {
        let at = offsets[token].start as usize;
        token > 0
            && offsets[token - 1].end as usize == at
            && of_word(text[at..].chars().next())
            && of_word(text[..at].chars().next_back())
    };
    (0..offsets.len()).map(inside).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    /// Logits that make a label likely.
    fn tagged(tags: &[&str], labels: &[String], logit: f32) -> Vec<Vec<f32>> {
        let row = |tag: &&str| labels.iter().map(|label| if label == tag { logit } else { 0.0 }).collect();
        tags.iter().map(row).collect()
    }

    fn characters(text: &str) -> Vec<Range<u32>> {
        text.char_indices().map(|(at, c)| at as u32..(at + c.len_utf8()) as u32).collect()
    }

    fn spans<'t>(text: &'t str, tags: &[&str]) -> Vec<(String, &'t str)> {
        let mut labels = labels(tags);
        labels.sort();
        labels.dedup();
        let found = entities(&tagged(tags, &labels, 2.0), &labels, &characters(text), &vec![false; tags.len()]);
        found.into_iter().map(|entity| (entity.label.clone(), &text[entity.trimmed(text)])).collect()
    }

    fn pair<'t>(label: &str, part: &'t str) -> (String, &'t str) {
        (label.to_owned(), part)
    }

    #[test]
    fn probabilities_by_hand() {
        let mut logits = [1000.0, 1000.0 + 3f32.ln(), f32::NEG_INFINITY];
        softmax(&mut logits);
        assert!((logits[0] - 0.25).abs() < 1e-4 && (logits[1] - 0.75).abs() < 1e-4 && logits[2] == 0.0);
        let mut banned = [f32::NEG_INFINITY; 4];
        softmax(&mut banned);
        assert_eq!(banned, [0.25; 4]);
        let mut logits = [0.0, 3f32.ln(), -200.0, 200.0, -3f32.ln()];
        sigmoid(&mut logits);
        assert_eq!(logits[0], 0.5);
        assert!((logits[1] - 0.75).abs() < 1e-6 && (logits[4] - 0.25).abs() < 1e-6);
        assert_eq!((logits[2], logits[3]), ((-200f32).exp(), 1.0));
        assert!((log_softmax_of(&[0.0, 3f32.ln(), -90.0], 0) - 0.25f64.ln()).abs() < 1e-7);
    }

    #[test]
    fn tags_of_every_habit() {
        let text = "中芯国际涨";
        let full_name = vec![pair("ORG", "中芯国际")];
        assert_eq!(spans(text, &["B-ORG", "I-ORG", "I-ORG", "I-ORG", "O"]), full_name);
        assert_eq!(spans(text, &["I-ORG", "I-ORG", "I-ORG", "I-ORG", "O"]), full_name);
        assert_eq!(spans(text, &["B-ORG", "M-ORG", "M-ORG", "E-ORG", "O"]), full_name);
        assert_eq!(spans(text, &["B_ORG", "I_ORG", "I_ORG", "L_ORG", "O"]), full_name);
        assert_eq!(spans(text, &["ORG", "ORG", "ORG", "ORG", "O"]), full_name);
        let two = vec![pair("ORG", "中芯"), pair("ORG", "国际")];
        assert_eq!(spans(text, &["B-ORG", "I-ORG", "B-ORG", "I-ORG", "O"]), two);
        assert_eq!(spans(text, &["B-ORG", "E-ORG", "I-ORG", "E-ORG", "O"]), two);
        assert_eq!(
            spans(text, &["S-ORG", "I-ORG", "I-LOC", "O", "I-LOC"]),
            [pair("ORG", "中"), pair("ORG", "芯"), pair("LOC", "国"), pair("LOC", "涨")]
        );
        assert_eq!(spans(text, &["O"; 5]), []);
        assert_eq!(
            ["O", "B-ORG", "LABEL_3", "label_0", "ORG", "B-", "X-ray", "银行"].map(kind_of),
            [None, Some("ORG"), None, None, Some("ORG"), Some("B-"), Some("X-ray"), Some("银行")]
        );
    }

    #[test]
    fn a_score_is_the_mean_of_its_tags() {
        let labels = labels(&["O", "B-ORG", "I-ORG"]);
        let half = |at: usize| (0..3).map(|label| if label == at { 2f32.ln() } else { 0.0 }).collect::<Vec<f32>>();
        let sure = |at: usize| (0..3).map(|label| if label == at { 100.0 } else { 0.0 }).collect::<Vec<f32>>();
        let found = entities(&[half(1), sure(2), sure(2), half(0)], &labels, &characters("abcd"), &[false; 4]);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].range, 0..3);
        assert!((found[0].score - 2.5 / 3.0).abs() < 1e-6);
    }

    #[test]
    fn white_space_and_pieces_of_words() {
        let text = "买 Tesla 股";
        let offsets = [0..3, 3..6, 6..9, 9..13];
        let labels = labels(&["O", "B-ORG", "I-ORG"]);
        let inside = inside_words(text, &offsets);
        assert_eq!(inside, [false, false, true, false]);
        // The word is one name, whatever its further pieces say.
        for second in ["O", "I-ORG", "B-ORG"] {
            let full_name = entities(&tagged(&["O", "B-ORG", second, "O"], &labels, 3.0), &labels, &offsets, &inside);
            assert_eq!(full_name.iter().map(|entity| &text[entity.trimmed(text)]).collect::<Vec<_>>(), ["Tesla"]);
        }
        assert_eq!(entities(&tagged(&["O", "O", "B-ORG", "O"], &labels, 3.0), &labels, &offsets, &inside), []);
        assert_eq!(inside_words("中文 3 4", &[0..3, 3..6, 6..8, 8..10]), [false; 4]);
        assert_eq!(inside_words("Q3订单", &[0..1, 1..2, 2..5, 5..8]), [false, true, false, false]);
    }
}
