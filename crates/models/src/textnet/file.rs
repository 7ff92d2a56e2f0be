//! The model file of a classifier of texts.

use std::path::Path;

use anyhow::Result;
use chrono::NaiveDateTime;
use serde::Serialize;

use super::{NetOutputs, TextNet, TextNetKind, TextNetParams};
use crate::neural::file::{Saved, read_settings, read_weights};
use crate::{ModelFile, pack_strings};

use inkstone_base::{bail, ensure};

/// The sections of the names of classes and of labels.
const CLASSES: &str = "class_names";
const LABELS: &str = "label_names";

impl TextNetKind {
    /// The network that files of this kind hold.
    pub fn of_file(kind: &str) -> Option<TextNetKind> {
        TextNetKind::ALL.into_iter().find(|known| known.name() == kind)
    }
}

impl TextNet {
    /// Writes the model file; `cut` says how its documents were cut.
    pub fn save(
        &self,
        path: &Path,
        cut: &impl Serialize,
        documents: u64,
        fitted_until: Option<NaiveDateTime>,
    ) -> Result<()> {
        let TextNet { params, weights, epochs, .. } = self;
        let words = pack_strings(self.words.iter().map(AsRef::as_ref));
        let names = pack_strings(self.names.iter().map(AsRef::as_ref));
        let section = if self.has_labels() { LABELS } else { CLASSES };
        let sections = [("words", &words[..]), (section, &names[..])];
        Saved { kind: params.kind.name(), params, weights, epochs }.write(path, cut, documents, fitted_until, &sections)
    }

    pub fn read(file: &ModelFile) -> Result<TextNet> {
        let Some(kind) = TextNetKind::of_file(&file.header().kind) else {
            bail!("类型为 {} 的模型不是神经分类器", "a model of kind {} is no neural classifier", file.header().kind)
        };
        let (params, epochs): (TextNetParams, _) = read_settings(file, kind.name())?;
        params.check()?;
        let words: Vec<Box<str>> = file.strings("words")?.into_iter().map(Box::from).collect();
        let (section, outputs) =
            if file.bytes(LABELS).is_ok() { (LABELS, NetOutputs::Labels) } else { (CLASSES, NetOutputs::Classes) };
        let names: Vec<String> = file.strings(section)?.into_iter().map(str::to_owned).collect();
        ensure!(
            !names.is_empty(),
            "{} 模型没有类别；请重新训练",
            "a {} model without classes; train it again",
            kind.name()
        );
        let weights = read_weights(file, params.shapes(words.len(), names.len()))?;
        Ok(TextNet::from_parts(params, words, (names, outputs), weights, epochs))
    }
}
