//! LSA on plain files: the rows of a vectorizer decomposed, and the fitted model as `eval`, `embed` and `explain` use it.

use std::borrow::Cow;
use std::path::Path;

use anyhow::Result;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::fitted::{Columns, EvalParams, Figures, Fitted, Rows, WordRows};
use crate::fitted::{Opened, figures};
use crate::lines::{Cutter, Line, Lines};
use crate::models::tfidf::plain::fields;
use crate::models::tfidf::{TrainedRows, train_rows};
use crate::standalone::write_rows;
use inkstone_base::data::Report;
use inkstone_base::disk::{self, Formulas};
use inkstone_base::job::Ctx;
use inkstone_models::{
    Analyzer, Explanation, Lsa, ModelHeader, Row, RowsWriter, SvdParams, Vectorizer, VectorizerParams,
};

pub const KIND: &str = Lsa::KIND;

/// Terms by which an evaluation names a component.
const NAMED: usize = 10;

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct LsaParams {
    /// The rows that are decomposed: TF-IDF by default.
    pub vectorizer: VectorizerParams,
    pub svd: SvdParams,
}

/// Fits LSA on all lines, and writes their points to `points`, if that is wanted. Scratch files are made in the folder of
/// `beside`. The report has `documents`, `tokens`,
/// `vocabulary`, `fitted_until`, and of the decomposition `dim`, `explained_variance`, `singular_values`,
/// `singular_value_error`.
pub fn train(
    lines: &mut Lines,
    cutter: &Cutter,
    params: &LsaParams,
    beside: &Path,
    points: Option<&Path>,
    ctx: &Ctx,
) -> Result<(Lsa, Report)> {
    let (vectorizer, rows, mut report) = train_rows(lines, cutter, &params.vectorizer, beside, ctx)?;
    let model = decompose(vectorizer, &rows, &params.svd, beside, ctx)?;
    if let Some(path) = points {
        write_points(&model, &rows, path, ctx)?;
    }
    report.fact("dim", model.dim());
    report.fact("explained_variance", model.explained_variance_ratio().iter().sum::<f64>());
    report.fact("singular_values", model.singular_values());
    report.fact("singular_value_error", model.error());
    Ok((model, report))
}

/// Decomposes the rows that a vectorizer was fitted on.
pub fn decompose(
    vectorizer: Vectorizer,
    rows: &TrainedRows,
    params: &SvdParams,
    beside: &Path,
    ctx: &Ctx,
) -> Result<Lsa> {
    let mut kept = RowsWriter::new(vectorizer.width(), disk::folder_of(beside));
    rows.for_each(&vectorizer, ctx, |_, rows| (0..rows.rows()).try_for_each(|i| kept.push(rows.row(i))))?;
    Lsa::fit(vectorizer, &kept.finish()?, params, ctx)
}

fn write_points(model: &Lsa, rows: &TrainedRows, path: &Path, ctx: &Ctx) -> Result<()> {
    write_rows(path, &Columns::Dense(model.components()), Formulas::Keep, |sink| {
        rows.for_each(model.vectorizer(), ctx, |ids, rows| {
            let points: Vec<Vec<f32>> =
                ctx.install(|| (0..rows.rows()).into_par_iter().map(|i| model.point(rows.row(i))).collect());
            sink.push(ids, &Rows::Dense(points.concat()))
        })
    })
}

impl Fitted for Opened<Lsa, Analyzer> {
    fn header(&self) -> &ModelHeader {
        &self.header
    }

    fn columns(&self) -> Result<Columns> {
        Ok(Columns::Dense(self.model.components()))
    }

    fn rows(&self, lines: &[Line<'_>]) -> Result<Rows> {
        let points = lines.iter().flat_map(|line| self.model.transform(&self.cutter, fields(line)));
        Ok(Rows::Dense(points.collect()))
    }

    fn explain(&self, line: &Line<'_>, of: Option<&str>) -> Result<Explanation> {
        self.model.explain(&self.cutter, fields(line), of)
    }

    fn word_parts(&self, line: &Line<'_>) -> Option<Vec<(String, Vec<f32>)>> {
        let parts = self.model.parts(&self.cutter, fields(line)).into_iter();
        Some(parts.map(|(term, part)| (term.to_owned(), part)).collect())
    }

    fn words(&self) -> Option<WordRows<'_>> {
        let vectors = Cow::Owned(self.model.words());
        Some(WordRows { words: self.model.vectorizer().terms(), vectors, dim: self.model.dim() })
    }

    /// `kept_share` is the squared length of the documents' points divided by the squared length of their rows. `components` are described by their terms.
    fn evaluate(&self, lines: &mut Lines, params: &EvalParams, ctx: &Ctx) -> Result<(Figures, Report)> {
        params.no_table(KIND)?;
        let (mut documents, mut empty, mut row_squares, mut point_squares) = (0u64, 0u64, 0.0, 0.0);
        let squares = |line: &Line<'_>| {
            let row = self.model.vectorizer().transform(&self.cutter, fields(line));
            let (indices, values): (Vec<u32>, Vec<f32>) = row.into_iter().unzip();
            let point = self.model.point(Row { indices: &indices, values: &values });
            let squares = |values: &[f32]| values.iter().map(|&v| f64::from(v) * f64::from(v)).sum::<f64>();
            (squares(&values), squares(&point))
        };
        lines.for_each_document(ctx, squares, |(row, point)| {
            documents += 1;
            empty += u64::from(row == 0.0);
            row_squares += row;
            point_squares += point;
            Ok(())
        })?;
        let singular = self.model.singular_values().iter().zip(self.model.explained_variance_ratio());
        let components = self.model.components().into_iter().zip(singular).enumerate();
        let components = components.map(|(i, (name, (singular, explained)))| {
            let terms = self.model.top_terms(i, NAMED).into_iter().map(|(term, loading)| json!([term, loading]));
            json!({
                "component": name, "singular_value": singular, "explained_variance_ratio": explained,
                "terms": terms.collect::<Vec<_>>(),
            })
        });
        let figures = figures(json!({
            "documents": documents, "empty_documents": empty,
            "kept_share": if row_squares > 0.0 { point_squares / row_squares } else { 0.0 },
            "components": components.collect::<Vec<_>>(),
        }));
        Ok((figures, lines.finish()?))
    }
}
