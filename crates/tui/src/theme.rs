//! From the sixteen colours that pages draw with to those of the terminal: dark or light, as many as it has, or none.
//!
//! Pages name roles by the sixteen colours (`look`): dim is dark grey, keys are cyan, a gain is red. Once a picture is drawn its cells
//! are painted over, so no page knows the theme.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result};
use ratatui::buffer::Buffer;
use ratatui::style::Color;
use serde::{Deserialize, Serialize};

use inkstone_base::language::{Message, Word};
use inkstone_base::message;

/// Which of the two themes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Shade {
    /// Follows COLORFGBG; dark where that is not set.
    #[default]
    Auto,
    /// Light letters on dark ground.
    Dark,
    /// Dark letters on light ground.
    Light,
}

/// The number of colours used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Depth {
    /// Follows NO_COLOR, COLORTERM and TERM.
    #[default]
    #[serde(rename = "auto")]
    Auto,
    /// 24 bits.
    #[serde(rename = "truecolor")]
    True,
    /// The 256 of xterm.
    #[serde(rename = "256")]
    Indexed,
    /// The terminal's own sixteen.
    #[serde(rename = "16")]
    Sixteen,
    /// None: signs, bold and reversed letters alone.
    #[serde(rename = "none")]
    None,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Theme {
    light: bool,
    depth: Depth,
    /// The user's own colours.
    own: Option<Colours>,
}

/// Red, green, blue.
type Rgb = (u8, u8, u8);

/// The colours of a theme: ground, letters, then what dim, cyan, yellow, red, green, blue and magenta stand for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Colours {
    ground: Rgb,
    letters: Rgb,
    dim: Rgb,
    cyan: Rgb,
    yellow: Rgb,
    red: Rgb,
    green: Rgb,
    blue: Rgb,
    magenta: Rgb,
}

/// Colours as a file writes them: `ground = "#1c2026"`.
#[derive(Deserialize)]
#[serde(transparent)]
struct ColourNames(BTreeMap<String, String>);

impl TryFrom<ColourNames> for Colours {
    type Error = Message;

    /// A colour that the file does not name is the dark theme's; if the ground of the file is light, it is the light theme's.
    fn try_from(ColourNames(names): ColourNames) -> Result<Colours, Message> {
        let mut read = BTreeMap::new();
        for (name, value) in &names {
            let digits = value.strip_prefix('#').filter(|digits| digits.len() == 6);
            let number = digits.and_then(|digits| u32::from_str_radix(digits, 16).ok()).ok_or_else(|| {
                message!(
                    "{name}：{value:?} 不是颜色；请写成 \"#1c2026\"",
                    "{name}: {value:?} is no colour; write \"#1c2026\""
                )
            })?;
            let [_, red, green, blue] = number.to_be_bytes();
            read.insert(name.as_str(), (red, green, blue));
        }
        let is_light = |(red, green, blue): Rgb| u32::from(red) + u32::from(green) + u32::from(blue) > 3 * 128;
        let mut colours = if read.get("ground").is_some_and(|ground| is_light(*ground)) { LIGHT } else { DARK };
        for (name, colour) in read {
            *match name {
                "ground" => &mut colours.ground,
                "letters" => &mut colours.letters,
                "dim" => &mut colours.dim,
                "cyan" => &mut colours.cyan,
                "yellow" => &mut colours.yellow,
                "red" => &mut colours.red,
                "green" => &mut colours.green,
                "blue" => &mut colours.blue,
                "magenta" => &mut colours.magenta,
                other => {
                    let names = "ground, letters, dim, cyan, yellow, red, green, blue, magenta";
                    return Err(message!(
                        "没有名为 {other:?} 的颜色；可用 {names}",
                        "no colour is called {other:?}; there are {names}"
                    ));
                }
            } = colour;
        }
        Ok(colours)
    }
}

impl Colours {
    /// Reads a file of colours, each by its name: `ground = "#1c2026"`.
    pub fn read(path: &Path) -> Result<Colours> {
        let cannot = || message!("无法读取配色文件 {}", "cannot read the colours in {}", path.display());
        let text = std::fs::read_to_string(path).with_context(cannot)?;
        let names: ColourNames = toml::from_str(&text).with_context(cannot)?;
        Colours::try_from(names).map_err(anyhow::Error::new).with_context(cannot)
    }
}

const DARK: Colours = Colours {
    ground: (0x1c, 0x20, 0x26),
    letters: (0xd3, 0xd7, 0xde),
    dim: (0x82, 0x8b, 0x98),
    cyan: (0x6f, 0xb3, 0xd2),
    yellow: (0xd9, 0xa8, 0x5c),
    red: (0xe8, 0x6a, 0x62),
    green: (0x86, 0xb5, 0x6b),
    blue: (0x8b, 0xa4, 0xd8),
    magenta: (0xc0, 0x8c, 0xc4),
};

const LIGHT: Colours = Colours {
    ground: (0xfb, 0xfa, 0xf6),
    letters: (0x2a, 0x2e, 0x35),
    dim: (0x74, 0x7b, 0x86),
    cyan: (0x10, 0x6b, 0x8f),
    yellow: (0x8f, 0x5f, 0x0a),
    red: (0xb8, 0x2f, 0x2a),
    green: (0x37, 0x78, 0x28),
    blue: (0x37, 0x54, 0xa5),
    magenta: (0x86, 0x3f, 0x8f),
};

impl Theme {
    /// The theme that the configuration wishes on a terminal that says of itself what its environment says.
    pub fn new(shade: Shade, depth: Depth, own: Option<Colours>, variable: impl Fn(&str) -> Option<String>) -> Theme {
        let set = |name: &str| variable(name).filter(|value| !value.is_empty());
        let light = match shade {
            Shade::Dark => false,
            Shade::Light => true,
            // "15;0": letters and ground among the sixteen, of which 7 and 9 to 15 are light.
            Shade::Auto => set("COLORFGBG")
                .and_then(|value| value.rsplit(';').next()?.parse::<u8>().ok())
                .is_some_and(|ground| ground == 7 || (9..16).contains(&ground)),
        };
        let term = set("TERM").unwrap_or_default();
        let depth = match depth {
            Depth::Auto if set("NO_COLOR").is_some() || term == "dumb" => Depth::None,
            Depth::Auto if set("COLORTERM").is_some_and(|value| value == "truecolor" || value == "24bit") => {
                Depth::True
            }
            Depth::Auto if term.contains("256color") => Depth::Indexed,
            Depth::Auto => Depth::Sixteen,
            wished => wished,
        };
        Theme { light, depth, own }
    }

    /// The next one, with as many colours: the other shade, or the user's own colours no longer.
    pub fn other(self) -> Theme {
        match self.own {
            Some(_) => Theme { own: None, ..self },
            None => Theme { light: !self.light, ..self },
        }
    }

    pub fn name(self) -> Word {
        if self.own.is_some() {
            return super::words::OWN_COLOURS;
        }
        if self.light { super::words::LIGHT } else { super::words::DARK }
    }

    /// Puts the colours of the theme in the place of those that pages have drawn with.
    pub fn paint(self, buffer: &mut Buffer) {
        for cell in &mut buffer.content {
            (cell.fg, cell.bg) = (self.colour(cell.fg, false), self.colour(cell.bg, true));
        }
    }

    fn colour(self, role: Color, ground: bool) -> Color {
        match self.depth {
            Depth::None => Color::Reset,
            // The terminal's own sixteen are made for its own ground; yellow and cyan are none to read on a light one.
            Depth::Sixteen | Depth::Auto => match role {
                Color::Yellow if self.light => Color::Magenta,
                Color::Cyan if self.light => Color::Blue,
                role => role,
            },
            Depth::True => {
                let (red, green, blue) = self.rgb(role, ground);
                Color::Rgb(red, green, blue)
            }
            Depth::Indexed => Color::Indexed(nearest(self.rgb(role, ground))),
        }
    }

    /// The colour as it is painted where there are all of them; pictures of the screen are made with these.
    pub(crate) fn rgb(self, role: Color, ground: bool) -> Rgb {
        let colours = self.own.unwrap_or(if self.light { LIGHT } else { DARK });
        match role {
            Color::Reset | Color::White | Color::Gray if !ground => colours.letters,
            Color::Black if !ground => colours.ground,
            Color::Reset | Color::Black => colours.ground,
            Color::DarkGray => colours.dim,
            Color::Cyan | Color::LightCyan => colours.cyan,
            Color::Yellow | Color::LightYellow => colours.yellow,
            Color::Red | Color::LightRed => colours.red,
            Color::Green | Color::LightGreen => colours.green,
            Color::Blue | Color::LightBlue => colours.blue,
            Color::Magenta | Color::LightMagenta => colours.magenta,
            Color::Rgb(red, green, blue) => (red, green, blue),
            _ => colours.letters,
        }
    }
}

/// The nearest of xterm's 256 colours: its cube of six steps, and its greys.
fn nearest((red, green, blue): Rgb) -> u8 {
    const STEPS: [u8; 6] = [0, 95, 135, 175, 215, 255];
    let distance = |a: u8, b: u8| u32::from(a.abs_diff(b)).pow(2);
    let step = |value: u8| (0..6_u8).min_by_key(|at| distance(STEPS[usize::from(*at)], value)).unwrap_or(0);
    let cube = [step(red), step(green), step(blue)];
    let off = |parts: [u8; 3]| distance(parts[0], red) + distance(parts[1], green) + distance(parts[2], blue);
    let grey = (0..24_u8).min_by_key(|at| off([8 + 10 * at; 3])).unwrap_or(0);
    if off([8 + 10 * grey; 3]) < off(cube.map(|at| STEPS[usize::from(at)])) {
        232 + grey
    } else {
        16 + 36 * cube[0] + 6 * cube[1] + cube[2]
    }
}

#[cfg(test)]
mod tests {
    use ratatui::layout::Rect;
    use ratatui::style::Style;

    use super::*;

    fn theme(environment: &[(&str, &str)]) -> Theme {
        let find = |name: &str| environment.iter().find(|set| set.0 == name).map(|set| set.1.to_owned());
        Theme::new(Shade::Auto, Depth::Auto, None, find)
    }

    #[test]
    fn the_terminal_is_asked_for_its_ground_and_its_colours() {
        assert_eq!(theme(&[("COLORTERM", "truecolor"), ("TERM", "xterm-256color")]).depth, Depth::True);
        assert_eq!(theme(&[("TERM", "xterm-256color")]).depth, Depth::Indexed);
        assert_eq!(theme(&[("TERM", "xterm")]).depth, Depth::Sixteen);
        assert_eq!(theme(&[("TERM", "xterm-256color"), ("NO_COLOR", "1")]).depth, Depth::None);
        assert_eq!(theme(&[("NO_COLOR", ""), ("TERM", "xterm")]).depth, Depth::Sixteen, "an empty one says nothing");
        assert_eq!(
            [("0;15", true), ("15;0", false), ("0;default;15", true), ("7;8", false)]
                .map(|(said, light)| { theme(&[("COLORFGBG", said)]).light == light }),
            [true; 4]
        );
    }

    #[test]
    fn colours_are_those_of_the_depth_and_none_without_any() {
        let paint = |depth| {
            let mut buffer = Buffer::empty(Rect::new(0, 0, 2, 1));
            buffer.set_string(0, 0, "涨", Style::new().fg(Color::Red));
            Theme { light: false, depth, own: None }.paint(&mut buffer);
            (buffer[(0, 0)].fg, buffer[(0, 0)].bg)
        };
        assert_eq!(paint(Depth::True), (Color::Rgb(0xe8, 0x6a, 0x62), Color::Rgb(0x1c, 0x20, 0x26)));
        assert_eq!(paint(Depth::Sixteen), (Color::Red, Color::Reset));
        assert_eq!(paint(Depth::None), (Color::Reset, Color::Reset));
        assert!(matches!(paint(Depth::Indexed), (Color::Indexed(16..), Color::Indexed(16..))));
        assert_eq!((nearest((255, 0, 0)), nearest((0x80, 0x80, 0x80)), nearest((95, 135, 175))), (196, 244, 67));
    }

    #[test]
    fn colours_of_a_file_take_the_place_of_the_themes() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("mine.toml");
        let read = |text: &str| {
            std::fs::write(&file, text).unwrap();
            Colours::read(&file)
        };
        let own = read("ground = \"#fdf6e3\"\nred = \"#dc322f\"\n").unwrap();
        assert_eq!((own.red, own.letters), ((0xdc, 0x32, 0x2f), LIGHT.letters), "the rest of a light ground is light");
        let theme = Theme::new(Shade::Dark, Depth::True, Some(own), |_| None);
        assert_eq!(theme.rgb(Color::Red, false), (0xdc, 0x32, 0x2f));
        assert_eq!(theme.other().rgb(Color::Red, false), DARK.red);
        let wrong = |text: &str| format!("{:#}", read(text).unwrap_err());
        assert!(wrong("red = \"rosso\"").contains("red: \"rosso\" is no colour"), "{}", wrong("red = \"rosso\""));
        assert!(wrong("orange = \"#000000\"").contains("no colour is called \"orange\""));
    }

    #[test]
    fn letters_can_be_read_on_their_ground() {
        let channel = |value: u8| {
            let share = f64::from(value) / 255.0;
            if share <= 0.03928 { share / 12.92 } else { ((share + 0.055) / 1.055).powf(2.4) }
        };
        let light = |(red, green, blue): Rgb| 0.2126 * channel(red) + 0.7152 * channel(green) + 0.0722 * channel(blue);
        for colours in [DARK, LIGHT] {
            let ground = light(colours.ground);
            let all = [colours.letters, colours.dim, colours.cyan, colours.yellow, colours.red, colours.green];
            for colour in all.into_iter().chain([colours.blue, colours.magenta]) {
                let (high, low) = (light(colour).max(ground), light(colour).min(ground));
                let contrast = (high + 0.05) / (low + 0.05);
                assert!(contrast >= 4.0, "{colour:?} on its ground has a contrast of {contrast:.2} to 1");
            }
        }
    }
}
