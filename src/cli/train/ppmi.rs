//! Flags of `train ppmi`, with the names that hyperwords gives them.

use std::path::PathBuf;

use clap::Args;

use crate::cli::Corpus;
use crate::config::bounds::flag;
use inkstone_models::PairWeighting;

/// Flags of `train ppmi`.
#[derive(Debug, Args)]
pub struct Ppmi {
    /// What it is fitted on.
    #[command(flatten)]
    pub corpus: Corpus,
    /// The model file.
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,
    /// Also write the vectors for other tools: in word2vec's binary format when the name ends in .bin, else in its text format.
    #[arg(long, value_name = "FILE")]
    pub vectors: Option<PathBuf>,
    /// Also write the matrix of positive pointwise mutual information: .npz
    #[arg(long, value_name = "FILE.npz")]
    pub matrix: Option<PathBuf>,
    /// Words from one of a pair to the other at the most.
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = flag::<usize>("--window"))]
    pub window: usize,
    /// What a pair counts: uniform (1) or harmonic (1 / distance, as GloVe).
    #[arg(long, default_value = "uniform")]
    pub weighting: PairWeighting,
    /// Leave out words that occur less often.
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = flag::<u64>("feature.words.min_count"))]
    pub min_count: u64,
    /// Keep at the most this many words, the most frequent; 0 keeps all.
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = flag::<usize>("feature.words.max_words"))]
    pub max_words: usize,
    /// Negative samples that the matrix stands for; the logarithm is taken off each cell.
    #[arg(long, value_name = "N", default_value_t = 1.0, value_parser = flag::<f64>("--weight"))]
    pub neg: f64,
    /// Exponent of the contexts' counts; below 1, rare contexts weigh less.
    #[arg(long, value_name = "X", default_value_t = 0.75, value_parser = flag::<f64>("--weight"))]
    pub cds: f64,
    /// Exponent of the singular values in the vectors.
    #[arg(long, value_name = "X", default_value_t = 0.5, value_parser = flag::<f64>("--weight"))]
    pub eig: f64,
    /// Dimensions.
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = flag::<usize>("--dim"))]
    pub dim: usize,
    /// By how much, as a share, a singular value may be too small.
    #[arg(long, value_name = "X", default_value_t = 0.001, value_parser = flag::<f64>("--tolerance"))]
    pub tolerance: f64,
    /// Memory for pairs that are not yet sorted, in MB; more goes to scratch files beside the output.
    #[arg(long, value_name = "MB", default_value_t = 1024, value_parser = flag::<usize>("--memory"))]
    pub memory: usize,
}
