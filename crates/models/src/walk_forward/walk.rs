//! The walk itself, whatever is fitted: which samples may train a fold, and what each fold saw.

use anyhow::{Context, Result};
use chrono::{NaiveDate, NaiveDateTime, NaiveTime};
use rustc_hash::FxHashSet;

use super::text::{FoldReport, Sample};
use super::{Fold, WalkForward};
use inkstone_base::data::Report;
use inkstone_base::job::Ctx;
use inkstone_base::{ensure, message};

/// When a day's label is known: at the close of trading, Shanghai time.
pub(super) const CLOSE: NaiveTime = NaiveTime::from_hms_opt(15, 0, 0).expect("15:00:00 is a time of day");

/// Why a fold is passed over.
const TOO_FEW: &str = "too few training samples (min_train_rows)";
const NO_CLASS: &str = "no training sample of the first or the last class (classes.labels)";

/// One fold as its model is to be fitted and used.
pub(crate) struct WalkStep {
    /// Samples that may train, ascending; at least `min_train_rows`, each with a label.
    pub train: Vec<usize>,
    /// Samples to be scored, ascending.
    pub test: Vec<usize>,
    /// The last moment of the training samples, texts and labels.
    pub fitted_until: NaiveDateTime,
}

/// The models of a walk, fold by fold.
pub(crate) struct Walked<M> {
    /// The fold that scored each sample; -1 for none. Where windows overlap, the newest.
    pub fold: Vec<i32>,
    /// The fitted models; `None` for a fold that was passed over.
    pub models: Vec<Option<M>>,
    pub folds: Vec<FoldReport>,
}

/// Walks fold after fold: `fit` fits the model of a step and scores its test samples, noting what it saw in the fold's
/// report, or passes the fold over. Progress is counted in folds.
///
/// The report counts samples without a score by reason and carries the folds.
pub(crate) fn walk_folds<M>(
    samples: &[Sample],
    dates: &[NaiveDate],
    walk: &WalkForward,
    ctx: &Ctx,
    mut fit: impl FnMut(&WalkStep, &mut FoldReport) -> Result<Option<M>>,
) -> Result<(Walked<M>, Report)> {
    check(samples, dates)?;
    let folds = walk.folds(dates.len())?;
    let mut walked =
        Walked { fold: vec![-1; samples.len()], models: Vec::with_capacity(folds.len()), folds: Vec::new() };
    let mut passed_over = vec![None; samples.len()];
    for (k, fold) in folds.iter().enumerate() {
        let (train, test, mut report) = admit(samples, dates, walk, fold);
        let mut model = None;
        report.train_rows = train.len();
        if let Some(fitted_until) = last_seen(samples, dates, walk, &train) {
            let step = WalkStep { train, test, fitted_until };
            model = fit(&step, &mut report).with_context(|| {
                message!(
                    "第 {} 折（训练期 {} 到 {}）",
                    "fold {} (trained {} to {})",
                    k + 1,
                    report.train.0,
                    report.train.1
                )
            })?;
            report.fitted_until = model.is_some().then_some(fitted_until);
            for &i in &step.test {
                match model {
                    Some(_) => walked.fold[i] = k as i32,
                    None if report.missing.is_empty() => passed_over[i] = Some(TOO_FEW),
                    None => passed_over[i] = Some(NO_CLASS),
                }
            }
        } else {
            test.iter().for_each(|&i| passed_over[i] = Some(TOO_FEW));
        }
        walked.models.push(model);
        walked.folds.push(report);
        ctx.advance(1)?;
    }
    let report = report_of(samples, &folds, &walked, &passed_over);
    Ok((walked, report))
}

/// One fold of a walk; none where too few samples may train it.
pub(crate) fn step_of(samples: &[Sample], dates: &[NaiveDate], walk: &WalkForward, fold: &Fold) -> Option<WalkStep> {
    let (train, test, _) = admit(samples, dates, walk, fold);
    last_seen(samples, dates, walk, &train).map(|fitted_until| WalkStep { train, test, fitted_until })
}

/// The last moment of the samples that may train a fold, texts and labels; none where they are too few. A model may leave out some of
/// these, but it draws its cuts from the labels of all.
fn last_seen(samples: &[Sample], dates: &[NaiveDate], walk: &WalkForward, train: &[usize]) -> Option<NaiveDateTime> {
    let seen = |&i: &usize| samples[i].known_at.max(dates[samples[i].label_known].and_time(CLOSE));
    train.iter().map(seen).max().filter(|_| train.len() >= walk.min_train_rows)
}

fn check(samples: &[Sample], dates: &[NaiveDate]) -> Result<()> {
    ensure!(
        dates.is_sorted_by(|a, b| a < b),
        "交易日历须递增且不重复",
        "the trading calendar must ascend without repeats"
    );
    for (i, sample) in samples.iter().enumerate() {
        let traded = dates.get(sample.date).with_context(|| {
            message!(
                "样本 {i} 在第 {} 日交易，而日历只有 {} 日",
                "sample {i} is traded on day {}, but the calendar has {} days",
                sample.date,
                dates.len()
            )
        })?;
        // A text of the night before may count for a day whose close it follows, never for one before that.
        let latest = dates.get(sample.date + 1).unwrap_or(traded);
        ensure!(
            sample.known_at.date() <= *latest,
            "样本 {i} 在 {traded} 交易，早于其可知时间（{}）：它的交易日不对",
            "sample {i} is traded on {traded}, before it was known ({}): its trading day is wrong",
            sample.known_at
        );
        ensure!(
            sample.label.is_nan() || (sample.label.is_finite() && sample.label_known >= sample.date),
            "{traded} 的样本 {i} 标签为 {}，于日历第 {} 日已知，早于其自身的第 {} 日",
            "sample {i} of {traded} has the label {} known on day {} of the calendar, before its own day {}",
            sample.label,
            sample.label_known,
            sample.date
        );
    }
    Ok(())
}

/// The samples that may train a fold and those that it tests, and a report that counts the others of its window.
fn admit(
    samples: &[Sample],
    dates: &[NaiveDate],
    walk: &WalkForward,
    fold: &Fold,
) -> (Vec<usize>, Vec<usize>, FoldReport) {
    let test: Vec<usize> = (0..samples.len()).filter(|&i| fold.test.contains(&samples[i].date)).collect();
    let tested: FxHashSet<u64> = test.iter().map(|&i| samples[i].group).collect();
    let mut report = FoldReport {
        train: (dates[fold.train.start], dates[fold.train.end - 1]),
        test: (dates[fold.test.start], dates[fold.test.end - 1]),
        ..FoldReport::default()
    };
    let mut train = Vec::new();
    for (i, sample) in samples.iter().enumerate().filter(|(_, s)| fold.train.contains(&s.date)) {
        if sample.label.is_nan() {
            report.unlabelled += 1;
        } else if sample.label_known + walk.embargo_days >= fold.test.start {
            report.purged += 1;
        } else if tested.contains(&sample.group) {
            report.grouped += 1;
        } else {
            train.push(i);
        }
    }
    (train, test, report)
}

fn report_of<M>(samples: &[Sample], folds: &[Fold], walked: &Walked<M>, passed_over: &[Option<&str>]) -> Report {
    let mut report = Report::new("model");
    report.rows_in = samples.len() as u64;
    report.rows_out = walked.fold.iter().filter(|fold| **fold >= 0).count() as u64;
    let first = folds.first().map_or(usize::MAX, |fold| fold.test.start);
    for (i, sample) in samples.iter().enumerate().filter(|(i, _)| walked.fold[*i] < 0) {
        let reason = match passed_over[i] {
            _ if sample.date < first => "before the first test window",
            Some(reason) => reason,
            None => "between test windows",
        };
        report.drop_rows(reason, 1);
    }
    report.fact("folds", &walked.folds);
    report
}
