//! Flags of `keywords`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::{Corpus, CsvText};
use crate::config::bounds::flag;
use inkstone_features::standalone::keywords::Method;

/// Flags of `keywords`.
#[derive(Debug, Args)]
pub struct Keywords {
    /// What is read.
    #[command(flatten)]
    pub corpus: Corpus,
    /// A line a document (.jsonl), or a row a keyword and a row a sentence (.csv).
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,
    /// How words are scored: textrank, or tfidf (count here against rarity elsewhere).
    #[arg(long, default_value = "textrank")]
    pub method: Method,
    /// Whose habits: default, or jieba for the numbers of jieba.analyse.
    #[arg(long, default_value = "default")]
    pub preset: KeywordPreset,
    /// Keywords of a document at the most.
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = flag::<usize>("--count"))]
    pub top: usize,
    /// Parts of speech that keywords may be of, in jieba's tags, or all. Default: n,ns,nt,nz,vn,v; with --preset jieba
    /// ns,n,vn,v for textrank and all for tfidf; all for lines of tokens.
    #[arg(long, value_name = "TAG,TAG", value_delimiter = ',')]
    pub pos: Option<Vec<String>>,
    /// Characters of a keyword at the least.
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = flag::<usize>("--count"))]
    pub min_chars: usize,
    /// Key sentences of a document at the most, in the order of the text.
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = flag::<usize>("--count"))]
    pub sentences: usize,
    /// For tfidf: a model of train tfidf that says how rare words are, and how text is cut. Default: the input itself.
    #[arg(short, long, value_name = "FILE", conflicts_with = "idf")]
    pub model: Option<PathBuf>,
    /// For tfidf: a table of rarities in jieba's form, word and idf a line.
    #[arg(long, value_name = "FILE")]
    pub idf: Option<PathBuf>,
    /// For textrank: words fewer than so many places apart vouch for each other.
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = flag::<usize>("--window"))]
    pub window: usize,
    /// For textrank and sentences: share of a score that comes from neighbours.
    #[arg(long, value_name = "SHARE", default_value_t = 0.85, value_parser = flag::<f64>("--share"))]
    pub damping: f64,
    /// Texts in a .csv.
    #[command(flatten)]
    pub csv: CsvText,
    /// With each keyword the numbers that gave it its score.
    #[arg(long)]
    pub explain: bool,
}

/// Whose habits `keywords` follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum KeywordPreset {
    /// Its own: TextRank as in the paper, stopwords left out, words in lower case.
    Default,
    /// Those of jieba.analyse: its TextRank, words as written, none left out as stopwords.
    Jieba,
}
