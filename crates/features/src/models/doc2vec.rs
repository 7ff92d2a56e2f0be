//! doc2vec on plain files: training, and the fitted model as `eval`, `embed`, `explain` and `nearest` use it.
//!
//! A document's row is inferred from its text alone, also for documents that the model was trained on. Memory in training is
//! that of the vocabulary and of a vector a document.

#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::path::Path;

use anyhow::Result;

use crate::fitted::Opened;
use crate::fitted::{Columns, EvalParams, Figures, Fitted, Rows, WordRows};
use crate::lines::{Cutter, Line, Lines};
use crate::models::word2vec;
use crate::models::word2vec::WordParams;
use crate::standalone::coverage::{KnownTokens, component, coverage};
use inkstone_base::data::Report;
use inkstone_base::ensure;
use inkstone_base::job::Ctx;
use inkstone_models::{Doc2vec, Explanation, ModelHeader, Word2vec, Word2vecParams, component_names};

/// Name of the method in `train`.
pub const METHOD: &str = Doc2vec::KIND;

/// Trains and writes the model to `output`; all else as [`word2vec::plain::train`].
pub fn train(
    lines: &mut Lines,
    cutter: &Cutter,
    words: &WordParams,
    params: &Word2vecParams,
    output: &Path,
    ctx: &Ctx,
) -> Result<Report> {
    params.check()?;
    ensure!(
        params.architecture.of_documents(),
        "文档向量只有 dm 和 dbow 两种形式",
        "documents have vectors in the forms dm and dbow alone"
    );
    let (corpus, mut report) = words.read(lines, cutter, output, ctx)?;
    let checkpoint = word2vec::plain::checkpoint(&corpus, words, params, output, ctx)?;
    let mut trainer = Word2vec::new(word2vec::plain::given(&corpus), params, ctx.seed())?;
    word2vec::plain::pass(&mut trainer, &checkpoint, corpus.tokens(), &mut report, ctx)?;
    let model = Doc2vec::from_trained(trainer, corpus.words.clone(), corpus.counts.clone());
    model.save(output, cutter.spec(), corpus.documents, corpus.fitted_until)?;
    checkpoint.remove()?;
    Ok(report)
}

impl Opened<Doc2vec> {
    /// The terms of title and text: no window reaches from one into the other.
    fn with_fields<T>(&self, line: &Line<'_>, work: impl FnOnce(&[Vec<&str>]) -> T) -> T {
        let fields = [&line.title, &line.text].map(|text| self.cutter.terms(text));
        work(&fields.each_ref().map(|terms| terms.iter().map(AsRef::as_ref).collect()))
    }
}

impl Fitted for Opened<Doc2vec> {
    fn header(&self) -> &ModelHeader {
        &self.header
    }

    fn columns(&self) -> Result<Columns> {
        Ok(Columns::Dense(component_names(self.model.dim())))
    }

    fn rows(&self, lines: &[Line<'_>]) -> Result<Rows> {
        let rows = lines.iter().flat_map(|line| self.with_fields(line, |terms| self.model.infer(terms)));
        Ok(Rows::Dense(rows.collect()))
    }

    fn explain(&self, line: &Line<'_>, of: Option<&str>) -> Result<Explanation> {
        let component = component(of, self.model.dim())?;
        Ok(self.with_fields(line, |terms| self.model.explain(terms, component)))
    }

    fn words(&self) -> Option<WordRows<'_>> {
        let (words, vectors) = self.model.words()?;
        Some(WordRows { words, vectors: Cow::Owned(vectors), dim: self.model.dim() })
    }

    fn evaluate(&self, lines: &mut Lines, params: &EvalParams, ctx: &Ctx) -> Result<(Figures, Report)> {
        params.no_table(METHOD)?;
        coverage(lines, ctx, |line| {
            self.with_fields(line, |terms| {
                let all = || terms.iter().flatten();
                Ok(KnownTokens::new(all().count(), all().filter(|term| self.model.knows(term)).count()))
            })
        })
    }
}
