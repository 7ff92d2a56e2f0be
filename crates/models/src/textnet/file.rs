//! The model file of a classifier of texts.

use std::path::Path;

use anyhow::{Result, bail};
use chrono::NaiveDateTime;
use serde::Serialize;

use super::{TextNet, TextNetKind, TextNetParams};
use crate::neural::file::{Saved, read_settings, read_weights};
use crate::{ModelFile, pack_strings};

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
        let classes = pack_strings(self.classes.iter().map(AsRef::as_ref));
        let sections = [("words", &words[..]), ("class_names", &classes[..])];
        Saved { kind: params.kind.name(), params, weights, epochs }.write(path, cut, documents, fitted_until, &sections)
    }

    pub fn read(file: &ModelFile) -> Result<TextNet> {
        let Some(kind) = TextNetKind::of_file(&file.header().kind) else {
            bail!("a model of kind {} is no neural classifier", file.header().kind)
        };
        let (params, epochs): (TextNetParams, _) = read_settings(file, kind.name())?;
        params.check()?;
        let words: Vec<Box<str>> = file.strings("words")?.into_iter().map(Box::from).collect();
        let classes: Vec<String> = file.strings("class_names")?.into_iter().map(str::to_owned).collect();
        let weights = read_weights(file, params.shapes(words.len(), classes.len()))?;
        TextNet::from_parts(params, words, classes, weights, epochs)
    }
}
