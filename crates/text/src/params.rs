//! The parameters of segmentation, as `[tokenizer]` in the configuration has them.

use std::path::{Path, PathBuf};

use anyhow::Result;
use serde::{Deserialize, Serialize};

use crate::subword::Subword;
use inkstone_base::data::Key;
use inkstone_base::disk;

/// Parameters of tokens and terms.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct TokenizerParams {
    /// Characters, words or pieces of words. Default: `jieba`.
    pub mode: Mode,
    /// For word pieces: `tokenizer.json`, `vocab.txt`, a SentencePiece model, or a folder that holds one; a relative path starts at the
    /// project folder.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pieces: Option<PathBuf>,
    /// For `crf`: the model file of `inkstone train crf`, which cuts words; a relative path starts at the project folder.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub labeller: Option<PathBuf>,
    /// Which words of a jieba lattice are given. Default: `precise`. Without effect on characters.
    pub cut: Cut,
    /// True if a hidden Markov model joins characters into words that no dictionary has. Default: true, as in Python's
    /// jieba. Without effect on characters and on the full cut, which gives dictionary words alone.
    pub hmm: bool,
    /// User dictionaries, a word a line (`word [frequency] [tag]`); relative paths start at the project folder.
    pub dictionaries: Vec<PathBuf>,
    /// True if the dictionary of finance terms that comes with the program is used. Default: true.
    pub finance_dictionary: bool,
    /// Words that are no terms: `none`, `builtin`, or a file with a word a line. Default: `builtin`, a short list of
    /// function words without negations and degree words. Not applied to characters and word pieces: 和 alone is a function word, in 和解
    /// it is not.
    pub stopwords: Stopwords,
    /// True if terms are in lower case (tokens are always as written). Default: true.
    pub lowercase: bool,
    /// True if terms bear their part of speech, as 回购|v, so that the senses of a word are apart (sense2vec: Trask, Michalak and
    /// Liu 2015). With jieba's precise cut. Default: false.
    pub tags: bool,
    /// True if punctuation and symbols count as terms. Default: false.
    pub keep_punctuation: bool,
    /// True if numbers, percentages and dates in digits count as terms. Default: false.
    pub keep_numbers: bool,
}

impl Default for TokenizerParams {
    fn default() -> TokenizerParams {
        TokenizerParams {
            mode: Mode::Jieba,
            pieces: None,
            labeller: None,
            cut: Cut::Precise,
            hmm: true,
            dictionaries: Vec::new(),
            finance_dictionary: true,
            stopwords: Stopwords::Builtin,
            lowercase: true,
            tags: false,
            keep_punctuation: false,
            keep_numbers: false,
        }
    }
}

impl TokenizerParams {
    /// The contents of the files that these settings name: dictionaries, a list of stopwords, the tokenizer of word pieces, a labeller. Relative paths
    /// start at `base`.
    pub fn file_keys(&self, base: &Path) -> Result<Vec<Key>> {
        let mut files: Vec<PathBuf> = self.dictionaries.iter().map(|path| base.join(path)).collect();
        if let Stopwords::File(path) = &self.stopwords {
            files.push(base.join(path));
        }
        if let Some(path) = &self.pieces {
            files.push(Subword::file_at(&base.join(path))?);
        }
        files.extend(self.labeller.iter().map(|path| base.join(path)));
        files.iter().map(|file| disk::hash_file(file)).collect()
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// A Chinese character, a run of letters and digits, or a mark: the basic tokenisation of BERT, without lower-casing.
    Char,
    /// A word of jieba.
    #[default]
    Jieba,
    /// A piece of the tokenizer of a contextual model, as it stands in the text.
    Wordpiece,
    /// A word of a labeller that was trained on cut text (`inkstone train crf`).
    Crf,
}

/// Which words of the lattice jieba gives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
#[serde(rename_all = "lowercase")]
pub enum Cut {
    /// The most probable path: each character in one word.
    #[default]
    Precise,
    /// Every dictionary word at every place; tokens overlap.
    Full,
    /// The precise cut, with the words of two and three characters inside long words before them; tokens overlap.
    Search,
}

/// The list of words that are no terms.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub enum Stopwords {
    /// Every word is a term.
    None,
    /// The list that comes with the program.
    #[default]
    Builtin,
    /// A file with a word a line; relative paths start at the project folder.
    File(PathBuf),
}

impl From<String> for Stopwords {
    fn from(text: String) -> Stopwords {
        match text.as_str() {
            "none" => Stopwords::None,
            "builtin" => Stopwords::Builtin,
            _ => Stopwords::File(PathBuf::from(text)),
        }
    }
}

impl From<Stopwords> for String {
    fn from(stopwords: Stopwords) -> String {
        match stopwords {
            Stopwords::None => "none".to_owned(),
            Stopwords::Builtin => "builtin".to_owned(),
            Stopwords::File(path) => path.to_string_lossy().into_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_read_back_what_they_write_and_default_what_is_absent() {
        let given: TokenizerParams =
            serde_json::from_str(r#"{"mode":"char","cut":"search","stopwords":"lists/停用词.txt"}"#).unwrap();
        let expected = TokenizerParams {
            mode: Mode::Char,
            cut: Cut::Search,
            stopwords: Stopwords::File("lists/停用词.txt".into()),
            ..TokenizerParams::default()
        };
        assert_eq!(given, expected);
        let again: TokenizerParams = serde_json::from_str(&serde_json::to_string(&given).unwrap()).unwrap();
        assert_eq!(again, given);
        assert_eq!(serde_json::from_str::<Stopwords>(r#""none""#).unwrap(), Stopwords::None);
    }
}
