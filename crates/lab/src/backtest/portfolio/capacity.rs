//! The capital at which a portfolio's orders would still fit into the trade of their days.

use crate::backtest::{Capacity, Params};
use inkstone_base::stats::quantile;

/// Share of the days that take less than the capacity that is called low.
const LOW: f64 = 0.05;

/// Capacity of a portfolio from what each day's orders allow: the capital in CNY at which the tightest of them is all of its
/// name's traded value, NaN on a day without orders or volumes.
pub(super) fn capacity(legs: [&[f64]; 2], params: &Params) -> Capacity {
    let tightest = |(a, b): (&f64, &f64)| params.volume_share * a.min(*b);
    let mut days: Vec<f64> = legs[0].iter().zip(legs[1]).map(tightest).filter(|capital| !capital.is_nan()).collect();
    days.sort_unstable_by(f64::total_cmp);
    let capital = |share| quantile(&days, share);
    Capacity { share: params.volume_share, days: days.len(), median: capital(0.5), low: capital(LOW) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tighter_leg_of_a_day_decides() {
        let params = Params { volume_share: 0.1, ..Params::default() };
        let capacity = capacity([&[1e8, f64::NAN, 4e8, f64::NAN], &[2e8, 3e8, 1e8, f64::NAN]], &params);
        assert_eq!((capacity.days, capacity.median), (3, 1e7));
        assert!((capacity.low - 1e7).abs() < 1e-6);
        assert!(super::capacity([&[], &[]], &params).median.is_nan());
    }
}
