//! A fitted model of any kind, read from its file, and the rows that it gives documents.
//!
//! `eval`, `embed`, `explain` and features of a project know only [`Fitted`]. A new kind of model implements it, in most cases for
//! [`Opened`], and has a line in the registry, `models::open`.

mod rows;

use std::ops::Range;
use std::path::PathBuf;

use anyhow::{Context, Result};
use chrono::{NaiveDate, NaiveDateTime, NaiveTime};
use rayon::prelude::*;
use serde::Serialize;
use serde_json::{Map, Value};

pub use rows::{Columns, Rows, WordRows};

use crate::lines::{Cutter, Line, Lines};
use inkstone_base::data::Report;
use inkstone_base::disk::Formulas;
use inkstone_base::job::Ctx;
use inkstone_base::{bail, ensure, message};
use inkstone_models::ngram::{Following, GeneratedText, SampleParams};
use inkstone_models::{Analyzer, Explanation, ModelFile, ModelHeader, VectorizerParams};
use inkstone_text::sentences;

/// Documents that one thread turns into rows between two checks for cancellation.
const CHUNK: usize = 64;

/// A fitted model of any kind, ready for lines of one format.
pub trait Fitted: Send + Sync {
    fn header(&self) -> &ModelHeader;

    /// Name in `inkstone train`: the kind, or the model of this kind.
    fn name(&self) -> &str {
        &self.header().kind
    }

    fn columns(&self) -> Result<Columns>;

    /// The rows of some documents. Called from several threads at once.
    fn rows(&self, lines: &[Line<'_>]) -> Result<Rows>;

    /// The rows of many documents, chunk by chunk in order, each with its number of documents; by default shared among the
    /// threads of the run.
    fn many(&self, lines: &[Line<'_>], ctx: &Ctx) -> Result<Vec<(usize, Rows)>> {
        let rows = |chunk: &[Line<'_>]| {
            ctx.advance(chunk.len() as u64)?;
            Ok((chunk.len(), self.rows(chunk)?))
        };
        ctx.install(|| lines.par_chunks(CHUNK).map(rows).collect())
    }

    /// The part of each token in a document's score; `of` names the class or component, where there are several.
    fn explain(&self, line: &Line<'_>, of: Option<&str>) -> Result<Explanation>;

    /// The part of each different word in the dense row of a document, `[columns]`; they sum to the row. None where a row is no sum over
    /// words.
    fn word_parts(&self, _line: &Line<'_>) -> Option<Vec<(String, Vec<f32>)>> {
        None
    }

    /// True if [`Fitted::explain`] leaves out sentences and scores the rest, as the model reads a text as a whole.
    fn explains_by_omission(&self) -> bool {
        false
    }

    /// Bytes of a text from the first to the last that the model reads.
    fn range_read(&self, text: &str) -> Result<Range<usize>> {
        Ok(0..text.len())
    }

    /// Units of a text that are left out to see what its score loses.
    fn units(&self, text: &str) -> Result<Vec<Range<usize>>> {
        Ok(sentences(text))
    }

    /// Vectors of words, where the model has them.
    fn words(&self) -> Option<WordRows<'_>> {
        None
    }

    /// A vector for a word that is not among [`Fitted::words`], where the model makes it of the word's characters.
    fn made_vector(&self, _word: &str) -> Option<Vec<f32>> {
        None
    }

    /// The `k` words that most probably follow a text; none if the model cannot predict words.
    fn following(&self, _text: &str, _k: usize, _ctx: &Ctx) -> Option<Result<Following>> {
        None
    }

    /// Draws texts from the model; `None` if the model cannot predict words.
    fn sample(&self, _params: &SampleParams, _ctx: &Ctx) -> Option<Result<Vec<GeneratedText>>> {
        None
    }

    /// Measures the model on documents, and writes the table that `params` ask for.
    fn evaluate(&self, lines: &mut Lines, params: &EvalParams, ctx: &Ctx) -> Result<(Figures, Report)>;
}

/// Figures under their names, in order.
pub type Figures = Map<String, Value>;

/// The place of a class that the user names with `--of`.
pub(crate) fn place_of_class(names: &[String], name: &str) -> Result<usize> {
    ensure!(
        !names.is_empty(),
        "该模型估计数值：没有类别可由 --of 指定",
        "the model estimates a value: there is no class to name with --of"
    );
    names.iter().position(|known| known == name).with_context(|| {
        message!(
            "模型不认识类别 {name:?}；它认识 {}",
            "the model knows no class {name:?}; it knows {}",
            names.join(", ")
        )
    })
}

/// The figures that a JSON object names.
pub(super) fn figures(object: Value) -> Figures {
    if let Value::Object(figures) = object { figures } else { Figures::new() }
}

/// The time of day at which a date without a time is known.
pub(crate) const END_OF_DAY: NaiveTime = NaiveTime::from_hms_opt(23, 59, 59).expect("23:59:59 is a time of day");

/// The last time of the data that a model was fitted on: as its header says, or the day that the user states. Fails, with the name of the
/// user's `setting`, if neither says it or if the user's day is too early.
pub(crate) fn fitted_until(
    header: &ModelHeader,
    stated: Option<NaiveDate>,
    model: &str,
    setting: &str,
) -> Result<NaiveDateTime> {
    let stated = stated.map(|day| day.and_time(END_OF_DAY));
    // The labels of a head are known even where its encoder does not say what it saw.
    let labelled: Option<NaiveDateTime> =
        header.params.get("labelled_until").and_then(|time| serde_json::from_value(time.clone()).ok());
    let trained = header.fitted_until.or(labelled.filter(|_| stated.is_some()));
    match (trained, stated) {
        (None, None) => bail!(
            "{model} 没有说明训练文本截至何时；由将来的词算出的值会显得过早已知：请把 {setting} 设为该文本的最后一天",
            "{model} does not say how far the text reaches that its model was trained on, and a value made of words of the future would be known before its time: set {setting} to the last day of that text"
        ),
        (Some(trained), Some(stated)) if stated < trained => {
            bail!(
                "{setting} 写的是 {stated}，但 {model} 的训练文本截至 {trained}：请去掉该设置",
                "{setting} says {stated}, but {model} was trained on text until {trained}: leave it out"
            )
        }
        _ => Ok(trained.max(stated).unwrap_or_default()),
    }
}

/// A model read from its file, with the cutter or analyzer that its documents are read with.
pub(super) struct Opened<M, C = Cutter> {
    pub(super) header: ModelHeader,
    pub(super) model: M,
    pub(super) cutter: C,
}

impl<M, C> Opened<M, C> {
    pub(super) fn new(file: &ModelFile, model: M, cutter: C) -> Opened<M, C> {
        Opened { header: file.header().clone(), model, cutter }
    }
}

impl<M> Opened<M, Analyzer> {
    /// A model on rows of a vectorizer with these parameters.
    pub(super) fn of_rows(
        file: &ModelFile,
        model: M,
        params: &VectorizerParams,
        cutter: &Cutter,
    ) -> Result<Opened<M, Analyzer>> {
        Ok(Opened::new(file, model, Analyzer::new(params, cutter.segmenter().cloned())?))
    }
}

/// The rows of a table of an evaluation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Per {
    /// A row a document.
    Document,
    /// A row a token.
    Token,
}

/// Parameters of an evaluation.
#[derive(Clone, Debug, Default)]
pub struct EvalParams {
    /// A table besides the figures: its rows, and the file, whose name says the format.
    pub table: Option<(Per, PathBuf)>,
    /// Treatment of texts in that table, where it is CSV, that a spreadsheet would compute.
    pub csv_formulas: Formulas,
}

impl EvalParams {
    /// Fails when a table is wanted: for models that have none.
    pub(crate) fn no_table(&self, kind: &str) -> Result<()> {
        ensure!(
            self.table.is_none(),
            "{kind} 模型没有 --per 表；embed 每篇文档写一行",
            "a {kind} model has no table --per; embed writes a row a document"
        );
        Ok(())
    }
}
