//! Words in the plane on a screen of characters: a dot of braille each, and names where none lies over another.

use std::borrow::Cow;

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;

use super::bench::Plane;
use crate::{look, width};

/// Cells of a name at the most.
const NAME: usize = 14;
/// Empty braille; a dot is a bit above it.
const BRAILLE: u32 = 0x2800;
/// Bits of the dots of a cell, by row and column.
const DOTS: [[u32; 2]; 4] = [[0x01, 0x08], [0x02, 0x10], [0x04, 0x20], [0x40, 0x80]];

/// A cell of the screen.
#[derive(Clone, Debug, PartialEq)]
enum PlaneCell<'p> {
    Empty,
    Dots(u32),
    /// A piece of a name, the number of the word with it.
    Name(Cow<'p, str>, usize),
    /// The right half of what stands before it.
    Taken,
}

pub(super) fn draw(plane: &Plane, frame: &mut Frame<'_>, area: Rect) {
    let lines = screen(plane, area.width as usize, area.height as usize).into_iter().map(|row| {
        let spans = row.into_iter().filter_map(|cell| match cell {
            PlaneCell::Empty => Some(Span::raw(" ")),
            PlaneCell::Dots(bits) => Some(Span::styled(char::from_u32(BRAILLE + bits)?.to_string(), look::KEY)),
            PlaneCell::Name(text, 0) => Some(Span::styled(text.into_owned(), look::STRONG.patch(look::NOTE))),
            PlaneCell::Name(text, _) => Some(Span::styled(text.into_owned(), Style::new())),
            PlaneCell::Taken => None,
        });
        Line::from_iter(spans)
    });
    frame.render_widget(Paragraph::new(lines.collect::<Vec<_>>()), area);
}

/// The cells, row by row. Dots first, then names in the order of the words, each beside its dot where there is room.
fn screen(plane: &Plane, columns: usize, rows: usize) -> Vec<Vec<PlaneCell<'_>>> {
    let mut cells = vec![vec![PlaneCell::Empty; columns]; rows];
    if columns == 0 || rows == 0 || plane.points.is_empty() {
        return cells;
    }
    let places: Vec<Option<(usize, usize)>> = places(plane, columns, rows);
    for (x, y) in places.iter().flatten() {
        let cell = &mut cells[y / 4][x / 2];
        let bit = DOTS[y % 4][x % 2];
        *cell = PlaneCell::Dots(if let PlaneCell::Dots(bits) = cell { *bits | bit } else { bit });
    }
    for (number, ((word, _), place)) in plane.points.iter().zip(&places).enumerate() {
        let Some((x, y)) = place else { continue };
        let (column, row) = (x / 2, y / 4);
        let name = width::cut(word, NAME);
        let wide = width::width(&name);
        // To the right of its dot, else to the left, with a space to what stands before and behind.
        let right = Some(column + 1).filter(|start| start + wide <= columns);
        let left = column.checked_sub(wide);
        let free = |start: &usize| {
            let from = if *start == column + 1 { *start } else { start.saturating_sub(1) };
            let to = if *start == column + 1 { (start + wide + 1).min(columns) } else { start + wide };
            cells[row][from..to].iter().all(|cell| *cell == PlaneCell::Empty)
        };
        if let Some(start) = [right, left].into_iter().flatten().find(free) {
            let mut at = start;
            let glyphs: Vec<(String, usize)> =
                width::glyphs(&name).map(|glyph| (glyph.text.into_owned(), glyph.width)).collect();
            for (text, wide) in glyphs {
                cells[row][at] = PlaneCell::Name(text.into(), number);
                for taken in &mut cells[row][at + 1..at + wide.max(1)] {
                    *taken = PlaneCell::Taken;
                }
                at += wide.max(1);
            }
        }
    }
    cells
}

/// The place of each point in dots, two a cell across and four down; none for a point that is no
/// number.
fn places(plane: &Plane, columns: usize, rows: usize) -> Vec<Option<(usize, usize)>> {
    let finite = || plane.points.iter().map(|(_, point)| point).filter(|point| point.iter().all(|v| v.is_finite()));
    let range = |axis: usize| {
        finite().fold((f64::INFINITY, f64::NEG_INFINITY), |(least, most), point| {
            (least.min(point[axis]), most.max(point[axis]))
        })
    };
    let place = |value: f64, (least, most): (f64, f64), dots: usize| {
        let share = if most > least { (value - least) / (most - least) } else { 0.5 };
        ((share * (dots - 1) as f64).round() as usize).min(dots - 1)
    };
    let (x, y) = (range(0), range(1));
    let dot = |(_, point): &(String, [f64; 2])| {
        point.iter().all(|v| v.is_finite()).then(|| {
            // Up is up: the first row of dots is the top one.
            (place(point[0], x, 2 * columns), 4 * rows - 1 - place(point[1], y, 4 * rows))
        })
    };
    plane.points.iter().map(dot).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(plane: &Plane, columns: usize, rows: usize) -> Vec<String> {
        let piece = |cell: PlaneCell<'_>| match cell {
            PlaneCell::Empty => " ".to_owned(),
            PlaneCell::Dots(bits) => char::from_u32(BRAILLE + bits).unwrap().to_string(),
            PlaneCell::Name(text, _) => text.into_owned(),
            PlaneCell::Taken => String::new(),
        };
        screen(plane, columns, rows).into_iter().map(|row| row.into_iter().map(piece).collect()).collect()
    }

    #[test]
    fn every_word_has_its_dot_and_names_stand_beside_without_touching() {
        let point = |word: &str, x: f64, y: f64| (word.to_owned(), [x, y]);
        let points = vec![point("回购", 0.0, 0.0), point("减持", 1.0, 1.0), point("增持", 0.02, 0.01)];
        let plane = Plane { points, ..Plane::default() };
        let lines = text(&plane, 20, 4);
        assert!(lines.iter().all(|line| width::width(line) == 20), "{lines:?}");
        assert!(lines[0].trim_end().ends_with("减持⠈"), "{lines:?}");
        assert!(lines[3].contains("回购") && !lines[3].contains("增持"), "no room for the second name: {lines:?}");
        // One point, a point that is no number, no point, and no room.
        let one = Plane { points: vec![point("𠮷", 3.0, 3.0), point("no", f64::NAN, 0.0)], ..Plane::default() };
        assert!(text(&one, 9, 3).concat().contains("𠮷"));
        assert!(text(&Plane::default(), 9, 3).concat().trim().is_empty());
        assert!(text(&one, 0, 0).is_empty());
    }
}
