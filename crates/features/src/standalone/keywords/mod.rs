//! Keywords and key sentences of each line, in one pass: TextRank, or TF-IDF with the rarity of a model, a table or the file.
//!
//! Without a model or a table, TF-IDF reads the file once before to count in how many documents each word is. Offsets of
//! sentences are bytes into the line's `text`, half-open; a title is read for keywords but has no key sentences. The output is JSON
//! lines or, by its name, a CSV table with a row a keyword and a row a sentence.

mod extractor;
mod output;

#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};

pub use extractor::Extractor;
pub use output::run;

use inkstone_models::{Rule, TextRankParams};

/// Documents that one thread reads before it counts them as done.
const CHUNK: usize = 32;

/// How words are scored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Method {
    /// By the words that stand near them.
    #[default]
    Textrank,
    /// By their count here and their rarity elsewhere.
    Tfidf,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct KeywordParams {
    /// `textrank` (default) or `tfidf`.
    pub method: Method,
    /// Keywords of a document at the most. Default: 20.
    pub top: usize,
    /// Parts of speech that keywords may be of, in jieba's tags; empty: all. Default: nouns, names and verbs (n, ns, nt, nz, vn, v).
    pub pos: Vec<String>,
    /// Characters of a keyword at the least. Default: 2.
    pub min_chars: usize,
    /// Key sentences of a document at the most. Default: 0, none.
    pub sentences: usize,
    /// The ranking of words and sentences.
    pub textrank: TextRankParams,
    /// True if each keyword comes with the numbers behind its score. Default: false.
    pub explain: bool,
}

impl Default for KeywordParams {
    fn default() -> KeywordParams {
        KeywordParams {
            method: Method::Textrank,
            top: 20,
            pos: ["n", "ns", "nt", "nz", "vn", "v"].map(str::to_owned).into(),
            min_chars: 2,
            sentences: 0,
            textrank: TextRankParams::default(),
            explain: false,
        }
    }
}

impl KeywordParams {
    /// The defaults of `jieba.analyse`: TextRank by its rule on ns, n, vn and v; TF-IDF on all parts of speech.
    pub fn jieba(method: Method) -> KeywordParams {
        let pos: &[&str] = match method {
            Method::Textrank => &["ns", "n", "vn", "v"],
            Method::Tfidf => &[],
        };
        KeywordParams {
            method,
            pos: pos.iter().map(|&tag| tag.to_owned()).collect(),
            textrank: TextRankParams { rule: Rule::Jieba, ..TextRankParams::default() },
            ..KeywordParams::default()
        }
    }
}
