//! Flags of `keywords`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::{Corpus, CsvText};
use crate::config::bounds::flag;
use inkstone_features::standalone::keywords::Method;

#[derive(Debug, Args)]
pub struct Keywords {
    #[command(flatten)]
    pub corpus: Corpus,
    /// File to write: one line per document (.jsonl), or one row per keyword and per sentence (.csv).
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,
    /// How words are scored: textrank, or tfidf (frequency in the document times rarity elsewhere).
    #[arg(long, default_value = "textrank")]
    pub method: Method,
    /// Conventions: default, or jieba for the numbers of jieba.analyse.
    #[arg(long, default_value = "default")]
    pub preset: KeywordPreset,
    /// Most keywords per document.
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = flag::<usize>("--count"))]
    pub top: usize,
    /// Parts of speech that keywords may have, as jieba's tags, or all. Default: n,ns,nt,nz,vn,v; with --preset jieba
    /// ns,n,vn,v for textrank and all for tfidf; all for lines of tokens.
    #[arg(long, value_name = "TAG,TAG", value_delimiter = ',')]
    pub pos: Option<Vec<String>>,
    /// Fewest characters of a keyword.
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = flag::<usize>("--count"))]
    pub min_chars: usize,
    /// Most key sentences per document, in the order of the text.
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = flag::<usize>("--count"))]
    pub sentences: usize,
    /// For tfidf: a model of `train tfidf` that gives the idf of words and the way text is cut. Default: the idf in the input.
    #[arg(short, long, value_name = "FILE", conflicts_with = "idf")]
    pub model: Option<PathBuf>,
    /// For tfidf: a table of idf in jieba's format, a word and its idf per line.
    #[arg(long, value_name = "FILE")]
    pub idf: Option<PathBuf>,
    /// For textrank: words less than N places apart are linked.
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = flag::<usize>("--window"))]
    pub window: usize,
    /// For textrank and sentences: share of a score that comes from neighbours.
    #[arg(long, value_name = "SHARE", default_value_t = 0.85, value_parser = flag::<f64>("--share"))]
    pub damping: f64,
    #[command(flatten)]
    pub csv: CsvText,
    /// Add to each keyword the numbers behind its score.
    #[arg(long)]
    pub explain: bool,
}

/// The conventions that `keywords` follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum KeywordPreset {
    /// TextRank as in the paper, without stopwords, words in lower case.
    Default,
    /// As jieba.analyse: its TextRank, words as written, stopwords kept.
    Jieba,
}
