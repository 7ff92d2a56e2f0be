//! p values corrected for the rate of false discoveries.
//!
//! Benjamini and Hochberg (1995) for tests that are independent or depend positively, Benjamini and Yekutieli (2001) for tests that depend in
//! any way. A q value is the smallest rate of false discoveries at which the test still counts as one.

/// q values after Benjamini and Hochberg, in the order of the p values, none of which is NaN.
pub(crate) fn benjamini_hochberg(p: &[f64]) -> Vec<f64> {
    step_up(p, 1.0)
}

/// q values after Benjamini and Yekutieli: those of Benjamini and Hochberg times 1 + 1/2 + ... + 1/n.
pub(crate) fn benjamini_yekutieli(p: &[f64]) -> Vec<f64> {
    step_up(p, (1..=p.len()).map(|i| 1.0 / i as f64).sum())
}

/// The smallest p * n / rank among those of this rank and above, times a factor, at most 1.
fn step_up(p: &[f64], factor: f64) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p.len()).collect();
    order.sort_by(|&a, &b| p[a].total_cmp(&p[b]));
    let mut q = vec![1.0; p.len()];
    let mut least = 1.0f64;
    for (rank, &i) in order.iter().enumerate().rev() {
        least = least.min(p[i] * p.len() as f64 / (rank + 1) as f64 * factor);
        q[i] = least;
    }
    q
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ledger::reference::{close, reference};

    #[test]
    fn q_values_are_as_by_hand() {
        // Sorted: 0.01 * 4 = 0.04, 0.02 * 2 = 0.04, 0.04 * 4 / 3 = 0.0533, 0.9.
        let q = benjamini_hochberg(&[0.9, 0.01, 0.04, 0.02]);
        for (q, expected) in q.iter().zip([0.9, 0.04, 0.16 / 3.0, 0.04]) {
            close(*q, expected);
        }
        assert_eq!(benjamini_hochberg(&[0.03]), [0.03]);
        assert_eq!(benjamini_hochberg(&[]), [0.0; 0]);
        // Times 1 + 1/2 + 1/3 + 1/4 = 25/12, and no more than 1.
        let q = benjamini_yekutieli(&[0.9, 0.01, 0.04, 0.02]);
        assert_eq!(q[0], 1.0);
        close(q[1], 0.04 * 25.0 / 12.0);
    }

    #[test]
    fn q_values_equal_those_of_statsmodels() {
        let reference = reference();
        let all = [
            (benjamini_hochberg(&reference.p), &reference.fdr_bh),
            (benjamini_yekutieli(&reference.p), &reference.fdr_by),
        ];
        for (found, expected) in all {
            assert_eq!(found.len(), expected.len());
            found.iter().zip(expected).for_each(|(q, expected)| close(*q, *expected));
        }
    }
}
