//! Settings of encoders that are trained on in a project: `[feature.finetune]`.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use chrono::{NaiveDate, NaiveDateTime};
use serde::{Deserialize, Serialize};

use super::seen_by;
use inkstone_base::data::Key;
use inkstone_base::disk;
use inkstone_base::ensure;
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
    /// Weight of the texts' own words beside their targets (masked words; of a base that reads from left to right the next words); 0: they are not
    /// learned.
    pub words: f64,
    pub training: TransformerParams,
}

impl FinetuneSettings {
    /// Fails where the settings make no sense, whatever the base.
    pub fn check(&self) -> Result<()> {
        ensure!(
            !self.base.as_os_str().is_empty(),
            "缺少 base：请写出编码器的文件夹",
            "base is missing: name the folder of an encoder"
        );
        self.training.check()
    }

    /// The folder of the base; or those of its vintages, by time.
    pub(super) fn folders(&self, base: &Path) -> Result<Vec<BaseFolder>> {
        let folder = base.join(&self.base);
        let stated = self.fitted_until.and_then(|day| day.and_hms_opt(23, 59, 59));
        let windows = windows_in(&folder);
        if windows.is_empty() {
            let folder = EncoderFolder::open(&folder)?;
            let seen_until = seen_by(&folder.files, stated).context("finetune.base")?;
            return Ok(vec![BaseFolder { folder, seen_until }]);
        }
        ensure!(
            stated.is_none(),
            "finetune.fitted_until 用于单个基础模型：{} 中各期自带说明",
            "finetune.fitted_until is for a single base: the vintages in {} say it",
            folder.display()
        );
        let open = |window: PathBuf| {
            let folder = EncoderFolder::open(&window)?;
            let seen_until = seen_by(&folder.files, None).context("finetune.base")?;
            Ok(BaseFolder { folder, seen_until })
        };
        let mut found = windows.into_iter().map(open).collect::<Result<Vec<BaseFolder>>>()?;
        found.sort_by_key(|base| base.seen_until);
        let tokenizer = |base: &BaseFolder| disk::hash_file(&Subword::file_at(base.folder.path())?);
        let first = tokenizer(&found[0])?;
        for base in &found {
            ensure!(
                tokenizer(base)? == first,
                "{} 的切分方式与 {} 不同：各期须在前一期上继续训练",
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

/// The folders of encoders in a folder that is none itself, as `train bert --vintages` writes them.
fn windows_in(folder: &Path) -> Vec<PathBuf> {
    let is_encoder = |folder: &Path| folder.join("config.json").is_file();
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    if is_encoder(folder) { Vec::new() } else { entries.filter(|entry| is_encoder(entry)).collect() }
}
