//! The legend under a chart: what its colours, marks and lines mean, in as many lines of text as it takes.

use anyhow::Result;
use plotters::style::text_anchor::{HPos, VPos};
use plotters::style::{Color, RGBColor};

use super::svg::{self, Canvas, INK, TYPE};

/// Pixels from one line of a legend to the next.
const LINE: i32 = 20;
/// Pixels of a symbol with the space behind it.
const SYMBOL: i32 = 24;
/// Pixels between two entries.
const GAP: i32 = 18;

/// Sign before the text of an entry.
#[derive(Clone, Copy)]
pub(crate) enum Symbol {
    Bar(RGBColor),
    /// Mark by its number.
    Mark(usize),
    Line(RGBColor),
    /// A dashed line of this colour.
    Dashes(RGBColor),
}

/// Entries of a legend, set in lines.
pub(crate) struct Legend {
    /// Left end, line, symbol and text of each.
    entries: Vec<(i32, i32, Symbol, String)>,
    lines: i32,
    /// Pixels that it takes across.
    pub width: i32,
}

impl Legend {
    /// Sets entries in lines of this many pixels; a longer one has a line of its own and widens the legend.
    pub(crate) fn new(entries: Vec<(Symbol, String)>, across: i32) -> Legend {
        let (mut x, mut line, mut width) = (0, 0, 0);
        let mut set = Vec::with_capacity(entries.len());
        for (symbol, text) in entries {
            let wide = SYMBOL + svg::width(&text, TYPE).ceil() as i32;
            if x > 0 && x + wide > across {
                (x, line) = (0, line + 1);
            }
            set.push((x, line, symbol, text));
            width = width.max(x + wide);
            x += wide + GAP;
        }
        let lines = if set.is_empty() { 0 } else { line + 1 };
        Legend { entries: set, lines, width }
    }

    /// Height in pixels.
    pub(crate) fn height(&self) -> i32 {
        self.lines * LINE
    }

    /// Draws it with its upper left corner here.
    pub(crate) fn draw(&self, canvas: &Canvas<'_>, left: i32, top: i32) -> Result<()> {
        for (x, line, symbol, text) in &self.entries {
            let (x, y) = (left + x, top + line * LINE + LINE / 2);
            match *symbol {
                Symbol::Bar(color) => svg::block(canvas, (x, y - 4), (x + 16, y + 4), color)?,
                Symbol::Mark(kind) => svg::mark(canvas, kind, (x + 8, y), INK)?,
                Symbol::Line(color) => svg::line(canvas, vec![(x, y), (x + 18, y)], color.stroke_width(2))?,
                Symbol::Dashes(color) => svg::dashes(canvas, y, [x, x + 18], false, color)?,
            }
            svg::write(canvas, text, (x + SYMBOL, y), svg::style(TYPE, INK, HPos::Left, VPos::Center))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_flow_into_lines_and_long_ones_widen() {
        let entry = |text: &str| (Symbol::Mark(0), text.to_owned());
        let legend = Legend::new(vec![entry("头部"), entry("尾部"), entry("中段"), entry(&"长".repeat(40))], 130);
        let places: Vec<(i32, i32)> = legend.entries.iter().map(|(x, line, ..)| (*x, *line)).collect();
        assert_eq!(places, [(0, 0), (66, 0), (0, 1), (0, 2)]);
        assert_eq!((legend.height(), legend.width), (60, 24 + 480));
        assert_eq!(Legend::new(vec![], 100).height(), 0);
    }
}
