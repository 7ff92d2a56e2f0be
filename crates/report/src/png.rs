//! Charts as bitmaps, drawn from their SVG with the fonts of the machine.
//!
//! A chart with Chinese text needs a font that has it. Without one this is an error, not a picture full of boxes; the SVG stands, and
//! is drawn by the viewer with a font of its own.

use std::cmp::Reverse;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use anyhow::{Context, Result};
use resvg::tiny_skia::{Pixmap, Size, Transform};
use resvg::usvg::fontdb::{Database, ID, Source, Style};
use resvg::usvg::{FontFamily, FontResolver, Group, Node, Options, Tree};

use inkstone_base::language::{Message, Word};
use inkstone_base::{bail, message};

/// Families with Chinese characters, the best for charts first: simplified forms before others, without serifs before with.
const CHINESE: [&str; 18] = [
    "Noto Sans CJK SC",
    "Noto Sans SC",
    "Source Han Sans SC",
    "Source Han Sans CN",
    "PingFang SC",
    "Hiragino Sans GB",
    "Microsoft YaHei",
    "WenQuanYi Micro Hei",
    "WenQuanYi Zen Hei",
    "HarmonyOS Sans SC",
    "Sarasa Gothic SC",
    "Heiti SC",
    "SimHei",
    "DengXian",
    "Droid Sans Fallback",
    "Noto Serif CJK SC",
    "Source Han Serif SC",
    "SimSun",
];

/// Families for texts without Chinese, and for what a Chinese font lacks.
const LATIN: [&str; 7] =
    ["Noto Sans", "DejaVu Sans", "Liberation Sans", "Arial", "Helvetica Neue", "Segoe UI", "Helvetica"];

/// Families of letters of one width, for pictures of the screen.
const MONOSPACED: [&str; 9] = [
    "Sarasa Mono SC",
    "Noto Sans Mono CJK SC",
    "DejaVu Sans Mono",
    "Noto Sans Mono",
    "Liberation Mono",
    "Menlo",
    "Consolas",
    "Ubuntu Mono",
    "Courier New",
];

/// The fonts that charts are drawn with, read into memory: a font that is read from its file is read anew for each character.
struct Fonts {
    database: Arc<Database>,
    /// Fonts to be tried, in this order.
    order: Vec<ID>,
    /// The font of texts that ask for letters of one width; none where the machine has none.
    monospaced: Option<ID>,
}

/// A bitmap of a chart in PNG; `scale` 2.0 gives two pixels for one of the chart. Fails where no font of the machine has a Chinese
/// character of the chart, and says which to install.
pub fn png(svg: &str, scale: f32) -> Result<Vec<u8>> {
    drawn(svg, scale, machine_fonts())
}

/// A bitmap of a chart that is as large as it fits into so many pixels.
pub(super) fn bitmap_within(svg: &str, across: u32, down: u32) -> Result<Pixmap> {
    // A little less, so that no side is rounded up beyond its limit.
    let scale = |size: Size| 0.999_999 * (across as f32 / size.width()).min(down as f32 / size.height());
    bitmap(svg, scale, machine_fonts())
}

fn machine_fonts() -> &'static Fonts {
    static FONTS: OnceLock<Fonts> = OnceLock::new();
    FONTS.get_or_init(read_machine_fonts)
}

fn drawn(svg: &str, scale: f32, fonts: &Fonts) -> Result<Vec<u8>> {
    let picture = bitmap(svg, |_| scale, fonts)?;
    picture.encode_png().context(Word("无法把图表编码为 PNG", "cannot encode a chart as PNG"))
}

/// Draws a chart. `scale` takes the size of the chart and gives the pixels for one unit of it.
fn bitmap(svg: &str, scale: impl Fn(Size) -> f32, fonts: &Fonts) -> Result<Pixmap> {
    let Some(&first) = fonts.order.first() else {
        bail!(without_fonts(&Word("本机没有任何字体", "this machine has no font at all").into()))
    };
    let (order, monospaced) = (fonts.order.clone(), fonts.monospaced);
    let resolver = FontResolver {
        select_font: Box::new(move |font, _| {
            let wants_monospaced = font.families().contains(&FontFamily::Monospace);
            monospaced.filter(|_| wants_monospaced).or(Some(first))
        }),
        select_fallback: Box::new(move |_, used, _| order.iter().find(|id| !used.contains(id)).copied()),
    };
    let options = Options { fontdb: fonts.database.clone(), font_resolver: resolver, ..Options::default() };
    let tree = Tree::from_str(svg, &options).context(Word("无法把图表读作 SVG", "cannot read a chart as SVG"))?;
    if let Some(missing) = missing(tree.root()) {
        bail!(without_fonts(&message!(
            "本机没有字体含有字符 {missing}",
            "no font of this machine has the character {missing}"
        )));
    }
    let scale = scale(tree.size());
    let pixels = |length: f32| (length * scale).ceil() as u32;
    let (across, down) = (pixels(tree.size().width()), pixels(tree.size().height()));
    let mut picture = Pixmap::new(across, down).with_context(|| {
        message!(
            "不能有 {across} x {down} 像素的位图；scale {scale} 过大或不大于 0",
            "a bitmap of {across} x {down} pixels cannot be; scale {scale} is too large or not above 0"
        )
    })?;
    resvg::render(&tree, Transform::from_scale(scale, scale), &mut picture.as_mut());
    Ok(picture)
}

fn without_fonts(what: &Message) -> Message {
    message!(
        "无法把图画成位图：{what}；请安装含中文的字体（Noto Sans CJK SC：Debian 与 Ubuntu 为 fonts-noto-cjk，Fedora 为 google-noto-sans-cjk-fonts，Arch 为 noto-fonts-cjk）后重新运行，或使用已写好的 SVG",
        "cannot draw the chart as a bitmap: {what}; install one with Chinese (Noto Sans CJK SC: fonts-noto-cjk on Debian and Ubuntu, google-noto-sans-cjk-fonts on Fedora, noto-fonts-cjk on Arch) and run again, or use the SVG, which stands"
    )
}

/// The first Chinese character for which no font was found.
fn missing(group: &Group) -> Option<char> {
    group.children().iter().find_map(|node| match node {
        Node::Group(group) => missing(group),
        Node::Text(text) => {
            let glyphs = text.layouted().iter().flat_map(|span| &span.positioned_glyphs);
            glyphs.filter(|glyph| glyph.id.0 == 0).flat_map(|glyph| glyph.text.chars()).find(|c| is_chinese(*c))
        }
        _ => None,
    })
}

/// True if a character is Chinese, punctuation included; other characters that a font lacks are drawn as boxes.
fn is_chinese(c: char) -> bool {
    matches!(c, '\u{2E80}'..='\u{9FFF}' | '\u{F900}'..='\u{FAFF}' | '\u{FE30}'..='\u{FE4F}' | '\u{FF00}'..='\u{FFEF}')
        || matches!(c, '\u{20000}'..='\u{3FFFF}')
}

/// A face of a font as it lies on the machine.
struct Face {
    families: Vec<String>,
    file: PathBuf,
    index: u32,
    weight: u16,
}

fn read_machine_fonts() -> Fonts {
    let mut system = Database::new();
    system.load_system_fonts();
    let face = |info: &resvg::usvg::fontdb::FaceInfo| {
        let Source::File(file) = &info.source else { return None };
        let families = info.families.iter().map(|(name, _)| name.clone()).collect();
        (info.style == Style::Normal).then(|| Face {
            families,
            file: file.clone(),
            index: info.index,
            weight: info.weight.0,
        })
    };
    let mut faces: Vec<Face> = system.faces().filter_map(face).collect();
    // Folders are read in no order; nearest to the ordinary weight first.
    faces.sort_by(|a, b| {
        (a.weight.abs_diff(400), &a.families, &a.file).cmp(&(b.weight.abs_diff(400), &b.families, &b.file))
    });
    chosen(&faces)
}

/// The first family of either list that is there; where none is known by name, whatever has a Chinese character.
fn chosen(faces: &[Face]) -> Fonts {
    let mut fonts = Fonts { database: Arc::new(Database::new()), order: Vec::new(), monospaced: None };
    let named = |names: &[&str]| {
        let face = |name: &&str| faces.iter().find(|face| face.families.iter().any(|family| family == name));
        names.iter().find_map(face)
    };
    let add = |fonts: &mut Fonts, face: &Face| {
        fonts.order.extend(load(Arc::make_mut(&mut fonts.database), &face.file, face.index));
    };
    match named(&CHINESE) {
        Some(face) => add(&mut fonts, face),
        None => {
            let mut others: Vec<&Face> = faces.iter().collect();
            // Among unknown fonts, those named as Chinese, or as Chinese, Japanese and Korean, come first.
            let says = |face: &Face| {
                face.families
                    .iter()
                    .any(|name| ["CJK", "Han", "Hei", "SC", "GB", "CN"].iter().any(|s| name.contains(s)))
            };
            others.sort_by_key(|face| Reverse(says(face)));
            for face in others {
                let mut alone = Fonts { database: Arc::new(Database::new()), order: Vec::new(), monospaced: None };
                add(&mut alone, face);
                if drawn(PROBE, 1.0, &alone).is_ok() {
                    fonts = alone;
                    break;
                }
            }
        }
    }
    if let Some(face) = named(&LATIN).or(faces.first().filter(|_| fonts.order.is_empty())) {
        add(&mut fonts, face);
    }
    if let Some(face) = named(&MONOSPACED) {
        fonts.monospaced = load(Arc::make_mut(&mut fonts.database), &face.file, face.index);
    }
    fonts
}

/// Text that a Chinese font can draw.
const PROBE: &str = "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"60\" height=\"20\"><text x=\"0\" y=\"15\">因子，收益</text></svg>";

/// Reads a face of a font file into memory.
fn load(database: &mut Database, file: &Path, index: u32) -> Option<ID> {
    let data = std::fs::read(file).ok()?;
    let ids = database.load_font_source(Source::Binary(Arc::new(data)));
    ids.into_iter().find(|id| database.face(*id).is_some_and(|face| face.index == index))
}

#[cfg(test)]
mod tests {
    use super::*;
    use inkstone_testing::not_tried;

    fn chart(text: &str) -> String {
        PROBE.replace("因子，收益", text)
    }

    #[test]
    fn a_chart_becomes_a_bitmap_of_its_size_and_the_same_bytes() {
        if machine_fonts().order.is_empty() {
            return not_tried("no font is installed");
        }
        let drawn = png(&chart("RankIC"), 2.0).unwrap();
        assert_eq!(&drawn[..8], b"\x89PNG\r\n\x1a\n");
        let side = |at: usize| u32::from_be_bytes(drawn[at..at + 4].try_into().unwrap());
        assert_eq!((side(16), side(20)), (120, 40));
        assert_eq!(drawn, png(&chart("RankIC"), 2.0).unwrap());
        assert!(png(&chart("RankIC"), 0.0).unwrap_err().to_string().contains("scale 0"));
    }

    #[test]
    fn a_machine_without_chinese_fonts_says_which_to_install() {
        let none = Fonts { database: Arc::new(Database::new()), order: Vec::new(), monospaced: None };
        let error = drawn(PROBE, 1.0, &none).unwrap_err().to_string();
        assert!(error.contains("no font at all") && error.contains("fonts-noto-cjk"), "{error}");
        // No font has a character of the supplementary plane that is not assigned.
        if machine_fonts().order.is_empty() {
            not_tried("no font is installed");
        } else {
            let error = png(&chart("因\u{3FFFD}"), 1.0).unwrap_err().to_string();
            assert!(error.contains("has the character") && error.contains("the SVG, which stands"), "{error}");
        }
    }

    #[test]
    fn texts_of_one_width_are_drawn_with_a_font_of_one_width() {
        let fonts = machine_fonts();
        let Some(monospaced) = fonts.monospaced else { return not_tried("no monospaced font is installed") };
        assert!(fonts.database.face(monospaced).is_some_and(|face| face.monospaced));
        let of_screen = chart("title").replace("<text", "<text font-family=\"Sarasa Mono SC, monospace\"");
        assert_ne!(png(&of_screen, 1.0).unwrap(), png(&chart("title"), 1.0).unwrap());
    }

    #[test]
    fn chinese_and_its_punctuation_are_known_from_other_signs() {
        assert!("因子，。（）￥㐀𠀀".chars().all(is_chinese));
        assert!(!"RankIC –·…≥é🙂".chars().any(is_chinese));
    }
}
