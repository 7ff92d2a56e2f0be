//! Probabilities of documents.
//!
//! A document is `<s> words </s>`: each word and `</s>` is predicted, `<s>` is not. Words outside the vocabulary count as one
//! word, `<unk>`. Perplexity is 10^(-log10 probability / tokens), `</s>` among the tokens, as KenLM's `query` counts.

use super::index::State;
use super::lm::{LanguageModel, View};
use super::walk::Scored;
use super::words::{BEGIN, END, UNKNOWN};

/// The probability of a text.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Score {
    /// log10 of the probability of the words that the model knows, and of `</s>`.
    pub known_log10: f64,
    /// log10 of the probability of the words that it does not know.
    pub oov_log10: f64,
    /// Words, and an end for each document.
    pub tokens: u64,
    /// Words that it does not know.
    pub oov: u64,
}

impl Score {
    /// log10 of the probability.
    pub fn log10(&self) -> f64 {
        self.known_log10 + self.oov_log10
    }

    /// Perplexity a token.
    pub fn perplexity(&self) -> f64 {
        10f64.powf(-self.log10() / self.tokens as f64)
    }

    /// Perplexity of the tokens that the model knows; their contexts are the same.
    pub fn perplexity_no_oov(&self) -> f64 {
        10f64.powf(-self.known_log10 / (self.tokens - self.oov) as f64)
    }

    /// Adds the probability of another text.
    pub fn add(&mut self, other: &Score) {
        self.known_log10 += other.known_log10;
        self.oov_log10 += other.oov_log10;
        self.tokens += other.tokens;
        self.oov += other.oov;
    }

    fn token(&mut self, word: u32, log10: f32) {
        self.tokens += 1;
        if word == UNKNOWN {
            self.oov += 1;
            self.oov_log10 += f64::from(log10);
        } else {
            self.known_log10 += f64::from(log10);
        }
    }
}

/// Some documents on their way through a model. Its memory is used again and again.
pub struct Scores<'m> {
    model: View<'m>,
    words: Vec<u32>,
    ends: Vec<usize>,
    scored: Vec<Scored>,
}

impl Scores<'_> {
    pub fn clear(&mut self) {
        self.words.clear();
        self.ends.clear();
    }

    pub fn push<'t>(&mut self, words: impl IntoIterator<Item = &'t str>) {
        let vocabulary = self.model.vocabulary;
        self.words.extend(words.into_iter().map(|word| vocabulary.id(word.as_bytes())));
        self.words.push(END);
        self.ends.push(self.words.len());
    }

    pub fn score(&mut self) {
        self.model.index.walk(&self.words, &self.ends, self.model.begin(), &mut self.scored);
    }

    /// The documents' words, `</s>` at the end, and what each was given.
    pub fn documents(&self) -> impl Iterator<Item = (&[u32], &[Scored])> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        starts.zip(&self.ends).map(|(start, &end)| (&self.words[start..end], &self.scored[start..end]))
    }

    pub fn totals(&self) -> impl Iterator<Item = Score> {
        self.documents().map(|(words, scored)| {
            let mut score = Score::default();
            words.iter().zip(scored).for_each(|(&word, scored)| score.token(word, scored.log10));
            score
        })
    }
}

impl View<'_> {
    /// The context at the beginning of a document.
    pub fn begin(&self) -> State {
        self.index.step(State::EMPTY, BEGIN).state
    }
}

impl LanguageModel {
    /// The probability of one document.
    pub fn score<'t>(&self, words: impl IntoIterator<Item = &'t str>) -> Score {
        let mut scores = self.scores();
        scores.push(words);
        scores.score();
        scores.totals().next().unwrap_or_default()
    }

    /// For the probabilities of many documents.
    pub fn scores(&self) -> Scores<'_> {
        Scores { model: self.view(), words: Vec::new(), ends: Vec::new(), scored: Vec::new() }
    }
}
