//! The documents of a corpus as numbers of words in a scratch file, in the order of their times: what models of past documents read
//! window after window. Memory is that of a part, the vocabulary, and some bytes a document.

use std::ops::Range;

use anyhow::Result;
use chrono::NaiveDateTime;
use memmap2::Mmap;
use rayon::prelude::*;
use rustc_hash::FxHashMap;

use super::reading::{Reading, key_of, read_part};
use super::{Feature, Inputs};
use inkstone_base::data::{Key, Report};
use inkstone_base::disk::{self, Scratch};
use inkstone_base::job::Ctx;
use inkstone_models::Fields;
use inkstone_text::Segmenter;

/// A document that is read: where its row and its tokens are.
pub(super) struct Place {
    pub(super) time: NaiveDateTime,
    pub(super) part: usize,
    pub(super) row: usize,
    /// Among all numbers.
    pub(super) tokens: Range<usize>,
    /// Where those of the body begin.
    pub(super) body: usize,
}

/// A corpus as numbers of words.
pub(super) struct Documents {
    /// Documents that are read, in the order of their times.
    pub(super) places: Vec<Place>,
    /// The word of each number. Mere names: they may have been given in an order that depends on later documents.
    pub(super) words: Vec<String>,
    /// Numbers of all tokens; none when there are none, as an empty file cannot be mapped.
    numbers: Option<Mmap>,
    /// Batch and row keys of each part.
    pub(super) batches: Vec<(Key, Vec<Key>)>,
}

impl Documents {
    /// Reads the corpus part by part; `cut` gives the tokens of title and body. Half of the progress is this.
    pub(super) fn read(
        feature: &Feature,
        inputs: &Inputs<'_>,
        segmenter: &Segmenter,
        cut: impl Fn(&str, Fields<'_>) -> [Vec<String>; 2] + Sync,
        report: &mut Report,
        ctx: &Ctx,
    ) -> Result<Documents> {
        let mut scratch = Scratch::within(inputs.clean.folder())?;
        let mut numbers_of: FxHashMap<String, u32> = FxHashMap::default();
        let (mut places, mut batches, mut written) = (Vec::new(), Vec::new(), 0);
        for part in 0..inputs.clean.files()?.len() {
            let readings = read_part(inputs, part, feature, segmenter, ctx)?;
            let tokens = |reading: &Reading| Some(cut(reading.text.as_deref()?, reading.fields()?));
            let tokens: Vec<Option<[Vec<String>; 2]>> = ctx.install(|| readings.par_iter().map(tokens).collect());
            for (row, (reading, tokens)) in readings.iter().zip(tokens).enumerate() {
                report.rows_in += 1;
                let Some([title, body]) = tokens else {
                    report.drop_rows("of a kind that is not read", 1);
                    continue;
                };
                let (begin, title_length) = (written, title.len());
                let numbers: Vec<u32> = title
                    .into_iter()
                    .chain(body)
                    .map(|token| {
                        let next = numbers_of.len() as u32;
                        *numbers_of.entry(token).or_insert(next)
                    })
                    .collect();
                scratch.write(bytemuck::cast_slice(&numbers))?;
                written += numbers.len();
                let (tokens, body) = (begin..written, begin + title_length);
                places.push(Place { time: reading.published_at, part, row, tokens, body });
            }
            batches.push((key_of(&readings), readings.iter().map(|r| r.key).collect()));
            ctx.advance(readings.len() as u64 / 2)?;
        }
        let mut words = vec![String::new(); numbers_of.len()];
        numbers_of.into_iter().for_each(|(word, number)| words[number as usize] = word);
        places.sort_by_key(|place| (place.time, place.part, place.row));
        Ok(Documents { places, words, numbers: scratch.map()?, batches })
    }

    /// The numbers of a document's tokens, title and body apart.
    pub(super) fn fields(&self, place: &Place) -> [&[u32]; 2] {
        let numbers: &[u32] = disk::numbers(self.numbers.as_ref());
        [&numbers[place.tokens.start..place.body], &numbers[place.body..place.tokens.end]]
    }

    /// The tokens of a document.
    pub(super) fn tokens(&self, place: &Place) -> impl Iterator<Item = &str> {
        self.fields(place).into_iter().flatten().map(|&number| self.words[number as usize].as_str())
    }
}
