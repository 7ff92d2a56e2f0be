//! Contextual models on plain files: an export of BERT or its like in `eval`, `embed`, `explain` and `nearest`.
//!
//! A folder of an export or its file .onnx stands where a model file stands for other models. Its text is what its tokenizer reads;
//! models of words (ELMo) have it cut by jieba, or take lines of tokens as they are.

mod eval;
mod explain;
mod mix;
mod pairs;
mod tasks;
#[cfg(test)]
mod tests;
mod write;

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use anyhow::Result;
use serde_json::json;

use crate::fitted::{Columns, EvalParams, Figures, Fitted, Rows};
use crate::lines::{Line, LineFormat, Lines};
use inkstone_base::data::Report;
use inkstone_base::ensure;
use inkstone_base::job::Ctx;
use inkstone_models::{Explanation, ModelHeader, StaticEncoder};
use inkstone_onnx::{Encoder, OnnxParams, Opening, Output, RuntimeParams, WordCutter, is_model_file};
use inkstone_text::{Segmenter, TokenizerParams, Truncation, sentences};

pub(crate) use eval::evaluate_names;
pub use eval::{Examination, fill_masks};
pub use explain::ExplainUnit;
pub use mix::{LearnedMix, train_mix};
pub use pairs::Reranker;
pub(crate) use tasks::right_entities;
pub(crate) use write::{ListedNames, NamedPart, list_names};
pub use write::{generate, list_entities};

/// Bytes of lines read at once. Texts of a block are batched together, so another size moves the last digits.
const BLOCK: usize = 1 << 20;

/// A contextual model and its use.
#[derive(Clone, Debug, Default)]
pub struct Contextual {
    /// The model and its output.
    pub params: OnnxParams,
    /// Truncation, in tokens of the model.
    pub truncation: Truncation,
    pub runtime: RuntimeParams,
    /// The unit that is taken out of a text to explain its score.
    pub unit: ExplainUnit,
    /// Measurement of `eval`; none chooses the one that fits the output.
    pub examination: Option<Examination>,
    /// A second form of the model, whose rows are compared with those of the first.
    pub against: Option<PathBuf>,
    /// The place of the encoder that the file of a head names; none: as the file says.
    pub encoder: Option<PathBuf>,
    /// Folder that the path of the library is relative to.
    pub base: PathBuf,
}

/// True if a path names a contextual model: a folder that is no static encoder, a file .onnx, or weights in safetensors.
pub fn is_onnx(path: &Path) -> bool {
    if path.is_dir() { !StaticEncoder::is_at(path) } else { is_model_file(path) }
}

/// A contextual model. It runs one call after the other; its own threads are within.
pub struct FittedOnnx {
    header: ModelHeader,
    encoder: Mutex<Encoder>,
    columns: Vec<String>,
    using: Contextual,
    format: LineFormat,
    ctx: Ctx,
}

impl FittedOnnx {
    /// Opens the model at `path`.
    pub fn open(path: &Path, using: &Contextual, format: LineFormat, ctx: &Ctx) -> Result<FittedOnnx> {
        let output = using.examination.and_then(Examination::output).unwrap_or(using.params.output);
        let params = OnnxParams { model: path.to_owned(), output, ..using.params.clone() };
        let using = Contextual { params, ..using.clone() };
        let encoder = using.encoder(path, format, ctx)?;
        let header = ModelHeader {
            kind: "onnx".to_owned(),
            version: 1,
            fitted_until: using.params.seen_until(&using.base)?,
            documents: 0,
            params: json!({"onnx": using.params, "truncation": using.truncation, "ran": encoder.ran()}),
        };
        let columns = encoder.columns();
        Ok(FittedOnnx { header, columns, encoder: Mutex::new(encoder), using, format, ctx: ctx.clone() })
    }

    fn encoder(&self) -> MutexGuard<'_, Encoder> {
        self.encoder.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The rows of texts `[texts, columns]`.
    fn values(&self, texts: &[&str], ctx: &Ctx) -> Result<Vec<f32>> {
        Ok(self.encoder().rows(texts, ctx, |done| Ok(ctx.advance(done)?))?.0)
    }

    /// Values as rows with names: with the label that they speak for, where the model has labels.
    fn named(&self, values: Vec<f32>) -> Rows {
        match self.using.params.output {
            Output::Embedding | Output::Weights => Rows::Dense(values),
            Output::Scores => {
                let texts = values.chunks(self.columns.len()).map(|row| self.called(row)).collect();
                Rows::Table { texts, numbers: values.into_iter().map(f64::from).collect() }
            }
            Output::Entities | Output::Surprise | Output::Answer => {
                Rows::Table { texts: Vec::new(), numbers: values.into_iter().map(f64::from).collect() }
            }
        }
    }

    /// The labels that a row speaks for, joined by |: the likeliest, or all that are likelier than not where each stands for itself.
    fn called(&self, row: &[f32]) -> String {
        let labels = || self.columns.iter().zip(row).filter(|(name, _)| *name != "tone");
        if row.iter().any(|value| value.is_nan()) {
            return String::new();
        }
        if self.encoder().labels_stand_alone() {
            let likely: Vec<&str> = labels().filter(|(_, p)| **p > 0.5).map(|(name, _)| name.as_str()).collect();
            return likely.join("|");
        }
        let most = labels().fold(None, |most: Option<(&String, f32)>, (name, &p)| match most {
            Some((_, best)) if best >= p => most,
            _ => Some((name, p)),
        });
        most.map_or(String::new(), |(name, _)| name.clone())
    }
}

impl Contextual {
    pub(crate) fn encoder(&self, path: &Path, format: LineFormat, ctx: &Ctx) -> Result<Encoder> {
        let params = OnnxParams { model: path.to_owned(), ..self.params.clone() };
        Encoder::open(&params, self.truncation, &|| words(format), &self.opening(ctx)?)
    }

    fn opening(&self, ctx: &Ctx) -> Result<Opening<'static>> {
        let runtime = self.runtime.load(&self.base)?;
        Ok(Opening { runtime, device: self.runtime.device, threads: ctx.threads(), base: Path::new("") })
    }
}

/// Words of lines, for models of words.
fn words(format: LineFormat) -> Result<WordCutter> {
    Ok(match format {
        LineFormat::Tokens => WordCutter::Spaces,
        LineFormat::Text | LineFormat::Jsonl => {
            WordCutter::Segmenter(Box::new(Segmenter::new(&TokenizerParams::default(), Path::new(""))?))
        }
    })
}

impl Fitted for FittedOnnx {
    fn header(&self) -> &ModelHeader {
        &self.header
    }

    fn columns(&self) -> Result<Columns> {
        let numbers = self.columns.clone();
        Ok(match self.using.params.output {
            Output::Embedding => Columns::Dense(numbers),
            Output::Weights => Columns::Sparse { width: numbers.len(), names: numbers },
            Output::Scores => Columns::Table { text: Some("label".to_owned()), numbers },
            Output::Entities | Output::Surprise => Columns::Table { text: None, numbers },
            Output::Answer => Columns::Table {
                text: Some("answer".to_owned()),
                numbers: pairs::ANSWER_COLUMNS.map(str::to_owned).to_vec(),
            },
        })
    }

    fn rows(&self, lines: &[Line<'_>]) -> Result<Rows> {
        self.rows_of_lines(lines, &self.ctx, |_| Ok(self.ctx.check()?))
    }

    fn many(&self, lines: &[Line<'_>], ctx: &Ctx) -> Result<Vec<(usize, Rows)>> {
        Ok(vec![(lines.len(), self.rows_of_lines(lines, ctx, |done| Ok(ctx.advance(done)?))?)])
    }

    fn explain(&self, line: &Line<'_>, of: Option<&str>) -> Result<Explanation> {
        explain::explain(self, &line.whole(), of)
    }

    fn range_read(&self, text: &str) -> Result<Range<usize>> {
        let read = self.encoder().spans(text, &self.ctx)?;
        Ok(read.first().map_or(0, |first| first.start)..read.last().map_or(text.len(), |last| last.end))
    }

    fn units(&self, text: &str) -> Result<Vec<Range<usize>>> {
        match self.using.unit {
            ExplainUnit::Sentence => Ok(sentences(text)),
            ExplainUnit::Token => self.encoder().spans(text, &self.ctx),
        }
    }

    fn evaluate(&self, lines: &mut Lines, params: &EvalParams, ctx: &Ctx) -> Result<(Figures, Report)> {
        ensure!(
            params.table.is_none(),
            "上下文模型没有 --per 表；embed 每篇文档写一行",
            "a contextual model has no table --per; embed writes a row a document"
        );
        eval::evaluate(self, lines, ctx)
    }
}
