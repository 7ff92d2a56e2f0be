//! Flags of `train pooling`.

use std::path::PathBuf;

use clap::Args;

use crate::cli::Corpus;
use crate::config::bounds::flag;
use inkstone_models::PoolingForm;

/// Flags of `train pooling`.
#[derive(Debug, Args)]
pub struct Pooling {
    /// What weights and common part are fitted on.
    #[command(flatten)]
    pub corpus: Corpus,
    /// The word vectors: a model of train glove, ppmi, ..., or a file in the formats of word2vec.
    #[arg(long, value_name = "FILE")]
    pub vectors: PathBuf,
    /// The model file.
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,
    /// How the vectors of words become one of a document.
    #[arg(long, value_name = "FORM", default_value = "sif")]
    pub pooling: PoolingForm,
    /// SIF weighs a word by a / (a + its share of the text).
    #[arg(long, value_name = "X", default_value_t = 0.001, value_parser = flag::<f64>("feature.pooling.a"))]
    pub a: f64,
    /// Directions common to all documents that SIF takes off.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = flag::<usize>("feature.pooling.components"))]
    pub components: usize,
}
