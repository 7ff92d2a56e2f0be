//! The filter that decides which tokens are terms.

use std::borrow::Cow;
use std::path::Path;

use anyhow::Result;
use rustc_hash::FxHashSet;

use super::dictionary;
use super::params::{Mode, Stopwords, TokenizerParams};

/// The words of the built-in list: function words of Chinese, without negations, degree words and words of direction.
const BUILTIN: &str = include_str!("../../../assets/stopwords.txt");

/// Decides which tokens are terms, and writes them as such.
#[derive(Clone, Debug)]
pub(super) struct Filter {
    stopwords: FxHashSet<Box<str>>,
    pub(super) lowercase: bool,
    keep_punctuation: bool,
    keep_numbers: bool,
}

impl Filter {
    /// Reads the list of stopwords; a relative path starts at `base`.
    pub(super) fn new(params: &TokenizerParams, base: &Path) -> Result<Filter> {
        let text = match (&params.stopwords, params.mode) {
            (Stopwords::None, _) | (_, Mode::Char | Mode::Wordpiece) => String::new(),
            (Stopwords::Builtin, Mode::Jieba | Mode::Crf) => BUILTIN.to_owned(),
            (Stopwords::File(path), Mode::Jieba | Mode::Crf) => {
                dictionary::read_text(&base.join(path), "[tokenizer] stopwords")?.0
            }
        };
        let words = dictionary::lines(&text).map(|(_, word)| word);
        let stopwords =
            words.map(|word| if params.lowercase { word.to_lowercase().into() } else { word.into() }).collect();
        Ok(Filter {
            stopwords,
            lowercase: params.lowercase,
            keep_punctuation: params.keep_punctuation,
            keep_numbers: params.keep_numbers,
        })
    }

    /// The term of this token, if it is one.
    pub(super) fn term<'t>(&self, token: &'t str) -> Option<Cow<'t, str>> {
        match TokenClass::from_token(token) {
            TokenClass::Punctuation if !self.keep_punctuation => return None,
            TokenClass::Number if !self.keep_numbers => return None,
            _ => {}
        }
        let upper = |c: char| !is_common_chinese(c) && c.is_uppercase();
        let term = match self.lowercase && token.contains(upper) {
            true => Cow::Owned(token.to_lowercase()),
            false => Cow::Borrowed(token),
        };
        (!self.stopwords.contains(term.as_ref())).then_some(term)
    }

    /// The settings and stopwords of the filter, for the segmenter's key.
    pub(super) fn fingerprint(&self) -> String {
        let mut words: Vec<&str> = self.stopwords.iter().map(AsRef::as_ref).collect();
        words.sort_unstable();
        format!("{} {} {}\n{}", self.lowercase, self.keep_punctuation, self.keep_numbers, words.join("\n"))
    }
}

/// Class of a token by its characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TokenClass {
    /// At least one letter or Chinese character.
    Word,
    /// Digits and marks, at least one digit: `12.5%`, `2024-03-01`.
    Number,
    /// Marks and symbols alone.
    Punctuation,
}

impl TokenClass {
    fn from_token(token: &str) -> TokenClass {
        let mut sort = TokenClass::Punctuation;
        for c in token.chars() {
            if is_common_chinese(c) || c.is_alphabetic() {
                return TokenClass::Word;
            } else if c.is_numeric() {
                sort = TokenClass::Number;
            }
        }
        sort
    }
}

/// Nearly every character of ordinary text is one of these, which spares it the search through Unicode's tables.
fn is_common_chinese(c: char) -> bool {
    matches!(c, '\u{4E00}'..='\u{9FFF}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sort_of_a_token_follows_its_characters() {
        for (token, sort) in [
            ("利润", TokenClass::Word),
            ("5G", TokenClass::Word),
            ("000001.SZ", TokenClass::Word),
            ("12.5%", TokenClass::Number),
            ("2024-03-01", TokenClass::Number),
            ("３", TokenClass::Number),
            ("。", TokenClass::Punctuation),
            ("+", TokenClass::Punctuation),
            ("三成", TokenClass::Word),
        ] {
            assert_eq!(TokenClass::from_token(token), sort, "{token}");
        }
    }

    #[test]
    fn stopwords_go_whatever_their_case_and_characters_are_never_stopwords() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("stop.txt"), "\u{feff}# 自己的\r\n公司\r\n\r\nThe\r\n").unwrap();
        let params = TokenizerParams { stopwords: Stopwords::File("stop.txt".into()), ..TokenizerParams::default() };
        let filter = Filter::new(&params, dir.path()).unwrap();
        assert_eq!(filter.term("公司"), None);
        assert_eq!(filter.term("THE"), None);
        assert_eq!(filter.term("ETF").as_deref(), Some("etf"));
        assert_eq!(filter.term("，"), None);
        let characters = Filter::new(&TokenizerParams { mode: Mode::Char, ..params }, dir.path()).unwrap();
        assert_eq!(characters.term("公司").as_deref(), Some("公司"));
    }

    #[test]
    fn the_builtin_list_leaves_negation_degree_and_direction_alone() {
        let filter = Filter::new(&TokenizerParams::default(), Path::new(".")).unwrap();
        for word in ["的", "了", "以及", "因此", "其中"] {
            assert_eq!(filter.term(word), None, "{word}");
        }
        let telling = [
            "不", "未", "没有", "无", "非", "难以", "并非", "未能", "大幅", "显著", "略", "小幅", "非常", "更", "上涨",
            "下跌", "增", "减", "升", "降", "高", "低",
        ];
        for word in telling {
            assert!(filter.term(word).is_some(), "{word}");
        }
    }

    #[test]
    fn a_missing_list_is_named_with_its_setting() {
        let params = TokenizerParams { stopwords: Stopwords::File("没有.txt".into()), ..TokenizerParams::default() };
        let error = format!("{:#}", Filter::new(&params, Path::new("/nowhere")).unwrap_err());
        assert!(error.contains("/nowhere/没有.txt") && error.contains("[tokenizer] stopwords"), "{error}");
    }
}
