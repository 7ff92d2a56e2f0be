//! PDF files: glyphs with their places become titled text in reading order.
//!
//! `measure` (what that will take) -> `glyphs` (what pages draw) -> `fragments` (runs of text) -> `furniture` (headers and footers off) -> `title` ->
//! `columns` (reading order) -> `paragraphs` (lines joined). What a damaged file makes the interpreter do stays in this
//! file: a panic is a reason to set it aside.

mod columns;
mod fragments;
mod furniture;
mod glyphs;
mod inflate;
mod measure;
mod paragraphs;
mod title;
mod unpack;

use std::panic::resume_unwind;

use self::fragments::Fragment;
pub(super) use self::title::sensible as sensible_title;

use self::glyphs::{Closed, DocumentInfo, File, Stop};
use self::measure::{Harm, PdfMeasure};
use super::dates;
use super::quality::{Census, Quality};
use super::{Limits, Paper, Refused, Stopped};
use crate::ingest::reason;
use inkstone_base::job;
use inkstone_base::limits;

/// Characters a page below which a file counts as scanned pictures.
const SCAN: usize = 10;

/// A page as fragments.
#[derive(Clone, Debug, Default)]
struct PageFragments {
    height: f32,
    fragments: Vec<Fragment>,
}

/// All that was drawn in a file.
struct Drawn {
    sheets: Vec<PageFragments>,
    record: DocumentInfo,
    quality: Quality,
    images: usize,
}

/// Reads a file. `name` is the file's name without its extension, in which a date may stand.
pub(super) fn read(
    bytes: Vec<u8>,
    name: &str,
    limits: &Limits,
    cancelled: &dyn Fn() -> bool,
) -> Result<Result<Paper, Refused>, Stopped> {
    match job::contained(|| drawn(bytes, limits, cancelled)) {
        Ok(Ok(drawn)) => Ok(paper(drawn, name, limits)),
        Ok(Err(Unread::Refused(refused))) => Ok(Err(*refused)),
        Ok(Err(Unread::Harm(Harm::Cancelled))) => Err(Stopped),
        Ok(Err(Unread::Harm(harm))) => {
            let (reason, value) = harm.reason();
            Ok(Err(Refused::new(reason, value)))
        }
        Err(panic) => match panic.downcast::<Stop>().map(|stop| *stop) {
            Ok(Stop::Cancelled) => Err(Stopped),
            Ok(Stop::Endless) => Ok(Err(Refused::new(reason::DAMAGED_PDF, "it draws without end"))),
            Err(panic) => Ok(Err(Refused::new(reason::DAMAGED_PDF, job::panic_text(panic.as_ref())))),
        },
    }
}

/// Why nothing was drawn.
enum Unread {
    Refused(Box<Refused>),
    Harm(Harm),
}

impl From<Refused> for Unread {
    fn from(refused: Refused) -> Unread {
        Unread::Refused(Box::new(refused))
    }
}

impl From<Harm> for Unread {
    fn from(harm: Harm) -> Unread {
        Unread::Harm(harm)
    }
}

fn drawn(mut bytes: Vec<u8>, limits: &Limits, cancelled: &dyn Fn() -> bool) -> Result<Drawn, Unread> {
    let mut measure = PdfMeasure::look_over(&mut bytes, cancelled)?;
    let file = File::open(bytes).map_err(|closed| match closed {
        Closed::Encrypted => Refused::new(reason::ENCRYPTED, ""),
        Closed::UnknownEncryption => Refused::new(reason::ENCRYPTED, "by an algorithm that is not known here"),
        Closed::Damaged => Refused::new(reason::DAMAGED_PDF, ""),
    })?;
    let pages = file.pages();
    limits.check_pages(pages)?;
    if pages == 0 {
        return Err(Refused::new(reason::DAMAGED_PDF, "no pages").into());
    }
    file.rehearse(&mut measure)?;
    let (mut sheets, mut census) = (Vec::with_capacity(pages), Census::default());
    let (mut blank, mut images, mut fragments) = (0, 0, 0);
    file.each_page(cancelled, |page| {
        page.glyphs.iter().for_each(|g| census.add_glyph(&g.text));
        let sheet = PageFragments { height: page.height, fragments: fragments::fragments(&page.glyphs, page.width) };
        fragments += sheet.fragments.len();
        if fragments > limits::FRAGMENTS {
            resume_unwind(Box::new(Stop::Endless));
        }
        blank += usize::from(sheet.fragments.is_empty());
        images += page.images;
        sheets.push(sheet);
    });
    Ok(Drawn { sheets, record: file.record(), quality: census.quality(pages, blank), images })
}

fn paper(drawn: Drawn, name: &str, limits: &Limits) -> Result<Paper, Refused> {
    let Drawn { mut sheets, record, quality, images } = drawn;
    let pages = sheets.len();
    if quality.characters < SCAN * pages && (images > 0 || quality.characters == 0) {
        let value = format!("{} characters and {images} pictures on {pages} pages", quality.characters);
        return Err(Refused { reason: reason::NEEDS_OCR.to_owned(), value, quality: Some(quality), pages });
    }
    limits.check_quality(&quality, pages)?;
    let stated: Vec<&str> = sheets.iter().take(1).flat_map(|s| s.fragments.iter().map(|f| f.text.as_str())).collect();
    let published_at = dates::published_at(name, &stated, &record.made_at);
    furniture::remove(&mut sheets);
    let title = sheets.first_mut().and_then(|sheet| title::take(&mut sheet.fragments));
    let title = title.or_else(|| record.title.as_deref().and_then(title::sensible).map(str::to_owned));
    let body = body(sheets);
    Ok(Paper { title: title.unwrap_or_default(), body, published_at, pages, quality, ..Paper::default() })
}

/// The text of all pages, a paragraph or table row a line.
fn body(sheets: Vec<PageFragments>) -> String {
    let parts: Vec<Vec<String>> =
        sheets.into_iter().flat_map(|s| columns::in_order(s.fragments)).map(|part| paragraphs::lines(&part)).collect();
    let mut body = String::new();
    for line in parts.into_iter().flatten() {
        if !body.is_empty() {
            body.push('\n');
        }
        body.push_str(&line);
    }
    body
}
