//! The settings of the surprise of a document.

use anyhow::Result;
use serde::{Deserialize, Serialize};

use inkstone_base::bounds;
use inkstone_models::ngram::Smoothing;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct SurpriseParams {
    /// Natural days before a step whose documents its model is trained on. Default: 60.
    pub window_days: u32,
    /// Natural days of a step, all scored by one model. Default: 7.
    pub refit_days: u32,
    /// Documents of a window below which its step has no values. Default: 200.
    pub min_train_documents: usize,
    /// Words of the longest n-grams, 1 to 6. Default: 3.
    pub order: usize,
    /// Smoothing of unseen n-grams: `kneser-ney` (default), `katz`, `jelinek-mercer`, `add-k` or `mle`.
    pub smoothing: Smoothing,
    /// A token: as `[tokenizer]` has it (`words`, default), or each character (`characters`).
    pub unit: Unit,
}

impl Default for SurpriseParams {
    fn default() -> SurpriseParams {
        SurpriseParams {
            window_days: 60,
            refit_days: 7,
            min_train_documents: 200,
            order: 3,
            smoothing: Smoothing::default(),
            unit: Unit::default(),
        }
    }
}

/// The unit that a language model counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Unit {
    /// The tokens of `[tokenizer]`.
    #[default]
    Words,
    /// A Chinese character, a run of letters and digits, or a mark.
    Characters,
}

impl SurpriseParams {
    /// Fails on values out of range.
    pub fn check(&self) -> Result<()> {
        bounds::check("feature.surprise", self)
    }
}
