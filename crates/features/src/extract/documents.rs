//! The documents of a corpus as numbers of words in a scratch file, in the order of their times. Models of past documents read them window
//! after window. Memory holds a part, the vocabulary, and some bytes a document.

use std::ops::Range;

use anyhow::Result;
use chrono::NaiveDateTime;
use memmap2::Mmap;
use rayon::prelude::*;
use rustc_hash::FxHashMap;

use super::reading::{CorpusReader, ReadDocument};
use super::set::Batches;
use inkstone_base::data::Report;
use inkstone_base::disk::{self, Scratch};
use inkstone_models::Fields;

/// A document that is read: where its row and its tokens are.
pub(crate) struct DocumentPlace {
    pub(crate) time: NaiveDateTime,
    pub(crate) part: usize,
    pub(crate) row: usize,
    /// Positions among all numbers.
    pub(crate) tokens: Range<usize>,
    /// Position of the body's first token.
    pub(crate) body: usize,
}

/// Gives each different word a number, in the order in which words come.
#[derive(Default)]
pub(crate) struct WordNumbers(FxHashMap<String, u32>);

impl WordNumbers {
    /// The numbers of some tokens.
    pub(crate) fn number(&mut self, tokens: impl IntoIterator<Item = String>) -> Vec<u32> {
        let number = |token| {
            let next = self.0.len() as u32;
            *self.0.entry(token).or_insert(next)
        };
        tokens.into_iter().map(number).collect()
    }

    /// The word of each number.
    pub(crate) fn into_words(self) -> Vec<String> {
        let mut words = vec![String::new(); self.0.len()];
        self.0.into_iter().for_each(|(word, number)| words[number as usize] = word);
        words
    }
}

/// A corpus as numbers of words.
pub(crate) struct NumberedCorpus {
    /// Documents that are read, in the order of their times.
    pub(crate) places: Vec<DocumentPlace>,
    /// The word of each number. The order of numbers may depend on later documents, so it must not enter a value.
    pub(crate) words: Vec<String>,
    /// Numbers of all tokens; none when there are none, as an empty file cannot be mapped.
    numbers: Option<Mmap>,
    pub(crate) batches: Batches,
}

impl NumberedCorpus {
    /// Reads the corpus part by part; `cut` gives the tokens of title and body. Half of the progress is this.
    pub(crate) fn read(
        reader: &CorpusReader<'_>,
        cut: impl Fn(&str, Fields<'_>) -> [Vec<String>; 2] + Sync,
        report: &mut Report,
    ) -> Result<NumberedCorpus> {
        let mut scratch = Scratch::within(reader.inputs.clean.folder())?;
        let mut words = WordNumbers::default();
        let (mut places, mut batches, mut written) = (Vec::new(), Batches::default(), 0);
        let mut part = 0;
        reader.for_each_part(|documents| {
            let tokens = |document: &ReadDocument| Some(cut(document.text.as_deref()?, document.fields()?));
            let tokens: Vec<Option<[Vec<String>; 2]>> =
                reader.ctx.install(|| documents.par_iter().map(tokens).collect());
            for (row, (document, tokens)) in documents.iter().zip(tokens).enumerate() {
                report.rows_in += 1;
                let Some([title, body]) = tokens else {
                    report.drop_rows(document.reason(), 1);
                    continue;
                };
                let (begin, title_length) = (written, title.len());
                let numbers = words.number(title.into_iter().chain(body));
                scratch.write(bytemuck::cast_slice(&numbers))?;
                written += numbers.len();
                let (tokens, body) = (begin..written, begin + title_length);
                places.push(DocumentPlace { time: document.published_at, part, row, tokens, body });
            }
            batches.push(documents);
            part += 1;
            Ok(reader.ctx.advance(documents.len() as u64 / 2)?)
        })?;
        places.sort_by_key(|place| (place.time, place.part, place.row));
        Ok(NumberedCorpus { places, words: words.into_words(), numbers: scratch.map()?, batches })
    }

    /// The numbers of a document's tokens, title and body apart.
    pub(crate) fn fields(&self, place: &DocumentPlace) -> [&[u32]; 2] {
        let numbers: &[u32] = disk::numbers(self.numbers.as_ref());
        [&numbers[place.tokens.start..place.body], &numbers[place.body..place.tokens.end]]
    }

    /// The tokens of a document.
    pub(crate) fn tokens(&self, place: &DocumentPlace) -> impl Iterator<Item = &str> {
        self.fields(place).into_iter().flatten().map(|&number| self.words[number as usize].as_str())
    }
}
