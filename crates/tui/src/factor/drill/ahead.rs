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
        /// The text in lines of so many cells.
        lines: Vec<String>,
        cells: usize,
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
        Ahead::Text { number, title: title.to_owned(), asked, lines: Vec::new(), cells: 0 }
    }

    pub(super) fn waiting(&self) -> bool {
        match self {
            Ahead::Documents(_, documents) => documents.asked.waiting(),
            Ahead::Text { asked, .. } => asked.waiting(),
        }
    }

    /// Takes in what has come, for a pane of so many cells and lines.
    pub(super) fn arrange(&mut self, width: usize, height: usize, desk: &Desk<'_>) {
        match self {
            Ahead::Documents(_, documents) => {
                documents.asked.look();
                documents.fill(desk);
            }
            Ahead::Text { asked, lines, cells, .. } => {
                let came = asked.look();
                if let Some(text) = asked.get().filter(|_| came || *cells != width) {
                    // More characters than the pane has cells are not seen.
                    let seen: String = text.chars().take(width * height).collect();
                    (*lines, *cells) = (seen.lines().flat_map(|line| sentences::wrap(line, width)).collect(), width);
                }
            }
        }
    }
}
