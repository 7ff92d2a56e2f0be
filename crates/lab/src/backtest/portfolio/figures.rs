//! Risk and return of daily series: annual figures in total and by calendar year.

use std::collections::BTreeMap;

use chrono::{Datelike, NaiveDate};

use crate::backtest::{Params, PortfolioFigures, YearFigures};
use inkstone_base::stats::{mean, std};

/// Growth of 1.
pub(super) fn wealth(returns: &[f64]) -> Vec<f64> {
    let step = |wealth: &mut f64, r: &f64| {
        *wealth *= 1.0 + r;
        Some(*wealth)
    };
    returns.iter().scan(1.0, step).collect()
}

/// Figures of a daily series. Returns are compounded, and a fall is counted from the capital at the start; with Qlib's rules
/// they are added up, and a fall is counted from the sum after the first day (`risk_analysis` in mode `sum`).
pub(crate) fn figures(returns: &[f64], params: &Params) -> PortfolioFigures {
    if returns.is_empty() {
        let none = f64::NAN;
        return PortfolioFigures {
            annual_return: none,
            volatility: none,
            sharpe: none,
            max_drawdown: none,
            calmar: none,
            hit_rate: none,
        };
    }
    let (n, per_year) = (returns.len() as f64, f64::from(params.days_per_year));
    let (mean, deviation) = (mean(returns.iter().copied()), std(returns));
    let (annual_return, max_drawdown) = match params.rules().adds_up {
        true => (mean * per_year, deepest_of_sums(returns)),
        false => {
            let curve = wealth(returns);
            (curve[curve.len() - 1].powf(per_year / n) - 1.0, deepest(&curve))
        }
    };
    PortfolioFigures {
        annual_return,
        volatility: deviation * per_year.sqrt(),
        sharpe: mean / deviation * per_year.sqrt(),
        max_drawdown,
        calmar: if max_drawdown < 0.0 { annual_return / -max_drawdown } else { f64::NAN },
        hit_rate: returns.iter().filter(|r| **r > 0.0).count() as f64 / n,
    }
}

/// Maximum drawdown: the largest fall from a peak. The capital of 1 at the start counts as a peak.
fn deepest(curve: &[f64]) -> f64 {
    let fall = |(peak, deepest): (f64, f64), &value: &f64| {
        let peak = peak.max(value);
        (peak, deepest.min(value / peak - 1.0))
    };
    curve.iter().fold((1.0, 0.0), fall).1
}

fn deepest_of_sums(returns: &[f64]) -> f64 {
    let (mut sum, mut peak, mut deepest) = (0.0, f64::NEG_INFINITY, 0.0_f64);
    for r in returns {
        sum += r;
        peak = sum.max(peak);
        deepest = deepest.min(sum - peak);
    }
    deepest
}

/// Figures of each calendar year.
pub(super) fn by_year(dates: &[NaiveDate], returns: &[f64], params: &Params) -> Vec<YearFigures> {
    let mut years: BTreeMap<i32, Vec<f64>> = BTreeMap::new();
    dates.iter().zip(returns).for_each(|(date, r)| years.entry(date.year()).or_default().push(*r));
    years.into_iter().map(|(year, r)| YearFigures { year, figures: figures(&r, params) }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backtest::Preset;

    #[test]
    fn figures_equal_those_by_hand() {
        let f = figures(&[0.1, -0.5, 0.2], &Params { days_per_year: 3, ..Params::default() });
        assert!((f.annual_return - (1.1 * 0.5 * 1.2 - 1.0)).abs() < 1e-15);
        assert!((f.max_drawdown + 0.5).abs() < 1e-15 && (f.hit_rate - 2.0 / 3.0).abs() < 1e-15);
        let deviation =
            (((0.1_f64 + 0.2 / 3.0).powi(2) + (-0.5_f64 + 0.2 / 3.0).powi(2) + (0.2_f64 + 0.2 / 3.0).powi(2)) / 2.0)
                .sqrt();
        assert!((f.volatility - deviation * 3.0_f64.sqrt()).abs() < 1e-15);
        assert!((f.calmar - f.annual_return / 0.5).abs() < 1e-15);
    }

    #[test]
    fn a_fall_on_the_first_day_is_one_from_the_capital() {
        let fall = |preset| figures(&[-0.2, 0.1, -0.1], &Params { preset, ..Params::default() }).max_drawdown;
        assert!((fall(Preset::Default) - (0.8 * 1.1 * 0.9 - 1.0)).abs() < 1e-15);
        assert!((fall(Preset::Qlib) + 0.1).abs() < 1e-15, "Qlib's peaks begin with the first day");
    }
}
