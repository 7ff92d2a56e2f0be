//! From signals to a factor that is tested: expressions and their cross-sections ([`factor`]), backtests and event studies ([`backtest`]),
//! checks against look-ahead ([`lint`]), the ledger of every trial ([`ledger`]), and exports ([`export`]). Knows numbers by date and code, and no text.

pub mod backtest;
pub mod export;
pub mod factor;
pub mod ledger;
pub mod lint;
