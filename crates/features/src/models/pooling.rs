//! Documents from word vectors on plain files: the pooling fitted on a corpus, and the model as `eval`, `embed` and `explain` use it.

#[cfg(test)]
mod tests;

use std::path::Path;

use anyhow::Result;

use crate::fitted::Opened;
use crate::fitted::{Columns, EvalParams, Figures, Fitted, Rows};
use crate::lines::{Cutter, Line, Lines};
use crate::models::word_vectors::last_seen;
use crate::standalone::coverage::{KnownTokens, component, coverage};
use crate::standalone::numbered::{DOCUMENT, END, Numbered, WordReading};
use inkstone_base::data::Report;
use inkstone_base::job::Ctx;
use inkstone_models::{
    Explanation, ModelHeader, PooledText, Pooling, PoolingParams, WordLimits, WordVectors, component_names,
};

pub const KIND: &str = Pooling::KIND;

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
    let kept = WordLimits { min_count: 1, max_words: 0 };
    let (corpus, mut report) = Numbered::read(lines, cutter, WordReading::Terms, kept, beside, ctx)?;
    // The text's numbers of words as places among the vectors.
    let places: Vec<Option<u32>> = corpus.words.iter().map(|word| vectors.number(word)).collect();
    let fitted_until = last_seen(corpus.fitted_until, Some(&vectors));
    let known = places.iter().zip(&corpus.counts).filter(|(place, _)| place.is_some()).map(|(_, count)| count);
    report.fact("known_tokens", known.sum::<u64>());
    report.fact("fitted_until", fitted_until);
    report.fact("dim", vectors.dim());
    let text = PooledText {
        numbers: corpus.numbers(),
        end: DOCUMENT,
        place: |number| if number == END { None } else { places[number as usize] },
        tokens: corpus.tokens(),
        documents: corpus.documents,
    };
    Ok((Pooling::fit(vectors, &text, fitted_until, params, ctx)?, report))
}

impl Fitted for Opened<Pooling> {
    fn header(&self) -> &ModelHeader {
        &self.header
    }

    fn columns(&self) -> Result<Columns> {
        Ok(Columns::Dense(component_names(self.model.vectors().dim())))
    }

    fn rows(&self, lines: &[Line<'_>]) -> Result<Rows> {
        let rows = lines.iter().flat_map(|line| self.cutter.with_terms(line, |terms| self.model.row(terms)));
        Ok(Rows::Dense(rows.collect()))
    }

    fn explain(&self, line: &Line<'_>, of: Option<&str>) -> Result<Explanation> {
        let component = component(of, self.model.vectors().dim())?;
        Ok(self.cutter.with_terms(line, |terms| self.model.explain(terms, component)))
    }

    fn word_parts(&self, line: &Line<'_>) -> Option<Vec<(String, Vec<f32>)>> {
        self.cutter.with_terms(line, |terms| {
            Some(self.model.parts(terms)?.into_iter().map(|(word, part)| (word.to_owned(), part)).collect())
        })
    }

    fn evaluate(&self, lines: &mut Lines, params: &EvalParams, ctx: &Ctx) -> Result<(Figures, Report)> {
        params.no_table(KIND)?;
        coverage(lines, ctx, |line| {
            self.cutter.with_terms(line, |terms| {
                let known = terms.iter().filter(|term| self.model.vectors().number(term).is_some()).count();
                Ok(KnownTokens::new(terms.len(), known))
            })
        })
    }
}
