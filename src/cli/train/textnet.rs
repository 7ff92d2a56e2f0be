//! Flags of `train textcnn` and `textrnn`.

use std::path::PathBuf;

use clap::Args;

use super::Fitting;
use crate::cli::Corpus;
use crate::config::bounds::flag;
use inkstone_models::textnet::Pool;

/// Flags that both take.
#[derive(Clone, Debug, Args)]
pub struct NetClasses {
    /// What it is fitted on: JSON lines with "label".
    #[command(flatten)]
    pub corpus: Corpus,
    /// The model file.
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,
    /// Word vectors to begin with: a model of this program, or word2vec's text or binary format.
    #[arg(long, value_name = "FILE")]
    pub pretrained: Option<PathBuf>,
    /// Leave the pretrained vectors as they are.
    #[arg(long = "static")]
    pub fixed: bool,
    /// Values of a word vector. Default: those of the pretrained vectors, else 100.
    #[arg(long, value_name = "N", value_parser = flag::<usize>("feature.textnet.dim"))]
    pub dim: Option<usize>,
    /// Words that occur less often count as one unknown word.
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = flag::<u64>("feature.words.min_count"))]
    pub min_count: u64,
    /// Know at the most this many words, the most frequent; 0 knows all.
    #[arg(long, value_name = "N", default_value_t = 50000, value_parser = flag::<usize>("feature.words.max_words"))]
    pub max_words: usize,
    /// Tokens read of a text at the most, the first ones.
    #[arg(long, value_name = "N", default_value_t = 256, value_parser = flag::<usize>("feature.textnet.max_tokens"))]
    pub max_tokens: usize,
    /// Share of the features that is dropped in training.
    #[arg(long, value_name = "SHARE", default_value_t = 0.5, value_parser = flag::<f64>("feature.textnet.dropout"))]
    pub dropout: f64,
    /// How it is trained.
    #[command(flatten)]
    pub fitting: Fitting,
}

/// Flags of `train textcnn`.
#[derive(Debug, Args)]
pub struct TextCnn {
    /// What both take.
    #[command(flatten)]
    pub classes: NetClasses,
    /// Words of a window, one for each kind of filter.
    #[arg(long, value_name = "N,N", value_delimiter = ',', default_value = "3,4,5", value_parser = flag::<usize>("feature.textnet.widths"))]
    pub widths: Vec<usize>,
    /// Filters of each width.
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = flag::<usize>("feature.textnet.maps"))]
    pub maps: usize,
}

/// Flags of `train textrnn`.
#[derive(Debug, Args)]
pub struct TextRnn {
    /// What both take.
    #[command(flatten)]
    pub classes: NetClasses,
    /// Units of each direction.
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = flag::<usize>("feature.textnet.hidden"))]
    pub hidden: usize,
    /// What of the states tells the class: max (the largest of each unit over the text) or last.
    #[arg(long, default_value = "max")]
    pub pool: Pool,
}
