//! Flags of `train ngram`.

use std::path::PathBuf;

use clap::Args;

use crate::cli::Corpus;
use crate::config::bounds::flag;
use inkstone_models::ngram::Smoothing;

/// Flags of `train ngram`.
#[derive(Debug, Args)]
pub struct Ngram {
    /// What it is trained on.
    #[command(flatten)]
    pub corpus: Corpus,
    /// The model: an ARPA file by the name .arpa, else a file that is mapped into memory.
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,
    /// Words of the longest n-grams, 1 to 6.
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = flag::<usize>("feature.surprise.order"))]
    pub order: usize,
    /// How probability is kept for what was not seen: kneser-ney, katz, jelinek-mercer, add-k (laplace) or mle.
    #[arg(long, default_value = "kneser-ney")]
    pub smoothing: Smoothing,
    /// Leave out n-grams seen that often or less: a limit for each length, such as 0,0,1.
    #[arg(long, value_name = "N,N", value_delimiter = ',', value_parser = flag::<u32>("--count"))]
    pub prune: Vec<u32>,
    /// For add-k: what is added to every count.
    #[arg(long, value_name = "K", default_value_t = 1.0, value_parser = flag::<f64>("--weight"))]
    pub k: f64,
    /// For jelinek-mercer: a file of documents to fit its weights on.
    #[arg(long, value_name = "FILE")]
    pub held_out: Option<PathBuf>,
    /// For jelinek-mercer without --held-out: the share of documents to fit its weights on.
    #[arg(long, value_name = "SHARE", default_value_t = 0.05, value_parser = flag::<f64>("--share"))]
    pub held_out_share: f64,
    /// Memory for counting, in MB; beyond it, sorted runs go to files.
    #[arg(long, value_name = "MB", default_value_t = 1024, value_parser = flag::<usize>("--memory"))]
    pub memory: usize,
    /// Folder of those files. Default: that of the output.
    #[arg(long, value_name = "DIR")]
    pub temp: Option<PathBuf>,
}
