//! The plot of a chart: scales of dates, numbers and names, and what is drawn over them.

use anyhow::Result;
use chrono::{Datelike, NaiveDate};
use plotters::style::text_anchor::{HPos, VPos};
use plotters::style::{Color, RGBColor};

use super::series::{Bar, Curve, day, thinned};
use crate::axis::Axis;
use crate::spread::spread;
use crate::svg::{self, Canvas, DIM, GRID, Pixel, TYPE};
use inkstone_base::width::cut;

/// Pixels above a plot, for the name of its scale.
pub(super) const HEAD: i32 = 26;
/// Pixels below a plot, for the scale across.
pub(super) const FOOT: i32 = 26;

/// The scale across: its ends, and what is written where along it.
#[derive(Clone)]
pub(super) struct Across {
    ends: (f64, f64),
    labels: Vec<(f64, String)>,
}

impl Across {
    /// Dates from one to another.
    pub(super) fn dates(first: NaiveDate, last: NaiveDate) -> Across {
        let months = |date: NaiveDate| date.year() * 12 + date.month0() as i32;
        let span = months(last) - months(first);
        let ends = (day(first) - 0.5, day(last) + 0.5);
        if span < 3 {
            let days = (last - first).num_days();
            let step = (days / 6 + 1) as usize;
            let dates = first.iter_days().take(days as usize + 1).step_by(step);
            return Across { ends, labels: dates.map(|d| (day(d), d.format("%Y-%m-%d").to_string())).collect() };
        }
        let step = [1, 3, 6, 12, 24, 60, 120].into_iter().find(|step| span / step <= 10).unwrap_or(240);
        let label = |month: i32| {
            let date = NaiveDate::from_ymd_opt(month.div_euclid(12), month.rem_euclid(12) as u32 + 1, 1)?;
            let form = if step < 12 { "%Y-%m" } else { "%Y" };
            Some((day(date), date.format(form).to_string()))
        };
        let labels = (months(first)..=months(last)).filter(|month| month % step == 0).filter_map(label);
        Across { ends, labels: labels.filter(|(at, _)| *at >= ends.0).collect() }
    }

    /// Names side by side, the first around 0, the next around 1.
    pub(super) fn names(names: impl Iterator<Item = String>) -> Across {
        let labels: Vec<(f64, String)> = (0..).map(f64::from).zip(names).collect();
        Across { ends: (-0.5, labels.len() as f64 - 0.5), labels }
    }

    /// Whole numbers from one to another, each written where there is room.
    pub(super) fn integers(first: i64, last: i64) -> Across {
        let labels = (first..=last).map(|n| (n as f64, n.to_string()));
        Across { ends: (first as f64 - 0.7, last as f64 + 0.7), labels: labels.collect() }
    }

    /// Numbers in this range with some `most` round ones written along them.
    pub(super) fn numbers((low, high): (f64, f64), most: usize) -> Across {
        let axis = Axis::linear(low, high, most);
        let labels = axis.ticks().iter().map(|tick| (*tick, number(*tick, axis.decimals())));
        Across { ends: (low, high), labels: labels.collect() }
    }
}

/// The range of some values and of `within`, with some room; values that are not there are left out.
pub(super) fn range(values: impl Iterator<Item = f64>, within: Option<f64>) -> (f64, f64) {
    let (low, high) = values
        .chain(within)
        .filter(|v| v.is_finite())
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), v| (low.min(v), high.max(v)));
    let room = if high > low { 0.06 * (high - low) } else { (0.05 * low.abs()).max(0.01) };
    // Where nothing is below the line, nothing is drawn below it.
    let end = |end: f64, room: f64| if within == Some(end) && high > low { end } else { end + room };
    if low <= high { (end(low, -room), end(high, room)) } else { (0.0, 1.0) }
}

/// A plot: pixels of its sides, and its scales.
pub(super) struct Plot {
    pub(super) left: i32,
    pub(super) right: i32,
    pub(super) top: i32,
    pub(super) bottom: i32,
    across: Across,
    down: Axis,
}

impl Plot {
    /// A plot between these sides (left, right) and (top, bottom), of values in this range.
    pub(super) fn new((left, right): (i32, i32), (top, bottom): (i32, i32), across: Across, range: (f64, f64)) -> Plot {
        let lines = ((bottom - top) / 26).clamp(3, 9) as usize;
        Plot { left, right, top, bottom, across, down: Axis::linear(range.0, range.1, lines) }
    }

    /// Pixels of a point.
    pub(super) fn place(&self, x: f64, y: f64) -> Pixel {
        let (low, high) = self.across.ends;
        let along = (x - low) / (high - low) * f64::from(self.right - self.left);
        let up = self.down.share(y) * f64::from(self.bottom - self.top);
        (self.left + along.round() as i32, self.bottom - up.round() as i32)
    }

    /// Draws lines and numbers of the scales; `unit` names the scale at the left, `base` is a value whose line is stronger.
    pub(super) fn scales(&self, canvas: &Canvas<'_>, unit: &str, base: f64) -> Result<()> {
        let text = |h| svg::style(TYPE, DIM, h, VPos::Center);
        svg::write(canvas, unit, (self.left - 56, self.top - HEAD / 2), text(HPos::Left))?;
        let decimals = self.down.decimals();
        for tick in self.down.ticks() {
            let (_, y) = self.place(0.0, *tick);
            svg::line(canvas, vec![(self.left, y), (self.right, y)], GRID.stroke_width(1))?;
            svg::write(canvas, &number(*tick, decimals), (self.left - 8, y), text(HPos::Right))?;
        }
        let (_, y) = self.place(0.0, base);
        if (self.top..=self.bottom).contains(&y) {
            svg::line(canvas, vec![(self.left, y), (self.right, y)], DIM.stroke_width(1))?;
        }
        self.labels(canvas, false)
    }

    /// Draws lines and numbers of the scale across alone.
    pub(super) fn frame_across(&self, canvas: &Canvas<'_>) -> Result<()> {
        self.labels(canvas, true)
    }

    /// Writes the labels of the scale across where they have room, with lines up the plot or short ones under it.
    fn labels(&self, canvas: &Canvas<'_>, lines: bool) -> Result<()> {
        let mut free = i32::MIN;
        for (at, label) in &self.across.labels {
            let half = (svg::width(label, TYPE) / 2.0).ceil() as i32;
            let (x, _) = self.place(*at, 0.0);
            if x - half < free || !(self.left..=self.right).contains(&x) {
                continue;
            }
            let (from, color) = if lines { (self.top, GRID) } else { (self.bottom + 4, DIM) };
            svg::line(canvas, vec![(x, self.bottom), (x, from)], color.stroke_width(1))?;
            let (wide, _) = canvas.dim_in_pixel();
            let middle = x.min(wide as i32 - half - 2);
            svg::write(
                canvas,
                label,
                (middle, self.bottom + FOOT / 2 + 2),
                svg::style(TYPE, DIM, HPos::Center, VPos::Center),
            )?;
            free = x + half + 10;
        }
        Ok(())
    }

    /// Draws a curve, with no more points than can be seen.
    pub(super) fn curve(&self, canvas: &Canvas<'_>, curve: &Curve, color: RGBColor, thick: u32) -> Result<()> {
        let mut places: Vec<Pixel> = thinned(curve).into_iter().map(|(x, y)| self.place(x, y)).collect();
        places.dedup();
        match places.as_slice() {
            [] => Ok(()),
            [only] => svg::mark(canvas, 0, *only, color),
            _ => svg::line(canvas, places, color.stroke_width(thick)),
        }
    }

    /// Fills what lies between a curve and a level.
    pub(super) fn under(&self, canvas: &Canvas<'_>, curve: &Curve, level: f64, color: RGBColor) -> Result<()> {
        let curve = thinned(curve);
        let [Some(first), Some(last)] = [curve.first(), curve.last()] else { return Ok(()) };
        let mut corners: Vec<Pixel> = curve.iter().map(|(x, y)| self.place(*x, *y)).collect();
        corners.extend([self.place(last.0, level), self.place(first.0, level)]);
        corners.dedup();
        if corners.len() > 2 { svg::area(canvas, corners, color, 0.3) } else { Ok(()) }
    }

    /// Draws a bar of this half width from `base` to a value, at least a pixel wide and at most 40.
    pub(super) fn bar(
        &self,
        canvas: &Canvas<'_>,
        x: f64,
        half: f64,
        (base, value): (f64, f64),
        color: RGBColor,
    ) -> Result<()> {
        let ((left, from), (right, to)) = (self.place(x - half, base), self.place(x + half, value));
        let (middle, wide) = ((left + right) / 2, (right - left).clamp(1, 40));
        let left = middle - wide / 2;
        svg::block(canvas, (left, from.min(to)), (left + wide, from.max(to)), color)
    }

    /// Draws bars of months or dates.
    pub(super) fn bars(&self, canvas: &Canvas<'_>, bars: &[Bar], color: impl Fn(f64) -> RGBColor) -> Result<()> {
        for (first, last, value) in bars {
            let (from, to) = (day(*first) - 0.5, day(*last) + 0.5);
            self.bar(canvas, (from + to) / 2.0, (to - from) * 0.4, (0.0, *value), color(*value))?;
        }
        Ok(())
    }

    /// Writes what the scale across counts, under it.
    pub(super) fn name_across(&self, canvas: &Canvas<'_>, name: &str) -> Result<()> {
        let at = ((self.left + self.right) / 2, self.bottom + FOOT + 10);
        svg::write(canvas, name, at, svg::style(TYPE, DIM, HPos::Center, VPos::Center))
    }

    /// Writes names at the right, each at the height of its value or near it.
    pub(super) fn names(&self, canvas: &Canvas<'_>, mut names: Vec<(f64, String, RGBColor)>) -> Result<()> {
        names.retain(|(value, ..)| value.is_finite());
        names.sort_by(|a, b| b.0.total_cmp(&a.0));
        let wanted: Vec<f64> = names.iter().map(|(value, ..)| f64::from(self.place(0.0, *value).1)).collect();
        let heights = spread(&wanted, 14.0, f64::from(self.top), f64::from(self.bottom));
        for ((_, name, color), y) in names.iter().zip(heights) {
            let at = (self.right + 6, y.round() as i32);
            svg::write(canvas, &short(name), at, svg::style(TYPE, *color, HPos::Left, VPos::Center))?;
        }
        Ok(())
    }
}

/// Pixels that names at the right of a plot take, the space before them included.
pub(super) fn room<'a>(names: impl Iterator<Item = &'a str>) -> i32 {
    names.map(|name| svg::width(&short(name), TYPE)).fold(10.0, f64::max).ceil() as i32 + 12
}

/// A name that leaves room for the plot beside it.
pub(super) fn short(name: &str) -> String {
    cut(name, 30)
}

/// A number of a scale; rounding makes no negative zero.
fn number(tick: f64, decimals: usize) -> String {
    format!("{:.decimals$}", if tick.abs() < 1e-12 { 0.0 } else { tick })
}
