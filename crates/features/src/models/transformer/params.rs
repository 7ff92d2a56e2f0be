//! Settings of encoders that are trained on in a project: `[feature.finetune]`.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use chrono::{NaiveDate, NaiveDateTime};
use serde::{Deserialize, Serialize};

use super::seen_by;
use inkstone_base::data::Key;
use inkstone_base::disk::{self, Room};
use inkstone_models::transformer::{EncoderFolder, TransformerParams};
use inkstone_text::subword::Subword;

/// An encoder that each fold of a feature trains on.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct FinetuneSettings {
    /// Folder of the encoder (config.json, model.safetensors, a tokenizer), or of its vintages (`train bert --vintages`), of which each fold takes
    /// the last that knows no text behind its training samples; relative to the configuration.
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

    /// The folder of the base; or those of its vintages, by time.
    pub(super) fn folders(&self, base: &Path) -> Result<Vec<BaseFolder>> {
        let folder = base.join(&self.base);
        let stated = self.fitted_until.and_then(|day| day.and_hms_opt(23, 59, 59));
        if !is_of_vintages(&folder) {
            let folder = EncoderFolder::open(&folder)?;
            let seen_until = seen_by(&folder, stated).context("finetune.base")?;
            return Ok(vec![BaseFolder { folder, seen_until }]);
        }
        ensure!(
            stated.is_none(),
            "finetune.fitted_until is for a single base: the vintages in {} say it",
            folder.display()
        );
        let mut found = Vec::new();
        for window in std::fs::read_dir(&folder).with_context(|| format!("cannot list {}", folder.display()))? {
            let window = window.with_context(|| format!("cannot list {}", folder.display()))?.path();
            if window.join("config.json").is_file() {
                let folder = EncoderFolder::open(&window)?;
                let seen_until = seen_by(&folder, None).context("finetune.base")?;
                found.push(BaseFolder { folder, seen_until });
            }
        }
        ensure!(!found.is_empty(), "{} holds no encoder: train bert --vintages writes them", folder.display());
        found.sort_by_key(|base| base.seen_until);
        let tokenizer = |base: &BaseFolder| disk::hash_file(&Subword::file_at(base.folder.path())?);
        let first = tokenizer(&found[0])?;
        for base in &found {
            ensure!(
                tokenizer(base)? == first,
                "{} cuts text otherwise than {}: vintages are trained one on from the other",
                base.folder.path().display(),
                found[0].folder.path().display()
            );
        }
        Ok(found)
    }

    /// The content of the files of the base, or of its vintages.
    pub fn files_key(&self, base: &Path) -> Result<Key> {
        let mut keys = Vec::new();
        for BaseFolder { folder, .. } in self.folders(base)? {
            let folder = folder.path();
            for file in [folder.join("config.json"), folder.join("model.safetensors"), Subword::file_at(folder)?] {
                keys.push(disk::hash_file(&file)?);
            }
        }
        Ok(Key::of_json(&keys))
    }
}

/// A base, and the last second of the text that it was trained on.
pub(super) struct BaseFolder {
    pub(super) folder: EncoderFolder,
    pub(super) seen_until: NaiveDateTime,
}

/// True for a folder of encoders of several times, which is none of an encoder itself.
fn is_of_vintages(folder: &Path) -> bool {
    matches!(disk::marked_for(folder), Ok(Some(Room::Models))) && !folder.join("config.json").exists()
}
