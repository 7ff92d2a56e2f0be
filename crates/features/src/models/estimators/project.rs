//! A score for each document by a walk-forward regression: words and rows of other features in, the target out.

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use chrono::NaiveDate;
use rustc_hash::FxHashMap;

use crate::extract::counts::{TermNumbers, analyzer, terms_of};
use crate::extract::entry::{Explainer, ModelEntry};
use crate::extract::inputs::{InputFeature, InputMeta, InputRows};
use crate::extract::reading::{CorpusReader, ReadDocument};
use crate::extract::samples::{SampledCorpus, fit_folds, score_rows};
use crate::extract::set::{SetMeta, SetParams, finish};
use crate::extract::{Feature, Inputs};
use inkstone_base::data::{Key, Report};
use inkstone_base::job::Ctx;
use inkstone_base::language::Word;
use inkstone_models::{
    Csr, DenseRows, FoldCounts, FoldReport, InputColumn, Method, Search, SpilledCsr, StackedRows, TextModel,
    TextRegression, WalkedParts, fit_fold, fit_predict,
};
use inkstone_store::Store;

/// Samples and their word counts.
pub(crate) struct CountedSamples {
    pub(crate) sampled: SampledCorpus,
    /// Word counts, one row a sample.
    pub(crate) counts: Csr,
    /// The column of each word. Each training window decides which words count.
    pub(crate) words: FxHashMap<String, u32>,
    /// By column, true for a word of titles, where words of titles are counted apart.
    titles: Vec<bool>,
}

impl CountedSamples {
    /// Reads the corpus into samples with their labels, and word counts.
    pub(crate) fn read(reader: &CorpusReader<'_>, report: &mut Report) -> Result<CountedSamples> {
        let analyzer = analyzer(reader.feature, &reader.segmenter)?;
        let cut = |document: &ReadDocument| terms_of(document, reader.feature, &analyzer);
        let folder = reader.inputs.clean.folder();
        let (mut counts, mut numbers) = (SpilledCsr::within(folder)?, TermNumbers::default());
        let keep = |terms: Vec<(String, bool)>| counts.push_counts(&mut numbers.number(terms));
        let sampled = SampledCorpus::read(reader, cut, keep, report)?;
        let TermNumbers { words, titles } = numbers;
        Ok(CountedSamples { sampled, counts: counts.finish()?, words, titles })
    }

    /// The word of each column.
    pub(crate) fn words_by_id(&self) -> Vec<&str> {
        let mut words = vec![""; self.words.len()];
        self.words.iter().for_each(|(word, &id)| words[id as usize] = word);
        words
    }
}

/// Samples with everything that a model learns on: word counts and the rows of other features.
struct LearnedSamples {
    counted: CountedSamples,
    inputs: InputRows,
}

impl LearnedSamples {
    fn read(reader: &CorpusReader<'_>, report: &mut Report) -> Result<LearnedSamples> {
        let CorpusReader { feature, inputs, ctx, .. } = reader;
        let mut counted = match feature.learns_on_words() {
            true => CountedSamples::read(reader, report)?,
            false => CountedSamples {
                sampled: SampledCorpus::read(reader, |_| (), |()| Ok(()), report)?,
                counts: Csr::default(),
                words: FxHashMap::default(),
                titles: Vec::new(),
            },
        };
        let (inputs, has_row) =
            InputRows::read(feature, inputs, counted.sampled.places(), !feature.learns_on_words(), ctx)?;
        report.drop_rows("without a row of any input", counted.sampled.retain(&has_row));
        Ok(LearnedSamples { counted, inputs })
    }

    fn rows<'a>(&'a self, feature: &'a Feature, ctx: &'a Ctx) -> StackedRows<'a> {
        let CountedSamples { counts, titles, .. } = &self.counted;
        StackedRows {
            counts: feature.learns_on_words().then_some(FoldCounts { counts, titles, params: &feature.tfidf, ctx }),
            sparse: self.inputs.sparse.iter().map(|(_, rows)| rows).collect(),
            dense: self.inputs.dense.as_ref(),
        }
    }
}

/// An estimator on words and on the rows of other features.
pub(crate) const fn entry(method: Method) -> ModelEntry {
    ModelEntry {
        explained_by: Explainer::RefittedFold,
        method: Some(method),
        settings: &["tfidf", "walk_forward", "target"],
        ..ModelEntry::of_target(run)
    }
}

fn run(feature: &Feature, inputs: &Inputs<'_>, store: &Store, ctx: &Ctx) -> Result<(Key, Report)> {
    let mut report = Report::new(&feature.name);
    let reader = CorpusReader::new(feature, inputs, ctx)?;
    let learned = LearnedSamples::read(&reader, &mut report)?;
    let (sampled, rows) = (&learned.counted.sampled, learned.rows(feature, ctx));
    let regression = regression_of(feature)?;
    let predictions = fit_folds(feature, inputs, ctx, |dates| {
        fit_predict(&sampled.samples, &rows, dates, &feature.walk_forward, &regression, ctx)
    })?;
    let (dim, values) = (feature.columns().len(), score_rows(&predictions.score, &predictions.probabilities));
    let row = |i: usize| values.get(dim * i..dim * (i + 1)).filter(|row| !row[0].is_nan());
    let mut params = SetParams::of_returns(&reader);
    let learned_on = &learned.inputs.inputs;
    if !feature.inputs.is_empty() {
        // Names of features determine no row: their sets do.
        let column = |input: InputFeature<'_>| input.column.map(str::to_owned);
        let sets = feature.input_features().map(column).zip(learned_on.iter().map(|input| input.set));
        params = params.with("inputs", (feature.learns_on_words(), sets.collect::<Vec<_>>()));
    }
    let fitted_until = learned.inputs.fitted_until();
    let (writer, order) = sampled.write(feature, &params.dense(feature, fitted_until), row, store, &mut report, ctx)?;
    if feature.learns_on_words() {
        report.fact("words", learned.counted.words.len());
    }
    if !learned_on.is_empty() {
        report.fact("inputs", learned_on.iter().map(|input| &input.name).collect::<Vec<_>>());
        report.fact("dense_columns", learned.inputs.columns.len());
    }
    if let Some(time) = fitted_until {
        report.fact("fitted_until", time);
    }
    report.fact("folds", &predictions.folds);
    let folds = Some(predictions.folds);
    let inputs = (!learned_on.is_empty()).then(|| learned_on.clone());
    finish(writer, &order, &SetMeta { folds, inputs, ..SetMeta::of_columns(feature.columns()) }, report)
}

/// A column of a document, its score or the probability of a class, taken apart.
pub(crate) struct Refitted {
    pub(crate) score: f64,
    pub(crate) intercept: f64,
    /// Words and their parts of the score, the largest first.
    pub(crate) words: Vec<(String, f64)>,
    /// Columns of other features and their parts of the score, the largest first; sparse rows as a whole.
    pub(crate) inputs: Vec<(String, f64)>,
    /// Columns of sparse inputs and their parts of the score: number of the input, column, part.
    pub(crate) sparse: Vec<(usize, u32, f64)>,
    /// For a probability: what one unit of each of the estimator's scores moved.
    pub(crate) slopes: Option<Vec<f64>>,
}

/// The fold that scored a document, fitted once more on the same samples.
pub(crate) struct RefittedFold<'r> {
    feature: &'r Feature,
    ctx: &'r Ctx,
    learned: LearnedSamples,
    model: TextModel,
    /// Number of the document among the samples.
    number: usize,
    /// The class whose probability is taken apart; none for the score.
    class: Option<String>,
    /// First and last day that the fold tests.
    pub(crate) test: (NaiveDate, NaiveDate),
}

/// Fits the fold that scored the document in this part and row once more, on the same samples. None where no fold scored the document. A
/// fold among `kept` that searched is not made to search again. `column` is the one to be taken apart: `score`, or a class for its
/// probability. Reads the corpus once.
pub(crate) fn refit<'r>(
    reader: &CorpusReader<'r>,
    place: (usize, usize),
    kept: &[FoldReport],
    column: &str,
) -> Result<Option<RefittedFold<'r>>> {
    let CorpusReader { feature, inputs, ctx, .. } = *reader;
    let dates = inputs.market(feature)?.dates();
    let learned = LearnedSamples::read(reader, &mut Report::new(&feature.name))?;
    let sampled = &learned.counted.sampled;
    let Some(number) = sampled.number_of(place) else { return Ok(None) };
    let day = sampled.samples[number].date;
    let rows = learned.rows(feature, ctx);
    let regression = regression_of(feature)?;
    // Where test windows overlap, the newest model that could be fitted gave the score.
    for fold in feature.walk_forward.folds(dates.len())?.iter().rev().filter(|fold| fold.test.contains(&day)) {
        let test = (dates[fold.test.start], dates[fold.test.end - 1]);
        let chosen = kept.iter().find(|kept| kept.test == test).and_then(|kept| kept.search.as_ref());
        let mut settled = regression.clone();
        if let Some(chosen) = chosen {
            settled.estimator = settled.estimator.with_settings(&chosen.settings)?;
            settled.search = Search::default();
        }
        let model = fit_fold(&sampled.samples, &rows, dates, &feature.walk_forward, fold, &settled, ctx)?;
        if let Some(model) = model {
            let class = (column != "score").then(|| column.to_owned());
            return Ok(Some(RefittedFold { feature, ctx, learned, model, number, class, test }));
        }
    }
    Ok(None)
}

impl RefittedFold<'_> {
    /// Takes the column of the document apart; none for a class that the fold's training window lacks.
    pub(crate) fn explain(&self) -> Result<Option<Refitted>> {
        let RefittedFold { feature, ctx, learned, model, number, class, .. } = self;
        let rows = learned.rows(feature, ctx);
        let found = ctx.install(|| model.explain(&rows, *number, class.as_deref()))?;
        let Some(WalkedParts { value: score, base: intercept, parts, slopes }) = found else { return Ok(None) };
        let names = learned.counted.words_by_id();
        let (mut words, mut sparse, mut columns) = (Vec::new(), Vec::new(), BTreeMap::<String, f64>::new());
        for (column, part) in parts {
            match column {
                InputColumn::Term(id) => words.push((names[id as usize].to_owned(), part)),
                InputColumn::Dense(column) => {
                    *columns.entry(learned.inputs.columns[column as usize].clone()).or_default() += part;
                }
                InputColumn::Sparse { block, column } => {
                    let input = learned.inputs.sparse[block].0;
                    *columns.entry(learned.inputs.inputs[input].name.clone()).or_default() += part;
                    sparse.push((input, column, part));
                }
            }
        }
        let mut inputs: Vec<(String, f64)> = columns.into_iter().filter(|(_, part)| *part != 0.0).collect();
        inputs.sort_by(|a, b| b.1.abs().total_cmp(&a.1.abs()));
        Ok(Some(Refitted { score, intercept, words, inputs, sparse, slopes }))
    }

    /// True if a score is a weighted sum of columns.
    pub(crate) fn is_linear(&self) -> bool {
        self.model.estimator.linear().is_some()
    }

    /// The inputs of the fold.
    pub(crate) fn inputs(&self) -> &[InputMeta] {
        &self.learned.inputs.inputs
    }

    /// The values of the document's column, if a feature that the model learns on gave it each of these rows `[rows, dim]`, all columns of
    /// the feature. With `slopes`, the sum of the estimator's scores times these.
    pub(crate) fn scores_with(
        &self,
        input_feature: &str,
        rows: &[f32],
        dim: usize,
        slopes: Option<&[f64]>,
    ) -> Result<Vec<f64>> {
        let RefittedFold { feature, ctx, learned: LearnedSamples { counted, inputs }, model, number, .. } = self;
        let row_alone = |block: &Csr| {
            let mut alone = Csr::new(block.cols());
            alone.push_row(block.row(*number).iter());
            alone
        };
        let counts = feature.learns_on_words().then(|| row_alone(&counted.counts));
        let sparse: Vec<Csr> = inputs.sparse.iter().map(|(_, block)| row_alone(block)).collect();
        let dense = inputs.dense.as_ref().map_or(&[][..], |dense| dense.row(*number));
        let score = |row: &[f32]| {
            let (mut changed, mut first) = (dense.to_vec(), 0);
            for (input, places) in feature.input_features().zip(&inputs.places) {
                let Some(places) = places else { continue };
                if input.feature == input_feature {
                    changed[first..][..places.len()].iter_mut().zip(places).for_each(|(value, &at)| *value = row[at]);
                }
                first += places.len();
            }
            let dense = DenseRows::new(changed.len().max(1), changed)?;
            let (titles, params) = (&counted.titles, &feature.tfidf);
            let stacked = StackedRows {
                counts: counts.as_ref().map(|counts| FoldCounts { counts, titles, params, ctx }),
                sparse: sparse.iter().collect(),
                dense: (!inputs.columns.is_empty()).then_some(&dense),
            };
            ctx.check()?;
            ctx.install(|| match (slopes, &self.class) {
                (Some(slopes), _) => model.sloped(&stacked, 0, slopes),
                (None, Some(class)) => model.probability(&stacked, 0, class),
                (None, None) => model.score(&stacked, 0),
            })
        };
        rows.chunks(dim).map(score).collect()
    }
}

fn regression_of(feature: &Feature) -> Result<TextRegression> {
    Ok(TextRegression {
        estimator: feature
            .estimator()
            .context(Word("该特征的模型不从词学习", "the feature's model does not learn from words"))?,
        classes: feature.classes.clone(),
        label: feature.target.form,
        search: feature.search.clone(),
        label_lead: feature.target.lead(),
        ..TextRegression::default()
    })
}
