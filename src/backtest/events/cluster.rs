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
use super::sums::{Cell, Date, spans};
use crate::job::Ctx;

/// The groups whose means are added, each with a sign.
pub(super) type Contrast = Vec<(usize, f64)>;

/// An error with its degrees of freedom; NaN where there are too few clusters.
#[derive(Clone, Copy, Debug)]
pub(super) struct ClusteredError {
    /// Standard error.
    pub error: f64,
    /// Degrees of freedom.
    pub freedom: f64,
}

/// What the events of one code, or of all, give to one contrast over one span.
#[derive(Clone, Copy, Default)]
struct Share {
    /// Square of the sum over the code.
    code: f64,
    /// Squares of the sums over the code's days.
    cells: f64,
    /// Whether the code has events, or how many codes have.
    codes: f64,
    events: f64,
}

/// Errors of each contrast over each span.
pub(super) fn errors(
    contrasts: &[Contrast],
    entered: &[Entered],
    dates: &[Date],
    totals: &[Cell],
    returns: &Returns,
    params: &Params,
    ctx: &Ctx,
) -> Result<Vec<Vec<ClusteredError>>> {
    let spans = spans(params);
    let mut by_code: Vec<&Entered> = entered.iter().collect();
    by_code.sort_by_key(|entered| entered.event.code);
    let codes: Vec<&[&Entered]> = by_code.chunk_by(|a, b| a.event.code == b.event.code).collect();
    let of_code = |events: &&[&Entered]| {
        ctx.check()?;
        Ok(of_code(events, contrasts, &spans, totals, returns, params))
    };
    let of_codes: Vec<Vec<Share>> = ctx.install(|| codes.par_iter().map(of_code).collect::<Result<_>>())?;
    let mut sums = vec![Share::default(); contrasts.len() * spans.len()];
    for shares in of_codes {
        for (sum, share) in sums.iter_mut().zip(shares) {
            sum.code += share.code;
            sum.cells += share.cells;
            sum.codes += share.codes;
            sum.events += share.events;
        }
    }
    let error = |contrast: usize, span: usize| {
        let share = &sums[contrast * spans.len() + span];
        let (day, days) = of_days(dates, &contrasts[contrast], span, spans[span], totals);
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
    Ok((0..contrasts.len()).map(|contrast| (0..spans.len()).map(|span| error(contrast, span)).collect()).collect())
}

/// What an abnormal return of a group adds to a contrast, for its sign and number of events.
fn weight(contrast: &Contrast, group: usize, span: usize, totals: &[Cell]) -> Option<f64> {
    let (_, sign) = contrast.iter().find(|(of, _)| *of == group)?;
    let events = totals[group].spans[span].events;
    (events > 0).then_some(sign / events as f64)
}

/// The events of one code.
fn of_code(
    events: &[&Entered],
    contrasts: &[Contrast],
    spans: &[(usize, usize)],
    totals: &[Cell],
    returns: &Returns,
    params: &Params,
) -> Vec<Share> {
    let windows: Vec<Vec<f64>> =
        events.iter().map(|e| e.fit.window(returns.of(e.event.code), &e.event, params).values).collect();
    let first = events.iter().map(|e| e.event.date).min().unwrap_or(0);
    let last = events.iter().map(|e| e.event.date).max().unwrap_or(0);
    let mut cells = vec![0.0; (last - first) as usize + params.window_days()];
    let mut shares = Vec::with_capacity(contrasts.len() * spans.len());
    for contrast in contrasts {
        for (number, &(from, to)) in spans.iter().enumerate() {
            let counted = |k: usize| {
                let weight = weight(contrast, events[k].group, number, totals)?;
                windows[k][from..to].iter().any(|abnormal| !abnormal.is_nan()).then_some(weight)
            };
            let (mut sum, mut n) = (0.0, 0.0);
            for (k, window) in windows.iter().enumerate() {
                let Some(weight) = counted(k) else { continue };
                let total = &totals[events[k].group];
                n += 1.0;
                for day in from..to {
                    let abnormal = if window[day].is_nan() { 0.0 } else { window[day] };
                    let off = weight * (abnormal - total.days[day].0 / total.spans[number].events as f64);
                    sum += off;
                    cells[(events[k].event.date - first) as usize + day] += off;
                }
            }
            let mut squares = 0.0;
            for k in 0..windows.len() {
                let days = (events[k].event.date - first) as usize;
                for cell in &mut cells[days + from..days + to] {
                    squares += std::mem::take(cell).powi(2);
                }
            }
            let codes = if n > 0.0 { 1.0 } else { 0.0 };
            shares.push(Share { code: sum * sum, cells: squares, codes, events: n });
        }
    }
    shares
}

/// Sum of squares over the days of the calendar, and the dates with events.
fn of_days(
    dates: &[Date],
    contrast: &Contrast,
    span: usize,
    (from, to): (usize, usize),
    totals: &[Cell],
) -> (f64, f64) {
    let (Some(first), Some(last)) = (dates.first(), dates.last()) else { return (0.0, 0.0) };
    let first = first.date;
    let mut days = vec![0.0; (last.date - first) as usize + to];
    let mut with_events = 0.0;
    for date in dates {
        let mut any = false;
        for (group, cell) in date.groups.iter().enumerate() {
            let Some((cell, _)) = cell else { continue };
            let Some(weight) = weight(contrast, group, span, totals) else { continue };
            let events = cell.spans[span].events as f64;
            any |= events > 0.0;
            for day in from..to {
                let mean = totals[group].days[day].0 / totals[group].spans[span].events as f64;
                days[(date.date - first) as usize + day] += weight * (cell.days[day].0 - events * mean);
            }
        }
        with_events += if any { 1.0 } else { 0.0 };
    }
    (days.iter().map(|sum| sum * sum).sum(), with_events)
}
