//! A fitted model of any kind, and the registry that reads one from its file.
//!
//! `eval`, `embed` and `explain` know only [`Fitted`]. A model joins them by implementing it in its file here and by a line in
//! [`open`].

use std::path::{Path, PathBuf};

use anyhow::{Result, bail, ensure};
use rayon::prelude::*;
use serde::Serialize;
use serde_json::{Map, Value};

use super::ngram_eval::FittedNgram;
use super::{
    Columns, CutSpec, Cutter, Line, LineFormat, Lines, Rows, WordRows, classify, doc2vec, fasttext, lsa, neural,
    pooling, sestm, textnet, tone, vectorize, vectors,
};
use inkstone_base::data::Report;
use inkstone_base::disk::Formulas;
use inkstone_base::job::Ctx;
use inkstone_models::ngram::{Following, LanguageModel, is_arpa, read_arpa};
use inkstone_models::{Explanation, FastText, ModelFile, ModelHeader, is_fasttext, is_vectors, read_vectors};
use inkstone_text::TokenizerParams;

/// Documents that one thread turns into rows before it looks whether the run was cancelled.
const CHUNK: usize = 64;

/// What a fitted model of any kind can do with documents.
pub trait Fitted: Send + Sync {
    /// What its file says of it.
    fn header(&self) -> &ModelHeader;

    /// What `train` calls it: the kind, or which model of this kind it is.
    fn name(&self) -> &str {
        &self.header().kind
    }

    /// What its rows consist of.
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

    /// Which tokens gave a document its score; `of` names the class or component, where there are several.
    fn explain(&self, line: &Line<'_>, of: Option<&str>) -> Result<Explanation>;

    /// Vectors of words, where the model has them.
    fn words(&self) -> Option<WordRows<'_>> {
        None
    }

    /// A vector for a word that is not among [`Fitted::words`], where the model makes it of the word's characters.
    fn made_vector(&self, _word: &str) -> Option<Vec<f32>> {
        None
    }

    /// The `k` words that most probably follow a text, where the model foretells words.
    fn following(&self, _text: &str, _k: usize, _ctx: &Ctx) -> Option<Result<Following>> {
        None
    }

    /// Measures the model on documents, and writes the table that `params` ask for.
    fn evaluate(&self, lines: &mut Lines, params: &EvalParams, ctx: &Ctx) -> Result<(Figures, Report)>;
}

/// Figures under their names, in order.
pub type Figures = Map<String, Value>;

/// What a table of an evaluation has a row for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Per {
    /// A row a document.
    Document,
    /// A row a token.
    Token,
}

/// How a model is measured.
#[derive(Clone, Debug, Default)]
pub struct EvalParams {
    /// A table besides the figures: what a row is, and the file, whose name says the format.
    pub table: Option<(Per, PathBuf)>,
    /// What is done about texts in that table, where it is CSV, that a spreadsheet would compute.
    pub csv_formulas: Formulas,
}

impl EvalParams {
    /// Fails when a table is wanted: for models that have none.
    pub fn no_table(&self, kind: &str) -> Result<()> {
        ensure!(self.table.is_none(), "a {kind} model has no table --per; embed writes a row a document");
        Ok(())
    }
}

/// How the lines that a model reads are written, when the user did not say: as the file's name says, else as those that
/// it was trained on.
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
        (_, true) => Box::new(fasttext::FittedFastText::of(FastText::open(path)?, cutter)),
        _ => Box::new(vectors::FittedVectors::of(read_vectors(path)?, cutter)),
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
        tone::KIND => Box::new(tone::FittedTone::open(&file, format, base)?),
        sestm::KIND => Box::new(sestm::FittedSestm::open(&file, cutter()?)?),
        doc2vec::METHOD => Box::new(doc2vec::FittedDoc2vec::open(&file, cutter()?)?),
        FastText::KIND => Box::new(fasttext::FittedFastText::open(&file, cutter()?)?),
        lsa::KIND => Box::new(lsa::FittedLsa::open(&file, &cutter()?)?),
        pooling::KIND => Box::new(pooling::FittedPooling::open(&file, cutter()?)?),
        vectors::KIND => Box::new(vectors::FittedVectors::open(&file, cutter()?)?),
        vectorize::KIND => Box::new(vectorize::FittedVectorizer::open(&file, &cutter()?)?),
        kind if classify::is_kind(kind) => Box::new(classify::FittedEstimator::open(&file, &cutter()?)?),
        kind if neural::is_kind(kind) => Box::new(neural::FittedLanguage::open(&file, cutter()?)?),
        kind if textnet::is_kind(kind) => Box::new(textnet::FittedTextNet::open(&file, cutter()?)?),
        LanguageModel::KIND => Box::new(FittedNgram { cutter: cutter()?, model: LanguageModel::open(file)? }),
        _ => bail!("this version of the program knows no model of kind {kind:?}; was it written by a later one?"),
    })
}
