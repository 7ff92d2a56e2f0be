//! Presets: the rules of a backtest as a whole.

use serde::{Deserialize, Serialize};

use inkstone_market::Price;

/// Name of a set of rules.
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
    /// Qlib's default label (bought at the close of the next day), its groups of `len // N` and halved long-short return;
    /// tradability not looked at. Figures of books are those of its `risk_analysis` in mode `sum`, which counts 238 days a year
    /// where `days_per_year` is not set to that.
    Qlib,
}

/// Choices that a preset makes.
pub(super) struct PresetRules {
    /// Trading days from the factor's date to the trade, if the parameters give none.
    pub delay: i32,
    /// Price of the trade, if the parameters give none.
    pub price: Price,
    /// True if layer returns are demeaned by date, if the parameters do not say.
    pub demean: bool,
    /// True if values are used that were known too late.
    pub lookahead: bool,
    /// True if every date enters, however few its names.
    pub every_date: bool,
    /// True if suspensions, price limits, new listings and delistings are looked at.
    pub gated: bool,
    /// True if a missing price is the last price before.
    pub fills_prices: bool,
    /// Standard deviations from the mean of its name beyond which a return is left out (`filter_zscore` of alphalens).
    pub outlier: Option<f64>,
    /// True if a value is dropped when any horizon has no return, and not only when all have none.
    pub whole_rows: bool,
    pub cut: QuantileCut,
    /// True if the spread is halved, since its two legs need twice the capital.
    pub halves_spread: bool,
    /// True if annual returns and falls are of sums of returns, not of compounded ones.
    pub adds_up: bool,
    /// True if a negative number of names is one from the end, as in Python's slices.
    pub python_slices: bool,
}

/// A way to cut the names of a date into quantiles.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum QuantileCut {
    /// By edges of the average ranks, within industries if the parameters say so.
    Ranks,
    /// By edges of the values (`pandas.qcut`); a date without distinct edges is left out.
    Values,
    /// Groups of `len // N` at either end, of the names with a return.
    Groups,
}

const DEFAULT: PresetRules = PresetRules {
    delay: 1,
    price: Price::Open,
    demean: false,
    lookahead: false,
    every_date: false,
    gated: true,
    fills_prices: true,
    outlier: None,
    whole_rows: false,
    cut: QuantileCut::Ranks,
    halves_spread: false,
    adds_up: false,
    python_slices: false,
};

const ALPHALENS: PresetRules = PresetRules {
    delay: 0,
    price: Price::Close,
    demean: true,
    lookahead: true,
    every_date: true,
    gated: false,
    outlier: Some(20.0),
    whole_rows: true,
    cut: QuantileCut::Values,
    halves_spread: true,
    ..DEFAULT
};

const QLIB: PresetRules = PresetRules {
    price: Price::Close,
    every_date: true,
    gated: false,
    fills_prices: false,
    cut: QuantileCut::Groups,
    halves_spread: true,
    adds_up: true,
    python_slices: true,
    ..DEFAULT
};

impl Preset {
    pub(super) fn rules(self) -> &'static PresetRules {
        match self {
            Preset::Default => &DEFAULT,
            Preset::Alphalens => &ALPHALENS,
            Preset::Qlib => &QLIB,
        }
    }
}
