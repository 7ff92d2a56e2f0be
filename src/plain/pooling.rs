//! Documents from word vectors on plain files: the pooling fitted on a corpus, and the model as `eval`, `embed` and `explain` use it.

#[cfg(test)]
mod tests;

use std::path::Path;

use anyhow::Result;
use rayon::prelude::*;

use super::coverage::{component, coverage};
use super::numbered::{DOCUMENT, END, Kept, Numbered, Reading};
use super::{Columns, Cutter, EvalParams, Figures, Fitted, Line, Lines, Rows};
use crate::data::Report;
use crate::job::Ctx;
use crate::model::{
    Explanation, ModelFile, ModelHeader, Pooling, PoolingParams, WordCounts, WordVectors, component_names,
};

pub(crate) const KIND: &str = Pooling::KIND;

/// Documents whose products one task adds up; the same for any number of threads.
const TASK: usize = 4096;
/// Tasks between two sums.
const TASKS: usize = 16;

/// Fits a pooling of these vectors on all lines. Scratch files are made in the folder of `beside`. The report has `documents`,
/// `tokens`, `vocabulary` (of the text), `known_tokens`, `fitted_until`, `dim`.
pub fn train(
    lines: &mut Lines,
    cutter: &Cutter,
    vectors: WordVectors,
    params: &PoolingParams,
    beside: &Path,
    ctx: &Ctx,
) -> Result<(Pooling, Report)> {
    let kept = Kept { min_count: 1, max_words: 0 };
    let (corpus, mut report) = Numbered::read(lines, cutter, Reading::Terms, kept, beside, ctx)?;
    // The text's numbers of words as places among the vectors.
    let places: Vec<Option<u32>> = corpus.words.iter().map(|word| vectors.number(word)).collect();
    let counts = count(&corpus, &places, vectors.words().len());
    // Vectors that do not say what they have seen may have seen anything.
    let seen = vectors.training().fitted_until;
    let fitted_until = seen.and(corpus.fitted_until.max(seen));
    report.fact("known_tokens", counts.counts.iter().sum::<u64>());
    report.fact("fitted_until", fitted_until);
    report.fact("dim", vectors.dim());
    let mut model = Pooling::new(vectors, &counts, fitted_until, params)?;
    if model.has_common() {
        let products = products(&corpus, &places, &model, ctx)?;
        model.learn_common(&products);
    }
    Ok((model, report))
}

fn count(corpus: &Numbered, places: &[Option<u32>], words: usize) -> WordCounts {
    let (mut counts, mut documents_with) = (vec![0; words], vec![0; words]);
    for (place, count) in places.iter().zip(&corpus.counts) {
        place.iter().for_each(|&place| counts[place as usize] = *count);
    }
    let mut last = vec![u64::MAX; words];
    for (number, document) in (0..).zip(documents(corpus)) {
        for place in known(document, places) {
            if std::mem::replace(&mut last[place as usize], number) != number {
                documents_with[place as usize] += 1;
            }
        }
    }
    WordCounts { counts, documents_with, tokens: corpus.tokens(), documents: corpus.documents }
}

fn documents(corpus: &Numbered) -> impl Iterator<Item = &[u32]> {
    corpus.numbers().split(|&number| number == DOCUMENT)
}

fn known<'a>(document: &'a [u32], places: &'a [Option<u32>]) -> impl Iterator<Item = u32> + 'a {
    document.iter().filter(|&&number| number != END).filter_map(|&number| places[number as usize])
}

/// The sum over all documents of the product of their row with itself, `[dim, dim]`.
fn products(corpus: &Numbered, places: &[Option<u32>], model: &Pooling, ctx: &Ctx) -> Result<Vec<f64>> {
    let dim = model.vectors().dim();
    let mut sums = vec![0.0; dim * dim];
    let mut rest = documents(corpus).peekable();
    while rest.peek().is_some() {
        ctx.check()?;
        let round: Vec<&[u32]> = rest.by_ref().take(TASK * TASKS).collect();
        let task = |documents: &[&[u32]]| {
            let mut sums = vec![0.0f64; dim * dim];
            for document in documents {
                let row = model.row_of(known(document, places));
                for (sums, &a) in sums.chunks_mut(dim).zip(&row) {
                    sums.iter_mut().zip(&row).for_each(|(sum, &b)| *sum += f64::from(a) * f64::from(b));
                }
            }
            sums
        };
        let parts: Vec<Vec<f64>> = ctx.install(|| round.par_chunks(TASK).map(task).collect());
        parts.iter().for_each(|part| sums.iter_mut().zip(part).for_each(|(sum, v)| *sum += v));
    }
    Ok(sums)
}

/// A fitted pooling and the cutter that its documents are read with.
pub(super) struct FittedPooling {
    header: ModelHeader,
    model: Pooling,
    cutter: Cutter,
}

impl FittedPooling {
    pub(super) fn open(file: &ModelFile, cutter: Cutter) -> Result<FittedPooling> {
        Ok(FittedPooling { header: file.header().clone(), model: Pooling::read(file)?, cutter })
    }

    fn with_terms<T>(&self, line: &Line<'_>, f: impl FnOnce(&[&str]) -> T) -> T {
        let text = line.whole();
        let terms = self.cutter.terms(&text);
        f(&terms.iter().map(AsRef::as_ref).collect::<Vec<&str>>())
    }
}

impl Fitted for FittedPooling {
    fn header(&self) -> &ModelHeader {
        &self.header
    }

    fn columns(&self) -> Result<Columns> {
        Ok(Columns::Dense(component_names(self.model.vectors().dim())))
    }

    fn rows(&self, lines: &[Line<'_>]) -> Result<Rows> {
        let rows = lines.iter().flat_map(|line| self.with_terms(line, |terms| self.model.row(terms)));
        Ok(Rows::Dense(rows.collect()))
    }

    fn explain(&self, line: &Line<'_>, of: Option<&str>) -> Result<Explanation> {
        let component = component(of, self.model.vectors().dim())?;
        Ok(self.with_terms(line, |terms| self.model.explain(terms, component)))
    }

    fn evaluate(&self, lines: &mut Lines, params: &EvalParams, ctx: &Ctx) -> Result<(Figures, Report)> {
        params.no_table(KIND)?;
        coverage(lines, ctx, |line| {
            self.with_terms(line, |terms| {
                (terms.len(), terms.iter().filter(|term| self.model.vectors().number(term).is_some()).count())
            })
        })
    }
}
