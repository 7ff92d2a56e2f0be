//! The settings of a feature whose model is a file.

use std::path::{Path, PathBuf};

use anyhow::Result;
use chrono::{NaiveDate, NaiveDateTime};
use serde::{Deserialize, Serialize};

use crate::fitted::fitted_until;
use inkstone_models::ModelHeader;

use inkstone_base::ensure;

/// The file of a model.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct FileParams {
    /// Relative to the configuration.
    pub path: PathBuf,
    /// The last day of the text that the model was trained on, for files that do not say it.
    pub fitted_until: Option<NaiveDate>,
    /// The encoder of a head, where it is not where the file says, relative to the configuration.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub encoder: Option<PathBuf>,
}

impl FileParams {
    /// Fails where no file is named.
    pub fn check(&self) -> Result<()> {
        ensure!(
            !self.path.as_os_str().is_empty(),
            "缺少 file.path：请写出 `inkstone train` 写的模型，或 KenLM、word2vec、fastText 格式的文件",
            "file.path is missing: name a model that `inkstone train` wrote, or a file in a format of KenLM, word2vec or fastText"
        );
        Ok(())
    }

    /// The encoder of a head, where its place is given here.
    pub(super) fn encoder_at(&self, base: &Path) -> Option<PathBuf> {
        self.encoder.as_ref().map(|encoder| base.join(encoder))
    }

    /// The last time of the data that the model was fitted on: as the file says it, or the day that is stated here.
    pub(super) fn fitted_until(&self, header: &ModelHeader) -> Result<NaiveDateTime> {
        fitted_until(header, self.fitted_until, &self.path.display().to_string(), "file.fitted_until")
    }
}
