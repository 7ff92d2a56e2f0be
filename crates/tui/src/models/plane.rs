//! Words in the plane on a screen of characters: a dot of braille each, and names where none lies over another.

use std::borrow::Cow;

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::{Color, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;

use super::bench::Plane;
use crate::action::Action;
use crate::page::turns;
use crate::{look, width};

/// Cells of a name at the most.
const NAME: usize = 14;
/// Empty braille; a dot is a bit above it.
const BRAILLE: u32 = 0x2800;
/// Bits of the dots of a cell, by row and column.
const DOTS: [[u32; 2]; 4] = [[0x01, 0x08], [0x02, 0x10], [0x04, 0x20], [0x40, 0x80]];
/// The smallest part of the plane that is shown: 1 / 2^6 of it in each direction.
const MOST_ZOOM: u8 = 6;

/// Colours of clusters, the largest first.
const CLUSTERS: [Color; 6] = [Color::Cyan, Color::Yellow, Color::Magenta, Color::Green, Color::Blue, Color::Red];

/// The part of the plane that is seen, and its colours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct PlaneView {
    /// Each step halves both sides of the part, which lies around the marked word.
    pub(super) zoom: u8,
    pub(super) colours: PlaneColours,
}

turns! {
    /// The colours of words in the plane.
    pub(super) enum PlaneColours {
        #[default]
        Plain = "plain",
        Clusters = "clusters",
        Tone = "tone",
    }
}

impl PlaneView {
    pub(super) fn can_zoom(self, further: bool) -> bool {
        if further { self.zoom < MOST_ZOOM } else { self.zoom > 0 }
    }

    pub(super) fn zoom(&mut self, further: bool) {
        if self.can_zoom(further) {
            self.zoom = if further { self.zoom + 1 } else { self.zoom - 1 };
        }
    }
}

/// A plane with the state of its drawing.
#[derive(Clone, Copy)]
pub(super) struct ShownPlane<'p> {
    pub(super) plane: &'p Plane,
    pub(super) view: PlaneView,
    pub(super) marked: usize,
    pub(super) red_up: bool,
}

/// A cell of the screen.
#[derive(Clone, Debug, PartialEq)]
enum PlaneCell<'p> {
    Empty,
    /// Bits of the dots, and the number of the first word among them.
    Dots(u32, usize),
    /// A piece of a name, the number of the word with it.
    Name(Cow<'p, str>, usize),
    /// The right half of what stands before it.
    Taken,
}

pub(super) fn draw(shown: ShownPlane<'_>, frame: &mut Frame<'_>, area: Rect) {
    let lines = screen(shown, area.width as usize, area.height as usize).into_iter().map(|row| {
        let spans = row.into_iter().filter_map(|cell| match cell {
            PlaneCell::Empty => Some(Span::raw(" ")),
            PlaneCell::Dots(bits, number) => {
                let dots = char::from_u32(BRAILLE + bits)?.to_string();
                Some(Span::styled(dots, shown.style(number, look::KEY)))
            }
            PlaneCell::Name(text, 0) => {
                Some(Span::styled(text.into_owned(), shown.style(0, look::NOTE).patch(look::STRONG)))
            }
            PlaneCell::Name(text, number) => Some(Span::styled(text.into_owned(), shown.style(number, look::PLAIN))),
            PlaneCell::Taken => None,
        });
        Line::from_iter(spans)
    });
    frame.render_widget(Paragraph::new(lines.collect::<Vec<_>>()), area);
}

/// The number of the word that lies next to the marked one in the direction of an action; none if nothing does.
pub(super) fn next_word(plane: &Plane, marked: usize, action: Action, area: Rect) -> Option<usize> {
    let size = (2 * area.width as usize, 4 * area.height as usize);
    let fitted = Fitted::new(plane, PlaneView::default(), marked, size);
    let (x, y) = fitted.at(plane.points.get(marked)?.1);
    let way = |number: usize| {
        let (other_x, other_y) = fitted.at(plane.points[number].1);
        // How far the other word lies in the direction, and aside of it.
        let (along, aside) = match action {
            Action::Up => (y - other_y, other_x - x),
            Action::Down => (other_y - y, other_x - x),
            Action::PreviousChoice => (x - other_x, other_y - y),
            Action::NextChoice => (other_x - x, other_y - y),
            _ => return None,
        };
        (along > 0.0 && aside.abs() <= 2.0 * along).then_some((number, along + 2.0 * aside.abs()))
    };
    let others = (0..plane.points.len()).filter(|number| *number != marked).filter_map(way);
    others.min_by(|(_, a), (_, b)| a.total_cmp(b)).map(|(number, _)| number)
}

impl ShownPlane<'_> {
    /// The colour of a word, `plain` unless words are coloured.
    fn style(&self, number: usize, plain: Style) -> Style {
        let style = match self.view.colours {
            PlaneColours::Plain => plain,
            PlaneColours::Clusters => match self.plane.clusters.get(number) {
                Some(&cluster) if cluster > 0 => Style::new().fg(CLUSTERS[(cluster - 1) % CLUSTERS.len()]),
                _ => look::DIM,
            },
            PlaneColours::Tone => match self.plane.tones.get(number) {
                Some(&tone) if tone != 0.0 => look::of_sign(tone.into(), self.red_up),
                _ => look::DIM,
            },
        };
        if number == self.marked { style.patch(look::SELECTED) } else { style }
    }
}

/// The range of the plane that is seen, fitted to dots of a screen.
struct Fitted {
    x: (f64, f64),
    y: (f64, f64),
    columns: usize,
    rows: usize,
}

impl Fitted {
    fn new(plane: &Plane, view: PlaneView, marked: usize, (columns, rows): (usize, usize)) -> Fitted {
        let finite = || plane.points.iter().map(|(_, point)| point).filter(|point| is_finite(point));
        let range = |axis: usize| {
            let (least, most) = finite().fold((f64::INFINITY, f64::NEG_INFINITY), |(least, most), point| {
                (least.min(point[axis]), most.max(point[axis]))
            });
            let around = plane.points.get(marked).filter(|(_, point)| is_finite(point));
            match around.filter(|_| view.zoom > 0) {
                Some((_, point)) => {
                    let half = (most - least) / f64::from(2u32 << view.zoom);
                    (point[axis] - half, point[axis] + half)
                }
                None => (least, most),
            }
        };
        Fitted { x: range(0), y: range(1), columns, rows }
    }

    /// The place of a point in dots from the upper left, unrounded.
    fn at(&self, [x, y]: [f64; 2]) -> (f64, f64) {
        let place = |value: f64, (least, most): (f64, f64), dots: usize| {
            let share = if most > least { (value - least) / (most - least) } else { 0.5 };
            share * dots.saturating_sub(1) as f64
        };
        // Up is up: the first row of dots is the top one.
        (place(x, self.x, self.columns), self.rows.saturating_sub(1) as f64 - place(y, self.y, self.rows))
    }

    /// The dot of a point; none for a point that is out of sight or no number.
    fn dot(&self, point: [f64; 2]) -> Option<(usize, usize)> {
        let (x, y) = self.at(point);
        let dot = |at: f64, dots: usize| {
            let at = at.round();
            (at >= 0.0 && at < dots as f64).then_some(at as usize)
        };
        Some((dot(x, self.columns)?, dot(y, self.rows)?))
    }
}

fn is_finite(point: &[f64; 2]) -> bool {
    point.iter().all(|value| value.is_finite())
}

/// The cells, row by row. Dots first, then names beside their dots where there is room: the marked word's, then those of the others in
/// their order.
fn screen(shown: ShownPlane<'_>, columns: usize, rows: usize) -> Vec<Vec<PlaneCell<'_>>> {
    let mut cells = vec![vec![PlaneCell::Empty; columns]; rows];
    let points = &shown.plane.points;
    if columns == 0 || rows == 0 || points.is_empty() {
        return cells;
    }
    let fitted = Fitted::new(shown.plane, shown.view, shown.marked, (2 * columns, 4 * rows));
    let places: Vec<Option<(usize, usize)>> = points.iter().map(|(_, point)| fitted.dot(*point)).collect();
    for (number, place) in places.iter().enumerate() {
        let Some((x, y)) = place else { continue };
        let cell = &mut cells[y / 4][x / 2];
        let bit = DOTS[y % 4][x % 2];
        *cell = match cell {
            PlaneCell::Dots(bits, first) => PlaneCell::Dots(*bits | bit, *first),
            _ => PlaneCell::Dots(bit, number),
        };
    }
    let order = std::iter::once(shown.marked).chain((0..points.len()).filter(|number| *number != shown.marked));
    for number in order {
        let (Some((word, _)), Some(Some((x, y)))) = (points.get(number), places.get(number)) else { continue };
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

#[cfg(test)]
mod tests {
    use super::*;

    fn text(plane: &Plane, columns: usize, rows: usize) -> Vec<String> {
        text_of(plane, PlaneView::default(), 0, columns, rows)
    }

    fn text_of(plane: &Plane, view: PlaneView, marked: usize, columns: usize, rows: usize) -> Vec<String> {
        let piece = |cell: PlaneCell<'_>| match cell {
            PlaneCell::Empty => " ".to_owned(),
            PlaneCell::Dots(bits, _) => char::from_u32(BRAILLE + bits).unwrap().to_string(),
            PlaneCell::Name(text, _) => text.into_owned(),
            PlaneCell::Taken => String::new(),
        };
        let shown = ShownPlane { plane, view, marked, red_up: true };
        screen(shown, columns, rows).into_iter().map(|row| row.into_iter().map(piece).collect()).collect()
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

    #[test]
    fn the_mark_goes_to_the_next_word_in_a_direction_and_a_part_of_the_plane_lies_around_it() {
        let point = |word: &str, x: f64, y: f64| (word.to_owned(), [x, y]);
        let points = vec![
            point("回购", 0.0, 0.0),
            point("增持", 0.1, 0.02),
            point("减持", 1.0, 1.0),
            point("涨", -1.0, -1.0),
            point("无", f64::NAN, 0.0),
        ];
        let plane = Plane { points, ..Plane::default() };
        let area = Rect { width: 40, height: 20, ..Rect::default() };
        let to = |marked, action| next_word(&plane, marked, action, area);
        assert_eq!(to(0, Action::NextChoice), Some(1));
        assert_eq!(to(1, Action::PreviousChoice), Some(0));
        assert_eq!(to(1, Action::Up), Some(2));
        assert_eq!(to(0, Action::Down), Some(3));
        assert_eq!((to(2, Action::Up), to(2, Action::NextChoice)), (None, None));
        let near = text_of(&plane, PlaneView { zoom: 3, ..PlaneView::default() }, 0, 40, 10).concat();
        assert!(near.contains("回购") && near.contains("增持") && !near.contains("减持"), "{near}");
        let mut view = PlaneView::default();
        view.zoom(false);
        assert_eq!(view.zoom, 0);
        (0..20).for_each(|_| view.zoom(true));
        assert!(view.zoom == MOST_ZOOM && !view.can_zoom(true) && view.can_zoom(false));
    }

    #[test]
    fn words_have_the_colour_of_their_tone_or_cluster() {
        let point = |word: &str| (word.to_owned(), [0.0, 0.0]);
        let plane = Plane {
            points: ["增长", "下滑", "公司"].map(point).to_vec(),
            tones: vec![1.0, -2.0, 0.0],
            clusters: vec![2, 1, 0],
            ..Plane::default()
        };
        let view = PlaneView { zoom: 0, colours: PlaneColours::Tone };
        let shown = ShownPlane { plane: &plane, view, marked: 9, red_up: true };
        assert_eq!([0, 1, 2].map(|number| shown.style(number, look::KEY)), [look::BAD, look::GOOD, look::DIM]);
        let clusters = ShownPlane { view: PlaneView { zoom: 0, colours: PlaneColours::Clusters }, ..shown };
        let styles = [0, 1, 2].map(|number| clusters.style(number, look::KEY));
        assert_eq!(styles, [Style::new().fg(CLUSTERS[1]), Style::new().fg(CLUSTERS[0]), look::DIM]);
        let plain = ShownPlane { view: PlaneView::default(), ..shown };
        assert_eq!(plain.style(1, look::KEY), look::KEY);
    }
}
