//! Parts that charts share: colours, type, the width of text, marks, and the SVG text.
//!
//! Each colour stands for a role. A page that shows a chart may give roles other colours by their attribute (`page.css` does for dark
//! screens); alone, a chart has the light ones. Lengths are pixels of the picture's own size.

use anyhow::Result;
use plotters::backend::SVGBackend;
use plotters::coord::Shift;
use plotters::drawing::{DrawingArea, DrawingAreaErrorKind, IntoDrawingArea};
use plotters::element::{Circle, PathElement, Polygon, Rectangle, Text};
use plotters::style::text_anchor::{HPos, Pos, VPos};
use plotters::style::{Color, FontDesc, FontFamily, FontStyle, RGBColor, ShapeStyle, TextStyle};
use unicode_width::UnicodeWidthChar;

use inkstone_base::error;

pub(crate) const PAPER: RGBColor = RGBColor(0xFF, 0xFF, 0xFF);
pub(crate) const INK: RGBColor = RGBColor(0x1F, 0x29, 0x33);
pub(crate) const DIM: RGBColor = RGBColor(0x66, 0x70, 0x80);
pub(crate) const GRID: RGBColor = RGBColor(0xE3, 0xE7, 0xEC);
pub(crate) const BASELINE: RGBColor = RGBColor(0xB4, 0x23, 0x18);
pub(crate) const ABOVE: RGBColor = RGBColor(0x1D, 0x6F, 0xB8);
pub(crate) const BELOW: RGBColor = RGBColor(0xC2, 0x6A, 0x1B);
pub(crate) const NOT_SHOWN: RGBColor = RGBColor(0x9A, 0xA3, 0xAF);

/// Colours of series, legible on light and dark paper alike.
const SERIES: [RGBColor; 12] = [
    RGBColor(0x2F, 0x7E, 0xD8),
    RGBColor(0xD9, 0x72, 0x2B),
    RGBColor(0x2E, 0x9E, 0x6B),
    RGBColor(0xC2, 0x44, 0x7E),
    RGBColor(0x8A, 0x63, 0xD2),
    RGBColor(0xA3, 0x85, 0x2A),
    RGBColor(0x1D, 0x9B, 0xA8),
    RGBColor(0xD0, 0x4B, 0x4B),
    RGBColor(0x6B, 0x8E, 0x23),
    RGBColor(0x7A, 0x7F, 0x87),
    RGBColor(0x9C, 0x5B, 0x3B),
    RGBColor(0x4F, 0x74, 0xA8),
];

/// Fonts in order of preference; each system has one of them with Chinese characters.
const FONTS: &str = "system-ui, -apple-system, Segoe UI, PingFang SC, Hiragino Sans GB, Microsoft YaHei, Noto Sans CJK SC, \
                     Source Han Sans SC, WenQuanYi Micro Hei, sans-serif";

/// Pixels of ordinary type.
pub(crate) const TYPE: f64 = 12.0;

/// A place on a picture: pixels to the right and down.
pub(crate) type Pixel = (i32, i32);

/// Canvas of text and lines.
pub(crate) type Canvas<'a> = DrawingArea<SVGBackend<'a>, Shift>;

/// The colour of series number `i`.
pub(crate) fn series(i: usize) -> RGBColor {
    SERIES[i % SERIES.len()]
}

/// An SVG text of this size, with what `draw` puts on it; `name` is what those hear who do not see it.
pub(crate) fn picture(name: &str, size: (u32, u32), draw: impl FnOnce(&Canvas<'_>) -> Result<()>) -> Result<String> {
    let mut text = String::new();
    {
        let root = SVGBackend::with_string(&mut text, size).into_drawing_area();
        root.fill(&PAPER).map_err(failed)?;
        draw(&root)?;
        root.present().map_err(failed)?;
    }
    let name = html_escape::encode_double_quoted_attribute(&printable(name)).into_owned();
    // Said once for all texts: the fonts would be a third of the file.
    let fonts = format!(" font-family=\"{FONTS}\"");
    let text = text.replace(&fonts, "");
    Ok(text.replacen("<svg ", &format!("<svg role=\"img\" aria-label=\"{name}\"{fonts} "), 1))
}

/// An error of the drawing, which borrows, as one that travels.
pub(crate) fn failed<E: std::error::Error + Send + Sync>(error: DrawingAreaErrorKind<E>) -> anyhow::Error {
    error!("无法绘制图表：“{error}”", "cannot draw a chart: {error}")
}

/// Text without the characters that no XML file may hold; control characters become their pictures.
pub(crate) fn printable(text: &str) -> String {
    let shown = |c: char| match c {
        '\n' | '\t' => ' ',
        c if (c as u32) < 0x20 => char::from_u32(0x2400 + c as u32).unwrap_or('\u{FFFD}'),
        '\u{7F}'..='\u{9F}' | '\u{FFFE}' | '\u{FFFF}' => '\u{FFFD}',
        c => c,
    };
    text.chars().map(shown).collect()
}

/// Pixels that a text takes at most at this size of type, whatever the font: rather too many than too few.
pub(crate) fn width(text: &str, size: f64) -> f64 {
    let em = |c: char| match c {
        'i' | 'j' | 'l' | '.' | ',' | ':' | ';' | '\'' | '|' | '!' | '(' | ')' | '[' | ']' | ' ' | 'f' | 't' | 'r'
        | '-' => 0.42,
        'm' | 'w' | 'M' | 'W' | '@' | '%' => 1.0,
        'A'..='Z' | '+' | '<' | '=' | '>' | '&' => 0.75,
        c if c.is_ascii() => 0.62,
        c if c.width() == Some(2) => 1.0,
        c if c.width() == Some(0) => 0.0,
        _ => 0.8,
    };
    text.chars().map(em).sum::<f64>() * size
}

/// Style of a text: size in pixels, colour, and anchor.
pub(crate) fn style(size: f64, color: RGBColor, h: HPos, v: VPos) -> TextStyle<'static> {
    // The backend divides sizes by 1.24.
    FontDesc::new(FontFamily::Name(FONTS), size * 1.24, FontStyle::Normal).color(&color).pos(Pos::new(h, v))
}

pub(crate) fn write(canvas: &Canvas<'_>, text: &str, at: Pixel, style: TextStyle<'static>) -> Result<()> {
    canvas.draw(&Text::new(printable(text), at, style)).map_err(failed)
}

/// Writes a text on a piece of paper, so that lines behind it do not cross it.
pub(crate) fn write_over(canvas: &Canvas<'_>, text: &str, left: i32, middle: i32, color: RGBColor) -> Result<()> {
    let (wide, high) = (width(text, TYPE).ceil() as i32, TYPE as i32 / 2 + 1);
    let paper = Rectangle::new([(left - 2, middle - high), (left + wide + 2, middle + high)], PAPER.mix(0.8).filled());
    canvas.draw(&paper).map_err(failed)?;
    write(canvas, text, (left + wide / 2, middle), style(TYPE, color, HPos::Center, VPos::Center))
}

/// Draws a line through these places.
pub(crate) fn line(canvas: &Canvas<'_>, through: Vec<Pixel>, style: ShapeStyle) -> Result<()> {
    canvas.draw(&PathElement::new(through, style)).map_err(failed)
}

/// Fills a block between two corners.
pub(crate) fn block(canvas: &Canvas<'_>, corner: Pixel, opposite: Pixel, color: RGBColor) -> Result<()> {
    canvas.draw(&Rectangle::new([corner, opposite], color.filled())).map_err(failed)
}

/// Draws a dashed line between two ends. `upright` lines go along y at the place `at` of x.
pub(crate) fn dashes(canvas: &Canvas<'_>, at: i32, ends: [i32; 2], upright: bool, color: RGBColor) -> Result<()> {
    let place = |along: i32| if upright { (at, along) } else { (along, at) };
    let mut from = ends[0];
    while from < ends[1] {
        line(canvas, vec![place(from), place((from + 7).min(ends[1]))], color.stroke_width(1))?;
        from += 11;
    }
    Ok(())
}

/// Fills what these places enclose, so that what is behind shines through.
pub(crate) fn area(canvas: &Canvas<'_>, corners: Vec<Pixel>, color: RGBColor, share: f64) -> Result<()> {
    canvas.draw(&Polygon::new(corners, color.mix(share).filled())).map_err(failed)
}

/// Draws an interval: a bar with a foot at either end. `upright` bars go along y at the place `at` of x.
pub(crate) fn whisker(canvas: &Canvas<'_>, at: i32, ends: [i32; 2], upright: bool, style: ShapeStyle) -> Result<()> {
    let place = |across: i32, along: i32| if upright { (across, along) } else { (along, across) };
    line(canvas, vec![place(at, ends[0]), place(at, ends[1])], style)?;
    for end in ends {
        line(canvas, vec![place(at - 3, end), place(at + 3, end)], style)?;
    }
    Ok(())
}

/// Marks that tell series apart where colours do not, as many as there are.
pub(crate) const MARKS: usize = 6;

/// Draws mark number `kind` around a place: circle, square, triangle, diamond, triangle on its head, cross; then again.
pub(crate) fn mark(canvas: &Canvas<'_>, kind: usize, (x, y): Pixel, color: RGBColor) -> Result<()> {
    let polygon = |points: &[(i32, i32)]| {
        let points: Vec<Pixel> = points.iter().map(|(dx, dy)| (x + dx, y + dy)).collect();
        canvas.draw(&Polygon::new(points, color.filled()))
    };
    let drawn = match kind % MARKS {
        0 => canvas.draw(&Circle::new((x, y), 4, color.filled())),
        1 => canvas.draw(&Rectangle::new([(x - 4, y - 4), (x + 4, y + 4)], color.filled())),
        2 => polygon(&[(0, -5), (5, 4), (-5, 4)]),
        3 => polygon(&[(0, -6), (6, 0), (0, 6), (-6, 0)]),
        4 => polygon(&[(0, 5), (5, -4), (-5, -4)]),
        _ => polygon(&[
            (-5, -3),
            (-3, -5),
            (0, -2),
            (3, -5),
            (5, -3),
            (2, 0),
            (5, 3),
            (3, 5),
            (0, 2),
            (-3, 5),
            (-5, 3),
            (-2, 0),
        ]),
    };
    drawn.map_err(failed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chinese_is_as_wide_as_it_is_high() {
        assert_eq!(width("平安", 12.0), 24.0);
        assert!(width("head:512", 12.0) > 8.0 * 5.0 && width("head:512", 12.0) < 8.0 * 8.0);
    }

    #[test]
    fn no_text_breaks_the_file() {
        let name = "<&\"'>\u{1b}[0m\u{0}\n\u{ffff}砚";
        let text =
            picture(name, (80, 40), |canvas| write(canvas, name, (1, 20), style(TYPE, INK, HPos::Left, VPos::Center)))
                .unwrap();
        let read = super::super::markup::texts(&text);
        assert_eq!(read, ["<&\"'>␛[0m␀ \u{fffd}砚"]);
        assert!(text.contains("Noto Sans CJK SC"));
    }
}
