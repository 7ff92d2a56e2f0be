//! A backtest made ready to draw: sums, means by month and growth curves, so that drawing computes nothing.

use anyhow::Result;
use chrono::{Datelike, NaiveDate};
use serde::de::DeserializeOwned;

use super::{Judgement, PlantedTruth};
use crate::Workspace;
use inkstone_base::disk;
use inkstone_base::language::Message;
use inkstone_lab::backtest::events::EventStudy;
use inkstone_lab::backtest::{Coverage, IcSummary, Outcome};
use inkstone_lab::lint::{Verdict, read_verdicts};

/// A backtest and what is drawn of it.
#[derive(Debug)]
pub(super) struct BacktestPicture {
    pub outcome: Outcome,
    /// By horizon, as in the outcome.
    pub horizons: Vec<Horizon>,
    /// Growth of 1 of the long-short portfolio after costs, by its dates.
    pub wealth: Vec<f64>,
    /// Fall of that from its highest value so far, 0 or negative.
    pub drawdown: Vec<f64>,
    /// Mean over dates of names with a value / names that traded.
    pub coverage: f64,
    /// All dates that any curve has, ascending: where the cursor can stand.
    pub dates: Vec<NaiveDate>,
    /// The verdict of linter and ledger, if any.
    pub judgement: Option<Judgement>,
    /// The effect that was planted in the data, where the data is made.
    pub planted: Option<PlantedTruth>,
    /// The verdicts of the checks for look-ahead, empty before they ran; or why they cannot be read.
    pub verdicts: Result<Vec<Verdict>, Message>,
    /// Returns around documents, for the charts that are saved.
    pub events: Option<EventStudy>,
}

/// Information coefficients at one horizon.
#[derive(Debug)]
pub(super) struct Horizon {
    pub days: usize,
    pub dates: Vec<NaiveDate>,
    /// Rank correlation by date.
    pub rank_ic: Vec<f64>,
    /// Cumulative sum of the series by date; a date without a value adds nothing.
    pub sum: Vec<f64>,
    pub summary: IcSummary,
    /// Mean return by quantile, where the layers have this horizon, and its standard error.
    pub layers: Vec<f64>,
    pub errors: Vec<f64>,
}

/// A span of the calendar that a bar stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CalendarStep {
    Week,
    Month,
    Quarter,
    Year,
}

impl CalendarStep {
    /// The span a date lies in, as a number that grows with time.
    fn number(self, date: NaiveDate) -> i32 {
        let month = date.month0() as i32;
        match self {
            CalendarStep::Week => (date.num_days_from_ce() - 1).div_euclid(7),
            CalendarStep::Month => 12 * date.year() + month,
            CalendarStep::Quarter => 4 * date.year() + month / 3,
            CalendarStep::Year => date.year(),
        }
    }
}

impl BacktestPicture {
    pub(super) fn new(outcome: Outcome) -> BacktestPicture {
        let layers = outcome.layers.by_horizon();
        let horizons: Vec<Horizon> = outcome
            .ic
            .iter()
            .map(|ic| Horizon {
                days: ic.horizon,
                dates: ic.dates.clone(),
                rank_ic: ic.rank_ic.clone(),
                sum: running_sum(&ic.rank_ic),
                summary: ic.rank_ic_summary,
                layers: layers.get(ic.horizon).map_or(Vec::new(), |returns| returns.mean.to_vec()),
                errors: layers.get(ic.horizon).map_or(Vec::new(), |returns| returns.stderr.to_vec()),
            })
            .collect();
        let wealth = growth(&outcome.long_short.net);
        let drawdown = drawdown(&wealth);
        let coverage = outcome.coverage.mean_share();
        let mut dates: Vec<NaiveDate> = horizons.iter().flat_map(|h| &h.dates).copied().collect();
        dates.extend(&outcome.layers.dates);
        dates.extend(&outcome.long_short.dates);
        dates.sort_unstable();
        dates.dedup();
        let (judgement, planted, verdicts, events) = (None, None, Ok(Vec::new()), None);
        BacktestPicture { outcome, horizons, wealth, drawdown, coverage, dates, judgement, planted, verdicts, events }
    }

    /// Reads what there is of a factor; none before its backtest.
    pub(super) fn read(workspace: &Workspace, name: &str) -> Result<Option<Box<BacktestPicture>>> {
        let project = &workspace.project;
        if !project.backtest(name).exists() {
            return Ok(None);
        }
        // A ledger that a run holds, verdicts or events that cannot be read are no reason to show no backtest.
        let judgement = workspace.judgement.as_ref().and_then(|judge| judge(name).ok().flatten());
        let planted = workspace.planted.as_ref().and_then(|planted| planted(name));
        let verdicts = read_verdicts(&project.lint(name)).map_err(|error| Message::of_error(&error));
        let events = read_if_there::<Option<EventStudy>>(&project.events(name)).ok().flatten().flatten();
        let picture = BacktestPicture::new(disk::read_json::<Outcome>(&project.backtest(name))?);
        Ok(Some(Box::new(BacktestPicture { judgement, planted, verdicts, events, ..picture })))
    }

    /// The dates on which there are names with a value, ascending.
    pub(crate) fn dates_with_names(&self) -> impl Iterator<Item = NaiveDate> {
        let Coverage { dates, names, .. } = &self.outcome.coverage;
        dates.iter().zip(names).filter(|(_, names)| **names > 0).map(|(date, _)| *date)
    }
}

fn read_if_there<T: DeserializeOwned>(path: &std::path::Path) -> Result<Option<T>> {
    path.exists().then(|| disk::read_json(path)).transpose()
}

/// The sums up to each value; NaN adds nothing.
fn running_sum(values: &[f64]) -> Vec<f64> {
    let mut sum = 0.0;
    values
        .iter()
        .map(|v| {
            sum += if v.is_finite() { *v } else { 0.0 };
            sum
        })
        .collect()
}

/// Growth of 1 by these returns; a day without a return leaves it.
pub(super) fn growth(returns: &[f64]) -> Vec<f64> {
    let mut wealth = 1.0;
    returns
        .iter()
        .map(|r| {
            wealth *= 1.0 + if r.is_finite() { *r } else { 0.0 };
            wealth
        })
        .collect()
}

/// The fall from the highest value so far, counting the 1 that it began with.
fn drawdown(wealth: &[f64]) -> Vec<f64> {
    let mut peak: f64 = 1.0;
    wealth
        .iter()
        .map(|w| {
            peak = peak.max(*w);
            w / peak - 1.0
        })
        .collect()
}

/// The mean of the finite values in each span of the calendar that has any, with the first date of it.
fn means(dates: &[NaiveDate], values: &[f64], step: CalendarStep) -> Vec<(NaiveDate, f64)> {
    let mut means: Vec<(NaiveDate, f64, usize)> = Vec::new();
    for (&date, &value) in dates.iter().zip(values).filter(|(_, v)| v.is_finite()) {
        match means.last_mut() {
            Some((first, sum, n)) if step.number(*first) == step.number(date) => (*sum, *n) = (*sum + value, *n + 1),
            _ => means.push((date, value, 1)),
        }
    }
    means.into_iter().map(|(date, sum, n)| (date, sum / n as f64)).collect()
}

/// Means by the shortest span of which at most `most` bars fit, weeks only where they are two cells wide; years beyond that lose the
/// earliest.
pub(crate) fn fitting_means(dates: &[NaiveDate], values: &[f64], most: usize) -> (CalendarStep, Vec<(NaiveDate, f64)>) {
    let weeks = means(dates, values, CalendarStep::Week);
    if 2 * weeks.len() <= most {
        return (CalendarStep::Week, weeks);
    }
    for step in [CalendarStep::Month, CalendarStep::Quarter] {
        let means = means(dates, values, step);
        if means.len() <= most {
            return (step, means);
        }
    }
    let mut years = means(dates, values, CalendarStep::Year);
    years.drain(..years.len().saturating_sub(most));
    (CalendarStep::Year, years)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn day(text: &str) -> NaiveDate {
        text.parse().unwrap()
    }

    #[test]
    fn means_are_taken_by_the_longest_list_that_fits() {
        let dates = ["2023-01-05", "2023-01-09", "2023-02-01", "2023-07-03", "2024-01-02"].map(day);
        let values = [0.1, 0.3, f64::NAN, -0.2, 0.4];
        let (step, weeks) = fitting_means(&dates, &values, 8);
        assert_eq!(step, CalendarStep::Week);
        assert_eq!(weeks, [(dates[0], 0.1), (dates[1], 0.3), (dates[3], -0.2), (dates[4], 0.4)]);
        let (step, months) = fitting_means(&dates, &values, 7);
        assert_eq!(step, CalendarStep::Month);
        assert_eq!(months, [(dates[0], 0.2), (dates[3], -0.2), (dates[4], 0.4)]);
        let (step, years) = fitting_means(&dates, &values, 1);
        assert_eq!((step, years), (CalendarStep::Year, vec![(dates[4], 0.4)]));
    }

    #[test]
    fn growth_and_drawdown_pass_over_missing_days() {
        let wealth = growth(&[0.5, f64::NAN, -0.5]);
        assert_eq!(wealth, [1.5, 1.5, 0.75]);
        assert_eq!(drawdown(&wealth), [0.0, 0.0, -0.5]);
        assert_eq!(drawdown(&growth(&[-0.25])), [-0.25]);
        assert_eq!(running_sum(&[0.5, f64::NAN, -0.25]), [0.5, 0.5, 0.25]);
    }
}
