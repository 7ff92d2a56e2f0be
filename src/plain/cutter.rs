//! From a line to its tokens: already cut, or cut here by the tokenizer.

use std::borrow::Cow;
use std::path::Path;

use anyhow::Result;
use serde::{Deserialize, Serialize};

use super::LineFormat;
use crate::text::{Segmenter, TokenizerParams};

/// How lines are cut; part of every model file, so that what a model reads later is cut as what it was fitted on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CutSpec {
    /// How the lines were written.
    pub format: LineFormat,
    /// How text is cut; without effect on lines of tokens.
    pub tokenizer: TokenizerParams,
}

/// Cuts text as a [`CutSpec`] says.
pub struct Cutter {
    spec: CutSpec,
    segmenter: Option<Segmenter>,
}

impl Cutter {
    /// Makes the cutter ready; dictionaries are read relative to `base`.
    pub fn new(spec: CutSpec, base: &Path) -> Result<Cutter> {
        let segmenter = match spec.format {
            LineFormat::Tokens => None,
            LineFormat::Text | LineFormat::Jsonl => Some(Segmenter::new(&spec.tokenizer, base)?),
        };
        Ok(Cutter { spec, segmenter })
    }

    /// How it cuts.
    pub fn spec(&self) -> &CutSpec {
        &self.spec
    }

    /// Every token as written: what language models and anything that counts distance read.
    pub fn tokens<'t>(&self, text: &'t str) -> Vec<&'t str> {
        match &self.segmenter {
            None => text.split_ascii_whitespace().collect(),
            Some(segmenter) => segmenter.tokens(text).into_iter().map(|token| token.text).collect(),
        }
    }

    /// The tokens that say something about content, as [`TokenizerParams`] has them: what models that count words
    /// read. Lines of tokens are taken as they are.
    pub fn terms<'t>(&self, text: &'t str) -> Vec<Cow<'t, str>> {
        match &self.segmenter {
            None => text.split_ascii_whitespace().map(Cow::Borrowed).collect(),
            Some(segmenter) => segmenter.terms(text),
        }
    }
}
