//! Parameters of a backtest.

use anyhow::Result;
use chrono::{NaiveDateTime, NaiveTime};
use serde::{Deserialize, Serialize};

use super::outcome::Alignment;
use super::preset::{Preset, PresetRules};
use inkstone_base::bail;
use inkstone_base::bounds;
use inkstone_base::code::Code;
use inkstone_market::{AUCTION, CLOSE, LimitRule, Market, OPEN, Price};

/// Parameters of a backtest (`[backtest]`).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Params {
    /// The rules as a whole (default `default`); `alphalens` and `qlib` reproduce those packages' figures.
    pub preset: Preset,
    /// Trading days from the factor's date to the trade; 0 and -1 are the same-day alignments. Unset: 1, alphalens 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delay: Option<i32>,
    /// The price traded at. Unset: open; alphalens and qlib close.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub price: Option<Price>,
    /// Holding periods in trading days (default 1, 5, 20).
    pub horizons: Vec<usize>,
    /// Quantiles of the layers (default 5).
    pub quantiles: usize,
    /// True if layer returns are demeaned by date. Unset: no; alphalens yes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub demean: Option<bool>,
    /// Trading days between two rebalancings of the portfolios (default 1).
    pub rebalance: usize,
    /// Weights of the names of a layer and of a leg (default equal).
    pub weights: Weights,
    /// True if quantiles are cut within each industry of the date (default no). An industry with fewer names than quantiles is
    /// in no layer; names without an industry are one of their own.
    pub within_industry: bool,
    /// Benchmark of the books: a code of the price table, which then is no name to be traded; `universe`, the equal-weighted
    /// mean of what traded (default); or `none`.
    pub benchmark: String,
    /// Names of the book that holds the best ones (default 50, as Qlib's TopkDropoutStrategy); 0: no such book.
    pub top: usize,
    /// Names of it that are replaced at most at a rebalancing (default 5).
    pub drop: usize,
    /// Cost of buying in basis points of the value traded: the commission (default 5).
    pub open_bps: f64,
    /// Cost of selling in basis points: commission and stamp duty (default 15).
    pub close_bps: f64,
    /// Slippage in basis points, of what is bought and of what is sold (default 0).
    pub slippage_bps: f64,
    /// Capital of a book in CNY at its start, whose orders are rounded down to the lots of each board (default 0: books are
    /// shares of capital). Lots are counted at the prices of the table, so they are right where these are unadjusted.
    pub capital: f64,
    /// Return assumed of a holding on the day on which it is delisted, after its last price (default 0; -1: all is lost). From
    /// the next rebalancing on what is left of it is cash.
    pub delisting_return: f64,
    /// Trading days of a listing in which a name is left alone (default 0).
    pub min_listed_days: usize,
    /// Largest share of a day's traded value that an order may be, for the capacity (default 0.1).
    pub volume_share: f64,
    /// Trading days per year of annual figures (default 242).
    pub days_per_year: u32,
    /// Names that a date needs for a correlation or a layer (default 10; the presets of other packages take every date).
    pub min_names: usize,
    /// Largest share of values that may go unused, whatever the reason (default 0.35).
    pub max_loss: f64,
    /// Largest share of values that may be refused for having been known too late (default 0.05): above it, the alignment
    /// itself is wrong and the run is an error.
    pub max_refused: f64,
    /// True if values are paired with returns that had begun before they were known (default no). Every table then says so.
    pub allow_lookahead: bool,
    /// Daily price limits by board and date, for tables without limit columns (default: the exchanges' rules).
    pub limits: Vec<LimitRule>,
}

/// The benchmark that is the mean of all names, and the word for none.
pub(super) const UNIVERSE: &str = "universe";
pub(super) const NO_BENCHMARK: &str = "none";

impl Default for Params {
    fn default() -> Params {
        Params {
            preset: Preset::Default,
            delay: None,
            price: None,
            horizons: vec![1, 5, 20],
            quantiles: 5,
            demean: None,
            rebalance: 1,
            weights: Weights::Equal,
            within_industry: false,
            benchmark: UNIVERSE.to_owned(),
            top: 50,
            drop: 5,
            open_bps: 5.0,
            close_bps: 15.0,
            slippage_bps: 0.0,
            capital: 0.0,
            delisting_return: 0.0,
            min_listed_days: 0,
            volume_share: 0.1,
            days_per_year: 242,
            min_names: 10,
            max_loss: 0.35,
            max_refused: 0.05,
            allow_lookahead: false,
            limits: LimitRule::defaults(),
        }
    }
}

/// Weights of the names of a layer or a leg.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Weights {
    /// Equal weights.
    #[default]
    Equal,
    /// By the market capitalisation of the factor's date; a name without one is left out.
    Cap,
}

impl Params {
    /// Fails on parameters that make no sense.
    pub fn validate(&self) -> Result<()> {
        bounds::check("backtest", self)?;
        if self.horizons.is_empty() {
            bail!(
                "[backtest] horizons 为空；请至少写一个，单位为交易日",
                "[backtest] horizons is empty; give at least one, in trading days"
            );
        }
        if self.top > 0 && self.drop == 0 {
            bail!(
                "[backtest] drop 为 0，则前 {} 名（top）的组合永不卖出；请至少写 1",
                "[backtest] drop is 0, so the portfolio of the {} best names (top) would never sell one; give at least 1",
                self.top
            );
        }
        if self.preset != Preset::Default && (self.within_industry || self.weights == Weights::Cap) {
            bail!(
                "[backtest] within_industry 与 weights = \"cap\" 不是预设所复现软件包的规则；请用 preset = \"default\"",
                "[backtest] within_industry and weights = \"cap\" are no rules of the packages that presets reproduce; use preset = \"default\""
            );
        }
        Ok(())
    }

    /// Fails when the market lacks what is asked for; gives the number of the code that is the benchmark, if one is.
    pub(super) fn check(&self, market: &Market) -> Result<Option<usize>> {
        if self.weights == Weights::Cap && !market.has_market_cap() {
            bail!(
                "[backtest] weights 为 \"cap\"，但行情表没有 \"market_cap\" 列；请添加，或用 \"equal\"",
                "[backtest] weights is \"cap\", but the price table has no column \"market_cap\"; add it, or use \"equal\""
            );
        }
        if self.within_industry && market.industries().is_empty() {
            bail!(
                "[backtest] within_industry 需要行业，但没有证券表给出行业；请添加，或设为 false",
                "[backtest] within_industry needs industries, but no table of securities gives any; add one, or set it to false"
            );
        }
        if [UNIVERSE, NO_BENCHMARK].contains(&self.benchmark.as_str()) {
            return Ok(None);
        }
        let code = Code::parse(&self.benchmark).unwrap_or_else(|| Code::canonical(&self.benchmark));
        let Some(i) = market.index_of(code.as_str()) else {
            bail!(
                "[backtest] benchmark 为 {:?}，但行情表没有它的价格；请添加，或用 \"{UNIVERSE}\"（全部可交易个股等权）或 \"{NO_BENCHMARK}\"",
                "[backtest] benchmark is {:?}, but the price table has no prices of it; add them, or use \"{UNIVERSE}\" (all names that traded, equally weighted) or \"{NO_BENCHMARK}\"",
                self.benchmark
            );
        };
        Ok(Some(i))
    }

    /// Costs of a day on which these shares of a book were bought and sold.
    pub(super) fn cost(&self, bought: f64, sold: f64) -> f64 {
        (bought * (self.open_bps + self.slippage_bps) + sold * (self.close_bps + self.slippage_bps)) * 1e-4
    }

    /// The choices of the preset.
    pub(super) fn rules(&self) -> &'static PresetRules {
        self.preset.rules()
    }

    /// The delay in force.
    pub fn delay_days(&self) -> i64 {
        i64::from(self.delay.unwrap_or(self.rules().delay))
    }

    /// The price in force.
    pub fn traded_price(&self) -> Price {
        self.price.unwrap_or(self.rules().price)
    }

    /// True if layer returns are demeaned by date.
    pub(super) fn is_demeaned(&self) -> bool {
        self.demean.unwrap_or(self.rules().demean)
    }

    /// True if values are used that were known too late.
    pub(crate) fn uses_late_values(&self) -> bool {
        self.allow_lookahead || self.rules().lookahead
    }

    /// Fewest names of a date that enters.
    pub(super) fn names_needed(&self) -> usize {
        if self.rules().every_date { 1 } else { self.min_names.max(2) }
    }

    /// Number of the date at which a value of date `t` is traded.
    pub(super) fn entry(&self, t: usize, days: usize) -> Option<usize> {
        usize::try_from(t as i64 + self.delay_days()).ok().filter(|&entry| entry < days)
    }

    /// The moment from which the return of an entry at date `e` counts: what was not known before cannot be traded on.
    pub(super) fn begins(&self, market: &Market, e: usize) -> NaiveDateTime {
        market.dates()[e].and_time(self.begins_at())
    }

    pub(super) fn begins_at(&self) -> NaiveTime {
        match self.traded_price() {
            Price::Close => CLOSE,
            Price::Open => AUCTION,
            // Some of a session's average is traded at its very beginning.
            Price::Vwap => OPEN,
        }
    }

    /// The return that a value is paired with.
    pub(super) fn alignment(&self) -> Alignment {
        Alignment {
            delay: self.delay_days(),
            price: self.traded_price(),
            known_before: self.begins_at(),
            horizons: self.horizons.clone(),
            preset: self.preset,
        }
    }
}
