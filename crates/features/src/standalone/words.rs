//! The words of a model with vectors, made ready to be looked up and compared.

use std::borrow::Cow;

use anyhow::{Context, Result};
use rustc_hash::FxHashMap;

use super::{Fitted, WordRows};
use inkstone_base::job::Ctx;
use inkstone_base::language::{Message, Word};
use inkstone_base::message;
use inkstone_models::Nearest;

/// Known words that a message proposes for an unknown one.
const PROPOSED: usize = 5;

/// A word that was looked up.
pub(crate) struct WordVector<'w> {
    /// Number among the words of the model; none where the vector was made of the word's characters.
    pub(crate) place: Option<usize>,
    pub(crate) vector: Cow<'w, [f32]>,
}

/// The words of a model, ready to be looked up.
pub(crate) struct VectorWords<'m> {
    model: &'m dyn Fitted,
    /// All of them, in the order of the model.
    pub(crate) all: &'m [Box<str>],
    pub(crate) dim: usize,
    pub(crate) nearest: Nearest<'m>,
    places: FxHashMap<&'m str, usize>,
}

impl<'m> VectorWords<'m> {
    pub(crate) fn new(model: &'m dyn Fitted, ctx: &Ctx) -> Result<VectorWords<'m>> {
        let WordRows { words, vectors, dim } = model.words().with_context(|| {
            message!("{} 模型没有词向量；请给出 word2vec、glove、fasttext、ppmi、lsa、cw、nnlm、lbl 或 rnnlm 的模型（inkstone train word2vec），或 word2vec、fastText 格式的向量", "a {} model has no word vectors; give one of word2vec, glove, fasttext, ppmi, lsa, cw, nnlm, lbl or rnnlm (inkstone train word2vec), or vectors in a format of word2vec or fastText", model.name())
        })?;
        let places = words.iter().map(AsRef::as_ref).zip(0..).collect();
        let nearest = ctx.install(|| Nearest::new(vectors, dim))?;
        Ok(VectorWords { model, all: words, dim, nearest, places })
    }

    /// A word of the model, or one that it can make a vector for.
    pub(crate) fn find(&self, word: &str) -> Option<WordVector<'_>> {
        if let Some(&place) = self.places.get(word) {
            return Some(WordVector { place: Some(place), vector: Cow::Borrowed(self.nearest.row(place)) });
        }
        self.model.made_vector(word).map(|vector| WordVector { place: None, vector: Cow::Owned(vector) })
    }

    /// The same; a word without a vector is an error that proposes others.
    pub(crate) fn get(&self, word: &str) -> Result<WordVector<'_>> {
        self.find(word).with_context(|| unknown(word, self.all))
    }
}

/// How a model knows a word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Known {
    Listed,
    /// It makes the word's vector of its characters.
    Made,
    /// It does not know it; these are written most alike, the most alike first.
    Unknown(Vec<String>),
}

/// Looks a word up among those of a model; none where the model has no words.
pub fn look_up(model: &dyn Fitted, word: &str) -> Option<Known> {
    let known = model.words()?.words;
    Some(if known.iter().any(|known| **known == *word) {
        Known::Listed
    } else if model.made_vector(word).is_some() {
        Known::Made
    } else {
        Known::Unknown(alike(word, known).into_iter().map(str::to_owned).collect())
    })
}

/// The known words that are written most alike.
fn alike<'w>(word: &str, known: &'w [Box<str>]) -> Vec<&'w str> {
    let length = word.chars().count();
    let mut alike: Vec<(usize, usize, &str)> = known
        .iter()
        .enumerate()
        .map(|(i, known)| (strsim::osa_distance(word, known), i, known.as_ref()))
        .filter(|(distance, ..)| *distance < length)
        .collect();
    alike.sort_unstable();
    alike.into_iter().take(PROPOSED).map(|(.., known)| known).collect()
}

/// Proposes the known words that are written most alike.
fn unknown(word: &str, known: &[Box<str>]) -> Message {
    let alike = alike(word, known);
    let way_out = match alike.is_empty() {
        true => Word(
            "请以更低的 --min-df 或 --min-count 训练，或用更多文本",
            "train with a lower --min-df or --min-count, or on more text",
        )
        .into(),
        false => message!("是不是 {}？", "did you mean {}?", alike.join(", ")),
    };
    message!("模型不认识词 {word:?}；{way_out}", "the model knows no word {word:?}; {way_out}")
}
