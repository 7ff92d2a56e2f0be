//! Reading one document for the reader: its text, cut into tokens, with its marks, laid out, and where the search found it.

use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context, Result};
use polars_core::prelude::DataFrame;

use super::layout::{LineLayout, lay_out};
use super::load::{CorpusIndex, FIRST};
use super::search::Pattern;
use crate::reading::guarded;
use crate::{Mark, Marker, Meaning, TokenUnit, Tokeniser};
use inkstone_base::data::Document;
use inkstone_base::job::Ctx;
use inkstone_base::language::{Message, Word};
use inkstone_base::message;
use inkstone_tables::corpus;
use inkstone_tables::frames;

/// A request for a document in the reader.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Wanted {
    /// Number of the list of files: after a run the files are listed anew.
    pub list: u64,
    /// Part and row.
    pub place: (usize, usize),
    /// The unit of the tokens; `None` leaves the body whole.
    pub cut: Option<TokenUnit>,
    pub width: usize,
    /// True if marks can come later: the dictionary that they need may still have to be loaded.
    pub unmarked: bool,
    pub pattern: Option<Pattern>,
}

/// One document, cut and marked.
#[derive(Debug, Default)]
pub(crate) struct DocumentText {
    pub document: Document,
    /// Characters of its body.
    pub characters: usize,
    /// The first mention that it repeats.
    pub first: Option<String>,
    /// The tokens of the body.
    pub tokens: Vec<Range<usize>>,
    /// Marked passages of the body, by where they begin.
    pub marks: Vec<Mark>,
    pub fault: Option<Message>,
}

/// A document as the reader shows it.
#[derive(Clone, Debug)]
pub(super) struct ShownDocument {
    pub wanted: Wanted,
    pub text: Arc<DocumentText>,
    pub layout: Arc<LineLayout>,
    /// Passages of the body that the search found, ascending.
    pub hits: Arc<Vec<Range<usize>>>,
}

/// The part that was read last, with its bodies: documents read one after the other often come from one part.
#[derive(Clone, Default)]
pub(crate) struct Shelf(Arc<Mutex<Option<(Arc<CorpusIndex>, usize, DataFrame)>>>);

impl Shelf {
    /// A part of the corpus, with its bodies.
    pub(crate) fn part(&self, index: &Arc<CorpusIndex>, part: usize) -> Result<DataFrame> {
        let mut shelf = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, _, frame)) = shelf.as_ref().filter(|(of, read, _)| *read == part && *of == *index) {
            return Ok(frame.clone());
        }
        // Two parts of long reports are not to be in memory at once.
        *shelf = None;
        let frame = frames::read_parquet(index.path(part)?, None)?;
        *shelf = Some((index.clone(), part, frame.clone()));
        Ok(frame)
    }

    /// The document at this part and row.
    pub(crate) fn document(&self, index: &Arc<CorpusIndex>, (part, row): (usize, usize)) -> Result<Document> {
        let frame = self.part(index, part)?.slice(i64::try_from(row)?, 1);
        let path = index.path(part)?;
        let documents = corpus::documents_from_frame(&frame)
            .with_context(|| message!("无法使用 {}", "cannot use {}", path.display()))?;
        documents
            .into_iter()
            .next()
            .context(Word("列出之后语料变短了", "the corpus has become shorter since it was listed"))
    }
}

/// The functions that a document is read with.
pub(super) struct Library {
    pub index: Arc<CorpusIndex>,
    pub(crate) shelf: Shelf,
    pub tokeniser: Tokeniser,
    pub marker: Option<Marker>,
}

impl Library {
    /// Reads the wanted parts; parts that `old` already has are taken from there.
    pub(super) fn read(&self, wanted: Wanted, old: Option<ShownDocument>, ctx: &Ctx) -> Result<ShownDocument> {
        let source = |wanted: &Wanted| (wanted.list, wanted.place, wanted.cut, wanted.unmarked);
        let same = old.as_ref().filter(|old| source(&old.wanted) == source(&wanted));
        let text = match same {
            Some(old) => old.text.clone(),
            None => Arc::new(self.text(&wanted)?),
        };
        ctx.check()?;
        let layout = match same.filter(|old| old.wanted.width == wanted.width) {
            Some(old) => old.layout.clone(),
            None => Arc::new(lay_out(&text, wanted.width)),
        };
        let hits = match (same.filter(|old| old.wanted.pattern == wanted.pattern), &wanted.pattern) {
            (Some(old), _) => old.hits.clone(),
            (None, Some(pattern)) => Arc::new(pattern.places(&text.document.body)),
            (None, None) => Arc::default(),
        };
        Ok(ShownDocument { wanted, text, layout, hits })
    }

    fn text(&self, wanted: &Wanted) -> Result<DocumentText> {
        let (part, row) = wanted.place;
        let frame = self.shelf.part(&self.index, part)?;
        let frame = frame.slice(i64::try_from(row)?, 1);
        let path = self.index.path(part)?;
        let documents =
            corpus::documents_from_frame(&frame).with_context(|| message!("在 {} 中", "in {}", path.display()))?;
        let document = documents
            .into_iter()
            .next()
            .context(Word("列出之后语料变短了", "the corpus has become shorter since it was listed"))?;
        let tokens = wanted.cut.map(|cut| (self.tokeniser)(&document.body, cut)).transpose()?.unwrap_or_default();
        // Marks that cannot be had are no reason to show no text.
        let marks = match &self.marker {
            Some(marker) if self.index.cleaned && !wanted.unmarked => guarded(|| marker(part, row, &document)),
            _ => Ok(Vec::new()),
        };
        let (mut marks, fault) = match marks {
            Ok(marks) => (marks, None),
            Err(fault) => (Vec::new(), Some(fault)),
        };
        marks.retain(|mark| document.body.get(mark.range.clone()).is_some_and(|text| !text.is_empty()));
        marks.sort_by_key(|mark| (mark.range.start, mark.meaning != Meaning::Name));
        let first = match self.index.cleaned {
            true => corpus::column(&frame, FIRST)?.str()?.get(0).filter(|first| *first != document.doc_id),
            false => None,
        };
        let (first, characters) = (first.map(str::to_owned), document.body.chars().count());
        Ok(DocumentText { document, characters, first, tokens, marks, fault })
    }
}
