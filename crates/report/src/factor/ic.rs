//! Charts of information coefficients: by month, summed up, and by day after the entry.

use plotters::style::RGBColor;

use super::lines::{Curves, NamedCurve, span};
use super::plot::{Across, FOOT, HEAD, Plot, range};
use super::series::{bars, curve, sums};
use super::sheet::{ACROSS, LEFT, Sheet};
use super::{Chart, FactorReport, notes, titled, words};
use crate::legend::Symbol;
use crate::svg::{self, ABOVE, BELOW, INK};

use inkstone_base::language::Language;

/// RankIC by month, and its running sum.
pub(super) const RANK_IC: Chart = Chart { stem: "rank_ic", none: words::NO_IC, sheet: rank_ic };

/// RankIC by day after the entry.
pub(super) const DECAY: Chart = Chart { stem: "ic_decay", none: words::NO_DECAY, sheet: decay };

/// Blue above zero, orange below.
fn of_sign(value: f64) -> RGBColor {
    if value < 0.0 { BELOW } else { ABOVE }
}

fn rank_ic<'a>(page: &FactorReport<'a>, language: Language) -> Option<Sheet<'a>> {
    const HIGH: i32 = 180;
    const LOW: i32 = 130;
    let all = &page.outcome.ic;
    let first = all.first()?;
    let (bars, monthly) = bars(&first.dates, &first.rank_ic);
    let dates = bars.iter().flat_map(|bar| [&bar.0, &bar.1]).chain(all.iter().flat_map(|series| &series.dates));
    let ends = span(dates).filter(|_| !bars.is_empty())?;
    let line = |(i, series): (usize, &inkstone_lab::backtest::IcSeries)| NamedCurve {
        name: words::days(series.horizon, language),
        curve: curve(&series.dates, &sums(&series.rank_ic)),
        color: svg::series(i),
        thick: 2,
    };
    let sums = Curves {
        lines: all.iter().enumerate().map(line).collect(),
        unit: words::SUM_OF_RANK_IC.to(language).to_owned(),
        base: 0.0,
    };
    let unit = if monthly { words::BY_MONTH } else { words::RANK_IC };
    let unit = format!("{} · {}", unit.to(language), words::days(first.horizon, language));
    let right = Curves::right(&[&sums]);
    Some(Sheet {
        title: titled(page, words::RANK_IC, language),
        notes: notes(page, words::IC_CAPTION, language),
        legend: Vec::new(),
        down: Curves::down(HIGH) + Curves::down(LOW),
        paint: Box::new(move |canvas, top| {
            let values = range(bars.iter().map(|bar| bar.2), Some(0.0));
            let sides = (top + HEAD, top + HEAD + HIGH);
            let plot = Plot::new((LEFT, right), sides, Across::dates(ends.0, ends.1), values);
            plot.scales(canvas, &unit, 0.0)?;
            plot.bars(canvas, &bars, of_sign)?;
            sums.paint(canvas, top + Curves::down(HIGH), LOW, right, ends).map(|_| ())
        }),
    })
}

fn decay<'a>(page: &FactorReport<'a>, language: Language) -> Option<Sheet<'a>> {
    const HIGH: i32 = 220;
    let decay = &page.outcome.decay;
    let bars: Vec<(usize, f64)> =
        decay.lags.iter().copied().zip(decay.rank_ic.iter().copied()).filter(|(_, v)| v.is_finite()).collect();
    let (first, last) = (bars.first()?.0 as i64, bars.last()?.0 as i64);
    let half_life = Some(decay.half_life).filter(|h| h.is_finite());
    let note = match (half_life, language) {
        (Some(h), Language::Zh) => format!("半衰期 {h:.1} 日：RankIC 降到首日的一半（虚线）。"),
        (Some(h), Language::En) => {
            format!("Half-life {h:.1} days: there the RankIC has fallen to half of the first day's (dashed line).")
        }
        (None, _) => words::NO_HALF_LIFE.to(language).to_owned(),
    };
    let mut notes = notes(page, words::DECAY_CAPTION, language);
    notes.insert(1, note);
    let entry = |h: f64| (Symbol::Dashes(INK), format!("{} {h:.1}", words::HALF_LIFE.to(language)));
    Some(Sheet {
        title: titled(page, words::DECAY, language),
        notes,
        legend: half_life.map(entry).into_iter().collect(),
        down: HEAD + HIGH + FOOT + 18,
        paint: Box::new(move |canvas, top| {
            let values = range(bars.iter().map(|bar| bar.1), Some(0.0));
            let sides = (top + HEAD, top + HEAD + HIGH);
            let plot = Plot::new((LEFT, ACROSS - 20), sides, Across::integers(first, last), values);
            plot.scales(canvas, words::MEAN_RANK_IC.to(language), 0.0)?;
            for (lag, value) in &bars {
                plot.bar(canvas, *lag as f64, 0.35, (0.0, *value), of_sign(*value))?;
            }
            let place = half_life.map(|h| plot.place(h, 0.0).0);
            if let Some(x) = place.filter(|x| (plot.left..=plot.right).contains(x)) {
                svg::dashes(canvas, x, [plot.top, plot.bottom], true, INK)?;
            }
            plot.name_across(canvas, words::LAG.to(language))
        }),
    })
}
