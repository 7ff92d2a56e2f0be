//! Which text is looked at, and how it is read: a document of the corpus, or what the user typed.

use std::sync::Arc;

use anyhow::{Context, Result};

use super::bench::{About, TextBench, TextSubject};
use crate::corpus::{CorpusIndex, Shelf};
use crate::{Workspace, reading};
use inkstone_base::data::Document;
use inkstone_base::job::Ctx;
use inkstone_base::language::{Message, Word};

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Goal {
    /// The document of this number in the corpus, from 0.
    Number(usize),
    /// The document at this part and row.
    Place(usize, usize),
    /// Text of the user's own.
    Own(String),
}

impl Default for Goal {
    fn default() -> Goal {
        Goal::Number(0)
    }
}

pub(super) struct FoundText {
    pub(super) subject: TextSubject,
    pub(super) about: About,
    /// The fault that keeps sections, boilerplate or scores unknown.
    pub(super) fault: Option<Message>,
    /// Part and row, for whoever comes back to it.
    pub(super) place: Option<(usize, usize)>,
    /// Number of the document in the corpus, from 0.
    pub(super) number: usize,
    /// Documents of the corpus.
    pub(super) count: usize,
}

/// Reads a text and what is known of it; none where the corpus has no documents. A place that the corpus has no more gives its last
/// document.
pub(super) fn find(
    goal: &Goal,
    workspace: &Workspace,
    bench: &TextBench,
    shelf: &Shelf,
    ctx: &Ctx,
) -> Result<Option<FoundText>> {
    let (subject, place, number, count) = match goal {
        Goal::Own(text) => {
            let document = Document { body: text.clone(), ..Document::default() };
            (TextSubject { place: None, document, text: text.clone(), title: 0 }, None, 0, 0)
        }
        Goal::Number(_) | Goal::Place(..) => {
            let index = Arc::new(CorpusIndex::list(&workspace.project, ctx)?);
            let catalogue = index.catalogue(None);
            let Some(last) = catalogue.len().checked_sub(1) else { return Ok(None) };
            let number = match goal {
                Goal::Place(part, row) => catalogue.number((*part, *row)).unwrap_or(last),
                Goal::Number(number) => *number,
                Goal::Own(_) => 0,
            };
            let number = number.min(last);
            let place = catalogue
                .place(number)
                .context(Word("列出之后语料变短了", "the corpus has become shorter since it was listed"))?;
            let (part, row) = place;
            let document = shelf.document(&index, place)?;
            let text = format!("{}\n{}", document.title, document.body);
            let title = document.title.len();
            let subject = TextSubject { place: index.cleaned.then_some((part, row)), document, text, title };
            (subject, Some((part, row)), number, last + 1)
        }
    };
    let (about, fault) = match (bench.about)(&subject) {
        Ok(about) => (about, None),
        Err(error) => (About::default(), Some(reading::chain(error))),
    };
    Ok(Some(FoundText { subject, about, fault, place, number, count }))
}
