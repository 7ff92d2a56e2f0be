//! The market that documents speak of: codes, calendar, securities and daily prices.
//!
//! Useful for: anything that needs to know which day a text can be traded on, or what a return was.
//! Not for: reading files (that is `ingest`).

mod board;
mod calendar;
mod panel;
mod prices;
mod security;
pub mod table;
mod tradability;

pub use board::Board;
pub use calendar::{AUCTION, CLOSE, Calendar, Cutoff, OPEN, OffCalendar};
pub use panel::Panel;
pub use prices::{Market, Price};
pub use security::{Security, dates_column, dates_of, securities_from_frame, securities_to_frame};
pub use tradability::{Gate, LimitRule, Tradability};

/// Columns of the price table: `date` (Date), `code` (canonical, String), then f64, null where unknown.
///
/// Prices in CNY a share, volume in shares, amount and market_cap (float or total, as the source means it) in CNY,
/// limits in CNY. Rows are sorted by date, then code, and unique. `close` null or `volume` 0 means suspended.
/// Prices are as the source adjusts them; returns are right only when all prices of a code use one adjustment.
/// A table that does not come from ingest must have these units too: vendors write volume in lots of 100 shares and amount in
/// thousands of CNY.
pub const PRICE_COLUMNS: [&str; 12] = [
    "date",
    "code",
    "open",
    "high",
    "low",
    "close",
    "vwap",
    "volume",
    "amount",
    "market_cap",
    "up_limit",
    "down_limit",
];
