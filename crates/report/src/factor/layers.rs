//! Charts of the layers: growth in each, and mean returns by horizon.

use plotters::style::{Color, RGBColor};

use super::lines::{Curves, NamedCurve, span};
use super::plot::{Across, HEAD, Plot, range};
use super::series::curve;
use super::sheet::{ACROSS, Sheet};
use super::{Chart, FactorReport, notes, titled, words};
use crate::svg::{self, ABOVE, BELOW, INK};
use inkstone_lab::backtest::LayerReturns;

use inkstone_base::language::Language;

/// Growth of 1 in each layer.
pub(super) const WEALTH: Chart = Chart { stem: "layers_wealth", none: words::NO_LAYERS, sheet: wealth };

/// Mean return of each layer over each horizon.
pub(super) const MEANS: Chart = Chart { stem: "layers_mean", none: words::NO_LAYERS, sheet: means };

/// Between the ends, legible on light and dark paper alike.
const MIDDLE: RGBColor = RGBColor(0x80, 0x88, 0x94);

/// A colour between orange for the lowest layer and blue for the highest, by way of grey.
pub(super) fn shade(number: usize, quantiles: usize) -> RGBColor {
    let share = if quantiles > 1 { number as f64 / (quantiles - 1) as f64 } else { 1.0 };
    let (from, to, share) = match share {
        s if s < 0.5 => (BELOW, MIDDLE, 2.0 * s),
        s => (MIDDLE, ABOVE, 2.0 * s - 1.0),
    };
    let mix = |a: u8, b: u8| (f64::from(a) + (f64::from(b) - f64::from(a)) * share).round() as u8;
    RGBColor(mix(from.0, to.0), mix(from.1, to.1), mix(from.2, to.2))
}

fn wealth<'a>(page: &FactorReport<'a>, language: Language) -> Option<Sheet<'a>> {
    const HIGH: i32 = 300;
    let layers = &page.outcome.layers;
    let quantiles = layers.wealth.len();
    let line = |(i, wealth): (usize, &Vec<f64>)| NamedCurve {
        name: words::layer(i + 1, quantiles, language),
        curve: curve(&layers.dates, wealth),
        color: shade(i, quantiles),
        // The ends are what counts.
        thick: if i == 0 || i + 1 == quantiles { 2 } else { 1 },
    };
    let lines: Vec<NamedCurve> = layers.wealth.iter().enumerate().map(line).filter(|l| !l.curve.is_empty()).collect();
    let ends = span(layers.dates.iter()).filter(|_| !lines.is_empty())?;
    let lines = Curves { lines, unit: words::WEALTH.to(language).to_owned(), base: 1.0 };
    Some(Sheet {
        title: titled(page, words::LAYERS_WEALTH, language),
        notes: notes(page, words::WEALTH_CAPTION, language),
        legend: Vec::new(),
        down: Curves::down(HIGH),
        paint: Box::new(move |canvas, top| lines.paint(canvas, top, HIGH, Curves::right(&[&lines]), ends).map(|_| ())),
    })
}

/// Mean returns at one horizon in per cent: of each layer, with the half width of its interval.
type Means = (usize, Vec<(f64, f64)>);

fn means<'a>(page: &FactorReport<'a>, language: Language) -> Option<Sheet<'a>> {
    const HIGH: i32 = 170;
    const MOST: usize = 3;
    let layers = &page.outcome.layers;
    let means = |(horizon, returns): (usize, &LayerReturns<'_>)| {
        let pairs = returns.mean.iter().zip(returns.stderr).map(|(mean, error)| (100.0 * mean, 196.0 * error));
        (horizon, pairs.collect::<Vec<_>>())
    };
    let is_there = |(_, means): &Means| means.iter().any(|mean| mean.0.is_finite());
    let horizons: Vec<Means> = layers.by_horizon().iter().map(means).filter(is_there).collect();
    let columns = horizons.len().min(MOST);
    let rows = horizons.len().div_ceil(MOST) as i32;
    if columns == 0 {
        return None;
    }
    let mut notes = notes(page, words::MEANS_CAPTION, language);
    notes.insert(1, if layers.demeaned { words::DEMEANED } else { words::RAW_RETURNS }.to(language).to_owned());
    Some(Sheet {
        title: titled(page, words::LAYERS_MEAN, language),
        notes,
        legend: Vec::new(),
        down: rows * Curves::down(HIGH),
        paint: Box::new(move |canvas, top| {
            let wide = ACROSS / columns as i32;
            for (i, (horizon, means)) in horizons.iter().enumerate() {
                let (column, row) = ((i % MOST) as i32, (i / MOST) as i32);
                let top = top + row * Curves::down(HIGH) + HEAD;
                let sides = (column * wide + 60, (column + 1) * wide - 14);
                let whisker = |m: &(f64, f64)| if m.1.is_finite() { [m.0 - m.1, m.0 + m.1] } else { [m.0; 2] };
                let values = range(means.iter().flat_map(whisker), Some(0.0));
                let names = Across::names((1..=means.len()).map(|n| n.to_string()));
                let plot = Plot::new(sides, (top, top + HIGH), names, values);
                let unit = format!("{} · {}", words::RETURN_UNIT.to(language), words::days(*horizon, language));
                plot.scales(canvas, &unit, 0.0)?;
                for (n, mean) in means.iter().enumerate().filter(|(_, mean)| mean.0.is_finite()) {
                    plot.bar(canvas, n as f64, 0.36, (0.0, mean.0), shade(n, means.len()))?;
                    if mean.1.is_finite() {
                        let ends = whisker(mean).map(|end| plot.place(n as f64, end).1);
                        svg::whisker(canvas, plot.place(n as f64, 0.0).0, ends, true, INK.mix(0.7).stroke_width(1))?;
                    }
                }
            }
            Ok(())
        }),
    })
}
