//! Feature sets: what identifies one, what is noted beside its rows, and how its batches are written.

use anyhow::{Context, Result};
use chrono::NaiveDateTime;
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::inputs::InputMeta;
use super::reading::{CorpusReader, ReadDocument};
use super::steps::StepReport;
use super::{Feature, VERSION};
use inkstone_base::data::{Key, Report};
use inkstone_base::job::Ctx;
use inkstone_base::message;
use inkstone_models::FoldReport;
use inkstone_store::{Header, RowKind, Rows, SetSpec, Writer};

/// The parameter of a set that names the features of its condition.
const CONDITION: &str = "condition";

/// Everything besides the text that can change a row of a set. Its JSON is part of the set's id.
pub(crate) struct SetParams {
    params: Value,
    /// For a feature that reads written texts, or words of a trained segmenter: the last time of the text that the writing model or the
    /// segmenter was trained on.
    text_until: Option<NaiveDateTime>,
}

impl SetParams {
    /// Parameters of a feature whose rows depend on its own settings alone.
    pub(crate) fn new(reader: &CorpusReader<'_>) -> SetParams {
        let mut params = json!({"version": VERSION, "feature": reader.feature.identity()});
        let rewrite = reader.inputs.rewrite;
        if let Some(rewrite) = rewrite {
            params["rewrite"] = json!(rewrite.identity);
        }
        if !reader.gate.inputs().is_empty() {
            params[CONDITION] = json!(reader.gate.inputs());
        }
        SetParams { params, text_until: rewrite.map(|rewrite| rewrite.fitted_until) }
    }

    /// Parameters of a feature that reads words.
    pub(crate) fn of_words(reader: &CorpusReader<'_>) -> SetParams {
        let params = SetParams::new(reader).with("segmenter", reader.segmenter.key());
        // A trained segmenter knows words of the text that it was trained on.
        SetParams { text_until: params.text_until.max(reader.segmenter.fitted_until()), ..params }
    }

    /// Parameters of a feature whose model is fitted on the corpus.
    pub(crate) fn of_corpus(reader: &CorpusReader<'_>) -> SetParams {
        SetParams::of_words(reader).with("corpus", reader.inputs.corpus)
    }

    /// Parameters of a feature whose model is fitted on the corpus and on returns.
    pub(crate) fn of_returns(reader: &CorpusReader<'_>) -> SetParams {
        SetParams::of_corpus(reader).with("prices", reader.inputs.prices).with("cutoff", reader.inputs.cutoff)
    }

    pub(crate) fn with(mut self, name: &str, value: impl Serialize) -> SetParams {
        self.params[name] = json!(value);
        self
    }

    /// The set of a feature whose columns are numbers.
    pub(crate) fn dense(self, feature: &Feature, fitted_until: Option<NaiveDateTime>) -> SetSpec {
        self.spec(feature, RowKind::Dense { dim: feature.columns().len() }, fitted_until)
    }

    pub(crate) fn spec(self, feature: &Feature, kind: RowKind, fitted_until: Option<NaiveDateTime>) -> SetSpec {
        let fitted_until = fitted_until.max(self.text_until);
        SetSpec { name: feature.name.clone(), kind, params: self.params, fitted_until }
    }
}

/// Metadata of a feature set, kept beside its rows.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct SetMeta {
    /// Names of the columns; empty for sparse rows.
    pub columns: Vec<String>,
    /// `lsa`: the singular value of each component.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub singular_values: Option<Vec<f64>>,
    /// `tfidf`: the term of each column of a sparse row; empty for hashed terms.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vocabulary: Option<Vec<Box<str>>>,
    /// Models that are walked forward: what each fold saw.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub folds: Option<Vec<FoldReport>>,
    /// `induced`, `sestm`: the words of each fold; null for a fold without a model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub words: Option<Value>,
    /// `textcnn`, `textrnn`: the training of each fold's network.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub networks: Option<Value>,
    /// Models of past documents: the model of each step.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub windows: Option<Vec<StepReport>>,
    /// `clusters`: the themes of the last step, with their documents and words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub themes: Option<Value>,
    /// Models that learn on the rows of other features: these features.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub inputs: Option<Vec<InputMeta>>,
    /// The batches of parts whose rows depend on the part alone, each with the key of what the part was read from.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) sources: Vec<(Key, Key)>,
    /// `onnx`: the runtime and device that the model ran on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ran: Option<Value>,
}

impl SetMeta {
    /// Column names and nothing else.
    pub(crate) fn of_columns(columns: Vec<String>) -> SetMeta {
        SetMeta { columns, ..SetMeta::default() }
    }

    /// The features that the condition of a set's feature reads.
    pub(crate) fn condition_of(header: &Header) -> Result<Vec<InputMeta>> {
        let inputs = header.spec.params.get(CONDITION).map(Vec::<InputMeta>::deserialize).transpose();
        Ok(inputs
            .with_context(|| {
                message!("特征 {:?} 的参数无法读取", "the parameters of feature {:?} are unreadable", header.spec.name)
            })?
            .unwrap_or_default())
    }

    /// Reads what a set notes.
    pub fn read(header: &Header) -> Result<SetMeta> {
        SetMeta::deserialize(&header.meta).with_context(|| {
            message!(
                "特征 {:?} 的附注无法读取：请重新计算（inkstone extract）",
                "the notes of feature {:?} are unreadable: compute it again (inkstone extract)",
                header.spec.name
            )
        })
    }
}

/// The parts of a corpus as batches of a set.
#[derive(Default)]
pub(crate) struct Batches {
    /// Key of each batch, and the keys of its rows.
    batches: Vec<(Key, Vec<Key>)>,
}

impl Batches {
    pub(crate) fn push(&mut self, documents: &[ReadDocument]) {
        self.batches.push((key_of(documents), row_keys(documents)));
    }

    /// The key of each batch.
    pub(crate) fn keys(&self) -> Vec<Key> {
        self.batches.iter().map(|(batch, _)| *batch).collect()
    }

    /// Number of rows of each batch.
    pub(crate) fn sizes(&self) -> impl Iterator<Item = usize> {
        self.batches.iter().map(|(_, keys)| keys.len())
    }

    /// A value of NaN for each of the `dim` columns of each row, batch by batch.
    pub(crate) fn empty_rows(&self, dim: usize) -> Vec<Vec<f32>> {
        self.sizes().map(|rows| vec![f32::NAN; dim * rows]).collect()
    }

    /// Writes the batches that are not there yet; `rows` gives the values `[rows, dim]` of a batch. Returns the order of the batches.
    pub(crate) fn write(
        &self,
        writer: &Writer<'_>,
        dim: usize,
        mut rows: impl FnMut(usize) -> Vec<f32>,
        ctx: &Ctx,
    ) -> Result<Vec<Key>> {
        for (number, (batch, keys)) in self.batches.iter().enumerate() {
            ctx.check()?;
            if !writer.has(*batch)? {
                writer.put(*batch, &Rows::dense(keys.clone(), dim, rows(number)))?;
            }
        }
        Ok(self.keys())
    }
}

/// The key under which the rows of a part are stored: which documents, and what is read of each.
pub(crate) fn key_of(documents: &[ReadDocument]) -> Key {
    Key::of_parts(documents.iter().flat_map(|document| [document.doc_id.as_bytes(), document.key.0.as_slice()]))
}

pub(crate) fn row_keys(documents: &[ReadDocument]) -> Vec<Key> {
    documents.iter().map(|document| document.key).collect()
}

/// The batches of a corpus that were written.
#[derive(Default)]
pub(crate) struct WrittenParts {
    pub(crate) order: Vec<Key>,
    /// As in [`SetMeta::sources`].
    pub(crate) sources: Vec<(Key, Key)>,
    /// Documents of parts whose rows were there.
    pub(crate) kept: u64,
}

/// Writes the rows of the corpus part by part; `rows` gives those of a part, by its number and its documents, that an earlier run did not finish. A part that is as it was
/// when the set was finished is not read. `halved` says that half of the progress was counted in an earlier pass.
pub(crate) fn write_parts(
    reader: &CorpusReader<'_>,
    writer: &Writer<'_>,
    halved: bool,
    report: &mut Report,
    mut rows: impl FnMut(usize, &[ReadDocument]) -> Result<Rows>,
) -> Result<WrittenParts> {
    let mut written = WrittenParts::default();
    let known: FxHashMap<Key, (Key, u64)> = match writer.finished() {
        Some(header) => {
            let rows: FxHashMap<Key, u64> = header.batches.iter().map(|batch| (batch.key, batch.record.rows)).collect();
            let sources = SetMeta::read(&header)?.sources;
            sources.into_iter().filter_map(|(source, batch)| Some((source, (batch, *rows.get(&batch)?)))).collect()
        }
        None => FxHashMap::default(),
    };
    for part in 0..reader.inputs.clean.files()?.len() {
        let source = reader.source_of(part)?;
        let same = source.and_then(|source| known.get(&source)).copied();
        let (key, count) = match same {
            Some((key, count)) if writer.has(key)? => {
                written.kept += count;
                (key, count)
            }
            _ => {
                let documents = reader.part(part)?;
                let (key, count) = (key_of(&documents), documents.len() as u64);
                match writer.has(key)? {
                    true => written.kept += count,
                    false => writer.put(key, &rows(part, &documents)?)?,
                }
                documents
                    .iter()
                    .filter_map(|document| document.shut_out)
                    .for_each(|reason| report.drop_rows(reason, 1));
                (key, count)
            }
        };
        written.order.push(key);
        written.sources.extend(source.map(|source| (source, key)));
        report.rows_in += count;
        reader.ctx.advance(count - if halved { count / 2 } else { 0 })?;
    }
    report.rows_out = report.rows_in - report.dropped_rows();
    Ok(written)
}

/// Finishes a set, and notes how many of its batches an earlier run had left.
pub(crate) fn finish(writer: Writer<'_>, order: &[Key], meta: &SetMeta, mut report: Report) -> Result<(Key, Report)> {
    report.fact("batches", order.len());
    report.fact("batches_kept", writer.kept());
    Ok((writer.finish(order, serde_json::to_value(meta)?)?.id(), report))
}
