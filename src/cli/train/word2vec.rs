//! Flags of `train word2vec`, `train doc2vec` and `train vintages`, with the names that the C tool and gensim give them.

use std::path::PathBuf;

use clap::Args;

use crate::cli::Corpus;
use crate::config::bounds::flag;
use inkstone_features::standalone::vintages::Period;

/// Flags of `train word2vec`.
#[derive(Debug, Args)]
pub struct Word2vec {
    /// What it is trained on.
    #[command(flatten)]
    pub corpus: Corpus,
    /// The model file.
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,
    /// Also write the vectors for other tools: in word2vec's binary format when the name ends in .bin, else in its text format.
    #[arg(long, value_name = "FILE")]
    pub vectors: Option<PathBuf>,
    /// What predicts what.
    #[command(flatten)]
    pub form: WordForm,
    /// How.
    #[command(flatten)]
    pub prediction: Prediction,
}

/// Flags of `train doc2vec`.
#[derive(Debug, Args)]
pub struct Doc2vec {
    /// What it is trained on.
    #[command(flatten)]
    pub corpus: Corpus,
    /// The model file.
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,
    /// Distributed bag of words: the document alone predicts its words. Without it, distributed memory: with the words around.
    #[arg(long)]
    pub dbow: bool,
    /// How.
    #[command(flatten)]
    pub prediction: Prediction,
}

/// Flags of `train vintages`.
#[derive(Debug, Args)]
pub struct Vintages {
    /// What they are trained on: JSON lines with "time".
    #[command(flatten)]
    pub corpus: Corpus,
    /// The folder of the model files, each named by its window.
    #[arg(short, long, value_name = "FOLDER")]
    pub output: PathBuf,
    /// The window of a model.
    #[arg(long, value_name = "PERIOD", default_value = "year")]
    pub by: Period,
    /// What predicts what.
    #[command(flatten)]
    pub form: WordForm,
    /// How.
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
    /// Words drawn at random that each prediction is told from.
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = flag::<usize>("feature.word2vec.negative"))]
    pub negative: usize,
    /// Dimensions.
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = flag::<usize>("feature.word2vec.dim"))]
    pub dim: usize,
    /// Words on each side at the most; each window is 1 to N.
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = flag::<usize>("feature.word2vec.window"))]
    pub window: usize,
    /// Thin out words of a higher share of the text; 0 keeps all.
    #[arg(long, value_name = "X", default_value_t = 1e-3, value_parser = flag::<f64>("feature.word2vec.sample"))]
    pub sample: f64,
    /// Leave out words that occur less often.
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = flag::<u64>("feature.words.min_count"))]
    pub min_count: u64,
    /// Keep at the most this many words, the most frequent; 0 keeps all.
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = flag::<usize>("feature.words.max_words"))]
    pub max_words: usize,
    /// Passes over the text. Default: 5, of documents 10.
    #[arg(long, value_name = "N", value_parser = flag::<usize>("feature.word2vec.epochs"))]
    pub epochs: Option<usize>,
    /// Rate of learning at the beginning. Default: 0.05 for CBOW, else 0.025.
    #[arg(long, value_name = "X", value_parser = flag::<f64>("feature.word2vec.lr"))]
    pub lr: Option<f64>,
    /// Rate of learning at the end.
    #[arg(long, value_name = "X", default_value_t = 1e-4, value_parser = flag::<f64>("feature.word2vec.min_lr"))]
    pub min_lr: f64,
    /// Join neighbours that come together more often than by chance, as word2phrase; a second pass joins up to four words.
    #[arg(long, value_name = "PASSES", default_value_t = 0, value_parser = flag::<usize>("--phrases"))]
    pub phrases: usize,
    /// How many times more often than by chance.
    #[arg(long, value_name = "X", default_value_t = 100.0, requires = "phrases", value_parser = flag::<f64>("--weight"))]
    pub phrase_threshold: f64,
}
