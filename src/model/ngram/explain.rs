//! Why a document has its probability: each token's n-gram and the contexts that were backed off from.

use super::lm::LanguageModel;
use super::words::{END, MARKS, UNKNOWN};
use crate::model::{Explanation, Part};

/// Names of the weights of contexts by their order.
const WEIGHTS: [&str; 7] = ["backoff_0", "backoff_1", "backoff_2", "backoff_3", "backoff_4", "backoff_5", "backoff_6"];

impl LanguageModel {
    /// Takes the log10 probability of a document apart, token by token, `</s>` last.
    pub fn explain(&self, tokens: &[&str]) -> Explanation {
        let view = self.view();
        let mut state = view.begin();
        let mut score = 0.0;
        let ids = tokens.iter().map(|token| view.vocabulary.id(token.as_bytes()));
        let words = tokens.iter().copied().chain([MARKS[END as usize]]).zip(ids.chain([END]));
        let mut part = |(token, id): (&str, u32)| {
            let mut detail = Vec::new();
            let step = view.index.step_by(state, id, |context, weight| {
                detail.push((WEIGHTS[(context.order as usize).min(WEIGHTS.len() - 1)], f64::from(weight)));
            });
            detail.insert(0, ("log10_ngram", f64::from(step.own_log10)));
            detail.insert(0, ("order", f64::from(step.order)));
            detail.push(("oov", f64::from(u32::from(id == UNKNOWN))));
            state = step.state;
            score += f64::from(step.log10);
            Part { token: token.to_owned(), value: f64::from(step.log10), detail }
        };
        let terms = words.map(&mut part).collect();
        Explanation {
            formula: "log10 p(document) = sum over tokens and </s> of log10_ngram of the longest known n-gram that ends in the \
                      token (of `order` words) + backoff_n of each longer known context, of n words, that it does not follow"
                .to_owned(),
            score,
            terms,
            ..Explanation::default()
        }
    }
}
