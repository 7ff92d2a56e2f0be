//! Tokens drawn by their probabilities, as transformers' `TemperatureLogitsWarper`, `TopKLogitsWarper` and `TopPLogitsWarper` leave them.

use serde::{Deserialize, Serialize};

/// How texts are drawn.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Drawing {
    /// Texts drawn after each prompt. Default 1.
    pub texts: usize,
    /// Divides the logits: below 1 likely tokens become likelier. Default 1.
    pub temperature: f32,
    /// Only so many of the likeliest tokens can be drawn; 0 allows all. Default 0.
    pub top_k: usize,
    /// Only the likeliest tokens can be drawn whose probabilities together are at least this (Holtzman et al. 2020). Default 1.
    pub top_p: f32,
}

impl Default for Drawing {
    fn default() -> Drawing {
        Drawing { texts: 1, temperature: 1.0, top_k: 0, top_p: 1.0 }
    }
}

/// Gives the next number in [0, 1) of the draws of a text: the number of the prompt, and of the text after it.
pub(crate) type Uniforms<'a> = &'a mut dyn FnMut(usize, usize) -> f64;

impl Drawing {
    /// The token at the place `uniform` of the cumulated probabilities; none where all are impossible.
    pub(super) fn draw(&self, logits: &[f32], uniform: f64) -> Option<usize> {
        let mut order: Vec<usize> = logits
            .iter()
            .enumerate()
            .filter(|(_, logit)| **logit > f32::NEG_INFINITY)
            .map(|(token, _)| token)
            .collect();
        let value = |token: usize| logits[token] / self.temperature;
        if self.top_k > 0 && self.top_k < order.len() {
            let mut values: Vec<f32> = order.iter().map(|token| value(*token)).collect();
            let (_, least, _) = values.select_nth_unstable_by(self.top_k - 1, |a, b| b.total_cmp(a));
            let least = *least;
            order.retain(|token| value(*token) >= least);
        }
        let largest = order.iter().map(|token| value(*token)).fold(f32::NEG_INFINITY, f32::max);
        let weight = |token: usize| f64::from(value(token) - largest).exp();
        if self.top_p < 1.0 {
            // From the least likely on, tokens are left out while their probabilities are at most the rest.
            order.sort_by(|a, b| value(*a).total_cmp(&value(*b)));
            let all: f64 = order.iter().map(|token| weight(*token)).sum();
            let mut sum = 0.0;
            let out = order.iter().take_while(|token| {
                sum += weight(**token) / all;
                sum <= 1.0 - f64::from(self.top_p)
            });
            let out = out.count().min(order.len().saturating_sub(1));
            order.drain(..out);
            order.sort_unstable();
        }
        let all: f64 = order.iter().map(|token| weight(*token)).sum();
        let mut sum = 0.0;
        let drawn = order.iter().find(|token| {
            sum += weight(**token);
            sum > uniform * all
        });
        drawn.or(order.last()).copied()
    }
}
