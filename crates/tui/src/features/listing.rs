//! The functions and values behind the page of features.

use std::sync::Arc;

use anyhow::Result;
use chrono::NaiveDateTime;

use crate::corpus::ScoredFeature;
use inkstone_base::data::Key;
use inkstone_base::job::Ctx;
use inkstone_base::language::Message;
use inkstone_features::inspect::{Health, Neighbours, Query};
use inkstone_store::{BatchEntry, RowKind, Stats};

/// Lists the sets. The store is open only meanwhile.
pub(crate) type FeatureListingOf = Arc<dyn Fn(&Ctx) -> Result<FeatureListing> + Send + Sync>;

/// Reads a set from end to end; the second argument hears how many rows have been read.
pub(crate) type FeatureHealthOf = Arc<dyn Fn(&Key, &dyn Fn(u64), &Ctx) -> Result<Health> + Send + Sync>;

/// Compares one row of a set with all others; the third argument hears how many rows have been read.
pub(crate) type FeatureNeighboursOf = Arc<dyn Fn(&Key, &Query, &dyn Fn(u64), &Ctx) -> Result<Neighbours> + Send + Sync>;

/// Lists the columns of features whose values a person can read, one a name.
pub(crate) type ScoredFeaturesOf = Arc<dyn Fn(&Ctx) -> Result<Vec<ScoredFeature>> + Send + Sync>;

/// Reads the values in a column of a set, part by part of the corpus; NaN where a document has none.
pub(crate) type FeatureScoresOf = Arc<dyn Fn(&Key, usize, &Ctx) -> Result<Vec<Vec<f32>>> + Send + Sync>;

/// Ranks the documents that have a word of a query, the best first, as numbers in the corpus.
pub(crate) type RankedDocumentsOf = Arc<dyn Fn(&str, &Ctx) -> Result<Vec<u32>> + Send + Sync>;

/// The functions behind the page, supplied by the program.
#[derive(Clone)]
pub struct FeatureBench {
    pub listing: FeatureListingOf,
    pub health: FeatureHealthOf,
    pub neighbours: FeatureNeighboursOf,
    pub scored: ScoredFeaturesOf,
    pub scores: FeatureScoresOf,
    pub ranked: RankedDocumentsOf,
    /// The flags that name the configuration on the command line: `-c workbench.toml`.
    pub config: String,
}

/// The sets there are, and those that are configured and not made.
#[derive(Clone, Debug, Default)]
pub struct FeatureListing {
    /// The configured features in their order, then what else the store holds.
    pub sets: Vec<FeatureSet>,
    /// Documents of the cleaned corpus.
    pub documents: u64,
    /// The size of the store; none where there is none, or it cannot be read.
    pub stats: Option<Stats>,
    /// The error of the store, if it could not be read; sets then have the figures of the last run
    /// alone.
    pub fault: Option<Message>,
}

/// The state of a set by the configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FeatureState {
    /// The next run would keep it.
    Current,
    /// The next run would compute it anew.
    Stale,
    /// It is configured and was never finished.
    Missing,
    /// The linter or an experiment made it.
    OfChecks,
    /// Nothing that is configured reads it any more.
    Unused,
}

/// The settings that the folds of a feature chose for themselves.
#[derive(Clone, Debug, PartialEq)]
pub struct SearchSummary {
    /// Settings as `C=0.1, l1_ratio=0.5`, and the number of folds that chose them, most first.
    pub chosen: Vec<(String, usize)>,
    /// Name of the figure that settings were compared by.
    pub measure: &'static str,
    /// Mean of the measure over the folds, on rows that did not train.
    pub mean: f64,
    /// Combinations of settings that a fold tried.
    pub tried: usize,
}

#[derive(Clone, Debug)]
pub struct FeatureSet {
    pub name: String,
    /// The model of its `[[feature]]`, which makes its rows.
    pub model: String,
    pub state: FeatureState,
    /// Id of the set in the store; none where there is no set.
    pub id: Option<Key>,
    /// The shape of its rows; none while the store is held.
    pub kind: Option<RowKind>,
    /// Rows; none where nobody knows.
    pub rows: Option<u64>,
    /// Documents that have a value, as the run that made it counted them.
    pub filled: Option<u64>,
    /// Bytes of its blocks.
    pub bytes: Option<u64>,
    /// The last time of the data that a model of it was fitted on.
    pub fitted_until: Option<NaiveDateTime>,
    /// Walk-forward models of it; 0 where one made all rows, or none.
    pub folds: usize,
    /// Choices of the searches in the folds; none where no fold searched.
    pub search: Option<SearchSummary>,
    /// Batches of the set, one for each part of the corpus.
    pub batches: Vec<BatchEntry>,
    /// Seconds that the run took to make it.
    pub seconds: Option<f64>,
    /// Documents without a value, by reason.
    pub dropped: Vec<(String, u64)>,
}
