//! The model file of TF-IDF: words and their document frequencies; weights follow from them and the parameters.

use std::path::Path;

use anyhow::{Result, ensure};
use serde::Serialize;
use serde_json::json;

use super::{Tfidf, TfidfParams};
use crate::model::{ModelFile, ModelHeader, pack_strings, write_model};

impl Tfidf {
    /// Kind of its model files.
    pub const KIND: &str = "tfidf";
    const VERSION: u32 = 1;

    /// Writes the model file; `cut` says how its documents were cut.
    pub fn save(&self, path: &Path, cut: &impl Serialize) -> Result<()> {
        let header = ModelHeader {
            kind: Tfidf::KIND.to_owned(),
            version: Tfidf::VERSION,
            fitted_until: self.fitted_until,
            documents: self.documents,
            params: json!({"cut": cut, "tfidf": self.params}),
        };
        let words = pack_strings(self.words.iter().map(AsRef::as_ref));
        write_model(path, &header, &[("words", &words), ("df", bytemuck::cast_slice(&self.df))])
    }

    /// Reads a model.
    pub fn read(file: &ModelFile) -> Result<Tfidf> {
        file.expect(Tfidf::KIND, Tfidf::VERSION)?;
        file.verify()?;
        let params: TfidfParams = file.param("tfidf")?;
        let words: Vec<Box<str>> = file.strings("words")?.into_iter().map(Box::from).collect();
        let df = file.numbers::<u64>("df")?.to_vec();
        ensure!(words.len() == df.len(), "the model has {} words and {} frequencies", words.len(), df.len());
        let header = file.header();
        Ok(Tfidf::of(words, df, header.documents, params, header.fitted_until))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::{Counter, DfLimit};

    #[test]
    fn a_saved_model_gives_the_same_rows() {
        let mut counter = Counter::default();
        for doc in [["增长", "回购"], ["增长", "减持"]] {
            counter.add(doc, None);
        }
        let params = TfidfParams { min_df: DfLimit::Count(1), ..TfidfParams::default() };
        let model = Tfidf::fit(&counter, &params).unwrap();
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("m");
        model.save(&path, &"words").unwrap();
        let again = Tfidf::read(&ModelFile::open(&path).unwrap()).unwrap();
        let tokens = ["增长", "回购", "回购", "未见"];
        assert_eq!(model.transform(&tokens), again.transform(&tokens));
        assert_eq!((again.words(), again.documents()), (model.words(), 2));
    }
}
