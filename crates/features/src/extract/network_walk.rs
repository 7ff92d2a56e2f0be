//! Networks walked forward as features: the results of folds, computed here or by other processes, and the rows that they become.
//!
//! The training of each fold's network is kept in the set's meta under `networks`.

use anyhow::Result;
use chrono::NaiveTime;

use super::fits::{Fit, FitResult};
use super::reading::CorpusReader;
use super::samples::{SampledCorpus, fit_folds, some_fold_fitted};
use super::set::{SetMeta, finish};
use inkstone_base::data::{Key, Report};
use inkstone_models::{FoldNetworks, NetWalk, NetWalkInput, TestFold, TestedFold, net_of_fold, net_walk};
use inkstone_store::{SetSpec, Store};

/// Walks networks over the samples of a feature. The inputs say whether a fold is computed here.
pub(crate) fn walk_networks<N: FoldNetworks>(
    reader: &CorpusReader<'_>,
    spec: &SetSpec,
    sampled: &SampledCorpus,
    networks: &N,
) -> Result<NetWalk> {
    let CorpusReader { feature, inputs, ctx, .. } = reader;
    let columns = feature.columns().len();
    let test: TestFold<'_> = &|fold, compute| {
        let size = (fold.documents, fold.tokens);
        let fit = Fit::new(spec, fold.first_day.and_time(NaiveTime::MIN), columns, size);
        let result = inputs.fits.result(&fit, || {
            let TestedFold { rows, figures } = compute()?;
            Ok(FitResult { values: rows, note: figures })
        })?;
        Ok(result.map(|FitResult { values, note }| TestedFold { rows: values, figures: note }))
    };
    fit_folds(feature, inputs, ctx, |dates| {
        let (samples, walk, classes) = (&sampled.samples[..], &feature.walk_forward, &feature.classes);
        net_walk(&NetWalkInput { samples, dates, walk, classes, networks }, test, ctx)
    })
}

/// Writes the rows of a walk; fails if no fold has a network.
pub(crate) fn write_walk(
    reader: &CorpusReader<'_>,
    spec: &SetSpec,
    sampled: &SampledCorpus,
    walked: NetWalk,
    store: &Store,
    mut report: Report,
) -> Result<(Key, Report)> {
    let CorpusReader { feature, ctx, .. } = reader;
    some_fold_fitted(feature, &walked.folds)?;
    let dim = feature.columns().len();
    let row = |i: usize| walked.rows.get(dim * i..dim * (i + 1)).filter(|row| !row[0].is_nan());
    let (writer, order) = sampled.write(feature, spec, row, store, &mut report, ctx)?;
    report.fact("folds", &walked.folds);
    let networks = Some(serde_json::to_value(walked.nets)?);
    let folds = Some(walked.folds);
    finish(writer, &order, &SetMeta { folds, networks, ..SetMeta::of_columns(feature.columns()) }, report)
}

/// The network of the fold that scored the document in this part and row, trained once more on the same samples, with the names of its classes;
/// none where no fold scored the document.
pub(crate) fn network_of<N: FoldNetworks>(
    reader: &CorpusReader<'_>,
    sampled: &SampledCorpus,
    networks: &N,
    place: (usize, usize),
) -> Result<Option<(N::Network, Vec<String>)>> {
    let CorpusReader { feature, inputs, ctx, .. } = reader;
    let dates = inputs.market(feature)?.dates();
    let Some(number) = sampled.number_of(place) else { return Ok(None) };
    let (walk, classes, samples) = (&feature.walk_forward, &feature.classes, &sampled.samples[..]);
    let input = NetWalkInput { samples, dates, walk, classes, networks };
    let day = samples[number].date;
    // Where test windows overlap, the newest network that could be trained gave the score.
    for fold in walk.folds(dates.len())?.iter().rev().filter(|fold| fold.test.contains(&day)) {
        if let Some(found) = net_of_fold(&input, fold, ctx)? {
            return Ok(Some(found));
        }
    }
    Ok(None)
}
