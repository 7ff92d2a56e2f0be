//! What a method of learning gives and takes: the trait of learners, their training set, and the scorer that a fit gives.

mod linear;
mod params;

use std::fmt;
use std::sync::Arc;

use anyhow::{Context, Result};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::design::{Design, DesignRow};
use super::goal::{Goal, GoalKind};
use super::linear::{Convergence, Linear, LinearMap};
use super::validation::FoldRows;
use crate::ModelFile;
use inkstone_base::job::Ctx;
use inkstone_base::{ensure, error, message};
pub use params::{ClassWeight, EstimatorParams, Method};

/// The meaning of a score.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Link {
    Value,
    /// Log-odds of the output against everything else.
    Odds,
    /// Log-probabilities up to a constant of the row: the outputs share one softmax.
    Joint,
    /// A distance from the border, which becomes a probability only by calibration.
    Margin,
}

/// The parts of a score that columns contribute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Contributions {
    /// Weight x value of the column, beside an intercept.
    Weights,
    /// Shapley values along the paths of trees, beside the mean over the training rows.
    ShapleyValues,
    /// Integrated gradients, beside the score of a row of zeros.
    IntegratedGradients,
}

/// A method of learning a goal from rows.
pub(crate) trait Learner: Sync {
    fn name(&self) -> &'static str;

    fn goals(&self) -> &'static [GoalKind];

    fn tables(&self) -> &'static [&'static str];

    /// The settings that a search may vary.
    fn settings(&self) -> &'static [Setting];

    fn penalty(&self) -> &'static str {
        "alpha"
    }

    fn example_grid(&self) -> &'static str;

    fn holds_out(&self) -> bool {
        false
    }

    fn contributions(&self) -> Contributions {
        Contributions::Weights
    }

    /// Fits a goal of [`Learner::goals`]; other goals are refused with [`TrainingSet::refused`].
    fn fit(&self, set: &TrainingSet<'_>) -> Result<FittedScorer>;

    /// Reads back [`Scorer::sections`]; rows have `columns` columns.
    fn read(&self, file: &ModelFile, columns: usize) -> Result<Arc<dyn Scorer>> {
        Ok(Arc::new(LinearMap::read(file, columns)?))
    }
}

/// A model that gives scores `[rows, outputs]`.
pub(crate) trait Scorer: fmt::Debug + Send + Sync {
    fn outputs(&self) -> usize;

    /// The scores of rows, `[rows, outputs]`. Call inside `Ctx::install`.
    fn scores(&self, x: &Design) -> Vec<f64>;

    /// The contribution of each column of a row to the score of one output, or to its lead over another (`against`); the first number is
    /// what is there without any column.
    fn explain(&self, row: DesignRow<'_>, output: usize, against: Option<usize>) -> (f64, Vec<(u32, f64)>);

    /// Sections of a model file.
    fn sections(&self) -> Result<Vec<(&'static str, Vec<u8>)>>;

    /// The weights, if it is linear.
    fn linear(&self) -> Option<&LinearMap> {
        None
    }
}

/// A setting that a search may vary.
pub(crate) struct Setting {
    pub(crate) name: &'static str,
    /// True if a larger value restrains the model more, as that of a penalty does.
    pub(crate) restrains: bool,
    field: SettingField,
}

enum SettingField {
    Number(fn(&mut EstimatorParams) -> &mut f64),
    /// A number above 0.
    Positive(fn(&mut EstimatorParams) -> &mut f64),
    Count(fn(&mut EstimatorParams) -> &mut usize),
    /// Units of one hidden layer.
    Layer(fn(&mut EstimatorParams) -> &mut Vec<usize>),
    /// 1/value, which is above 0.
    Inverse(fn(&mut EstimatorParams) -> &mut f64),
}

impl Setting {
    pub(crate) const fn number(
        name: &'static str,
        restrains: bool,
        field: fn(&mut EstimatorParams) -> &mut f64,
    ) -> Setting {
        Setting { name, restrains, field: SettingField::Number(field) }
    }

    pub(crate) const fn count(name: &'static str, field: fn(&mut EstimatorParams) -> &mut usize) -> Setting {
        Setting { name, restrains: false, field: SettingField::Count(field) }
    }

    pub(crate) const fn layer(name: &'static str, field: fn(&mut EstimatorParams) -> &mut Vec<usize>) -> Setting {
        Setting { name, restrains: false, field: SettingField::Layer(field) }
    }

    pub(crate) fn set(&self, params: &mut EstimatorParams, value: f64) -> Result<()> {
        let name = self.name;
        ensure!(value.is_finite(), "{name} = {value} 须为数字", "{name} = {value} must be a number");
        let count = || {
            ensure!(
                value >= 0.0 && value.fract() == 0.0,
                "{name} = {value} 须为非负整数",
                "{name} = {value} must be a whole number, 0 or above"
            );
            Ok(value as usize)
        };
        if matches!(self.field, SettingField::Positive(_) | SettingField::Inverse(_)) {
            ensure!(value > 0.0, "{name} = {value} 须大于 0", "{name} = {value} must be above 0");
        }
        match self.field {
            SettingField::Number(field) | SettingField::Positive(field) => *field(params) = value,
            SettingField::Count(field) => *field(params) = count()?,
            SettingField::Layer(field) => *field(params) = vec![count()?],
            SettingField::Inverse(field) => *field(params) = 1.0 / value,
        }
        Ok(())
    }
}

/// Strength of the penalty of linear models.
pub(crate) const ALPHA: Setting =
    Setting { name: "alpha", restrains: true, field: SettingField::Positive(|params| &mut params.linear.alpha) };

/// 1/[`ALPHA`].
pub(crate) const C: Setting =
    Setting { name: "C", restrains: false, field: SettingField::Inverse(|params| &mut params.linear.alpha) };

/// The rows that an estimator is fitted on.
pub(crate) struct TrainingSet<'a> {
    pub(crate) x: &'a Design,
    pub(crate) goal: &'a Goal,
    /// One a row, none negative; none: each row counts alike. Classes are balanced by them where that is wanted, labels are not yet.
    pub(crate) weights: Option<&'a [f64]>,
    /// Groups and times of the rows.
    pub(crate) order: Option<&'a FoldRows>,
    pub(crate) params: &'a EstimatorParams,
    pub(crate) ctx: &'a Ctx,
}

impl TrainingSet<'_> {
    /// The error of a goal that is not among [`Learner::goals`], which are looked at before a fit.
    pub(crate) fn refused(&self) -> anyhow::Error {
        error!("该方法不学习 {:?}", "the method does not learn {:?}", self.goal.kind())
    }

    /// Fits a linear model of each label against all rows without it. `fit` has the rows with the label, the balanced weights and the number
    /// of the label.
    pub(crate) fn one_against_rest(
        &self,
        labels: &[Vec<u32>],
        link: Link,
        fit: impl Fn(&[bool], Option<&[f64]>, usize) -> Result<Linear> + Sync,
    ) -> Result<FittedScorer> {
        let one = |label: usize| -> Result<Linear> {
            let up: Vec<bool> = labels.iter().map(|row| row.binary_search(&(label as u32)).is_ok()).collect();
            let n = up.iter().filter(|up| **up).count();
            if n == 0 || n == up.len() {
                return Ok(constant(n, up.len(), self.x.cols()));
            }
            let class: Vec<u32> = up.iter().map(|&up| u32::from(up)).collect();
            let weights = class_weights(&class, 2, self.weights, self.params.class_weight);
            fit(&up, weights.as_deref(), label)
        };
        let names = self.goal.names();
        let named = |label: usize| one(label).with_context(|| message!("标签 {:?}", "label {:?}", names[label]));
        Ok(FittedScorer::linear(link, (0..names.len()).into_par_iter().map(named).collect::<Result<_>>()?))
    }
}

/// The result of a fit.
pub(crate) struct FittedScorer {
    pub(crate) link: Link,
    pub(crate) scorer: Arc<dyn Scorer>,
    /// The end of the solver of each problem; none where nothing was to be solved step by step.
    pub(crate) convergence: Vec<Convergence>,
}

impl FittedScorer {
    pub(crate) fn new(link: Link, scorer: impl Scorer + 'static, convergence: Vec<Convergence>) -> FittedScorer {
        FittedScorer { link, scorer: Arc::new(scorer), convergence }
    }

    /// One linear model for each output.
    pub(crate) fn linear(link: Link, models: Vec<Linear>) -> FittedScorer {
        let convergence = models.iter().map(|model| model.convergence).collect();
        FittedScorer::new(link, LinearMap::from_models(&models), convergence)
    }
}

/// The rows of a class.
pub(crate) fn rows_of(class: &[u32], wanted: usize) -> Vec<bool> {
    class.iter().map(|&class| class as usize == wanted).collect()
}

/// The model of a label that all rows or none have: its frequency, half a row added to each side.
fn constant(n: usize, rows: usize, columns: usize) -> Linear {
    let intercept = ((n as f64 + 0.5) / ((rows - n) as f64 + 0.5)).ln();
    let convergence = Convergence { converged: true, ..Convergence::default() };
    Linear { weights: vec![0.0; columns], intercept, convergence }
}

/// The rows' weights with the classes balanced, if that is wanted.
pub(crate) fn class_weights(
    class: &[u32],
    classes: usize,
    weights: Option<&[f64]>,
    form: ClassWeight,
) -> Option<Vec<f64>> {
    if form == ClassWeight::None {
        return weights.map(<[f64]>::to_vec);
    }
    let weight = |i: usize| weights.map_or(1.0, |w| w[i]);
    let mut sizes = vec![0.0; classes];
    class.iter().enumerate().for_each(|(i, &c)| sizes[c as usize] += weight(i));
    let total: f64 = sizes.iter().sum();
    let balanced = |(i, &c): (usize, &u32)| weight(i) * total / (classes as f64 * sizes[c as usize]);
    Some(class.iter().enumerate().map(balanced).collect())
}
