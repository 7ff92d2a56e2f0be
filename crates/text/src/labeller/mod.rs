//! A labeller of characters: a linear-chain conditional random field that cuts text into words or finds names in it.
//!
//! Lafferty, McCallum and Pereira (2001); for Chinese words Peng, Feng and McCallum (2004). Each character has one label (B, M, E, S of words;
//! B-KIND, I-KIND, ... and O of names). A label's score at a character is the sum of the weights of the features that templates see
//! there; a pair of labels side by side has a weight too. The best sequence of those that a scheme allows is given. Models are trained in
//! `inkstone-models`.

mod chain;
mod features;
mod scheme;
mod templates;

use std::ops::Range;
use std::path::Path;

use anyhow::{Context, Result};
use chrono::NaiveDateTime;

pub use chain::{Chain, Pass};
pub use features::FeatureTable;
pub use scheme::{Scheme, Span};
pub use templates::{Characters, Templates, WordList};

use crate::Token;
use crate::characters::is_zero_width;
use inkstone_base::message;
use inkstone_base::model_file::{ModelFile, ModelHeader, pack_strings, write_model};

/// A trained labeller.
pub struct Labeller {
    labels: Vec<String>,
    scheme: Scheme,
    templates: Templates,
    words: Option<WordList>,
    features: FeatureTable,
    /// `[features, labels]`, row by row.
    weights: Vec<f32>,
    /// Scores over all sequences of labels, as in training.
    chain: Chain,
    /// Scores over the sequences that the scheme allows.
    allowed: Chain,
    begins: Vec<bool>,
    ends: Vec<bool>,
    fitted_until: Option<NaiveDateTime>,
}

/// The parts of a labeller, as training makes them.
pub struct LabellerParts {
    pub labels: Vec<String>,
    pub templates: Templates,
    pub words: Option<WordList>,
    pub features: FeatureTable,
    /// `[features, labels]`, row by row.
    pub weights: Vec<f32>,
    /// `[from, to]`, row by row.
    pub pairs: Vec<f64>,
    /// The last time of the text that it was trained on.
    pub fitted_until: Option<NaiveDateTime>,
}

/// A name that was found.
#[derive(Clone, Debug, PartialEq)]
pub struct FoundName<'l> {
    pub kind: &'l str,
    /// Bytes of the text.
    pub range: Range<usize>,
    /// Probability of its labels, whatever the labels around it are.
    pub probability: f64,
}

impl Labeller {
    /// The kind of a labeller's model file.
    pub const KIND: &str = "crf";
    const VERSION: u32 = 1;

    pub fn new(parts: LabellerParts) -> Result<Labeller> {
        let LabellerParts { labels, templates, words, features, weights, pairs, fitted_until } = parts;
        let scheme = Scheme::new(&labels)?;
        let count = labels.len();
        let forbidden = |number: usize| !scheme.allows(number / count, number % count);
        let allowed = |(number, &pair): (usize, &f64)| if forbidden(number) { f64::NEG_INFINITY } else { pair };
        let allowed = Chain::new(count, pairs.iter().enumerate().map(allowed).collect());
        let (begins, ends) = (scheme.begins(), scheme.ends());
        let chain = Chain::new(count, pairs);
        Ok(Labeller { labels, scheme, templates, words, features, weights, chain, allowed, begins, ends, fitted_until })
    }

    pub fn open(path: &Path) -> Result<Labeller> {
        Labeller::read(&ModelFile::open(path)?)
            .with_context(|| message!("标注器 {}", "the labeller {}", path.display()))
    }

    pub fn read(file: &ModelFile) -> Result<Labeller> {
        file.expect(Labeller::KIND, Labeller::VERSION)?;
        let labels: Vec<String> = file.strings("labels")?.into_iter().map(str::to_owned).collect();
        let templates: Templates = file.param::<String>("templates")?.parse()?;
        let words = file.strings("words")?.into_iter().map(Box::from);
        let words = if templates.see_words() { Some(WordList::new(words)?) } else { None };
        let features = FeatureTable::new(file.numbers("keys")?.to_vec(), file.numbers("starts")?.to_vec());
        let features = features.filter(|features| features.starts().len() == templates.len() + 1);
        let damaged = || message!("特征已损坏；请重新训练", "the features are damaged; train it again");
        let features = features.with_context(damaged)?;
        let weights = file.numbers::<f32>("weights")?.to_vec();
        let pairs = file.numbers::<f64>("pairs")?.to_vec();
        let fits = weights.len() == features.len() * labels.len() && pairs.len() == labels.len() * labels.len();
        fits.then_some(()).with_context(damaged)?;
        let fitted_until = file.header().fitted_until;
        Labeller::new(LabellerParts { labels, templates, words, features, weights, pairs, fitted_until })
    }

    /// Writes the model; `params` are those of its training.
    pub fn save(&self, path: &Path, documents: u64, params: serde_json::Value) -> Result<()> {
        let mut params = params;
        params["templates"] = self.templates.to_string().into();
        let header = ModelHeader {
            kind: Labeller::KIND.to_owned(),
            version: Labeller::VERSION,
            fitted_until: self.fitted_until,
            documents,
            params,
        };
        let words = self.words.as_ref().map_or(&[][..], WordList::words);
        let sections: [(&str, &[u8]); 6] = [
            ("labels", &pack_strings(self.labels.iter().map(String::as_str))),
            ("words", &pack_strings(words.iter().map(AsRef::as_ref))),
            ("keys", bytemuck::cast_slice(self.features.keys())),
            ("starts", bytemuck::cast_slice(self.features.starts())),
            ("weights", bytemuck::cast_slice(&self.weights)),
            ("pairs", bytemuck::cast_slice(self.chain.pairs())),
        ];
        write_model(path, &header, &sections)
    }

    /// The last time of the text that it was trained on.
    pub fn fitted_until(&self) -> Option<NaiveDateTime> {
        self.fitted_until
    }

    /// Names of the labels.
    pub fn labels(&self) -> &[String] {
        &self.labels
    }

    /// True if it cuts text into words; false if it finds names.
    pub fn cuts_words(&self) -> bool {
        self.scheme.cuts_words()
    }

    /// The kinds of names that it finds.
    pub fn kinds(&self) -> &[String] {
        self.scheme.kinds()
    }

    pub fn features(&self) -> &FeatureTable {
        &self.features
    }

    /// `[features, labels]`, row by row.
    pub fn weights(&self) -> &[f32] {
        &self.weights
    }

    /// The weights of pairs of labels, `[from, to]`.
    pub fn pairs(&self) -> &[f64] {
        self.chain.pairs()
    }

    /// The scores of labels, `[characters, labels]`.
    pub fn scores(&self, text: &str) -> Vec<f64> {
        let (characters, labels) = (Characters::new(text, self.words.as_ref()), self.labels.len());
        let mut scores = vec![0.0; characters.len() * labels];
        for (place, scores) in scores.chunks_exact_mut(labels).enumerate() {
            for template in 0..self.templates.len() {
                let found = self.features.find(template, self.templates.key(template, &characters, place));
                if let Some(feature) = found {
                    let weights = &self.weights[feature * labels..(feature + 1) * labels];
                    scores.iter_mut().zip(weights).for_each(|(score, weight)| *score += f64::from(*weight));
                }
            }
        }
        scores
    }

    /// The label of each character, by number; the characters of a text as a whole.
    pub fn label(&self, text: &str) -> Vec<u8> {
        self.best(&self.scores(text))
    }

    fn best(&self, scores: &[f64]) -> Vec<u8> {
        self.allowed.best(scores, &self.begins, &self.ends)
    }

    /// The names in a text.
    pub fn names(&self, text: &str) -> Vec<FoundName<'_>> {
        let scores = self.scores(text);
        let labels = self.best(&scores);
        let spans = self.scheme.spans(&labels);
        if spans.is_empty() {
            return Vec::new();
        }
        let mut pass = Pass::default();
        self.chain.pass(&scores, &mut pass);
        let places: Vec<usize> = text.char_indices().map(|(at, _)| at).chain([text.len()]).collect();
        let name = |(kind, span): Span| FoundName {
            kind: &self.scheme.kinds()[kind],
            probability: self.chain.probability(&pass, span.start, &labels[span.clone()]),
            range: places[span.start]..places[span.end],
        };
        spans.into_iter().map(name).collect()
    }

    /// The words of a text without blanks, by their bytes.
    pub fn words(&self, text: &str) -> Vec<Range<usize>> {
        let mut words = Vec::new();
        self.for_each_word(text, |token| words.push(token.start..token.end));
        words
    }

    /// Gives the words of a text; each part between blanks is labelled for itself.
    pub(crate) fn for_each_word<'t>(&self, text: &'t str, mut f: impl FnMut(Token<'t>)) {
        let blank = |c: char| c.is_whitespace() || c.is_control() || is_zero_width(c);
        let mut next = 0;
        for part in text.split_inclusive(blank) {
            let begin = next;
            next += part.len();
            let part = part.trim_end_matches(blank);
            let places: Vec<usize> = part.char_indices().map(|(at, _)| at).chain([part.len()]).collect();
            for (_, span) in self.scheme.spans(&self.label(part)) {
                let (start, end) = (begin + places[span.start], begin + places[span.end]);
                f(Token { text: &text[start..end], start, end });
            }
        }
    }
}
