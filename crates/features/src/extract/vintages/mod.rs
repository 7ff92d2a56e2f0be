//! Documents as points among word vectors that are trained walk-forward, a vintage a step.
//!
//! Windows and steps are those of [`super::steps`]. Each vintage is trained on the documents of its window alone, and turned by orthogonal
//! Procrustes to lie as near as it can to the vintage before it, so that columns keep their meaning over the years. The weights of words
//! and the common part that documents are pooled with come from the same window.
//!
//! Columns: `c1`, `c2`, ..., the document's place; `words`, how many of its words are known (0: the place is the origin and says nothing).
//! Memory holds a part, the vocabulary, two vintages, and some bytes a document.

pub(crate) mod earlier;
pub(crate) mod params;
pub(crate) mod rows;
#[cfg(test)]
mod tests;
pub(crate) mod trainer;
pub(crate) mod window;

use std::path::Path;

use anyhow::{Context, Result};
use rayon::prelude::*;

use super::documents::{DocumentPlace, NumberedCorpus};
use super::entry::{ColumnNames, Explainer, ModelEntry, RowModel};
use super::fits::{Fit, FitResult, Fits};
use super::reading::{CorpusReader, ReadDocument};
use super::set::{SetMeta, SetParams, finish};
use super::steps::{Step, StepReport, Steps};
use super::text_rows::TextRows;
use super::{Feature, Inputs};
use inkstone_base::data::{Key, Report, TooLittle};
use inkstone_base::job::Ctx;
use inkstone_base::language::Word;
use inkstone_base::{bail, message};
use inkstone_models::{Fields, Pooling, WordVectors};
use inkstone_store::{RowKind, SetSpec, Store};
use inkstone_text::Segmenter;
use rows::WaitingRows;
use window::WindowText;

pub(crate) use earlier::EarlierVintages;
pub use params::VintageParams;
pub(crate) use trainer::WordVectorTrainer;

/// Documents that one thread pools at once.
const CHUNK: usize = 64;
/// Documents whose rows are written at once.
const ROUND: usize = 4096;

impl VintageParams {
    fn steps(&self) -> Steps {
        let VintageParams { window_days, refit_days, min_train_documents } = *self;
        Steps { window_days, refit_days, min_train_documents }
    }
}

/// The terms of title and body.
pub(crate) fn terms(segmenter: &Segmenter, fields: Fields<'_>) -> [Vec<String>; 2] {
    [fields.title, fields.body].map(|text| segmenter.terms(text).into_iter().map(|term| term.into_owned()).collect())
}

/// A model whose vintages of word vectors this trainer makes.
pub(crate) const fn entry(trainer: fn(&Feature) -> Box<dyn WordVectorTrainer>) -> ModelEntry {
    ModelEntry {
        columns: ColumnNames::Vectors,
        explained_by: Explainer::Rows,
        opened: RowModel::Refit(open),
        trainer: Some(trainer),
        walk_fits: Some(walk_fits),
        ..ModelEntry::of_texts(run)
    }
}

fn run(feature: &Feature, inputs: &Inputs<'_>, store: &Store, ctx: &Ctx) -> Result<(Key, Report)> {
    let named = || format!("feature {:?}", feature.name);
    let trainer =
        &*feature.trainer().context(Word("该特征的模型不训练词向量", "the feature's model trains no word vectors"))?;
    feature.check().with_context(named)?;
    let mut report = Report::new(&feature.name);
    let reader = CorpusReader::new(feature, inputs, ctx)?;
    let cut = |_: &str, fields: Fields<'_>| terms(&reader.segmenter, fields);
    let corpus = NumberedCorpus::read(&reader, cut, &mut report)?;
    let (folder, spec, fits) = (inputs.clean.folder(), spec_of(&reader, trainer), inputs.fits);
    let mut rows = WaitingRows::new(&corpus, trainer.dim() + 1, folder)?;
    let mut windows = Vec::new();
    let vintages = VintageWalk { corpus: &corpus, feature, trainer, folder, spec, fits };
    ctx.stage(&format!("train {}", feature.name), trainer.unit(), planned(&corpus, trainer, feature), || {
        windows = vintages
            .walk(ctx, |documents, pooling, text| {
                pool(&corpus, documents, pooling, |number| text.place(number), &mut rows, ctx)
            })
            .with_context(named)?;
        let mut report = Report::new("train");
        report.rows_in = corpus.places.len() as u64;
        report.rows_out = rows.len();
        Ok(report)
    })?;
    if rows.len() == 0 {
        let most = windows.iter().map(|window| window.train_documents).max().unwrap_or(0);
        bail!(TooLittle(message!(
            "{} 没有值：{} 个时点中没有一个在其前有 vintages.min_train_documents = {} 篇、至少含 {} 个 words.min_count = {} 的词的文档，最多的为 {most} 篇；请降低这些设置或向量的 dim，或提供更多文本",
            "{} has no values: of {} steps none has vintages.min_train_documents = {} documents before it with {} words of words.min_count = {}, the fullest has {most}; lower these, or the vectors' dim, or give more text",
            named(),
            windows.len(),
            feature.vintages.min_train_documents,
            trainer.dim(),
            feature.words.min_count
        )));
    }
    let writer = store.writer(&vintages.spec)?;
    report.rows_out = rows.len();
    let without = corpus.places.len() as u64 - rows.len();
    report.drop_rows("with too little text in the window before (vintages.min_train_documents)", without);
    report.fact("vintages", windows.iter().filter(|window| window.scored > 0).count());
    report.fact("words", corpus.words.len());
    let order = rows.write(&corpus, &writer, ctx)?;
    ctx.advance(report.rows_in - report.rows_in / 2)?;
    let windows = Some(windows);
    finish(writer, &order, &SetMeta { windows, ..SetMeta::of_columns(feature.columns()) }, report)
}

/// Total of the progress of all vintages, words that are not kept included.
fn planned(corpus: &NumberedCorpus, trainer: &dyn WordVectorTrainer, feature: &Feature) -> Option<u64> {
    let steps = feature.vintages.steps();
    let windows = steps.over(&corpus.places).filter(|step| steps.suffice(step.window.len()));
    let tokens: u64 = windows.flat_map(|step| step.window).map(|place| place.tokens.len() as u64).sum();
    Some(tokens * trainer.passes()?)
}

/// The pooled vintage that values the document in this part and row; none where it has no value. Trains all vintages up to this one, as
/// each is rotated onto the one before it.
fn pooling_of(reader: &CorpusReader<'_>, place: (usize, usize)) -> Result<Option<Pooling>> {
    let CorpusReader { feature, inputs, ctx, .. } = reader;
    let trainer =
        &*feature.trainer().context(Word("该特征的模型不训练词向量", "the feature's model trains no word vectors"))?;
    let cut = |_: &str, fields: Fields<'_>| terms(&reader.segmenter, fields);
    let mut corpus = NumberedCorpus::read(reader, cut, &mut Report::new(&feature.name))?;
    let stands_there = |document: &DocumentPlace| (document.part, document.row) == place;
    let Some(time) = corpus.places.iter().find(|document| stands_there(document)).map(|document| document.time) else {
        return Ok(None);
    };
    // Steps after that of the document are not needed, and those before it depend on no later document.
    let (begin, _) = feature.vintages.steps().window_before(&corpus.places, time);
    corpus.places.retain(|document| document.time < begin || stands_there(document));
    let mut found = None;
    let (folder, spec) = (inputs.clean.folder(), spec_of(reader, trainer));
    let vintages = VintageWalk { corpus: &corpus, feature, trainer, folder, spec, fits: Fits::here() };
    ctx.stage(&format!("train {}", feature.name), trainer.unit(), planned(&corpus, trainer, feature), || {
        vintages.walk(ctx, |documents, pooling, _| {
            found = documents.iter().any(stands_there).then(|| pooling.clone());
            Ok(())
        })?;
        Ok(Report::new("train"))
    })?;
    Ok(found)
}

/// The vintage that values a document, as a model of rows.
fn open(reader: &CorpusReader<'_>, place: (usize, usize)) -> Result<Option<Box<dyn TextRows>>> {
    Ok(pooling_of(reader, place)?.map(|pooling| Box::new(pooling) as Box<dyn TextRows>))
}

impl TextRows for Pooling {
    fn document_rows(&mut self, documents: &[ReadDocument], reader: &CorpusReader<'_>) -> Result<Vec<f32>> {
        let row = |document: &ReadDocument| {
            let terms = terms(&reader.segmenter, document.fields().unwrap_or_default()).concat();
            let known = terms.iter().filter(|term| self.vectors().number(term).is_some()).count();
            let mut row = self.row(&terms.iter().map(String::as_str).collect::<Vec<_>>());
            row.push(known as f32);
            row
        };
        Ok(documents.iter().flat_map(row).collect())
    }

    fn document_parts(&self, document: &ReadDocument, reader: &CorpusReader<'_>) -> Option<Vec<(String, Vec<f32>)>> {
        let terms = terms(&reader.segmenter, document.fields()?).concat();
        let parts = self.parts(&terms.iter().map(String::as_str).collect::<Vec<_>>())?;
        let with_count = |(word, mut part): (&str, Vec<f32>)| {
            part.push(terms.iter().filter(|term| *term == word).count() as f32);
            (word.to_owned(), part)
        };
        Some(parts.into_iter().map(with_count).collect())
    }
}

/// The vintages of a feature over a corpus.
struct VintageWalk<'a> {
    corpus: &'a NumberedCorpus,
    feature: &'a Feature,
    trainer: &'a dyn WordVectorTrainer,
    /// Folder of scratch files.
    folder: &'a Path,
    /// The set of the rows.
    spec: SetSpec,
    fits: &'a Fits<'a>,
}

impl VintageWalk<'_> {
    /// Trains vintage after vintage and gives the documents of each step, with its pooled vectors and the text that these were trained on, to
    /// `value`.
    fn walk(
        &self,
        ctx: &Ctx,
        mut value: impl FnMut(&[DocumentPlace], &Pooling, &WindowText) -> Result<()>,
    ) -> Result<Vec<StepReport>> {
        let VintageWalk { corpus, feature, trainer, folder, ref spec, fits } = *self;
        let steps = feature.vintages.steps();
        let read = |window| WindowText::read(corpus, window, &feature.words, folder, ctx);
        let mut windows = Vec::new();
        let mut before: Option<WordVectors> = None;
        for Step { begin, window, documents } in steps.over(&corpus.places) {
            let mut found = StepReport { from: begin, fitted_until: None, train_documents: window.len(), scored: 0 };
            if steps.suffice(window.len()) {
                let at = || {
                    let (day, n, name) = (begin.date(), window.len(), trainer.name());
                    format!(
                        "the vintage of {day}, of {n} documents (flags are keys of [feature.{name}] or [feature.words])"
                    )
                };
                let all: u64 = window.iter().map(|place| place.tokens.len() as u64).sum();
                let fit = Fit::new(spec, begin, trainer.dim(), (window.len() as u64, all));
                let (mut text, mut trained) = (None, 0);
                // A window of too few words has no vectors.
                let result = fits.result(&fit, || {
                    let text = text.insert(read(window)?);
                    if !text.suffices(trainer) {
                        return Ok(FitResult { values: Vec::new(), note: () });
                    }
                    trained = text.kept_tokens();
                    let values = trainer.train(text, folder, ctx).with_context(at)?;
                    Ok(FitResult { values, note: () })
                })?;
                let values = result.map(|result| result.values).filter(|values| !values.is_empty());
                if let Some(values) = values {
                    let text = text.map_or_else(|| read(window), Ok)?;
                    let vectors = text.vectors(trainer, values).with_context(at)?;
                    let vectors = match &before {
                        Some(before) => ctx.install(|| vectors.aligned(before)).with_context(at)?,
                        None => vectors,
                    };
                    let pooled = text.pooled(Some);
                    found.fitted_until = window.last().map(|place| place.time);
                    let pooling = Pooling::fit(vectors.clone(), &pooled, found.fitted_until, &feature.pooling, ctx)?;
                    value(documents, &pooling, &text)?;
                    found.scored = documents.len();
                    before = Some(vectors);
                }
                if let Some(passes) = trainer.passes() {
                    ctx.advance((all - trained) * passes)?;
                }
            }
            windows.push(found);
        }
        Ok(windows)
    }
}

/// The set of a feature's rows.
fn spec_of(reader: &CorpusReader<'_>, trainer: &dyn WordVectorTrainer) -> SetSpec {
    let params = SetParams::of_corpus(reader).with("seed", reader.ctx.seed());
    params.spec(reader.feature, RowKind::Dense { dim: trainer.dim() + 1 }, None)
}

/// Walks over the vintages without making rows of them.
fn walk_fits(
    feature: &Feature,
    inputs: &Inputs<'_>,
    ctx: &Ctx,
    check: &mut dyn FnMut(&[Key], &SetSpec) -> Result<()>,
) -> Result<()> {
    let trainer =
        &*feature.trainer().context(Word("该特征的模型不训练词向量", "the feature's model trains no word vectors"))?;
    feature.check().with_context(|| message!("特征 {:?}", "feature {:?}", feature.name))?;
    let reader = CorpusReader::new(feature, inputs, ctx)?;
    let cut = |_: &str, fields: Fields<'_>| terms(&reader.segmenter, fields);
    let corpus = NumberedCorpus::read(&reader, cut, &mut Report::new(&feature.name))?;
    let (folder, spec, fits) = (inputs.clean.folder(), spec_of(&reader, trainer), inputs.fits);
    check(&corpus.batches.keys(), &spec)?;
    VintageWalk { corpus: &corpus, feature, trainer, folder, spec, fits }.walk(ctx, |_, _, _| Ok(()))?;
    Ok(())
}

/// Makes the rows of documents: pooled vector, and number of known words. `place` gives the vector number of a word of the corpus.
fn pool(
    corpus: &NumberedCorpus,
    documents: &[DocumentPlace],
    pooling: &Pooling,
    place: impl Fn(u32) -> Option<u32> + Sync,
    rows: &mut WaitingRows,
    ctx: &Ctx,
) -> Result<()> {
    let chunk = |documents: &[DocumentPlace]| -> Result<Vec<f32>> {
        ctx.check()?;
        let mut rows = Vec::with_capacity(documents.len() * (pooling.vectors().dim() + 1));
        for document in documents {
            let fields = corpus.fields(document).into_iter().flatten();
            let words: Vec<u32> = fields.filter_map(|&number| place(number)).collect();
            rows.extend(pooling.row_of(words.iter().copied()));
            rows.push(words.len() as f32);
        }
        Ok(rows)
    };
    for documents in documents.chunks(ROUND) {
        let made = ctx.install(|| documents.par_chunks(CHUNK).map(chunk).collect::<Result<Vec<Vec<f32>>>>())?;
        rows.push(documents, &made.concat())?;
    }
    Ok(())
}
