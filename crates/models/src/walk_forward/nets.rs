//! Networks walked forward: each fold trains a network on its own training window alone.
//!
//! The classes are those of the walked classifiers: the outer parts of the labels of a window, or labels with names. The score of a text
//! is the log-odds of the last class against the first.

use anyhow::Result;
use chrono::{NaiveDate, NaiveDateTime};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::text::{ClassParams, FoldReport, Sample};
use super::walk::{WalkStep, Walked, step_of, walk_folds};
use super::{Fold, WalkForward};
use crate::Goal;
use crate::metrics::{area_under_curve, rank_correlation};
use crate::neural::EpochFigures;
use inkstone_base::data::Report;
use inkstone_base::ensure;
use inkstone_base::job::Ctx;

/// Training texts that are scored together.
const TOGETHER: usize = 16;

/// Networks of one kind, of which each fold trains one.
pub trait FoldNetworks: Sync {
    type Network: Sync;

    /// Tokens that are read of a sample.
    fn tokens(&self, sample: usize) -> usize;

    /// Trains a network on some samples and fills in `report`; none if the network begins with given vectors and no vectors precede the fold.
    fn train(
        &self,
        samples: &[usize],
        goal: &Goal,
        report: &mut FoldReport,
        ctx: &Ctx,
    ) -> Result<Option<Self::Network>>;

    /// The probabilities of the classes, `[samples, classes]`.
    fn probabilities(&self, network: &Self::Network, samples: &[usize], ctx: &Ctx) -> Result<Vec<f64>>;

    /// True if a network knows a token of a sample.
    fn knows(&self, network: &Self::Network, sample: usize) -> bool;

    /// The figures of a network.
    fn figures(&self, network: &Self::Network) -> NetFold;
}

/// The network of a fold.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NetFold {
    /// Words that have a given vector; none where no vectors are given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub given_words: Option<usize>,
    /// Last time of the text that the given vectors were trained on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vectors_until: Option<NaiveDateTime>,
    /// Numbers that were learned.
    pub parameters: usize,
    /// Figures of the epochs; the held-out documents are training documents.
    pub epochs: Vec<EpochFigures>,
}

/// Samples, and the networks that are walked forward over them.
pub struct NetWalkInput<'a, N> {
    pub samples: &'a [Sample],
    /// The trading calendar.
    pub dates: &'a [NaiveDate],
    pub walk: &'a WalkForward,
    pub classes: &'a ClassParams,
    pub networks: &'a N,
}

/// A fold whose network is to be trained and tested.
pub struct UntestedFold {
    /// The first day of the test window.
    pub first_day: NaiveDate,
    /// Training documents, and their tokens.
    pub documents: u64,
    pub tokens: u64,
}

/// The result of a fold: the scores of its network on the test documents.
#[derive(Clone, Debug)]
pub struct TestedFold {
    /// `[test documents, 1 + classes with probabilities]`, as of [`NetWalk::rows`].
    pub rows: Vec<f32>,
    /// The report of the fold and the figures of its network; none if the fold has no network, because no given vectors precede the fold.
    pub figures: Option<(FoldReport, NetFold)>,
}

/// Gives the result of a fold: computed by the function that it gets, or by another process; none passes the fold over.
pub type TestFold<'a> = &'a dyn Fn(&UntestedFold, &dyn Fn() -> Result<TestedFold>) -> Result<Option<TestedFold>>;

/// The scores of a walk, sample by sample.
#[derive(Clone, Debug)]
pub struct NetWalk {
    /// `[samples, 1 + labels]`: the score, and the probability of each of more than two named classes; NaN for a class that the fold's
    /// training window lacks, and where no fold tests the sample.
    pub rows: Vec<f32>,
    /// The networks; none for a fold that had too few samples.
    pub nets: Vec<Option<NetFold>>,
    /// The report of each fold.
    pub folds: Vec<FoldReport>,
}

/// Trains and tests fold after fold; folds do not depend on one another.
pub fn net_walk<N: FoldNetworks>(
    input: &NetWalkInput<'_, N>,
    test: TestFold<'_>,
    ctx: &Ctx,
) -> Result<(NetWalk, Report)> {
    let NetWalkInput { samples, dates, walk, classes, networks } = input;
    classes.check()?;
    let columns = 1 + classes.with_probabilities().len();
    let mut rows = vec![f32::NAN; samples.len() * columns];
    let (walked, report) = walk_folds(samples, dates, walk, ctx, |step, report| {
        let Some(labelled) = input.labelled(step, report)? else { return Ok(None) };
        let untested = UntestedFold {
            first_day: report.test.0,
            documents: labelled.samples.len() as u64,
            tokens: labelled.samples.iter().map(|&i| networks.tokens(i) as u64).sum(),
        };
        let tested = test(&untested, &|| input.test(step, &labelled, report, ctx))?;
        let Some(TestedFold { rows: tested, figures: Some((found, net)) }) = tested else { return Ok(None) };
        ensure!(
            tested.len() == step.test.len() * columns,
            "有一折在不属于它的文档上测试",
            "a fold was tested on other documents than its own"
        );
        for (&i, row) in step.test.iter().zip(tested.chunks(columns)) {
            rows[i * columns..][..columns].copy_from_slice(row);
        }
        *report = found;
        Ok(Some(net))
    })?;
    let Walked { models, mut folds, .. } = walked;
    for (fold, net) in folds.iter_mut().zip(&models) {
        fold.fitted_until = fold.fitted_until.max(net.as_ref().and_then(|net| net.vectors_until));
    }
    Ok((NetWalk { rows, nets: models, folds }, report))
}

/// The network of one fold with the names of its classes, trained as [`net_walk`] trains it; `None` where too little is there to train it.
pub fn net_of_fold<N: FoldNetworks>(
    input: &NetWalkInput<'_, N>,
    fold: &Fold,
    ctx: &Ctx,
) -> Result<Option<(N::Network, Vec<String>)>> {
    let NetWalkInput { samples, dates, walk, networks, .. } = input;
    let Some(step) = step_of(samples, dates, walk, fold) else { return Ok(None) };
    let mut report =
        FoldReport { train: (dates[fold.train.start], dates[fold.train.end - 1]), ..FoldReport::default() };
    let Some(LabelledSamples { samples, goal, .. }) = input.labelled(&step, &mut report)? else { return Ok(None) };
    let trained = networks.train(&samples, &goal, &mut report, ctx)?;
    Ok(trained.map(|network| (network, goal.names().to_vec())))
}

/// The training samples of a fold that have a class.
struct LabelledSamples {
    samples: Vec<usize>,
    class: Vec<u32>,
    /// The same classes as a goal.
    goal: Goal,
}

impl<N: FoldNetworks> NetWalkInput<'_, N> {
    /// The classes of a fold's training samples; `None` where they are too few, or where the first or the last class is missing.
    fn labelled(&self, step: &WalkStep, report: &mut FoldReport) -> Result<Option<LabelledSamples>> {
        let NetWalkInput { samples, walk, classes, .. } = self;
        let labels: Vec<f64> = step.train.iter().map(|&i| samples[i].label).collect();
        report.missing = classes.missing(&labels);
        if classes.lacks_an_end(&report.missing) {
            return Ok(None);
        }
        let (samples, class, names) = classes.classes(&step.train, &labels)?;
        report.middle = labels.len() - samples.len();
        report.train_rows = samples.len();
        let goal = Goal::Classes { class: class.clone(), names };
        Ok((samples.len() >= walk.min_train_rows).then_some(LabelledSamples { samples, class, goal }))
    }

    /// Trains the network of a fold and scores its test documents; `report` is what is known of the fold before.
    fn test(&self, step: &WalkStep, labelled: &LabelledSamples, report: &FoldReport, ctx: &Ctx) -> Result<TestedFold> {
        let NetWalkInput { samples, classes, networks, .. } = self;
        let LabelledSamples { samples: train, class, goal } = labelled;
        let mut report = report.clone();
        let Some(network) = networks.train(train, goal, &mut report, ctx)? else {
            return Ok(TestedFold { rows: Vec::new(), figures: None });
        };
        let up = goal.names().len() - 1;
        let place = |class: &String| goal.names().iter().position(|name| name == class);
        let places: Vec<Option<usize>> = classes.with_probabilities().iter().map(place).collect();

        // A text is scored alone: what it is computed beside would show in the last bits.
        let tested = ctx.install(|| {
            let one = |&i: &usize| {
                ctx.check()?;
                networks.probabilities(&network, &[i], ctx)
            };
            step.test.par_iter().map(one).collect::<Result<Vec<Vec<f64>>>>()
        })?;
        report.test_rows = step.test.len();
        report.unseen = step.test.iter().filter(|&&i| !networks.knows(&network, i)).count();
        let with_label = step.test.iter().zip(&tested).map(|(&i, found)| (samples[i].label, lead(found, up)));
        let (labels, scores): (Vec<f64>, Vec<f64>) = with_label.filter(|(label, _)| !label.is_nan()).unzip();
        report.out_of_sample = rank_correlation(&scores, &labels);
        let trained = ctx.install(|| {
            let piece = |samples: &[usize]| {
                ctx.check()?;
                networks.probabilities(&network, samples, ctx)
            };
            train.par_chunks(TOGETHER).map(piece).collect::<Result<Vec<Vec<f64>>>>()
        })?;
        report.in_sample = in_sample(&trained.concat(), class, up);
        let row = |found: &Vec<f64>| {
            let probability = |place: &Option<usize>| place.map_or(f32::NAN, |place| found[place] as f32);
            std::iter::once(lead(found, up) as f32).chain(places.iter().map(probability)).collect::<Vec<f32>>()
        };
        let rows = tested.iter().flat_map(row).collect();
        Ok(TestedFold { rows, figures: Some((report, networks.figures(&network))) })
    }
}

/// ln(p(last class) / p(first class)).
pub fn lead(probabilities: &[f64], up: usize) -> f64 {
    let log = |p: f64| p.max(f64::MIN_POSITIVE).ln();
    log(probabilities[up]) - log(probabilities[0])
}

/// The area under the curve of the last class against the first on the training documents.
fn in_sample(probabilities: &[f64], class: &[u32], up: usize) -> Option<f64> {
    let scores = probabilities.chunks(up + 1).zip(class).map(|(p, class)| (lead(p, up), *class as usize));
    let (scores, is_up): (Vec<f64>, Vec<bool>) =
        scores.filter(|(_, class)| *class == 0 || *class == up).map(|(score, class)| (score, class == up)).unzip();
    area_under_curve(&scores, &is_up)
}
