//! A plane of words as SVG: a dot a word, and its name where there is room.
//!
//! Names are text, so that they can be sought and copied; the first words get room first, and a name that would lie over another is
//! shown only when its dot is pointed at. Colours come from a style sheet that follows the reader's light or dark
//! screen. No charting crate is taken: they have neither style sheets nor this placing of names.

use std::io::Write;

use anyhow::Result;
use unicode_width::UnicodeWidthStr;

use super::{PlacedWord, Projection};

/// Pixels.
const WIDTH: f64 = 1200.0;
/// Pixels.
const HEIGHT: f64 = 900.0;
/// Room around the points.
const MARGIN: f64 = 56.0;
/// Height of a name.
const FONT: f64 = 14.0;
/// Radius of a dot.
const DOT: f64 = 3.0;
/// Sides of the cells in which names are looked for.
const CELL: f64 = 64.0;
/// Groups with a colour of their own; all after them share one.
const COLOURS: usize = 8;

const STYLE: &str = "
.paper { fill: #ffffff; }
text { font: 14px 'Noto Sans CJK SC', 'Source Han Sans SC', 'PingFang SC', 'Microsoft YaHei', 'WenQuanYi Micro Hei', sans-serif; \
fill: #1f2328; stroke: #ffffff; stroke-width: 3px; stroke-linejoin: round; paint-order: stroke; }
circle { fill: #8a8f98; } .g0 { fill: #3b76c4; } .g1 { fill: #d9541e; } .g2 { fill: #2f8f3a; } .g3 { fill: #a23a9c; }
.g4 { fill: #b8860b; } .g5 { fill: #1495a8; } .g6 { fill: #c2305a; } .g7 { fill: #7a5230; }
@media (prefers-color-scheme: dark) {
.paper { fill: #15181d; }
text { fill: #e6e8eb; stroke: #15181d; }
circle { fill: #868c96; } .g0 { fill: #6ea4ea; } .g1 { fill: #ff8a55; } .g2 { fill: #64c46e; } .g3 { fill: #d583cf; }
.g4 { fill: #e0b84a; } .g5 { fill: #4cc5d6; } .g6 { fill: #f0708f; } .g7 { fill: #c29a74; }
}
";

pub(crate) fn draw(projection: &Projection, out: &mut impl Write) -> Result<()> {
    let places = places(&projection.words);
    let groups = groups(&projection.words);
    writeln!(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" width=\"{WIDTH}\" height=\"{HEIGHT}\" \
         lang=\"zh\">\n<style>{STYLE}</style>\n<rect class=\"paper\" width=\"{WIDTH}\" height=\"{HEIGHT}\"/>"
    )?;
    let caption = safe(&projection.caption);
    writeln!(out, "<title>{caption}</title>\n<text x=\"16\" y=\"26\">{caption}</text>")?;
    for (PlacedWord { word, group, .. }, [x, y]) in projection.words.iter().zip(&places) {
        let class = class(&groups, group).map_or_else(String::new, |class| format!(" class=\"{class}\""));
        writeln!(out, "<circle{class} cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{DOT}\"><title>{}</title></circle>", safe(word))?;
    }
    let mut room = LabelRoom::default();
    // The caption and the names of the groups have their places.
    room.take(Box { left: 0.0, top: 0.0, right: WIDTH, bottom: 36.0 });
    for (i, group) in groups.iter().take(COLOURS).enumerate() {
        let y = 54.0 + 22.0 * i as f64;
        writeln!(out, "<circle class=\"g{i}\" cx=\"22\" cy=\"{y}\" r=\"5\"/>")?;
        writeln!(out, "<text x=\"34\" y=\"{:.1}\">{}</text>", y + 5.0, safe(group))?;
        room.take(Box { left: 0.0, top: y - 11.0, right: 34.0 + width(group), bottom: y + 11.0 });
    }
    for (PlacedWord { word, .. }, &[x, y]) in projection.words.iter().zip(&places) {
        if let Some([x, y]) = room.for_name(width(word), x, y) {
            writeln!(out, "<text x=\"{x:.1}\" y=\"{y:.1}\">{}</text>", safe(word))?;
        }
    }
    Ok(writeln!(out, "</svg>")?)
}

/// Where points lie in the picture, as far apart as both sides allow, one scale for both.
fn places(words: &[PlacedWord]) -> Vec<[f64; 2]> {
    let bounds = |axis: usize| {
        let values = words.iter().map(|placed| placed.point[axis]);
        values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), v| (low.min(v), high.max(v)))
    };
    let [(left, right), (low, high)] = [bounds(0), bounds(1)];
    let fit = |room: f64, extent: f64| if extent > 0.0 { (room - 2.0 * MARGIN) / extent } else { f64::INFINITY };
    let scale = fit(WIDTH, right - left).min(fit(HEIGHT, high - low));
    let scale = if scale.is_finite() { scale } else { 1.0 };
    let place = |placed: &PlacedWord| {
        let [x, y] = placed.point;
        [WIDTH / 2.0 + (x - (left + right) / 2.0) * scale, HEIGHT / 2.0 - (y - (low + high) / 2.0) * scale]
    };
    words.iter().map(place).collect()
}

/// The groups in the order in which they come.
fn groups(words: &[PlacedWord]) -> Vec<&str> {
    let mut groups: Vec<&str> = Vec::new();
    for placed in words.iter().filter(|placed| !placed.group.is_empty()) {
        if !groups.contains(&&*placed.group) {
            groups.push(&placed.group);
        }
    }
    groups
}

fn class(groups: &[&str], group: &str) -> Option<String> {
    groups.iter().take(COLOURS).position(|known| *known == group).map(|i| format!("g{i}"))
}

/// Pixels that a name takes: a Chinese character is as wide as high, a Latin one some six tenths of that.
fn width(name: &str) -> f64 {
    let wide = name.width().saturating_sub(name.chars().count()) as f64;
    let narrow = name.chars().count() as f64 - wide;
    FONT * (wide + 0.6 * narrow)
}

/// Text as SVG takes it.
fn safe(text: &str) -> String {
    let shown: String = text.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect();
    html_escape::encode_text(&shown).into_owned()
}

#[derive(Clone, Copy, Debug)]
struct Box {
    left: f64,
    top: f64,
    right: f64,
    bottom: f64,
}

impl Box {
    fn meets(&self, other: &Box) -> bool {
        self.left < other.right && other.left < self.right && self.top < other.bottom && other.top < self.bottom
    }
}

/// The occupied space of the picture.
#[derive(Default)]
struct LabelRoom {
    cells: std::collections::BTreeMap<(i32, i32), Vec<Box>>,
}

impl LabelRoom {
    fn cells(taken: &Box) -> impl Iterator<Item = (i32, i32)> + use<> {
        let cell = |at: f64| (at / CELL).floor() as i32;
        let (rows, columns) = (cell(taken.top)..=cell(taken.bottom), cell(taken.left)..=cell(taken.right));
        rows.flat_map(move |row| columns.clone().map(move |column| (row, column)))
    }

    fn take(&mut self, taken: Box) {
        LabelRoom::cells(&taken).for_each(|cell| self.cells.entry(cell).or_default().push(taken));
    }

    fn is_free(&self, wanted: &Box) -> bool {
        let within = wanted.left >= 0.0 && wanted.right <= WIDTH && wanted.top >= 0.0 && wanted.bottom <= HEIGHT;
        within
            && LabelRoom::cells(wanted)
                .all(|cell| !self.cells.get(&cell).is_some_and(|all| all.iter().any(|b| b.meets(wanted))))
    }

    /// Where the name of a dot begins: right of it, left, above or below, whichever is free first.
    fn for_name(&mut self, width: f64, x: f64, y: f64) -> Option<[f64; 2]> {
        let gap = DOT + 3.0;
        let starts = [
            [x + gap, y + 0.35 * FONT],
            [x - gap - width, y + 0.35 * FONT],
            [x - width / 2.0, y - gap],
            [x - width / 2.0, y + gap + 0.8 * FONT],
        ];
        starts.into_iter().find(|&[left, base]| {
            let wanted = Box { left, top: base - 0.9 * FONT, right: left + width, bottom: base + 0.25 * FONT };
            let free = self.is_free(&wanted);
            if free {
                self.take(wanted);
            }
            free
        })
    }
}
