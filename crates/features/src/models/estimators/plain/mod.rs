//! Classifiers and regressors on plain files: lines with a label, labels or a value in; one file of vectorizer and estimator out.
//!
//! The documents are held in memory, as their rows are. Figures out of fold see no training text: each fold fits its own
//! vocabulary and weights. A penalty chosen among several, calibration and the figures of cross-validation come from the same
//! folds, before the model is fitted on all documents.

pub(crate) mod corpus;
pub(crate) mod fitted;

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result};
use chrono::NaiveDateTime;
use serde::{Deserialize, Serialize};
use serde_json::json;

pub use corpus::Learn;
pub(crate) use fitted::open;

use crate::fitted::Figures;
use crate::lines::{CutSpec, Cutter, Lines};
use corpus::{Folded, LabelledCorpus};
use inkstone_base::data::Report;
use inkstone_base::job::Ctx;
use inkstone_base::language::Word;
use inkstone_base::{bail, ensure};
use inkstone_models::{
    Analyzer, CalibrationForm, Design, Estimator, EstimatorParams, FoldFeatures, FoldParams, Goal, GoalKind, Judgement,
    Method, ModelFile, ModelHeader, Search, Split, TrainingRows, Vectorizer, VectorizerParams, calibrate, choose_point,
    draw_folds, fit_estimator, out_of_fold, search, write_model,
};

const VERSION: u32 = 1;

/// True for the kinds of models that are read here.
pub(crate) fn is_kind(kind: &str) -> bool {
    Method::ALL.iter().any(|method| method.name() == kind)
}

/// Parameters of a classifier or regressor of texts.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ClassifyParams {
    /// The field of a line that is learned; none (default): `labels`, `label` or `value`, the first that a line has.
    pub learn: Option<Learn>,
    pub vectorizer: VectorizerParams,
    pub estimator: EstimatorParams,
    /// Penalties to choose among by cross-validation; empty (default): the estimator's own.
    pub penalties: Vec<f64>,
    /// True if the strongest penalty within one standard error of the best is chosen, not the best. Default false.
    pub one_standard_error: bool,
    /// `none` (default), `sigmoid` or `isotonic`.
    pub calibrate: CalibrationForm,
    /// Cross-validation; none (default) does without, unless penalties or calibration need it.
    pub folds: Option<FoldParams>,
    /// By time: natural days from a document to the moment its label is known. Default 0.
    pub label_days: u32,
}

/// A fitted model of texts.
pub struct Classifier {
    pub(crate) vectorizer: Vectorizer,
    pub(crate) estimator: Estimator,
    learn: Learn,
    documents: u64,
    fitted_until: Option<NaiveDateTime>,
    params: ClassifyParams,
}

impl Classifier {
    /// Writes the model file; `cut` says how its documents were cut.
    pub fn save(&self, path: &Path, cut: &CutSpec) -> Result<()> {
        let header = ModelHeader {
            kind: self.estimator.method.name().to_owned(),
            version: VERSION,
            fitted_until: self.fitted_until,
            documents: self.documents,
            params: json!({
                "cut": cut, "vectorizer": self.params.vectorizer, "length": self.vectorizer.length(), "learn": self.learn,
                "estimator": self.params.estimator, "calibrate": self.params.calibrate,
            }),
        };
        let sections: Vec<(&str, Vec<u8>)> =
            self.vectorizer.sections().into_iter().chain(self.estimator.sections()?).collect();
        write_model(path, &header, &sections.iter().map(|(name, bytes)| (*name, &bytes[..])).collect::<Vec<_>>())
    }

    pub(crate) fn read(file: &ModelFile) -> Result<Classifier> {
        ensure!(
            is_kind(&file.header().kind),
            "类型为 {} 的模型不是分类器",
            "a model of kind {} is no classifier",
            file.header().kind
        );
        file.expect(&file.header().kind, VERSION)?;
        let vectorizer = Vectorizer::within(file)?;
        let estimator = Estimator::from_file(file, vectorizer.width())?;
        let params = ClassifyParams {
            vectorizer: vectorizer.params().clone(),
            estimator: file.param("estimator")?,
            calibrate: file.param("calibrate")?,
            ..ClassifyParams::default()
        };
        let header = file.header();
        Ok(Classifier {
            vectorizer,
            estimator,
            learn: file.param("learn")?,
            documents: header.documents,
            fitted_until: header.fitted_until,
            params,
        })
    }
}

/// Fits a model on all lines that have what it learns.
///
/// The report has `documents`, `tokens`, `vocabulary`, `fitted_until`, `classes` (documents of each), how the solver ended, and, as far
/// as asked for: `grid` with the chosen `penalty`, `cross_validation` and `calibration`.
pub fn train(lines: &mut Lines, cutter: &Cutter, params: &ClassifyParams, ctx: &Ctx) -> Result<(Classifier, Report)> {
    let corpus =
        LabelledCorpus::read(lines, params.learn, !params.estimator.method.learns(GoalKind::Classes), None, ctx)?;
    let analyzer = Analyzer::new(&params.vectorizer, cutter.segmenter().cloned())?;
    let folded = Folded { corpus: &corpus, analyzer: &analyzer, params: &params.vectorizer, ctx };
    let fit = || {
        let vectorizer = corpus.fit(0..corpus.len(), &analyzer, &params.vectorizer, ctx)?;
        let x = corpus.rows(0..corpus.len(), &analyzer, &vectorizer);
        Ok((vectorizer, x))
    };
    let LearnedEstimator { rows: vectorizer, estimator, params: settings, facts } =
        learn(&corpus, &folded, fit, params, ctx)?;
    let mut report = lines.report();
    report.fact("documents", corpus.len());
    report.fact("tokens", vectorizer.length());
    report.fact("vocabulary", vectorizer.width());
    let fitted_until = corpus.labelled_until(params.label_days);
    report.fact("fitted_until", fitted_until);
    report.facts.extend(facts);
    let params = ClassifyParams { estimator: settings, ..params.clone() };
    let (learn, documents) = (corpus.learn, corpus.len() as u64);
    Ok((Classifier { vectorizer, estimator, learn, documents, fitted_until, params }, report))
}

/// An estimator of a corpus.
pub(crate) struct LearnedEstimator<R> {
    /// The representation that gives the rows of documents.
    pub(crate) rows: R,
    pub(crate) estimator: Estimator,
    /// With the penalty that was chosen.
    pub(crate) params: EstimatorParams,
    pub(crate) facts: Figures,
}

/// Fits an estimator on the rows that `fit` gives of all documents, and chooses the penalty, calibrates and cross-validates on those of
/// `folded`, as far as asked for. The facts are `classes`, how the solver ended, `grid` with the chosen `penalty`,
/// `cross_validation` and `calibration`.
pub(crate) fn learn<R: Send>(
    corpus: &LabelledCorpus,
    folded: &impl FoldFeatures,
    fit: impl FnOnce() -> Result<(R, Design)> + Send,
    params: &ClassifyParams,
    ctx: &Ctx,
) -> Result<LearnedEstimator<R>> {
    let (goal, mut settings) = (&corpus.goal, params.estimator.clone());
    let mut facts = Report::new("facts");
    let splits = splits(corpus, params, ctx)?;
    let order = settings.method.holds_out().then(|| corpus.fold_rows(params.label_days)).transpose()?;
    let training = TrainingRows { order: order.as_ref(), ..TrainingRows::default() };

    if let (Some(splits), false) = (&splits, params.penalties.is_empty()) {
        let name = settings.method.penalty();
        let wanted = Search {
            grid: BTreeMap::from([(name.to_owned(), params.penalties.clone())]),
            one_standard_error: params.one_standard_error,
            ..Search::default()
        };
        let grid = ctx
            .install(|| search(folded, goal, training, splits, &settings, &wanted, ctx))
            .context(Word("选择惩罚系数", "the choice of the penalty"))?;
        let chosen = choose_point(&grid, wanted.one_standard_error)
            .context(Word("没有一个惩罚系数在任何一折有结果", "no penalty has a figure in any fold"))?;
        settings = settings.with_settings(&grid[chosen].settings)?;
        facts.fact("penalty", grid[chosen].settings[name]);
        facts.fact("grid", &grid);
    }

    let (rows, mut estimator) = ctx.install(|| -> Result<(R, Estimator)> {
        let (rows, x) = fit()?;
        let estimator = fit_estimator(&x, goal, training, &settings, ctx)?;
        Ok((rows, estimator))
    })?;

    if let Some(splits) = &splits {
        let scores = ctx
            .install(|| out_of_fold(folded, goal, training, splits, &settings, ctx))
            .context(Word("交叉验证", "cross-validation"))?;
        facts.fact("cross_validation", judged(&estimator, goal, &scores));
        if params.calibrate != CalibrationForm::None {
            calibrate(&mut estimator, goal, &scores, None, params.calibrate).context(Word("校准", "calibration"))?;
            // On the scores that it was learned from: what is left of the error is what the form cannot bend away.
            facts.fact("calibration", judged(&estimator, goal, &scores));
        }
        facts.fact("purged", splits.iter().map(|split| split.purged).sum::<usize>());
    }

    let convergence = estimator.worst_convergence();
    facts.fact("converged", convergence.converged);
    if settings.method.holds_out() {
        facts.fact("epochs", convergence.iterations);
    } else if !convergence.converged {
        facts.fact("gradient", convergence.gradient);
    }
    let classes: Figures = goal.names().iter().cloned().zip(goal.sizes().into_iter().map(Into::into)).collect();
    facts.fact("classes", classes);
    Ok(LearnedEstimator { rows, estimator, params: settings, facts: facts.facts })
}

/// The folds; none where neither cross-validation, penalties nor calibration need them.
fn splits(corpus: &LabelledCorpus, params: &ClassifyParams, ctx: &Ctx) -> Result<Option<Vec<Split>>> {
    let calibrates = params.calibrate != CalibrationForm::None;
    if calibrates && corpus.learn == Learn::Value {
        bail!(
            "数值没有概率可校准；请去掉 --calibrate",
            "values have no probabilities to calibrate; leave out --calibrate"
        );
    }
    if params.folds.is_none() && !calibrates && params.penalties.is_empty() {
        return Ok(None);
    }
    corpus.goal.check()?;
    let folds = params.folds.clone().unwrap_or_default();
    let rows = corpus.fold_rows(params.label_days)?;
    draw_folds(&corpus.goal, &rows, &folds, ctx.seed()).context(Word("交叉验证", "cross-validation")).map(Some)
}

/// Figures of scores out of fold; rows that no fold tests are left out.
fn judged(estimator: &Estimator, goal: &Goal, scores: &[f64]) -> Judgement {
    let k = estimator.outputs();
    let tested: Vec<usize> = (0..goal.rows()).filter(|&i| !scores[i * k].is_nan()).collect();
    let scores: Vec<f64> = tested.iter().flat_map(|&i| scores[i * k..][..k].iter().copied()).collect();
    estimator.guess_from(&scores).judge(&goal.select(&tested))
}

#[cfg(test)]
mod tests;
