//! Word vectors on plain files in `eval`, `embed`, `explain` and `nearest`, whatever tool trained them.

use std::borrow::Cow;

use anyhow::Result;
use chrono::NaiveDateTime;

use crate::fitted::Opened;
use crate::fitted::{Columns, EvalParams, Figures, Fitted, Rows, WordRows};
use crate::lines::{Cutter, Line, Lines};
use crate::standalone::coverage::{KnownTokens, component, coverage};
use inkstone_base::data::Report;
use inkstone_base::job::Ctx;
use inkstone_models::{Explanation, ModelHeader, WordVectors, component_names};

/// The last time of a text and of what given vectors were trained on; none where the vectors do not say it, as they may have seen anything.
pub(crate) fn last_seen(text: Option<NaiveDateTime>, given: Option<&WordVectors>) -> Option<NaiveDateTime> {
    let Some(vectors) = given else { return text };
    let seen = vectors.training().fitted_until;
    Some(text?.max(seen?))
}

/// Vectors that another tool trained.
pub(crate) fn foreign(model: WordVectors, cutter: Cutter) -> Opened<WordVectors> {
    let (kind, params) = (WordVectors::KIND.to_owned(), model.training().params.clone());
    Opened { header: ModelHeader { kind, version: 1, fitted_until: None, documents: 0, params }, model, cutter }
}

impl Fitted for Opened<WordVectors> {
    fn header(&self) -> &ModelHeader {
        &self.header
    }

    fn name(&self) -> &str {
        match &*self.model.training().method {
            "" => WordVectors::KIND,
            method => method,
        }
    }

    fn columns(&self) -> Result<Columns> {
        Ok(Columns::Dense(component_names(self.model.dim())))
    }

    fn rows(&self, lines: &[Line<'_>]) -> Result<Rows> {
        let means = lines.iter().flat_map(|line| self.cutter.with_terms(line, |terms| self.model.mean(terms)));
        Ok(Rows::Dense(means.collect()))
    }

    fn explain(&self, line: &Line<'_>, of: Option<&str>) -> Result<Explanation> {
        let component = component(of, self.model.dim())?;
        Ok(self.cutter.with_terms(line, |terms| self.model.explain(terms, component)))
    }

    fn word_parts(&self, line: &Line<'_>) -> Option<Vec<(String, Vec<f32>)>> {
        self.cutter.with_terms(line, |terms| {
            Some(self.model.parts(terms).into_iter().map(|(word, part)| (word.to_owned(), part)).collect())
        })
    }

    fn words(&self) -> Option<WordRows<'_>> {
        let vectors = Cow::Borrowed(self.model.values());
        Some(WordRows { words: self.model.words(), vectors, dim: self.model.dim() })
    }

    fn evaluate(&self, lines: &mut Lines, params: &EvalParams, ctx: &Ctx) -> Result<(Figures, Report)> {
        params.no_table(self.name())?;
        coverage(lines, ctx, |line| {
            self.cutter.with_terms(line, |terms| {
                let known = terms.iter().filter(|term| self.model.vector(term).is_some()).count();
                Ok(KnownTokens::new(terms.len(), known))
            })
        })
    }
}
