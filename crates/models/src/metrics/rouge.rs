//! ROUGE: how much of a reference a summary has, and how much of it is in the reference, by single tokens, pairs and the longest common
//! subsequence (Lin 2004), as the package rouge-score counts them.

use serde::{Deserialize, Serialize};

use super::bleu::common;

/// Shares of one kind, from 0 to 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Overlap {
    /// Share of the summary that is in the reference.
    pub precision: f64,
    /// Share of the reference that is in the summary.
    pub recall: f64,
    /// Harmonic mean of both; 0 where nothing is common.
    pub f1: f64,
}

/// The kinds of one summary, or their means over many.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Rouge {
    /// By single tokens.
    pub rouge1: Overlap,
    /// By pairs of neighbours.
    pub rouge2: Overlap,
    /// By the longest common subsequence.
    pub rouge_l: Overlap,
}

impl Overlap {
    fn new(common: u64, written: usize, reference: usize) -> Overlap {
        let precision = common as f64 / written.max(1) as f64;
        let recall = common as f64 / reference.max(1) as f64;
        let f1 = if common == 0 { 0.0 } else { 2.0 * precision * recall / (precision + recall) };
        Overlap { precision, recall, f1 }
    }

    fn add(&mut self, other: Overlap, share: f64) {
        self.precision += other.precision * share;
        self.recall += other.recall * share;
        self.f1 += other.f1 * share;
    }
}

/// ROUGE of one summary against its reference, as tokens.
pub fn rouge<T: AsRef<str>>(written: &[T], reference: &[T]) -> Rouge {
    let by = |order: usize| {
        let count = |tokens: &[T]| (tokens.len() + 1).saturating_sub(order);
        Overlap::new(common(written, reference, order), count(written), count(reference))
    };
    let longest = longest_common(written, reference);
    Rouge { rouge1: by(1), rouge2: by(2), rouge_l: Overlap::new(longest, written.len(), reference.len()) }
}

/// The mean over summaries, each kind and share by itself; 0 of none.
pub fn mean_rouge(all: &[Rouge]) -> Rouge {
    let mut mean = Rouge::default();
    let share = 1.0 / all.len().max(1) as f64;
    for one in all {
        mean.rouge1.add(one.rouge1, share);
        mean.rouge2.add(one.rouge2, share);
        mean.rouge_l.add(one.rouge_l, share);
    }
    mean
}

/// Length of the longest sequence that both have in order, with anything between.
fn longest_common<T: AsRef<str>>(written: &[T], reference: &[T]) -> u64 {
    let mut row = vec![0u64; reference.len() + 1];
    for token in written {
        let mut diagonal = 0;
        for (at, other) in reference.iter().enumerate() {
            let above = row[at + 1];
            row[at + 1] = if token.as_ref() == other.as_ref() { diagonal + 1 } else { above.max(row[at]) };
            diagonal = above;
        }
    }
    row[reference.len()]
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::super::bleu::character_tokens;
    use super::*;

    #[test]
    fn shares_are_rouge_scores() {
        let reference: Value =
            serde_json::from_str(include_str!("../../../../tests/reference/onnx/metrics.json")).unwrap();
        let all = reference["pairs"].as_array().unwrap().iter().zip(reference["rouge"].as_array().unwrap());
        for (pair, wanted) in all {
            let cut = |side: usize| character_tokens(pair[side].as_str().unwrap());
            let found = rouge(&cut(0), &cut(1));
            for (found, kind) in [(found.rouge1, "rouge1"), (found.rouge2, "rouge2"), (found.rouge_l, "rougeL")] {
                let shares = [(found.precision, "precision"), (found.recall, "recall"), (found.f1, "f")];
                for (share, name) in shares {
                    let wanted = wanted[kind][name].as_f64().unwrap();
                    assert!((share - wanted).abs() < 1e-12, "{kind} {name}: {share} is not {wanted}");
                }
            }
        }
    }

    #[test]
    fn by_hand() {
        let tokens = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
        let found = rouge(&tokens("a b c d"), &tokens("a c x d b"));
        assert_eq!((found.rouge1.precision, found.rouge1.recall), (1.0, 0.8));
        assert_eq!(found.rouge2, Overlap::default());
        // a c d is the longest that both have in order.
        assert_eq!((found.rouge_l.precision, found.rouge_l.recall), (0.75, 0.6));
        assert_eq!(rouge::<String>(&[], &[]), Rouge::default());
        let mean = mean_rouge(&[found, Rouge::default()]);
        assert_eq!((mean.rouge1.recall, mean.rouge_l.precision), (0.4, 0.375));
        assert_eq!(mean_rouge(&[]), Rouge::default());
    }
}
