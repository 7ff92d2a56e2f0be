//! The setting `embeddings`: the word vectors that a network starts from.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use chrono::NaiveDate;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::extract::Feature;
use inkstone_base::disk;

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

    fn has_file(&self) -> bool {
        !self.file.as_os_str().is_empty()
    }

    /// Fails where the settings contradict one another.
    pub(crate) fn check(&self) -> Result<()> {
        ensure!(
            self.feature.is_empty() || !self.has_file(),
            "embeddings names both a feature ({:?}) and a file ({}): leave out one",
            self.feature,
            self.file.display()
        );
        ensure!(
            self.fitted_until.is_none() || self.has_file(),
            "embeddings.fitted_until says how far the text of a file reaches, and no embeddings.file is named: leave it out"
        );
        Ok(())
    }

    /// The feature of the project whose vectors are taken; none where none is named.
    pub fn feature_among<'f>(&self, features: &'f [Feature]) -> Result<Option<&'f Feature>> {
        if self.feature.is_empty() {
            return Ok(None);
        }
        let known = || {
            let known: Vec<&str> =
                features.iter().filter(|feature| feature.has_vintages()).map(|feature| feature.name.as_str()).collect();
            if known.is_empty() { "there is none".to_owned() } else { format!("there are: {}", known.join(", ")) }
        };
        let found = features.iter().find(|feature| feature.name == self.feature);
        let found = found.filter(|feature| feature.has_vintages()).with_context(|| {
            format!(
                "embeddings.feature = {:?} names no feature with model = word2vec, glove or fasttext; {}",
                self.feature,
                known()
            )
        })?;
        Ok(Some(found))
    }

    /// Key of the source of the vectors, as JSON; null where no vectors are given.
    pub fn key(&self, features: &[Feature], base: &Path) -> Result<Value> {
        let file = self.has_file().then(|| disk::hash_file(&base.join(&self.file))).transpose()?;
        Ok(match (file, self.feature_among(features)?) {
            (None, None) => Value::Null,
            (file, feature) => json!({ "file": file, "feature": feature.map(Feature::identity) }),
        })
    }
}
