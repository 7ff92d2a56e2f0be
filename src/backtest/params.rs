//! Parameters of a backtest, and what each preset makes of them.

use anyhow::{Result, bail};
use chrono::{NaiveDateTime, NaiveTime};
use serde::{Deserialize, Serialize};

use super::outcome::Alignment;
use crate::market::{AUCTION, CLOSE, LimitRule, Market, OPEN, Price};

/// How a factor is tested.
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
    /// Whether layer returns are demeaned by date. Unset: no; alphalens yes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub demean: Option<bool>,
    /// Trading days between two rebalancings of the portfolios (default 1).
    pub rebalance: usize,
    /// Cost of buying in basis points of the value traded (default 5).
    pub open_bps: f64,
    /// Cost of selling in basis points, stamp duty included (default 15).
    pub close_bps: f64,
    /// Trading days per year of annual figures (default 242).
    pub days_per_year: u32,
    /// Names that a date needs for a correlation or a layer (default 10; the presets of other packages take every date).
    pub min_names: usize,
    /// Largest share of values that may go unused, whatever the reason (default 0.35).
    pub max_loss: f64,
    /// Largest share of values that may be refused for having been known too late (default 0.05): above it, the alignment
    /// itself is wrong and the run is an error.
    pub max_refused: f64,
    /// Whether values are paired with returns that had begun before they were known (default no). Every table then says so.
    pub allow_lookahead: bool,
    /// Days after the entry up to which the fading of the RankIC is followed (default 20).
    pub decay_lags: usize,
    /// Daily price limits by board and date, for tables without limit columns (default: the exchanges' rules).
    pub limits: Vec<LimitRule>,
}

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
            open_bps: 5.0,
            close_bps: 15.0,
            days_per_year: 242,
            min_names: 10,
            max_loss: 0.35,
            max_refused: 0.05,
            allow_lookahead: false,
            decay_lags: 20,
            limits: LimitRule::defaults(),
        }
    }
}

/// The rules of a backtest as a whole.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Preset {
    /// Bought at the next open; what cannot be traded is not; a suspended or delisted holding keeps its last close.
    #[default]
    Default,
    /// `get_clean_factor_and_forward_returns` of alphalens: bought at the close of the factor's own date, tradability not
    /// looked at, a row dropped when any horizon has no return. Such an alignment pairs values with a price at which they
    /// became known; it is allowed, and said.
    Alphalens,
    /// Qlib's default label (bought at the close of the next day) and its groups of `len // N` and halved long-short
    /// return; tradability not looked at.
    Qlib,
}

impl Params {
    /// Fails on parameters that make no sense.
    pub fn validate(&self) -> Result<()> {
        if self.horizons.is_empty() || self.horizons.contains(&0) {
            bail!("[backtest] horizons is {:?}; give at least one, each at least 1 trading day", self.horizons);
        }
        if self.quantiles < 2 {
            bail!("[backtest] quantiles is {}; a top and a bottom need at least 2", self.quantiles);
        }
        if self.rebalance == 0 || self.days_per_year == 0 {
            bail!("[backtest] rebalance and days_per_year are at least 1");
        }
        for (key, share) in [("max_loss", self.max_loss), ("max_refused", self.max_refused)] {
            if !(0.0..=1.0).contains(&share) {
                bail!("[backtest] {key} is {share}; it is a share between 0 and 1 (0.05 = 5 %)");
            }
        }
        for (key, bps) in [("open_bps", self.open_bps), ("close_bps", self.close_bps)] {
            if !(bps.is_finite() && bps >= 0.0) {
                bail!("[backtest] {key} is {bps}; a cost is 0 or more basis points");
            }
        }
        Ok(())
    }

    /// The delay in force.
    pub fn delay_days(&self) -> i64 {
        i64::from(self.delay.unwrap_or(if self.preset == Preset::Alphalens { 0 } else { 1 }))
    }

    /// The price in force.
    pub fn traded_price(&self) -> Price {
        self.price.unwrap_or(if self.preset == Preset::Default { Price::Open } else { Price::Close })
    }

    /// Whether layer returns are demeaned by date.
    pub(super) fn is_demeaned(&self) -> bool {
        self.demean.unwrap_or(self.preset == Preset::Alphalens)
    }

    pub(super) fn lookahead_allowed(&self) -> bool {
        self.allow_lookahead || self.preset == Preset::Alphalens
    }

    /// Whether a date with this few names is left out.
    pub(super) fn names_needed(&self) -> usize {
        if self.preset == Preset::Default { self.min_names.max(2) } else { 1 }
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

    /// Which return a value is paired with.
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
