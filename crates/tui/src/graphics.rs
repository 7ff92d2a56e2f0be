//! Charts as pictures, on terminals that draw them.

use anyhow::Result;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use inkstone_report::{png, sixel};
use ratatui::layout::Size;

/// Pixels of a PNG for one of the chart.
const SCALE: f32 = 2.0;

/// Bytes of base64 that a sequence of kitty may hold.
const CHUNK: usize = 4096;
/// Height of a cell for a width of 1.
const CELL_HEIGHT: usize = 2;
/// Pixels of a cell where the terminal does not say.
const CELL: Size = Size { width: 10, height: 20 };

/// The way in which a terminal is given a picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Protocol {
    /// <https://sw.kovidgoyal.net/kitty/graphics-protocol>: kitty, Ghostty, Konsole.
    Kitty,
    /// <https://iterm2.com/documentation-images.html>: iTerm2, WezTerm.
    Iterm,
    /// DEC STD 070: foot, mlterm, mintty, Windows Terminal 1.22.
    Sixel,
}

impl Protocol {
    /// The protocol of the terminal, by its environment variables. `None` within tmux and screen, which pass no pictures on.
    pub(crate) fn find(variable: impl Fn(&str) -> Option<String>) -> Option<Protocol> {
        let is_set = |name: &str| variable(name).is_some_and(|value| !value.is_empty());
        let (terminal, program) = (variable("TERM").unwrap_or_default(), variable("TERM_PROGRAM").unwrap_or_default());
        if is_set("TMUX") || terminal.starts_with("screen") || terminal.starts_with("tmux") {
            return None;
        }
        match &*program {
            "iTerm.app" | "WezTerm" => return Some(Protocol::Iterm),
            "ghostty" => return Some(Protocol::Kitty),
            "mintty" => return Some(Protocol::Sixel),
            _ => {}
        }
        if is_set("KITTY_WINDOW_ID") || is_set("KONSOLE_VERSION") || terminal == "xterm-kitty" {
            return Some(Protocol::Kitty);
        }
        let has_sixels =
            is_set("WT_SESSION") || is_set("MLTERM") || terminal == "foot" || terminal.starts_with("foot-");
        has_sixels.then_some(Protocol::Sixel)
    }

    /// The sequences that draw a chart as large as it fits above the last line of a screen of `cells`. `pixels` is the size of the same
    /// screen; `None` if the terminal does not say it.
    pub(crate) fn draw(self, svg: &str, cells: Size, pixels: Option<Size>) -> Result<String> {
        let (columns, above) = (cells.width.max(1), cells.height.saturating_sub(1).max(1));
        if self == Protocol::Sixel {
            let cell =
                pixels.map_or(CELL, |all| Size::new(all.width / cells.width.max(1), all.height / cells.height.max(1)));
            let side = |cells: u16, pixels: u16| u32::from(cells) * u32::from(pixels);
            return sixel(svg, side(columns, cell.width), side(above, cell.height));
        }
        let png = png(svg, SCALE)?;
        let data = STANDARD.encode(&png);
        if self == Protocol::Iterm {
            let about = format!("size={};width={columns};height={above};preserveAspectRatio=1", png.len());
            return Ok(format!("\x1b]1337;File=inline=1;{about}:{data}\x07"));
        }
        // With one of both sides given, kitty keeps the proportions.
        let (wide, high) = size(&png).unwrap_or((1, 1));
        let by_width = wide * usize::from(above) * CELL_HEIGHT > high * usize::from(columns);
        let side = if by_width { format!("c={columns}") } else { format!("r={above}") };
        Ok(kitty(&data, &side))
    }

    /// The bytes that clear a screen of `rows`, show a picture that [`Protocol::draw`] made, and write `below` in the last line.
    pub(crate) fn screen(picture: &str, below: &str, rows: u16) -> String {
        format!("\x1b[2J\x1b[H{picture}\x1b[{rows};1H{below}")
    }

    /// The bytes that take the picture away.
    pub(crate) fn clear(self) -> &'static str {
        match self {
            Protocol::Kitty => "\x1b_Ga=d\x1b\\\x1b[2J",
            Protocol::Iterm | Protocol::Sixel => "\x1b[2J",
        }
    }
}

/// The size of the terminal in pixels; `None` if the terminal does not say it.
pub(crate) fn pixels() -> Option<Size> {
    let window = crossterm::terminal::window_size().ok()?;
    (window.width > 0 && window.height > 0).then(|| Size::new(window.width, window.height))
}

/// The sequences of a picture. The first sequence describes the picture; all but the last announce another sequence (`m=1`).
fn kitty(data: &str, side: &str) -> String {
    let chunks: Vec<&[u8]> = data.as_bytes().chunks(CHUNK).collect();
    let mut sequences = String::with_capacity(data.len() + 16 * chunks.len());
    for (number, chunk) in chunks.iter().enumerate() {
        let about = if number == 0 { format!("a=T,f=100,q=2,{side},") } else { String::new() };
        let more = u8::from(number + 1 < chunks.len());
        sequences += &format!("\x1b_G{about}m={more};{}\x1b\\", String::from_utf8_lossy(chunk));
    }
    sequences
}

/// Width and height of a PNG, in pixels.
fn size(png: &[u8]) -> Option<(usize, usize)> {
    let side = |at: usize| Some(u32::from_be_bytes(png.get(at..at + 4)?.try_into().ok()?) as usize);
    Some((side(16)?, side(20)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terminals_are_known_by_their_variables() {
        let found = |given: &[(&str, &str)]| {
            Protocol::find(|name| given.iter().find(|(other, _)| *other == name).map(|(_, value)| (*value).to_owned()))
        };
        assert_eq!(found(&[("TERM", "xterm-256color")]), None);
        assert_eq!(found(&[("TERM", "xterm-kitty")]), Some(Protocol::Kitty));
        assert_eq!(found(&[("TERM_PROGRAM", "ghostty")]), Some(Protocol::Kitty));
        assert_eq!(found(&[("TERM", "foot")]), Some(Protocol::Sixel));
        assert_eq!(found(&[("TERM", "xterm-256color"), ("WT_SESSION", "6b1f")]), Some(Protocol::Sixel));
        assert_eq!(found(&[("KONSOLE_VERSION", "230804")]), Some(Protocol::Kitty));
        assert_eq!(found(&[("TERM_PROGRAM", "WezTerm")]), Some(Protocol::Iterm));
        assert_eq!(found(&[("KITTY_WINDOW_ID", "1"), ("TMUX", "/tmp/tmux-0/default,1,0")]), None);
        assert_eq!(found(&[("TERM", "screen-256color"), ("TERM_PROGRAM", "iTerm.app")]), None);
    }

    #[test]
    fn the_sequences_hold_the_whole_picture_in_chunks_and_keep_its_proportions() {
        let chart = "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"300\" height=\"100\">\
                     <circle cx=\"150\" cy=\"50\" r=\"40\" fill=\"#36c\"/></svg>";
        let png = png(chart, SCALE).unwrap();
        assert_eq!(size(&png), Some((600, 200)));
        let drawn = |protocol: Protocol, columns, rows| protocol.draw(chart, Size::new(columns, rows), None).unwrap();
        let shown = drawn(Protocol::Kitty, 80, 24);
        let sequences: Vec<&str> = shown.split("\x1b_G").skip(1).map(|s| s.split("\x1b\\").next().unwrap()).collect();
        assert!(sequences.len() > 1 && sequences[0].starts_with("a=T,f=100,q=2,c=80,m=1;"), "{}", sequences[0]);
        assert!(sequences.last().unwrap().starts_with("m=0;"));
        assert!(sequences.iter().all(|sequence| sequence.split_once(';').unwrap().1.len() <= CHUNK));
        let data: String = sequences.iter().map(|sequence| sequence.split_once(';').unwrap().1).collect();
        assert_eq!(STANDARD.decode(data).unwrap(), png);
        // A picture that would be higher than the screen is as high as the screen.
        assert!(drawn(Protocol::Kitty, 200, 10).contains("q=2,r=9,"));
        let shown = drawn(Protocol::Iterm, 80, 24);
        assert!(shown.contains(&format!("size={};width=80;height=23", png.len())), "{}", &shown[..200]);
        assert!(shown.contains(&STANDARD.encode(&png)));
        // Sixels have no other size than their own: cells of 10 x 20 pixels, or what the terminal says.
        assert!(drawn(Protocol::Sixel, 80, 24).starts_with("\x1bPq\"1;1;800;267#"));
        let known = Protocol::Sixel.draw(chart, Size::new(80, 24), Some(Size::new(1280, 768))).unwrap();
        assert!(known.starts_with("\x1bPq\"1;1;1280;427#"), "{}", &known[..40]);
        assert_eq!(Protocol::screen("P", "below", 24), "\x1b[2J\x1b[HP\x1b[24;1Hbelow");
    }
}
