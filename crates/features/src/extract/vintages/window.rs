//! The text of a window as numbers of its words, in a scratch file, and the word vectors that are trained on it.

use std::path::Path;

use anyhow::Result;
use memmap2::Mmap;

use super::super::documents::{DocumentPlace, NumberedCorpus};
use super::trainer::WordVectorTrainer;
use inkstone_base::disk::{self, Scratch};
use inkstone_base::job::Ctx;
use inkstone_models::{DOCUMENT, END, PooledText, Training, WordLimits, WordVectors};

/// Stands for a word that is not kept.
const LEFT_OUT: u32 = u32::MAX - 2;

/// Documents numbered between two checks for cancellation.
const CHUNK: usize = 1024;

pub(crate) struct WindowText {
    /// Kept words, the most frequent first.
    pub(crate) words: Vec<Box<str>>,
    pub(crate) counts: Vec<u64>,
    /// Occurrences of all words, those that are not kept included.
    tokens: u64,
    pub(crate) documents: u64,
    /// The number of each word of the corpus among the kept ones.
    places: Vec<u32>,
    map: Option<Mmap>,
}

impl WindowText {
    /// Numbers the documents of a window; a scratch file is made in `folder`.
    pub(crate) fn read(
        corpus: &NumberedCorpus,
        window: &[DocumentPlace],
        limits: &WordLimits,
        folder: &Path,
        ctx: &Ctx,
    ) -> Result<WindowText> {
        let mut all = vec![0u64; corpus.words.len()];
        for documents in window.chunks(CHUNK) {
            ctx.check()?;
            let numbers = documents.iter().flat_map(|place| corpus.fields(place)).flatten();
            numbers.for_each(|&number| all[number as usize] += 1);
        }
        let kept = limits.choose(&all, &corpus.words);
        let mut places = vec![LEFT_OUT; corpus.words.len()];
        (0..).zip(&kept).for_each(|(place, &number)| places[number as usize] = place);
        let mut scratch = Scratch::within(folder)?;
        let mut numbers = Vec::new();
        for documents in window.chunks(CHUNK) {
            ctx.check()?;
            numbers.clear();
            for place in documents {
                for field in corpus.fields(place).into_iter().filter(|field| !field.is_empty()) {
                    let known = field.iter().map(|&number| places[number as usize]);
                    numbers.extend(known.filter(|&place| place != LEFT_OUT));
                    numbers.push(END);
                }
                numbers.push(DOCUMENT);
            }
            scratch.write(bytemuck::cast_slice(&numbers))?;
        }
        Ok(WindowText {
            words: kept.iter().map(|&number| corpus.words[number as usize].as_str().into()).collect(),
            counts: kept.iter().map(|&number| all[number as usize]).collect(),
            tokens: all.iter().sum(),
            documents: window.len() as u64,
            places,
            map: scratch.map()?,
        })
    }

    /// Number among the kept words of a word of the corpus.
    pub(crate) fn place(&self, number: u32) -> Option<u32> {
        Some(self.places[number as usize]).filter(|&place| place != LEFT_OUT)
    }

    /// The text for a pooling of vectors; `place` gives the place of each kept word.
    pub(crate) fn pooled<P: Fn(u32) -> Option<u32> + Sync>(
        &self,
        place: P,
    ) -> PooledText<'_, impl Fn(u32) -> Option<u32> + Sync> {
        PooledText {
            numbers: self.numbers(),
            end: DOCUMENT,
            place: move |number| if number < LEFT_OUT { place(number) } else { None },
            tokens: self.tokens,
            documents: self.documents,
        }
    }

    /// True if a trainer makes vectors of this text: fewer words than dimensions span no space to be turned.
    pub(crate) fn suffices(&self, trainer: &dyn WordVectorTrainer) -> bool {
        self.words.len() > trainer.dim().max(1)
    }

    /// Vectors of the kept words.
    pub(crate) fn train(&self, trainer: &dyn WordVectorTrainer, folder: &Path, ctx: &Ctx) -> Result<WordVectors> {
        self.vectors(trainer, trainer.train(self, folder, ctx)?)
    }

    /// Vectors of the kept words from the values that a trainer gave.
    pub(crate) fn vectors(&self, trainer: &dyn WordVectorTrainer, values: Vec<f32>) -> Result<WordVectors> {
        WordVectors::new(self.words.clone(), self.counts.clone(), trainer.dim(), values, Training::default())
    }

    /// Words that training passes over, all passes together.
    pub(crate) fn kept_tokens(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// Numbers of the kept words, `END` after each field and `DOCUMENT` after each document.
    pub(crate) fn numbers(&self) -> &[u32] {
        disk::numbers(self.map.as_ref())
    }

    /// The words of each field.
    pub(crate) fn sequences(&self) -> impl Iterator<Item = &[u32]> {
        self.numbers().split(|&number| number >= DOCUMENT).filter(|sequence| !sequence.is_empty())
    }
}
