//! Counts the memory and drawing steps that the PDF interpreter needs for a file, before it runs: the interpreter itself has no limits.
//!
//! First the bytes of the file are looked over, before anything is opened: each stream is unpacked once, to the limit, by the
//! filters that it names. Pictures are never unpacked; their bytes are overwritten, so that nothing else can unpack them either.
//! Then, with the file open, its pages are rehearsed: each drawing is counted each time that it is drawn.

use std::borrow::Cow;
use std::ops::Range;

use hayro_interpret::hayro_syntax::content::TypedIter;
use hayro_interpret::hayro_syntax::content::ops::TypedInstruction as Op;
use hayro_interpret::hayro_syntax::object::dict::keys::{
    CONTENTS, DECODE_PARMS, DESCENDANT_FONTS, DP, F, FILTER, FORM, G, IMAGE, RESOURCES, SMASK, SUBTYPE, TYPE, W, W2,
};
use hayro_interpret::hayro_syntax::object::{
    Array, Dict, FromBytes, MaybeRef, Name, Object, ObjectIdentifier, Stream, dict_or_stream,
};
use hayro_interpret::hayro_syntax::page::{Page, Resources};
use hayro_interpret::hayro_syntax::{Filter, Pdf};
use rustc_hash::{FxHashMap, FxHashSet};

use super::unpack::{UnpackedTooMuch, is_blank, unpack};
use crate::ingest::reason;
use inkstone_base::limits;

/// States that are saved inside one another, and pieces of marked content.
const DEPTH: usize = 20_000;
/// Forms inside one another.
const FORM_DEPTH: usize = 40;
/// Elements of one path. Curves around letters that serve as a clip count as [`LETTER`] each.
const PATH: usize = 400_000;
const LETTER: usize = 100;
/// Bytes of the text that is shown at once.
const SHOWN: usize = 100_000;
/// Width of a row of a predictor, and glyphs whose widths are listed: more has no use.
const COLUMNS: u64 = 1 << 20;
const GLYPHS: i64 = 1 << 18;
/// The most bytes to which one byte of deflated data unpacks.
const DEFLATED: usize = 1032;

/// Why the interpreter is not asked.
#[derive(Debug)]
pub(super) enum Harm {
    Cancelled,
    /// It would hold more bytes than the limit.
    TooLarge,
    /// It would take more memory than its bytes tell; the reason.
    Odd(&'static str),
}

impl From<UnpackedTooMuch> for Harm {
    fn from(_: UnpackedTooMuch) -> Harm {
        Harm::TooLarge
    }
}

/// The counts of a file so far.
pub(super) struct PdfMeasure<'c> {
    cancelled: &'c dyn Fn() -> bool,
    /// Bytes that may still be unpacked.
    left: usize,
    /// Bytes that streams unpack to, by the place of their data in the file.
    placed: FxHashMap<usize, usize>,
    /// The same of streams that had to be decrypted, by their object.
    decrypted: FxHashMap<ObjectIdentifier, usize>,
    encrypted: bool,
}

/// A stream as it lies in the file.
struct Lying {
    /// First byte of its dictionary.
    head: usize,
    data: Range<usize>,
    filters: Vec<Filter>,
    picture: bool,
    objects: bool,
}

impl<'c> PdfMeasure<'c> {
    /// Looks over the bytes of a file, and overwrites its pictures.
    pub(super) fn look_over(bytes: &mut [u8], cancelled: &'c dyn Fn() -> bool) -> Result<PdfMeasure<'c>, Harm> {
        let left = usize::try_from(limits::unpacked(bytes.len() as u64)).unwrap_or(usize::MAX);
        let encrypted = names(bytes).any(|(_, name)| *name == *b"Encrypt");
        check_columns(bytes)?;
        let (placed, decrypted) = (FxHashMap::default(), FxHashMap::default());
        let mut measure = PdfMeasure { cancelled, left, placed, decrypted, encrypted };
        let (mut at, mut streams) = (0, Vec::<Range<usize>>::new());
        while let Some(found) = find(bytes, b"obj", at) {
            measure.go_on()?;
            at = found + 3;
            if bytes[..found].ends_with(b"end") {
                continue;
            }
            let Some(lying) = lying(bytes, skip_blanks(bytes, at))? else { continue };
            measure.add(bytes, &lying)?;
            streams.push(lying.head..lying.data.end);
        }
        // A repair finds packed objects wherever they stand, also where no object begins.
        for (place, name) in names(bytes) {
            let before = streams.partition_point(|stream| stream.start <= place);
            let within = || streams[..before].iter().rev().take(8).any(|stream| stream.contains(&place));
            if *name == *b"ObjStm" && !within() && find(bytes, b"endstream", place).is_some() {
                return Err(Harm::Odd("packed objects outside of any object"));
            }
        }
        Ok(measure)
    }

    fn add(&mut self, bytes: &mut [u8], lying: &Lying) -> Result<(), Harm> {
        if lying.picture {
            let filter = lying.filters.iter().find(|filter| **filter != Filter::Crypt);
            // Each filter ends at once at such a byte.
            let end = match filter {
                Some(Filter::FlateDecode) => 0x86,
                Some(Filter::Ascii85Decode) => b'~',
                Some(Filter::AsciiHexDecode) => b'>',
                _ => 0x80,
            };
            bytes[lying.data.clone()].fill(end);
        }
        if self.encrypted && lying.objects {
            // They are unpacked before anyone can decrypt and count them.
            match lying.filters[..] {
                [] => {}
                [Filter::FlateDecode] => self.take(lying.data.len().saturating_mul(DEFLATED))?,
                _ => return Err(Harm::Odd("encrypted objects that are packed in an unusual way")),
            }
        }
        // The length that the file states may be another than the one that is found here: each filter finds its end by itself.
        let held = self.held(&bytes[lying.data.start..], &lying.filters)?;
        self.take(held)?;
        self.placed.insert(lying.data.start, held);
        Ok(())
    }

    /// Bytes that are held while some data are unpacked.
    fn held(&self, data: &[u8], filters: &[Filter]) -> Result<usize, Harm> {
        let filters = if filters.first() == Some(&Filter::Crypt) { &filters[1..] } else { filters };
        let (unpacked, held) = unpack(data, filters, self.left)?;
        check_columns(&unpacked)?;
        Ok(held)
    }

    fn take(&mut self, bytes: usize) -> Result<(), Harm> {
        self.left = self.left.checked_sub(bytes).ok_or(Harm::TooLarge)?;
        Ok(())
    }

    fn go_on(&self) -> Result<(), Harm> {
        if (self.cancelled)() { Err(Harm::Cancelled) } else { Ok(()) }
    }

    /// Counts the drawings of all pages.
    pub(super) fn rehearse(&mut self, pdf: &Pdf) -> Result<(), Harm> {
        if self.encrypted {
            for object in pdf.objects() {
                self.go_on()?;
                if let Object::Stream(stream) = &object
                    && !is_picture(stream)
                {
                    let size = self.size_of(pdf, stream)?;
                    self.take(size)?;
                }
            }
        }
        let mut forms = Forms::default();
        for page in pdf.pages().iter() {
            self.go_on()?;
            for stream in contents(page) {
                let size = self.size_of(pdf, &stream)?;
                self.take(size)?;
            }
            self.walk(pdf, page.typed_operations(), page.resources(), &mut forms)?;
        }
        Ok(())
    }

    /// Bytes that a stream unpacks to.
    fn size_of(&mut self, pdf: &Pdf, stream: &Stream<'_>) -> Result<usize, Harm> {
        match stream.raw_data() {
            Cow::Borrowed(data) => {
                let at = (data.as_ptr() as usize).wrapping_sub(pdf.data().as_ref().as_ptr() as usize);
                if let Some(size) = self.placed.get(&at) {
                    return Ok((*size).max(data.len()));
                }
                let size = self.held(data, &stream.filters())?.max(data.len());
                self.placed.insert(at, size);
                Ok(size)
            }
            Cow::Owned(data) => {
                if let Some(size) = self.decrypted.get(&stream.obj_id()) {
                    return Ok(*size);
                }
                let size = self.held(&data, &stream.filters())?.max(data.len());
                self.decrypted.insert(stream.obj_id(), size);
                Ok(size)
            }
        }
    }

    /// Counts what some content draws.
    fn walk(
        &mut self,
        pdf: &Pdf,
        mut ops: TypedIter<'_>,
        resources: &Resources<'_>,
        forms: &mut Forms,
    ) -> Result<(), Harm> {
        let (mut states, mut marks, mut path, mut clips) = (0usize, 0usize, 0usize, false);
        let mut fonts = FxHashSet::default();
        while let Some(op) = ops.next() {
            let mut shown = 0;
            match op {
                Op::SaveState(_) => states += 1,
                Op::RestoreState(_) => states = states.saturating_sub(1),
                Op::BeginMarkedContent(_) | Op::BeginMarkedContentWithProperties(_) => marks += 1,
                Op::EndMarkedContent(_) => marks = marks.saturating_sub(1),
                Op::RectPath(_) => path += 5,
                Op::MoveTo(_) | Op::LineTo(_) | Op::CubicTo(_) | Op::CubicStartTo(_) | Op::CubicEndTo(_) => path += 1,
                Op::ClosePath(_) => path += 1,
                Op::FillPathNonZero(_)
                | Op::FillPathNonZeroCompatibility(_)
                | Op::FillPathEvenOdd(_)
                | Op::FillAndStrokeNonZero(_)
                | Op::FillAndStrokeEvenOdd(_)
                | Op::CloseFillAndStrokeNonZero(_)
                | Op::CloseFillAndStrokeEvenOdd(_)
                | Op::StrokePath(_)
                | Op::CloseAndStrokePath(_)
                | Op::EndPath(_)
                | Op::EndText(_) => path = 0,
                Op::TextRenderingMode(mode) => clips = mode.0.as_i64() > 3,
                Op::ShowText(text) => shown = text.0.as_bytes().len(),
                Op::NextLineAndShowText(text) => shown = text.0.as_bytes().len(),
                Op::ShowTextWithParameters(text) => shown = text.2.as_bytes().len(),
                Op::ShowTexts(texts) => {
                    shown =
                        texts.0.iter::<Object<'_>>().filter_map(Object::into_string).map(|t| t.as_bytes().len()).sum();
                }
                Op::TextFont(font) => {
                    if let Some(dict) = resources.get_font(font.0)
                        && fonts.insert(font.0.as_ref().to_vec())
                    {
                        check_widths(&dict)?;
                    }
                }
                Op::XObject(name) => {
                    path = 0;
                    if let Some(stream) = resources.get_x_object(name.0) {
                        self.form(pdf, &stream, resources, forms)?;
                    }
                }
                Op::SetGraphicsState(name) => {
                    let mask = resources.get_ext_g_state(name.0).and_then(|state| state.get::<Dict<'_>>(SMASK));
                    if let Some(group) = mask.and_then(|mask| mask.get::<Stream<'_>>(G)) {
                        self.again(pdf, &group)?;
                    }
                }
                Op::NonStrokeColorNamed(color) => {
                    self.paint(pdf, color.1.and_then(|name| resources.get_pattern(name)))?
                }
                Op::StrokeColorNamed(color) => self.paint(pdf, color.1.and_then(|name| resources.get_pattern(name)))?,
                Op::Shading(name) => self.paint(pdf, resources.get_shading(name.0))?,
                _ => {}
            }
            path += if clips { shown.saturating_mul(LETTER) } else { 0 };
            if states > DEPTH || marks > DEPTH {
                return Err(Harm::Odd("states that are saved without end"));
            }
            if path > PATH || shown > SHOWN {
                return Err(Harm::Odd("a path or a text without end"));
            }
        }
        Ok(())
    }

    /// Counts the bytes of a stream once more.
    fn again(&mut self, pdf: &Pdf, stream: &Stream<'_>) -> Result<(), Harm> {
        if is_picture(stream) {
            return Ok(());
        }
        let size = self.size_of(pdf, stream)?;
        self.take(size)
    }

    fn paint(&mut self, pdf: &Pdf, paint: Option<Object<'_>>) -> Result<(), Harm> {
        match paint.as_ref().and_then(dict_or_stream) {
            Some((_, Some(stream))) => self.again(pdf, stream),
            _ => Ok(()),
        }
    }

    /// Counts the drawings of a form, with the forms in it.
    fn form(&mut self, pdf: &Pdf, stream: &Stream<'_>, outer: &Resources<'_>, forms: &mut Forms) -> Result<(), Harm> {
        if stream.dict().get::<Name<'_>>(SUBTYPE).is_none_or(|name| *name != *FORM) {
            return Ok(());
        }
        let id = stream.obj_id();
        if let Some(cost) = forms.costs.get(&id) {
            return self.take(*cost);
        }
        if forms.open.contains(&id) || forms.open.len() == FORM_DEPTH {
            return Err(Harm::Odd("a form that draws itself"));
        }
        let before = self.left;
        let size = self.size_of(pdf, stream)?;
        self.take(size)?;
        let Ok(content) = stream.decoded_data() else { return Ok(()) };
        let own = stream.dict().get::<Dict<'_>>(RESOURCES).map(Resources::new);
        forms.open.push(id);
        self.walk(pdf, TypedIter::new(&content), own.as_ref().unwrap_or(outer), forms)?;
        forms.open.pop();
        // Without resources of its own it may draw other things on another page.
        if own.is_some() {
            forms.costs.insert(id, before - self.left);
        }
        self.go_on()
    }
}

/// The forms of a file.
#[derive(Default)]
struct Forms {
    /// Forms that are being drawn, each within the one before.
    open: Vec<ObjectIdentifier>,
    /// Bytes that are unpacked when one is drawn.
    costs: FxHashMap<ObjectIdentifier, usize>,
}

impl Harm {
    /// In the words of the report.
    pub(super) fn reason(&self) -> (&'static str, &'static str) {
        match self {
            Harm::Cancelled => ("", ""),
            Harm::TooLarge => (reason::UNPACKS_TOO_LARGE, ""),
            Harm::Odd(what) => (reason::DAMAGED_PDF, what),
        }
    }
}

/// The stream that stands at a place of a file, if one does.
fn lying(bytes: &[u8], at: usize) -> Result<Option<Lying>, Harm> {
    if !bytes[at..].starts_with(b"<<") {
        return Ok(None);
    }
    let Some(stream) = Stream::from_bytes(&bytes[at..]) else { return Ok(None) };
    let Cow::Borrowed(data) = stream.raw_data() else { return Ok(None) };
    let dict = stream.dict();
    let filters = stream.filters().to_vec();
    let elsewhere = |key: &[u8]| {
        let listed = |array: Array<'_>| array.raw_iter().any(|item| matches!(item, MaybeRef::Ref(_)));
        dict.get_ref(key).is_some() || dict.get::<Array<'_>>(key).is_some_and(listed)
    };
    if elsewhere(F) || elsewhere(FILTER) {
        return Err(Harm::Odd("a stream whose filters stand elsewhere"));
    }
    let packed = filters.iter().filter(|filter| matches!(filter, Filter::FlateDecode | Filter::LzwDecode)).count();
    if packed > 1 && (dict.contains_key(DECODE_PARMS) || dict.contains_key(DP)) {
        return Err(Harm::Odd("a stream that is packed several times, with predictors"));
    }
    let start = data.as_ptr() as usize - bytes.as_ptr() as usize;
    let objects = dict.get::<Name<'_>>(TYPE).is_some_and(|name| *name == *b"ObjStm");
    Ok(Some(Lying { head: at, data: start..start + data.len(), filters, picture: is_picture(&stream), objects }))
}

/// True if a stream is a picture: by its name, or by filters that only pictures use.
fn is_picture(stream: &Stream<'_>) -> bool {
    let filters = stream.filters();
    let only = [Filter::DctDecode, Filter::JpxDecode, Filter::Jbig2Decode, Filter::CcittFaxDecode];
    stream.dict().get::<Name<'_>>(SUBTYPE).is_some_and(|name| *name == *IMAGE)
        || filters.iter().any(|filter| only.contains(filter))
}

/// The streams of a page's content, each as often as it is drawn.
fn contents<'a>(page: &Page<'a>) -> Vec<Stream<'a>> {
    match page.raw().get::<Object<'_>>(CONTENTS) {
        Some(Object::Stream(stream)) => vec![stream],
        Some(Object::Array(array)) => array.iter::<Object<'_>>().filter_map(Object::into_stream).collect(),
        _ => Vec::new(),
    }
}

/// Refuses widths of more glyphs than any font has: each would be held by itself.
fn check_widths(font: &Dict<'_>) -> Result<(), Harm> {
    let Some(inner) = font.get::<Array<'_>>(DESCENDANT_FONTS).and_then(|fonts| fonts.iter::<Dict<'_>>().next()) else {
        return Ok(());
    };
    for (key, values) in [(W, 1), (W2, 3)] {
        let Some(widths) = inner.get::<Array<'_>>(key) else { continue };
        let (mut items, mut before, mut total) = (widths.iter::<Object<'_>>(), None::<i64>, 0i64);
        while let Some(item) = items.next() {
            match (before.take(), item) {
                (Some(_), Object::Array(_)) => {}
                (Some(first), Object::Number(last)) => {
                    total = total.saturating_add(last.as_i64().saturating_sub(first).max(0));
                    (0..values).for_each(|_| drop(items.next()));
                }
                (_, Object::Number(first)) => before = Some(first.as_i64()),
                _ => {}
            }
            if total > GLYPHS {
                return Err(Harm::Odd("a font of more glyphs than there can be"));
            }
        }
    }
    Ok(())
}

/// Refuses predictors of rows that are longer than any picture is wide: such a row would be held whether it is there or not.
fn check_columns(bytes: &[u8]) -> Result<(), Harm> {
    for (place, name) in names(bytes) {
        if *name != *b"Columns" {
            continue;
        }
        let at = bytes[place + 1..].iter().position(|byte| !is_regular(*byte)).map_or(bytes.len(), |n| place + 1 + n);
        let rest = &bytes[skip_blanks(bytes, at)..];
        let rest = rest.strip_prefix(b"+").unwrap_or(rest);
        let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let number = std::str::from_utf8(&rest[..digits.min(20)]).ok().and_then(|text| text.parse::<u64>().ok());
        let behind = skip_blanks(rest, digits);
        let elsewhere = behind > digits && rest.get(behind).is_some_and(u8::is_ascii_digit);
        if digits > 0 && (elsewhere || number.is_none_or(|number| number > COLUMNS)) {
            return Err(Harm::Odd("a predictor of rows without end"));
        }
    }
    Ok(())
}

fn is_regular(byte: u8) -> bool {
    !is_blank(byte) && !b"()<>[]{}/%".contains(&byte)
}

/// The names in some bytes that have as many letters as one that is looked for, with their places.
fn names(bytes: &[u8]) -> impl Iterator<Item = (usize, Cow<'_, [u8]>)> {
    let slashes = bytes.iter().enumerate().filter(|(_, byte)| **byte == b'/').map(|(at, _)| at);
    slashes.filter_map(|at| {
        let rest = &bytes[at + 1..];
        let name = &rest[..rest.iter().take(25).take_while(|byte| is_regular(**byte)).count()];
        match name.len() {
            6 | 7 if !name.contains(&b'#') => Some((at, Cow::Borrowed(name))),
            6..=21 if name.contains(&b'#') => Some((at, Cow::Owned(plain(name)))),
            _ => None,
        }
    })
}

/// A name whose letters may be written as `#` and two digits.
fn plain(name: &[u8]) -> Vec<u8> {
    let (mut out, mut rest) = (Vec::new(), name);
    while let [first, tail @ ..] = rest {
        let code = tail.get(..2).and_then(|digits| std::str::from_utf8(digits).ok());
        match code.filter(|_| *first == b'#').and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(byte) => {
                out.push(byte);
                rest = &tail[2..];
            }
            None => {
                out.push(*first);
                rest = tail;
            }
        }
    }
    out
}

fn find(bytes: &[u8], needle: &[u8], from: usize) -> Option<usize> {
    let mut at = from;
    loop {
        at += bytes.get(at..)?.iter().position(|byte| *byte == needle[0])?;
        if bytes[at..].starts_with(needle) {
            return Some(at);
        }
        at += 1;
    }
}

/// Behind blanks and comments.
fn skip_blanks(bytes: &[u8], mut at: usize) -> usize {
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'%' => at += bytes[at..].iter().position(|b| matches!(b, b'\n' | b'\r')).unwrap_or(bytes.len() - at),
            byte if is_blank(*byte) => at += 1,
            _ => break,
        }
    }
    at
}
