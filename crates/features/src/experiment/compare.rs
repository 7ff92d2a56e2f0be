//! From the observations of each cell to the findings.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Result;
use chrono::NaiveDate;
use serde::{Deserialize, Serialize};

use super::effects::effects;
use super::findings::{Cell, Findings, mark_frontier};
use super::labels::{Labelled, macro_f1};
use super::names::cell_name;
use super::params::Params;
use crate::extract::Cost;
use inkstone_base::bootstrap::{block_length, compare, confidence_set, draw, interval};
use inkstone_base::data::Key;
use inkstone_base::job::Ctx;
use inkstone_base::language::Message;
use inkstone_base::{ensure, message};

/// Fewest dates or documents that cells are compared on.
const LEAST: usize = 20;

/// The observations of one cell.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Observed {
    pub figures: BTreeMap<String, f64>,
    pub cost: Cost,
    /// The feature set with the value of each document.
    pub set: Option<Key>,
    /// For factors the RankIC of each date that has one, by date.
    pub rank_ic: Vec<(NaiveDate, f64)>,
    /// For labels the predicted class of each labelled document; none where it was not tested.
    pub called: Vec<Option<u32>>,
}

/// Compares the cells of `findings` with the baseline by their observations. `labelled` are the documents of labels; none for factors.
pub fn conclude(
    findings: &mut Findings,
    observed: &[Observed],
    labelled: Option<&Labelled>,
    params: &Params,
    ctx: &Ctx,
) -> Result<()> {
    let (observations, figures, draws) = match labelled {
        None => rank_ic_draws(observed, &findings.cells, params, ctx)?,
        Some(labelled) => macro_f1_draws(observed, labelled, params, ctx)?,
    };
    findings.observations = observations as u64;
    findings.block = block_of(observations, labelled.is_none(), params);
    findings.draws = params.draws;
    findings.confidence = params.confidence;
    let base = findings.baseline;
    let compared: Vec<usize> = (0..figures.len()).filter(|cell| *cell != base).collect();
    let comparisons = compare(&figures, &draws, base, &compared, params.confidence);
    let may_be_best = confidence_set(&figures, &draws);
    for (number, cell) in findings.cells.iter_mut().enumerate() {
        cell.figure = figures[number];
        cell.interval = interval(draws.iter().map(|draw| draw[number]), params.confidence);
        cell.against = compared.iter().position(|other| *other == number).map(|at| comparisons[at]);
        cell.p_best = may_be_best[number];
    }
    findings.effects = effects(&findings.vary, &findings.cells, base, &figures, &draws, params.confidence);
    mark_frontier(&mut findings.cells);
    Ok(())
}

/// Leaves out cells of factors until the others have enough dates in common, that with the fewest dates first and the baseline last. Returns
/// their numbers; what is left of them is the reason.
pub fn leave_out_short(observed: &mut [Result<Observed, Message>], baseline: usize) -> Vec<usize> {
    let mut left_out = Vec::new();
    loop {
        let cells: Vec<(usize, BTreeSet<NaiveDate>)> = observed
            .iter()
            .enumerate()
            .filter_map(|(number, cell)| Some((number, dates_of(cell.as_ref().ok()?))))
            .collect();
        let common = common_dates(cells.iter().map(|(_, dates)| dates)).len();
        let enough = |dates: &BTreeSet<NaiveDate>| dates.len() >= LEAST;
        let fewest = cells.iter().min_by_key(|(number, dates)| (*number == baseline && enough(dates), dates.len()));
        let Some((number, dates)) = fewest.filter(|_| common < LEAST) else { return left_out };
        let n = dates.len();
        let reason = match n < LEAST {
            true => message!(
                "有 RankIC 的日期为 {n} 个，至少需要 {LEAST} 个",
                "it has a RankIC on {n} dates, and {LEAST} are needed"
            ),
            false => {
                message!(
                    "它有 RankIC 的 {n} 个日期中，与其他所有单元共有的为 {common} 个，至少需要 {LEAST} 个",
                    "of its {n} dates with a RankIC {common} are those of all other cells, and {LEAST} are needed"
                )
            }
        };
        observed[*number] = Err(message!(
            "{reason}。请降低 [backtest] min_names、延长因子的 lookback，或读取更多类型的文档",
            "{reason}. Lower [backtest] min_names, lengthen the factor's lookback, or read more kinds of documents"
        ));
        left_out.push(*number);
    }
}

/// The dates on which a cell has a RankIC.
fn dates_of(cell: &Observed) -> BTreeSet<NaiveDate> {
    cell.rank_ic.iter().filter(|(_, ic)| !ic.is_nan()).map(|(date, _)| *date).collect()
}

/// The dates that all have.
fn common_dates<'d>(mut cells: impl Iterator<Item = &'d BTreeSet<NaiveDate>>) -> BTreeSet<NaiveDate> {
    let first = cells.next().cloned().unwrap_or_default();
    cells.fold(first, |common, dates| common.intersection(dates).copied().collect())
}

fn block_of(n: usize, factors: bool, params: &Params) -> usize {
    let overlap = if factors { params.horizon } else { 1 };
    if params.block > 0 { params.block.min(n) } else { block_length(n, overlap) }
}

/// Number of observations, figures of the cells, and their draws.
type Drawn = (usize, Vec<f64>, Vec<Vec<f64>>);

/// Mean RankIC on the dates that all cells have.
fn rank_ic_draws(observed: &[Observed], cells: &[Cell], params: &Params, ctx: &Ctx) -> Result<Drawn> {
    let of_cells: Vec<BTreeSet<NaiveDate>> = observed.iter().map(dates_of).collect();
    let dates = common_dates(of_cells.iter());
    if dates.len() < LEAST {
        let fewest = observed.iter().zip(cells).min_by_key(|(cell, _)| dates_of(cell).len());
        let (count, name) =
            fewest.map_or((0, String::new()), |(cell, at)| (dates_of(cell).len(), cell_name(&at.feature, &at.setting)));
        inkstone_base::bail!(
            "实验 {:?}：只有 {} 个日期在所有单元都有 RankIC，至少需要 {LEAST} 个；最少的是 {name}，为 {count}。请降低 [backtest] min_names、延长因子的 lookback，或读取更多类型的文档",
            "experiment {:?}: only {} dates have a RankIC in all cells, {LEAST} are needed; {name} has the fewest, {count}. Lower [backtest] min_names, lengthen the factor's lookback, or read more kinds of documents",
            params.name,
            dates.len()
        );
    }
    let series: Vec<Vec<f64>> = observed
        .iter()
        .map(|cell| cell.rank_ic.iter().filter(|(date, _)| dates.contains(date)).map(|(_, ic)| *ic).collect())
        .collect();
    let mean = |times: &[u32], series: &[f64]| {
        times.iter().zip(series).map(|(&n, v)| f64::from(n) * v).sum::<f64>() / times.len() as f64
    };
    let n = dates.len();
    let figures = series.iter().map(|series| mean(&vec![1; n], series)).collect();
    let all = |times: &[u32]| series.iter().map(|series| mean(times, series)).collect();
    Ok((n, figures, draw(n, block_of(n, true, params), params.draws, ctx, all)?))
}

/// Macro F1 of the documents that are tested, in the order of time.
fn macro_f1_draws(observed: &[Observed], labelled: &Labelled, params: &Params, ctx: &Ctx) -> Result<Drawn> {
    let tested: Vec<usize> =
        (0..labelled.class.len()).filter(|&i| observed.iter().all(|cell| cell.called[i].is_some())).collect();
    ensure!(
        tested.len() >= LEAST,
        "实验 {:?}：只检验了 {} 篇有标签的文档，至少需要 {LEAST} 篇",
        "experiment {:?}: only {} documents with a label are tested, {LEAST} are needed",
        params.name,
        tested.len()
    );
    let class: Vec<u32> = tested.iter().map(|&i| labelled.class[i]).collect();
    let called: Vec<Vec<u32>> =
        observed.iter().map(|cell| tested.iter().filter_map(|&i| cell.called[i]).collect()).collect();
    let n = tested.len();
    let all = |times: &[u32]| {
        called.iter().map(|called| macro_f1(times, &class, called, labelled.names.len())).collect::<Vec<f64>>()
    };
    Ok((n, all(&vec![1; n]), draw(n, block_of(n, false, params), params.draws, ctx, all)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cells(n: usize) -> Findings {
        Findings { cells: vec![Cell::default(); n], ..Findings::default() }
    }

    #[test]
    fn cells_with_too_few_dates_are_left_out_and_the_baseline_last() {
        let day = |i: u32| NaiveDate::from_ymd_opt(2024, 1, 1).unwrap() + chrono::TimeDelta::days(i64::from(i));
        let cell = |days: std::ops::Range<u32>| -> Result<Observed, Message> {
            Ok(Observed { rank_ic: days.map(|i| (day(i), 0.1)).collect(), ..Observed::default() })
        };
        let mut found =
            [cell(0..40), cell(30..90), cell(35..70), cell(0..100), Err(Message::same("no text")), cell(0..7)];
        assert_eq!(leave_out_short(&mut found, 0), [5, 2, 1]);
        let reason = |number: usize| found[number].as_ref().err().unwrap();
        assert!(reason(5).starts_with("it has a RankIC on 7 dates, and 20 are needed. Lower"), "{}", reason(5));
        assert!(reason(2).starts_with("of its 35 dates with a RankIC 5 are those"), "{}", reason(2));
        assert!(found[0].is_ok() && found[3].is_ok() && reason(4) == "no text");
        // A baseline that cannot be compared with anything is no baseline.
        let mut found = [cell(0..3), cell(0..50)];
        assert_eq!((leave_out_short(&mut found, 0), found[1].is_ok()), (vec![0], true));
        let mut none = [cell(0..3), cell(0..4)];
        assert_eq!(leave_out_short(&mut none, 0).len(), 2);
    }

    #[test]
    fn cells_are_compared_on_the_dates_that_all_have() {
        let day = |i: u32| NaiveDate::from_ymd_opt(2024, 1, 1).unwrap() + chrono::TimeDelta::days(i64::from(i));
        let series = |from: u32, shift: f64| Observed {
            rank_ic: (from..100).map(|i| (day(i), shift + f64::from(i % 7) / 100.0)).collect(),
            ..Observed::default()
        };
        let mut findings = cells(3);
        let mut gaps = series(10, 0.05);
        gaps.rank_ic[3].1 = f64::NAN;
        let observed = [series(0, 0.0), series(10, 0.0), gaps];
        let ctx = Ctx::new(2, 1).unwrap();
        let params = Params { name: "x".into(), draws: 200, ..Params::default() };
        conclude(&mut findings, &observed, None, &params, &ctx).unwrap();
        assert_eq!((findings.observations, findings.block), (89, 5));
        let [base, same, better] = &findings.cells[..] else { panic!() };
        assert!(base.against.is_none() && base.figure == same.figure);
        assert_eq!(same.against.unwrap().difference, 0.0);
        let found = better.against.unwrap();
        assert!((found.difference - 0.05).abs() < 1e-12 && found.p_adjusted < 0.02, "{found:?}");
        assert_eq!((base.p_best, better.p_best), (same.p_best, Some(1.0)));
        assert!(base.p_best.unwrap() < 0.05, "{base:?}");
        // Any cell can be the baseline.
        findings.baseline = 2;
        conclude(&mut findings, &observed, None, &params, &ctx).unwrap();
        let against: Vec<Option<f64>> = findings.cells.iter().map(|cell| cell.against.map(|c| c.difference)).collect();
        assert!(against[2].is_none() && (against[0].unwrap() + 0.05).abs() < 1e-12, "{against:?}");
        let short = [series(0, 0.0), series(85, 0.0), series(0, 0.0)];
        let error = conclude(&mut cells(3), &short, None, &params, &ctx).unwrap_err().to_string();
        assert!(error.contains("only 15 dates") && error.contains("fewest, 15"), "{error}");
    }
}
