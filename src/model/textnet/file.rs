//! The model file of a classifier of texts.

use std::path::Path;

use anyhow::{Result, bail};
use chrono::NaiveDateTime;
use serde::Serialize;
use serde_json::json;

use super::{TextNet, TextNetKind, TextNetParams};
use crate::model::neural::weights::{Weight, Weights};
use crate::model::{ModelFile, ModelHeader, pack_strings, write_model};

const VERSION: u32 = 1;

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
        let header = ModelHeader {
            kind: self.params.kind.name().to_owned(),
            version: VERSION,
            fitted_until,
            documents,
            params: json!({
                "cut": cut, "network": self.params, "parameters": self.parameters(), "epochs": self.epochs,
            }),
        };
        let words = pack_strings(self.words.iter().map(AsRef::as_ref));
        let classes = pack_strings(self.classes.iter().map(AsRef::as_ref));
        let mut sections: Vec<(&str, &[u8])> = vec![("words", &words), ("class_names", &classes)];
        sections.extend(self.weights.sections());
        write_model(path, &header, &sections)
    }

    /// Reads a model.
    pub fn read(file: &ModelFile) -> Result<TextNet> {
        let Some(kind) = TextNetKind::of_file(&file.header().kind) else {
            bail!("a model of kind {} is no neural classifier", file.header().kind)
        };
        file.expect(kind.name(), VERSION)?;
        file.verify()?;
        let params: TextNetParams = file.param("network")?;
        params.check()?;
        let words: Vec<Box<str>> = file.strings("words")?.into_iter().map(Box::from).collect();
        let classes: Vec<String> = file.strings("class_names")?.into_iter().map(str::to_owned).collect();
        let read = |(name, rows, dim)| Weight::read(name, rows, dim, file);
        let shapes = params.shapes(words.len(), classes.len());
        let weights = Weights::new(shapes.into_iter().map(read).collect::<Result<Vec<Weight>>>()?);
        TextNet::of(params, words, classes, weights, file.param("epochs")?)
    }
}
