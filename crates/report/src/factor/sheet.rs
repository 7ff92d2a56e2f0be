//! A chart as a whole: title, plot, legend and notes.
//!
//! On a page the title and the notes stand in the page's own type; a chart that goes alone, as a file, carries them itself. A factor that
//! looks ahead says so in the picture in either case.

use anyhow::Result;
use plotters::style::RGBColor;
use plotters::style::text_anchor::{HPos, VPos};

use super::words;
use crate::legend::{Legend, Symbol};
use crate::svg::{self, BASELINE, Canvas, DIM, INK, PAPER, TYPE};
use inkstone_base::language::Language;
use inkstone_base::width::{Glyph, cut, glyphs, wrap};

/// Pixels of a chart across.
pub(super) const ACROSS: i32 = 860;
/// Pixels left of a plot, for its scale.
pub(super) const LEFT: i32 = 64;
/// Pixels of the strip that says that the factor looks ahead.
const STRIP: i32 = 26;
/// Pixels of the title.
const TITLE: i32 = 34;
/// Pixels of a line of notes.
const LINE: i32 = 17;

/// A chart that is ready to be drawn.
pub(super) struct Sheet<'a> {
    pub(super) title: String,
    /// Meaning of marks, units and dates.
    pub(super) notes: Vec<String>,
    /// Entries of the legend.
    pub(super) legend: Vec<(Symbol, String)>,
    /// Pixels of the plot down, scales included.
    pub(super) down: i32,
    /// Draws the plot, whose upper end is at this height.
    pub(super) paint: Box<dyn Fn(&Canvas<'_>, i32) -> Result<()> + 'a>,
}

impl Sheet<'_> {
    /// The chart as an SVG; `alone` with its title and notes. `lookahead` says that the factor looks ahead.
    pub(super) fn svg(&self, lookahead: bool, alone: bool, language: Language) -> Result<String> {
        let legend = Legend::new(self.legend.clone(), ACROSS - LEFT - 20);
        let lines: Vec<String> =
            if alone { self.notes.iter().flat_map(|note| lines(note, ACROSS - 32)).collect() } else { Vec::new() };
        let strip = if lookahead { STRIP } else { 0 };
        let top = strip + if alone { TITLE } else { 8 };
        let foot = top + self.down + legend.height() + 6;
        let down = foot + lines.len() as i32 * LINE + if alone { 10 } else { 0 };
        let across = ACROSS.max(LEFT + legend.width + 20);
        svg::picture(&self.title, (across as u32, down as u32), |canvas| {
            let text = |at, size: f64, color: RGBColor, words: &str| {
                svg::write(canvas, words, at, svg::style(size, color, HPos::Left, VPos::Center))
            };
            if lookahead {
                svg::block(canvas, (0, 0), (across, STRIP), BASELINE)?;
                text((16, STRIP / 2), TYPE, PAPER, words::LOOKAHEAD.to(language))?;
            }
            if alone {
                text((16, strip + TITLE / 2), 15.0, INK, &cut(&self.title, 100))?;
            }
            (self.paint)(canvas, top)?;
            legend.draw(canvas, LEFT, top + self.down)?;
            for (i, line) in lines.iter().enumerate() {
                text((16, foot + i as i32 * LINE + LINE / 2), 11.0, DIM, line)?;
            }
            Ok(())
        })
    }

    /// Caption under the chart on a page.
    pub(super) fn caption(&self, language: Language) -> String {
        self.notes.join(if language == Language::Zh { "" } else { " " })
    }
}

/// A text in lines of at most so many pixels of small type.
fn lines(text: &str, across: i32) -> Vec<String> {
    // A cell is half as wide as a Chinese character; Latin letters are a little wider than that.
    let cells = f64::from(across) / 5.7;
    let glyphs: Vec<Glyph<'_>> = glyphs(text).collect();
    let line = |range: std::ops::Range<usize>| glyphs[range].iter().map(|glyph| &*glyph.text).collect::<String>();
    wrap(&glyphs, cells as usize).into_iter().map(|range| line(range).trim().to_owned()).collect()
}
