//! Flags of `train ppmi`, `glove`, `word2vec`, `doc2vec`, `vintages` and `pooling`.

use std::path::PathBuf;

use clap::Args;

use super::{Files, VectorFiles};
use crate::cli::Corpus;
use crate::config::bounds::flag;
use inkstone_features::standalone::vintages::Period;
use inkstone_features::standalone::word2vec::WordParams;
use inkstone_models::{CooccurrenceParams, GloveParams, PoolingParams, PpmiParams, Word2vecParams, WordLimits};

/// Flags of `train ppmi`, with the names that hyperwords gives them.
#[derive(Debug, Args)]
pub struct Ppmi {
    #[command(flatten)]
    pub files: VectorFiles,
    /// Also write the matrix of positive pointwise mutual information: .npz
    #[arg(long, value_name = "FILE.npz")]
    pub matrix: Option<PathBuf>,
    #[command(flatten)]
    pub counting: CooccurrenceParams,
    #[command(flatten)]
    pub params: PpmiParams,
}

/// Flags of `train glove`, with the names of the authors' program.
#[derive(Debug, Args)]
pub struct Glove {
    #[command(flatten)]
    pub files: VectorFiles,
    /// Words from one of a pair to the other at the most; a pair counts 1 / distance.
    #[arg(long, value_name = "N", default_value_t = 15, value_parser = flag::<usize>("feature.glove.window"))]
    pub window: usize,
    #[command(flatten)]
    pub words: WordLimits,
    #[command(flatten)]
    pub params: GloveParams,
    /// Memory for pairs that are not yet sorted, in MB; more goes to scratch files beside the output.
    #[arg(long, value_name = "MB", default_value_t = CooccurrenceParams::default().memory, value_parser = flag::<usize>("--memory"))]
    pub memory: usize,
}

/// Flags of `train word2vec`, with the names that the C tool and gensim give them.
#[derive(Debug, Args)]
pub struct Word2vec {
    #[command(flatten)]
    pub files: VectorFiles,
    #[command(flatten)]
    pub form: WordForm,
    #[command(flatten)]
    pub prediction: Prediction,
}

/// Flags of `train doc2vec`.
#[derive(Debug, Args)]
#[command(mut_arg("epochs", |arg| arg.default_value("10")))]
pub struct Doc2vec {
    #[command(flatten)]
    pub files: Files,
    /// Distributed bag of words: the document alone predicts its words. Without it, distributed memory: with the words around.
    #[arg(long)]
    pub dbow: bool,
    #[command(flatten)]
    pub prediction: Prediction,
}

/// Flags of `train vintages`, which takes JSON lines with "time".
#[derive(Debug, Args)]
pub struct Vintages {
    #[command(flatten)]
    pub corpus: Corpus,
    /// The folder of the model files, each named by its window.
    #[arg(short, long, value_name = "FOLDER")]
    pub output: PathBuf,
    /// The window of a model.
    #[arg(long, value_name = "PERIOD", default_value = "year")]
    pub by: Period,
    #[command(flatten)]
    pub form: WordForm,
    #[command(flatten)]
    pub prediction: Prediction,
}

/// Flags of forms of word vectors.
#[derive(Clone, Copy, Debug, Args)]
pub struct WordForm {
    /// Skip-gram: each word of a window predicts its centre. Without it, CBOW: their mean does.
    #[arg(long)]
    pub sg: bool,
    /// Half of a Chinese word's vector is the mean of those of its characters (CWE).
    #[arg(long, conflicts_with = "sg")]
    pub chars: bool,
}

/// Flags of vectors that are trained to predict words.
#[derive(Clone, Debug, Args)]
pub struct Prediction {
    /// Hierarchical softmax over a Huffman tree in place of negative samples.
    #[arg(long, conflicts_with = "negative")]
    pub hs: bool,
    #[command(flatten)]
    pub params: Word2vecParams,
    #[command(flatten)]
    pub words: WordParams,
}

/// Flags of `train pooling`.
#[derive(Debug, Args)]
pub struct Pooling {
    #[command(flatten)]
    pub files: Files,
    /// The word vectors: a model of train glove, ppmi, ..., or a file in the formats of word2vec.
    #[arg(long, value_name = "FILE")]
    pub vectors: PathBuf,
    #[command(flatten)]
    pub params: PoolingParams,
}
