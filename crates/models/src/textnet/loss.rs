//! The loss of texts by their scores: the cross-entropy of one softmax over classes, or the sum over labels of that of each sigmoid.
//! Natural logarithms; scores are few, and computed with in f64.

use super::NetOutputs;
use crate::linear::log_sum_exp;
use crate::neural::entropy::softplus;
use crate::neural::kernel::Real;

/// The probability of each class or label of a text.
pub(super) fn probabilities<T: Real>(outputs: NetOutputs, scores: &[T]) -> Vec<f64> {
    let scores: Vec<f64> = scores.iter().map(|score| score.to_f64()).collect();
    match outputs {
        NetOutputs::Classes => {
            let sum = log_sum_exp(scores.iter().copied());
            scores.into_iter().map(|score| (score - sum).exp()).collect()
        }
        NetOutputs::Labels => scores.into_iter().map(|score| (-softplus(-score)).exp()).collect(),
    }
}

/// The loss of a text; `right` are the number of its class, or those of its labels. The gradient by its scores goes to `by_scores`.
pub(super) fn loss<T: Real>(outputs: NetOutputs, scores: &[T], right: &[u32], by_scores: &mut [T]) -> f64 {
    let p = probabilities(outputs, scores);
    for (number, (to, p)) in (0..).zip(by_scores.iter_mut().zip(p)) {
        *to = T::from_f64(if right.contains(&number) { p - 1.0 } else { p });
    }
    let score = |&number: &u32| scores[number as usize].to_f64();
    let all = scores.iter().map(|score| score.to_f64());
    let expected = match outputs {
        NetOutputs::Classes => log_sum_exp(all),
        NetOutputs::Labels => all.map(softplus).sum(),
    };
    expected - right.iter().map(score).sum::<f64>()
}
