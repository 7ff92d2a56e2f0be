//! Errors of mean cumulative abnormal returns that allow for events which share days and names.
//!
//! A mean cumulative return is a sum over events and days of abnormal returns. Those of one day of the calendar resemble each
//! other, whichever events they belong to, and so do those of one name, whichever days. The variance is that clustered by day plus
//! that clustered by code less that of the cells of both (Cameron, Gelbach and Miller 2011; Petersen 2009, Thompson 2011), of
//! abnormal returns less the group's mean of their day of the window. Each is scaled by G / (G - 1), G dates with events, codes and
//! events; t has the fewer of dates and codes, less one, degrees of freedom.

use anyhow::Result;
use rayon::prelude::*;

use super::Entered;
use super::params::Params;
use super::returns::Returns;
use super::sums::{Date, GroupSums, spans};
use inkstone_base::job::Ctx;

/// The groups whose means are added, each with a sign.
pub(super) type Contrast = Vec<(usize, f64)>;

/// An error with its degrees of freedom; NaN where there are too few clusters.
#[derive(Clone, Copy, Debug)]
pub(super) struct ClusteredError {
    pub error: f64,
    pub freedom: f64,
}

/// Sums of the events of one code, or of all, for one contrast over one span.
#[derive(Clone, Copy, Default)]
struct ContrastSums {
    /// Square of the sum over the code.
    code: f64,
    /// Squares of the sums over the code's days.
    cells: f64,
    /// 1 if the code has events, or the number of codes that have.
    codes: f64,
    events: f64,
}

/// Errors of each contrast over each span.
pub(super) fn errors(
    contrasts: &[Contrast],
    entered: &[Entered],
    dates: &[Date],
    totals: &[GroupSums],
    returns: &Returns,
    params: &Params,
    ctx: &Ctx,
) -> Result<Vec<Vec<ClusteredError>>> {
    let spans = spans(params);
    let of_contrast =
        |contrast| spans.iter().enumerate().map(move |(k, &span)| VarianceTerms::new(contrast, k, span, totals));
    let terms: Vec<VarianceTerms> = contrasts.iter().flat_map(of_contrast).collect();
    let mut by_code: Vec<&Entered> = entered.iter().collect();
    by_code.sort_by_key(|entered| entered.event.code);
    let codes: Vec<&[&Entered]> = by_code.chunk_by(|a, b| a.event.code == b.event.code).collect();
    let share = |events: &&[&Entered]| {
        ctx.check()?;
        Ok(of_code(events, &terms, returns, params))
    };
    let shares: Vec<Vec<ContrastSums>> = ctx.install(|| codes.par_iter().map(share).collect::<Result<_>>())?;
    let mut sums = vec![ContrastSums::default(); terms.len()];
    for shares in shares {
        for (sum, share) in sums.iter_mut().zip(shares) {
            sum.code += share.code;
            sum.cells += share.cells;
            sum.codes += share.codes;
            sum.events += share.events;
        }
    }
    let error = |(number, share): (usize, &ContrastSums)| {
        let (day, days) = of_days(dates, number % spans.len(), &terms[number]);
        let scaled = |squares: f64, clusters: f64| squares * clusters / (clusters - 1.0);
        let by_day = scaled(day, days);
        let by_code = scaled(share.code, share.codes);
        let both = by_day + by_code - scaled(share.cells, share.events);
        // The difference can come out below zero where there are few clusters.
        let variance = if both > 0.0 { both } else { by_day.max(by_code) };
        let freedom = days.min(share.codes) - 1.0;
        if freedom < 1.0 {
            return ClusteredError { error: f64::NAN, freedom: f64::NAN };
        }
        ClusteredError { error: variance.sqrt(), freedom }
    };
    let errors: Vec<ClusteredError> = sums.iter().enumerate().map(error).collect();
    Ok(errors.chunks(spans.len()).map(<[ClusteredError]>::to_vec).collect())
}

/// Weight of a group in a contrast over a span, and the mean abnormal returns of the group.
struct Term {
    /// The group's sign over its number of events.
    weight: f64,
    /// Mean abnormal return of each day of the span; an event without a return counts as zero.
    means: Vec<f64>,
}

/// The terms of a contrast over a span, by group; none for groups that are not in it.
struct VarianceTerms {
    from: usize,
    to: usize,
    groups: Vec<Option<Term>>,
}

impl VarianceTerms {
    fn new(contrast: &Contrast, span: usize, (from, to): (usize, usize), totals: &[GroupSums]) -> VarianceTerms {
        let term = |group: usize| {
            let (_, sign) = contrast.iter().find(|(of, _)| *of == group)?;
            let events = totals[group].spans[span].events as f64;
            let means = totals[group].days[from..to].iter().map(|(sum, _)| sum / events).collect();
            (events > 0.0).then(|| Term { weight: sign / events, means })
        };
        VarianceTerms { from, to, groups: (0..totals.len()).map(term).collect() }
    }
}

/// Sums over the events of one code.
fn of_code(events: &[&Entered], terms: &[VarianceTerms], returns: &Returns, params: &Params) -> Vec<ContrastSums> {
    let windows: Vec<Vec<f64>> =
        events.iter().map(|e| e.fit.window(returns.name(e.event.code), &e.event, params).values).collect();
    let first = events.iter().map(|e| e.event.date).min().unwrap_or(0);
    let last = events.iter().map(|e| e.event.date).max().unwrap_or(0);
    let mut cells = vec![0.0; (last - first) as usize + params.window_days()];
    let share = |VarianceTerms { from, to, groups }: &VarianceTerms| {
        let mut share = ContrastSums::default();
        for (entered, window) in events.iter().zip(&windows) {
            let Some(Term { weight, means }) = &groups[entered.group] else { continue };
            let window = &window[*from..*to];
            if window.iter().all(|abnormal| abnormal.is_nan()) {
                continue;
            }
            share.events += 1.0;
            let start = (entered.event.date - first) as usize + from;
            for ((cell, abnormal), mean) in cells[start..].iter_mut().zip(window).zip(means) {
                let off = weight * (if abnormal.is_nan() { 0.0 } else { *abnormal } - mean);
                share.code += off;
                *cell += off;
            }
        }
        for entered in events.iter().filter(|entered| groups[entered.group].is_some()) {
            let start = (entered.event.date - first) as usize;
            for cell in &mut cells[start + from..start + to] {
                share.cells += std::mem::take(cell).powi(2);
            }
        }
        share.code *= share.code;
        share.codes = if share.events > 0.0 { 1.0 } else { 0.0 };
        share
    };
    terms.iter().map(share).collect()
}

/// Sum of squares over the days of the calendar, and the dates with events.
fn of_days(dates: &[Date], span: usize, VarianceTerms { from, to, groups }: &VarianceTerms) -> (f64, f64) {
    let (Some(first), Some(last)) = (dates.first(), dates.last()) else { return (0.0, 0.0) };
    let mut days = vec![0.0; (last.date - first.date) as usize + to];
    let mut with_events = 0.0;
    for date in dates {
        let mut any = false;
        for (cell, term) in date.groups.iter().zip(groups) {
            let (Some((cell, _)), Some(Term { weight, means })) = (cell, term) else { continue };
            let events = cell.spans[span].events as f64;
            any |= events > 0.0;
            let start = (date.date - first.date) as usize + from;
            for ((day, (sum, _)), mean) in days[start..].iter_mut().zip(&cell.days[*from..*to]).zip(means) {
                *day += weight * (sum - events * mean);
            }
        }
        with_events += if any { 1.0 } else { 0.0 };
    }
    (days.iter().map(|sum| sum * sum).sum(), with_events)
}
