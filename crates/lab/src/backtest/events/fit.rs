//! Expected return of a name, estimated before the event, and its abnormal returns around the event.
//!
//! Only one-day returns enter the estimation. Of a return over k days (after a suspension) k x alpha + beta x the benchmark's
//! return over these days is expected, and its variance counts k times.

use super::Event;
use super::params::{Model, Params};
use super::returns::{NameReturns, Return};

/// Standard deviation of a day below which returns are taken not to vary: rounding alone.
const FLAT: f64 = 1e-9;

/// Estimates for one event.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fit {
    /// Return expected of a day on which the benchmark stands still.
    pub alpha: f64,
    /// Return expected for each of the benchmark's.
    pub beta: f64,
    /// Standard deviation of a day's abnormal return, less the degrees of freedom that the model took.
    pub sd: f64,
    /// Share of the estimation's abnormal returns above zero.
    pub positive: f64,
    /// Mean of the estimation's abnormal returns; zero unless the model is the benchmark itself.
    mean: f64,
    /// Root of their mean square distance from it.
    spread: f64,
    /// 1 / returns of the estimation; 0 where nothing was estimated that the forecast could err by.
    error_of_alpha: f64,
    /// Mean of the benchmark's return.
    market_mean: f64,
    /// 1 / sum of squares of the benchmark's return about its mean; 0 likewise.
    error_of_beta: f64,
}

/// Abnormal returns of a window, by day.
pub(super) struct Abnormal {
    /// The abnormal return; NaN where there is none.
    pub values: Vec<f64>,
    returns: Vec<Option<Return>>,
}

/// Abnormal returns summed over some days.
pub(super) struct Car {
    pub value: f64,
    /// The sum in standard deviations of its forecast.
    pub standardised: f64,
}

impl Fit {
    /// Estimates what is expected before an event, or says why it cannot be.
    pub(super) fn new(name: NameReturns<'_>, event: &Event, params: &Params) -> Result<Fit, &'static str> {
        let days: Vec<Return> = estimation(name, event, params).flatten().collect();
        let n = days.len() as f64;
        if days.len() < params.min_returns {
            return Err("too few returns in the estimation window");
        }
        let own_mean = days.iter().map(|day| day.own).sum::<f64>() / n;
        let market_mean = days.iter().map(|day| day.market).sum::<f64>() / n;
        let mut fit = Fit { market_mean, ..Fit::of_benchmark() };
        let mut estimated = 1.0;
        match params.model {
            Model::MarketAdjusted => {}
            Model::MeanAdjusted => {
                (fit.alpha, fit.beta, fit.error_of_alpha) = (own_mean, 0.0, 1.0 / n);
            }
            Model::MarketModel => {
                let squares: f64 = days.iter().map(|day| (day.market - market_mean).powi(2)).sum();
                let products: f64 = days.iter().map(|day| (day.market - market_mean) * (day.own - own_mean)).sum();
                if squares <= n * FLAT * FLAT {
                    return Err("the benchmark does not vary in the estimation window");
                }
                fit.beta = products / squares;
                fit.alpha = own_mean - fit.beta * market_mean;
                (fit.error_of_alpha, fit.error_of_beta, estimated) = (1.0 / n, 1.0 / squares, 2.0);
            }
        }
        fit.mean = days.iter().map(|day| fit.abnormal(day)).sum::<f64>() / n;
        let squares: f64 = days.iter().map(|day| (fit.abnormal(day) - fit.mean).powi(2)).sum();
        fit.sd = (squares / (n - estimated)).sqrt();
        fit.spread = (squares / n).sqrt();
        fit.positive = days.iter().filter(|day| fit.abnormal(day) > 0.0).count() as f64 / n;
        if fit.sd < FLAT { Err("abnormal returns do not vary in the estimation window") } else { Ok(fit) }
    }

    /// The benchmark itself as what is expected, which needs no estimation.
    pub(super) fn of_benchmark() -> Fit {
        Fit {
            alpha: 0.0,
            beta: 1.0,
            sd: 0.0,
            positive: 0.0,
            mean: 0.0,
            spread: 0.0,
            error_of_alpha: 0.0,
            market_mean: 0.0,
            error_of_beta: 0.0,
        }
    }

    pub(super) fn abnormal(&self, day: &Return) -> f64 {
        day.own - self.alpha * day.days - self.beta * day.market
    }

    /// The abnormal returns of the window.
    pub(super) fn window(&self, name: NameReturns<'_>, event: &Event, params: &Params) -> Abnormal {
        let days = params.window.0..=params.window.1;
        let returns: Vec<Option<Return>> = days.map(|day| name.at((event.date as i32 + day) as usize)).collect();
        let value = |day: &Option<Return>| day.as_ref().map_or(f64::NAN, |day| self.abnormal(day));
        Abnormal { values: returns.iter().map(value).collect(), returns }
    }

    /// The abnormal returns of the estimation, by day; NaN where there is none.
    pub(super) fn estimation(&self, name: NameReturns<'_>, event: &Event, params: &Params) -> Vec<f64> {
        estimation(name, event, params).map(|day| day.map_or(f64::NAN, |day| self.abnormal(&day))).collect()
    }

    /// An abnormal return of the estimation with a mean of 0 and a mean square of 1 there.
    pub(super) fn standardised(&self, abnormal: f64) -> f64 {
        (abnormal - self.mean) / self.spread
    }

    /// The abnormal returns of days `from..to` of the window, summed; none if the name did not trade on any of them.
    ///
    /// The variance of the sum is that of its days and of the estimates (Mikkelson and Partch 1988): s2 (K + K2 / T + (M - K m)2
    /// / S), K days spanned, M the benchmark's return summed, m its mean and S its sum of squares over T days.
    pub(super) fn car(&self, abnormal: &Abnormal, from: usize, to: usize) -> Option<Car> {
        let (mut value, mut days, mut market) = (0.0, 0.0, 0.0);
        for (abnormal, day) in abnormal.values[from..to].iter().zip(&abnormal.returns[from..to]) {
            if let Some(day) = day {
                value += abnormal;
                days += day.days;
                market += day.market;
            }
        }
        let off = market - days * self.market_mean;
        let variance = days + days * days * self.error_of_alpha + off * off * self.error_of_beta;
        (days > 0.0).then(|| Car { value, standardised: value / (self.sd * variance.sqrt()) })
    }
}

impl Abnormal {
    /// The abnormal return of a day of the window at the scale of one day, by which days are ranked.
    pub(super) fn of_one_day(&self, day: usize) -> f64 {
        self.returns[day].map_or(f64::NAN, |over| self.values[day] / over.days.sqrt())
    }
}

/// One-day returns of the estimation window, day by day.
fn estimation(name: NameReturns<'_>, event: &Event, params: &Params) -> impl Iterator<Item = Option<Return>> {
    (params.estimation.0..=params.estimation.1).map(move |day| {
        let t = usize::try_from(event.date as i32 + day).ok()?;
        name.at(t).filter(|over| over.days == 1.0)
    })
}
