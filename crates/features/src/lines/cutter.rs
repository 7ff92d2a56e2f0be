//! Tokens of a line: already cut, or cut here by the tokenizer.

use std::borrow::Cow;
use std::path::Path;

use anyhow::Result;
use serde::{Deserialize, Serialize};

use super::{Line, LineFormat};
use inkstone_base::data::Key;
use inkstone_base::ensure;
use inkstone_text::{DictionaryEntry, Segmenter, TokenizerParams};

/// How lines are cut into tokens. Part of every model file, so that later text is cut as the training text was.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CutSpec {
    pub format: LineFormat,
    /// Without effect on lines of tokens.
    pub tokenizer: TokenizerParams,
    /// Key of everything else that the cut depends on: words of dictionaries and stopwords, versions. [`Cutter::new`] sets it, and
    /// refuses a spec with another key. None for lines of tokens.
    pub key: Option<Key>,
}

impl CutSpec {
    /// Lines of this format, cut with these parameters.
    pub fn new(format: LineFormat, tokenizer: TokenizerParams) -> CutSpec {
        CutSpec { format, tokenizer, key: None }
    }
}

/// Cuts text as a [`CutSpec`] says.
pub struct Cutter {
    spec: CutSpec,
    segmenter: Option<Segmenter>,
}

impl Cutter {
    /// Makes the cutter ready; dictionaries are read relative to `base`.
    pub fn new(spec: CutSpec, base: &Path) -> Result<Cutter> {
        Cutter::with_words(spec, base, &[])
    }

    /// The same with words that must not be cut, such as those of a lexicon.
    pub fn with_words(mut spec: CutSpec, base: &Path, words: &[DictionaryEntry]) -> Result<Cutter> {
        let segmenter = match spec.format {
            LineFormat::Tokens => None,
            LineFormat::Text | LineFormat::Jsonl => Some(Segmenter::with_words(&spec.tokenizer, base, words)?),
        };
        let key = segmenter.as_ref().map(Segmenter::key);
        ensure!(
            spec.key.is_none() || spec.key == key,
            "文本的切分与模型拟合时不同：词典、停用词或程序自带词表已变；请恢复原来的，或重新训练模型",
            "text is no longer cut as when the model was fitted: its dictionaries or stopwords have changed, or the program's own; bring the old ones back, or train the model again"
        );
        spec.key = key;
        Ok(Cutter { spec, segmenter })
    }

    /// This cutter for lines of another format: lines of tokens are taken as they are.
    pub(crate) fn for_format(mut self, format: LineFormat) -> Cutter {
        if format == LineFormat::Tokens {
            self.segmenter = None;
        }
        self
    }

    /// None for lines of tokens.
    pub fn segmenter(&self) -> Option<&Segmenter> {
        self.segmenter.as_ref()
    }

    pub fn spec(&self) -> &CutSpec {
        &self.spec
    }

    /// Every token as written, for language models and for models that count distance.
    pub fn tokens<'t>(&self, text: &'t str) -> Vec<&'t str> {
        match &self.segmenter {
            None => text.split_ascii_whitespace().collect(),
            Some(segmenter) => segmenter.tokens(text).into_iter().map(|token| token.text).collect(),
        }
    }

    /// The tokens that carry content, as [`TokenizerParams`] has them, for models that count words. Lines of tokens are not filtered.
    pub fn terms<'t>(&self, text: &'t str) -> Vec<Cow<'t, str>> {
        match &self.segmenter {
            None => text.split_ascii_whitespace().map(Cow::Borrowed).collect(),
            Some(segmenter) => segmenter.terms(text),
        }
    }

    /// Gives `work` the terms of a document, title and text together.
    pub(crate) fn with_terms<T>(&self, line: &Line<'_>, work: impl FnOnce(&[&str]) -> T) -> T {
        let text = line.whole();
        let terms = self.terms(&text);
        work(&terms.iter().map(AsRef::as_ref).collect::<Vec<&str>>())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_refuses_to_read_with_another_dictionary() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("words.txt"), "云启智联\n").unwrap();
        let tokenizer = TokenizerParams { dictionaries: vec!["words.txt".into()], ..TokenizerParams::default() };
        let fitted = Cutter::new(CutSpec::new(LineFormat::Text, tokenizer), dir.path()).unwrap();
        let spec = fitted.spec().clone();
        assert!(Cutter::new(spec.clone(), dir.path()).is_ok());
        std::fs::write(dir.path().join("words.txt"), "云启\n").unwrap();
        let error = Cutter::new(spec, dir.path()).err().unwrap().to_string();
        assert!(error.contains("dictionaries or stopwords have changed"), "{error}");
    }

    #[test]
    fn lines_of_tokens_are_not_cut_again() {
        let spec = CutSpec::new(LineFormat::Text, TokenizerParams::default());
        let cutter = Cutter::new(spec, Path::new("")).unwrap().for_format(LineFormat::Tokens);
        assert_eq!(cutter.terms("净 利润 增长"), ["净", "利润", "增长"]);
    }
}
