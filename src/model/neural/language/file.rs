//! The model file of a neural language model.

use std::path::Path;

use anyhow::{Result, bail};
use chrono::NaiveDateTime;
use serde::Serialize;
use serde_json::json;

use super::{LanguageKind, LanguageParams, LanguageWords, NeuralLanguage};
use crate::model::neural::weights::{Weight, Weights};
use crate::model::{ModelFile, ModelHeader, pack_strings, write_model};

const VERSION: u32 = 1;

impl LanguageKind {
    /// The network that files of this kind hold.
    pub fn of_file(kind: &str) -> Option<LanguageKind> {
        LanguageKind::ALL.into_iter().find(|known| known.name() == kind)
    }
}

impl NeuralLanguage {
    /// Writes the model file; `cut` says how its documents were cut.
    pub fn save(
        &self,
        path: &Path,
        cut: &impl Serialize,
        documents: u64,
        fitted_until: Option<NaiveDateTime>,
    ) -> Result<()> {
        let header = ModelHeader {
            kind: self.params.kind.name().to_owned(),
            version: VERSION,
            fitted_until,
            documents,
            params: json!({
                "cut": cut, "network": self.params, "parameters": self.parameters(), "epochs": self.epochs,
            }),
        };
        let words = pack_strings(self.words.words.iter().map(AsRef::as_ref));
        let mut sections: Vec<(&str, &[u8])> =
            vec![("words", &words), ("counts", bytemuck::cast_slice(&self.words.counts))];
        sections.extend(self.weights.sections());
        write_model(path, &header, &sections)
    }

    /// Reads a model.
    pub fn read(file: &ModelFile) -> Result<NeuralLanguage> {
        let Some(kind) = LanguageKind::of_file(&file.header().kind) else {
            bail!("a model of kind {} is no neural language model", file.header().kind)
        };
        file.expect(kind.name(), VERSION)?;
        file.verify()?;
        let params: LanguageParams = file.param("network")?;
        params.check()?;
        let words = file.strings("words")?.into_iter().map(Box::from).collect();
        let words = LanguageWords::new(words, file.numbers("counts")?.to_vec())?;
        let read = |(name, rows, dim)| Weight::read(name, rows, dim, file);
        let weights = params.shapes(words.classes()).into_iter().map(read).collect::<Result<Vec<Weight>>>()?;
        Ok(NeuralLanguage { params, words, weights: Weights::new(weights), epochs: file.param("epochs")? })
    }
}
