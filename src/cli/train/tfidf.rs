//! Flags of `train tfidf`.

use std::path::PathBuf;

use clap::Args;

use crate::cli::Corpus;
use crate::model::{Formula, Norm};
use crate::text::DfLimit;

/// Flags of `train tfidf`.
#[derive(Debug, Args)]
pub struct Tfidf {
    /// What it is fitted on.
    #[command(flatten)]
    pub corpus: Corpus,
    /// The model file.
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,
    /// How a count becomes a weight: sklearn, textbook or log-count.
    #[arg(long, default_value = "sklearn")]
    pub formula: Formula,
    /// Leave out words in fewer documents: a count, or a share with a point.
    #[arg(long, value_name = "N", default_value = "2")]
    pub min_df: DfLimit,
    /// Leave out words in more documents: a share with a point, or a count.
    #[arg(long, value_name = "N", default_value = "1.0")]
    pub max_df: DfLimit,
    /// Keep at the most this many words, the most frequent; 0 keeps all.
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub max_features: usize,
    /// A count enters as 1 + ln(count).
    #[arg(long)]
    pub sublinear_tf: bool,
    /// What a row is divided by: formula (its own), l2, l1 or none.
    #[arg(long, default_value = "formula")]
    pub norm: Norm,
}
