//! Sums over events, by date and group and then by group, from which the tests are computed.
//!
//! Dates are summed in parallel, each in the order of its codes; they are added up in their order, so threads change nothing.

use anyhow::Result;
use rayon::prelude::*;

use super::fit::Fit;
use super::params::Params;
use super::returns::Returns;
use super::{Entered, Event};
use inkstone_base::job::Ctx;
use inkstone_base::stats::average_ranks;

/// Sums of the cumulative abnormal returns over one span of days.
#[derive(Clone, Copy, Default)]
pub(super) struct SpanSums {
    /// Events whose name traded in the span.
    pub events: u64,
    /// Sum of the cumulative abnormal returns, and of their squares.
    pub car: (f64, f64),
    /// Sum and sum of squares of the returns in standard deviations of their forecasts.
    pub standardised: (f64, f64),
    /// Number of events above zero.
    pub positive: u64,
    /// Sum of the shares of days above zero in the estimation.
    pub expected_positive: f64,
}

/// The events of one group on one date, or on all.
#[derive(Clone)]
pub(super) struct GroupSums {
    pub events: u64,
    /// Sums of each span.
    pub spans: Vec<SpanSums>,
    /// Sum and number of the abnormal returns of each day of the window.
    pub days: Vec<(f64, u64)>,
    /// Sum and number of the ranks of each day of estimation and window, as shares of their number less 1/2.
    pub ranks: Vec<(f64, u64)>,
}

/// The events of one group on one date in their estimation windows, for the correlation between them.
pub(super) struct EstimationSums {
    /// Sum and number of the standardised abnormal returns of each day.
    pub days: Vec<(f64, u64)>,
    /// Sum of their squares over all days.
    pub squares: f64,
}

/// The events of one date, by group; none where a group has no event.
pub(super) struct Date {
    pub date: u32,
    pub groups: Vec<Option<(GroupSums, EstimationSums)>>,
}

/// The spans that cumulative returns are taken over, as days of the window `from..to`: the parts that are tested, then all that
/// begin with the window.
pub(super) fn spans(params: &Params) -> Vec<(usize, usize)> {
    let first = params.window.0;
    let parts = params.parts.iter().map(|&(from, to)| ((from - first) as usize, (to - first + 1) as usize));
    parts.chain((1..=params.window_days()).map(|to| (0, to))).collect()
}

impl GroupSums {
    fn new(params: &Params, spans: usize) -> GroupSums {
        GroupSums {
            events: 0,
            spans: vec![SpanSums::default(); spans],
            days: vec![(0.0, 0); params.window_days()],
            ranks: vec![(0.0, 0); params.estimation_days() + params.window_days()],
        }
    }

    fn add(&mut self, other: &GroupSums) {
        self.events += other.events;
        for (mine, other) in self.spans.iter_mut().zip(&other.spans) {
            mine.events += other.events;
            mine.car = (mine.car.0 + other.car.0, mine.car.1 + other.car.1);
            mine.standardised =
                (mine.standardised.0 + other.standardised.0, mine.standardised.1 + other.standardised.1);
            mine.positive += other.positive;
            mine.expected_positive += other.expected_positive;
        }
        add_days(&mut self.days, &other.days);
        add_days(&mut self.ranks, &other.ranks);
    }

    /// Mean of the cumulative abnormal returns over a span.
    pub(super) fn mean(&self, span: usize) -> f64 {
        self.spans[span].car.0 / self.spans[span].events as f64
    }
}

fn add_days(mine: &mut [(f64, u64)], other: &[(f64, u64)]) {
    mine.iter_mut().zip(other).for_each(|(mine, other)| *mine = (mine.0 + other.0, mine.1 + other.1));
}

fn add_values(mine: &mut [(f64, u64)], values: &[f64]) {
    for (mine, value) in mine.iter_mut().zip(values).filter(|(_, value)| !value.is_nan()) {
        *mine = (mine.0 + value, mine.1 + 1);
    }
}

/// Sums the events, which are sorted by date, of `groups` groups by date.
pub(super) fn by_date(
    entered: &[Entered],
    groups: usize,
    returns: &Returns,
    params: &Params,
    ctx: &Ctx,
) -> Result<Vec<Date>> {
    let spans = spans(params);
    let date = |entered: &[Entered]| {
        let mut date = Date { date: entered[0].event.date, groups: (0..groups).map(|_| None).collect() };
        for Entered { event, fit, group } in entered {
            ctx.check()?;
            let (cell, past) = date.groups[*group].get_or_insert_with(|| {
                let past = EstimationSums { days: vec![(0.0, 0); params.estimation_days()], squares: 0.0 };
                (GroupSums::new(params, spans.len()), past)
            });
            sum(cell, past, event, fit, &spans, returns, params);
        }
        Ok(date)
    };
    let dates: Vec<&[Entered]> = entered.chunk_by(|a, b| a.event.date == b.event.date).collect();
    ctx.install(|| dates.into_par_iter().map(date).collect())
}

fn sum(
    cell: &mut GroupSums,
    past: &mut EstimationSums,
    event: &Event,
    fit: &Fit,
    spans: &[(usize, usize)],
    returns: &Returns,
    params: &Params,
) {
    let name = returns.name(event.code);
    let window = fit.window(name, event, params);
    let before = fit.estimation(name, event, params);
    cell.events += 1;
    add_values(&mut cell.days, &window.values);
    for (sums, &(from, to)) in cell.spans.iter_mut().zip(spans) {
        let Some(car) = fit.car(&window, from, to) else { continue };
        sums.events += 1;
        sums.car = (sums.car.0 + car.value, sums.car.1 + car.value * car.value);
        let standardised = car.standardised;
        sums.standardised = (sums.standardised.0 + standardised, sums.standardised.1 + standardised * standardised);
        sums.positive += u64::from(car.value > 0.0);
        sums.expected_positive += fit.positive;
    }
    let of_one_day = (0..window.values.len()).map(|day| window.of_one_day(day));
    let all: Vec<f64> = before.iter().copied().chain(of_one_day).collect();
    add_values(&mut cell.ranks, &relative_ranks(&all));
    let standardised: Vec<f64> = before.into_iter().map(|abnormal| fit.standardised(abnormal)).collect();
    add_values(&mut past.days, &standardised);
    past.squares += standardised.iter().filter(|z| !z.is_nan()).map(|z| z * z).sum::<f64>();
}

/// Ranks of the values that are there over their number and one, less 1/2 (Corrado and Zivney 1992): between -1/2 and 1/2.
fn relative_ranks(values: &[f64]) -> Vec<f64> {
    let there: Vec<usize> = (0..values.len()).filter(|&k| !values[k].is_nan()).collect();
    let ranks = average_ranks(&there.iter().map(|&k| values[k]).collect::<Vec<f64>>());
    let mut relative = vec![f64::NAN; values.len()];
    for (&k, rank) in there.iter().zip(&ranks) {
        relative[k] = rank / (there.len() + 1) as f64 - 0.5;
    }
    relative
}

/// The sums of each group over all dates.
pub(super) fn by_group(dates: &[Date], groups: usize, params: &Params) -> Vec<GroupSums> {
    let mut totals = vec![GroupSums::new(params, spans(params).len()); groups];
    for date in dates {
        for (total, cell) in totals.iter_mut().zip(&date.groups) {
            if let Some((cell, _)) = cell {
                total.add(cell);
            }
        }
    }
    totals
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_are_shares_about_zero_of_what_is_there() {
        let ranks = relative_ranks(&[0.3, f64::NAN, -0.1, 0.3]);
        assert!(ranks[1].is_nan());
        assert_eq!([ranks[0], ranks[2], ranks[3]], [0.125, -0.25, 0.125]);
    }
}
