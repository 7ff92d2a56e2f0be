//! Charts of names: how many have a value, and the RankIC among some of them.

use chrono::NaiveDate;
use plotters::style::text_anchor::{HPos, VPos};
use plotters::style::{Color, RGBColor};

use super::lines::{Curves, span};
use super::plot::{Across, FOOT, HEAD, Plot, range, short};
use super::series::bars;
use super::sheet::{ACROSS, LEFT, Sheet};
use super::{Chart, FactorReport, notes, titled, words};
use crate::legend::Symbol;
use crate::svg::{self, ABOVE, BASELINE, BELOW, DIM, GRID, INK, NOT_SHOWN, TYPE};
use inkstone_lab::backtest::{IcSummary, SubSample};

use inkstone_base::language::Language;

/// Names with a value, by month.
pub(super) const COVERAGE: Chart = Chart { stem: "coverage", none: words::NO_COVERAGE, sheet: coverage };

/// RankIC among some of the names.
pub(super) const SAMPLES: Chart = Chart { stem: "samples", none: words::NO_SAMPLES, sheet: samples };

fn coverage<'a>(page: &FactorReport<'a>, language: Language) -> Option<Sheet<'a>> {
    const HIGH: i32 = 170;
    let coverage = &page.outcome.coverage;
    let means = |names: &[u32]| {
        let names: Vec<f64> = names.iter().map(|n| f64::from(*n)).collect();
        bars(&coverage.dates, &names).0
    };
    let (names, universe) = (means(&coverage.names), means(&coverage.universe));
    let dates = names.iter().chain(&universe).flat_map(|bar| [&bar.0, &bar.1]);
    let ends: (NaiveDate, NaiveDate) = span(dates)?;
    Some(Sheet {
        title: titled(page, words::COVERAGE_BY_MONTH, language),
        notes: notes(page, words::COVERAGE_CAPTION, language),
        legend: vec![
            (Symbol::Bar(ABOVE), words::WITH_VALUE.to(language).to_owned()),
            (Symbol::Bar(NOT_SHOWN), words::TRADED.to(language).to_owned()),
        ],
        down: Curves::down(HIGH),
        paint: Box::new(move |canvas, top| {
            let values = range(names.iter().chain(&universe).map(|bar| bar.2), Some(0.0));
            let sides = (top + HEAD, top + HEAD + HIGH);
            let plot = Plot::new((LEFT, ACROSS - 20), sides, Across::dates(ends.0, ends.1), values);
            plot.scales(canvas, words::NAMES_UNIT.to(language), 0.0)?;
            plot.bars(canvas, &universe, |_| NOT_SHOWN)?;
            plot.bars(canvas, &names, |_| ABOVE)
        }),
    })
}

/// The 95 % interval of a mean RankIC by its Newey-West error; without one, by the error of independent dates.
pub(super) fn interval(summary: &IcSummary) -> [f64; 2] {
    let newey_west = (summary.mean / summary.t_nw).abs();
    let error = if newey_west.is_finite() { newey_west } else { summary.std / (summary.n.max(1) as f64).sqrt() };
    [summary.mean - 1.96 * error, summary.mean + 1.96 * error]
}

/// A row of the chart: the head of a kind of samples, or a sample with its RankIC.
enum SampleRow {
    Head(String),
    Sample(String, IcSummary),
}

/// Dates that a sample needs: of fewer its mean says nothing.
const LEAST_DATES: usize = 20;

/// True if a sample has enough dates to be shown.
pub(super) fn has_dates(sample: &SubSample) -> bool {
    sample.rank_ic.iter().any(|summary| summary.n >= LEAST_DATES)
}

fn samples<'a>(page: &FactorReport<'a>, language: Language) -> Option<Sheet<'a>> {
    const ROW: i32 = 22;
    let outcome = page.outcome;
    let mut rows = Vec::new();
    let all_names = outcome.ic.first().map(|series| series.rank_ic_summary).filter(|s| s.mean.is_finite());
    rows.extend(all_names.map(|summary| SampleRow::Sample(words::ALL_NAMES.to(language).to_owned(), summary)));
    let there = |sample: &&SubSample| has_dates(sample) && sample.rank_ic.first().is_some_and(|s| s.mean.is_finite());
    let samples: Vec<&SubSample> = outcome.samples.iter().filter(there).collect();
    for kind in samples.chunk_by(|a, b| a.by == b.by) {
        rows.push(SampleRow::Head(short(words::sample(&kind[0].by, language))));
        rows.extend(kind.iter().map(|s| SampleRow::Sample(short(words::sample(&s.group, language)), s.rank_ic[0])));
    }
    if samples.is_empty() {
        return None;
    }
    let horizon = outcome.alignment.horizons.first().or(outcome.ic.first().map(|series| &series.horizon)).copied();
    let unit = match horizon {
        Some(horizon) => format!("{} · {}", words::MEAN_RANK_IC.to(language), words::days(horizon, language)),
        None => words::MEAN_RANK_IC.to(language).to_owned(),
    };
    let name = |row: &SampleRow| match row {
        SampleRow::Head(name) => svg::width(name, TYPE),
        SampleRow::Sample(name, _) => svg::width(name, TYPE) + 14.0,
    };
    let left = rows.iter().map(name).fold(60.0, f64::max).ceil() as i32 + 28;
    let high = ROW * rows.len() as i32;
    Some(Sheet {
        title: titled(page, words::SAMPLES, language),
        notes: notes(page, words::SAMPLES_CAPTION, language),
        legend: Vec::new(),
        down: high + FOOT + 24,
        paint: Box::new(move |canvas, top| {
            let ends = rows.iter().flat_map(|row| match row {
                SampleRow::Sample(_, summary) => {
                    let [low, high] = interval(summary);
                    [summary.mean, low, high]
                }
                SampleRow::Head(_) => [f64::NAN; 3],
            });
            let scale = range(ends, Some(0.0));
            let plot = Plot::new((left, ACROSS - 90), (top, top + high), Across::numbers(scale, 6), (0.0, 1.0));
            plot.frame_across(canvas)?;
            let place = |value: f64| plot.place(value, 0.0).0;
            svg::line(canvas, vec![(place(0.0), top), (place(0.0), top + high)], DIM.stroke_width(1))?;
            if let Some(all_names) = all_names {
                svg::dashes(canvas, place(all_names.mean), [top, top + high], true, BASELINE)?;
            }
            let text = |text: &str, at, color: RGBColor, h| {
                svg::write(canvas, text, at, svg::style(TYPE, color, h, VPos::Center))
            };
            for (i, row) in rows.iter().enumerate() {
                let y = top + ROW * i as i32 + ROW / 2;
                match row {
                    SampleRow::Head(name) => {
                        svg::line(canvas, vec![(16, y - ROW / 2), (plot.right, y - ROW / 2)], GRID.stroke_width(1))?;
                        text(name, (16, y), DIM, HPos::Left)?;
                    }
                    SampleRow::Sample(name, summary) => {
                        text(name, (30, y), INK, HPos::Left)?;
                        let color = if summary.mean < 0.0 { BELOW } else { ABOVE };
                        let ends = interval(summary);
                        if ends.iter().all(|end| end.is_finite()) {
                            svg::whisker(canvas, y, ends.map(place), false, INK.mix(0.7).stroke_width(1))?;
                        }
                        svg::mark(canvas, 0, (place(summary.mean), y), color)?;
                        text(&format!("{:+.4}", summary.mean), (ACROSS - 20, y), INK, HPos::Right)?;
                    }
                }
            }
            plot.name_across(canvas, &unit)
        }),
    })
}
