//! The chart of the event study: cumulative abnormal returns by group around the event.

use plotters::style::Color;

use super::plot::{Across, FOOT, HEAD, Plot, range, room};
use super::series::Curve;
use super::sheet::{ACROSS, LEFT, Sheet};
use super::{Chart, FactorReport, layers, titled, words};
use crate::svg::{self, DIM};
use inkstone_base::figures::count;
use inkstone_base::language::Language;
use inkstone_lab::backtest::events::EventGroup;

/// Cumulative abnormal returns around the event.
pub(super) const EVENTS: Chart = Chart { stem: "events", none: words::NO_EVENT_GROUPS, sheet: events };

/// A group as it is drawn: name, curve and the ends of its band in per cent.
struct Group {
    name: String,
    curve: Curve,
    low: Curve,
    high: Curve,
}

fn group(group: &EventGroup, language: Language) -> Group {
    let events = count(group.events);
    let name = match language {
        Language::Zh => format!("第 {} 组（{events}）", group.group),
        Language::En => format!("group {} ({events})", group.group),
    };
    let points = || {
        let days = group.days.iter().zip(&group.cumulative).enumerate();
        days.filter(|(_, (_, car))| car.is_finite()).map(|(i, (day, car))| {
            let margin = group.margin.get(i).copied().filter(|m| m.is_finite()).unwrap_or_default();
            (f64::from(*day), 100.0 * car, 100.0 * margin)
        })
    };
    Group {
        name,
        curve: points().map(|(day, car, _)| (day, car)).collect(),
        low: points().map(|(day, car, margin)| (day, car - margin)).collect(),
        high: points().map(|(day, car, margin)| (day, car + margin)).collect(),
    }
}

fn events<'a>(page: &FactorReport<'a>, language: Language) -> Option<Sheet<'a>> {
    const HIGH: i32 = 300;
    let study = page.events?;
    let groups: Vec<Group> = study.groups.iter().map(|g| group(g, language)).collect();
    let groups: Vec<Group> = groups.into_iter().filter(|group| !group.curve.is_empty()).collect();
    let days = groups.iter().flat_map(|group| &group.curve).map(|point| point.0);
    let first = days.clone().fold(f64::INFINITY, f64::min);
    let last = days.fold(f64::NEG_INFINITY, f64::max);
    if groups.is_empty() {
        return None;
    }
    let right = ACROSS - room(groups.iter().map(|group| group.name.as_str()));
    Some(Sheet {
        title: titled(page, words::EVENTS, language),
        notes: vec![words::EVENTS_CAPTION.to(language).to_owned(), words::expected(study, language)],
        legend: Vec::new(),
        down: HEAD + HIGH + FOOT + 18,
        paint: Box::new(move |canvas, top| {
            let values = groups.iter().flat_map(|group| group.low.iter().chain(&group.high)).map(|point| point.1);
            let values = range(values, Some(0.0));
            let sides = (top + HEAD, top + HEAD + HIGH);
            let plot = Plot::new((LEFT, right), sides, Across::integers(first as i64, last as i64), values);
            plot.scales(canvas, words::CAR_UNIT.to(language), 0.0)?;
            if (first..=last).contains(&0.0) {
                let (x, _) = plot.place(0.0, 0.0);
                svg::line(canvas, vec![(x, plot.top), (x, plot.bottom)], DIM.stroke_width(1))?;
            }
            let color = |i: usize| layers::shade(i, groups.len());
            for (i, group) in groups.iter().enumerate() {
                let upper = group.high.iter().copied();
                let around: Vec<_> =
                    upper.chain(group.low.iter().rev().copied()).map(|(x, y)| plot.place(x, y)).collect();
                if group.curve.len() > 1 {
                    svg::area(canvas, around, color(i), 0.14)?;
                }
            }
            for (i, group) in groups.iter().enumerate() {
                plot.curve(canvas, &group.curve, color(i), 2)?;
                for (x, y) in &group.curve {
                    // Marks tell groups apart where colours do not.
                    svg::mark(canvas, i, plot.place(*x, *y), color(i))?;
                }
            }
            let end = |(i, group): (usize, &Group)| group.curve.last().map(|p| (p.1, group.name.clone(), color(i)));
            plot.names(canvas, groups.iter().enumerate().filter_map(end).collect())?;
            plot.name_across(canvas, words::EVENT_DAY.to(language))
        }),
    })
}
