//! Flags of `train fasttext` and `train fasttext-supervised`, with fastText's names and defaults.

use std::path::PathBuf;

use clap::Args;

use super::VectorFiles;
use crate::config::bounds::flag;
use inkstone_models::{FastTextParams, Loss, QuantiseParams};

/// Files of both.
#[derive(Debug, Args)]
pub struct FastTextFiles {
    #[command(flatten)]
    pub files: VectorFiles,
    /// Also write the model as fastText's own file, with all its buckets: .bin, or .ftz when it is quantised.
    #[arg(long, value_name = "FILE")]
    pub bin: Option<PathBuf>,
}

/// Flags of `train fasttext`.
#[derive(Debug, Args)]
pub struct FastText {
    #[command(flatten)]
    pub files: FastTextFiles,
    /// Learn words from the words around them (CBOW), not the other way round (skip-gram).
    #[arg(long)]
    pub cbow: bool,
    #[command(flatten)]
    pub params: FastTextParams,
}

/// Flags of `train fasttext-supervised`.
#[derive(Debug, Args)]
pub struct FastTextSupervised {
    #[command(flatten)]
    pub files: FastTextFiles,
    /// Dimensions.
    #[arg(long, value_name = "N", default_value_t = FastTextParams::supervised().dim, value_parser = flag::<usize>("feature.fasttext.dim"))]
    pub dim: usize,
    /// Passes over the text.
    #[arg(long, visible_alias = "epoch", value_name = "N", default_value_t = FastTextParams::supervised().epochs, value_parser = flag::<usize>("feature.fasttext.epochs"))]
    pub epochs: usize,
    /// Rate of learning at the start; it falls to 0.
    #[arg(long, value_name = "R", default_value_t = FastTextParams::supervised().lr, value_parser = flag::<f32>("feature.fasttext.lr"))]
    pub lr: f32,
    /// softmax, hs (hierarchical softmax), ns (negative sampling) or ova (one versus all, for several labels a text).
    #[arg(long, value_name = "LOSS", value_enum, default_value_t = FastTextParams::supervised().loss)]
    pub loss: Loss,
    /// Labels drawn against each right one, with ns.
    #[arg(long, visible_alias = "neg", value_name = "N", default_value_t = FastTextParams::supervised().negative, value_parser = flag::<usize>("feature.fasttext.negative"))]
    pub negative: usize,
    /// Words in a row that are a feature together, at the most.
    #[arg(long, value_name = "N", default_value_t = FastTextParams::supervised().word_ngrams, value_parser = flag::<usize>("--max-len"))]
    pub word_ngrams: usize,
    /// Leave out words that occur less often; their n-grams stay.
    #[arg(long, value_name = "N", default_value_t = FastTextParams::supervised().min_count, value_parser = flag::<u64>("feature.words.min_count"))]
    pub min_count: u64,
    /// Leave out labels that occur less often.
    #[arg(long, value_name = "N", default_value_t = FastTextParams::supervised().min_count_label, value_parser = flag::<u64>("feature.words.min_count"))]
    pub min_count_label: u64,
    /// Shortest character n-gram; the bounds of a word count.
    #[arg(long, value_name = "N", default_value_t = FastTextParams::supervised().minn, value_parser = flag::<usize>("feature.fasttext.minn"))]
    pub minn: usize,
    /// Longest character n-gram; 0: none.
    #[arg(long, value_name = "N", default_value_t = FastTextParams::supervised().maxn, value_parser = flag::<usize>("feature.fasttext.maxn"))]
    pub maxn: usize,
    /// Places that n-grams are hashed into.
    #[arg(long, value_name = "N", default_value_t = FastTextParams::supervised().bucket, value_parser = flag::<u32>("feature.fasttext.bucket"))]
    pub bucket: u32,
    /// Prefix of labels in files of tokens or text, and in fastText's file.
    #[arg(long, value_name = "PREFIX", default_value_t = FastTextParams::supervised().label)]
    pub label: String,
    /// Begin with these vectors of words, in a format of word2vec; words that only they have are known then too.
    #[arg(long, value_name = "FILE")]
    pub pretrained_vectors: Option<PathBuf>,
    /// Quantise the model: a tenth of the size or less, and nearly as good.
    #[arg(help_heading = "Quantisation", long)]
    pub quantize: bool,
    #[command(flatten)]
    pub quantisation: QuantiseParams,
}
