//! Reports on factors, experiments and audits: HTML pages, SVG and PNG charts, lines of text, and the sentences on verdicts of the linter.
//!
//! Charts are vectors and pages hold all that they need, so that a report can be mailed and read without a network. The same findings give
//! the same bytes; bitmaps do on machines with the same fonts. Nothing is computed here.
//!
//! ```
//! use inkstone_lab::backtest::Outcome;
//! use inkstone_report::{FactorReport, factor_html};
//!
//! let outcome = Outcome { factor: "tone".to_owned(), ..Outcome::default() };
//! let (outcome, manifest) = (&outcome, &serde_json::Value::Null);
//! let page = FactorReport {
//!     outcome,
//!     events: None,
//!     verdicts: &[],
//!     looks: None,
//!     beside: None,
//!     newest: None,
//!     experiments: &[],
//!     manifest,
//!     note: "",
//! };
//! assert!(factor_html(&page)?.starts_with("<!doctype html>"));
//! # anyhow::Ok(())
//! ```

mod audit;
mod axis;
mod differences;
mod factor;
mod finding;
mod frontier;
#[cfg(test)]
mod hostile;
mod html;
mod legend;
#[cfg(test)]
mod markup;
mod page;
mod png;
mod sixel;
mod spread;
mod svg;
mod terminal;
#[doc(hidden)]
pub mod testing;
mod verdict;
mod words;

pub use audit::{audit_check_name, audit_html, audit_json, audit_lines, audit_sentences};
pub(crate) use differences::differences_svg;
pub use factor::{FactorReport, factor_charts, factor_html, style_name};
pub use finding::finding;
pub use finding::{CellStanding, DECIMALS, effect_label, interval, label, standing, tokens};
pub use frontier::frontier_svg;
pub use html::experiment_html;
pub use inkstone_base::language::Language;
pub use png::png;
pub use sixel::sixel;
pub use terminal::{StyledLine, StyledText, TextTone, best_first, frontier_chart, frontier_legend, mark_of, wrapped};
pub use verdict::{check_name, standing_name, verdict_sentences, verdicts_json};
pub use words::{measure, section};
