//! The market that documents speak of: codes, calendar, securities, daily prices, and whether a name could be traded.
//!
//! ```
//! use chrono::NaiveDate;
//! use inkstone_market::{Calendar, Cutoff};
//!
//! let january = |day| NaiveDate::from_ymd_opt(2024, 1, day).expect("a day of January");
//! let calendar = Calendar::new(vec![january(4), january(5), january(8)])?;
//! // A text of Friday evening counts for Monday.
//! let evening = january(5).and_hms_opt(20, 0, 0).expect("a time of day");
//! assert_eq!(calendar.trade_date(evening, Cutoff::Close), Ok(2));
//! # anyhow::Ok(())
//! ```
//!
//! Not for: reading files of vendors (that is `inkstone-corpus`).

mod adjustment;
mod axes;
mod board;
mod by_name;
mod calendar;
mod event;
mod lazy;
mod panel;
mod prices;
mod relation;
mod security;
pub mod table;
mod tradability;

pub use adjustment::{Adjustment, AdjustmentScan, Bar, Fall, Seam};
pub use axes::{DaysAndNames, MarketAxes};
pub use board::Board;
pub use by_name::TableByName;
pub use calendar::{AUCTION, CLOSE, Calendar, Cutoff, OPEN, OffCalendar};
pub use event::{CompanyEvent, EventArguments, events_from_frame, events_to_frame};
pub use lazy::LazyMarket;
pub use panel::Panel;
pub use prices::{Market, Price};
pub use relation::{Relation, relations_from_frame, relations_to_frame};
pub use security::{Security, dates_column, dates_of, securities_from_frame, securities_to_frame};
pub use tradability::{Gate, LimitRule, Tradability};

/// Columns of the price table: `date` (Date), `code` (canonical, String), then f64, null where unknown.
///
/// Prices in CNY a share, volume in shares, amount and market_cap (float or total, as the source means it) in CNY,
/// limits in CNY. Rows are sorted by date, then code, and unique. `close` null or a `volume` below 1 means suspended.
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
