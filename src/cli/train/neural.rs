//! Flags of `train nnlm`, `lbl`, `rnnlm` and `cw`, and of the training of any network.

use std::path::PathBuf;

use clap::Args;

use crate::cli::Corpus;
use crate::config::bounds::flag;

/// Flags of the training of a network.
#[derive(Clone, Debug, Args)]
pub struct Fitting {
    /// Passes over the text at the most.
    #[arg(help_heading = "Training", long, value_name = "N", default_value_t = 5, value_parser = flag::<usize>("feature.textnet.fit.epochs"))]
    pub epochs: usize,
    /// Examples a step. Default 256; of classifiers 50.
    #[arg(help_heading = "Training", long, value_name = "N", value_parser = flag::<usize>("feature.textnet.fit.batch"))]
    pub batch: Option<usize>,
    /// Rate of learning, of Adam's steps.
    #[arg(help_heading = "Training", long, value_name = "X", default_value_t = 0.001, value_parser = flag::<f64>("feature.textnet.fit.lr"))]
    pub lr: f64,
    /// Length that the gradient of a batch is shortened to; 0 never.
    #[arg(help_heading = "Training", long, value_name = "X", default_value_t = 5.0, value_parser = flag::<f64>("feature.textnet.fit.clip"))]
    pub clip: f64,
    /// Epochs in a row without a better loss on held-out documents that end the training; each halves the rate.
    #[arg(help_heading = "Training", long, value_name = "N", default_value_t = 2, value_parser = flag::<usize>("feature.textnet.fit.patience"))]
    pub patience: usize,
    /// Share of the documents, the last ones, held out to see when to stop; 0 runs all epochs.
    #[arg(help_heading = "Training", long, value_name = "SHARE", default_value_t = 0.05, value_parser = flag::<f64>("feature.textnet.fit.held_out_share"))]
    pub held_out_share: f64,
}

/// Flags that all neural language models take.
#[derive(Clone, Debug, Args)]
pub struct Language {
    /// What it is trained on.
    #[command(flatten)]
    pub corpus: Corpus,
    /// The model file.
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,
    /// Also write the word vectors for other tools: in word2vec's binary format when the name ends in .bin, else in its text format.
    #[arg(long, value_name = "FILE")]
    pub vectors: Option<PathBuf>,
    /// Words that occur less often count as one unknown word.
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = flag::<u64>("feature.words.min_count"))]
    pub min_count: u64,
    /// Know at the most this many words, the most frequent; 0 knows all.
    #[arg(long, value_name = "N", default_value_t = 10000, value_parser = flag::<usize>("feature.words.max_words"))]
    pub max_words: usize,
    /// Words drawn by chance that each prediction is trained against (importance sampling); 0: all words.
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = flag::<usize>("--count"))]
    pub samples: usize,
    /// How it is trained.
    #[command(flatten)]
    pub fitting: Fitting,
}

/// Flags of `train nnlm`.
#[derive(Debug, Args)]
pub struct Nnlm {
    /// What all of them take.
    #[command(flatten)]
    pub language: Language,
    /// Words of an n-gram, the predicted one among them.
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = flag::<usize>("--order"))]
    pub order: usize,
    /// Values of a word vector.
    #[arg(long, value_name = "N", default_value_t = 60, value_parser = flag::<usize>("--dim"))]
    pub dim: usize,
    /// Units of the hidden layer.
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = flag::<usize>("--dim"))]
    pub hidden: usize,
    /// Connect the word vectors to the output directly, too.
    #[arg(long)]
    pub direct: bool,
}

/// Flags of `train lbl`.
#[derive(Debug, Args)]
pub struct Lbl {
    /// What all of them take.
    #[command(flatten)]
    pub language: Language,
    /// Words of an n-gram, the predicted one among them.
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = flag::<usize>("--order"))]
    pub order: usize,
    /// Values of a word vector.
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = flag::<usize>("--dim"))]
    pub dim: usize,
}

/// Flags of `train rnnlm`.
#[derive(Debug, Args)]
pub struct Rnnlm {
    /// What all of them take.
    #[command(flatten)]
    pub language: Language,
    /// Units of the hidden layer, and values of a word vector.
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = flag::<usize>("--dim"))]
    pub hidden: usize,
    /// Steps that gradients go back.
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = flag::<usize>("--window"))]
    pub bptt: usize,
}

/// Flags of `train cw`.
#[derive(Debug, Args)]
pub struct Cw {
    /// What it is trained on.
    #[command(flatten)]
    pub corpus: Corpus,
    /// The model file.
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,
    /// Also write the vectors for other tools: in word2vec's binary format when the name ends in .bin, else in its text format.
    #[arg(long, value_name = "FILE")]
    pub vectors: Option<PathBuf>,
    /// Leave out words that occur less often.
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = flag::<u64>("feature.words.min_count"))]
    pub min_count: u64,
    /// Keep at the most this many words, the most frequent; 0 keeps all.
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = flag::<usize>("feature.words.max_words"))]
    pub max_words: usize,
    /// Values of a word vector.
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = flag::<usize>("--dim"))]
    pub dim: usize,
    /// Words on each side of the middle one.
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = flag::<usize>("--window"))]
    pub window: usize,
    /// Units of the hidden layer.
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = flag::<usize>("--dim"))]
    pub hidden: usize,
    /// Passes over the text.
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = flag::<usize>("--epochs"))]
    pub epochs: usize,
    /// Windows a step.
    #[arg(long, value_name = "N", default_value_t = 1024, value_parser = flag::<usize>("feature.textnet.fit.batch"))]
    pub batch: usize,
    /// Rate of learning, of Adam's steps.
    #[arg(long, value_name = "X", default_value_t = 0.001, value_parser = flag::<f64>("--lr"))]
    pub lr: f64,
}
