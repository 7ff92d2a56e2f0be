//! Features: every document of the corpus to a row of numbers, kept in the store.
//!
//! Each `[[feature]]` names a model; `models::registry` has them all. Models that learn nothing (`lexicon`) give a document the same row
//! in any corpus, so a grown corpus costs only its new parts; fitted models say when they last saw data.
//!
//! | models | fitted on | a value is known |
//! |---|---|---|
//! | `tfidf`, `lsa` | all documents until a day | from that day on |
//! | `surprise`, `word2vec`, `glove`, `fasttext` | the documents before each step of days (`steps`) | with its document |
//! | `file`, `onnx` | elsewhere, until a time that the file says or a day that is stated | from then on |
//! | all others but `lexicon` | the targets of each training window (`samples`, `target`) | with its document |

pub(crate) mod cost;
pub(crate) mod counts;
pub(crate) mod document_table;
pub(crate) mod documents;
pub(crate) mod entry;
pub(crate) mod explain;
pub(crate) mod feature;
pub(crate) mod fields;
pub(crate) mod fits;
pub(crate) mod gate;
pub(crate) mod inputs;
pub(crate) mod network_walk;
pub(crate) mod part_model;
pub(crate) mod rating;
pub(crate) mod reading;
pub(crate) mod samples;
pub(crate) mod set;
pub(crate) mod settings;
pub(crate) mod signals;
pub(crate) mod steps;
pub(crate) mod target;
pub(crate) mod text_rows;
pub(crate) mod times;
pub(crate) mod vintages;
pub(crate) mod whole;

#[cfg(test)]
pub(crate) mod tests;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Mutex;

use anyhow::{Context, Result};
use chrono::NaiveDateTime;

pub use cost::Cost;
pub use counts::{Counts, counts};
pub use document_table::write_document_table;
pub use explain::{ExplainedBy, ExplainedInput, ExplainedSentence, ExplainedText, ExplainedWord, KeptRow, explain};
pub use feature::{Feature, Model};
pub use fits::Fits;
pub use gate::Gate;
pub use inputs::{InputColumns, InputFeature, InputMeta, in_order_of_inputs, with_inputs};
pub use reading::draw_of;
pub use set::SetMeta;
pub use signals::{SignalSources, signals};
pub use steps::StepReport;
pub use target::{Excess, Target, TargetOf};
pub use text_rows::vector_of_text;
pub use vintages::VintageParams;
pub use whole::{WholeDocument, audit, read_whole};

use inkstone_base::data::{Key, Report};
use inkstone_base::job::Ctx;
use inkstone_base::{bail, ensure, message};
use inkstone_market::{Cutoff, LazyMarket, Market};
use inkstone_onnx::RuntimeParams;
use inkstone_store::{Reader, Store};
use inkstone_tables::corpus::Parts;
use inkstone_text::TokenizerParams;

/// Version of the code in this module; part of every set's identity, so that rows of an older version are not reused.
pub const VERSION: u32 = 2;

/// Words of each side that a report shows.
pub(crate) const SHOWN_WORDS: usize = 20;

/// Inputs of a feature.
#[derive(Clone, Copy)]
pub struct Inputs<'a> {
    pub clean: &'a Parts,
    /// Links of the cleaned corpus, part by part.
    pub links: &'a Parts,
    /// Sentences of the cleaned corpus, part by part; there where a feature needs them.
    pub sentences: &'a Parts,
    /// Key of the cleaned and linked corpus as a whole.
    pub corpus: Key,
    /// The market; needed by models that are walked forward.
    pub market: Option<&'a LazyMarket>,
    /// Key of the price table.
    pub prices: Key,
    /// Time of day until which a text counts for its trading day.
    pub cutoff: Cutoff,
    pub tokenizer: &'a TokenizerParams,
    /// Runtime and device of contextual models.
    pub onnx: &'a RuntimeParams,
    /// Folder of relative paths.
    pub base: &'a Path,
    /// The sets of features that were computed before; needed by models that learn on the rows of other features.
    pub sets: Option<FeatureSets<'a>>,
    /// The written texts of each rewrite, by the name of the rewrite.
    pub rewritten: &'a BTreeMap<String, RewrittenCorpus>,
    /// The rewrite whose texts stand in `clean`; none where the texts of the documents stand there.
    pub rewrite: Option<&'a RewrittenCorpus>,
    /// All features of the project, for those that are made with another.
    pub features: &'a [Feature],
    /// The way in which fits that do not depend on one another are treated.
    pub fits: &'a Fits<'a>,
    /// List of the sets of windows that several features share, which are therefore not removed; none: no feature shares windows.
    pub shared: Option<&'a Mutex<Vec<Key>>>,
}

/// The corpus with the texts of a rewrite in place of the documents' own.
#[derive(Clone, Debug)]
pub struct RewrittenCorpus {
    /// Part by part as the corpus.
    pub clean: Parts,
    pub links: Parts,
    /// Key of the corpus with these texts.
    pub corpus: Key,
    /// [`Rewrite::identity`](crate::rewrite::Rewrite::identity).
    pub identity: Key,
    /// The last second of the text that the model was trained on.
    pub fitted_until: NaiveDateTime,
}

/// The sets of the features of a project.
#[derive(Clone, Copy)]
pub struct FeatureSets<'a> {
    pub store: &'a Reader,
    /// By name of the feature.
    pub ids: &'a BTreeMap<String, Key>,
}

impl<'a> Inputs<'a> {
    /// The inputs with the texts that a feature reads.
    pub(crate) fn read_by(&self, feature: &Feature) -> Result<Inputs<'a>> {
        if feature.text.is_empty() {
            return Ok(*self);
        }
        let rewrite = self.rewritten.get(&feature.text);
        let rewrite = rewrite.with_context(|| {
            message!("改写 {:?} 的文本不存在", "the texts of rewrite {:?} are not there", feature.text)
        })?;
        let RewrittenCorpus { clean, links, corpus, .. } = rewrite;
        Ok(Inputs { clean, links, corpus: *corpus, rewrite: Some(rewrite), ..*self })
    }

    pub(crate) fn market(&self, feature: &Feature) -> Result<&Market> {
        match self.market {
            Some(market) => market.get(),
            None => bail!(
                "特征 {:?} 在交易日窗口上学习 {}，但没有行情表：请添加 table = \"prices\" 的 [[source]]",
                "feature {:?} learns a {} on windows of trading days, but there is no price table: add a [[source]] with table = \"prices\"",
                feature.name,
                feature.target.of.name()
            ),
        }
    }
}

/// Computes a feature for the whole corpus and returns the id of its set in the store.
pub fn run(feature: &Feature, inputs: &Inputs<'_>, store: &Store, ctx: &Ctx) -> Result<(Key, Report)> {
    let parts = inputs.clean.files()?;
    ensure!(
        !parts.is_empty(),
        "没有清洗后的语料；请先运行前面的阶段",
        "there is no cleaned corpus; run the stages before this one first"
    );
    (feature.model.entry().run)(feature, inputs, store, ctx)
}
