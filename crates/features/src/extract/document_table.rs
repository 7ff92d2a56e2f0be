//! A feature as a table for other tools: a row a document, with the time from which on its values are known.

use std::path::Path;

use anyhow::{Context, Result};
use chrono::NaiveDateTime;
use polars_core::prelude::{
    Column, DataFrame, DataType, Float32Type, IntoColumn, ListBuilderTrait, ListPrimitiveChunkedBuilder, NamedFrom,
    Series, UInt32Type,
};

use super::set::SetMeta;
use super::times::ModelTimes;
use inkstone_base::data::Report;
use inkstone_base::disk;
use inkstone_base::ensure;
use inkstone_base::job::Ctx;
use inkstone_base::language::Word;
use inkstone_corpus::clean::clean_of_part_without_text;
use inkstone_market::{Calendar, Cutoff};
use inkstone_store::{RowKind, Rows, Set, Values};
use inkstone_tables::corpus::{Parts, texts_column, times_column};
use inkstone_tables::frames;

/// Writes `doc_id`, `published_at`, `known_at` and the columns of a set, a float32 a column, as Parquet; sparse rows are `columns` and
/// `values`, lists of the numbers of columns and of what stands in them. A document without a value has neither `known_at` nor values.
///
/// `days` is needed for sets of walk-forward models, whose folds are of trading days.
pub fn write_document_table(
    set: &Set<'_>,
    clean: &Parts,
    days: Option<(&Calendar, Cutoff)>,
    path: &Path,
    ctx: &Ctx,
) -> Result<Report> {
    let header = set.header();
    let times = ModelTimes::read(header)?;
    let names = SetMeta::read(header)?.columns;
    ensure!(
        days.is_some() || !times.has_folds(),
        "特征 {:?} 的模型按交易日滚动训练，而项目没有行情",
        "feature {:?} is of a model that is walked forward over trading days, and the project has no prices",
        header.spec.name
    );
    let parts = clean.files()?.len();
    ensure!(
        parts == header.batches.len(),
        "特征有 {} 份，语料有 {parts} 份：请重新计算特征（inkstone extract）",
        "the feature has {} parts, the corpus {parts}: compute the features again (inkstone extract)",
        header.batches.len()
    );
    let mut report = Report::new("documents");
    disk::write_atomic(path, |out| {
        let mut writer = None;
        let mut out = Some(out);
        for (part, rows) in set.batches().enumerate() {
            let rows = rows?;
            let documents = clean_of_part_without_text(&clean.path(part))?;
            ensure!(
                documents.len() == rows.len(),
                "第 {part} 份有 {} 篇文档，却有 {} 行",
                "part {part} has {} documents but {} rows",
                documents.len(),
                rows.len()
            );
            let published: Vec<NaiveDateTime> = documents.iter().map(|clean| clean.document.published_at).collect();
            let known = published
                .iter()
                .enumerate()
                .map(|(row, &time)| known_at(&times, time, days).filter(|_| has_value(&rows, row)));
            let mut columns = vec![
                texts_column("doc_id", documents.iter().map(|clean| Some(&clean.document.doc_id))),
                times_column("published_at", published.iter().copied().map(Some))?,
                times_column("known_at", known)?,
            ];
            columns.extend(value_columns(&rows, header.spec.kind, &names)?);
            let frame = DataFrame::new(rows.len(), columns)?;
            if let Some(out) = out.take() {
                writer = Some(frames::parquet_writer(out).batched(frame.schema())?);
            }
            report.rows_in += rows.len() as u64;
            report.rows_out += rows.len() as u64;
            writer
                .as_mut()
                .context(Word("写入器随第一份创建", "a writer is made with the first part"))?
                .write_batch(&frame)?;
            ctx.advance(rows.len() as u64)?;
        }
        writer.context(Word("语料没有文档", "the corpus has no documents"))?.finish()?;
        Ok(())
    })?;
    Ok(report)
}

/// The time from which on the value of a document is known; none outside the calendar, for a model that is walked forward.
fn known_at(times: &ModelTimes, published: NaiveDateTime, days: Option<(&Calendar, Cutoff)>) -> Option<NaiveDateTime> {
    if !times.has_folds() {
        return Some(times.known_at(published, published.date()));
    }
    let (calendar, cutoff) = days?;
    let date = calendar.trade_date(published, cutoff).ok()?;
    Some(times.known_at(published, calendar.dates()[date]))
}

fn has_value(rows: &Rows, row: usize) -> bool {
    match &rows.values {
        Values::Dense { dim, data } => data[row * dim..][..*dim].iter().any(|value| !value.is_nan()),
        Values::Sparse { .. } => rows.sparse_row(row).next().is_some(),
    }
}

fn value_columns(rows: &Rows, kind: RowKind, names: &[String]) -> Result<Vec<Column>> {
    match (&rows.values, kind) {
        (Values::Dense { data, .. }, RowKind::Dense { dim }) => {
            ensure!(
                names.len() == dim,
                "各行有 {dim} 列，而名称只有 {} 个",
                "the rows have {dim} columns, and {} have names",
                names.len()
            );
            let column = |(place, name): (usize, &String)| {
                let values = data.iter().skip(place).step_by(dim).map(|value| (!value.is_nan()).then_some(*value));
                Series::new(name.into(), values.collect::<Vec<Option<f32>>>()).into_column()
            };
            Ok(names.iter().enumerate().map(column).collect())
        }
        _ => {
            let mut columns = ListPrimitiveChunkedBuilder::<UInt32Type>::new(
                "columns".into(),
                rows.len(),
                rows.len(),
                DataType::UInt32,
            );
            let mut values = ListPrimitiveChunkedBuilder::<Float32Type>::new(
                "values".into(),
                rows.len(),
                rows.len(),
                DataType::Float32,
            );
            for row in 0..rows.len() {
                let (places, weights): (Vec<u32>, Vec<f32>) = rows.sparse_row(row).unzip();
                if places.is_empty() {
                    columns.append_null();
                    values.append_null();
                } else {
                    columns.append_slice(&places);
                    values.append_slice(&weights);
                }
            }
            Ok(vec![columns.finish().into_column(), values.finish().into_column()])
        }
    }
}
