//! Charts of portfolios: the long-short one, its legs and turnover, and the others against a benchmark.

use plotters::style::RGBColor;

use super::lines::{Curves, NamedCurve, span};
use super::plot::{Across, HEAD, Plot, range};
use super::series::{bars, curve, falls, growth};
use super::sheet::{ACROSS, LEFT, Sheet};
use super::{Chart, FactorReport, notes, titled, words};
use crate::svg::{self, ABOVE, BELOW, DIM};

use inkstone_base::language::{Language, Word};

/// The long-short portfolio: growth before and after costs, and falls from the peak.
pub(super) const LONG_SHORT: Chart = Chart { stem: "long_short", none: words::NO_BOOK, sheet: long_short };

pub(super) const LEGS: Chart = Chart { stem: "legs", none: words::NO_BOOK, sheet: legs };

pub(super) const TURNOVER: Chart = Chart { stem: "turnover", none: words::NO_TURNOVER, sheet: turnover };

/// Portfolios and the benchmark, and what they differ by.
pub(super) const PORTFOLIOS: Chart = Chart { stem: "portfolios", none: words::NO_PORTFOLIOS, sheet: portfolios };

/// Growth of 1 by some returns, as a curve.
fn grown(name: &str, dates: &[chrono::NaiveDate], returns: &[f64], color: RGBColor, thick: u32) -> NamedCurve {
    NamedCurve { name: name.to_owned(), curve: curve(dates, &growth(returns)), color, thick }
}

fn lines(lines: Vec<NamedCurve>, unit: Word, language: Language) -> Curves {
    let lines = lines.into_iter().filter(|line| !line.curve.is_empty()).collect();
    Curves { lines, unit: unit.to(language).to_owned(), base: 1.0 }
}

fn long_short<'a>(page: &FactorReport<'a>, language: Language) -> Option<Sheet<'a>> {
    const HIGH: i32 = 230;
    const LOW: i32 = 110;
    let book = &page.outcome.long_short;
    let line = |word: Word, returns, color, thick| grown(word.to(language), &book.dates, returns, color, thick);
    let gross = line(words::GROSS, &book.gross, DIM, 1);
    let net = line(words::NET, &book.net, ABOVE, 2);
    let fall: Vec<f64> = falls(&growth(&book.net)).into_iter().map(|fall| 100.0 * fall).collect();
    let fall = curve(&book.dates, &fall);
    let wealth = lines(vec![gross, net], words::WEALTH, language);
    let ends = span(book.dates.iter()).filter(|_| !wealth.lines.is_empty())?;
    Some(Sheet {
        title: titled(page, words::LONG_SHORT, language),
        notes: notes(page, words::LONG_SHORT_CAPTION, language),
        legend: Vec::new(),
        down: Curves::down(HIGH) + Curves::down(LOW),
        paint: Box::new(move |canvas, top| {
            let right = Curves::right(&[&wealth]);
            wealth.paint(canvas, top, HIGH, right, ends)?;
            let top = top + Curves::down(HIGH) + HEAD;
            let values = range(fall.iter().map(|point| point.1), Some(0.0));
            let plot = Plot::new((LEFT, right), (top, top + LOW), Across::dates(ends.0, ends.1), values);
            plot.scales(canvas, words::FALL.to(language), 0.0)?;
            plot.under(canvas, &fall, 0.0, BELOW)?;
            plot.curve(canvas, &fall, BELOW, 1)
        }),
    })
}

fn legs<'a>(page: &FactorReport<'a>, language: Language) -> Option<Sheet<'a>> {
    const HIGH: i32 = 220;
    let book = &page.outcome.long_short;
    let line = |word: Word, returns, color| grown(word.to(language), &book.dates, returns, color, 2);
    let long = line(words::LONG_LEG, &book.long, ABOVE);
    let short = line(words::SHORT_LEG, &book.short, BELOW);
    let legs = lines(vec![long, short], words::WEALTH, language);
    let ends = span(book.dates.iter()).filter(|_| !legs.lines.is_empty())?;
    Some(Sheet {
        title: titled(page, words::LEGS, language),
        notes: notes(page, words::LEGS_CAPTION, language),
        legend: Vec::new(),
        down: Curves::down(HIGH),
        paint: Box::new(move |canvas, top| legs.paint(canvas, top, HIGH, Curves::right(&[&legs]), ends).map(|_| ())),
    })
}

fn turnover<'a>(page: &FactorReport<'a>, language: Language) -> Option<Sheet<'a>> {
    const HIGH: i32 = 150;
    let book = &page.outcome.long_short;
    let shares: Vec<f64> = book.turnover.iter().map(|share| 100.0 * share).collect();
    let (bars, _) = bars(&book.dates, &shares);
    let ends = span(bars.iter().flat_map(|bar| [&bar.0, &bar.1]))?;
    Some(Sheet {
        title: titled(page, words::TURNOVER_BY_MONTH, language),
        notes: notes(page, words::TURNOVER_CAPTION, language),
        legend: Vec::new(),
        down: Curves::down(HIGH),
        paint: Box::new(move |canvas, top| {
            let values = range(bars.iter().map(|bar| bar.2), Some(0.0));
            let sides = (top + HEAD, top + HEAD + HIGH);
            let plot = Plot::new((LEFT, ACROSS - 20), sides, Across::dates(ends.0, ends.1), values);
            plot.scales(canvas, words::TURNOVER_UNIT.to(language), 0.0)?;
            plot.bars(canvas, &bars, |_| ABOVE)
        }),
    })
}

fn portfolios<'a>(page: &FactorReport<'a>, language: Language) -> Option<Sheet<'a>> {
    const HIGH: i32 = 260;
    const LOW: i32 = 170;
    let (books, benchmark) = (&page.outcome.portfolios, page.outcome.benchmark.as_ref());
    let line = |i: usize, returns: &[f64]| {
        let name = words::portfolio(&books[i].name, language);
        grown(&name, &books[i].dates, returns, svg::series(i), 2)
    };
    let mut wealth: Vec<NamedCurve> = (0..books.len()).map(|i| line(i, &books[i].net)).collect();
    if wealth.iter().all(|line| line.curve.is_empty()) {
        return None;
    }
    if let Some(benchmark) = benchmark {
        let name = words::benchmark(&benchmark.name, language);
        wealth.insert(0, grown(name, &benchmark.dates, &benchmark.returns, DIM, 1));
    }
    let wealth = lines(wealth, words::WEALTH, language);
    let excess = (0..books.len()).map(|i| line(i, &books[i].excess)).collect();
    let excess = lines(excess, words::EXCESS_WEALTH, language);
    let dates = books.iter().map(|book| &book.dates).chain(benchmark.map(|benchmark| &benchmark.dates));
    let ends = span(dates.flatten())?;
    let second = if excess.lines.is_empty() { 0 } else { Curves::down(LOW) };
    Some(Sheet {
        title: titled(page, words::PORTFOLIOS, language),
        notes: notes(page, words::PORTFOLIOS_CAPTION, language),
        legend: Vec::new(),
        down: Curves::down(HIGH) + second,
        paint: Box::new(move |canvas, top| {
            let right = Curves::right(&[&wealth, &excess]);
            wealth.paint(canvas, top, HIGH, right, ends)?;
            if second > 0 {
                excess.paint(canvas, top + Curves::down(HIGH), LOW, right, ends)?;
            }
            Ok(())
        }),
    })
}
