//! Flags of `train lexicon`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use crate::cli::Corpus;
use crate::config::bounds::flag;
use inkstone_models::{LabelForm, Statistic};
use inkstone_text::DfLimit;

/// Where the words of a lexicon come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Method {
    /// Words whose documents have other returns than the rest ("value" of JSON lines).
    Returns,
    /// Words near good seeds rather than near bad ones (SO-PMI).
    Seeds,
}

/// Flags of `train lexicon`.
#[derive(Debug, Args)]
pub struct Lexicon {
    /// What the words are found in.
    #[command(flatten)]
    pub corpus: Corpus,
    /// The words: a file is a table of both sides with signed weights, a name without an extension a folder of positive.txt and
    /// negative.txt.
    #[arg(short, long, value_name = "FILE|DIR")]
    pub output: PathBuf,
    /// Where the words come from.
    #[arg(long, default_value = "returns")]
    pub method: Method,
    /// Share of the words that may be there by chance (Benjamini and Hochberg); 1 keeps all.
    #[arg(long, value_name = "Q", default_value_t = 0.1, value_parser = flag::<f64>("feature.induce.fdr"))]
    pub fdr: f64,
    /// Words kept on each side at the most; 0 keeps all that pass.
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = flag::<usize>("feature.induce.max_words"))]
    pub max_words: usize,
    /// From returns: what is compared, mean or odds.
    #[arg(long, default_value = "mean")]
    pub statistic: Statistic,
    /// From returns: raw, winsorised or ranked.
    #[arg(long, default_value = "winsorised")]
    pub label_form: LabelForm,
    /// From returns: documents that a word must be in, a count, or a share with a point.
    #[arg(long, value_name = "N", default_value = "0.005")]
    pub min_df: DfLimit,
    /// From seeds: good words.
    #[arg(long, value_name = "WORD,WORD", value_delimiter = ',', required_if_eq("method", "seeds"))]
    pub positive: Vec<String>,
    /// From seeds: bad words.
    #[arg(long, value_name = "WORD,WORD", value_delimiter = ',', required_if_eq("method", "seeds"))]
    pub negative: Vec<String>,
    /// From seeds: terms to each side that are near.
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = flag::<usize>("--window"))]
    pub window: usize,
    /// From seeds: times that a word must stand near one.
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = flag::<u64>("feature.words.min_count"))]
    pub min_count: u64,
}
