//! Flags of `train ngram` and `newwords`.

use std::path::PathBuf;

use clap::Args;

use crate::cli::{Corpus, CsvText};
use crate::config::bounds::flag;
use inkstone_models::NewWordParams;
use inkstone_models::ngram::NgramParams;

/// Flags of `train ngram`.
#[derive(Debug, Args)]
pub struct Ngram {
    #[command(flatten)]
    pub corpus: Corpus,
    /// The model: an ARPA file by the name .arpa, else a file that is mapped into memory.
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,
    #[command(flatten)]
    pub params: NgramParams,
    /// Leave out n-grams seen that often or less: a limit for each length, such as 0,0,1.
    #[arg(long, value_name = "N,N", value_delimiter = ',', value_parser = flag::<u32>("--count"))]
    pub prune: Vec<u32>,
    /// For jelinek-mercer: a file of documents to fit its weights on.
    #[arg(long, value_name = "FILE")]
    pub held_out: Option<PathBuf>,
    /// Memory for counting, in MB; beyond it, sorted runs go to files.
    #[arg(long, value_name = "MB", default_value_t = 1024, value_parser = flag::<usize>("--memory"))]
    pub memory: usize,
    /// Folder of those files. Default: the folder of the output.
    #[arg(long, value_name = "DIR")]
    pub temp: Option<PathBuf>,
}

/// Flags of `train newwords`. Words of the tokenizer's dictionaries are not new.
#[derive(Debug, Args)]
pub struct Newwords {
    #[command(flatten)]
    pub corpus: Corpus,
    /// The dictionary, as jieba reads it: word, frequency, tag a line.
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,
    /// Also write each word's figures: count, documents, PMI, entropies, first_seen, fitted_until.
    #[arg(long, value_name = "CSV")]
    pub table: Option<PathBuf>,
    #[command(flatten)]
    pub params: NewWordParams,
    #[command(flatten)]
    pub csv: CsvText,
}
