//! word2vec of a window.

use std::path::Path;

use anyhow::Result;

use crate::extract::entry::ModelEntry;
use crate::extract::vintages;
use crate::extract::vintages::trainer::WordVectorTrainer;
use crate::extract::vintages::window::WindowText;
use inkstone_base::ensure;
use inkstone_base::job::Ctx;
use inkstone_models::{Corpus, Word2vec, Word2vecParams};

pub(crate) const ENTRY: ModelEntry = ModelEntry {
    settings: &["words", "vintages", "pooling", "word2vec"],
    ..vintages::entry(|feature| Box::new(feature.word2vec.clone()))
};

impl WordVectorTrainer for Word2vecParams {
    fn name(&self) -> &'static str {
        "word2vec"
    }

    fn check(&self) -> Result<()> {
        ensure!(
            !self.architecture.of_documents(),
            "--architecture dm 和 dbow 学习现有文档的向量；请用 cbow 或 skipgram",
            "--architecture dm and dbow learn vectors of documents that are there; take cbow or skipgram"
        );
        Word2vecParams::check(self)
    }

    fn dim(&self) -> usize {
        self.dim
    }

    fn passes(&self) -> Option<u64> {
        Some(self.epochs as u64)
    }

    fn train(&self, text: &WindowText, _: &Path, ctx: &Ctx) -> Result<Vec<f32>> {
        let WindowText { words, counts, documents, .. } = text;
        let corpus = Corpus { words, counts, numbers: text.numbers(), documents: *documents };
        let mut training = Word2vec::new(corpus, self, ctx.seed())?;
        training.finish(None, ctx)?;
        Ok(training.vectors())
    }
}
