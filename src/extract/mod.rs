//! Features: every document of the corpus to a row of numbers, kept in the store.
//!
//! Each `[[feature]]` names a model. Models without memory (`lexicon`) give a document the same row wherever it stands, so a
//! grown corpus costs only its new parts; fitted ones (`tfidf`, `lsa`, and what learns from returns) say when they last saw data.

mod induced;
mod lexicon;
mod lsa;
mod reading;
mod regression;
mod sestm;
mod surprise;
mod tfidf;

#[cfg(test)]
mod tests;

use std::path::Path;

use anyhow::{Result, bail, ensure};
use chrono::NaiveDate;
use serde::{Deserialize, Serialize};

pub use lexicon::ToneWords;
pub use regression::Label;
pub use surprise::{SurpriseParams, Unit};

use crate::corpus::Parts;
use crate::data::{Key, Kind, Report};
use crate::job::Ctx;
use crate::market::{Cutoff, Market};
use crate::model::{
    BayesParams, BoostParams, ClassParams, ClassWeight, EstimatorParams, InduceParams, LabelForm, LexiconParams,
    LinearParams, Method, SestmParams, SvdParams, SvmLoss, VectorizerParams, WalkForward, component_names,
};
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
    /// Walk-forward naive Bayes, likewise.
    Bayes,
    /// A walk-forward linear support vector machine, likewise; without calibration the score is a margin.
    Svm,
    /// Walk-forward gradient-boosted trees, likewise.
    Boosted,
    /// Walk-forward SESTM: columns `score` (p - 1/2; 0 without screened words) and `words` (screened words in the document; 0 flags
    /// that nothing is known of it).
    Sestm,
    /// Tone by a lexicon induced from the returns of past windows: columns `tone`, `positive`, `negative`, `words`.
    Induced,
    /// How improbable a document is to a language model of the documents before it: columns `surprise` (mean -log10
    /// probability of a token), `oov` (share of tokens that are new), `tokens`.
    Surprise,
}

/// One `[[feature]]`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Feature {
    /// Name, by which factors refer to it.
    pub name: String,
    /// `lexicon`, `tfidf`, `lsa`, `ridge`, `logistic`, `bayes`, `svm`, `boosted`, `sestm`, `induced` or `surprise`.
    pub model: Model,
    /// Kinds of documents that are read; empty: all.
    pub kinds: Vec<Kind>,
    /// Which part of title and body the model reads: `none`, `head:512`, `tail:512`, `head+tail:128+382`.
    pub truncate: Truncation,
    /// Whether company names and codes are hidden from the model, so that it cannot learn who did well. Absent: hidden
    /// from `sestm` and `induced`, which would list them among their words; shown to the others.
    pub mask_names: Option<bool>,
    /// For `lexicon`.
    pub lexicon: LexiconParams,
    /// For `tfidf`, `lsa` and all models that learn from returns.
    pub tfidf: VectorizerParams,
    /// For `tfidf` and `lsa`: the last day of the documents that vocabulary, weights and components come from; none: all. A
    /// factor refuses the values of earlier days.
    pub fit_until: Option<NaiveDate>,
    /// For models that learn from returns (all but `lexicon`, `tfidf`, `lsa` and `surprise`): windows of training and test.
    pub walk_forward: WalkForward,
    /// For `lsa`: dimensions and precision.
    pub lsa: SvdParams,
    /// For models that learn from returns: what is learned. The paper of `sestm` takes the return about the text, from the close
    /// two days before it to the close of the day after: delay -2, price close, horizon 3.
    pub label: Label,
    /// For `ridge` and `induced`: the form of the label, `raw`, `winsorised` or `ranked`.
    pub label_form: LabelForm,
    /// For `ridge`, `logistic` and `svm`: penalty and solver.
    pub linear: LinearParams,
    /// For `logistic`, `bayes`, `svm` and `boosted`: which labels are up and down, and calibration.
    pub classes: ClassParams,
    /// For these: `none`, or `balanced` to let each class count alike.
    pub class_weight: ClassWeight,
    /// For `svm`: what a row on the wrong side costs, `squared-hinge` or `hinge`.
    pub svm_loss: SvmLoss,
    /// For `bayes`.
    pub bayes: BayesParams,
    /// For `boosted`.
    pub boosted: BoostParams,
    /// For `sestm`: screening and penalty.
    pub sestm: SestmParams,
    /// For `induced`: which words enter the lexicon.
    pub induce: InduceParams,
    /// For `surprise`: windows and model.
    pub surprise: SurpriseParams,
}

impl Feature {
    /// The columns of a dense row, in order; none for the sparse rows of `tfidf`.
    pub fn columns(&self) -> Vec<String> {
        let named = |names: &[&str]| names.iter().map(|name| name.to_string()).collect();
        match self.model {
            Model::Lexicon => named(&["tone", "positive", "negative", "tokens"]),
            Model::Tfidf => Vec::new(),
            Model::Lsa => component_names(self.lsa.dim),
            Model::Ridge | Model::Logistic | Model::Bayes | Model::Svm | Model::Boosted => named(&["score"]),
            Model::Sestm => named(&["score", "words"]),
            Model::Induced => named(&["tone", "positive", "negative", "words"]),
            Model::Surprise => named(&["surprise", "oov", "tokens"]),
        }
    }

    /// Whether the model learns from returns.
    pub fn learns(&self) -> bool {
        !matches!(self.model, Model::Lexicon | Model::Tfidf | Model::Lsa)
    }

    /// Whether the model sees no company names and codes.
    pub fn masks_names(&self) -> bool {
        self.mask_names.unwrap_or(matches!(self.model, Model::Sestm | Model::Induced))
    }

    /// The estimator of a model that is one.
    fn estimator(&self) -> Option<EstimatorParams> {
        let method = match self.model {
            Model::Lexicon | Model::Tfidf | Model::Lsa | Model::Surprise | Model::Sestm | Model::Induced => {
                return None;
            }
            Model::Ridge => Method::Ridge,
            Model::Logistic => Method::Logistic,
            Model::Bayes => Method::Bayes,
            Model::Svm => Method::Svm,
            Model::Boosted => Method::Boosted,
        };
        Some(EstimatorParams {
            method,
            linear: self.linear.clone(),
            svm_loss: self.svm_loss,
            bayes: self.bayes.clone(),
            boosted: self.boosted.clone(),
            class_weight: self.class_weight,
        })
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
        Model::Ridge | Model::Logistic | Model::Bayes | Model::Svm | Model::Boosted => {
            regression::run(feature, inputs, store, ctx)
        }
        Model::Sestm => sestm::run(feature, inputs, store, ctx),
        Model::Induced => induced::run(feature, inputs, store, ctx),
        Model::Surprise => surprise::run(feature, inputs, store, ctx),
    }
}
