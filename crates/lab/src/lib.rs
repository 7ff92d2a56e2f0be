//! From signals to a factor that is tested: expressions and their cross-sections ([`factor`]), backtests and event studies ([`backtest`]),
//! checks against look-ahead ([`lint`]), the audit of anybody's result ([`audit`]), the ledger of every trial ([`ledger`]), one stock with its documents ([`stock`]), and exports ([`export`]). Knows numbers by date and code,
//! and no text.
//!
//! ```no_run
//! use std::path::Path;
//!
//! use inkstone_base::job::Ctx;
//! use inkstone_lab::backtest;
//! use inkstone_lab::factor::Factor;
//! use inkstone_market::Market;
//!
//! let market = Market::read(Path::new("prices.csv"), &[])?;
//! let (factor, _) = Factor::read(Path::new("tone.parquet"), &market)?;
//! let (outcome, _) = backtest::run(&factor, &market, &backtest::Params::default(), &Ctx::new(2, 1)?)?;
//! for series in &outcome.ic {
//!     println!("{} days: RankIC {:.4}", series.horizon, series.rank_ic_summary.mean);
//! }
//! # anyhow::Ok(())
//! ```

#[macro_use]
mod nan;

pub mod audit;
pub mod backtest;
pub mod export;
pub mod factor;
pub mod ledger;
pub mod lint;
pub mod stock;
