//! The linter for look-ahead: proves from known-at times that each value was known before its trade, then tries to
//! break the factor.
//!
//! Two checks prove ([`Check::KnownBefore`], [`Check::TradeDate`]), three look at what the values were made with
//! ([`Check::FutureVocabulary`], [`Check::Overlap`], [`Check::Restated`]), one at the names ([`Check::Survivors`]), and
//! four try to break what is left: a factor that stands on the news of the day loses its RankIC when dates or texts are
//! changed for others, and keeps it when names are masked and when it trades a day later. Each gives a verdict with the
//! number behind it; what could not be done says why. RankICs are those of the backtest at the first horizon of its
//! parameters; intervals and p are of the moving-block bootstrap. How a check ends is told where it is made, a file
//! each.
//!
//! Useful for: any factor on a market's axes; the more is known of its documents, the more is checked. Not for: mending.

mod evidence;
mod future_vocabulary;
mod known_before;
mod masked_names;
mod overlap;
mod params;
mod power;
mod restated;
mod same_day;
mod shuffled_dates;
mod shuffled_text;
mod survivors;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
mod trade_date;
mod words;

use std::collections::BTreeMap;

use anyhow::{Result, ensure};
use serde::{Deserialize, Serialize};

pub use evidence::{Document, Model, TextReading, Texts};
pub use params::Params;
pub use words::{check_name, standing_name};

use crate::backtest;
use crate::factor::Factor;
use crate::lint::power::Power;
use inkstone_base::data::Report;
use inkstone_base::job::Ctx;
use inkstone_market::Market;

/// What was looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Check {
    /// Each value was known before the return that it is paired with began.
    KnownBefore,
    /// The value of a date counts for the trading day that its time of publication gives.
    TradeDate,
    /// The predictive power of the same day against that of the next.
    SameDayGap,
    /// What remains when each code's values are moved to other dates of the code.
    ShuffledDates,
    /// What remains when what texts say is given to other texts.
    ShuffledText,
    /// Models and vocabularies were fitted on text of the past alone.
    FutureVocabulary,
    /// What remains when names of companies are masked.
    MaskedNames,
    /// Texts that training and test share.
    Overlap,
    /// The price table has names that were delisted.
    Survivors,
    /// Documents that were ingested long after their publication.
    Restated,
}

/// How a check ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Standing {
    /// Nothing was found.
    Passed,
    /// Something to look at.
    Warned,
    /// The factor looks ahead, or what it rests on is not what it seems.
    Failed,
    /// Could not be done; the finding says why.
    Skipped,
}

/// What a check found.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Verdict {
    /// The check.
    pub check: Check,
    /// How it ended.
    pub standing: Standing,
    /// The number that decided, in the unit that `finding` names; none for a check that could not be done.
    pub number: Option<f64>,
    /// What `number` is held against.
    pub limit: Option<f64>,
    /// What was found, why it matters and the way out: Chinese, English.
    pub finding: (String, String),
    /// Further figures.
    pub figures: BTreeMap<String, serde_json::Value>,
}

/// What is known of a factor.
pub struct Subject<'a> {
    /// The factor, each value with the time at which it was known.
    pub factor: &'a Factor,
    /// The market that it is on.
    pub market: &'a Market,
    /// How it is tested: delay, price, and the horizon of which the first counts.
    pub backtest: &'a backtest::Params,
    /// Whether known-at times were not given but taken as 15:00:00 of the value's date, as [`Factor::from_frame`] does.
    pub times_assumed: bool,
    /// The documents behind it; none for a table of somebody's.
    pub texts: Option<Texts<'a>>,
    /// The same factor of texts in which names of companies are masked.
    pub masked: Masked<'a>,
}

/// What is known of a factor whose texts name no companies.
#[derive(Clone, Copy)]
pub enum Masked<'a> {
    /// Nothing.
    Unknown,
    /// The factor is made of such texts.
    Always,
    /// The same factor, made of such texts.
    Factor(&'a Factor),
}

/// Runs all checks: a verdict each, in the order of [`Check`].
///
/// The report counts checks; those that could not be done are its dropped rows.
pub fn run(subject: &Subject<'_>, params: &Params, ctx: &Ctx) -> Result<(Vec<Verdict>, Report)> {
    params.validate()?;
    let (factor, market) = (subject.factor, subject.market);
    ensure!(
        factor.values.dates() == market.dates() && factor.values.codes() == market.codes(),
        "factor {:?} is not on the dates and codes of this price table; build or read it anew",
        factor.name
    );
    if let Some(texts) = &subject.texts {
        texts.validate(market)?;
    }
    let power = Power::new(subject, params, ctx)?;
    let checks: [&dyn Fn() -> Result<Verdict>; 10] = [
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
    ];
    let mut report = Report::new("lint");
    let mut verdicts = Vec::with_capacity(checks.len());
    for check in checks {
        let verdict = check()?;
        ctx.advance(1)?;
        ctx.note(format!("{:?}: {:?}", verdict.check, verdict.standing));
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
    /// A verdict on a number; one that does not exist is left out.
    fn of(check: Check, standing: Standing, number: f64, limit: Option<f64>, finding: (String, String)) -> Verdict {
        let number = Some(number).filter(|number| number.is_finite());
        Verdict { check, standing, number, limit, finding, figures: BTreeMap::new() }
    }

    /// A check that could not be done, for this reason.
    fn skipped(check: Check, finding: (String, String)) -> Verdict {
        Verdict::of(check, Standing::Skipped, f64::NAN, None, finding)
    }

    /// The same with one more figure.
    fn with(mut self, name: &str, figure: impl Into<serde_json::Value>) -> Verdict {
        self.figures.insert(name.to_owned(), figure.into());
        self
    }
}

/// A check that needs documents, of a factor that came without.
fn no_documents(check: Check) -> Verdict {
    Verdict::skipped(
        check,
        (
            "因子来自一张表，没有背后的文档，此项无从检查；在项目中由文本特征生成该因子（[[factor]]）即可检查。".into(),
            "The factor came as a table without the documents behind it, so this could not be checked; build it from \
             a feature of a project ([[factor]]) to have it done."
                .into(),
        ),
    )
}

/// A check that breaks a RankIC, of a factor that has none to break.
fn nothing_to_break(check: Check, power: &Power) -> Verdict {
    let (mean, p, n) = (power.mean.mean, power.mean.p, power.mean.n);
    let finding = match n {
        0 => (
            "没有一个日期算得出 RankIC（没有可用的值，或每日股票太少），无从打破；先看回测的拒绝与样本数。".to_owned(),
            "No date has a RankIC (no value may be used, or dates have too few names), so there is nothing to break; \
             look at the refusals and counts of the backtest first."
                .to_owned(),
        ),
        _ => (
            format!("RankIC 均值 {mean:+.4}（{n} 日，p = {p:.3}）与零无异，没有可打破的预测力；更长的样本才能判断。"),
            format!(
                "The mean RankIC of {mean:+.4} ({n} dates, p = {p:.3}) does not differ from zero, so there is nothing \
                 to break; only a longer sample can tell."
            ),
        ),
    };
    Verdict::skipped(check, finding).with("rank_ic", mean).with("p", p)
}
