//! Charts as sixels (DEC STD 070), the bitmaps of terminals such as foot, mlterm, mintty and Windows Terminal.

use std::collections::BTreeSet;

use anyhow::Result;

use super::png::bitmap_within;

/// Levels of red, green and blue: 216 colours in all. Terminals have 256.
const LEVELS: usize = 6;
/// Rows of pixels in a band.
const BAND: usize = 6;
/// The number of equal sixels from which a count is shorter than the sixels.
const COUNTED: usize = 4;

/// A chart as sixels, as large as it fits into so many pixels, on white. Fails as [`png`](super::png()) does.
pub fn sixel(svg: &str, across: u32, down: u32) -> Result<String> {
    let bitmap = bitmap_within(svg, across, down)?;
    let colours: Vec<u8> = bitmap
        .pixels()
        .iter()
        .map(|pixel| {
            // Values are those of the colour times its opacity.
            let ground = 255 - pixel.alpha();
            let level = |value: u8| (usize::from(value + ground) * (LEVELS - 1) + 127) / 255;
            let [red, green, blue] = [pixel.red(), pixel.green(), pixel.blue()].map(level);
            ((red * LEVELS + green) * LEVELS + blue) as u8
        })
        .collect();
    Ok(encoded(&colours, bitmap.width() as usize))
}

/// The sequence of a bitmap of colour numbers, row by row.
fn encoded(colours: &[u8], width: usize) -> String {
    let mut sequence = format!("\x1bPq\"1;1;{width};{}", colours.len() / width);
    for colour in BTreeSet::from_iter(colours.iter().copied()) {
        let percent = |place: usize| usize::from(colour) / place % LEVELS * 100 / (LEVELS - 1);
        sequence += &format!("#{colour};2;{};{};{}", percent(LEVELS * LEVELS), percent(LEVELS), percent(1));
    }
    for band in colours.chunks(BAND * width) {
        for colour in BTreeSet::from_iter(band.iter().copied()) {
            let sixels = (0..width).map(|column| {
                let rows = band.iter().skip(column).step_by(width).enumerate();
                let bits = rows.fold(0, |bits, (row, own)| bits | u8::from(*own == colour) << row);
                char::from(b'?' + bits)
            });
            sequence += &format!("#{colour}");
            add_runs(&mut sequence, sixels);
            // Back to the beginning of the band.
            sequence.push('$');
        }
        sequence.push('-');
    }
    sequence + "\x1b\\"
}

/// Adds sixels, those that repeat with their count.
fn add_runs(sequence: &mut String, sixels: impl Iterator<Item = char>) {
    let sixels: Vec<char> = sixels.collect();
    for run in sixels.chunk_by(|one, other| one == other) {
        match run.len() {
            count if count < COUNTED => sequence.extend(run),
            count => *sequence += &format!("!{count}{}", run[0]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use inkstone_testing::not_tried;

    /// The colour numbers of a sequence, and the width of its bitmap.
    fn decoded(sequence: &str) -> (Vec<Option<u8>>, usize) {
        let body = sequence.strip_prefix("\x1bPq\"1;1;").unwrap().strip_suffix("\x1b\\").unwrap();
        let (sizes, body) = body.split_at(body.find('#').unwrap());
        let (width, height) = sizes.split_once(';').unwrap();
        let (width, height): (usize, usize) = (width.parse().unwrap(), height.parse().unwrap());
        let mut pixels = vec![None; width * height];
        let (mut colour, mut column, mut top, mut count) = (0, 0, 0, String::new());
        let mut signs = body.chars().peekable();
        while let Some(sign) = signs.next() {
            let mut number = String::new();
            match sign {
                '#' => {
                    while let Some(digit) = signs.next_if(|sign| sign.is_ascii_digit() || *sign == ';') {
                        number.push(digit);
                    }
                    if !number.contains(';') {
                        colour = number.parse().unwrap();
                    }
                }
                '!' => {
                    while let Some(digit) = signs.next_if(char::is_ascii_digit) {
                        count.push(digit);
                    }
                }
                '$' => column = 0,
                '-' => (column, top) = (0, top + BAND),
                sixel => {
                    let times = if count.is_empty() { 1 } else { count.parse().unwrap() };
                    count.clear();
                    for _ in 0..times {
                        let bits = sixel as u8 - b'?';
                        for row in (0..BAND).filter(|row| bits >> row & 1 == 1) {
                            pixels[(top + row) * width + column] = Some(colour);
                        }
                        column += 1;
                    }
                }
            }
        }
        (pixels, width)
    }

    #[test]
    fn sixels_hold_every_pixel() {
        let width = 13;
        let colours: Vec<u8> = (0..width * 8).map(|place| (place * place % 7 * 31) as u8).collect();
        let (pixels, found) = decoded(&encoded(&colours, width));
        assert_eq!(found, width);
        assert_eq!(pixels, colours.into_iter().map(Some).collect::<Vec<_>>());
        let plain = encoded(&[5; 26], width);
        assert_eq!(plain, "\x1bPq\"1;1;13;2#5;2;0;0;100#5!13B$-\x1b\\");
    }

    #[test]
    fn a_chart_fits_into_the_pixels_of_the_terminal_in_its_colours() {
        let chart = "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"40\" height=\"20\">\
                     <rect width=\"20\" height=\"20\" fill=\"#f00\"/></svg>";
        let sequence = match sixel(chart, 400, 100) {
            Err(error) if error.to_string().contains("no font at all") => return not_tried("no font is installed"),
            drawn => drawn.unwrap(),
        };
        let (pixels, width) = decoded(&sequence);
        assert_eq!((width, pixels.len()), (200, 20_000), "the height is what limits it");
        let (red, white) = (5 * 36, 5 * 36 + 5 * 6 + 5);
        assert_eq!((pixels[0], pixels[199]), (Some(red), Some(white)));
        assert!(sequence.contains("#180;2;100;0;0") && sequence.contains("#215;2;100;100;100"));
    }
}
