//! Features: every document of the corpus to a row of numbers, kept in the store.
//!
//! Each `[[feature]]` names a model. Models without memory (`lexicon`) give a document the same row wherever it stands, so a
//! grown corpus costs only its new parts; fitted ones (`tfidf`, `lsa`, `ridge`, `logistic`) say when they last saw data.

mod lexicon;
mod lsa;
mod reading;
mod regression;
mod tfidf;

#[cfg(test)]
mod tests;

use std::path::Path;

use anyhow::{Result, bail, ensure};
use chrono::NaiveDate;
use serde::{Deserialize, Serialize};

pub use lexicon::ToneWords;
pub use regression::Label;

use crate::corpus::Parts;
use crate::data::{Key, Kind, Report};
use crate::job::Ctx;
use crate::market::{Cutoff, Market};
use crate::model::{LabelForm, LexiconParams, LinearParams, SvdParams, VectorizerParams, WalkForward, component_names};
use crate::store::Store;
use crate::text::{TokenizerParams, Truncation};

/// Version of the code in this module; part of every set's identity, so that rows of an older version are not reused.
const VERSION: u32 = 1;

/// How a document becomes numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Model {
    /// Tone by a lexicon: columns `tone`, `positive`, `negative`, `tokens`.
    #[default]
    Lexicon,
    /// TF-IDF: a sparse row over the vocabulary.
    Tfidf,
    /// Latent semantic analysis of TF-IDF rows: columns `c1`, `c2`, ..., the document's place on each component.
    Lsa,
    /// Walk-forward ridge regression of the label on TF-IDF: column `score`, in units of the label.
    Ridge,
    /// Walk-forward logistic regression, upper against lower labels: column `score`, log-odds.
    Logistic,
}

/// One `[[feature]]`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Feature {
    /// Name, by which factors refer to it.
    pub name: String,
    /// `lexicon`, `tfidf`, `lsa`, `ridge` or `logistic`.
    pub model: Model,
    /// Kinds of documents that are read; empty: all.
    pub kinds: Vec<Kind>,
    /// Which part of title and body the model reads: `none`, `head:512`, `tail:512`, `head+tail:128+382`.
    pub truncate: Truncation,
    /// Whether company names and codes are hidden from the model, so that it cannot learn who did well.
    pub mask_names: bool,
    /// For `lexicon`.
    pub lexicon: LexiconParams,
    /// For `tfidf`, `lsa`, `ridge` and `logistic`.
    pub tfidf: VectorizerParams,
    /// For `tfidf` and `lsa`: the last day of the documents that vocabulary, weights and components come from; none: all. A factor refuses the
    /// values of earlier days.
    pub fit_until: Option<NaiveDate>,
    /// For `lsa`: dimensions and precision.
    pub lsa: SvdParams,
    /// For `ridge` and `logistic`: windows of training and test.
    pub walk_forward: WalkForward,
    /// For `ridge` and `logistic`: what is learned.
    pub label: Label,
    /// For `ridge`: the form of the label, `raw`, `winsorised` or `ranked`.
    pub label_form: LabelForm,
    /// For `ridge` and `logistic`: penalty and solver.
    pub linear: LinearParams,
}

impl Feature {
    /// The columns of a dense row, in order; none for the sparse rows of `tfidf`.
    pub fn columns(&self) -> Vec<String> {
        let named = |names: &[&str]| names.iter().map(|name| name.to_string()).collect();
        match self.model {
            Model::Lexicon => named(&["tone", "positive", "negative", "tokens"]),
            Model::Tfidf => Vec::new(),
            Model::Lsa => component_names(self.lsa.dim),
            Model::Ridge | Model::Logistic => named(&["score"]),
        }
    }

    /// Whether the model learns from returns.
    pub fn learns(&self) -> bool {
        matches!(self.model, Model::Ridge | Model::Logistic)
    }

    fn reads(&self, kind: Kind) -> bool {
        self.kinds.is_empty() || self.kinds.contains(&kind)
    }
}

/// What a feature is computed from.
pub struct Inputs<'a> {
    /// The cleaned corpus.
    pub clean: &'a Parts,
    /// Its links, part by part.
    pub links: &'a Parts,
    /// Key of the cleaned and linked corpus as a whole.
    pub corpus: Key,
    /// The market; needed by models that learn from returns.
    pub market: Option<&'a Market>,
    /// Key of the price table.
    pub prices: Key,
    /// Until when a text counts for its day.
    pub cutoff: Cutoff,
    /// The tokenizer.
    pub tokenizer: &'a TokenizerParams,
    /// Folder that relative paths are relative to.
    pub base: &'a Path,
}

impl Inputs<'_> {
    fn market(&self, feature: &Feature) -> Result<&Market> {
        match self.market {
            Some(market) => Ok(market),
            None => bail!(
                "feature {:?} learns from returns, but there is no price table: add a [[source]] with table = \"prices\"",
                feature.name
            ),
        }
    }
}

/// Computes a feature for the whole corpus and returns the id of its set in the store.
pub fn run(feature: &Feature, inputs: &Inputs<'_>, store: &Store, ctx: &Ctx) -> Result<(Key, Report)> {
    let parts = inputs.clean.files()?;
    ensure!(!parts.is_empty(), "there is no cleaned corpus; run the stages before this one first");
    match feature.model {
        Model::Lexicon => lexicon::run(feature, inputs, store, ctx),
        Model::Tfidf => tfidf::run(feature, inputs, store, ctx),
        Model::Lsa => lsa::run(feature, inputs, store, ctx),
        Model::Ridge | Model::Logistic => regression::run(feature, inputs, store, ctx),
    }
}
