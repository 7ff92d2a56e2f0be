//! Flags of `train fasttext` and `train fasttext-supervised`, with fastText's names and defaults.

use std::path::PathBuf;

use clap::Args;

use crate::cli::Corpus;
use crate::config::bounds::flag;
use inkstone_models::Loss;

/// Files of both.
#[derive(Debug, Args)]
pub struct FastTextFiles {
    /// What it is fitted on.
    #[command(flatten)]
    pub corpus: Corpus,
    /// The model file.
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,
    /// Also write the model as fastText's own file, with all its buckets: .bin, or .ftz when it is quantised.
    #[arg(long, value_name = "FILE")]
    pub bin: Option<PathBuf>,
    /// Also write the vectors of the words: in word2vec's binary format when the name ends in .bin, else in its text format.
    #[arg(long, value_name = "FILE")]
    pub vectors: Option<PathBuf>,
}

/// Flags of `train fasttext`.
#[derive(Debug, Args)]
pub struct FastText {
    /// What is read and written.
    #[command(flatten)]
    pub files: FastTextFiles,
    /// Learn words from the words around them (CBOW), not the other way round (skip-gram).
    #[arg(long)]
    pub cbow: bool,
    /// Dimensions.
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = flag::<usize>("feature.fasttext.dim"))]
    pub dim: usize,
    /// Words on each side, at the most.
    #[arg(long, visible_alias = "ws", value_name = "N", default_value_t = 5, value_parser = flag::<usize>("feature.fasttext.window"))]
    pub window: usize,
    /// Passes over the text.
    #[arg(long, visible_alias = "epoch", value_name = "N", default_value_t = 5, value_parser = flag::<usize>("feature.fasttext.epochs"))]
    pub epochs: usize,
    /// Rate of learning at the start; it falls to 0.
    #[arg(long, value_name = "R", default_value_t = 0.05, value_parser = flag::<f32>("feature.fasttext.lr"))]
    pub lr: f32,
    /// ns (negative sampling), hs (hierarchical softmax) or softmax.
    #[arg(long, value_name = "LOSS", default_value = "ns")]
    pub loss: Loss,
    /// Words drawn against each right one.
    #[arg(long, visible_alias = "neg", value_name = "N", default_value_t = 5, value_parser = flag::<usize>("feature.fasttext.negative"))]
    pub negative: usize,
    /// Words more frequent than this share are passed over at times.
    #[arg(long, visible_alias = "t", value_name = "T", default_value_t = 1e-4, value_parser = flag::<f64>("feature.fasttext.sample"))]
    pub sample: f64,
    /// Leave out words that occur less often.
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = flag::<u64>("feature.words.min_count"))]
    pub min_count: u64,
    /// Shortest character n-gram; the bounds of a word count. For Chinese 1 or 2.
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = flag::<usize>("feature.fasttext.minn"))]
    pub minn: usize,
    /// Longest character n-gram; 0: none. For Chinese 2 or 3.
    #[arg(long, value_name = "N", default_value_t = 6, value_parser = flag::<usize>("feature.fasttext.maxn"))]
    pub maxn: usize,
    /// Places that n-grams are hashed into.
    #[arg(long, value_name = "N", default_value_t = 2_000_000, value_parser = flag::<u32>("feature.fasttext.bucket"))]
    pub bucket: u32,
}

/// Flags of `train fasttext-supervised`.
#[derive(Debug, Args)]
pub struct FastTextSupervised {
    /// What is read and written.
    #[command(flatten)]
    pub files: FastTextFiles,
    /// Dimensions.
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = flag::<usize>("feature.fasttext.dim"))]
    pub dim: usize,
    /// Passes over the text.
    #[arg(long, visible_alias = "epoch", value_name = "N", default_value_t = 5, value_parser = flag::<usize>("feature.fasttext.epochs"))]
    pub epochs: usize,
    /// Rate of learning at the start; it falls to 0.
    #[arg(long, value_name = "R", default_value_t = 0.1, value_parser = flag::<f32>("feature.fasttext.lr"))]
    pub lr: f32,
    /// softmax, hs (hierarchical softmax), ns (negative sampling) or ova (one versus all, for several labels a text).
    #[arg(long, value_name = "LOSS", default_value = "softmax")]
    pub loss: Loss,
    /// Labels drawn against each right one, with ns.
    #[arg(long, visible_alias = "neg", value_name = "N", default_value_t = 5, value_parser = flag::<usize>("feature.fasttext.negative"))]
    pub negative: usize,
    /// Words in a row that are a feature together, at the most.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = flag::<usize>("--max-len"))]
    pub word_ngrams: usize,
    /// Leave out words that occur less often; their n-grams stay.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = flag::<u64>("feature.words.min_count"))]
    pub min_count: u64,
    /// Leave out labels that occur less often.
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = flag::<u64>("feature.words.min_count"))]
    pub min_count_label: u64,
    /// Shortest character n-gram; the bounds of a word count.
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = flag::<usize>("feature.fasttext.minn"))]
    pub minn: usize,
    /// Longest character n-gram; 0: none.
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = flag::<usize>("feature.fasttext.maxn"))]
    pub maxn: usize,
    /// Places that n-grams are hashed into.
    #[arg(long, value_name = "N", default_value_t = 2_000_000, value_parser = flag::<u32>("feature.fasttext.bucket"))]
    pub bucket: u32,
    /// What labels begin with in files of tokens or text, and in fastText's file.
    #[arg(long, value_name = "PREFIX", default_value = "__label__")]
    pub label: String,
    /// Begin with these vectors of words, in a format of word2vec; words that only they have are known then too.
    #[arg(long, value_name = "FILE")]
    pub pretrained_vectors: Option<PathBuf>,
    /// Quantise the model: a tenth of the size or less, and nearly as good.
    #[arg(help_heading = "Quantisation", long)]
    pub quantize: bool,
    /// Words and n-grams that are kept, those of the longest vectors; 0 keeps all.
    #[arg(help_heading = "Quantisation", long, value_name = "N", default_value_t = 0, requires = "quantize", value_parser = flag::<usize>("--count"))]
    pub cutoff: usize,
    /// Values that one code stands for.
    #[arg(help_heading = "Quantisation", long, value_name = "N", default_value_t = 2, requires = "quantize", value_parser = flag::<usize>("--dim"))]
    pub dsub: usize,
    /// Give the lengths of vectors codes of their own.
    #[arg(help_heading = "Quantisation", long, requires = "quantize")]
    pub qnorm: bool,
    /// Quantise the labels' vectors too.
    #[arg(help_heading = "Quantisation", long, requires = "quantize")]
    pub qout: bool,
}
