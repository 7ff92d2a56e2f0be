//! Input and output of a walk-forward regression: samples and parameters in, scores and a report on each fold out.
//!
//! A fold fits its inputs ([`crate::StackedRows`]) and on them a value (ridge, boosted trees, perceptrons) or a classifier. Classes are the
//! outer parts of the labels (Huatai's event factors: 30 % down, 40 % left out or a class of their own, 30 % up), or labels with names.
//! The score is the estimate of the value in the label's form, or the log-odds of the last class against the first.

use std::collections::BTreeMap;

use anyhow::Result;
use chrono::{NaiveDate, NaiveDateTime};
use serde::{Deserialize, Serialize};

use super::fit::TextModel;
use crate::calibration::CalibrationForm;
use crate::estimate::{Measure, Search, SearchPoint};
use crate::learner::{EstimatorParams, Method};
use crate::linear::Convergence;
use inkstone_base::data::TooLittle;
use inkstone_base::stats::quantile;
use inkstone_base::{ensure, message};

/// One text about one security, with what it was followed by.
#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    /// The first trading day on which the text could be traded, as an index into the calendar.
    pub date: usize,
    /// Samples of one group (the same code and event) never stand on both sides of a fold. A sample that shares its
    /// event with no other has a number of its own.
    pub group: u64,
    /// The target, such as the abnormal return, or the number of a class of [`ClassParams::labels`]; NaN where there is none.
    pub label: f64,
    /// The trading day at whose close the label is known, as an index into the calendar.
    pub label_known: usize,
    /// When the text became known.
    pub known_at: NaiveDateTime,
}

/// The form in which a model of values sees the labels. Cuts and ranks are those of the training samples.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
#[serde(rename_all = "lowercase")]
pub enum LabelForm {
    /// Unchanged.
    Raw,
    /// The outermost values (`winsor` at each end) drawn in to the cut.
    #[default]
    Winsorised,
    /// Ranks, spread evenly over -0.5 to 0.5.
    Ranked,
}

defaults! {
    /// Parameters by which labels become classes, and scores probabilities.
    pub struct ClassParams {
        /// The names of the classes where labels have names, the lowest first and the highest last; empty: labels are numbers, which
        /// `tail` parts.
        labels: Vec<String> = Vec::new(),
        /// Share of the training labels that are up, and as many down.
        tail: f64 = 0.3,
        /// True if those between train as a third class; else they do not train.
        middle: bool = false,
        /// `none` (default), `sigmoid` or `isotonic`: calibration of each fold, on scores out of fold within its training
        /// window, whose folds are stretches of time, purged and with the embargo of the walk.
        calibrate: CalibrationForm = CalibrationForm::None,
        /// Folds of the calibration.
        calibration_folds: usize = 5,
    }
}

impl ClassParams {
    /// Fails when the share or the names cannot be.
    pub fn check(&self) -> Result<()> {
        ensure!(
            self.tail > 0.0 && self.tail <= 0.5,
            "tail = {} 须大于 0 且不超过 0.5",
            "tail = {} must be above 0 and at most 0.5",
            self.tail
        );
        ensure!(
            self.labels.len() != 1,
            "labels = {:?} 只有一类：分类器需要两类以上",
            "labels = {:?} is one class: a classifier needs two or more",
            self.labels
        );
        for (i, name) in self.labels.iter().enumerate() {
            ensure!(
                !name.trim().is_empty() && name.trim() == name,
                "labels 中的 {name:?}：名称前后不能有空格",
                "labels has {name:?}: write a name without blanks around it"
            );
            ensure!(!self.labels[..i].contains(name), "labels 中 {name:?} 写了两次", "labels has {name:?} twice");
        }
        Ok(())
    }

    /// The named classes whose probabilities stand beside the score: more than two.
    pub fn with_probabilities(&self) -> &[String] {
        if self.labels.len() > 2 { &self.labels } else { &[] }
    }

    /// The named classes of which no label is; none where classes have no names.
    pub fn missing(&self, labels: &[f64]) -> Vec<String> {
        let there = |class: usize| labels.iter().any(|y| *y as usize == class);
        (0..self.labels.len()).filter(|&class| !there(class)).map(|class| self.labels[class].clone()).collect()
    }

    /// True if the first or the last of the named classes is missing, so that no score is the log-odds of the one against the other.
    pub(crate) fn lacks_an_end(&self, missing: &[String]) -> bool {
        [self.labels.first(), self.labels.last()].into_iter().flatten().any(|end| missing.contains(end))
    }

    /// The samples that train, the class of each, and the names of the classes: down first, up last.
    pub fn classes(&self, samples: &[usize], labels: &[f64]) -> Result<(Vec<usize>, Vec<u32>, Vec<String>)> {
        if !self.labels.is_empty() {
            return Ok(self.named_classes(samples, labels));
        }
        let ClassParams { tail, middle, .. } = *self;
        let mut sorted = labels.to_vec();
        sorted.sort_by(f64::total_cmp);
        let (low, high) = (quantile(&sorted, tail), quantile(&sorted, 1.0 - tail));
        ensure!(
            low < high,
            TooLittle(message!(
                "训练标签的下侧与上侧 {tail} 在 {low} 相遇：对 tail = {tail} 来说标签取值太少",
                "the lower and the upper {tail} of the training labels meet at {low}: the labels take too few values for tail = {tail}"
            ))
        );
        let between = |y: f64| low < y && y < high;
        // All labels may lie in the outer parts; then there is no third class.
        let middle = middle && labels.iter().any(|y| between(*y));
        let names: &[&str] = if middle { &["down", "middle", "up"] } else { &["down", "up"] };
        let up = names.len() as u32 - 1;
        let kept = samples.iter().copied().zip(labels).filter(|(_, y)| middle || !between(**y));
        let (train, class) = kept.map(|(i, y)| (i, if *y >= high { up } else { u32::from(between(*y)) })).unzip();
        Ok((train, class, names.iter().map(|name| (*name).to_owned()).collect()))
    }

    /// The same where labels are numbers of named classes. All samples train; classes without a sample are left out.
    fn named_classes(&self, samples: &[usize], labels: &[f64]) -> (Vec<usize>, Vec<u32>, Vec<String>) {
        let missing = self.missing(labels);
        let names: Vec<String> = self.labels.iter().filter(|name| !missing.contains(name)).cloned().collect();
        let number = |y: &f64| names.iter().position(|name| *name == self.labels[*y as usize]).unwrap_or(0) as u32;
        (samples.to_vec(), labels.iter().map(number).collect(), names)
    }
}

defaults! {
    /// Parameters of a walked regression.
    pub struct TextRegression {
        /// The form in which ridge, boosted trees and perceptrons learn values. None: ridge learns them winsorised, the others learn classes.
        label: Option<LabelForm> = None,
        /// For `winsorised`: share of the labels drawn in at each end.
        winsor: f64 = 0.01,
        /// For classifiers: which labels make the classes.
        classes: ClassParams = ClassParams::default(),
        /// The model, its penalty and solver.
        estimator: EstimatorParams = EstimatorParams { method: Method::Ridge, ..EstimatorParams::default() },
        /// Settings of the model that each fold chooses on folds of its own training samples: stretches of days, whose labels and groups
        /// are kept apart as those of the walk are.
        search: Search = Search::default(),
        /// Trading days by which a label begins before the day of its text, so that the folds of a search part labels that overlap.
        label_lead: usize = 0,
    }
}

/// The scores of a walk, sample by sample, and the models that gave them.
#[derive(Clone, Debug)]
pub struct Predictions {
    /// One score a sample; NaN where no fold tests it.
    pub score: Vec<f32>,
    /// `[samples, labels]`: the probability of each of more than two named classes; NaN for a class that the fold's training window
    /// lacks, and where no fold tests the sample. Empty otherwise.
    pub probabilities: Vec<f32>,
    /// The fold that gave the score, as an index into `models` and `folds`; -1 for none.
    pub fold: Vec<i32>,
    /// The fitted models; `None` for a fold that had too few samples.
    pub models: Vec<Option<TextModel>>,
    /// The report of each fold.
    pub folds: Vec<FoldReport>,
}

impl Predictions {
    /// When the score of sample `i` was known: the later of the text itself and the last of the data its model saw.
    /// `None` without a score.
    pub fn known_at(&self, i: usize, sample: &Sample) -> Option<NaiveDateTime> {
        let model = self.models[usize::try_from(self.fold[i]).ok()?].as_ref()?;
        Some(sample.known_at.max(model.fitted_until))
    }
}

/// The data and the figures of one fold.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FoldReport {
    /// First and last training day.
    pub train: (NaiveDate, NaiveDate),
    /// First and last test day.
    pub test: (NaiveDate, NaiveDate),
    /// Samples of the training window that trained, or would have, had there been enough.
    pub train_rows: usize,
    /// Samples scored.
    pub test_rows: usize,
    /// Samples of the training window without a label.
    pub unlabelled: usize,
    /// Samples left out because their label was not known in time.
    pub purged: usize,
    /// Samples left out because their group is tested.
    pub grouped: usize,
    /// Samples left out between the outer parts of the labels (classifiers).
    pub middle: usize,
    /// Named classes that no training sample has. The fold is passed over if the first or the last class is among them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<String>,
    pub vocabulary: usize,
    /// Scored samples without any input (none of whose words is a term): their score is the model's intercept, or 0.
    pub unseen: usize,
    /// The last moment of the data that the model saw, texts and labels; `None` when the fold was passed over.
    pub fitted_until: Option<NaiveDateTime>,
    /// The end of the solver; the least exact, where it solved several problems.
    pub convergence: Convergence,
    /// On the training samples: share of variance explained (values), area under the curve of the last class against the first
    /// (classifiers), rank correlation of score and label (SESTM and induced lexicons).
    pub in_sample: Option<f64>,
    /// On the test samples with a label: rank correlation of score and label.
    pub out_of_sample: Option<f64>,
    /// Terms with the highest weights, as token ids, the highest first; none of trees and networks.
    pub top: Vec<(u32, f32)>,
    /// Terms with the lowest weights, the lowest first.
    pub bottom: Vec<(u32, f32)>,
    /// The settings that the fold's search chose.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub search: Option<ChosenSettings>,
}

/// The outcome of a search within the training window of a fold.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ChosenSettings {
    /// Values by the name of the setting.
    pub settings: BTreeMap<String, f64>,
    pub measure: Measure,
    /// Mean of the measure over the folds of the search, higher being better: a loss has a minus sign.
    pub mean: f64,
    /// Standard error of the mean; none where one fold alone has a figure.
    pub standard_error: Option<f64>,
    /// Combinations of settings that were tried.
    pub tried: usize,
}

impl ChosenSettings {
    pub(super) fn new(point: SearchPoint, measure: Measure, tried: usize) -> ChosenSettings {
        let SearchPoint { settings, mean, standard_error, .. } = point;
        let standard_error = Some(standard_error).filter(|error| error.is_finite());
        ChosenSettings { settings, measure, mean, standard_error, tried }
    }
}
