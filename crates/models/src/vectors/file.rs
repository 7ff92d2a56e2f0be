//! The model file of word vectors.

use std::path::Path;

use anyhow::Result;
use chrono::NaiveDateTime;
use serde::Serialize;
use serde_json::{Value, json};

use super::WordVectors;
use crate::{ModelFile, ModelHeader, pack_strings, write_model};

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Training {
    /// Name of the method, as in `train`: `ppmi`, `word2vec`, ...; empty for a file of another tool.
    pub method: String,
    /// Documents that they were trained on.
    pub documents: u64,
    /// The last time of these; none when they had no times.
    pub fitted_until: Option<NaiveDateTime>,
    /// The method's parameters and what it says of its result.
    pub params: Value,
}

impl Training {
    /// The training, from the header of a model file.
    pub(super) fn from_file(file: &ModelFile) -> Result<Training> {
        let header = file.header();
        Ok(Training {
            method: file.param("method")?,
            documents: header.documents,
            fitted_until: header.fitted_until,
            params: file.param("training")?,
        })
    }
}

impl WordVectors {
    /// Kind of its model files.
    pub const KIND: &str = "vectors";
    const VERSION: u32 = 1;

    /// Writes the model file; `cut` says how its documents were cut.
    pub fn save(&self, path: &Path, cut: &impl Serialize) -> Result<()> {
        let training = &self.training;
        let header = ModelHeader {
            kind: WordVectors::KIND.to_owned(),
            version: WordVectors::VERSION,
            fitted_until: training.fitted_until,
            documents: training.documents,
            params: json!({"cut": cut, "method": training.method, "dim": self.dim, "training": training.params}),
        };
        let words = pack_strings(self.words.iter().map(AsRef::as_ref));
        let sections: [(&str, &[u8]); 3] = [
            ("words", &words),
            ("counts", bytemuck::cast_slice(&self.counts)),
            ("vectors", bytemuck::cast_slice(&self.values)),
        ];
        write_model(path, &header, &sections)
    }

    pub fn read(file: &ModelFile) -> Result<WordVectors> {
        file.expect(WordVectors::KIND, WordVectors::VERSION)?;
        let words = file.strings("words")?.into_iter().map(Box::from).collect();
        let training = Training::from_file(file)?;
        let (counts, values) = (file.counts("counts")?, file.numbers("vectors")?.to_vec());
        WordVectors::new(words, counts, file.param("dim")?, values, training)
    }
}
