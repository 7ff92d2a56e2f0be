//! Charts of a tear sheet: months as a heat map, years, figures of a window that moves along, and styles.

use chrono::NaiveDate;
use plotters::style::RGBColor;
use plotters::style::text_anchor::{HPos, VPos};

use super::lines::{Curves, NamedCurve, span};
use super::plot::{Across, FOOT, HEAD, Plot, range};
use super::series::curve;
use super::sheet::{ACROSS, LEFT, Sheet};
use super::{Chart, FactorReport, notes, titled, words};
use crate::svg::{self, ABOVE, BELOW, INK, PAPER, TYPE};
use inkstone_lab::backtest::{ROLLING_DATES, ROLLING_DAYS, compound, months, rolling_mean, rolling_sharpe};

use inkstone_base::language::Language;

/// Monthly returns of the long-short portfolio after costs, a row a year.
pub(super) const MONTHS: Chart = Chart { stem: "months", none: words::NO_BOOK, sheet: months_of_book };

/// Annual returns of the long-short portfolio after costs.
pub(super) const YEARS: Chart = Chart { stem: "years", none: words::NO_YEARS, sheet: years };

/// RankIC and Sharpe ratio over a window that moves along.
pub(super) const ROLLING: Chart = Chart { stem: "rolling", none: words::TOO_SHORT_TO_ROLL, sheet: rolling };

/// Rank correlation of the factor with plain styles.
pub(super) const STYLES: Chart = Chart { stem: "styles", none: words::NO_STYLES, sheet: styles };

/// A colour on the way from the paper to another.
fn shade(color: RGBColor, share: f64) -> RGBColor {
    let mix = |paper: u8, ink: u8| (f64::from(paper) + (f64::from(ink) - f64::from(paper)) * share).round() as u8;
    RGBColor(mix(PAPER.0, color.0), mix(PAPER.1, color.1), mix(PAPER.2, color.2))
}

fn months_of_book<'a>(page: &FactorReport<'a>, language: Language) -> Option<Sheet<'a>> {
    const ROW: i32 = 24;
    let book = &page.outcome.long_short;
    let months = months(&book.dates, &book.net);
    let (first, last) = (months.first()?.year, months.last()?.year);
    let rows = last - first + 1;
    // The darkest cell is that of the greatest month; a few wild months leave the others light.
    let largest = months.iter().map(|month| month.growth.abs()).fold(0.0, f64::max);
    let years: Vec<(i32, f64)> =
        months.chunk_by(|a, b| a.year == b.year).map(|months| (months[0].year, compound(months))).collect();
    Some(Sheet {
        title: titled(page, words::MONTHS, language),
        notes: notes(page, words::MONTHS_CAPTION, language),
        legend: Vec::new(),
        down: HEAD + ROW * rows + 8,
        paint: Box::new(move |canvas, top| {
            let cell = (ACROSS - LEFT - 20) / 13;
            let text = |text: &str, (x, y): (i32, i32), color: RGBColor| {
                svg::write(canvas, text, (x, y), svg::style(TYPE, color, HPos::Center, VPos::Center))
            };
            let left = |column: i32| LEFT + column * cell;
            for month in 0..12 {
                text(&(month + 1).to_string(), (left(month) + cell / 2, top + HEAD / 2), svg::DIM)?;
            }
            text(words::WHOLE_YEAR.to(language), (left(12) + cell / 2, top + HEAD / 2), svg::DIM)?;
            let at_row = |year: i32| top + HEAD + (year - first) * ROW;
            let number = |growth: f64| format!("{:.1}", if growth.abs() < 0.0005 { 0.0 } else { 100.0 * growth });
            for month in &months {
                let (x, y) = (left(month.month as i32 - 1), at_row(month.year));
                let color = if month.growth < 0.0 { BELOW } else { ABOVE };
                let share = if largest > 0.0 { 0.75 * (month.growth.abs() / largest).sqrt() } else { 0.0 };
                svg::block(canvas, (x + 1, y + 1), (x + cell - 1, y + ROW - 1), shade(color, share))?;
                text(&number(month.growth), (x + cell / 2, y + ROW / 2), INK)?;
            }
            for (year, growth) in &years {
                let y = at_row(*year) + ROW / 2;
                text(&year.to_string(), (LEFT / 2, y), svg::DIM)?;
                text(&number(*growth), (left(12) + cell / 2, y), if *growth < 0.0 { BELOW } else { ABOVE })?;
            }
            Ok(())
        }),
    })
}

fn years<'a>(page: &FactorReport<'a>, language: Language) -> Option<Sheet<'a>> {
    const HIGH: i32 = 150;
    let years: Vec<(i32, f64)> = page
        .outcome
        .long_short
        .by_year
        .iter()
        .map(|year| (year.year, 100.0 * year.figures.annual_return))
        .filter(|(_, growth)| growth.is_finite())
        .collect();
    if years.len() < 2 {
        return None;
    }
    Some(Sheet {
        title: titled(page, words::YEARS, language),
        notes: notes(page, words::YEARS_CAPTION, language),
        legend: Vec::new(),
        down: HEAD + HIGH + FOOT,
        paint: Box::new(move |canvas, top| {
            let values = range(years.iter().map(|year| year.1), Some(0.0));
            let across = Across::names(years.iter().map(|year| year.0.to_string()));
            let plot = Plot::new((LEFT, ACROSS - 20), (top + HEAD, top + HEAD + HIGH), across, values);
            plot.scales(canvas, words::ANNUAL_RETURN_UNIT.to(language), 0.0)?;
            for (x, (_, growth)) in (0..).map(f64::from).zip(&years) {
                plot.bar(canvas, x, 0.3, (0.0, *growth), if *growth < 0.0 { BELOW } else { ABOVE })?;
            }
            Ok(())
        }),
    })
}

fn rolling<'a>(page: &FactorReport<'a>, language: Language) -> Option<Sheet<'a>> {
    const HIGH: i32 = 150;
    let outcome = page.outcome;
    let one = |word: inkstone_base::language::Word, dates: &[NaiveDate], values: Vec<f64>, color| {
        let line = NamedCurve { name: String::new(), curve: curve(dates, &values), color, thick: 2 };
        let lines = if line.curve.is_empty() { Vec::new() } else { vec![line] };
        Curves { lines, unit: word.to(language).to_owned(), base: 0.0 }
    };
    let series = outcome.ic.first()?;
    let rank_ic = one(words::ROLLING_RANK_IC, &series.dates, rolling_mean(&series.rank_ic, ROLLING_DATES), ABOVE);
    let book = &outcome.long_short;
    let sharpe = rolling_sharpe(&book.net, ROLLING_DAYS, outcome.days_per_year);
    let sharpe = one(words::ROLLING_SHARPE, &book.dates, sharpe, INK);
    let ends = span(series.dates.iter().chain(&book.dates))?;
    let curves: Vec<Curves> = [rank_ic, sharpe].into_iter().filter(|curves| !curves.lines.is_empty()).collect();
    if curves.is_empty() {
        return None;
    }
    Some(Sheet {
        title: titled(page, words::ROLLING, language),
        notes: notes(page, words::ROLLING_CAPTION, language),
        legend: Vec::new(),
        down: curves.len() as i32 * Curves::down(HIGH),
        paint: Box::new(move |canvas, top| {
            for (i, curves) in curves.iter().enumerate() {
                curves.paint(canvas, top + i as i32 * Curves::down(HIGH), HIGH, ACROSS - 20, ends)?;
            }
            Ok(())
        }),
    })
}

fn styles<'a>(page: &FactorReport<'a>, language: Language) -> Option<Sheet<'a>> {
    const ROW: i32 = 22;
    let styles = &page.outcome.styles.as_ref()?.styles;
    let rows: Vec<(String, f64)> = styles
        .iter()
        .filter(|style| style.correlation.is_finite())
        .map(|style| (words::style_name(&style.name, language).to_owned(), style.correlation))
        .collect();
    if rows.is_empty() {
        return None;
    }
    let left = rows.iter().map(|(name, _)| svg::width(name, TYPE)).fold(60.0, f64::max).ceil() as i32 + 32;
    let high = ROW * rows.len() as i32;
    Some(Sheet {
        title: titled(page, words::STYLES, language),
        notes: notes(page, words::STYLES_CAPTION, language),
        legend: Vec::new(),
        down: high + FOOT + 24,
        paint: Box::new(move |canvas, top| {
            let scale = range(rows.iter().map(|row| row.1).chain([-0.1, 0.1]), Some(0.0));
            let plot = Plot::new((left, ACROSS - 90), (top, top + high), Across::numbers(scale, 6), (0.0, 1.0));
            plot.frame_across(canvas)?;
            let zero = plot.place(0.0, 0.0).0;
            for (i, (name, correlation)) in rows.iter().enumerate() {
                let y = top + ROW * i as i32 + ROW / 2;
                let (x, color) = (plot.place(*correlation, 0.0).0, if *correlation < 0.0 { BELOW } else { ABOVE });
                svg::block(canvas, (zero.min(x), y - 6), (zero.max(x) + 1, y + 6), color)?;
                svg::write(canvas, name, (16, y), svg::style(TYPE, INK, HPos::Left, VPos::Center))?;
                let value = format!("{correlation:+.3}");
                svg::write(canvas, &value, (ACROSS - 20, y), svg::style(TYPE, INK, HPos::Right, VPos::Center))?;
            }
            plot.name_across(canvas, words::RANK_CORRELATION.to(language))
        }),
    })
}
