//! The glyphs that a page draws, with their places: the only module that knows the PDF interpreter.
//!
//! Coordinates are points from the top left corner of the page as it is shown, y downwards. A page most of whose text runs
//! up or down is turned, so that its text is level; text that then still is not level is left out (vertical banners,
//! watermarks), as is text outside of the page.

use std::panic::resume_unwind;

use hayro_interpret::font::{Glyph as Drawn, GlyphRun};
use hayro_interpret::hayro_cmap::BfString;
use hayro_interpret::hayro_syntax::object::DateTime;
use hayro_interpret::hayro_syntax::page::Page as PdfPage;
use hayro_interpret::hayro_syntax::{DecryptionError, LoadPdfError, Pdf};
use hayro_interpret::kurbo::{Affine, BezPath, Point, Rect};
use hayro_interpret::{
    BlendMode, ClipPath, Context, Device, DrawMode, DrawProps, Image, ImageDrawProps, InterpreterCache,
    InterpreterSettings, RenderContent, SoftMask, TransformExt, interpret_page,
};

use rustc_hash::FxHashSet;

use super::measure::{Harm, PdfMeasure};
use inkstone_base::limits;

/// One glyph that can be seen.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Glyph {
    /// Characters; empty when the file does not say which.
    pub(super) text: String,
    /// Left and right end of its advance.
    pub(super) x0: f32,
    pub(super) x1: f32,
    /// Height of the baseline.
    pub(super) y: f32,
    /// Height of an em.
    pub(super) size: f32,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct GlyphPage {
    pub(super) width: f32,
    pub(super) height: f32,
    /// In the order of drawing.
    pub(super) glyphs: Vec<Glyph>,
    pub(super) images: usize,
}

/// Dates and title of the document's properties.
#[derive(Clone, Debug, Default)]
pub(super) struct DocumentInfo {
    pub(super) title: Option<String>,
    /// Times of creation and of the last change, as `2024-03-01T15:00:00+08:00`.
    pub(super) made_at: Vec<String>,
}

/// Why a file cannot be opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Closed {
    /// It needs a password.
    Encrypted,
    /// It is encrypted in a way that is not known here.
    UnknownEncryption,
    /// It is no PDF, or too damaged to find its pages.
    Damaged,
}

/// Reasons to leave the interpreter in the middle of a page.
pub(super) enum Stop {
    Cancelled,
    /// The file draws more than [`limits::DRAWN`] things, or one of its pages more than [`limits::GLYPHS`] letters.
    Endless,
}

pub(super) struct File(Pdf);

impl File {
    /// Opens a file, with the empty password when it is encrypted.
    pub(super) fn open(bytes: Vec<u8>) -> Result<File, Closed> {
        Pdf::new(bytes).map(File).map_err(|error| match error {
            LoadPdfError::Decryption(DecryptionError::PasswordProtected) => Closed::Encrypted,
            LoadPdfError::Decryption(DecryptionError::UnsupportedAlgorithm) => Closed::UnknownEncryption,
            _ => Closed::Damaged,
        })
    }

    /// Counts the glyphs and pictures that its pages will draw.
    pub(super) fn rehearse(&self, measure: &mut PdfMeasure<'_>) -> Result<(), Harm> {
        measure.rehearse(&self.0)
    }

    pub(super) fn pages(&self) -> usize {
        self.0.pages().len()
    }

    pub(super) fn record(&self) -> DocumentInfo {
        let metadata = self.0.metadata();
        let written = |d: DateTime| {
            let sign = if d.utc_offset_hour < 0 { '-' } else { '+' };
            let hours = d.utc_offset_hour.unsigned_abs();
            format!(
                "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}{sign}{hours:02}:{:02}",
                d.year, d.month, d.day, d.hour, d.minute, d.second, d.utc_offset_minute
            )
        };
        let made_at = [metadata.creation_date, metadata.modification_date].into_iter().flatten().map(written).collect();
        DocumentInfo { title: metadata.title.as_deref().and_then(text_of), made_at }
    }

    /// The content of each page, one after the other; `cancelled` is asked while a page is read. Fonts are read once a file.
    ///
    /// Unwinds with a [`Stop`] out of a file that draws without end or when the work is cancelled.
    pub(super) fn each_page(&self, cancelled: &dyn Fn() -> bool, mut take: impl FnMut(GlyphPage)) {
        let (cache, mut drawn) = (InterpreterCache::new(), 0);
        for page in self.0.pages().iter() {
            if cancelled() {
                resume_unwind(Box::new(Stop::Cancelled));
            }
            take(page_of(page, &cache, &mut drawn, cancelled));
        }
    }
}

/// A text string of a PDF: UTF-16 or UTF-8 by its mark, else of one byte a character, whose upper half is only read as ASCII's.
fn text_of(bytes: &[u8]) -> Option<String> {
    let text = match bytes {
        [0xfe, 0xff, rest @ ..] => encoding_rs::UTF_16BE.decode_without_bom_handling_and_without_replacement(rest)?,
        [0xff, 0xfe, rest @ ..] => encoding_rs::UTF_16LE.decode_without_bom_handling_and_without_replacement(rest)?,
        [0xef, 0xbb, 0xbf, rest @ ..] => std::str::from_utf8(rest).ok()?.into(),
        _ => std::str::from_utf8(bytes).ok()?.into(),
    };
    Some(text.trim().to_owned()).filter(|text| !text.is_empty())
}

fn page_of<'a>(
    page: &PdfPage<'a>,
    cache: &InterpreterCache<'a>,
    drawn: &mut usize,
    cancelled: &dyn Fn() -> bool,
) -> GlyphPage {
    let (width, height) = page.render_dimensions();
    let settings = InterpreterSettings { render_content: RenderContent::PAGE, ..InterpreterSettings::default() };
    let bounds = Rect::new(0.0, 0.0, width.into(), height.into());
    let mut context = Context::new(page.initial_transform(true).to_kurbo(), bounds, cache, page.xref(), settings);
    let mut sight = Sight { placed: Vec::new(), images: 0, drawn, cancelled };
    interpret_page(page, &mut context, &mut sight);
    sight.level(width, height)
}

/// A glyph as drawn: its origin, the direction in which the line runs (of length 1 em), and its width in ems.
struct Placed {
    text: String,
    origin: Point,
    along: (f64, f64),
    em: f64,
    width: f64,
}

/// Notes the glyphs that are drawn.
struct Sight<'c> {
    placed: Vec<Placed>,
    images: usize,
    /// Things drawn on this page and those before it.
    drawn: &'c mut usize,
    cancelled: &'c dyn Fn() -> bool,
}

impl Sight<'_> {
    fn count(&mut self, n: usize) {
        let before = *self.drawn >> 12;
        *self.drawn += n;
        if *self.drawn > limits::DRAWN || self.placed.len() + n > limits::GLYPHS {
            resume_unwind(Box::new(Stop::Endless));
        }
        if *self.drawn >> 12 != before && (self.cancelled)() {
            resume_unwind(Box::new(Stop::Cancelled));
        }
    }

    /// The glyphs of the direction that most of them have, on a page that is turned so that they are level.
    fn level(self, width: f32, height: f32) -> GlyphPage {
        let quarter = |p: &Placed| {
            let (x, y) = p.along;
            // A line that leans by more than one in twenty belongs to no direction.
            match (x.abs() >= 20.0 * y.abs(), y.abs() >= 20.0 * x.abs()) {
                (true, _) if x > 0.0 => Some(0),
                (true, _) => Some(2),
                (_, true) if y > 0.0 => Some(1),
                (_, true) => Some(3),
                _ => None,
            }
        };
        let mut counts = [0usize; 4];
        self.placed.iter().filter_map(quarter).for_each(|q| counts[q] += 1);
        let most = (0..4).rev().max_by_key(|q| counts[*q]).unwrap_or(0);
        let (w, h) = (f64::from(width), f64::from(height));
        // Where a point goes when the page is turned until the direction points to the right.
        let turn = |p: Point| match most {
            0 => p,
            1 => Point::new(p.y, w - p.x),
            2 => Point::new(w - p.x, h - p.y),
            _ => Point::new(h - p.y, p.x),
        };
        let (width, height) = if most % 2 == 0 { (width, height) } else { (height, width) };
        let glyph = |p: Placed| {
            let at = turn(p.origin);
            let seen = at.x > -1.0 && at.x < f64::from(width) + 1.0 && at.y > 0.0 && at.y < f64::from(height) + p.em;
            let (x0, x1) = (at.x as f32, (at.x + p.width * p.em) as f32);
            (seen && p.em.is_finite()).then_some(Glyph { text: p.text, x0, x1, y: at.y as f32, size: p.em as f32 })
        };
        let level = self.placed.into_iter().filter(|p| quarter(p) == Some(most)).filter_map(glyph);
        let mut seen = DrawnGlyphs::default();
        let glyphs = level.filter(|g| seen.is_new(g)).collect();
        GlyphPage { width, height, glyphs, images: self.images }
    }
}

/// Places of the glyphs drawn so far. To look bold, a glyph is drawn once more at almost the same place, or its outline is.
#[derive(Default)]
struct DrawnGlyphs(FxHashSet<(String, i32, i32)>);

impl DrawnGlyphs {
    fn is_new(&mut self, glyph: &Glyph) -> bool {
        // A text of one size stands on a grid of fifths of its em.
        let cell = |at: f32| (5.0 * at / glyph.size.max(0.1)).round() as i32;
        let (x, y) = (cell(glyph.x0), cell(glyph.y));
        let mut key = (glyph.text.clone(), 0, 0);
        for place in (-1..=1).flat_map(|dx| (-1..=1).map(move |dy| (x + dx, y + dy))) {
            (key.1, key.2) = place;
            if self.0.contains(&key) {
                return glyph.text.is_empty();
            }
        }
        (key.1, key.2) = (x, y);
        self.0.insert(key);
        true
    }
}

impl<'a> Device<'a> for Sight<'_> {
    fn draw_glyph_run(&mut self, run: &GlyphRun<'_, 'a>, props: DrawProps<'a>, _: &DrawMode) {
        self.count(run.glyphs().len());
        for glyph in run.glyphs() {
            let [a, b, c, d, e, f] = (props.transform * glyph.transform() * Affine::scale(1000.0)).as_coeffs();
            let (em, length) = (c.hypot(d), a.hypot(b));
            if em < 0.01 || length < 0.01 {
                continue;
            }
            let width = match &**glyph {
                Drawn::Outline(outline) => f64::from(outline.advance_width().unwrap_or(500.0)),
                Drawn::Type3(drawn) => f64::from(drawn.advance_width().unwrap_or(500.0)),
            };
            let text = match glyph.as_unicode() {
                Some(BfString::Char(c)) => c.to_string(),
                Some(BfString::String(text)) => text,
                None => String::new(),
            };
            let along = (a / length, b / length);
            self.placed.push(Placed { text, origin: Point::new(e, f), along, em, width: width / 1000.0 });
        }
    }

    fn draw_image(&mut self, _: Image<'a, '_>, _: ImageDrawProps<'a>) {
        self.count(1);
        self.images += 1;
    }

    fn draw_path(&mut self, _: &BezPath, _: DrawProps<'a>, _: &DrawMode) {
        self.count(1);
    }

    fn push_clip_path(&mut self, _: &ClipPath) {
        self.count(1);
        // Each form that is drawn begins with one, and a form may hold a file's worth of others.
        if (self.cancelled)() {
            resume_unwind(Box::new(Stop::Cancelled));
        }
    }

    fn push_transparency_group(&mut self, _: f32, _: Option<SoftMask<'a>>, _: BlendMode) {}

    fn pop_clip(&mut self) {}

    fn pop_transparency_group(&mut self) {}
}
