//! The report of the factor laboratory: everything that was found of a factor on one page, and its charts as files.
//!
//! The page says first, in words, what was found and how far to trust it: the sign as it is, chance where chance can have done it, and
//! no judgement at all of a factor that looks ahead or that the linter failed. Every chart and table names its unit and which return a
//! value is paired with.

mod books;
mod events;
mod evidence;
mod finding;
mod html;
mod ic;
mod layers;
mod lines;
mod manifest;
mod names;
mod plot;
mod series;
mod sheet;
mod tables;
mod tear_sheet;
#[cfg(test)]
pub(crate) mod testing;
#[cfg(test)]
mod tests;
mod words;

use anyhow::Result;

use self::sheet::Sheet;
use super::frontier_svg;
use inkstone_features::experiment::Findings;
use inkstone_lab::backtest::events::EventStudy;
use inkstone_lab::backtest::{FactorBeside, Outcome};
use inkstone_lab::factor::TracedDate;
use inkstone_lab::ledger::Looks;
use inkstone_lab::lint::Verdict;

pub use html::factor_html;
pub use words::style_name;

use inkstone_base::language::{Language, Word};

/// Inputs of a report on a factor.
#[derive(Clone, Copy, Debug)]
pub struct FactorReport<'a> {
    pub outcome: &'a Outcome,
    /// Returns around documents, if that was looked at.
    pub events: Option<&'a EventStudy>,
    /// Verdicts of the linter; empty if it did not run, which the page says.
    pub verdicts: &'a [Verdict],
    /// Significance of the result after all trials.
    pub looks: Option<&'a Looks>,
    /// The factor beside the others of its project; none where there are no others.
    pub beside: Option<&'a FactorBeside>,
    /// The values of the factor's last date, with the titles of the documents behind them.
    pub newest: Option<&'a TracedDate>,
    /// Experiments on truncation.
    pub experiments: &'a [Findings],
    /// Parameters, hashes, seed, versions, known-at rule, by name; null where there is none.
    pub manifest: &'a serde_json::Value,
    /// Said on top, for instance that the data is synthetic; an empty one is left out.
    pub note: &'a str,
}

/// A chart of the report.
struct Chart {
    /// Name of its file.
    stem: &'static str,
    /// Text in place of a chart without data.
    none: Word,
    /// Makes it ready; none where there is nothing to draw.
    sheet: for<'a> fn(&FactorReport<'a>, Language) -> Option<Sheet<'a>>,
}

/// Every chart but the frontiers, in the order of the page.
const CHARTS: [&Chart; 15] = [
    &ic::RANK_IC,
    &ic::DECAY,
    &layers::WEALTH,
    &layers::MEANS,
    &books::LONG_SHORT,
    &tear_sheet::MONTHS,
    &tear_sheet::YEARS,
    &tear_sheet::ROLLING,
    &books::LEGS,
    &books::TURNOVER,
    &books::PORTFOLIOS,
    &names::SAMPLES,
    &names::COVERAGE,
    &tear_sheet::STYLES,
    &events::EVENTS,
];

/// The charts as SVG files that stand alone, in one language: the stem of a file's name, and the SVG. What has nothing to show is
/// left out; [`crate::png()`] makes bitmaps of them.
pub fn factor_charts(page: &FactorReport<'_>, language: Language) -> Result<Vec<(String, String)>> {
    let mut charts = Vec::with_capacity(CHARTS.len() + page.experiments.len());
    for chart in CHARTS {
        if let Some(sheet) = (chart.sheet)(page, language) {
            charts.push((chart.stem.to_owned(), sheet.svg(page.outcome.lookahead, true, language)?));
        }
    }
    for (i, findings) in page.experiments.iter().enumerate() {
        if let Some(svg) = frontier_svg(findings, language)? {
            // Names of experiments are free; files have a number.
            charts.push((format!("frontier_{}", i + 1), svg));
        }
    }
    Ok(charts)
}

/// A chart's title with the factor's name.
fn titled(page: &FactorReport<'_>, title: Word, language: Language) -> String {
    format!("{} · {}", page.outcome.factor, title.to(language))
}

/// Caption of a chart: its content, and the return that a value is paired with.
fn notes(page: &FactorReport<'_>, caption: Word, language: Language) -> Vec<String> {
    let notes = [caption.to(language).to_owned(), words::alignment(page.outcome, language)];
    notes.into_iter().filter(|note| !note.is_empty()).collect()
}
