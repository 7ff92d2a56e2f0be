//! A fitted model of any kind, and the registry that reads one from its file.
//!
//! `eval`, `embed` and `explain` know only [`Fitted`]. A new kind of model implements it, in most cases for [`Opened`], and has a line in
//! [`open`].

use std::path::{Path, PathBuf};

use anyhow::{Result, bail, ensure};
use rayon::prelude::*;
use serde::Serialize;
use serde_json::{Map, Value};

use super::ngram_eval::FittedNgram;
use super::{
    Columns, CutSpec, Cutter, Line, LineFormat, Lines, Rows, WordRows, classify, fasttext, neural, textnet, tone,
    vectors,
};
use inkstone_base::data::Report;
use inkstone_base::disk::Formulas;
use inkstone_base::job::Ctx;
use inkstone_models::ngram::{Following, LanguageModel, is_arpa, read_arpa};
use inkstone_models::textnet::TextNet;
use inkstone_models::{
    Analyzer, Doc2vec, Explanation, FastText, Lsa, ModelFile, ModelHeader, Pooling, Sestm, Vectorizer,
    VectorizerParams, WordVectors, is_fasttext, is_vectors, read_vectors,
};
use inkstone_text::TokenizerParams;

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

    /// Measures the model on documents, and writes the table that `params` ask for.
    fn evaluate(&self, lines: &mut Lines, params: &EvalParams, ctx: &Ctx) -> Result<(Figures, Report)>;
}

/// Figures under their names, in order.
pub type Figures = Map<String, Value>;

/// The figures that a JSON object names.
pub(super) fn figures(object: Value) -> Figures {
    if let Value::Object(figures) = object { figures } else { Figures::new() }
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
    pub fn no_table(&self, kind: &str) -> Result<()> {
        ensure!(self.table.is_none(), "a {kind} model has no table --per; embed writes a row a document");
        Ok(())
    }
}

/// The format of the lines that a model reads, where the user gives none: as the name of the file says, else as in training.
fn format_for(file: &ModelFile, given: Option<LineFormat>, input: Option<&Path>) -> LineFormat {
    let trained = || serde_json::from_value(file.header().params["cut"]["format"].clone()).unwrap_or_default();
    given.or_else(|| input.and_then(LineFormat::by_name)).unwrap_or_else(trained)
}

/// Makes a model ready for lines of a format, which is chosen as `format_for` does where none is `given`. A language model may
/// be an ARPA file, word vectors may be in the formats of word2vec, and fastText's own files are read; their text is taken as tokens unless the format says
/// otherwise. Dictionaries are read relative to `base`.
pub fn open_model(
    path: &Path,
    given: Option<LineFormat>,
    input: Option<&Path>,
    base: &Path,
    ctx: &Ctx,
) -> Result<(Box<dyn Fitted>, LineFormat)> {
    let (arpa, vectors, fasttext) = (is_arpa(path)?, is_vectors(path)?, is_fasttext(path)?);
    if !arpa && !vectors && !fasttext {
        let file = ModelFile::open(path)?;
        let format = format_for(&file, given, input);
        return Ok((open(file, format, base)?, format));
    }
    let format = given.or_else(|| input.and_then(LineFormat::by_name)).unwrap_or(LineFormat::Tokens);
    let cutter = Cutter::new(CutSpec::new(format, TokenizerParams::default()), base)?;
    let model: Box<dyn Fitted> = match (arpa, fasttext) {
        (true, _) => Box::new(FittedNgram { model: read_arpa(path, ctx)?, cutter }),
        (_, true) => Box::new(fasttext::foreign(FastText::open(path)?, cutter)),
        _ => Box::new(vectors::foreign(read_vectors(path)?, cutter)),
    };
    Ok((model, format))
}

/// Makes a model ready for lines of this format. Dictionaries that it cuts with are read relative to `base`.
fn open(file: ModelFile, format: LineFormat, base: &Path) -> Result<Box<dyn Fitted>> {
    let kind = file.header().kind.clone();
    let cutter = || {
        let spec = serde_json::from_value(file.header().params["cut"].clone())?;
        Cutter::for_lines(spec, format, base)
    };
    Ok(match kind.as_str() {
        tone::KIND => Box::new(tone::open(&file, format, base)?),
        Sestm::KIND => Box::new(Opened::new(&file, Sestm::read(&file)?, cutter()?)),
        Doc2vec::KIND => Box::new(Opened::new(&file, Doc2vec::read(&file)?, cutter()?)),
        FastText::KIND => Box::new(Opened::new(&file, FastText::from_file(&file)?, cutter()?)),
        Lsa::KIND => {
            let model = Lsa::read(&file)?;
            let params = model.vectorizer().params().clone();
            Box::new(Opened::of_rows(&file, model, &params, &cutter()?)?)
        }
        Pooling::KIND => Box::new(Opened::new(&file, Pooling::read(&file)?, cutter()?)),
        WordVectors::KIND => Box::new(Opened::new(&file, WordVectors::read(&file)?, cutter()?)),
        Vectorizer::KIND => {
            let model = Vectorizer::read(&file)?;
            let params = model.params().clone();
            Box::new(Opened::of_rows(&file, model, &params, &cutter()?)?)
        }
        kind if classify::is_kind(kind) => Box::new(classify::open(&file, &cutter()?)?),
        kind if neural::is_kind(kind) => Box::new(neural::open(&file, cutter()?)?),
        kind if textnet::is_kind(kind) => Box::new(Opened::new(&file, TextNet::read(&file)?, cutter()?)),
        LanguageModel::KIND => Box::new(FittedNgram { cutter: cutter()?, model: LanguageModel::open(file)? }),
        _ => bail!("this version of the program knows no model of kind {kind:?}; was it written by a later one?"),
    })
}
