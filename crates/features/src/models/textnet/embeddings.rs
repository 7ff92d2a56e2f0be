//! The setting `embeddings`: the word vectors that a network starts from.

use std::path::PathBuf;

use anyhow::Result;
use chrono::NaiveDate;
use serde::{Deserialize, Serialize};

use inkstone_base::ensure;

/// The source of given word vectors; none where neither feature nor file is named.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct EmbeddingParams {
    /// Name of a feature with vintages of word vectors: `word2vec`, `glove` or `fasttext`.
    pub feature: String,
    /// A file of word vectors, relative to the configuration.
    pub file: PathBuf,
    /// The last day of the text that the vectors of the file were trained on, for files that do not say it.
    pub fitted_until: Option<NaiveDate>,
}

impl EmbeddingParams {
    /// True if vectors are given.
    pub(crate) fn are_given(&self) -> bool {
        self.has_feature() || self.has_file()
    }

    pub(crate) fn has_feature(&self) -> bool {
        !self.feature.is_empty()
    }

    pub(super) fn has_file(&self) -> bool {
        !self.file.as_os_str().is_empty()
    }

    /// Fails where the settings contradict one another.
    pub(crate) fn check(&self) -> Result<()> {
        ensure!(
            self.feature.is_empty() || !self.has_file(),
            "embeddings 同时写了特征（{:?}）和文件（{}）：请去掉一个",
            "embeddings names both a feature ({:?}) and a file ({}): leave out one",
            self.feature,
            self.file.display()
        );
        ensure!(
            self.fitted_until.is_none() || self.has_file(),
            "embeddings.fitted_until 说明文件的文本截至何时，而没有写 embeddings.file：请去掉",
            "embeddings.fitted_until says how far the text of a file reaches, and no embeddings.file is named: leave it out"
        );
        Ok(())
    }
}
