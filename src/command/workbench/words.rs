//! The dictionary of a project, loaded when the first text is cut and not when the workbench opens.

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use anyhow::{Result, anyhow};

use crate::command::project::Opened;
use inkstone_text::{Cut as JiebaCut, Mode, Segmenter, TokenizerParams};
use inkstone_tui::{Cut, Tokeniser};

/// The dictionary.
pub(super) struct Words {
    params: TokenizerParams,
    base: PathBuf,
    loaded: OnceLock<Result<Segmenter, String>>,
}

impl Words {
    /// The words of a configuration.
    pub(super) fn new(opened: &Opened) -> Words {
        let (params, base) = (opened.config.tokenizer.clone(), opened.base.clone());
        Words { params, base, loaded: OnceLock::new() }
    }

    /// The tokeniser with this dictionary. Fails if the dictionary cannot be read.
    pub(super) fn segmenter(&self) -> Result<&Segmenter> {
        let load = || Segmenter::new(&self.params, &self.base).map_err(|error| format!("{error:#}"));
        self.loaded.get_or_init(load).as_ref().map_err(|error| anyhow!("{error}"))
    }
}

/// Cuts the text of the reader.
pub(super) fn tokeniser(words: Arc<Words>) -> Tokeniser {
    Arc::new(move |text, cut| {
        let mode = match cut {
            Cut::Characters => Mode::Char,
            Cut::Words => Mode::Jieba,
        };
        let tokens = words.segmenter()?.recut(mode, JiebaCut::Precise).tokens(text);
        Ok(tokens.into_iter().map(|token| token.start..token.end).collect())
    })
}
