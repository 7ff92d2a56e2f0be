//! The result of a backtest: everything that a table, a chart or an export shows, as plain data.
//!
//! Returns are simple and per holding period (0.01 = 1 %). A value that does not exist is NaN in memory and null in JSON.

use std::collections::BTreeMap;

use chrono::{NaiveDate, NaiveDateTime, NaiveTime};
use serde::{Deserialize, Serialize};

use super::by_horizon::ByHorizon;
use super::preset::Preset;
use inkstone_base::language::{Message, Word};
use inkstone_base::message;
use inkstone_base::stats::mean;
use inkstone_market::Price;

nan_as_null! {
    /// A backtest of one factor.
    #[derive(Clone, Debug, Default, Serialize, Deserialize)]
    pub struct Outcome {
        pub factor: String,
        pub alignment: Alignment,
        /// True if values were paired with returns that had begun before they were known. Shown wherever a figure is shown.
        pub lookahead: bool,
        /// The values that were refused, because they were not known before the return began; with examples.
        pub refused: Refusal,
        pub coverage: Coverage,
        /// Information coefficients, one series per horizon.
        pub ic: Vec<IcSeries>,
        /// Returns by quantile of the factor.
        pub layers: Layers,
        /// The portfolio that is long the top quantile and short the bottom one.
        pub long_short: LongShort,
        /// Mean share of names new to the top and bottom quantile, against the factor's date before. No turnover: a book that is rebalanced
        /// later, or cannot trade, turns over less ([`LongShort::mean_turnover`]).
        #[serde(alias = "turnover")]
        pub new_names: f64,
        /// Mean Pearson correlation of a date's factor ranks with those of the factor's date before.
        pub rank_autocorrelation: f64,
        /// Persistence of ranks and quantiles, by period.
        pub stability: Vec<Stability>,
        /// Mean RankIC of single days after the trade.
        pub decay: IcDecay,
        /// Trading days per year that annual figures are stated with.
        pub days_per_year: u32,
        /// Orders that could not be filled, by reason (suspended, locked at the limit), counted.
        pub untradable: BTreeMap<String, u64>,
        /// Books that are held beside the long-short portfolio: each leg alone, the factor-weighted one, the best N names.
        pub portfolios: Vec<Portfolio>,
        /// Returns that portfolios are compared with.
        pub benchmark: Option<Benchmark>,
        /// The factor among names of one size, industry or coverage.
        pub samples: Vec<SubSample>,
        pub capacity: Capacity,
        pub execution: Execution,
        /// The factor beside plain styles; none without dates.
        #[serde(default)]
        pub styles: Option<Styles>,
    }

    /// The factor beside plain styles and industries.
    #[derive(Clone, Debug, Default, Serialize, Deserialize)]
    pub struct Styles {
        pub styles: Vec<StyleExposure>,
        /// Industries of the securities; empty where they have none.
        pub industries: Vec<IndustryExposure>,
        /// RankIC at the first horizon of the names that have all styles.
        pub rank_ic: IcSummary,
        /// RankIC of the residual after styles and industries.
        pub residual: IcSummary,
    }

    /// A factor beside the others of a project.
    #[derive(Clone, Debug, Default, Serialize, Deserialize)]
    pub struct FactorBeside {
        pub name: String,
        /// Mean rank correlation with each of the others, by name.
        pub correlations: Vec<(String, f64)>,
        /// RankIC at the first horizon.
        pub rank_ic: IcSummary,
        /// RankIC of the residual after the others.
        pub adds: IcSummary,
    }

    /// Exposure of a factor to a style.
    #[derive(Clone, Debug, Default, Serialize, Deserialize)]
    pub struct StyleExposure {
        /// `size`, `momentum`, `reversal`, `volatility`, `traded_value` or `turnover`.
        pub name: String,
        /// Mean rank correlation of factor and style.
        pub correlation: f64,
        /// Mean rank of the lowest quantile in the style, from -1/2 (lowest) to 1/2.
        pub bottom: f64,
        /// The same of the highest quantile.
        pub top: f64,
    }

    /// Share of an industry in the top quantile.
    #[derive(Clone, Debug, Default, Serialize, Deserialize)]
    pub struct IndustryExposure {
        pub name: String,
        /// Mean share of the names with a value.
        pub share: f64,
        /// Mean share of the highest quantile.
        pub top: f64,
    }

    /// A book day by day, with its figures after costs.
    ///
    /// `long` and `short` are the legs of the long-short portfolio. `factor_weighted` holds all names by their value less the mean of
    /// the day, long and short, absolute weights summing to 1. `top_N` holds the best N names with a buffer, by the rules of Qlib's
    /// `TopkDropoutStrategy`.
    #[derive(Clone, Debug, Default, Serialize, Deserialize)]
    pub struct Portfolio {
        /// `long`, `short`, `factor_weighted`, or `top_50` (the best 50 names).
        pub name: String,
        /// Dates at which the day's return was earned.
        pub dates: Vec<NaiveDate>,
        /// Return of the day before costs. The short leg is notional: its return is positive when its names fell.
        pub gross: Vec<f64>,
        /// Return of the day after costs.
        pub net: Vec<f64>,
        /// `net` less the return of the same position in the benchmark: for the short leg, `net` plus the benchmark's return. Empty
        /// without a benchmark, and for the factor-weighted book, which is long as much as short.
        pub excess: Vec<f64>,
        /// One-way turnover of the day, share of the book.
        pub turnover: Vec<f64>,
        /// Figures of `net` over all dates.
        pub total: PortfolioFigures,
        /// Figures of `net` by calendar year.
        pub by_year: Vec<YearFigures>,
        /// Figures of `excess`; none where that is empty. `sharpe` is the information ratio then.
        pub excess_total: Option<PortfolioFigures>,
    }

    /// The returns that portfolios are compared with.
    #[derive(Clone, Debug, Default, Serialize, Deserialize)]
    pub struct Benchmark {
        /// A code of the price table, or `universe`: all names that traded on the day before, equally weighted, held to this day.
        pub name: String,
        /// Dates at which the day's return was earned.
        pub dates: Vec<NaiveDate>,
        pub returns: Vec<f64>,
        pub total: PortfolioFigures,
    }

    /// The factor among some of the names.
    #[derive(Clone, Debug, Default, Serialize, Deserialize)]
    pub struct SubSample {
        /// Criterion: `size`, `industry` or `coverage`.
        pub by: String,
        /// Group: `small`, `middle`, `large` (capitalisation), the industry's name, `few`, `some`, `many` (documents of a
        /// value).
        pub group: String,
        /// Mean number of names a date, of the dates that enter.
        pub names: f64,
        /// Summary of the RankIC, one entry per horizon.
        pub rank_ic: Vec<IcSummary>,
        /// Mean of top minus bottom quantile, cut within the sample, one entry per horizon.
        pub spread: Vec<f64>,
    }

    /// Capital that a portfolio could take if no order were larger than a share of the day's trade in its name.
    #[derive(Clone, Debug, Default, Serialize, Deserialize)]
    pub struct Capacity {
        /// The share of a day's traded value that an order may be.
        pub share: f64,
        /// Number of days with orders.
        pub days: usize,
        /// Capital in CNY of one leg at which the median day's orders fill in full, the tightest deciding; NaN without volumes.
        pub median: f64,
        /// The 5 % quantile over days, where `median` is the 50 % quantile.
        pub low: f64,
    }

    /// Orders of both legs of the long-short portfolio, and how many were filled.
    #[derive(Clone, Debug, Default, Serialize, Deserialize)]
    pub struct Execution {
        /// Orders to buy and to sell, those for less than a lot included. A holding that is kept or cannot be traded has no order.
        pub orders: u64,
        /// Orders that were filled, in part where they were rounded to lots.
        pub filled: u64,
        /// Holdings of names that were delisted.
        pub delisted: u64,
        /// Return assumed on the day after a holding's last price.
        pub delisting_return: f64,
        /// Capital of a leg in CNY, whose orders are rounded to lots; none where books are shares of capital.
        pub capital: Option<f64>,
        /// Mean share of a leg's capital that rounding to lots left in cash, over rebalancings; NaN without lots.
        pub idle: f64,
    }
}

/// The return that a value of day `t` is paired with: known by when, bought at which price, held how long.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Alignment {
    /// Trading days from the factor's date to the trade.
    pub delay: i64,
    /// The price at which a position is entered and left.
    pub price: Price,
    /// The time of the day of the trade before which a value must be known.
    pub known_before: NaiveTime,
    /// Holding periods in trading days.
    pub horizons: Vec<usize>,
    pub preset: Preset,
}

impl Outcome {
    /// RankIC and mean spread of a sample at each horizon.
    pub fn sample_by_horizon(&self, sample: &SubSample) -> ByHorizon<(IcSummary, f64)> {
        let spreads = sample.spread.iter().copied().chain(std::iter::repeat(f64::NAN));
        let figures = sample.rank_ic.iter().copied().zip(spreads);
        self.layers.horizons.iter().copied().zip(figures).collect()
    }

    /// The alignment in words, for every table.
    pub fn alignment_in_words(&self) -> Message {
        let Alignment { delay, price, known_before, horizons, preset } = &self.alignment;
        let time = known_before.format("%H:%M").to_string();
        let price = match price {
            Price::Open => Word("开盘价", "open"),
            Price::Close => Word("收盘价", "close"),
            Price::Vwap => Word("均价", "vwap"),
        };
        let day = match delay {
            0 => message!("t 日", "of the same day t"),
            _ => message!("t{delay:+} 日", "of day t{delay:+}"),
        };
        let held = Message::joined(horizons.iter().map(Message::same), Word("、", ", "));
        let rule = match self.lookahead {
            true => message!(
                "【未来函数】用了 {day} {time} 或之后才可知的值",
                "LOOK-AHEAD: values known only at or after {time} {day} were used all the same"
            ),
            false => message!("在 {day} {time} 之前可知", "known before {time} {day}"),
        };
        let preset = match preset {
            Preset::Default => Word("", ""),
            Preset::Alphalens => Word("；alphalens 规则", "; alphalens rules"),
            Preset::Qlib => Word("；qlib 规则", "; qlib rules"),
        };
        let (zh, en) = (
            format!(
                "t 日的值，{}；{}{}买入，{} 个交易日后{}卖出{}",
                rule.zh, day.zh, price.0, held.zh, price.0, preset.0
            ),
            format!(
                "value of day t, {}; bought at the {} {}, sold at the {} {} trading days later{}",
                rule.en, price.1, day.en, price.1, held.en, preset.1
            ),
        );
        Message { zh, en }
    }
}

/// Values that were not known in time.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Refusal {
    pub values: u64,
    /// A few values: date, code, known-at time, begin of the return.
    pub examples: Vec<(NaiveDate, String, NaiveDateTime, NaiveDateTime)>,
}

/// Number of names with a value, by date.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Coverage {
    pub dates: Vec<NaiveDate>,
    /// Number of names with a value.
    pub names: Vec<u32>,
    /// Number of names that traded.
    pub universe: Vec<u32>,
}

impl Coverage {
    /// Names with a value as a share of those that traded, mean over the dates on which any traded; NaN without dates.
    pub fn mean_share(&self) -> f64 {
        let counts = self.names.iter().zip(&self.universe).filter(|(_, universe)| **universe > 0);
        mean(counts.map(|(names, universe)| f64::from(*names) / f64::from(*universe)))
    }
}

nan_as_null! {
    /// Information coefficients by date at one horizon.
    #[derive(Clone, Debug, Default, Serialize, Deserialize)]
    pub struct IcSeries {
        /// Holding period in trading days.
        pub horizon: usize,
        /// Dates of the factor, ascending; only those with enough names.
        pub dates: Vec<NaiveDate>,
        /// Pearson correlation of factor and return.
        pub ic: Vec<f64>,
        /// Spearman correlation, average ranks for ties.
        pub rank_ic: Vec<f64>,
        /// Names that entered, by date.
        pub names: Vec<u32>,
        pub ic_summary: IcSummary,
        pub rank_ic_summary: IcSummary,
    }

    /// Persistence of quantiles and ranks over a period.
    #[derive(Clone, Debug, Default, Serialize, Deserialize)]
    pub struct Stability {
        /// Dates of the factor between the two that are compared.
        pub period: usize,
        /// Mean share of a quantile's names that were not in it one period before, quantile 1 first.
        pub turnover: Vec<f64>,
        /// Mean Pearson correlation of ranks one period apart.
        pub rank_autocorrelation: f64,
    }

    /// Mean RankIC against single days after the trade: the return from day `lag - 1` to day `lag` after the entry.
    #[derive(Clone, Debug, Default, Serialize, Deserialize)]
    pub struct IcDecay {
        /// Days after the entry, from 1.
        pub lags: Vec<usize>,
        /// Mean RankIC of that day alone; the returns of different lags do not overlap.
        pub rank_ic: Vec<f64>,
        /// First lag at which the mean RankIC has fallen to half of that at lag 1, interpolated; NaN if it never does.
        pub half_life: f64,
    }

    /// Moments and tests of a series of information coefficients.
    #[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
    pub struct IcSummary {
        pub n: usize,
        pub mean: f64,
        /// Standard deviation, ddof 1.
        pub std: f64,
        /// mean / std, not annualised.
        pub icir: f64,
        /// t of the mean with independent dates.
        pub t: f64,
        /// Newey-West t (Bartlett weights, lag = horizon - 1, scaled by n / (n - 1) so that it equals `t` at horizon 1).
        pub t_nw: f64,
        /// Two-sided p of `t_nw` by Student's t with n - 1 degrees of freedom.
        pub p: f64,
        /// Share of dates above zero.
        pub positive: f64,
        /// Skewness (biased, as scipy's default).
        pub skew: f64,
        /// Excess kurtosis (biased, as scipy's default).
        pub kurtosis: f64,
    }

    /// Returns of the quantile portfolios.
    #[derive(Clone, Debug, Default, Serialize, Deserialize)]
    pub struct Layers {
        /// Horizon of the returns in `mean`, one entry per horizon tested.
        pub horizons: Vec<usize>,
        /// Mean return per quantile, `[horizons][quantiles]`, quantile 1 (lowest factor) first; per day, then over days.
        pub mean: Vec<Vec<f64>>,
        /// Standard error of `mean` over days, same shape.
        pub stderr: Vec<Vec<f64>>,
        /// Dates of `spread`: factor dates with enough names, one list per horizon.
        pub spread_dates: Vec<Vec<NaiveDate>>,
        /// Top minus bottom quantile by factor date, one list per horizon (with the qlib preset: of its own groups, halved).
        pub spread: Vec<Vec<f64>>,
        /// Dates of `wealth`.
        pub dates: Vec<NaiveDate>,
        /// Growth of 1 by quantile, `[quantiles][dates]`, daily returns of the held names, before costs.
        pub wealth: Vec<Vec<f64>>,
        /// True if returns were demeaned by date.
        pub demeaned: bool,
    }
}

/// Returns of the quantile portfolios at one horizon.
#[derive(Clone, Copy, Debug)]
pub struct LayerReturns<'a> {
    pub mean: &'a [f64],
    pub stderr: &'a [f64],
    pub spread_dates: &'a [NaiveDate],
    pub spread: &'a [f64],
}

impl Layers {
    /// The lists of each horizon, empty where one is missing.
    pub fn by_horizon(&self) -> ByHorizon<LayerReturns<'_>> {
        fn list<T>(lists: &[Vec<T>], h: usize) -> &[T] {
            lists.get(h).map_or(&[], Vec::as_slice)
        }
        let returns = |(h, &horizon): (usize, &usize)| {
            let returns = LayerReturns {
                mean: list(&self.mean, h),
                stderr: list(&self.stderr, h),
                spread_dates: list(&self.spread_dates, h),
                spread: list(&self.spread, h),
            };
            (horizon, returns)
        };
        self.horizons.iter().enumerate().map(returns).collect()
    }
}

nan_as_null! {
    /// The long-short portfolio: one unit of capital long the top quantile, one unit short the bottom one.
    ///
    /// Names of a leg weigh equally (or by capitalisation) at each rebalancing and drift between. What cannot be traded stays as
    /// it is.
    #[derive(Clone, Debug, Default, Serialize, Deserialize)]
    pub struct LongShort {
        /// Dates at which the day's return was earned.
        pub dates: Vec<NaiveDate>,
        /// Return of the day before costs, long minus short leg.
        pub gross: Vec<f64>,
        /// Return of the day after costs.
        pub net: Vec<f64>,
        /// Return of the long leg before costs.
        pub long: Vec<f64>,
        /// Return of the short leg before costs (positive when the held names fell); notional.
        pub short: Vec<f64>,
        /// One-way turnover of the day, share of the book, mean of the two legs.
        pub turnover: Vec<f64>,
        /// Cost of the day: the cost of the orders at whose price its return begins.
        pub cost: Vec<f64>,
        /// Figures after costs over all dates.
        pub total: PortfolioFigures,
        /// Figures after costs by calendar year.
        pub by_year: Vec<YearFigures>,
    }
}

impl LongShort {
    /// The turnover: mean one-way turnover a day, share of the book; NaN without days.
    pub fn mean_turnover(&self) -> f64 {
        mean(self.turnover.iter().copied())
    }

    /// Mean cost a day, share of the book; NaN without days.
    pub fn mean_cost(&self) -> f64 {
        mean(self.cost.iter().copied())
    }
}

nan_as_null! {
    /// Risk and return of a daily series. Annualised with the stated days per year ([`Outcome::days_per_year`]).
    ///
    /// With the preset `qlib` they are those of Qlib's `risk_analysis` in mode `sum`: returns are added up, not compounded.
    #[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
    pub struct PortfolioFigures {
        /// Compound annual return: growth over all days to the power of days per year / days, less 1.
        pub annual_return: f64,
        /// Annual volatility, ddof 1.
        pub volatility: f64,
        /// Mean / standard deviation, annualised, no risk-free rate.
        pub sharpe: f64,
        /// Largest fall of the growth curve from a peak (the capital at the start being one), a share of the peak, negative.
        pub max_drawdown: f64,
        /// annual_return / -max_drawdown.
        pub calmar: f64,
        /// Share of days above zero.
        pub hit_rate: f64,
    }
}

/// Figures of one calendar year.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct YearFigures {
    pub year: i32,
    pub figures: PortfolioFigures,
}
