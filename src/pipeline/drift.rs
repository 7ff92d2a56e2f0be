//! Drift: how much a smaller form of a model (half precision, integers) changes the rows of a feature and the factors made of them.

use std::path::Path;

use anyhow::{Context, Result};
use serde::Serialize;

use super::factor_builder::FactorBuilder;
use super::market::needed;
use super::stage::{Stage, StageId};
use super::{CorpusParts, PipelineRun};
use crate::config::Config;
use inkstone_base::data::Key;
use inkstone_base::job::Ctx;
use inkstone_base::language::Word;
use inkstone_base::stats::spearman;
use inkstone_base::{ensure, message};
use inkstone_features::extract::{self, Feature, Model, SetMeta};
use inkstone_lab::backtest;
use inkstone_lab::factor::Factor;
use inkstone_market::Market;
use inkstone_onnx::{Drift, DriftFigures};
use inkstone_store::{Set, Store, Values};

/// The changes in a feature and in the factors that read it.
#[derive(Debug, Serialize)]
pub struct Drifted {
    /// Differences of the rows.
    rows: DriftFigures,
    factors: Vec<FactorDrift>,
}

/// The changes in a factor.
#[derive(Debug, Serialize)]
struct FactorDrift {
    factor: String,
    /// Dates on which both forms have at least three values.
    dates: usize,
    /// Mean over these dates of the rank correlation of the values.
    mean_rank_correlation: f64,
    /// Least of these correlations.
    least_rank_correlation: f64,
    rank_ic: Vec<RankIc>,
}

/// The mean RankIC of a factor by both forms.
#[derive(Debug, Serialize)]
struct RankIc {
    horizon: usize,
    own: f64,
    against: f64,
}

/// Runs a project as far as its features, computes the feature once more with the model `against`, and compares. What was computed
/// for this is removed again.
pub fn drift(config: &Config, base: &Path, feature: &str, against: &Path, ctx: &Ctx) -> Result<Drifted> {
    let known: Vec<&str> = config.feature.iter().filter(|f| f.model == Model::Onnx).map(|f| f.name.as_str()).collect();
    let named = config.feature.iter().find(|f| f.name == feature && f.model == Model::Onnx);
    let named = named.with_context(|| {
        message!(
            "没有 model = \"onnx\" 的特征 {feature:?}；用该模型的特征有：{}",
            "there is no feature {feature:?} with model = \"onnx\"; the features with that model are: {}",
            known.join(", ")
        )
    })?;
    let mut other = named.clone();
    other.onnx.model = std::path::absolute(against)?;
    let mut run = PipelineRun::new(config, base, ctx)?;
    run.run_until(Stage::Extract)?;
    let store = Store::open(&run.project.store())?;
    let own = run.sets[feature];
    let parts = CorpusParts::new(config, run.base, &run.project);
    let inputs = run.inputs(&parts, &store);
    let name = format!("{} again", StageId::Extract(feature.to_owned()));
    let (again, _) = ctx.stage(&name, "docs", run.documents, || extract::run(&other, &inputs, &store, ctx))?;
    let compared = compare(&run, named, [own, again], &store);
    if again != own {
        store.remove(&again)?;
    }
    compared
}

fn compare(run: &PipelineRun<'_>, feature: &Feature, sets: [Key; 2], store: &Store) -> Result<Drifted> {
    let [own, again] = sets.map(|set| store.set(&set));
    let gone = Word("特征的行已不在特征库中", "a feature's rows are gone from the store");
    let rows = rows_drift(&own?.context(gone)?, &again?.context(gone)?)?;
    let mut factors = Vec::new();
    let made_of = run.config.factor.iter().filter(|factor| factor.reads(&feature.name));
    for params in made_of {
        let market = needed(&run.market)?;
        let builder = FactorBuilder { store, market, project: &run.project, config: run.config, base: run.base };
        let build = |set| {
            let mut sets = run.sets.clone();
            sets.insert(feature.name.clone(), set);
            builder.build(params, &sets, run.ctx)
        };
        factors.push(factor_drift(&params.name, [build(sets[0])?, build(sets[1])?], market, run)?);
    }
    Ok(Drifted { rows, factors })
}

fn rows_drift(own: &Set<'_>, again: &Set<'_>) -> Result<DriftFigures> {
    let columns = SetMeta::read(own.header())?.columns;
    ensure!(
        own.header().spec.kind == again.header().spec.kind,
        "两个模型给出的行长度不同",
        "the models give rows of different lengths"
    );
    let mut drift = Drift::new(columns.len());
    for (own, again) in own.batches().zip(again.batches()) {
        if let (Values::Dense { dim, data }, Values::Dense { data: other, .. }) = (own?.values, again?.values) {
            data.chunks(dim).zip(other.chunks(dim)).for_each(|(own, other)| drift.add(own, other));
        }
    }
    Ok(drift.figures(&columns))
}

fn factor_drift(name: &str, [own, again]: [Factor; 2], market: &Market, run: &PipelineRun<'_>) -> Result<FactorDrift> {
    let correlations: Vec<f64> = (0..market.dates().len())
        .filter_map(|date| {
            let both =
                own.values.row(date).iter().zip(again.values.row(date)).filter(|(a, b)| !a.is_nan() && !b.is_nan());
            let (own, again): (Vec<f64>, Vec<f64>) = both.map(|(a, b)| (*a, *b)).unzip();
            (own.len() >= 3).then(|| spearman(&own, &again)).filter(|correlation| correlation.is_finite())
        })
        .collect();
    let tested = |factor: &Factor| backtest::run(factor, market, &run.config.backtest, run.ctx).map(|tested| tested.0);
    let (own, again) = (tested(&own)?, tested(&again)?);
    let rank_ic = own.ic.iter().zip(&again.ic).map(|(own, again)| RankIc {
        horizon: own.horizon,
        own: own.rank_ic_summary.mean,
        against: again.rank_ic_summary.mean,
    });
    Ok(FactorDrift {
        factor: name.to_owned(),
        dates: correlations.len(),
        mean_rank_correlation: correlations.iter().sum::<f64>() / correlations.len() as f64,
        least_rank_correlation: correlations.iter().copied().fold(f64::NAN, f64::min),
        rank_ic: rank_ic.collect(),
    })
}
