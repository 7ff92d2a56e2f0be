//! Where the weights of a row come from.

use super::{Formula, Norm, Tfidf};
use crate::model::{Explanation, Part};

impl Tfidf {
    /// The weight of each word of the vocabulary in a document, in column order, with the numbers behind it. The score is
    /// the sum of the weights.
    pub fn explain(&self, tokens: &[&str]) -> Explanation {
        let mut ids: Vec<u32> = tokens.iter().filter_map(|word| self.column(word)).collect();
        ids.sort_unstable();
        let mut weights: Vec<(u32, f32)> = ids.chunk_by(|a, b| a == b).map(|run| (run[0], run.len() as f32)).collect();
        let counts = weights.clone();
        self.weighting.apply(&mut weights, tokens.len() as f64);
        let part = |(&(j, value), &(_, count)): (&(u32, f32), &(u32, f32))| {
            let (count, value) = (f64::from(count), f64::from(value));
            let df = self.df[j as usize] as f64;
            let idf = self.weighting.idf[j as usize];
            let detail = vec![("count", count), ("df", df), ("idf", idf), ("tokens", tokens.len() as f64)];
            Part { token: self.words[j as usize].to_string(), value, detail }
        };
        let terms: Vec<Part> = weights.iter().zip(&counts).map(part).collect();
        let tf = if self.weighting.sublinear_tf { "(1 + ln count)" } else { "count" };
        let weight = match self.weighting.formula {
            Formula::Sklearn => format!("{tf} x idf, idf = ln((1 + {n}) / (1 + df)) + 1", n = self.documents),
            Formula::Textbook => format!("{tf} / tokens x idf, idf = ln({n} / (df + 1))", n = self.documents),
            Formula::LogCount => "ln(1 + count)".to_owned(),
        };
        let norm = match self.weighting.norm {
            Norm::L2 => ", each divided by the root of the sum of their squares",
            Norm::L1 => ", each divided by the sum of their absolute values",
            Norm::Formula | Norm::None => "",
        };
        let score = terms.iter().map(|part| part.value).sum();
        Explanation { formula: format!("sum of {weight}{norm}"), score, terms, ..Explanation::default() }
    }
}

#[cfg(test)]
mod tests {
    use crate::model::{Tfidf, TfidfParams};
    use crate::text::{Counter, DfLimit};

    #[test]
    fn the_parts_are_the_row() {
        let mut counter = Counter::default();
        for doc in [["增长", "回购"], ["增长", "减持"]] {
            counter.add(doc, None);
        }
        let params = TfidfParams { min_df: DfLimit::Count(1), ..TfidfParams::default() };
        let model = Tfidf::fit(&counter, &params).unwrap();
        let tokens = ["增长", "回购", "回购", "未见"];
        let explained = model.explain(&tokens);
        let row: Vec<f64> = model.transform(&tokens).into_iter().map(|(_, value)| f64::from(value)).collect();
        assert_eq!(explained.terms.iter().map(|part| part.value).collect::<Vec<_>>(), row);
        assert_eq!(explained.score, row.iter().sum::<f64>());
        let repurchase = explained.terms.iter().find(|part| part.token == "回购").unwrap();
        let idf = (3.0f64 / 2.0).ln() + 1.0;
        assert_eq!(repurchase.detail, [("count", 2.0), ("df", 1.0), ("idf", idf), ("tokens", 4.0)]);
    }
}
