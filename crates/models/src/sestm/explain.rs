//! The words that drew a text to its score.

use super::Sestm;
use crate::sparse::Row;
use crate::{Explanation, Part};
use inkstone_base::language::Word;

/// At the maximum the pulls of the words balance that of the penalty: with `pull_j = d_j / s (O+_j - O-_j) / (p O+_j + (1 - p) O-_j)`,
/// `sum_j pull_j = lambda (2 p - 1) / (p (1 - p))`. So `p - 1/2` is the sum of `pull_j p (1 - p) / (2 lambda)`, exactly.
const FORMULA: Word = Word(
    "p - 1/2 = 各词 pull x p (1 - p) / (2 lambda) 之和，pull = count / words x (O+ - O-) / (p O+ + (1 - p) O-)；p 使 各词 count / words x log(p O+ + (1 - p) O-) 之和 + lambda log(p (1 - p)) 最大",
    "p - 1/2 = sum of pull x p (1 - p) / (2 lambda), pull = count / words x (O+ - O-) / (p O+ + (1 - p) O-); p = argmax \
                       of sum count / words x log(p O+ + (1 - p) O-) + lambda log(p (1 - p))",
);

impl Sestm {
    /// The contribution of each screened word of a document to its score, the largest first.
    pub fn explain<T: AsRef<str>>(&self, terms: &[T]) -> Explanation {
        let (columns, counts) = self.counts(terms);
        let (row, topics) = (Row { indices: &columns, values: &counts }, self.topics());
        let score = topics.score(row);
        let p = score.p;
        let part = |(j, count): (usize, f64)| {
            let (positive, negative) = (topics.positive[j], topics.negative[j]);
            let pull = count / score.words * (positive - negative) / (p * positive + (1.0 - p) * negative);
            Part {
                token: self.word(j).to_owned(),
                value: pull * p * (1.0 - p) / (2.0 * topics.lambda),
                detail: vec![
                    ("count", count),
                    ("words", score.words),
                    ("O+", positive),
                    ("O-", negative),
                    ("pull", pull),
                    ("f", topics.share[j]),
                    ("documents", f64::from(topics.documents[j])),
                    ("p", p),
                    ("lambda", topics.lambda),
                ],
            }
        };
        let terms = topics.found(row).into_iter().map(part).collect();
        let explanation =
            Explanation { formula: FORMULA.into(), score: score.score(), terms, ..Explanation::default() };
        explanation.largest_first()
    }
}
