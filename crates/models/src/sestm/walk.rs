//! SESTM walked forward: words, topics and ranks of each fold come from its training window alone.

use anyhow::Result;
use chrono::NaiveDate;
use rustc_hash::FxHashSet;

use super::tune::{SestmTrial, choose};
use super::{SestmFit, SestmParams, SestmScore, Topics};
use crate::metrics::rank_correlation;
use crate::sparse::Csr;
use crate::walk_forward::{FoldReport, Sample, WalkForward, Walked, walk_folds};
use inkstone_base::data::Report;
use inkstone_base::ensure;
use inkstone_base::job::Ctx;

/// Words shown at each end of a fold's topics.
const SHOWN_WORDS: usize = 20;

/// The scores of a walk, sample by sample, and the models that gave them.
#[derive(Clone, Debug)]
pub struct SestmWalk {
    /// One score a sample; `None` where no fold tests it.
    pub scores: Vec<Option<SestmScore>>,
    /// The fold that gave the score, as an index into `models` and `folds`; -1 for none.
    pub fold: Vec<i32>,
    /// The fitted models; `None` for a fold that had too few samples.
    pub models: Vec<Option<SestmFold>>,
    /// The report of each fold. In sample and out of it: rank correlation of score and label.
    pub folds: Vec<FoldReport>,
}

/// The model of one fold.
#[derive(Clone, Debug, PartialEq)]
pub struct SestmFold {
    /// Words and topics of the fold.
    pub topics: Topics,
    /// The data of the estimation.
    pub fit: SestmFit,
    /// The results of the combinations of `tune`; empty when there was nothing to choose.
    pub trials: Vec<SestmTrial>,
}

/// Fits and scores fold after fold. Row `i` of `counts` holds the token counts of sample `i`, in an id space of the whole
/// corpus: ids only name the words.
pub fn sestm_walk(
    samples: &[Sample],
    counts: &Csr,
    dates: &[NaiveDate],
    walk: &WalkForward,
    params: &SestmParams,
    ctx: &Ctx,
) -> Result<(SestmWalk, Report)> {
    params.check()?;
    ensure!(
        samples.len() == counts.rows(),
        "{} 个样本，却有 {} 行词频：每个样本须有一行",
        "{} samples, but {} rows of token counts: one row a sample is needed",
        samples.len(),
        counts.rows()
    );
    let mut scores = vec![None; samples.len()];
    let labels_of = |rows: &[usize]| rows.iter().map(|&i| samples[i].label).collect::<Vec<f64>>();
    let (walked, report) = walk_folds(samples, dates, walk, ctx, |step, report| {
        let labels = labels_of(&step.train);
        let (chosen, trials) = if params.tune.is_empty() {
            (params.clone(), Vec::new())
        } else {
            let (early, late) = split(samples, &step.train, params.tune.validation);
            choose(counts, (&early, &labels_of(&early)), (&late, &labels_of(&late)), params, ctx)?
        };
        let (topics, fit) = Topics::fit(counts, &step.train, &labels, &chosen, ctx)?;
        let correlation = |rows: &[usize], found: &[SestmScore]| {
            let known = rows.iter().map(|&i| samples[i].label).zip(found).filter(|(label, _)| !label.is_nan());
            let (labels, scores): (Vec<f64>, Vec<f64>) = known.map(|(label, score)| (label, score.p)).unzip();
            rank_correlation(&scores, &labels)
        };
        let [seen, tested] = ctx.install(|| [&step.train, &step.test].map(|rows| topics.scores(counts, rows)));
        report.test_rows = step.test.len();
        report.vocabulary = topics.columns.len();
        report.unseen = tested.iter().filter(|score| score.words == 0.0).count();
        report.in_sample = correlation(&step.train, &seen);
        report.out_of_sample = correlation(&step.test, &tested);
        let order = topics.by_tone();
        let shown = |&j: &usize| (topics.columns[j], topics.tone(j) as f32);
        report.top = order.iter().take_while(|&&j| topics.tone(j) > 0.0).take(SHOWN_WORDS).map(shown).collect();
        report.bottom =
            order.iter().rev().take_while(|&&j| topics.tone(j) < 0.0).take(SHOWN_WORDS).map(shown).collect();
        for (&i, score) in step.test.iter().zip(tested) {
            scores[i] = Some(score);
        }
        Ok(Some(SestmFold { topics, fit, trials }))
    })?;
    let Walked { fold, models, folds } = walked;
    Ok((SestmWalk { scores, fold, models, folds }, report))
}

/// Training samples that come before the judging ones, and these: the days of the latest `share` of the samples. A sample whose
/// label was not known by then, or whose group is judged, is in neither.
fn split(samples: &[Sample], train: &[usize], share: f64) -> (Vec<usize>, Vec<usize>) {
    let mut days: Vec<usize> = train.iter().map(|&i| samples[i].date).collect();
    days.sort_unstable();
    let at = ((1.0 - share) * days.len() as f64) as usize;
    let first = days.get(at).copied().unwrap_or(usize::MAX);
    let late: Vec<usize> = train.iter().copied().filter(|&i| samples[i].date >= first).collect();
    let judged: FxHashSet<u64> = late.iter().map(|&i| samples[i].group).collect();
    let early = |&i: &usize| {
        let sample = &samples[i];
        sample.date < first && sample.label_known < first && !judged.contains(&sample.group)
    };
    (train.iter().copied().filter(early).collect(), late)
}
