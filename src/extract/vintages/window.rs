//! The text of a window as numbers of its words, in a scratch file, and the word vectors that are trained on it.

use std::path::Path;

use anyhow::Result;
use memmap2::Mmap;
use serde::{Deserialize, Serialize};

use super::super::documents::{Documents, Place};
use crate::disk::Scratch;
use crate::job::Ctx;
use crate::model::{
    CooccurrenceParams, Dictionary, FastTextParams, Form, GloveParams, Loss, PairCounter, PairWeighting, Pairs,
    PooledText, Training, Word2vec, Word2vecParams, WordLimits, WordVectors, train_words,
};

/// Ends a sequence: no window of words reaches over it. Title and body of a document are sequences of their own.
const END: u32 = u32::MAX;
/// Ends a document, after the end of its last sequence.
const DOCUMENT: u32 = u32::MAX - 1;
/// Stands for a word that is not kept.
const LEFT_OUT: u32 = u32::MAX - 2;

/// Documents numbered between two looks at whether to stop.
const CHUNK: usize = 1024;

/// GloVe of a window.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct WindowGlove {
    /// Words from one of a pair to the other at the most. Default 15.
    pub window: usize,
    /// Values of a vector. Default 100.
    pub dim: usize,
    /// Passes over all pairs. Default 15.
    pub epochs: usize,
    /// Initial rate of learning. Default 0.05.
    pub lr: f64,
    /// The count from which pairs weigh alike. Default 10, for windows of some tens of MB.
    pub x_max: f64,
    /// Exponent of the weights below. Default 0.75.
    pub alpha: f64,
}

impl Default for WindowGlove {
    fn default() -> WindowGlove {
        let GloveParams { dim, epochs, lr, alpha, .. } = GloveParams::default();
        WindowGlove { window: 15, dim, epochs, lr, x_max: 10.0, alpha }
    }
}

/// fastText of a window: a vector a word, made of the word's and its characters'.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct WindowFastText {
    /// `skipgram` (default) or `cbow`.
    pub form: Form,
    /// `ns` (default), `hs` or `softmax`.
    pub loss: Loss,
    /// Values of a vector. Default 100.
    pub dim: usize,
    /// Words on each side at the most. Default 5.
    pub window: usize,
    /// Passes over the window's text. Default 5.
    pub epochs: usize,
    /// Words drawn against each right one. Default 5.
    pub negative: usize,
    /// Words of a higher share are passed over at times. Default 0.0001.
    pub sample: f64,
    /// Rate of learning at the start. Default 0.05.
    pub lr: f32,
    /// Places that character n-grams are hashed into. Default 2,000,000.
    pub bucket: u32,
    /// Characters of the shortest n-gram, the bounds of the word among them. Default 3.
    pub minn: usize,
    /// Characters of the longest n-gram; 0: no n-grams. Default 6.
    pub maxn: usize,
}

impl Default for WindowFastText {
    fn default() -> WindowFastText {
        let FastTextParams { form, loss, dim, window, epochs, negative, sample, lr, bucket, minn, maxn, .. } =
            FastTextParams::default();
        WindowFastText { form, loss, dim, window, epochs, negative, sample, lr, bucket, minn, maxn }
    }
}

/// What trains the vectors of a window.
pub(in super::super) enum Trainer {
    Word2vec(Word2vecParams),
    Glove(usize, GloveParams),
    FastText(FastTextParams),
}

impl Trainer {
    pub(in super::super) fn glove(params: &WindowGlove) -> Trainer {
        let WindowGlove { window, dim, epochs, lr, x_max, alpha } = *params;
        Trainer::Glove(window, GloveParams { dim, epochs, lr, x_max, alpha })
    }

    pub(in super::super) fn fasttext(params: &WindowFastText) -> Trainer {
        let WindowFastText { form, loss, dim, window, epochs, negative, sample, lr, bucket, minn, maxn } = *params;
        Trainer::FastText(FastTextParams {
            form,
            loss,
            dim,
            window,
            epochs,
            negative,
            sample,
            lr,
            bucket,
            minn,
            maxn,
            ..FastTextParams::default()
        })
    }

    /// Fails where its parameters make no sense.
    pub(in super::super) fn check(&self) -> Result<()> {
        match self {
            Trainer::Word2vec(params) => params.check(),
            Trainer::Glove(window, params) => {
                anyhow::ensure!((1..=1000).contains(window), "--window is {window}; it lies from 1 to 1000");
                params.check()
            }
            Trainer::FastText(params) => {
                anyhow::ensure!(
                    params.form != Form::Supervised,
                    "--form supervised learns labels; take skipgram or cbow"
                );
                params.check()
            }
        }
    }

    /// What it is called: its model and its section of the configuration.
    pub(in super::super) fn name(&self) -> &'static str {
        match self {
            Trainer::Word2vec(_) => "word2vec",
            Trainer::Glove(..) => "glove",
            Trainer::FastText(_) => "fasttext",
        }
    }

    /// Values of a vector.
    pub(in super::super) fn dim(&self) -> usize {
        match self {
            Trainer::Word2vec(params) => params.dim,
            Trainer::Glove(_, params) => params.dim,
            Trainer::FastText(params) => params.dim,
        }
    }

    /// What its progress counts.
    pub(super) fn unit(&self) -> &'static str {
        match self {
            Trainer::Glove(..) => "pairs",
            Trainer::Word2vec(_) | Trainer::FastText(_) => "words",
        }
    }

    /// Times that its progress counts each word of a window, where that is known.
    pub(super) fn passes(&self) -> Option<u64> {
        match self {
            Trainer::Word2vec(params) => Some(params.epochs as u64),
            Trainer::Glove(..) => None,
            Trainer::FastText(params) => Some(params.epochs as u64),
        }
    }
}

/// A window's text.
pub(super) struct Text {
    /// Kept words, the most frequent first.
    pub(super) words: Vec<Box<str>>,
    counts: Vec<u64>,
    /// Occurrences of all words, those that are not kept included.
    tokens: u64,
    documents: u64,
    /// The number of each word of the corpus among the kept ones.
    places: Vec<u32>,
    map: Option<Mmap>,
}

impl Text {
    /// Numbers the documents of a window; a scratch file is made in `folder`.
    pub(super) fn of(
        corpus: &Documents,
        window: &[Place],
        limits: &WordLimits,
        folder: &Path,
        ctx: &Ctx,
    ) -> Result<Text> {
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
        Ok(Text {
            words: kept.iter().map(|&number| corpus.words[number as usize].as_str().into()).collect(),
            counts: kept.iter().map(|&number| all[number as usize]).collect(),
            tokens: all.iter().sum(),
            documents: window.len() as u64,
            places,
            map: scratch.map()?,
        })
    }

    /// The kept word that a number of the corpus stands for.
    pub(super) fn place(&self, number: u32) -> Option<u32> {
        Some(self.places[number as usize]).filter(|&place| place != LEFT_OUT)
    }

    /// The text for a pooling of vectors; `place` gives that of each kept word.
    pub(super) fn pooled<P: Fn(u32) -> Option<u32> + Sync>(
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

    /// Vectors of the kept words.
    pub(super) fn train(&self, trainer: &Trainer, folder: &Path, ctx: &Ctx) -> Result<WordVectors> {
        let values = match trainer {
            Trainer::Word2vec(params) => {
                let mut training = Word2vec::new(&self.counts, self.numbers(), params, ctx.seed())?;
                while training.left() > 0 {
                    training.pass(ctx)?;
                }
                training.vectors()
            }
            Trainer::Glove(window, params) => {
                let counting = CooccurrenceParams {
                    window: *window,
                    weighting: PairWeighting::Harmonic,
                    ..CooccurrenceParams::default()
                };
                let counts = PairCounter::count(self.words.len(), self.sequences(), &counting, folder, ctx)?;
                Pairs::new(&counts, params, folder, ctx)?.train(params, ctx)?.values
            }
            Trainer::FastText(params) => {
                let words = self.words.iter().cloned().zip(self.counts.iter().copied()).collect();
                let dictionary = Dictionary::new(words, Vec::new(), self.counts.iter().sum(), params)?;
                train_words(dictionary, || self.sequences(), params, ctx)?.0.word_vectors()
            }
        };
        WordVectors::new(self.words.clone(), self.counts.clone(), trainer.dim(), values, Training::default())
    }

    /// Words that training passes over, all passes together.
    pub(super) fn kept_tokens(&self) -> u64 {
        self.counts.iter().sum()
    }

    fn numbers(&self) -> &[u32] {
        self.map.as_deref().map_or(&[], bytemuck::cast_slice)
    }

    fn sequences(&self) -> impl Iterator<Item = &[u32]> {
        self.numbers().split(|&number| number >= DOCUMENT).filter(|sequence| !sequence.is_empty())
    }
}
