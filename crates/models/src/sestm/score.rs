//! The tone of one text: the maximum of its penalised likelihood.

/// The tone of a text.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SestmScore {
    /// The estimate, between 0 and 1; 1/2 for a text without screened words.
    pub p: f64,
    /// Screened words in the text, repeats included. 0 marks a text without a screened word.
    pub words: f64,
}

impl SestmScore {
    /// The score: `p - 1/2`.
    pub fn score(self) -> f64 {
        self.p - 0.5
    }
}

/// Exactness of the solution.
const PRECISION: f64 = 1e-11;

/// Solves for `p`; `terms` are weight (`d_j / s`), `O+_j` and `O-_j` of the screened words of the text.
///
/// The derivative `sum_j w_j (O+_j - O-_j) / (p O+_j + (1 - p) O-_j) + lambda (1 / p - 1 / (1 - p))` falls from infinity to minus
/// infinity, so its one zero is bracketed from the start; a Newton step that would leave the bracket is replaced by halving it.
pub(super) fn solve(terms: &[(f64, f64, f64)], lambda: f64) -> f64 {
    let (mut low, mut high, mut p) = (0.0, 1.0, 0.5);
    // Halving alone needs some 40 steps.
    for _ in 0..200 {
        let (mut slope, mut bend) =
            (lambda * (1.0 / p - 1.0 / (1.0 - p)), -lambda * (1.0 / (p * p) + 1.0 / ((1.0 - p) * (1.0 - p))));
        for &(weight, positive, negative) in terms {
            let pull = (positive - negative) / (p * positive + (1.0 - p) * negative);
            slope += weight * pull;
            bend -= weight * pull * pull;
        }
        if slope == 0.0 {
            return p;
        }
        if slope > 0.0 {
            low = p;
        } else {
            high = p;
        }
        let newton = p - slope / bend;
        let next = if low < newton && newton < high { newton } else { 0.5 * (low + high) };
        // A Newton step from within the bracket converges quadratically: what is left is far below the step itself.
        if (next - p).abs() < PRECISION || high - low < PRECISION {
            return next;
        }
        p = next;
    }
    p
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn closed_forms() {
        // One word that only the positive topic has: log p + lambda log(p (1 - p)) is greatest at (1 + lambda) / (1 + 2 lambda).
        for lambda in [0.1, 1.0, 10.0] {
            let p = solve(&[(1.0, 0.4, 0.0)], lambda);
            assert!((p - (1.0 + lambda) / (1.0 + 2.0 * lambda)).abs() < 1e-10, "{lambda}: {p}");
            let p = solve(&[(1.0, 0.0, 0.4)], lambda);
            assert!((p - lambda / (1.0 + 2.0 * lambda)).abs() < 1e-10, "{lambda}: {p}");
            // Three words of four on one side: (3/4 + lambda) / (1 + 2 lambda).
            let p = solve(&[(0.75, 0.2, 0.0), (0.25, 0.0, 0.9)], lambda);
            assert!((p - (0.75 + lambda) / (1.0 + 2.0 * lambda)).abs() < 1e-10, "{lambda}: {p}");
        }
        assert_eq!(solve(&[(1.0, 0.3, 0.3)], 1.0), 0.5);
        assert_eq!(solve(&[], 1.0), 0.5);
    }

    proptest! {
        #[test]
        fn the_solution_is_the_maximum(
            words in prop::collection::vec((1u32..20, 0u32..50, 0u32..50), 1..30), lambda in 1e-3f64..20.0
        ) {
            let words: Vec<_> = words.into_iter().filter(|w| w.1 + w.2 > 0).collect();
            let sum: f64 = words.iter().map(|w| f64::from(w.0)).sum();
            let terms: Vec<(f64, f64, f64)> =
                words.iter().map(|w| (f64::from(w.0) / sum, f64::from(w.1) / 1e3, f64::from(w.2) / 1e3)).collect();
            let p = solve(&terms, lambda);
            prop_assert!(0.0 < p && p < 1.0);
            let slope = |p: f64| terms.iter().map(|t| t.0 * (t.1 - t.2) / (p * t.1 + (1.0 - p) * t.2)).sum::<f64>()
                + lambda * (1.0 / p - 1.0 / (1.0 - p));
            prop_assert!(slope(p - 1e-10) > 0.0 && slope(p + 1e-10) < 0.0, "{p}: {}", slope(p));
        }
    }
}
