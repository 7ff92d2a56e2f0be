//! Networks walked forward: the words, label cuts and weights of each fold come from its training window alone.
//!
//! The classes are those of the walked classifiers: the outer parts of the labels of a window, or labels with names. The score of a text
//! is the log-odds of the last class against the first. Training documents of a fold are held in memory as far as the network reads them.

use std::ops::Range;
use std::sync::Arc;

use anyhow::{Result, ensure};
use chrono::{NaiveDate, NaiveDateTime};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::{Examples, TextNet, TextNetParams, batches};
use crate::metrics::{area_under_curve, rank_correlation};
use crate::neural::EpochFigures;
use crate::walk_forward::{ClassParams, Fold, FoldReport, Sample, WalkForward, WalkStep, Walked, step_of, walk_folds};
use crate::words::WordLimits;
use crate::{Goal, WordVectors};
use inkstone_base::data::{Report, TooLittle};
use inkstone_base::job::Ctx;

/// Texts as numbers of words, a text a sample.
pub struct NumberedTexts<'a> {
    /// The numbers of all tokens.
    pub numbers: &'a [u32],
    /// The places of each text's tokens among them.
    pub places: &'a [Range<usize>],
    /// The word of each number: mere names, which words are known is decided on each training window.
    pub words: &'a [String],
}

impl NumberedTexts<'_> {
    pub(super) fn text(&self, i: usize) -> &[u32] {
        &self.numbers[self.places[i].clone()]
    }
}

/// Word vectors that the network of a fold begins with.
#[derive(Clone)]
pub struct GivenVectors {
    pub vectors: Arc<WordVectors>,
    /// Last time of the text that they were trained on.
    pub seen_until: NaiveDateTime,
}

/// Gives the word vectors of a fold by its last training day; none where too little text was there before that day.
pub type VectorsOfFold<'a> = &'a dyn Fn(NaiveDate) -> Result<Option<GivenVectors>>;

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

/// Samples with their texts, and the settings of the networks that are walked forward over them.
pub struct NetWalkInput<'a> {
    pub samples: &'a [Sample],
    pub texts: &'a NumberedTexts<'a>,
    /// The trading calendar.
    pub dates: &'a [NaiveDate],
    pub walk: &'a WalkForward,
    pub limits: &'a WordLimits,
    pub classes: &'a ClassParams,
    pub params: &'a TextNetParams,
    pub given: Option<VectorsOfFold<'a>>,
}

/// A fold whose network is to be trained and tested.
pub struct UntestedFold {
    /// The first day of the test window.
    pub first_day: NaiveDate,
    /// Training documents, and their tokens.
    pub documents: u64,
    pub tokens: u64,
}

/// The result of a fold: what its network says of the test documents.
#[derive(Clone, Debug)]
pub struct TestedFold {
    /// `[test documents, 1 + classes with probabilities]`, as of [`NetWalk::rows`].
    pub rows: Vec<f32>,
    /// None where the fold has no network, since no given vectors were there before it.
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
pub fn net_walk(input: &NetWalkInput<'_>, test: TestFold<'_>, ctx: &Ctx) -> Result<(NetWalk, Report)> {
    let NetWalkInput { samples, texts, dates, walk, classes, params, .. } = input;
    params.check()?;
    classes.check()?;
    ensure!(samples.len() == texts.places.len(), "{} samples, but {} texts", samples.len(), texts.places.len());
    let columns = 1 + classes.with_probabilities().len();
    let mut rows = vec![f32::NAN; samples.len() * columns];
    let (walked, report) = walk_folds(samples, dates, walk, ctx, |step, report| {
        let Some(labelled) = input.labelled(step, report)? else { return Ok(None) };
        let untested = UntestedFold {
            first_day: report.test.0,
            documents: labelled.train.len() as u64,
            tokens: labelled.train.iter().map(|&i| texts.text(i).len().min(params.max_tokens) as u64).sum(),
        };
        let tested = test(&untested, &|| input.test(step, &labelled, report, ctx))?;
        let Some(TestedFold { rows: tested, figures: Some((found, net)) }) = tested else { return Ok(None) };
        ensure!(tested.len() == step.test.len() * columns, "a fold was tested on other documents than its own");
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

/// The network of one fold, trained as [`net_walk`] trains it; `None` where too little is there to train it.
pub fn net_of_fold(input: &NetWalkInput<'_>, fold: &Fold, ctx: &Ctx) -> Result<Option<TextNet>> {
    let NetWalkInput { samples, dates, walk, .. } = input;
    let Some(step) = step_of(samples, dates, walk, fold) else { return Ok(None) };
    let mut report =
        FoldReport { train: (dates[fold.train.start], dates[fold.train.end - 1]), ..FoldReport::default() };
    let Some(labelled) = input.labelled(&step, &mut report)? else { return Ok(None) };
    Ok(input.train(&labelled, &mut report, ctx)?.map(|trained| trained.net))
}

/// The training samples of a fold that have a class.
struct LabelledSamples {
    train: Vec<usize>,
    /// The class of each.
    class: Vec<u32>,
    names: Vec<String>,
}

/// The network of a fold and what it was trained on.
struct TrainedNet {
    net: TextNet,
    vocabulary: KnownWords,
    documents: Vec<Vec<u32>>,
    given: Option<GivenVectors>,
}

impl NetWalkInput<'_> {
    /// The classes of a fold's training samples; `None` where they are too few, or where the first or the last class is missing.
    fn labelled(&self, step: &WalkStep, report: &mut FoldReport) -> Result<Option<LabelledSamples>> {
        let NetWalkInput { samples, walk, classes, .. } = self;
        let labels: Vec<f64> = step.train.iter().map(|&i| samples[i].label).collect();
        report.missing = classes.missing(&labels);
        if classes.lacks_an_end(&report.missing) {
            return Ok(None);
        }
        let (train, class, names) = classes.classes(&step.train, &labels)?;
        report.middle = labels.len() - train.len();
        report.train_rows = train.len();
        Ok((train.len() >= walk.min_train_rows).then_some(LabelledSamples { train, class, names }))
    }

    /// Trains the network of a fold and notes in `report` what it saw; `None` where no given vectors were there before the fold.
    fn train(&self, labelled: &LabelledSamples, report: &mut FoldReport, ctx: &Ctx) -> Result<Option<TrainedNet>> {
        let NetWalkInput { texts, limits, params, given, .. } = *self;
        let LabelledSamples { train, class, names } = labelled;
        let given = match given {
            None => None,
            Some(given) => match given(report.train.1)? {
                None => return Ok(None),
                given => given,
            },
        };
        let vocabulary = KnownWords::new(texts, train, limits, ctx)?;
        report.vocabulary = vocabulary.words.len();
        let documents = train.iter().map(|&i| vocabulary.document(texts.text(i), params.max_tokens)).collect();
        let examples = Examples { documents, goal: Goal::Classes { class: class.clone(), names: names.clone() } };
        let vectors = given.as_ref().map(|given| &*given.vectors);
        let net = TextNet::train(&examples, vocabulary.words.clone(), vectors, params, None, ctx)?;
        Ok(Some(TrainedNet { net, vocabulary, documents: examples.documents, given }))
    }

    /// Trains the network of a fold and scores its test documents; `report` is what is known of the fold before.
    fn test(&self, step: &WalkStep, labelled: &LabelledSamples, report: &FoldReport, ctx: &Ctx) -> Result<TestedFold> {
        let NetWalkInput { samples, texts, classes, params, .. } = self;
        let mut report = report.clone();
        let Some(trained) = self.train(labelled, &mut report, ctx)? else {
            return Ok(TestedFold { rows: Vec::new(), figures: None });
        };
        let TrainedNet { net, vocabulary, documents, given } = trained;
        let up = labelled.names.len() - 1;
        let place = |class: &String| labelled.names.iter().position(|name| name == class);
        let places: Vec<Option<usize>> = classes.with_probabilities().iter().map(place).collect();

        // A text is scored alone: what it is computed beside would show in the last bits.
        let tested = ctx.install(|| {
            let one = |&i: &usize| {
                ctx.check()?;
                let document = vocabulary.document(texts.text(i), params.max_tokens);
                Ok((net.probabilities(&[document])?, texts.text(i).iter().any(|&n| vocabulary.knows(n))))
            };
            step.test.par_iter().map(one).collect::<Result<Vec<(Vec<f64>, bool)>>>()
        })?;
        report.test_rows = step.test.len();
        report.unseen = tested.iter().filter(|(_, known)| !known).count();
        let with_label = step.test.iter().zip(&tested).map(|(&i, (found, _))| (samples[i].label, lead(found, up)));
        let (labels, scores): (Vec<f64>, Vec<f64>) = with_label.filter(|(label, _)| !label.is_nan()).unzip();
        report.out_of_sample = rank_correlation(&scores, &labels);
        report.in_sample = in_sample(&net, &documents, &labelled.class, up, ctx)?;
        let row = |(found, _): &(Vec<f64>, bool)| {
            let probability = |place: &Option<usize>| place.map_or(f32::NAN, |place| found[place] as f32);
            std::iter::once(lead(found, up) as f32).chain(places.iter().map(probability)).collect::<Vec<f32>>()
        };
        let net = NetFold {
            given_words: given.as_ref().map(|given| given.vectors.known(&vocabulary.words)),
            vectors_until: given.as_ref().map(|given| given.seen_until),
            parameters: net.parameters(),
            epochs: net.epochs().to_vec(),
        };
        Ok(TestedFold { rows: tested.iter().flat_map(row).collect(), figures: Some((report, net)) })
    }
}

/// ln(p(last class) / p(first class)).
pub fn lead(probabilities: &[f64], up: usize) -> f64 {
    let log = |p: f64| p.max(f64::MIN_POSITIVE).ln();
    log(probabilities[up]) - log(probabilities[0])
}

/// The area under the curve of the last class against the first on the training documents.
fn in_sample(net: &TextNet, documents: &[Vec<u32>], class: &[u32], up: usize, ctx: &Ctx) -> Result<Option<f64>> {
    let probabilities = ctx.install(|| {
        let piece = |documents: &[Vec<u32>]| {
            ctx.check()?;
            net.probabilities(documents)
        };
        documents.par_chunks(batches::PIECE).map(piece).collect::<Result<Vec<Vec<f64>>>>()
    })?;
    let probabilities = probabilities.concat();
    let scores = probabilities.chunks(up + 1).zip(class).map(|(p, class)| (lead(p, up), *class as usize));
    let (scores, is_up): (Vec<f64>, Vec<bool>) =
        scores.filter(|(_, class)| *class == 0 || *class == up).map(|(score, class)| (score, class == up)).unzip();
    Ok(area_under_curve(&scores, &is_up))
}

/// The words of a training window.
pub(super) struct KnownWords {
    pub(super) words: Vec<Box<str>>,
    /// The place among these of each number of the corpus; that of unknown words comes after the last.
    places: Vec<u32>,
}

impl KnownWords {
    pub(super) fn new(
        texts: &NumberedTexts<'_>,
        train: &[usize],
        limits: &WordLimits,
        ctx: &Ctx,
    ) -> Result<KnownWords> {
        let mut counts = vec![0u64; texts.words.len()];
        for &i in train {
            ctx.check()?;
            texts.text(i).iter().for_each(|&number| counts[number as usize] += 1);
        }
        let kept = limits.choose(&counts, texts.words);
        ensure!(
            kept.len() > 1,
            TooLittle(format!(
                "{} of {} words occur at least {} times in {} documents, and a network needs two: lower words.min_count",
                kept.len(),
                counts.iter().filter(|count| **count > 0).count(),
                limits.min_count,
                train.len()
            ))
        );
        let mut places = vec![kept.len() as u32; texts.words.len()];
        (0..).zip(&kept).for_each(|(place, &number)| places[number as usize] = place);
        Ok(KnownWords {
            words: kept.iter().map(|&number| texts.words[number as usize].as_str().into()).collect(),
            places,
        })
    }

    fn knows(&self, number: u32) -> bool {
        (self.places[number as usize] as usize) < self.words.len()
    }

    pub(super) fn document(&self, text: &[u32], most: usize) -> Vec<u32> {
        text.iter().take(most).map(|&number| self.places[number as usize]).collect()
    }
}
