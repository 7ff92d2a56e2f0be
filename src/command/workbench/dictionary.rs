//! The dictionary of a project, loaded when the first text is cut and not when the workbench opens.

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::Result;

use super::lazy::Lazy;
use crate::command::opened::OpenProject;
use inkstone_text::{Cut as JiebaCut, Mode, Segmenter, TokenizerParams};
use inkstone_tui::{TokenUnit, Tokeniser};

pub(super) struct Dictionary {
    params: TokenizerParams,
    base: PathBuf,
    segmenter: Lazy<Segmenter>,
}

impl Dictionary {
    pub(super) fn new(opened: &OpenProject) -> Dictionary {
        let (params, base) = (opened.config.tokenizer.clone(), opened.base.clone());
        Dictionary { params, base, segmenter: Lazy::default() }
    }

    /// Fails if the files of the dictionary cannot be read.
    pub(super) fn segmenter(&self) -> Result<&Segmenter> {
        self.segmenter.get_or_load(|| Segmenter::new(&self.params, &self.base))
    }
}

/// The function that cuts texts in the reader.
pub(super) fn tokeniser(dictionary: Arc<Dictionary>) -> Tokeniser {
    Arc::new(move |text, cut| {
        let mode = match cut {
            TokenUnit::Characters => Mode::Char,
            TokenUnit::Words => Mode::Jieba,
        };
        let tokens = dictionary.segmenter()?.recut(mode, JiebaCut::Precise).tokens(text);
        Ok(tokens.into_iter().map(|token| token.start..token.end).collect())
    })
}
