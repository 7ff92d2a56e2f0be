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
    ///
    /// 写出的文件：每篇文档一行（.jsonl），或每个关键词与句子一行（.csv）。
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,
    /// How words are scored: textrank, or tfidf (frequency in the document times rarity elsewhere).
    ///
    /// 词的打分方法：textrank，或 tfidf（文档中的频率乘以在他处的稀有程度）。
    #[arg(long, default_value = "textrank")]
    pub method: Method,
    /// Conventions: default, or jieba for the numbers of jieba.analyse.
    ///
    /// 惯例：default，或 jieba（与 jieba.analyse 的数值一致）。
    #[arg(long, default_value = "default")]
    pub preset: KeywordPreset,
    /// Most keywords per document.
    ///
    /// 每篇最多的关键词。
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = flag::<usize>("--count"))]
    pub top: usize,
    /// Parts of speech that keywords may have, as jieba's tags, or all. Default: n,ns,nt,nz,vn,v; with --preset jieba
    /// ns,n,vn,v for textrank and all for tfidf; all for lines of tokens.
    ///
    /// 关键词可有的词性（jieba 的标记），或 all。默认：n,ns,nt,nz,vn,v；--preset jieba 时 textrank 为 ns,n,vn,v，tfidf 为全部；按词元给出的行为全部。
    #[arg(long, value_name = "TAG,TAG", value_delimiter = ',')]
    pub pos: Option<Vec<String>>,
    /// Fewest characters of a keyword.
    ///
    /// 关键词最少的字数。
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = flag::<usize>("--count"))]
    pub min_chars: usize,
    /// Most key sentences per document, in the order of the text.
    ///
    /// 每篇最多的关键句，按文中次序。
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = flag::<usize>("--count"))]
    pub sentences: usize,
    /// For tfidf: a model of `train tfidf` that gives the idf of words and the way text is cut. Default: the idf in the input.
    ///
    /// tfidf：给出词的 idf 与切词方式的 `train tfidf` 模型。默认：用输入的 idf。
    #[arg(short, long, value_name = "FILE", conflicts_with = "idf")]
    pub model: Option<PathBuf>,
    /// For tfidf: a table of idf in jieba's format, a word and its idf per line.
    ///
    /// tfidf：jieba 格式的 idf 表，每行为词与 idf。
    #[arg(long, value_name = "FILE")]
    pub idf: Option<PathBuf>,
    /// For textrank: words less than N places apart are linked.
    ///
    /// textrank：相距不到 N 个词的词相连。
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = flag::<usize>("--window"))]
    pub window: usize,
    /// For textrank and sentences: share of a score that comes from neighbours.
    ///
    /// textrank 与句子：得分中来自相邻者的占比。
    #[arg(long, value_name = "SHARE", default_value_t = 0.85, value_parser = flag::<f64>("--share"))]
    pub damping: f64,
    #[command(flatten)]
    pub csv: CsvText,
    /// Add to each keyword the numbers behind its score.
    ///
    /// 每个关键词附上得分的由来。
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
