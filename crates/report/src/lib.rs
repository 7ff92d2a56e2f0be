//! Reports: what was found, as a page for people, as charts, and as text for a terminal.
//!
//! Takes what is computed, of an experiment or of a factor; gives HTML, SVG, PNG or lines of text. Charts are vectors and pages hold all
//! that they need, so that a report can be mailed and read without a network. The same findings give the same bytes; bitmaps do on
//! machines with the same fonts.
//!
//! Useful for: showing an experiment or a factor. Not for: computing anything of it.

mod axis;
mod differences;
mod factor;
mod finding;
mod frontier;
#[cfg(test)]
mod hostile;
mod html;
mod legend;
mod page;
mod png;
mod spread;
mod svg;
mod terminal;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
mod verdict;
mod words;

pub use differences::differences_svg;
pub use factor::{FactorPage, factor_charts, factor_html};
pub use finding::finding;
pub use finding::{DECIMALS, Standing, interval, label, standing, tokens};
pub use frontier::frontier_svg;
pub use html::experiment_html;
pub use inkstone_base::language::Language;
pub use png::png;
pub use terminal::wrapped;
pub use terminal::{Line, Piece, Tone, best_first, experiment_lines, frontier_chart, frontier_legend, mark_of};
pub use verdict::{check_name, standing_name, verdict_sentences, verdicts_json};
pub use words::{measure, section};
