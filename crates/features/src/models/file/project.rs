//! Rows by the model of a file: any that `inkstone train` writes, and files in the formats of KenLM, word2vec and fastText.
//!
//! A document is cut as the model's own text was, or by `[tokenizer]` where the file does not say how that was, and its row is the one
//! that `inkstone embed` gives its text; texts among the columns, such as the name of a class, are left out. A row depends on the file and
//! on its own text alone, so finished parts are never computed again. All values are known from the last time of what the model saw on.

use std::path::Path;

use anyhow::{Context, Result};
use rayon::prelude::*;
use serde_json::json;

use super::params::FileParams;
use crate::extract::entry::{ColumnNames, Explainer, ModelEntry, RowModel};
use crate::extract::part_model::{PartModel, RowsOfPart};
use crate::extract::reading::{CorpusReader, ReadDocument};
use crate::extract::set::{SetMeta, SetParams, finish, key_of, row_keys};
use crate::extract::text_rows::TextRows;
use crate::extract::{Feature, Inputs};
use crate::fitted::{self, Columns, Fitted};
use crate::lines::Line;
use crate::models::head::model_key;
use crate::models::onnx::Contextual;
use crate::models::open::{ProjectModel, encoder_key, keys_of_cut, open_for_project};
use inkstone_base::data::{Key, Report};
use inkstone_base::job::Ctx;
use inkstone_base::language::Word;
use inkstone_base::{bail, ensure, message};
use inkstone_corpus::truncate::combine;
use inkstone_onnx::OnnxParams;
use inkstone_store::{RowKind, Rows, Store};
use inkstone_text::Segmenter;

/// Documents that one thread turns into rows between two checks for cancellation.
const CHUNK: usize = 64;

impl FileParams {
    /// The key of the file, of the dictionaries that its text was cut with, and of the encoder of a head.
    pub fn files_key(&self, base: &Path) -> Result<Key> {
        let (path, encoder) = (base.join(&self.path), self.encoder_at(base));
        let mut keys = vec![model_key(&path, &OnnxParams::default())?];
        keys.extend(keys_of_cut(&path, encoder.as_deref(), base)?);
        keys.extend(encoder_key(&path, encoder.as_deref())?);
        Ok(Key::of_json(&keys))
    }
}

/// The model of a feature, ready for the documents of its project.
pub(crate) fn open(feature: &Feature, inputs: &Inputs<'_>, ctx: &Ctx) -> Result<ProjectModel> {
    feature.file.check()?;
    let path = inputs.base.join(&feature.file.path);
    let using = Contextual {
        runtime: inputs.onnx.clone(),
        base: inputs.base.to_owned(),
        encoder: feature.file.encoder_at(inputs.base),
        ..Contextual::default()
    };
    open_for_project(&path, inputs.tokenizer, inputs.base, &using, ctx)
        .with_context(|| message!("特征 {:?} 无法读取 {}", "feature {:?} cannot read {}", feature.name, path.display()))
}

/// Fails if the file of a feature gives no such column.
pub fn check_file_columns(feature: &Feature, wanted: &[String], inputs: &Inputs<'_>, ctx: &Ctx) -> Result<()> {
    if wanted.is_empty() {
        return Ok(());
    }
    let (name, path) = (&feature.name, feature.file.path.display());
    let columns = open(feature, inputs, ctx)?.model.columns()?;
    let Some(known) = number_columns(&columns) else {
        bail!(
            "特征 {name:?} 的行是稀疏的，{path} 给出的就是如此；因子需要带得分的模型",
            "feature {name:?} has sparse rows, as {path} gives them; a factor needs a model with a score"
        );
    };
    match wanted.iter().find(|column| !known.contains(column)) {
        Some(column) => bail!(
            "特征 {name:?} 没有列 {column:?}；{path} 有 {}",
            "feature {name:?} has no column {column:?}; {path} has {}",
            known.join(", ")
        ),
        None => Ok(()),
    }
}

/// The names of the columns that are numbers; none for sparse rows.
pub(crate) fn number_columns(columns: &Columns) -> Option<&[String]> {
    match columns {
        Columns::Sparse { .. } => None,
        Columns::Dense(names) | Columns::Table { numbers: names, .. } => Some(names),
    }
}

pub(crate) const ENTRY: ModelEntry = ModelEntry {
    columns: ColumnNames::InFile(|_, _| true),
    explained_by: Explainer::WordsOfFile,
    opened: RowModel::Files(row_model),
    part_model: Some(part_model),
    combines_windows: true,
    settings: &["file"],
    check: |feature| feature.file.check(),
    ..ModelEntry::of_texts(run)
};

fn run(feature: &Feature, inputs: &Inputs<'_>, store: &Store, ctx: &Ctx) -> Result<(Key, Report)> {
    let mut report = Report::new(&feature.name);
    let PartModel { reader, spec, meta, facts, mut rows, .. } = part_model(feature, inputs, ctx)?;
    let writer = store.writer(&spec)?;
    let (mut order, mut kept) = (Vec::new(), 0);
    reader.for_each_part(|documents| {
        let (key, count) = (key_of(documents), documents.len() as u64);
        let read = documents.iter().filter(|document| document.text.is_some()).count() as u64;
        report.rows_in += count;
        report.rows_out += read;
        report.drop_rows("of a kind that is not read, or of which truncation keeps nothing", count - read);
        order.push(key);
        if writer.has(key)? {
            kept += count;
            return Ok(ctx.advance(count)?);
        }
        writer.put(key, &rows.rows(documents, &reader)?)
    })?;
    facts.into_iter().for_each(|(name, fact)| report.fact(name, fact));
    report.fact("kept_from_before", kept);
    finish(writer, &order, &meta, report)
}

fn part_model<'a>(feature: &'a Feature, inputs: &'a Inputs<'a>, ctx: &'a Ctx) -> Result<PartModel<'a>> {
    let ProjectModel { model, segmenter, own_cut } = open(feature, inputs, ctx)?;
    let fitted_until = feature
        .file
        .fitted_until(model.header())
        .with_context(|| message!("特征 {:?}", "feature {:?}", feature.name))?;
    let columns = model.columns()?;
    let kind = match number_columns(&columns) {
        Some(names) => RowKind::Dense { dim: names.len() },
        None => RowKind::Sparse,
    };
    ensure!(
        kind != RowKind::Sparse || feature.truncate.over().is_none(),
        "特征 {:?}：truncate = {:?} 把各窗口的行合成一行，而 {} 给出稀疏的行；请用不分窗口的策略",
        "feature {:?}: truncate = {:?} makes one row of the rows of windows, and {} gives sparse rows; take a strategy without windows",
        feature.name,
        feature.truncate.to_string(),
        feature.file.path.display()
    );
    let reader = CorpusReader::with_segmenter(feature, inputs, segmenter, ctx)?;
    let params = SetParams::of_words(&reader).with("model", feature.file.files_key(inputs.base)?);
    let spec = params.spec(feature, kind, Some(fitted_until));
    let mut facts = vec![
        ("model", json!(model.name())),
        ("fitted_until", json!(fitted_until)),
        ("cut_by", json!(if own_cut { "the model's own tokenizer" } else { "[tokenizer]" })),
    ];
    facts.extend(model.header().params.get("ran").map(|ran| ("ran", ran.clone())));
    let meta = match columns {
        Columns::Sparse { names, .. } => {
            SetMeta { vocabulary: Some(names.into_iter().map(String::into_boxed_str).collect()), ..SetMeta::default() }
        }
        Columns::Dense(names) | Columns::Table { numbers: names, .. } => SetMeta::of_columns(names),
    };
    Ok(PartModel { reader, spec, meta, facts, limit: None, rows: Box::new(FileRows { model, kind }) })
}

/// The model of a file, and the shape of its rows.
struct FileRows {
    model: Box<dyn Fitted>,
    kind: RowKind,
}

impl RowsOfPart for FileRows {
    fn rows(&mut self, documents: &[ReadDocument], reader: &CorpusReader<'_>) -> Result<Rows> {
        match self.kind {
            RowKind::Dense { dim } => dense(&*self.model, dim, documents, reader),
            RowKind::Sparse => sparse(&*self.model, documents, reader.ctx),
        }
    }
}

/// The dense rows of a part; NaN for a document that is not read.
fn dense(model: &dyn Fitted, dim: usize, documents: &[ReadDocument], reader: &CorpusReader<'_>) -> Result<Rows> {
    let over = reader.feature.truncate.over().unwrap_or_default();
    let chunk = |documents: &[ReadDocument]| -> Result<Vec<f32>> {
        reader.ctx.advance(documents.len() as u64)?;
        let lines: Vec<Line<'_>> = documents.iter().flat_map(lines).collect();
        let mut data = vec![f32::NAN; documents.len() * dim];
        if lines.is_empty() {
            return Ok(data);
        }
        let rows = numbers(model.rows(&lines)?)?;
        let mut rows = rows.chunks(dim);
        for (document, out) in documents.iter().zip(data.chunks_mut(dim)) {
            let windows = document.windows.iter().zip(rows.by_ref()).map(|((_, weight), row)| (row, *weight));
            let windows: Vec<(&[f32], f64)> = windows.collect();
            if !windows.is_empty() {
                combine(over, &windows, out);
            } else if document.text.is_some() {
                out.copy_from_slice(rows.next().context(Word("文本应有一行", "a text has a row"))?);
            }
        }
        Ok(data)
    };
    let rows = reader.ctx.install(|| documents.par_chunks(CHUNK).map(chunk).collect::<Result<Vec<Vec<f32>>>>())?;
    Ok(Rows::dense(row_keys(documents), dim, rows.concat()))
}

/// The sparse rows of a part; empty for a document that is not read.
fn sparse(model: &dyn Fitted, documents: &[ReadDocument], ctx: &Ctx) -> Result<Rows> {
    let chunk = |documents: &[ReadDocument]| -> Result<fitted::Rows> {
        ctx.advance(documents.len() as u64)?;
        model.rows(&documents.iter().flat_map(lines).collect::<Vec<_>>())
    };
    let chunks = ctx.install(|| documents.par_chunks(CHUNK).map(chunk).collect::<Result<Vec<_>>>())?;
    let (mut indptr, mut indices, mut values) = (vec![0], Vec::new(), Vec::new());
    for (documents, rows) in documents.chunks(CHUNK).zip(chunks) {
        let fitted::Rows::Sparse(rows) = rows else {
            bail!("行的种类与列不符", "rows of another kind than their columns")
        };
        let mut next = 0..rows.rows();
        for document in documents {
            if let Some(row) = document.text.as_ref().and_then(|_| next.next()).map(|row| rows.row(row)) {
                indices.extend_from_slice(row.indices);
                values.extend_from_slice(row.values);
            }
            indptr.push(indices.len());
        }
    }
    Ok(Rows::sparse(row_keys(documents), indptr, indices, values))
}

/// The texts of a document that a model reads: its windows, else the whole; none of a document that is not read.
fn lines(document: &ReadDocument) -> Vec<Line<'_>> {
    if document.windows.is_empty() {
        return whole_line(document).into_iter().collect();
    }
    document.windows.iter().map(|(text, _)| Line { text: text.as_str().into(), ..Line::default() }).collect()
}

/// The whole text of a document; none of one that is not read.
pub(crate) fn whole_line(document: &ReadDocument) -> Option<Line<'_>> {
    let fields = document.fields()?;
    // A line break stands between title and body.
    let body = fields.body.strip_prefix('\n').unwrap_or(fields.body);
    Some(Line { title: fields.title.into(), text: body.into(), ..Line::default() })
}

/// The numbers of dense rows, row after row.
pub(crate) fn numbers(rows: fitted::Rows) -> Result<Vec<f32>> {
    match rows {
        fitted::Rows::Dense(values) => Ok(values),
        fitted::Rows::Table { numbers, .. } => Ok(numbers.into_iter().map(|number| number as f32).collect()),
        fitted::Rows::Sparse(_) => bail!("行的种类与列不符", "rows of another kind than their columns"),
    }
}

/// The model of a feature's file as a model of rows.
fn row_model(feature: &Feature, inputs: &Inputs<'_>, ctx: &Ctx) -> Result<(Box<dyn TextRows>, Segmenter)> {
    let ProjectModel { model, segmenter, .. } = open(feature, inputs, ctx)?;
    Ok((Box::new(model), segmenter))
}

/// The rows of documents `[documents, columns]`.
pub(crate) fn text_rows(model: &dyn Fitted, documents: &[ReadDocument]) -> Result<Vec<f32>> {
    let lines: Vec<Line<'_>> = documents.iter().filter_map(whole_line).collect();
    numbers(model.rows(&lines)?)
}

impl TextRows for Box<dyn Fitted> {
    fn document_rows(&mut self, documents: &[ReadDocument], _: &CorpusReader<'_>) -> Result<Vec<f32>> {
        text_rows(&**self, documents)
    }

    fn document_parts(&self, document: &ReadDocument, _: &CorpusReader<'_>) -> Option<Vec<(String, Vec<f32>)>> {
        match self.columns().ok()? {
            Columns::Dense(_) => self.word_parts(&whole_line(document)?),
            Columns::Sparse { .. } | Columns::Table { .. } => None,
        }
    }
}

#[cfg(test)]
mod tests;
