//! The discounts of modified Kneser-Ney: D1, D2 and D3+ for n-grams with (adjusted) counts of 1, 2, and 3 or more.
//!
//! Closed form of Chen and Goodman (1998), equation 26, with n_k the number of n-grams with count k:
//! Y = n1 / (n1 + 2 n2), D_k = k - (k + 1) Y n_(k+1) / n_k. It has no value where n1, n2 or n3 is 0, and cannot be used where a
//! D_k is outside 0..=k; character text and tiny corpora do that. The fixed discounts that KenLM's `--discount_fallback` names stand in then.

use serde::{Deserialize, Serialize};

/// Taken for a length of n-grams where the closed form fails: KenLM's own `--discount_fallback`.
pub(crate) const FALLBACK: [f64; 3] = [0.5, 1.0, 1.5];

/// The discounts of one length of n-grams.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Discounts {
    /// D1, D2, D3+.
    pub by_count: [f64; 3],
    /// True if they are [`FALLBACK`], since the closed form failed.
    pub fallback: bool,
}

impl Discounts {
    /// The discounts for counts like these.
    pub(super) fn new(counts: &[u32]) -> Discounts {
        let mut with = [0u64; 5];
        counts.iter().filter(|&&count| count < 5).for_each(|&count| with[count as usize] += 1);
        let n = with.map(|n| n as f64);
        let y = n[1] / (n[1] + 2.0 * n[2]);
        let by_count = [1, 2, 3].map(|k| k as f64 - (k + 1) as f64 * y * n[k + 1] / n[k]);
        let usable = (1..).zip(by_count).all(|(k, d)| with[k] > 0 && (0.0..=k as f64).contains(&d));
        if usable { Discounts { by_count, fallback: false } } else { Discounts { by_count: FALLBACK, fallback: true } }
    }

    /// The discount of a count.
    pub(super) fn from(self, count: u32) -> f64 {
        match count {
            0 => 0.0,
            1..3 => self.by_count[count as usize - 1],
            _ => self.by_count[2],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(with: [usize; 4]) -> Vec<u32> {
        (1..).zip(with).flat_map(|(count, n)| std::iter::repeat_n(count, n)).chain([0, 0, 9]).collect()
    }

    #[test]
    fn the_closed_form_is_chen_and_goodmans() {
        // Y = 10 / (10 + 8); D1 = 1 - 2 Y 4/10, D2 = 2 - 3 Y 2/4, D3+ = 3 - 4 Y 1/2.
        let discounts = Discounts::new(&counts([10, 4, 2, 1]));
        let y = 10.0 / 18.0;
        assert_eq!(discounts.by_count, [1.0 - 0.8 * y, 2.0 - 1.5 * y, 3.0 - 2.0 * y]);
        assert!(!discounts.fallback);
        assert_eq!([0, 1, 2, 3, 70].map(|count| discounts.from(count)), {
            let [one, two, more] = discounts.by_count;
            [0.0, one, two, more, more]
        });
    }

    #[test]
    fn where_the_closed_form_fails_the_fixed_discounts_stand_in() {
        // No n-gram seen once, twice, three times; and a D2 below 0.
        for with in [[0, 4, 2, 1], [10, 0, 2, 1], [10, 4, 0, 1], [10, 1, 8, 1]] {
            assert_eq!(Discounts::new(&counts(with)), Discounts { by_count: FALLBACK, fallback: true }, "{with:?}");
        }
        // None seen four times is no failure: D3+ is 3.
        assert_eq!(Discounts::new(&counts([10, 4, 2, 0])).by_count[2], 3.0);
    }
}
