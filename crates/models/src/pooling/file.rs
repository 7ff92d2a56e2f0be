//! The model file of a pooling: its vectors, weights and common directions.

use std::path::Path;

use anyhow::Result;
use serde::Serialize;
use serde_json::json;

use super::Pooling;
use crate::{ModelFile, ModelHeader, Training, WordVectors, pack_strings, write_model};

use inkstone_base::ensure;

impl Pooling {
    /// Kind of its model files.
    pub const KIND: &str = "pooling";
    const VERSION: u32 = 1;

    /// Writes the model file; `cut` says how its documents were cut.
    pub fn save(&self, path: &Path, cut: &impl Serialize) -> Result<()> {
        let (vectors, training) = (&self.vectors, self.vectors.training());
        let header = ModelHeader {
            kind: Pooling::KIND.to_owned(),
            version: Pooling::VERSION,
            fitted_until: self.fitted_until,
            documents: self.documents,
            params: json!({
                "cut": cut, "pooling": self.params, "dim": vectors.dim(),
                "vectors": {"method": training.method, "fitted_until": training.fitted_until, "training": training.params},
            }),
        };
        let words = pack_strings(vectors.words().iter().map(AsRef::as_ref));
        let sections: [(&str, &[u8]); 4] = [
            ("words", &words),
            ("vectors", bytemuck::cast_slice(vectors.values())),
            ("weights", bytemuck::cast_slice(&self.weights)),
            ("common", bytemuck::cast_slice(&self.common)),
        ];
        write_model(path, &header, &sections)
    }

    pub fn read(file: &ModelFile) -> Result<Pooling> {
        file.expect(Pooling::KIND, Pooling::VERSION)?;
        let words = file.strings("words")?.into_iter().map(Box::from).collect();
        let values = file.numbers("vectors")?.to_vec();
        let vectors = WordVectors::new(words, Vec::new(), file.param("dim")?, values, Training::default())?;
        let (weights, common) = (file.numbers::<f32>("weights")?.to_vec(), file.numbers::<f32>("common")?.to_vec());
        ensure!(
            weights.len() == vectors.words().len() && common.len().is_multiple_of(vectors.dim()),
            "模型的尺寸已损坏；请重新训练",
            "the model's sizes are damaged; train it again"
        );
        let header = file.header();
        let (documents, fitted_until) = (header.documents, header.fitted_until);
        Ok(Pooling { vectors, params: file.param("pooling")?, weights, common, documents, fitted_until })
    }
}
