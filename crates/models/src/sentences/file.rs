//! The model file of an encoder of sentences.

use std::path::Path;

use anyhow::Result;
use chrono::NaiveDateTime;
use serde::Serialize;

use super::{SentenceEncoder, SentenceParams};
use crate::neural::file::{Saved, read_settings, read_weights};
use crate::{ModelFile, pack_strings};

impl SentenceEncoder {
    /// Writes the model file; `cut` says how its documents were cut.
    pub fn save(
        &self,
        path: &Path,
        cut: &impl Serialize,
        documents: u64,
        fitted_until: Option<NaiveDateTime>,
    ) -> Result<()> {
        let SentenceEncoder { params, weights, epochs, .. } = self;
        let words = pack_strings(self.words.iter().map(AsRef::as_ref));
        let names = pack_strings(self.names.iter().map(AsRef::as_ref));
        let sections = [("words", &words[..]), ("class_names", &names[..])];
        Saved { kind: SentenceEncoder::KIND, params, weights, epochs }.write(
            path,
            cut,
            documents,
            fitted_until,
            &sections,
        )
    }

    pub fn read(file: &ModelFile) -> Result<SentenceEncoder> {
        let (params, epochs): (SentenceParams, _) = read_settings(file, SentenceEncoder::KIND)?;
        params.check()?;
        let words: Vec<Box<str>> = file.strings("words")?.into_iter().map(Box::from).collect();
        let names: Vec<String> = file.strings("class_names")?.into_iter().map(str::to_owned).collect();
        let weights = read_weights(file, params.shapes(words.len(), names.len()))?;
        Ok(SentenceEncoder::from_parts(params, words, names, weights, epochs))
    }
}
