//! A language model ready to be asked: vocabulary and index, in memory or in a model file.

use std::path::Path;

use anyhow::{Context, Result};
use chrono::NaiveDateTime;
use serde::Serialize;
use serde_json::json;

use super::build::{Builder, NewGram};
use super::index::{Index, IndexEntry, Order};
use super::model::Ngram;
use super::params::NgramParams;
use super::vocabulary::{self, ModelVocabulary, TableSlot};
use super::words::Words;
use crate::{ModelFile, ModelHeader, write_model};
use inkstone_base::job::Ctx;
use inkstone_base::language::Word;

/// A language model that gives probabilities; whatever smoothing or file it came from.
pub struct LanguageModel {
    header: ModelHeader,
    parts: Parts,
}

enum Parts {
    Memory { text: Vec<u8>, ends: Vec<u64>, table: Vec<TableSlot>, entries: Vec<IndexEntry>, orders: Vec<Order> },
    File(ModelFile),
}

/// A model's parts as slices, for many questions in a row.
#[derive(Clone, Copy)]
pub struct View<'a> {
    pub vocabulary: ModelVocabulary<'a>,
    pub index: Index<'a>,
}

impl LanguageModel {
    /// Kind of its model files.
    pub const KIND: &str = "ngram";
    const VERSION: u32 = 1;

    /// Makes a trained model ready.
    pub fn new(model: &Ngram, ctx: &Ctx) -> Result<LanguageModel> {
        let levels = model.levels();
        let total: usize = levels[1..].iter().map(|level| level.word.len()).sum();
        let first = levels[0];
        let backoff = |weights: &[f32], i: usize| weights.get(i).copied().unwrap_or_default();
        let unigrams = (0..first.word.len()).map(|i| (first.log10[i], backoff(first.backoff, i)));
        let mut builder = Builder::new(unigrams, total)?;
        let mut places: Vec<u32> = (0..first.word.len() as u32).collect();
        for pair in levels.windows(2) {
            ctx.check()?;
            let [below, level] = [pair[0], pair[1]];
            let mut contexts = vec![0; level.word.len()];
            for (context, children) in places.iter().zip(below.first_child.windows(2)) {
                contexts[children[0] as usize..children[1] as usize].fill(*context);
            }
            let gram = |i: usize| NewGram {
                context: contexts[i],
                word: level.word[i],
                log10: level.log10[i],
                backoff: backoff(level.backoff, i),
            };
            let pushed = ctx.install(|| builder.push(level.word.len(), gram));
            places = pushed
                .ok()
                .context(Word("trie 中的 n 元组应互不相同", "the n-grams of a trie are different from each other"))?;
        }
        LanguageModel::from_builder(model.fitted_until, model.documents, &model.words, builder)
    }

    pub(super) fn from_builder(
        fitted_until: Option<NaiveDateTime>,
        documents: u64,
        words: &Words,
        builder: Builder,
    ) -> Result<LanguageModel> {
        let (kind, version) = (LanguageModel::KIND.to_owned(), LanguageModel::VERSION);
        let header = ModelHeader { kind, version, fitted_until, documents, params: json!({}) };
        let table = vocabulary::table(words)?;
        let (text, ends) = words.parts();
        let (text, ends) = (text.to_vec(), ends.to_vec());
        let (entries, orders) = builder.finish();
        Ok(LanguageModel { header, parts: Parts::Memory { text, ends, table, entries, orders } })
    }

    /// Writes the model file, to be opened by [`LanguageModel::open`]: how its documents were cut, and what it was trained with.
    pub fn save(&self, path: &Path, cut: &impl Serialize, params: &NgramParams) -> Result<()> {
        let View { vocabulary, index } = self.view();
        let (text, ends, table) = vocabulary.parts();
        let (entries, orders) = index.parts();
        let mut header = self.header.clone();
        header.params = json!({"cut": cut, "ngram": params, "ngrams": index.sizes()});
        let sections: [(&str, &[u8]); 5] = [
            ("words", text),
            ("word_ends", bytemuck::cast_slice(ends)),
            ("word_ids", bytemuck::cast_slice(table)),
            ("orders", bytemuck::cast_slice(orders)),
            ("ngrams", bytemuck::cast_slice(entries)),
        ];
        write_model(path, &header, &sections)
    }

    /// Uses the sections of a model file without decoding them.
    pub fn open(file: ModelFile) -> Result<LanguageModel> {
        let header = file.header().clone();
        file.expect(LanguageModel::KIND, LanguageModel::VERSION)?;
        View::from_file(&file)?;
        Ok(LanguageModel { header, parts: Parts::File(file) })
    }

    /// The header of its file.
    pub fn header(&self) -> &ModelHeader {
        &self.header
    }

    /// Parts of the model.
    pub fn view(&self) -> View<'_> {
        let view = match &self.parts {
            Parts::Memory { text, ends, table, entries, orders } => View::new(text, ends, table, entries, orders),
            Parts::File(file) => View::from_file(file),
        };
        view.expect("a model's parts were looked at when it was made")
    }
}

impl<'a> View<'a> {
    fn new(
        text: &'a [u8],
        ends: &'a [u64],
        table: &'a [TableSlot],
        entries: &'a [IndexEntry],
        orders: &'a [Order],
    ) -> Result<View<'a>> {
        let vocabulary = ModelVocabulary::new(text, ends, table)
            .context(Word("词表已损坏；请重新训练", "the vocabulary is damaged; train the model again"))?;
        let index = Index::new(entries, orders).filter(|index| index.sizes()[0] == ends.len() as u64);
        Ok(View {
            vocabulary,
            index: index.context(Word("n 元组已损坏；请重新训练", "the n-grams are damaged; train the model again"))?,
        })
    }

    fn from_file(file: &'a ModelFile) -> Result<View<'a>> {
        View::new(
            file.bytes("words")?,
            file.numbers("word_ends")?,
            file.numbers("word_ids")?,
            file.numbers("ngrams")?,
            file.numbers("orders")?,
        )
    }
}
