//! TF-IDF on plain files: fitting on a stream of lines, and the fitted model as `eval`, `embed` and `explain` use it.

use anyhow::{Context, Result};
use rayon::prelude::*;
use serde_json::json;

use super::{Block, Columns, Cutter, EvalParams, Figures, Fitted, Line, Lines, Rows};
use crate::data::Report;
use crate::job::Ctx;
use crate::model::{Csr, Explanation, ModelFile, ModelHeader, Tfidf, TfidfParams};
use crate::text::Counter;

pub(super) const KIND: &str = Tfidf::KIND;

/// Bytes of lines read at once.
const BLOCK: usize = 1 << 22;
/// Documents that one thread counts before counts are joined.
const CHUNK: usize = 256;

/// Fits TF-IDF on all lines. The report has `documents`, `tokens`, `vocabulary` and `fitted_until`.
pub fn train(lines: &mut Lines, cutter: &Cutter, params: &TfidfParams, ctx: &Ctx) -> Result<(Tfidf, Report)> {
    let mut counts = Counter::default();
    let mut block = Block::default();
    let mut tokens = 0u64;
    while lines.next_block(&mut block, BLOCK)? {
        let documents = lines.documents(&block);
        let counted = ctx.install(|| {
            let counted = documents.par_chunks(CHUNK).map(|chunk| {
                let mut counts = Counter::default();
                let mut tokens = 0;
                for line in chunk {
                    let text = line.whole();
                    let terms = cutter.terms(&text);
                    tokens += terms.len() as u64;
                    counts.add(terms, line.time);
                }
                ctx.advance(chunk.len() as u64)?;
                Ok((counts, tokens))
            });
            counted.collect::<Result<Vec<_>>>()
        })?;
        for (more, n) in counted {
            counts.merge(more);
            tokens += n;
        }
    }
    let mut report = lines.finish()?;
    let model = Tfidf::fit(&counts, params)?;
    report.fact("documents", model.documents());
    report.fact("tokens", tokens);
    report.fact("vocabulary", model.words().len());
    report.fact("fitted_until", model.fitted_until());
    Ok((model, report))
}

/// A fitted model and the cutter that its documents are read with.
pub(super) struct FittedTfidf {
    header: ModelHeader,
    model: Tfidf,
    cutter: Cutter,
}

impl FittedTfidf {
    pub(super) fn open(file: &ModelFile, cutter: Cutter) -> Result<FittedTfidf> {
        Ok(FittedTfidf { header: file.header().clone(), model: Tfidf::read(file)?, cutter })
    }

    fn with_terms<T>(&self, line: &Line<'_>, f: impl FnOnce(&[&str]) -> T) -> T {
        let text = line.whole();
        let terms = self.cutter.terms(&text);
        f(&terms.iter().map(AsRef::as_ref).collect::<Vec<&str>>())
    }
}

impl Fitted for FittedTfidf {
    fn header(&self) -> &ModelHeader {
        &self.header
    }

    fn columns(&self) -> Result<Columns> {
        let names: Vec<String> = self.model.words().iter().map(|word| word.to_string()).collect();
        Ok(Columns::Sparse { width: names.len(), names })
    }

    fn rows(&self, lines: &[Line<'_>]) -> Result<Rows> {
        let mut rows = Csr::new(self.model.words().len());
        lines.iter().for_each(|line| rows.push_row(self.with_terms(line, |terms| self.model.transform(terms))));
        Ok(Rows::Sparse(rows))
    }

    fn explain(&self, line: &Line<'_>, _of: Option<&str>) -> Result<Explanation> {
        Ok(self.with_terms(line, |terms| self.model.explain(terms)).largest_first())
    }

    fn evaluate(&self, lines: &mut Lines, params: &EvalParams, ctx: &Ctx) -> Result<(Figures, Report)> {
        params.no_table(KIND)?;
        let (mut documents, mut tokens, mut known, mut stored, mut empty) = (0u64, 0u64, 0u64, 0u64, 0u64);
        let mut block = Block::default();
        while lines.next_block(&mut block, BLOCK)? {
            let read = lines.documents(&block);
            let measured = ctx.install(|| {
                let measured = read.par_iter().map(|line| {
                    ctx.advance(1)?;
                    Ok(self.with_terms(line, |terms| {
                        let known = terms.iter().filter(|term| self.model.column(term).is_some()).count();
                        (terms.len() as u64, known as u64, self.model.transform(terms).len() as u64)
                    }))
                });
                measured.collect::<Result<Vec<_>>>()
            })?;
            for (all, in_vocabulary, values) in measured {
                documents += 1;
                tokens += all;
                known += in_vocabulary;
                stored += values;
                empty += u64::from(values == 0);
            }
        }
        let figures = json!({
            "documents": documents, "tokens": tokens, "oov": tokens - known, "empty_documents": empty,
            "values_per_document": stored as f64 / documents.max(1) as f64,
        });
        Ok((figures.as_object().cloned().context("figures are an object")?, lines.finish()?))
    }
}
