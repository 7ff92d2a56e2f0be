//! The next level of a list, read ahead for the marked line and shown beside the list: documents of a name, text of a document.

use std::sync::Arc;

use anyhow::{Context, Result};

use super::documents::Documents;
use crate::corpus::{CorpusIndex, Shelf};
use crate::desk::Desk;
use crate::errand::Errand;
use crate::sentences;
use inkstone_base::language::Word;

pub(super) enum Ahead {
    /// Documents of the name of this key.
    Documents(String, Box<Documents>),
    /// Text of the document of this number.
    Text {
        number: u32,
        title: String,
        asked: Errand<String>,
        /// The lines of the text that a pane of this size shows.
        lines: Vec<String>,
        size: (usize, usize),
    },
}

impl Ahead {
    /// Asks for the text of a document of the corpus.
    pub(super) fn text(number: u32, title: &str, shelf: &Shelf, desk: &Desk<'_>) -> Ahead {
        let (project, shelf) = (desk.workspace.project.clone(), shelf.clone());
        let asked = desk.errand("read a document ahead", move |ctx| -> Result<String> {
            let index = Arc::new(CorpusIndex::list(&project, ctx)?);
            let place = index.catalogue(None).place(number as usize);
            let place = place.context(Word("语料中没有这篇文档", "the corpus has no such document"))?;
            let document = shelf.document(&index, place)?;
            Ok(format!("{}\n\n{}", document.title, document.body))
        });
        Ahead::Text { number, title: title.to_owned(), asked, lines: Vec::new(), size: (0, 0) }
    }

    pub(super) fn waiting(&self) -> bool {
        match self {
            Ahead::Documents(_, documents) => documents.asked.waiting(),
            Ahead::Text { asked, .. } => asked.waiting(),
        }
    }

    /// Takes in the answer, for a pane of this size.
    pub(super) fn arrange(&mut self, width: usize, height: usize, desk: &Desk<'_>) {
        match self {
            Ahead::Documents(_, documents) => {
                documents.asked.look();
                documents.fill(desk);
            }
            Ahead::Text { asked, lines, size, .. } => {
                let came = asked.look();
                if let Some(text) = asked.get().filter(|_| came || *size != (width, height)) {
                    // More characters than the pane has cells are not seen.
                    let seen: String = text.chars().take(width * height).collect();
                    *lines = seen.lines().flat_map(|line| sentences::wrap(line, width)).collect();
                    *size = (width, height);
                }
            }
        }
    }
}
