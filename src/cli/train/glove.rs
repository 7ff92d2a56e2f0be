//! Flags of `train glove`, with the names of the authors' program where those are ours too.

use std::path::PathBuf;

use clap::Args;

use crate::cli::Corpus;
use crate::config::bounds::flag;

/// Flags of `train glove`.
#[derive(Debug, Args)]
pub struct Glove {
    /// What it is fitted on.
    #[command(flatten)]
    pub corpus: Corpus,
    /// The model file.
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,
    /// Also write the vectors for other tools: in word2vec's binary format when the name ends in .bin, else in its text format.
    #[arg(long, value_name = "FILE")]
    pub vectors: Option<PathBuf>,
    /// Words from one of a pair to the other at the most; a pair counts 1 / distance.
    #[arg(long, value_name = "N", default_value_t = 15, value_parser = flag::<usize>("feature.glove.window"))]
    pub window: usize,
    /// Leave out words that occur less often.
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = flag::<u64>("feature.words.min_count"))]
    pub min_count: u64,
    /// Keep at the most this many words, the most frequent; 0 keeps all.
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = flag::<usize>("feature.words.max_words"))]
    pub max_words: usize,
    /// Values of a vector.
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = flag::<usize>("feature.glove.dim"))]
    pub dim: usize,
    /// Passes over all pairs.
    #[arg(long, value_name = "N", default_value_t = 15, value_parser = flag::<usize>("feature.glove.epochs"))]
    pub epochs: usize,
    /// Initial rate of learning of AdaGrad.
    #[arg(long, value_name = "X", default_value_t = 0.05, value_parser = flag::<f64>("feature.glove.lr"))]
    pub lr: f64,
    /// The count from which pairs weigh alike.
    #[arg(long, value_name = "X", default_value_t = 100.0, value_parser = flag::<f64>("feature.glove.x_max"))]
    pub x_max: f64,
    /// Exponent of the weights of rarer pairs.
    #[arg(long, value_name = "X", default_value_t = 0.75, value_parser = flag::<f64>("feature.glove.alpha"))]
    pub alpha: f64,
    /// Memory for pairs that are not yet sorted, in MB; more goes to scratch files beside the output.
    #[arg(long, value_name = "MB", default_value_t = 1024, value_parser = flag::<usize>("--memory"))]
    pub memory: usize,
}
