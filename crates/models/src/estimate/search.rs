//! The choice among settings of an estimator by what they reach out of fold.

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

use super::cross::fit_part;
use super::method::restrains;
use super::{Estimator, Judgement, TrainingRows};
use crate::design::{Design, FoldFeatures};
use crate::goal::Goal;
use crate::learner::{EstimatorParams, Method};
use crate::metrics::area_under_curve;
use crate::validation::Split;
use inkstone_base::job::Ctx;
use inkstone_base::language::Word;
use inkstone_base::{bail, ensure, message};

/// Points of a grid at the most.
const MOST_POINTS: usize = 1000;

const NO_PROBABILITIES: Word = Word(
    "log_loss 需要概率，而支持向量机没有；请选 auc、accuracy 或 f1",
    "log_loss needs probabilities, and a support vector machine has none; choose auc, accuracy or f1",
);

const OF_CLASSES: [Measure; 4] = [Measure::Auc, Measure::Accuracy, Measure::F1, Measure::LogLoss];
const OF_VALUES: [Measure; 3] = [Measure::R2, Measure::RankIc, Measure::Mse];

/// The figure that settings are compared by; the mean over the folds is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
#[serde(rename_all = "snake_case")]
pub enum Measure {
    /// Classes: area under the curve, of more than two the mean over each against the rest.
    Auc,
    /// Classes: share of rows called rightly.
    Accuracy,
    /// Macro F1 of classes, micro F1 of label sets.
    F1,
    /// Classes with probabilities: minus the mean of -ln of the true class's probability.
    LogLoss,
    /// Values: minus the mean squared error.
    Mse,
    /// Values: share of the variance that is explained.
    R2,
    /// Values: rank correlation of estimate and value over all rows of a fold.
    RankIc,
}

impl Measure {
    /// Name of the measure in settings.
    pub fn name(self) -> &'static str {
        match self {
            Measure::Auc => "auc",
            Measure::Accuracy => "accuracy",
            Measure::F1 => "f1",
            Measure::LogLoss => "log_loss",
            Measure::Mse => "mse",
            Measure::R2 => "r2",
            Measure::RankIc => "rank_ic",
        }
    }

    /// The measure where none is named: accuracy of classes, F1 of label sets, minus the mean squared error of values.
    fn default_of(goal: &Goal) -> Measure {
        match goal {
            Goal::Classes { .. } => Measure::Accuracy,
            Goal::Labels { .. } => Measure::F1,
            Goal::Values(_) => Measure::Mse,
        }
    }

    /// The measures of a goal.
    fn all_of(goal: &Goal) -> &'static [Measure] {
        match goal {
            Goal::Classes { .. } => &OF_CLASSES,
            Goal::Labels { .. } => &[Measure::F1],
            Goal::Values(_) => &OF_VALUES,
        }
    }

    /// Fails if it is not among `known`.
    fn check(self, known: &[Measure]) -> Result<()> {
        ensure!(
            known.contains(&self),
            "指标 {} 不适合该目标；请选 {}",
            "the measure {} does not suit the goal; choose {}",
            self.name(),
            known.iter().map(|measure| measure.name()).collect::<Vec<_>>().join(", ")
        );
        Ok(())
    }

    /// The figure of a fitted model on rows that did not train it, higher being better; NaN where it has no meaning, such as the area
    /// under the curve of one class.
    fn figure(self, model: &Estimator, tested: &Design, goal: &Goal) -> Result<f64> {
        let guess = model.guess(tested);
        let k = guess.columns;
        if let (Measure::Auc, Goal::Classes { class, .. }) = (self, goal) {
            let area = |c: usize| {
                let odds: Vec<f64> = guess.log_odds[c..].iter().step_by(k).copied().collect();
                area_under_curve(&odds, &class.iter().map(|&of| of as usize == c).collect::<Vec<bool>>())
            };
            let areas: Option<Vec<f64>> =
                if k == 2 { area(1).map(|area| vec![area]) } else { (0..k).map(area).collect() };
            return Ok(areas.map_or(f64::NAN, |areas| inkstone_base::stats::mean(areas.into_iter())));
        }
        Ok(match (self, guess.judge(goal)) {
            (Measure::Accuracy, Judgement::Classes { report, .. }) => report.accuracy,
            (Measure::F1, Judgement::Classes { report, .. }) => report.macro_average.f1,
            (Measure::F1, Judgement::Labels(report)) => report.micro_average.f1,
            (Measure::LogLoss, Judgement::Classes { probabilities, .. }) => {
                -probabilities.context(NO_PROBABILITIES)?.log_loss
            }
            (Measure::Mse, Judgement::Values(report)) => -report.mse,
            (Measure::R2, Judgement::Values(report)) => report.r2.unwrap_or(f64::NAN),
            (Measure::RankIc, Judgement::Values(report)) => report.spearman.unwrap_or(f64::NAN),
            _ => bail!("指标 {} 不适合该目标", "the measure {} does not suit the goal", self.name()),
        })
    }
}

defaults! {
    /// A search among settings of an estimator: every combination of the values is tried.
    pub struct Search {
        /// Values by the name of a setting: `alpha` or `C` (1/alpha), `l1_ratio`, `smoothing`, `trees`, `learning_rate`, `max_depth`,
        /// `min_leaf_weight`, `l2`, `max_features`, `dropout`, `hidden` (units of one layer), as far as the method has it. Empty: no search.
        grid: BTreeMap<String, Vec<f64>> = BTreeMap::new(),
        /// Folds within the training rows.
        folds: usize = 5,
        /// `auc`, `accuracy`, `f1` or `log_loss` of classes, `f1` of label sets, `r2`, `rank_ic` or `mse` of values; none (default):
        /// `accuracy`, `f1` and `mse`.
        measure: Option<Measure> = None,
        /// True if the most restrained settings within one standard error of the best are chosen, not the best.
        one_standard_error: bool = false,
    }
}

/// One combination of settings, and what it reached.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SearchPoint {
    /// Values by the name of the setting.
    #[serde(flatten)]
    pub settings: BTreeMap<String, f64>,
    /// Mean of the measure over the folds, higher being better.
    pub mean: f64,
    /// Standard error of the mean.
    pub standard_error: f64,
    /// The measure in each fold.
    pub scores: Vec<f64>,
}

impl SearchPoint {
    fn new(settings: BTreeMap<String, f64>, scores: Vec<f64>) -> SearchPoint {
        let mean = inkstone_base::stats::mean(scores.iter().copied());
        let known = scores.iter().filter(|score| !score.is_nan()).count() as f64;
        let standard_error = inkstone_base::stats::std(&scores) / known.sqrt();
        SearchPoint { settings, mean, standard_error, scores }
    }

    /// How strongly each setting holds the model back, in the order of their names.
    fn restraint(&self) -> Vec<f64> {
        self.settings.iter().map(|(name, value)| if restrains(name) { *value } else { -value }).collect()
    }
}

impl Search {
    /// True if nothing is searched.
    pub fn is_off(&self) -> bool {
        self.grid.is_empty()
    }

    /// Fails where the grid or the measure does not suit a method that learns values, or else classes.
    pub fn check(&self, params: &EstimatorParams, learns_values: bool) -> Result<()> {
        self.points(params)?;
        let Some(measure) = self.measure else { return Ok(()) };
        measure.check(if learns_values { &OF_VALUES } else { &OF_CLASSES })?;
        ensure!(measure != Measure::LogLoss || params.method != Method::Svm, NO_PROBABILITIES);
        Ok(())
    }

    /// The figure that settings are compared by for a goal. Fails where the one that was named does not suit it.
    pub(crate) fn measure_of(&self, goal: &Goal) -> Result<Measure> {
        let measure = self.measure.unwrap_or_else(|| Measure::default_of(goal));
        measure.check(Measure::all_of(goal))?;
        Ok(measure)
    }

    /// Every combination of the values, the last name changing first. Fails when a name or a value is not one of the method.
    pub fn points(&self, params: &EstimatorParams) -> Result<Vec<BTreeMap<String, f64>>> {
        let mut points = vec![BTreeMap::new()];
        for (name, values) in &self.grid {
            ensure!(
                !values.is_empty(),
                "搜索中 {name} 没有取值：请给出，或去掉它",
                "the search has no values of {name}: give it some, or leave it out"
            );
            let with = |point: &BTreeMap<String, f64>, value: f64| {
                let mut point = point.clone();
                point.insert(name.clone(), value);
                point
            };
            points = points.iter().flat_map(|point| values.iter().map(move |&value| with(point, value))).collect();
            ensure!(
                points.len() <= MOST_POINTS,
                "搜索的组合超过 {MOST_POINTS} 个；请减少取值",
                "the search has more than {MOST_POINTS} combinations; give it fewer values"
            );
        }
        for point in &points {
            params.clone().with_settings(point)?;
        }
        Ok(points)
    }
}

impl EstimatorParams {
    /// With other values of some settings, by name. Fails for a name that the method does not have.
    pub fn with_settings(mut self, settings: &BTreeMap<String, f64>) -> Result<EstimatorParams> {
        ensure!(
            !(settings.contains_key("C") && settings.contains_key("alpha")),
            "C 即 1/alpha：请只搜索其中一个",
            "C is 1/alpha: search among values of one of them"
        );
        let known = self.method.learner().settings();
        for (name, &value) in settings {
            let setting = known.iter().find(|setting| setting.name == name).with_context(|| {
                let names: Vec<&str> = known.iter().map(|setting| setting.name).collect();
                message!(
                    "{} 没有可搜索的设置 {name:?}；它有 {}",
                    "{} has no setting {name:?} to search among; it has {}",
                    self.method.name(),
                    names.join(", ")
                )
            })?;
            setting.set(&mut self, value)?;
        }
        Ok(self)
    }
}

/// Out-of-fold figures of each combination of settings, in the order of [`Search::points`]. The features are fitted once a fold. Call inside
/// [`Ctx::install`].
pub fn search(
    x: &impl FoldFeatures,
    goal: &Goal,
    rows: TrainingRows<'_>,
    splits: &[Split],
    params: &EstimatorParams,
    search: &Search,
    ctx: &Ctx,
) -> Result<Vec<SearchPoint>> {
    let measure = search.measure_of(goal)?;
    let points = search.points(params)?;
    let mut figures = vec![Vec::with_capacity(splits.len()); points.len()];
    for (at, split) in splits.iter().enumerate() {
        let (trained, tested) =
            x.fold(split).with_context(|| message!("第 {} 折（共 {} 折）", "fold {} of {}", at + 1, splits.len()))?;
        for (figures, settings) in figures.iter_mut().zip(&points) {
            let place =
                || message!("第 {} 折（共 {} 折），{settings:?}", "fold {} of {}, {settings:?}", at + 1, splits.len());
            let params = params.clone().with_settings(settings)?;
            let model = fit_part(&trained, goal, rows, &split.train, &params, ctx).with_context(place)?;
            figures.push(measure.figure(&model, &tested, &goal.select(&split.test)).with_context(place)?);
            ctx.check()?;
        }
    }
    Ok(points.into_iter().zip(figures).map(|(settings, figures)| SearchPoint::new(settings, figures)).collect())
}

/// The place of the point to use: the best mean, the more restrained of equals (the stronger penalty, fewer trees); or, with the
/// one-standard-error rule, the most restrained whose mean is within one standard error of the best (Breiman and others 1984).
/// `None` where no point has a figure.
pub fn choose_point(points: &[SearchPoint], one_standard_error: bool) -> Option<usize> {
    let known = |i: &usize| points[*i].mean.is_finite();
    let restrained = |a: usize, b: usize| {
        let order =
            points[a].restraint().iter().zip(&points[b].restraint()).map(|(a, b)| a.total_cmp(b)).find(|o| o.is_ne());
        order.unwrap_or(std::cmp::Ordering::Equal)
    };
    let better = |a: usize, b: usize| points[a].mean.total_cmp(&points[b].mean).then(restrained(a, b));
    let best = (0..points.len()).filter(known).max_by(|&a, &b| better(a, b))?;
    if !one_standard_error {
        return Some(best);
    }
    // One fold alone has no standard error.
    let error = points[best].standard_error;
    let least = points[best].mean - if error.is_finite() { error } else { 0.0 };
    (0..points.len()).filter(|&i| points[i].mean >= least).max_by(|&a, &b| restrained(a, b))
}
