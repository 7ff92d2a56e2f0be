//! Frames, blocks and dots as shapes: fonts draw them with gaps, or not at all.

use std::fmt::Write as _;

/// A place in the picture: left, top, width, height.
pub(super) type CellArea = (usize, usize, usize, usize);

/// Draws a character in its cell if it is one of frames, bars or dots; false where it is left to the font.
pub(super) fn draw(svg: &mut String, character: char, colour: &str, place: CellArea) -> bool {
    match character {
        '▀'..='▐' => block(svg, character, colour, place),
        '\u{2800}'..='\u{28ff}' => dots(svg, character, colour, place),
        _ => frame(svg, character, colour, place),
    }
}

/// The arms of a line of a frame: left, right, up, down.
fn arms(character: char) -> Option<[bool; 4]> {
    Some(match character {
        '─' => [true, true, false, false],
        '│' => [false, false, true, true],
        '┌' => [false, true, false, true],
        '┐' => [true, false, false, true],
        '└' => [false, true, true, false],
        '┘' => [true, false, true, false],
        '├' => [false, true, true, true],
        '┤' => [true, false, true, true],
        '┬' => [true, true, false, true],
        '┴' => [true, true, true, false],
        '┼' => [true; 4],
        _ => return None,
    })
}

fn frame(svg: &mut String, character: char, colour: &str, (x, y, wide, high): CellArea) -> bool {
    let Some(arms) = arms(character) else { return false };
    let (left, top) = (x as f64, y as f64);
    let (middle, centre) = (left + wide as f64 / 2.0, top + high as f64 / 2.0);
    let ends = [(left, centre), (left + wide as f64, centre), (middle, top), (middle, top + high as f64)];
    // Nothing fails that is written to a string.
    for ((end_x, end_y), _) in ends.into_iter().zip(arms).filter(|(_, arm)| *arm) {
        let _ = writeln!(svg, "<path d=\"M{middle} {centre}L{end_x} {end_y}\" stroke=\"{colour}\"/>");
    }
    true
}

/// Eighths of a cell from below (▁ to █), from the left (▉ to ▏), and the two halves that are neither.
fn block(svg: &mut String, character: char, colour: &str, (x, y, wide, high): CellArea) -> bool {
    let part = |whole: usize, eighths: u32| whole as f64 * f64::from(eighths) / 8.0;
    let (left, top, width, height) = match character {
        '▀' => (0.0, 0.0, part(wide, 8), part(high, 4)),
        '▁'..='█' => {
            let tall = part(high, character as u32 - '▁' as u32 + 1);
            (0.0, high as f64 - tall, part(wide, 8), tall)
        }
        '▉'..='▏' => (0.0, 0.0, part(wide, 7 - (character as u32 - '▉' as u32)), part(high, 8)),
        '▐' => (part(wide, 4), 0.0, part(wide, 4), part(high, 8)),
        _ => return false,
    };
    let (left, top) = (left + x as f64, top + y as f64);
    let _ = writeln!(
        svg,
        "<rect x=\"{left}\" y=\"{top}\" width=\"{width}\" height=\"{height}\" fill=\"{colour}\" shape-rendering=\"crispEdges\"/>"
    );
    true
}

/// Two columns of four dots, in the order of Unicode's bits.
fn dots(svg: &mut String, character: char, colour: &str, (x, y, wide, high): CellArea) -> bool {
    const PLACES: [(u32, u32); 8] = [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2), (0, 3), (1, 3)];
    let bits = character as u32 - 0x2800;
    for (_, (column, row)) in PLACES.into_iter().enumerate().filter(|(bit, _)| bits & (1 << bit) != 0) {
        let left = x as f64 + wide as f64 * (2 * column + 1) as f64 / 4.0;
        let top = y as f64 + high as f64 * (2 * row + 1) as f64 / 8.0;
        let _ = writeln!(svg, "<circle cx=\"{left}\" cy=\"{top}\" r=\"1.5\" fill=\"{colour}\"/>");
    }
    true
}
