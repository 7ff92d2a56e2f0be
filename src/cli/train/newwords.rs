//! Flags of `train newwords`.

use std::path::PathBuf;

use clap::Args;

use crate::cli::{Corpus, CsvText};
use crate::config::bounds::flag;

/// Flags of `train newwords`.
#[derive(Debug, Args)]
pub struct Newwords {
    /// The text, and the dictionaries whose words are not new.
    #[command(flatten)]
    pub corpus: Corpus,
    /// The dictionary, as jieba reads it: word, frequency, tag a line.
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,
    /// Also write each word's figures: count, documents, PMI, entropies, first_seen, fitted_until.
    #[arg(long, value_name = "CSV")]
    pub table: Option<PathBuf>,
    /// Characters of the longest word, 2 to 6.
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = flag::<usize>("--max-len"))]
    pub max_len: usize,
    /// Leave out words that occur less often.
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = flag::<u64>("--count"))]
    pub min_count: u64,
    /// Leave out words in fewer documents.
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = flag::<u64>("--count"))]
    pub min_documents: u64,
    /// Least pointwise mutual information of a word's weakest cut, in nats.
    #[arg(long, value_name = "NATS", default_value_t = 4.0, value_parser = flag::<f64>("--threshold"))]
    pub min_pmi: f64,
    /// Least entropy of the characters on either side of a word, in nats.
    #[arg(long, value_name = "NATS", default_value_t = 1.0, value_parser = flag::<f64>("--threshold"))]
    pub min_entropy: f64,
    /// Keep compounds of dictionary words (业绩预告) as well.
    #[arg(long)]
    pub compounds: bool,
    /// Keep at the most this many words, those with the highest score; 0 keeps all.
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = flag::<usize>("--count"))]
    pub top: usize,
    /// Memory for counting in MiB; what exceeds it goes to the disk.
    #[arg(long, value_name = "MIB", default_value_t = 1024, value_parser = flag::<usize>("--memory"))]
    pub memory: usize,
    /// Texts in a .csv.
    #[command(flatten)]
    pub csv: CsvText,
}
