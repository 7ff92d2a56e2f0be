//! The model file of LSA: the sections of its vectorizer, and `right` (`V`, `[terms, dim] f32`), `singular` and `explained` (f64).

use std::path::Path;

use anyhow::Result;
use serde::Serialize;
use serde_json::json;

use super::Lsa;
use crate::{ModelFile, ModelHeader, SvdParams, Vectorizer, write_model};

use inkstone_base::ensure;

impl Lsa {
    /// Kind of its model files.
    pub const KIND: &str = "lsa";
    const VERSION: u32 = 1;

    /// Writes the model file; `cut` says how its documents were cut.
    pub fn save(&self, path: &Path, cut: &impl Serialize) -> Result<()> {
        let header = ModelHeader {
            kind: Lsa::KIND.to_owned(),
            version: Lsa::VERSION,
            fitted_until: self.fitted_until(),
            documents: self.vectorizer.documents(),
            params: json!({
                "cut": cut,
                "vectorizer": self.vectorizer.params(),
                "length": self.vectorizer.length(),
                "svd": self.params,
                "error": self.error,
            }),
        };
        let vectorizer = self.vectorizer.sections();
        let mut sections: Vec<(&str, &[u8])> = vectorizer.iter().map(|(name, bytes)| (*name, &bytes[..])).collect();
        sections.push(("right", bytemuck::cast_slice(&self.right)));
        sections.push(("singular", bytemuck::cast_slice(&self.singular_values)));
        sections.push(("explained", bytemuck::cast_slice(&self.explained)));
        write_model(path, &header, &sections)
    }

    pub fn read(file: &ModelFile) -> Result<Lsa> {
        file.expect(Lsa::KIND, Lsa::VERSION)?;
        let vectorizer = Vectorizer::within(file)?;
        let params: SvdParams = file.param("svd")?;
        let right = file.numbers::<f32>("right")?.to_vec();
        let singular_values = file.numbers::<f64>("singular")?.to_vec();
        let explained = file.numbers::<f64>("explained")?.to_vec();
        let dim = params.dim;
        ensure!(
            right.len() == vectorizer.width() * dim && singular_values.len() == dim && explained.len() == dim,
            "{dim} 维、{1} 个词项的模型有 {0} 个值；请重新训练",
            "the model has {} values for {} terms of {dim} dimensions; train it again",
            right.len(),
            vectorizer.width()
        );
        Ok(Lsa { vectorizer, params, right, singular_values, explained, error: file.param("error")? })
    }
}
