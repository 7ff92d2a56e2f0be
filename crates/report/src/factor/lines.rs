//! Curves over dates in a plot, each with its name at its end.

use anyhow::Result;
use chrono::NaiveDate;
use plotters::style::RGBColor;

use super::plot::{Across, FOOT, HEAD, Plot, range, room};
use super::series::Curve;
use super::sheet::{ACROSS, LEFT};
use crate::svg::Canvas;

/// A curve over dates.
pub(super) struct NamedCurve {
    /// Text at the end of the curve.
    pub(super) name: String,
    pub(super) curve: Curve,
    pub(super) color: RGBColor,
    /// Pixels of the stroke.
    pub(super) thick: u32,
}

/// Curves on one scale.
pub(super) struct Curves {
    /// The curves; drawn in this order.
    pub(super) lines: Vec<NamedCurve>,
    /// Name of the scale.
    pub(super) unit: String,
    /// The value from which they start, which is in sight and whose line is stronger.
    pub(super) base: f64,
}

impl Curves {
    /// Pixels of the plot with its scales, for one this high.
    pub(super) fn down(high: i32) -> i32 {
        HEAD + high + FOOT
    }

    /// The right side of a plot that leaves room for the names of these curves.
    pub(super) fn right(several: &[&Curves]) -> i32 {
        let names = several.iter().flat_map(|lines| &lines.lines).map(|line| line.name.as_str());
        ACROSS - room(names).max(20)
    }

    /// Draws scales, curves and names in a plot `high` pixels high, whose scale's name begins at `top`; gives the plot.
    pub(super) fn paint(
        &self,
        canvas: &Canvas<'_>,
        top: i32,
        high: i32,
        right: i32,
        (from, to): (NaiveDate, NaiveDate),
    ) -> Result<Plot> {
        let values = self.lines.iter().flat_map(|line| line.curve.iter().map(|point| point.1));
        let top = top + HEAD;
        let values = range(values, Some(self.base));
        let plot = Plot::new((LEFT, right), (top, top + high), Across::dates(from, to), values);
        plot.scales(canvas, &self.unit, self.base)?;
        for line in &self.lines {
            plot.curve(canvas, &line.curve, line.color, line.thick)?;
        }
        let end = |line: &NamedCurve| line.curve.last().map(|(_, value)| (*value, line.name.clone(), line.color));
        plot.names(canvas, self.lines.iter().filter_map(end).collect())?;
        Ok(plot)
    }
}

/// The first and the last of some dates.
pub(super) fn span<'a>(dates: impl Iterator<Item = &'a NaiveDate>) -> Option<(NaiveDate, NaiveDate)> {
    dates.fold(None, |ends, date| match ends {
        None => Some((*date, *date)),
        Some((first, last)) => Some((first.min(*date), last.max(*date))),
    })
}
