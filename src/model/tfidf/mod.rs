//! TF-IDF: which terms are kept, and what a term's count in a document weighs.
//!
//! The default is scikit-learn's `TfidfVectorizer` (smooth): `idf = ln((1 + n) / (1 + df)) + 1`, weight = count x idf,
//! each row scaled to length 1 (natural logarithms, n = documents, df = documents with the term). Computed in f64, kept
//! in f32. [`Tfidf`] works on words; the walk-forward models use the same [`Weighting`] on token ids.

mod explain;
mod file;
mod fit;

use serde::{Deserialize, Serialize};

pub use fit::Tfidf;

use crate::text::{DfLimit, VocabularyParams};

/// How a count becomes a weight.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Formula {
    /// `count x (ln((1 + n) / (1 + df)) + 1)`, scikit-learn's smooth formula.
    #[default]
    Sklearn,
    /// `count / tokens of the document x ln(n / (df + 1))`, as in course notes. A term in nearly all documents weighs 0
    /// or less.
    Textbook,
    /// `ln(1 + count)`, no document frequency: the features of Huatai's event factors.
    LogCount,
}

/// What a row is divided by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Norm {
    /// What the formula is printed with: `l2` for scikit-learn's, none for the others.
    #[default]
    Formula,
    /// The square root of the sum of squares.
    L2,
    /// The sum of absolute values.
    L1,
    /// Nothing.
    None,
}

/// Parameters of TF-IDF.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct TfidfParams {
    /// `sklearn` (default), `textbook` or `log-count`.
    pub formula: Formula,
    /// Terms in fewer documents are left out: a count (default 2) or a share.
    pub min_df: DfLimit,
    /// Terms in more documents are left out: a share (default 1.0 = none) or a count.
    pub max_df: DfLimit,
    /// Terms kept at the most, those with the highest count; 0 keeps all. Default 0.
    pub max_features: usize,
    /// Whether a count enters as `1 + ln(count)`. Default false. Has no effect on `log-count`.
    pub sublinear_tf: bool,
    /// `formula` (default: l2 with sklearn, none otherwise), `l2`, `l1` or `none`.
    pub norm: Norm,
}

impl Default for TfidfParams {
    fn default() -> TfidfParams {
        TfidfParams {
            formula: Formula::Sklearn,
            min_df: DfLimit::Count(2),
            max_df: DfLimit::Share(1.0),
            max_features: 0,
            sublinear_tf: false,
            norm: Norm::Formula,
        }
    }
}

impl TfidfParams {
    /// Which terms become columns.
    pub(super) fn vocabulary(&self) -> VocabularyParams {
        let TfidfParams { min_df, max_df, max_features, .. } = *self;
        VocabularyParams { min_df, max_df, max_features }
    }

    /// The weighting for kept terms, given each one's document frequency, in column order.
    pub(super) fn weighting(&self, documents: u64, df: impl Iterator<Item = u64>) -> Weighting {
        let n = documents as f64;
        let idf = |df: u64| match self.formula {
            Formula::Sklearn => ((1.0 + n) / (1.0 + df as f64)).ln() + 1.0,
            Formula::Textbook => (n / (df as f64 + 1.0)).ln(),
            Formula::LogCount => 1.0,
        };
        let norm = match (self.norm, self.formula) {
            (Norm::Formula, Formula::Sklearn) => Norm::L2,
            (Norm::Formula, Formula::Textbook | Formula::LogCount) => Norm::None,
            (norm, _) => norm,
        };
        Weighting { formula: self.formula, sublinear_tf: self.sublinear_tf, norm, idf: df.map(idf).collect() }
    }
}

/// What turns counts of kept terms into a row, fitted on some documents.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Weighting {
    formula: Formula,
    sublinear_tf: bool,
    norm: Norm,
    /// The inverse document frequency of each column; 1 where the formula has none.
    idf: Vec<f64>,
}

impl Weighting {
    /// Replaces counts by weights. `counts` holds ascending columns; `tokens` is the document's length in tokens,
    /// unknown ones included.
    pub fn apply(&self, counts: &mut [(u32, f32)], tokens: f64) {
        let weigh = |column: u32, count: f32| {
            let count = f64::from(count);
            let tf = if self.sublinear_tf { 1.0 + count.ln() } else { count };
            match self.formula {
                Formula::Sklearn => tf * self.idf[column as usize],
                Formula::Textbook => tf / tokens * self.idf[column as usize],
                Formula::LogCount => count.ln_1p(),
            }
        };
        let by = match self.norm {
            Norm::Formula | Norm::None => 1.0,
            Norm::L1 => counts.iter().map(|&(j, c)| weigh(j, c).abs()).sum(),
            Norm::L2 => counts.iter().map(|&(j, c)| weigh(j, c).powi(2)).sum::<f64>().sqrt(),
        };
        let by = if by > 0.0 { by } else { 1.0 };
        for (j, value) in counts.iter_mut() {
            *value = (weigh(*j, *value) / by) as f32;
        }
    }
}
