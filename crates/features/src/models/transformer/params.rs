//! Settings of encoders that are trained on in a project: `[feature.finetune]`.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use chrono::{NaiveDate, NaiveDateTime};
use serde::{Deserialize, Serialize};

use super::seen_by;
use inkstone_base::data::Key;
use inkstone_base::disk;
use inkstone_models::transformer::{EncoderFolder, TransformerParams};
use inkstone_text::subword::Subword;

/// An encoder that each fold of a feature trains on.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct FinetuneSettings {
    /// Folder of the encoder (config.json, model.safetensors, a tokenizer), relative to the configuration.
    pub base: PathBuf,
    /// The last day of the text that the base was trained on, where its folder does not say it.
    pub fitted_until: Option<NaiveDate>,
    /// Tokens that are read of a text at most, special tokens included, the first ones; 0: as many as the base has places.
    pub max_tokens: usize,
    pub training: TransformerParams,
}

impl FinetuneSettings {
    /// Fails where the settings make no sense, whatever the base.
    pub fn check(&self) -> Result<()> {
        ensure!(!self.base.as_os_str().is_empty(), "base is missing: name the folder of an encoder");
        self.training.check()
    }

    /// The folder of the base.
    pub(super) fn folder(&self, base: &Path) -> Result<EncoderFolder> {
        EncoderFolder::open(&base.join(&self.base))
    }

    /// The last second of the text that the base was trained on.
    pub(super) fn seen_until(&self, folder: &EncoderFolder) -> Result<NaiveDateTime> {
        let stated = self.fitted_until.and_then(|day| day.and_hms_opt(23, 59, 59));
        seen_by(folder, stated).context("finetune.base")
    }

    /// The content of the base's files.
    pub fn files_key(&self, base: &Path) -> Result<Key> {
        let folder = base.join(&self.base);
        let tokenizer = Subword::file_at(&folder)?;
        let files = [folder.join("config.json"), folder.join("model.safetensors"), tokenizer];
        Ok(Key::of_json(&files.iter().map(|file| disk::hash_file(file)).collect::<Result<Vec<Key>>>()?))
    }
}
