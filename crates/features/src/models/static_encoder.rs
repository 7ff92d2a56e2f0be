//! Static encoders in `eval`, `embed`, `explain` and `nearest`, and behind heads: a folder of model2vec or sentence-transformers stands where
//! a model file stands for other models.

mod train;

use std::path::Path;

use anyhow::Result;
use serde_json::json;

use crate::fitted::{Columns, EvalParams, Figures, Fitted, Rows};
use crate::lines::{Line, Lines};
use crate::standalone::coverage::{KnownTokens, component, coverage};
use inkstone_base::data::Report;
use inkstone_base::job::Ctx;
use inkstone_models::{Explanation, ModelHeader, StaticEncoder, component_names};

pub use train::{StaticParams, train};

/// A static encoder, ready for lines of text.
pub(crate) struct FittedStatic {
    header: ModelHeader,
    model: StaticEncoder,
}

impl FittedStatic {
    pub(crate) fn open(folder: &Path) -> Result<FittedStatic> {
        let model = StaticEncoder::open(folder)?;
        let header = ModelHeader {
            kind: StaticEncoder::KIND.to_owned(),
            version: 1,
            fitted_until: model.fitted_until(),
            documents: 0,
            params: json!({}),
        };
        Ok(FittedStatic { header, model })
    }
}

impl Fitted for FittedStatic {
    fn header(&self) -> &ModelHeader {
        &self.header
    }

    fn columns(&self) -> Result<Columns> {
        Ok(Columns::Dense(component_names(self.model.dim())))
    }

    fn rows(&self, lines: &[Line<'_>]) -> Result<Rows> {
        let mut rows = Vec::with_capacity(lines.len() * self.model.dim());
        for line in lines {
            rows.extend(self.model.row(&line.whole())?);
        }
        Ok(Rows::Dense(rows))
    }

    fn explain(&self, line: &Line<'_>, of: Option<&str>) -> Result<Explanation> {
        self.model.explain(&line.whole(), component(of, self.model.dim())?)
    }

    fn word_parts(&self, line: &Line<'_>) -> Option<Vec<(String, Vec<f32>)>> {
        self.model.parts(&line.whole()).ok()
    }

    fn evaluate(&self, lines: &mut Lines, params: &EvalParams, ctx: &Ctx) -> Result<(Figures, Report)> {
        params.no_table(StaticEncoder::KIND)?;
        // A text that cannot be cut counts as one without tokens.
        coverage(lines, ctx, |line| {
            let (tokens, known) = self.model.coverage(&line.whole())?;
            Ok(KnownTokens::new(tokens, known))
        })
    }
}
