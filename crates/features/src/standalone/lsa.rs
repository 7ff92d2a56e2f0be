//! LSA on plain files: the rows of a vectorizer decomposed, and the fitted model as `eval`, `embed` and `explain` use it.

use std::borrow::Cow;
use std::path::Path;

use anyhow::{Context, Result};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::vectorize::{TrainedRows, fields, train_rows};
use super::{Block, Columns, Cutter, EvalParams, Figures, Fitted, Line, Lines, Rows, WordRows, write_rows};
use inkstone_base::data::Report;
use inkstone_base::disk::{self, Formulas};
use inkstone_base::job::Ctx;
use inkstone_models::{
    Analyzer, Explanation, Lsa, ModelFile, ModelHeader, Row, RowsWriter, SvdParams, Vectorizer, VectorizerParams,
};

pub const KIND: &str = Lsa::KIND;

/// Bytes of lines read at once.
const BLOCK: usize = 1 << 22;

/// Terms by which an evaluation names a component.
const NAMED: usize = 10;

/// Parameters of LSA.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct LsaParams {
    /// What is decomposed: TF-IDF by default.
    pub vectorizer: VectorizerParams,
    /// The decomposition.
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

/// A fitted model and the analyzer that its documents are read with.
pub(super) struct FittedLsa {
    header: ModelHeader,
    model: Lsa,
    analyzer: Analyzer,
}

impl FittedLsa {
    pub(super) fn open(file: &ModelFile, cutter: &Cutter) -> Result<FittedLsa> {
        let model = Lsa::read(file)?;
        let analyzer = Analyzer::new(model.vectorizer().params(), cutter.segmenter().cloned())?;
        Ok(FittedLsa { header: file.header().clone(), model, analyzer })
    }
}

impl Fitted for FittedLsa {
    fn header(&self) -> &ModelHeader {
        &self.header
    }

    fn columns(&self) -> Result<Columns> {
        Ok(Columns::Dense(self.model.components()))
    }

    fn rows(&self, lines: &[Line<'_>]) -> Result<Rows> {
        let points = lines.iter().flat_map(|line| self.model.transform(&self.analyzer, fields(line)));
        Ok(Rows::Dense(points.collect()))
    }

    fn explain(&self, line: &Line<'_>, of: Option<&str>) -> Result<Explanation> {
        self.model.explain(&self.analyzer, fields(line), of)
    }

    fn words(&self) -> Option<WordRows<'_>> {
        let vectors = Cow::Owned(self.model.words());
        Some(WordRows { words: self.model.vectorizer().terms(), vectors, dim: self.model.dim() })
    }

    /// How much of the documents the dimensions hold: `kept_share` is the squared length of their points over that of their
    /// rows. And what the dimensions are about.
    fn evaluate(&self, lines: &mut Lines, params: &EvalParams, ctx: &Ctx) -> Result<(Figures, Report)> {
        params.no_table(KIND)?;
        let (mut documents, mut empty, mut of_rows, mut of_points) = (0u64, 0u64, 0.0, 0.0);
        let mut block = Block::default();
        while lines.next_block(&mut block, BLOCK)? {
            let read = lines.documents(&block);
            let measured = ctx.install(|| {
                let measured = read.par_iter().map(|line| {
                    ctx.advance(1)?;
                    let row = self.model.vectorizer().transform(&self.analyzer, fields(line));
                    let square = |v: f32| f64::from(v) * f64::from(v);
                    let (indices, values): (Vec<u32>, Vec<f32>) = row.iter().copied().unzip();
                    let point = self.model.point(Row { indices: &indices, values: &values });
                    let of_point: f64 = point.into_iter().map(square).sum();
                    Ok((row.iter().map(|&(_, v)| square(v)).sum::<f64>(), of_point))
                });
                measured.collect::<Result<Vec<(f64, f64)>>>()
            })?;
            for (row, point) in measured {
                documents += 1;
                empty += u64::from(row == 0.0);
                of_rows += row;
                of_points += point;
            }
        }
        let singular = self.model.singular_values().iter().zip(self.model.explained_variance_ratio());
        let components = self.model.components().into_iter().zip(singular).enumerate();
        let components = components.map(|(i, (name, (singular, explained)))| {
            let terms = self.model.top_terms(i, NAMED).into_iter().map(|(term, loading)| json!([term, loading]));
            json!({
                "component": name, "singular_value": singular, "explained_variance_ratio": explained,
                "terms": terms.collect::<Vec<_>>(),
            })
        });
        let figures = json!({
            "documents": documents, "empty_documents": empty,
            "kept_share": if of_rows > 0.0 { of_points / of_rows } else { 0.0 },
            "components": components.collect::<Vec<_>>(),
        });
        Ok((figures.as_object().cloned().context("figures are an object")?, lines.finish()?))
    }
}
