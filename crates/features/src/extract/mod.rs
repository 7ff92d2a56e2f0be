//! Features: every document of the corpus to a row of numbers, kept in the store.
//!
//! Each `[[feature]]` names a model. Models without memory (`lexicon`) give a document the same row wherever it stands, so a
//! grown corpus costs only its new parts; fitted ones say when they last saw data.
//!
//! | models | fitted on | a value is known |
//! |---|---|---|
//! | `tfidf`, `lsa`, `vectors` | all documents until a day | from that day on |
//! | `surprise`, `word2vec`, `glove`, `fasttext` | the documents before each step of days (`steps`) | with its document |
//! | `onnx` | elsewhere, until a day that is stated | from that day on |
//! | all others but `lexicon` | the returns of each training window (`samples`) | with its document |

mod cost;
mod counts;
mod documents;
mod explain;
mod feature;
mod induced;
mod lexicon;
mod lsa;
mod onnx;
mod pieces;
mod rating;
mod reading;
mod regression;
mod samples;
mod sestm;
mod signals;
mod steps;
mod surprise;
mod textnet;
mod tfidf;
mod vintages;
mod whole;

#[cfg(test)]
mod tests;

use std::path::Path;
use std::sync::Mutex;

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

pub use cost::Cost;
pub use counts::{Counts, counts};
pub use explain::{ExplainedBy, ExplainedSentence, ExplainedText, ExplainedWord, KeptRow, explain};
pub use feature::{Feature, Model};
pub use lexicon::ToneWords;
pub use reading::draw_of;
pub use samples::Label;
pub use signals::{SignalSources, signals};
pub use surprise::{SurpriseParams, Unit};
pub use vintages::{VectorsParams, VintageParams, WindowFastText, WindowGlove};
pub use whole::{WholeDocument, audit, read_whole};

use inkstone_base::data::{Key, Report};
use inkstone_base::job::Ctx;
use inkstone_market::{Cutoff, Market};
use inkstone_models::textnet::TextNetKind;
use inkstone_onnx::RuntimeParams;
use inkstone_store::{Store, Writer};
use inkstone_tables::corpus::Parts;
use inkstone_text::TokenizerParams;

/// Version of the code in this module; part of every set's identity, so that rows of an older version are not reused.
pub const VERSION: u32 = 1;

/// What a feature is computed from.
pub struct Inputs<'a> {
    /// The cleaned corpus.
    pub clean: &'a Parts,
    /// Its links, part by part.
    pub links: &'a Parts,
    /// Its sentences, part by part; there where a feature needs them.
    pub sentences: &'a Parts,
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
    /// Where contextual models run.
    pub onnx: &'a RuntimeParams,
    /// Folder that relative paths are relative to.
    pub base: &'a Path,
    /// Where sets of windows are noted that several features share, which then are not removed; none: each feature is alone.
    pub shared: Option<&'a Mutex<Vec<Key>>>,
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
        Model::Onnx => onnx::run(feature, inputs, store, ctx),
        Model::Ridge | Model::Logistic | Model::Bayes | Model::Svm | Model::Boosted => {
            regression::run(feature, inputs, store, ctx)
        }
        Model::Sestm => sestm::run(feature, inputs, store, ctx),
        Model::Induced => induced::run(feature, inputs, store, ctx),
        Model::Surprise => surprise::run(feature, inputs, store, ctx),
        Model::Word2vec | Model::Glove | Model::FastText => {
            let trainer = feature.trainer().context("the feature's model trains no word vectors")?;
            vintages::run(feature, &trainer, inputs, store, ctx)
        }
        Model::Vectors => vintages::run_given(feature, inputs, store, ctx),
        Model::TextCnn => textnet::run(feature, TextNetKind::TextCnn, inputs, store, ctx),
        Model::TextRnn => textnet::run(feature, TextNetKind::TextRnn, inputs, store, ctx),
    }
}

/// Finishes a set, and says how many of its batches an earlier run had left.
fn finish(writer: Writer<'_>, order: &[Key], meta: Value, report: &mut Report) -> Result<Key> {
    report.fact("batches", order.len());
    report.fact("batches_kept", writer.kept());
    Ok(writer.finish(order, meta)?.id())
}
