//! Answers to a question: the span of a text whose beginning and end a head finds likeliest.
//!
//! A span is scored by the sum of the logits of its first and last token, and the best one over all windows is the answer, as in the
//! script that transformers has for SQuAD. Its probability is that of the library's question-answering pipeline: the softmax of the
//! beginnings times that of the ends, over the tokens of the text and the classification token, within the window. An answer is made of
//! whole words. The null score is that of the classification token, the least over the windows: it says that the text has no answer.

use std::ops::Range;

use super::amounts::amount;

/// Columns of an answer: probability, null score less that of the answer, the number in it, and the sum of its logits.
pub(crate) const COLUMNS: [&str; 4] = ["score", "null", "number", "logit"];

/// An answer in a text.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    /// Bytes of the text.
    pub range: Range<usize>,
    /// Probability within its window.
    pub score: f32,
    /// Sum of the logits of its first and last token.
    pub logit: f32,
    /// Score of no answer less that of the answer; above a threshold the text has no answer.
    pub null: f32,
    /// The number in the answer, in units: 3.2亿 is 320000000, 35% is 0.35; none where there is none.
    pub number: Option<f64>,
}

impl Answer {
    /// The row of the answer, in the order of [`COLUMNS`].
    pub(crate) fn row(&self, threshold: Option<f64>) -> [f32; 4] {
        let number = self.number.filter(|_| self.holds(threshold)).map_or(f32::NAN, |number| number as f32);
        [self.score, self.null, number, self.logit]
    }

    /// True unless the score of no answer is higher by more than a threshold.
    pub(crate) fn holds(&self, threshold: Option<f64>) -> bool {
        threshold.is_none_or(|threshold| f64::from(self.null) <= threshold)
    }

    /// The better of two answers of windows of one text, with the lesser null score.
    pub(crate) fn better(self, other: Answer) -> Answer {
        let null = (self.null + self.logit).min(other.null + other.logit);
        let best = if other.logit > self.logit { other } else { self };
        Answer { null: null - best.logit, ..best }
    }
}

/// Tokens of a window: logits of beginnings and ends, and where they are.
pub(crate) struct AnswerLogits<'a> {
    pub starts: &'a [f32],
    pub ends: &'a [f32],
    /// Tokens of the document among them.
    pub document: Range<usize>,
    /// The classification token.
    pub class: usize,
    /// Bytes of each token of the document.
    pub offsets: &'a [Range<u32>],
    /// Which of these go on with the word before.
    pub inside: &'a [bool],
}

/// The best answer of a window, of at most `longest` tokens; none in a window without a token of the document.
pub(crate) fn best_span(logits: &AnswerLogits<'_>, longest: usize, text: &str) -> Option<Answer> {
    let AnswerLogits { starts, ends, document, class, offsets, inside } = logits;
    let mut best: Option<(usize, usize, f32)> = None;
    for first in document.clone() {
        for last in first..document.end.min(first + longest.max(1)) {
            let score = starts[first] + ends[last];
            if best.is_none_or(|(.., most)| score > most) {
                best = Some((first, last, score));
            }
        }
    }
    let (mut first, mut last, logit) = best?;
    let places = || document.clone().chain((!document.contains(class)).then_some(*class));
    let log_sum = |logits: &[f32]| {
        let most = places().map(|place| logits[place]).fold(f32::NEG_INFINITY, f32::max);
        f64::from(most) + places().map(|place| f64::from(logits[place] - most).exp()).sum::<f64>().ln()
    };
    let score = (f64::from(logit) - log_sum(starts) - log_sum(ends)).exp() as f32;
    let null = starts[*class] + ends[*class];
    (first, last) = (first - document.start, last - document.start);
    while first > 0 && inside[first] {
        first -= 1;
    }
    while last + 1 < offsets.len() && inside[last + 1] {
        last += 1;
    }
    let (start, end) = (offsets[first].start as usize, offsets[last].end.max(offsets[first].start) as usize);
    let part = &text[start..end];
    let start = start + part.len() - part.trim_start().len();
    let range = start..start + part.trim().len();
    Some(Answer { score, logit, null: null - logit, number: amount(&text[range.clone()]), range })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(logit: f32, null_score: f32) -> Answer {
        Answer { range: 0..3, score: 0.5, logit, null: null_score - logit, number: Some(2.0) }
    }

    #[test]
    fn the_best_span_is_that_by_hand() {
        // [CLS] 涨 了 35 % [SEP]: the end before the beginning, and spans that are too long, do not count.
        let text = "涨了35%";
        let (starts, ends) = ([0.5, 0.0, 1.0, 3.0, -1.0, 9.0], [0.25, 4.0, 0.0, 1.0, 2.0, 9.0]);
        let offsets = [0..3, 3..6, 6..8, 8..9];
        let logits = AnswerLogits {
            starts: &starts,
            ends: &ends,
            document: 1..5,
            class: 0,
            offsets: &offsets,
            inside: &[false; 4],
        };
        let found = best_span(&logits, 30, text).unwrap();
        assert_eq!((&text[found.range.clone()], found.logit, found.null), ("35%", 5.0, 0.75 - 5.0));
        assert_eq!(found.number, Some(0.35));
        let sum = |logits: &[f32]| logits[..5].iter().map(|logit| f64::from(*logit).exp()).sum::<f64>();
        let by_hand = 3f64.exp() / sum(&starts) * 2f64.exp() / sum(&ends);
        assert!((f64::from(found.score) - by_hand).abs() < 1e-7);
        let short = best_span(&logits, 1, text).unwrap();
        assert_eq!(&text[short.range], "涨");
        let joined = AnswerLogits { inside: &[false, false, false, true], ..logits };
        let short = best_span(&joined, 1, text).unwrap();
        assert_eq!(&text[short.range], "涨");
    }

    #[test]
    fn windows_compete_by_their_logits() {
        let best = answer(3.0, 1.0).better(answer(5.0, 2.0)).better(answer(4.0, 7.0));
        assert_eq!((best.logit, best.null), (5.0, -4.0));
        assert!(best.holds(None) && best.holds(Some(-4.0)) && !best.holds(Some(-4.5)));
        assert_eq!(best.row(Some(0.0))[2], 2.0);
        assert!(best.row(Some(-5.0))[2].is_nan());
    }
}
