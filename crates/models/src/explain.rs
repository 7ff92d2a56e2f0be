//! Why a document has its score: the formula, and what each token gave.
//!
//! `score = intercept + sum of the parts' values + rest`, as far as the formula is a sum; a formula that is not says so.

use inkstone_base::language::{Message, in_language};
use serde::{Serialize, Serializer};

/// A score taken apart.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Explanation {
    /// The class or component that is explained, where a model has several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub of: Option<String>,
    /// The formula of the score, in the names of the parts' details.
    #[serde(serialize_with = "in_language")]
    pub formula: Message,
    pub score: f64,
    /// The score of an empty document.
    pub intercept: f64,
    /// The tokens and what each gave: in the order of the text where order matters, else the largest first.
    pub terms: Vec<Part>,
    /// Sum of the parts that [`Explanation::keep`] left out.
    pub rest: f64,
    /// Number of parts left out.
    pub rest_terms: usize,
}

/// The contribution of one token.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Part {
    /// The token, n-gram or word.
    pub token: String,
    /// Contribution to the score.
    pub value: f64,
    /// The numbers that its part was computed from, under the names of the formula.
    #[serde(serialize_with = "as_map")]
    pub detail: Vec<(&'static str, f64)>,
}

impl Explanation {
    /// Puts the largest parts first, by absolute value; equal ones keep their order.
    pub fn largest_first(mut self) -> Explanation {
        self.terms.sort_by(|a, b| b.value.abs().total_cmp(&a.value.abs()));
        self
    }

    /// Keeps the `n` largest parts in their order and sums up the rest; 0 keeps all.
    pub fn keep(mut self, n: usize) -> Explanation {
        if n == 0 || self.terms.len() <= n {
            return self;
        }
        let mut order: Vec<usize> = (0..self.terms.len()).collect();
        order.sort_by(|&a, &b| self.terms[b].value.abs().total_cmp(&self.terms[a].value.abs()));
        let mut kept = vec![false; self.terms.len()];
        order[..n].iter().for_each(|&i| kept[i] = true);
        let mut kept = kept.into_iter();
        self.terms.retain(|part| {
            let keep = kept.next().unwrap_or(true);
            if !keep {
                self.rest += part.value;
                self.rest_terms += 1;
            }
            keep
        });
        self
    }
}

fn as_map<S: Serializer>(detail: &[(&'static str, f64)], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(detail.iter().copied())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn explanation() -> Explanation {
        let part = |(token, value): (&str, f64)| Part { token: token.to_owned(), value, detail: vec![("tf", 1.0)] };
        let terms: Vec<Part> = [("增长", 0.5), ("的", 0.1), ("下滑", -0.75), ("了", 0.1)].map(part).into();
        Explanation { formula: Message::same("sum"), score: -0.05, terms, ..Explanation::default() }
    }

    #[test]
    fn what_is_left_out_is_summed_and_the_order_of_the_rest_stays() {
        let kept = explanation().keep(2);
        assert_eq!(kept.terms.iter().map(|part| part.token.as_str()).collect::<Vec<_>>(), ["增长", "下滑"]);
        assert_eq!((kept.rest, kept.rest_terms), (0.2, 2));
        assert_eq!(explanation().keep(0), explanation());
        let sorted = explanation().largest_first();
        assert_eq!(
            sorted.terms.iter().map(|part| part.token.as_str()).collect::<Vec<_>>(),
            ["下滑", "增长", "的", "了"]
        );
    }

    #[test]
    fn details_are_an_object_in_their_order() {
        let json = serde_json::to_string(&explanation().terms[0]).unwrap();
        assert_eq!(json, r#"{"token":"增长","value":0.5,"detail":{"tf":1.0}}"#);
    }
}
