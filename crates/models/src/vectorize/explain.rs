//! Explanations of the weights of a row.

use std::fmt;

use super::{Analyzer, Fields, Formula, Norm, Vectorizer};
use crate::{Explanation, Part};
use inkstone_base::language::{Message, Word};
use inkstone_base::message;

impl Vectorizer {
    /// The weight of each column in a document, in column order, with the numbers behind it. The score is the sum of the
    /// weights.
    pub fn explain(&self, analyzer: &Analyzer, fields: Fields<'_>) -> Explanation {
        let (counts, length) = self.count(analyzer, fields);
        let length = f64::from(length);
        let by = self.weighting.divisor(&counts, length);
        let part = |&(j, count): &(u32, f32)| {
            let value = self.weighting.weight(j, count, length) / by;
            let mut detail = vec![("count", f64::from(count))];
            if let Some(&df) = self.vocabulary.df.get(j as usize) {
                detail.push(("df", df as f64));
            }
            if self.params.has_idf() {
                detail.push(("idf", self.idf(j)));
            }
            if matches!(self.params.formula, Formula::Textbook | Formula::Bm25) {
                detail.push(("length", length));
            }
            if !matches!(self.weighting.norm, Norm::Formula | Norm::None) {
                detail.push(("norm", by));
            }
            Part { token: self.name(j), value, detail }
        };
        let terms: Vec<Part> = counts.iter().map(part).collect();
        let score = terms.iter().map(|part| part.value).sum();
        Explanation {
            formula: message!("各词 {0} 之和", "sum of {0}", self.formula()),
            score,
            terms,
            ..Explanation::default()
        }
    }

    /// The weight of a term, in the names of the details.
    pub fn formula(&self) -> Message {
        let n = self.documents;
        let tf = if self.params.sublinear_tf { "(1 + ln count)" } else { "count" };
        let weight = match self.params.formula {
            Formula::Sklearn if self.params.smooth_idf => {
                format!("{tf} x idf, idf = ln((1 + {n}) / (1 + df)) + 1")
            }
            Formula::Sklearn => format!("{tf} x idf, idf = ln({n} / df) + 1"),
            Formula::Textbook => format!("{tf} / length x idf, idf = ln({n} / (df + 1))"),
            Formula::Bm25 => format!(
                "idf x count x {} / (count + {} x (1 - {b} + {b} x length / {:.2})), idf = ln(1 + ({n} - df + 0.5) / \
                 (df + 0.5))",
                self.params.k1 + 1.0,
                self.params.k1,
                self.weighting.mean_length,
                b = self.params.b
            ),
            Formula::LogCount => "ln(1 + count)".to_owned(),
            Formula::Count => "count".to_owned(),
            Formula::Binary => return self.with_norm(Word("出现的词为 1", "1 for each term that occurs")),
        };
        self.with_norm(weight)
    }

    fn with_norm(&self, weight: impl fmt::Display) -> Message {
        let norm = match self.weighting.norm {
            Norm::L2 => Word("，再除以 norm = 平方和的平方根", ", over norm = the root of the sum of their squares"),
            Norm::L1 => Word("，再除以 norm = 绝对值之和", ", over norm = the sum of their absolute values"),
            Norm::Formula | Norm::None => Word("", ""),
        };
        message!("{weight}{norm}", "{weight}{norm}")
    }

    /// The name of a column; `#` and its number where terms are hashed.
    pub fn name(&self, column: u32) -> String {
        self.vocabulary.names.get(column as usize).map_or_else(|| format!("#{column}"), ToString::to_string)
    }
}
