//! Pictures of the screen: as text, as SVG, and in files beside the charts of a page.

mod shapes;

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;

use anyhow::{Context, Result};
use ratatui::backend::TestBackend;
use ratatui::buffer::{Buffer, Cell};
use ratatui::style::{Color, Modifier};
use ratatui::{Frame, Terminal};

use super::page::Chart;
use super::theme::Theme;
use super::width;
use inkstone_base::disk::{self, Room};
use inkstone_base::language::Word;
use inkstone_report::png;

/// Width and height of a cell, in units of the picture.
const CELL: (usize, usize) = (9, 19);
/// Pixels of a bitmap for one unit of a picture.
const SCALE: f32 = 2.0;
/// Height of letters, and how far below a cell's top they stand.
const LETTERS: (usize, usize) = (15, 14);

/// Draws a screen of this size into a buffer.
pub(crate) fn screen(columns: u16, rows: u16, draw: impl FnOnce(&mut Frame<'_>)) -> Result<Buffer> {
    let mut terminal =
        Terminal::new(TestBackend::new(columns, rows)).context(Word("无法绘制屏幕", "cannot draw the screen"))?;
    terminal.draw(draw).context(Word("无法绘制屏幕", "cannot draw the screen"))?;
    Ok(terminal.backend().buffer().clone())
}

/// The letters of the screen, a line a row, without blanks at the ends.
pub fn text(buffer: &Buffer) -> String {
    let mut text = String::new();
    for row in rows(buffer) {
        let line: String = row.iter().map(|(_, cell)| cell.symbol()).collect();
        text += line.trim_end();
        text.push('\n');
    }
    text
}

/// Cells that are drawn, row by row, with the column of each: a wide character covers the cell after it.
fn rows(buffer: &Buffer) -> Vec<Vec<(usize, &Cell)>> {
    let columns = usize::from(buffer.area.width).max(1);
    let row = |cells: &'_ [Cell]| -> Vec<usize> {
        let (mut drawn, mut at) = (Vec::new(), 0);
        while at < cells.len() {
            drawn.push(at);
            at += width::width(cells[at].symbol()).max(1);
        }
        drawn
    };
    buffer.content.chunks(columns).map(|cells| row(cells).into_iter().map(|at| (at, &cells[at])).collect()).collect()
}

/// The screen in the colours of a theme, as SVG.
pub(crate) fn svg(buffer: &Buffer, theme: Theme) -> String {
    let (columns, lines) = (usize::from(buffer.area.width), usize::from(buffer.area.height));
    // One cell is left free on each side.
    let (wide, high) = ((columns + 2) * CELL.0, (lines + 2) * CELL.1);
    let ground = hex(theme, Color::Reset, true);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{wide}\" height=\"{high}\" viewBox=\"0 0 {wide} {high}\" \
         font-family=\"Sarasa Mono SC, Noto Sans Mono CJK SC, monospace\" font-size=\"{}\" xml:space=\"preserve\">\n\
         <rect width=\"{wide}\" height=\"{high}\" fill=\"{ground}\"/>\n<g transform=\"translate({} {})\">\n",
        LETTERS.0, CELL.0, CELL.1
    );
    for (line, row) in rows(buffer).into_iter().enumerate() {
        let mut at = 0;
        while at < row.len() {
            // Cells of one look beside each other are one piece, whose length is fixed: fonts differ, columns must not.
            let look = looks(theme, row[at].1);
            let end = at + row[at..].iter().take_while(|(_, cell)| looks(theme, cell) == look).count();
            let begin = row[at].0;
            let cells = row.get(end).map_or(columns, |(column, _)| *column) - begin;
            if look.1 != ground {
                let (x, y, wide) = (begin * CELL.0, line * CELL.1, cells * CELL.0);
                // Nothing fails that is written to a string.
                let _ = writeln!(
                    svg,
                    "<rect x=\"{x}\" y=\"{y}\" width=\"{wide}\" height=\"{}\" fill=\"{}\"/>",
                    CELL.1, look.1
                );
            }
            letters(&mut svg, &row[at..end], &look, line);
            at = end;
        }
    }
    svg + "</g>\n</svg>\n"
}

/// Letters, ground, bold, underlined.
#[derive(PartialEq)]
struct Look(String, String, bool, bool);

fn looks(theme: Theme, cell: &Cell) -> Look {
    let (mut letters, mut ground) = (hex(theme, cell.fg, false), hex(theme, cell.bg, true));
    if cell.modifier.contains(Modifier::REVERSED) {
        std::mem::swap(&mut letters, &mut ground);
    }
    Look(letters, ground, cell.modifier.contains(Modifier::BOLD), cell.modifier.contains(Modifier::UNDERLINED))
}

fn hex(theme: Theme, colour: Color, ground: bool) -> String {
    let (red, green, blue) = theme.rgb(colour, ground);
    format!("#{red:02x}{green:02x}{blue:02x}")
}

/// Draws cells of one look: shapes one by one, letters in runs without blanks. The length of a run is fixed: fonts differ, columns must
/// not.
fn letters(svg: &mut String, cells: &[(usize, &Cell)], look: &Look, line: usize) {
    let y = line * CELL.1;
    let mut run: Option<(usize, usize, String)> = None;
    for (column, cell) in cells {
        let symbol = cell.symbol();
        let wide = width::width(symbol).max(1);
        let alone = symbol.chars().next().filter(|_| symbol.chars().count() == 1);
        let place = (column * CELL.0, y, wide * CELL.0, CELL.1);
        if symbol.trim().is_empty() || alone.is_some_and(|alone| shapes::draw(svg, alone, &look.0, place)) {
            write_run(svg, run.take(), look, y);
            continue;
        }
        match &mut run {
            // Wide and narrow characters are runs of their own: stretched together neither would be in its column.
            Some((from, end, text)) if *end == *column && (*end - *from == text.chars().count()) == (wide == 1) => {
                *end += wide;
                text.push_str(symbol);
            }
            _ => write_run(svg, run.replace((*column, column + wide, symbol.to_owned())), look, y),
        }
    }
    write_run(svg, run, look, y);
}

fn write_run(svg: &mut String, run: Option<(usize, usize, String)>, look: &Look, y: usize) {
    let Some((from, end, text)) = run else { return };
    let bold = if look.2 { " font-weight=\"bold\"" } else { "" };
    let under = if look.3 { " text-decoration=\"underline\"" } else { "" };
    let (x, wide, letters) = (from * CELL.0, (end - from) * CELL.0, html_escape::encode_text(&text));
    let _ = writeln!(
        svg,
        "<text x=\"{x}\" y=\"{}\" textLength=\"{wide}\" lengthAdjust=\"spacingAndGlyphs\" fill=\"{}\"{bold}{under}>{letters}</text>",
        y + LETTERS.1,
        look.0
    );
}

/// Writes charts as SVG and PNG into a folder, over those of the same names; gives what to say of it.
pub(crate) fn save(charts: &[Chart], folder: &Path) -> Result<String> {
    disk::own_folder(folder, Room::Pictures)?;
    let mut names = Vec::new();
    for chart in charts {
        let path = folder.join(format!("{}.svg", file_name(&chart.name)));
        disk::write_atomic(&path, |out| Ok(out.write_all(chart.svg.as_bytes())?))?;
        // A machine without Chinese fonts draws no bitmap, and says which to install; the chart is there all the same.
        let kinds = match png(&chart.svg, SCALE) {
            Ok(bitmap) => {
                disk::write_atomic(&path.with_extension("png"), |out| Ok(out.write_all(&bitmap)?))?;
                "svg, png".to_owned()
            }
            Err(error) => format!("svg; png: {error:#}"),
        };
        names.push(format!("{} ({kinds})", chart.name));
    }
    Ok(format!("{}: {}", folder.display(), names.join(", ")))
}

/// A name as a file can bear it: names of factors and experiments are free text.
fn file_name(name: &str) -> String {
    let kept = |c: char| if c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | ' ') { c } else { '-' };
    name.chars().map(kept).collect::<String>().trim_matches(['.', ' ']).to_owned()
}

#[cfg(test)]
mod tests {
    use ratatui::layout::Rect;
    use ratatui::style::Style;

    use super::*;
    use crate::{Depth, Shade};

    #[test]
    fn a_picture_keeps_letters_columns_and_colours() {
        let mut buffer = Buffer::empty(Rect::new(0, 0, 8, 2));
        buffer.set_string(0, 0, "涨<5%", Style::new().fg(Color::Red));
        buffer.set_string(0, 1, "─▄⠁", Style::new());
        buffer.set_string(6, 1, "跌", Style::new().add_modifier(Modifier::REVERSED));
        assert_eq!(text(&buffer), "涨<5%\n─▄⠁   跌\n");
        let svg = svg(&buffer, Theme::new(Shade::Dark, Depth::True, None, |_| None));
        assert!(svg.contains(
            "<text x=\"0\" y=\"14\" textLength=\"18\" lengthAdjust=\"spacingAndGlyphs\" fill=\"#e86a62\">涨</text>"
        ));
        assert!(svg.contains("fill=\"#e86a62\">&lt;5%</text>"), "{svg}");
        assert!(svg.contains("<path d=\"M4.5 28.5L0 28.5\" stroke"), "a line of a frame: {svg}");
        assert!(svg.contains("<rect x=\"9\" y=\"28.5\" width=\"9\" height=\"9.5\""), "half a block: {svg}");
        assert_eq!(svg.matches("<circle").count(), 1, "one dot: {svg}");
        assert!(svg.contains("<rect x=\"54\" y=\"19\" width=\"18\" height=\"19\" fill=\"#d3d7de\"/>"), "{svg}");
    }

    #[test]
    fn charts_of_any_name_stay_in_their_folder() {
        let dir = tempfile::tempdir().unwrap();
        let chart = Chart {
            name: "../长文 <截断>/frontier".to_owned(),
            svg: "<svg xmlns=\"http://www.w3.org/2000/svg\"/>".to_owned(),
        };
        save(&[chart], &dir.path().join("pictures")).unwrap();
        assert!(dir.path().join("pictures/-长文 -截断--frontier.svg").exists());
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1);
    }
}
