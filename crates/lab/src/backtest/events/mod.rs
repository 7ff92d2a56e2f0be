//! Event study: abnormal returns around documents, by what the documents say.
//!
//! Day 0 of an event is the trading day that its document counts for ([`inkstone_market::Cutoff`]): by default the first whose close
//! comes after publication. The abnormal return of a day is the return of the security, close to close, less what is expected of it
//! by [`Model`]; cumulated over days it is the CAR. Events are put in groups by their value; the mean of a group is tested against
//! zero ([`EventTest`]), and so is the difference of the outermost groups (MacKinlay 1997).
//!
//! Part of the move of day 0 may have come before its document: published at 14:00, it meets a price of the morning, too. So the
//! study shows both sides: what went before (`-5` to `-1`: the text follows the price, or it leaked), the announcement (`0`), and the
//! drift. What could be traded begins at the open of day +1. Groups are cut over all events, later ones included: they describe, and
//! are no rule of trading; that is the backtest's.
//!
//! A day without trade has no abnormal return; the return on resumption, over all days since the last close, stands on its day.
//! The documents of one code on one day are one event, whose value is their mean.
//!
//! Useful for: where in time a text's effect lies, and whether the price was there before. Not for: what a portfolio earns.

mod around;
mod cluster;
mod correlation;
mod fit;
mod params;
#[cfg(test)]
mod parity;
mod returns;
mod source;
mod statistic;
mod study;
mod sums;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::hash::{Hash, Hasher};

use anyhow::Result;
use rayon::prelude::*;
use rustc_hash::FxHasher;

pub use around::{AbnormalReturns, Benchmark, ReturnsAround};
pub use params::{Grouping, Model, Params};
pub use source::{events_of_factor, events_of_signals};
pub use study::{EventDifference, EventGroup, EventStudy, EventTest};

use crate::backtest::layers;
use cluster::{ClusteredError, Contrast};
use correlation::Pairs;
use fit::Fit;
use inkstone_base::data::{Report, TooLittle};
use inkstone_base::job::Ctx;
use inkstone_base::stats::average_ranks;
use inkstone_base::{bail, message};
use inkstone_market::Market;
use returns::Returns;
use sums::{GroupSums, spans};

/// A document, or a new value of a factor, about a security on a trading day.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Event {
    /// Number of the code in the market.
    pub code: u32,
    /// Number of the market's date that is day 0.
    pub date: u32,
    /// Value of the document, as a tone.
    pub value: f64,
}

/// An event that entered, with what is expected of its returns and the place of its group.
struct Entered {
    event: Event,
    fit: Fit,
    group: usize,
}

/// Events set aside, by reason.
type Excluded = BTreeMap<&'static str, u64>;

/// Studies the returns around events, which may come in any order. Too few events are [`TooLittle`].
pub fn run(events: &[Event], market: &Market, params: &Params, ctx: &Ctx) -> Result<(EventStudy, Report)> {
    params.validate()?;
    let mut report = Report::new("events");
    report.rows_in = events.len() as u64;
    let mut excluded = Excluded::new();
    let events = one_a_day(events, market, params, &mut excluded, ctx)?;
    let returns = Returns::new(market, &codes(&events), params, ctx)?;
    let mut entered = fitted(&events, &returns, market, params, &mut excluded, ctx)?;
    excluded.iter().for_each(|(reason, n)| report.drop_rows(reason, *n));
    report.rows_out = entered.len() as u64;
    if entered.is_empty() {
        let reasons: Vec<String> = excluded.iter().map(|(reason, n)| format!("{n} × {reason}")).collect();
        bail!(TooLittle(message!(
            "{} 个事件没有一个可研究：{}（[events] window = {:?}、estimation = {:?}、min_returns = {}）",
            "none of {} events can be studied: {} ([events] window = {:?}, estimation = {:?}, min_returns = {})",
            report.rows_in,
            if reasons.is_empty() { "there are none".to_owned() } else { reasons.join("; ") },
            params.window,
            params.estimation,
            params.min_returns
        )));
    }
    let groups = group(&mut entered, params);

    let dates = sums::by_date(&entered, groups.len(), &returns, params, ctx)?;
    let totals = sums::by_group(&dates, groups.len(), params);
    let last = groups.len() - 1;
    let mut contrasts: Vec<Contrast> = (0..groups.len()).map(|group| vec![(group, 1.0)]).collect();
    contrasts.push(vec![(last, 1.0), (0, -1.0)]);
    let errors = cluster::errors(&contrasts, &entered, &dates, &totals, &returns, params, ctx)?;

    let mut study = EventStudy {
        model: params.model,
        window: params.window,
        estimation: params.estimation,
        excluded: excluded.into_iter().map(|(reason, n)| (reason.to_owned(), n)).collect(),
        ..EventStudy::default()
    };
    let days = report_size(&mut report, &entered, dates.len(), &totals, params);
    report.fact("days", study.days_in_words());
    for (place, &number) in groups.iter().enumerate() {
        let pairs = Pairs::new(&dates, place, params, ctx)?;
        report.fact(&format!("correlation_{number}"), pairs.mean(1));
        let values = || entered.iter().filter(|e| e.group == place).map(|e| e.event.value);
        let cell = &totals[place];
        study.groups.push(EventGroup {
            group: number,
            values: (values().fold(f64::INFINITY, f64::min), values().fold(f64::NEG_INFINITY, f64::max)),
            events: cell.events,
            days: days.clone(),
            abnormal: cell.days.iter().map(|(sum, n)| sum / *n as f64).collect(),
            cumulative: cumulative(params, |span| cell.mean(span)),
            margin: margins(params, &errors[place]),
            tests: tests(params, |span, days, part| {
                statistic::of_group(cell, span, days, part, pairs.mean(days.1 - days.0), errors[place][span])
            }),
        });
    }
    if last > 0 {
        let (top, bottom, errors) = (&totals[last], &totals[0], &errors[groups.len()]);
        study.difference = Some(EventDifference {
            top: groups[last],
            bottom: groups[0],
            days,
            cumulative: cumulative(params, |span| top.mean(span) - bottom.mean(span)),
            margin: margins(params, errors),
            tests: tests(params, |span, _, part| statistic::of_difference(top, bottom, span, part, errors[span])),
        });
    }
    Ok((study, report))
}

/// One event per code and day, sorted by date, then code, without those that follow another within the gap.
fn one_a_day(
    events: &[Event],
    market: &Market,
    params: &Params,
    excluded: &mut Excluded,
    ctx: &Ctx,
) -> Result<Vec<Event>> {
    let (days, width) = (market.dates().len(), market.codes().len());
    if let Some(event) = events.iter().find(|e| e.code as usize >= width || e.date as usize >= days) {
        bail!(
            "有事件位于第 {} 日、第 {} 个代码，而市场只有 {days} 日、{width} 个代码",
            "an event names date {} and code {}, but the market has {days} dates and {width} codes",
            event.date,
            event.code
        );
    }
    let mut sorted: Vec<Event> = events.iter().copied().filter(|e| e.value.is_finite()).collect();
    exclude(excluded, "no value", events.len() - sorted.len());
    ctx.install(|| {
        sorted.par_sort_unstable_by(|a, b| (a.code, a.date).cmp(&(b.code, b.date)).then(a.value.total_cmp(&b.value)));
    });
    let same_day = |a: &Event, b: &Event| (a.code, a.date) == (b.code, b.date);
    let one_in = sorted.chunk_by(same_day).count().div_ceil(params.max_events) as u64;
    let mut kept: Vec<Event> = Vec::new();
    let mut last: Option<Event> = None;
    for same in sorted.chunk_by(same_day) {
        let value = same.iter().map(|event| event.value).sum::<f64>() / same.len() as f64;
        if last.is_some_and(|last| last.code == same[0].code && same[0].date - last.date <= params.gap) {
            exclude(excluded, "follows another event of its code within the gap", same.len());
            continue;
        }
        exclude(excluded, "one event with another document of its code and day", same.len() - 1);
        last = Some(same[0]);
        if is_drawn(&same[0], one_in) {
            kept.push(Event { value, ..same[0] });
        } else {
            exclude(excluded, "not drawn: more events than max_events", 1);
        }
    }
    kept.sort_unstable_by_key(|event| (event.date, event.code));
    Ok(kept)
}

/// True for about one in `one_in` events, whatever their order: each name and each date gives its share.
fn is_drawn(event: &Event, one_in: u64) -> bool {
    let mut hasher = FxHasher::default();
    (event.code, event.date).hash(&mut hasher);
    // The high half: the low bits of such a hash repeat.
    (hasher.finish() >> 32).is_multiple_of(one_in)
}

fn exclude(excluded: &mut Excluded, reason: &'static str, n: usize) {
    if n > 0 {
        *excluded.entry(reason).or_default() += n as u64;
    }
}

fn codes(events: &[Event]) -> Vec<u32> {
    let mut codes: Vec<u32> = events.iter().map(|event| event.code).collect();
    codes.sort_unstable();
    codes.dedup();
    codes
}

/// The events whose window lies within the table, with enough returns before and any in it.
fn fitted(
    events: &[Event],
    returns: &Returns,
    market: &Market,
    params: &Params,
    excluded: &mut Excluded,
    ctx: &Ctx,
) -> Result<Vec<Entered>> {
    let days = market.dates().len() as i64;
    let fit = |event: &Event| {
        ctx.check()?;
        let (first, last) = (i64::from(event.date) + i64::from(params.window.0), i64::from(params.window.1));
        // The first date of the table has no return.
        if first < 1 || i64::from(event.date) + last >= days {
            return Ok(Err("window reaches beyond the price table"));
        }
        let name = returns.name(event.code);
        let traded = (first..=i64::from(event.date) + last).any(|t| name.at(t as usize).is_some());
        Ok(if traded { Fit::new(name, event, params) } else { Err("no return in the window") })
    };
    let fits: Vec<Result<Fit, &'static str>> =
        ctx.install(|| events.par_iter().map(fit).collect::<Result<Vec<_>>>())?;
    let mut entered = Vec::new();
    for (event, fit) in events.iter().zip(fits) {
        match fit {
            Ok(fit) => entered.push(Entered { event: *event, fit, group: 0 }),
            Err(reason) => exclude(excluded, reason, 1),
        }
    }
    Ok(entered)
}

/// Puts the events in groups, and gives the numbers of those that have any; events name the place in this list.
fn group(entered: &mut [Entered], params: &Params) -> Vec<usize> {
    let values: Vec<f64> = entered.iter().map(|entered| entered.event.value).collect();
    let numbers: Vec<usize> = match params.by {
        Grouping::Quantile => {
            layers::cut(&average_ranks(&values), params.groups).into_iter().map(usize::from).collect()
        }
        Grouping::Sign => values.iter().map(|&v| 1 + usize::from(v >= 0.0) + usize::from(v > 0.0)).collect(),
    };
    let mut there = numbers.clone();
    there.sort_unstable();
    there.dedup();
    for (entered, number) in entered.iter_mut().zip(&numbers) {
        entered.group = there.partition_point(|other| other < number);
    }
    there
}

/// Notes how large the study is; gives the days of the window.
fn report_size(
    report: &mut Report,
    entered: &[Entered],
    dates: usize,
    totals: &[GroupSums],
    params: &Params,
) -> Vec<i32> {
    let days: Vec<i32> = (params.window.0..=params.window.1).collect();
    let events: Vec<Event> = entered.iter().map(|entered| entered.event).collect();
    let there: u64 = totals.iter().flat_map(|cell| &cell.days).map(|(_, n)| n).sum();
    report.fact("dates", dates);
    report.fact("codes", codes(&events).len());
    report.fact("days_without_return", 1.0 - there as f64 / (entered.len() * days.len()) as f64);
    days
}

/// A figure of each span that begins with the window; these come after those of the parts.
fn cumulative(params: &Params, figure: impl Fn(usize) -> f64) -> Vec<f64> {
    (params.parts.len()..spans(params).len()).map(figure).collect()
}

fn margins(params: &Params, errors: &[ClusteredError]) -> Vec<f64> {
    cumulative(params, |span| statistic::half_width(errors[span]))
}

/// The tests of all parts: of the number of the part's span, its days within the window, and its days.
fn tests(params: &Params, tests_of: impl Fn(usize, (usize, usize), (i32, i32)) -> Vec<EventTest>) -> Vec<EventTest> {
    let spans = spans(params);
    params.parts.iter().enumerate().flat_map(|(k, &part)| tests_of(k, spans[k], part)).collect()
}
