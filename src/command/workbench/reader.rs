//! Marks in the documents of the reader: company names, the words that gave a document its tone, and boilerplate.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Result;

use super::lazy::{LastFile, Lazy};
use crate::command::opened::OpenProject;
use inkstone_base::data::Document;
use inkstone_corpus::link::{TextField, links_of_part, name_spans};
use inkstone_corpus::structure::{Sentence, sentences_of_part};
use inkstone_features::extract::{Feature, Model};
use inkstone_features::models::lexicon::ToneWords;
use inkstone_tables::corpus::Parts;
use inkstone_tables::project::Project;
use inkstone_text::TokenizerParams;
use inkstone_tui::{Mark, Marker, Meaning};

/// Marks names by the project's links, tone words by its first lexicon feature, if it has one, and boilerplate by the structure of its
/// documents, if it was asked for.
pub(super) fn marker(opened: &OpenProject, project: &Project) -> Marker {
    let config = &opened.config;
    let tone = config.feature.iter().find(|f| f.model == Model::Lexicon).map(|feature| ToneMarks {
        feature: feature.clone(),
        tokenizer: config.tokenizer.clone(),
        base: opened.base.clone(),
        words: Lazy::default(),
    });
    let links = PartRead { parts: project.links(), read: links_of_part, last: LastFile::default() };
    let structure = PartRead { parts: project.structure(), read: sentences_of_part, last: LastFile::default() };
    Arc::new(move |part, row, document| {
        let links = links.part(part)?;
        let structure = structure.part(part)?;
        let sentences = structure.get(row).map_or(&[][..], Vec::as_slice);
        let [title, body] = [TextField::Title, TextField::Body].map(|field| name_spans(&links, row as u32, field));
        let tone = tone.as_ref().map(|tone| Ok::<_, anyhow::Error>(tone.words()?.in_body(document, [&title, &body])));
        let tone = tone.transpose()?.unwrap_or_default();
        let names = body.into_iter().map(|range| Mark { range, meaning: Meaning::Name });
        let tone = tone.into_iter().map(|(range, weight)| {
            let meaning = if weight > 0.0 { Meaning::Positive } else { Meaning::Negative };
            Mark { range, meaning }
        });
        Ok(names.chain(tone).chain(boilerplate(sentences, document)).collect())
    })
}

/// The sentences of the body that are boilerplate. Their places are counted from the beginning of the title.
fn boilerplate<'s>(sentences: &'s [Sentence], document: &Document) -> impl Iterator<Item = Mark> + use<'s> {
    let title = document.title.len() + 1;
    sentences.iter().filter(|sentence| sentence.boilerplate).filter_map(move |sentence| {
        let start = (sentence.range.start as usize).checked_sub(title)?;
        Some(Mark { range: start..sentence.range.end as usize - title, meaning: Meaning::Boilerplate })
    })
}

/// The tone words of a feature. Its dictionary is loaded when the first document is read, not when the workbench opens.
struct ToneMarks {
    feature: Feature,
    tokenizer: TokenizerParams,
    base: PathBuf,
    words: Lazy<ToneWords>,
}

impl ToneMarks {
    fn words(&self) -> Result<&ToneWords> {
        self.words.get_or_load(|| ToneWords::new(&self.feature, &self.tokenizer, &self.base))
    }
}

/// The table of another stage for the part that was read last: documents that are read in a row mostly come from one part.
struct PartRead<T> {
    parts: Parts,
    read: fn(&Path) -> Result<Vec<T>>,
    last: LastFile<Vec<T>>,
}

impl<T> PartRead<T> {
    /// The rows for a part; none before the stage has written it.
    fn part(&self, part: usize) -> Result<Arc<Vec<T>>> {
        Ok(self.last.get(&self.parts.path(part), self.read)?.unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use inkstone_corpus::structure::{Salience, Section};

    #[test]
    fn boilerplate_is_counted_from_the_beginning_of_the_body() {
        let document =
            Document { title: "年报".into(), body: "正文。免责声明。".into(), ..Document::default() };
        let sentence =
            |range, boilerplate| Sentence { range, section: Section::Body, boilerplate, salience: Salience::NONE };
        let sentences = [sentence(0..6, true), sentence(7..16, false), sentence(16..31, true)];
        let marks: Vec<Mark> = boilerplate(&sentences, &document).collect();
        assert_eq!(marks, [Mark { range: 9..24, meaning: Meaning::Boilerplate }]);
        assert_eq!(&document.body[9..24], "免责声明。");
    }
}
