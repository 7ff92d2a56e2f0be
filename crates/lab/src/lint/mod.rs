//! The linter for look-ahead: proves from known-at times that each value was known before its trade, then tries to
//! break the factor.
//!
//! Two checks prove ([`Check::KnownBefore`], [`Check::TradeDate`]), four look at what the values were made with
//! ([`Check::FutureVocabulary`], [`Check::Overlap`], [`Check::Restated`], [`Check::Crawled`]), one at the names ([`Check::Survivors`]), one at the
//! prices ([`Check::Unadjusted`]), and four (five of a factor with a graph, [`Check::RewiredGraph`]) try to break what is left: a factor that stands on the news of the day loses its RankIC when dates or texts are
//! changed for others, and keeps it when names are masked and when it trades a day later. Each gives a verdict with the
//! number behind it; what could not be done says why. RankICs are those of the backtest at the first horizon of its
//! parameters; intervals and p are of the moving-block bootstrap. Each check has a file, whose head says how it ends. A
//! verdict holds data; `inkstone-report` makes its sentences.
//!
//! Useful for: any factor on a market's axes; the more is known of its documents, the more is checked. Not for: mending.

mod crawled;
mod evidence;
pub mod finding;
mod future_vocabulary;
mod known_before;
mod masked_names;
mod overlap;
mod params;
mod power;
mod restated;
mod rewired_graph;
mod same_day;
mod shuffled_dates;
mod shuffled_text;
pub(crate) mod survivors;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
mod trade_date;
mod unadjusted;

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::Result;
use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};

pub use evidence::{DocumentEvidence, FittedModel, TextReading, Texts};
pub use finding::Finding;
pub use params::Params;
pub use rewired_graph::Rewire;

use crate::backtest;
use crate::factor::Factor;
use crate::lint::finding::{NoPower, OtherFactors, RankedDates};
use crate::lint::power::Power;
use inkstone_base::data::Report;
use inkstone_base::disk;
use inkstone_base::job::Ctx;
use inkstone_market::Market;

/// The check for one kind of look-ahead.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Check {
    /// Each value was known before the return that it is paired with began.
    KnownBefore,
    /// The value of a date counts for the trading day that its time of publication gives.
    TradeDate,
    /// Predictive power for the same day, compared with the next day.
    SameDayGap,
    /// Predictive power that remains when each code's values are moved to other dates of the code.
    ShuffledDates,
    /// Predictive power that remains when the values of texts are given to other texts.
    ShuffledText,
    /// Models and vocabularies were fitted on text of the past alone.
    FutureVocabulary,
    /// Predictive power that remains when names of companies are masked.
    MaskedNames,
    /// Texts that training and test share.
    Overlap,
    /// The price table has names that were delisted.
    Survivors,
    /// Documents that were ingested long after their publication.
    Restated,
    /// Returns that go across a change of the adjustment of prices.
    Unadjusted,
    /// Fields of documents that were known when a page was crawled, not when it was published.
    Crawled,
    /// Predictive power that remains when the graph over which a factor spreads numbers is rewired.
    RewiredGraph,
}

/// End of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Standing {
    Passed,
    /// Something to look at.
    Warned,
    /// The factor looks ahead, or its predictive power comes from something else than it seems.
    Failed,
    /// The check could not be done; the finding says why.
    Skipped,
}

/// End of a check, and its measurements.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Verdict {
    pub check: Check,
    pub standing: Standing,
    /// The number that decided; none for a check that could not be done.
    pub number: Option<f64>,
    /// The limit of `number`.
    pub limit: Option<f64>,
    pub finding: Finding,
}

/// A factor under test, and what is known of it.
pub struct Subject<'a> {
    /// The factor, each value with the time at which it was known.
    pub factor: &'a Factor,
    pub market: &'a Market,
    /// Delay, price and horizons of its backtest; the first horizon counts.
    pub backtest: &'a backtest::Params,
    /// True if known-at times were not given but taken as 15:00:00 of the value's date, as [`Factor::from_table`] does.
    pub times_assumed: bool,
    /// The documents behind the factor; none for a factor that came as a table, and for one that reads none.
    pub texts: Option<Texts<'a>>,
    /// The factors that its expression names; none for a factor that came as a table.
    pub factors: Option<&'a [String]>,
    /// The same factor, made of texts in which names of companies are masked.
    pub masked: Masked<'a>,
    /// Builds the factor with its graphs rewired; none for a factor without a graph.
    pub rewire: Option<Rewire<'a>>,
}

/// The factor of texts in which names of companies are masked.
#[derive(Clone, Copy)]
pub enum Masked<'a> {
    Unknown,
    /// The factor under test is made of such texts.
    Always,
    /// No model reads texts for the factor.
    NoTexts,
    /// With masked names too little text is left to fit the model on.
    TooLittle,
    Factor(&'a Factor),
}

/// Runs all checks: a verdict each, in the order of [`Check`]; that of graphs only on a factor that has one.
///
/// The report counts checks; those that could not be done are its dropped rows.
pub fn run(subject: &Subject<'_>, params: &Params, ctx: &Ctx) -> Result<(Vec<Verdict>, Report)> {
    params.validate()?;
    let market = subject.market;
    subject.factor.check_axes(market)?;
    if let Some(texts) = &subject.texts {
        texts.validate(market)?;
    }
    let power = Power::new(subject, params, ctx)?;
    let rewired = subject.rewire.map(|rewire| {
        let (power, params) = (&power, params);
        move || rewired_graph::check(rewire, power, params, ctx)
    });
    let of_all: [&dyn Fn() -> Result<Verdict>; 12] = [
        &|| Ok(known_before::check(subject)),
        &|| Ok(trade_date::check(subject)),
        &|| same_day::check(subject, &power, params, ctx),
        &|| shuffled_dates::check(&power, params, ctx),
        &|| shuffled_text::check(subject, &power, params, ctx),
        &|| future_vocabulary::check(subject, &power, params, ctx),
        &|| masked_names::check(subject, &power, params, ctx),
        &|| Ok(overlap::check(subject, params)),
        &|| Ok(survivors::check(subject, params)),
        &|| restated::check(subject, &power, params, ctx),
        &|| Ok(unadjusted::check(subject)),
        &|| Ok(crawled::check(subject)),
    ];
    let of_graphs = rewired.iter().map(|check| check as &dyn Fn() -> Result<Verdict>);
    let checks: Vec<&dyn Fn() -> Result<Verdict>> = of_all.into_iter().chain(of_graphs).collect();
    let mut report = Report::new("lint");
    let mut verdicts = Vec::with_capacity(checks.len());
    for (done, check) in checks.iter().enumerate() {
        let verdict = check()?;
        ctx.advance(1)?;
        ctx.note(format!("{}/{}", done + 1, checks.len()));
        verdicts.push(verdict);
    }
    report.rows_in = verdicts.len() as u64;
    let count = |standing| verdicts.iter().filter(|v| v.standing == standing).count() as u64;
    report.drop_rows("could not be done", count(Standing::Skipped));
    report.rows_out = report.rows_in - report.dropped_rows();
    for (name, standing) in [("passed", Standing::Passed), ("warned", Standing::Warned), ("failed", Standing::Failed)] {
        report.fact(name, count(standing));
    }
    report.fact("rank_ic", power.mean.mean);
    report.fact("rank_ic_p", power.mean.p);
    Ok((verdicts, report))
}

impl Verdict {
    /// A verdict on a number; one that is not finite is left out.
    fn new(check: Check, standing: Standing, number: f64, limit: Option<f64>, finding: Finding) -> Verdict {
        let number = Some(number).filter(|number| number.is_finite());
        Verdict { check, standing, number, limit, finding }
    }

    /// A check that could not be done.
    fn skipped(check: Check, finding: Finding) -> Verdict {
        Verdict::new(check, Standing::Skipped, f64::NAN, None, finding)
    }

    /// The figures by name.
    pub fn figures(&self) -> BTreeMap<String, serde_json::Value> {
        self.finding.figures()
    }
}

/// Reads the verdicts that a project stores of a factor; none without a file, or where an older version wrote it.
pub fn read_verdicts(path: &Path) -> Result<Vec<Verdict>> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum VerdictFile {
        Verdicts(Vec<Verdict>),
        Older(IgnoredAny),
    }
    Ok(match path.exists().then(|| disk::read_json(path)).transpose()? {
        Some(VerdictFile::Verdicts(verdicts)) => verdicts,
        Some(VerdictFile::Older(IgnoredAny)) | None => Vec::new(),
    })
}

/// The verdict of a check that needs documents, on a factor that has none.
fn no_documents(check: Check, subject: &Subject<'_>) -> Verdict {
    let finding = match subject.factors {
        Some(factors) => Finding::ReadsNoDocuments { context: OtherFactors { factors: factors.to_vec() } },
        None => Finding::NoDocuments,
    };
    Verdict::skipped(check, finding)
}

/// The verdict of a check that breaks a RankIC, on a factor that has none to break.
fn nothing_to_break(check: Check, power: &Power) -> Verdict {
    let (rank_ic, p, context) = (power.mean.mean, power.mean.p, RankedDates { dates: power.mean.n });
    Verdict::skipped(check, Finding::NothingToBreak(NoPower { rank_ic, p, context }))
}
