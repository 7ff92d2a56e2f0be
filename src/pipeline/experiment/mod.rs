//! Experiments: the same documents truncated by every strategy, through the stages of features and factors.
//!
//! A cell is a feature that is truncated by the cell's strategy. Its observations are kept in a file, so that an experiment that was
//! stopped continues with the cell that it was in. Contextual models that put rows together from windows read
//! each window once for all cells.

mod cells;
mod document;
mod labels;

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use anyhow::{Context, Result, ensure};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::stage::{Stage, derived_from, derived_name};
use super::{CorpusParts, Run, market, securities, version};
use crate::config::Config;
use inkstone_base::data::{Key, Kind, Report};
use inkstone_base::disk;
use inkstone_base::job::Ctx;
use inkstone_corpus::truncate::{SectionShare, Strategy};
use inkstone_features::experiment::{Cell, CellState, Findings, Grid, Params, Skipped, Target, conclude};
use inkstone_features::extract::{self, Cost, Feature, Inputs, Model};
use inkstone_lab::factor;
use inkstone_onnx::Output;
use inkstone_store::Store;

use cells::{counted, dense};
pub use document::{ExperimentDocument, experiment_document, score_of};

/// Runs the experiments of a configuration, or the one of this name, and gives the reports of the stages and the findings.
pub fn experiments(
    config: &Config,
    base: &Path,
    name: Option<&str>,
    ctx: &Ctx,
) -> Result<(Vec<Report>, Vec<Findings>)> {
    ensure!(
        !config.experiment.is_empty(),
        "the configuration has no [[experiment]]: add one with the features and strategies to compare"
    );
    let chosen: Vec<&Params> = match name {
        Some(name) => vec![config.find_experiment(name)?],
        None => config.experiment.iter().collect(),
    };
    let mut run = Run::new(config, base, ctx)?;
    run.run_until(Stage::Link)?;
    run.structure()?;
    if run.project.prices().exists() {
        run.market = Some(market(&run.project, &securities(&run.project)?)?);
    }
    let store = Store::open(&run.project.store())?;
    let mut findings = Vec::new();
    for params in chosen {
        let shared = Mutex::new(Vec::new());
        let experiment = ExperimentRun { run: &run, params, store: &store, shared: &shared };
        let (found, reports) = experiment.run().with_context(|| format!("experiment {:?}", params.name))?;
        for windows in shared.lock().unwrap_or_else(PoisonError::into_inner).iter() {
            store.remove(windows)?;
        }
        disk::write_json(&run.project.experiment(&params.name).join("findings.json"), &found)?;
        findings.push(found);
        run.reports.extend(reports);
    }
    Ok((run.reports, findings))
}

/// The findings that a project has, in the order of the configuration.
pub fn findings(config: &Config, project: &inkstone_tables::project::Project) -> Vec<Findings> {
    let read = |params: &Params| disk::read_json(&project.experiment(&params.name).join("findings.json")).ok();
    config.experiment.iter().filter_map(read).collect()
}

/// Progress of the experiments of a configuration. An experiment that never ran, or whose file cannot be read, is left out.
pub fn grids(config: &Config, project: &inkstone_tables::project::Project) -> Vec<Grid> {
    let read = |params: &Params| Grid::read(&project.experiment(&params.name)).ok().flatten();
    config.experiment.iter().filter_map(read).collect()
}

/// A result that is kept in a file, with the key of everything that it depends on.
#[derive(Serialize, Deserialize)]
struct KeyedResult<T> {
    key: Key,
    made: T,
}

/// The result in the file if it has this key; else that of `make`, which is kept in the file.
fn read_or_make<T: Serialize + DeserializeOwned>(path: &Path, key: Key, make: impl FnOnce() -> Result<T>) -> Result<T> {
    if let Ok(kept) = disk::read_json::<KeyedResult<T>>(path)
        && kept.key == key
    {
        return Ok(kept.made);
    }
    let result = KeyedResult { key, made: make()? };
    disk::write_json(path, &result)?;
    Ok(result.made)
}

/// One experiment under way.
struct ExperimentRun<'a> {
    run: &'a Run<'a>,
    params: &'a Params,
    store: &'a Store,
    shared: &'a Mutex<Vec<Key>>,
}

impl ExperimentRun<'_> {
    fn run(&self) -> Result<(Findings, Vec<Report>)> {
        let ExperimentRun { run, params, .. } = self;
        let (config, ctx) = (run.config, run.ctx);
        let parts = CorpusParts::new(&run.project);
        let inputs = Inputs { shared: Some(self.shared), ..run.inputs(&parts, self.store) };
        let grid = params.grid()?;
        let mut reports = Vec::new();
        let counted_as = |feature: &Feature, strategy: &Strategy| match feature.model {
            Model::Onnx => strategy.in_characters(),
            _ => strategy.clone(),
        };
        let mut audited: Vec<Strategy> = grid.clone();
        for name in &params.features {
            let feature = config.find_feature(name)?;
            for counted in grid.iter().map(|strategy| counted_as(feature, strategy)) {
                if !audited.contains(&counted) {
                    audited.push(counted);
                }
            }
        }
        let audit = self.audit(&audited, &inputs, &mut reports)?;
        let mut findings = Findings {
            name: params.name.clone(),
            target: params.target,
            documents: audit.first().map_or(0, |(cost, _)| cost.documents),
            ..Findings::default()
        };
        ensure!(findings.documents > 0, "no document is of the kinds that the experiment reads ({:?})", params.kinds);
        let labelled = match params.target {
            Target::Factor => {
                let (factor, horizon) = (self.factor_params()?, params.horizon);
                ensure!(
                    config.backtest.horizons.contains(&horizon),
                    "horizon = {horizon} is not among [backtest] horizons = {:?}; add it there",
                    config.backtest.horizons
                );
                findings.measure = "rank_ic".to_owned();
                findings.factor = Some((factor.name.clone(), horizon));
                None
            }
            Target::Label | Target::Rating => {
                let (labelled, overlap) = self.labelled(&inputs, &mut findings)?;
                findings.measure = "macro_f1".to_owned();
                findings.overlap = overlap;
                Some(labelled)
            }
        };
        let mut report = Report::new(&format!("experiment {}", params.name));
        let splits = match &labelled {
            Some(labelled) => labelled.splits(params, ctx.seed(), &mut report)?,
            None => Vec::new(),
        };
        let mut observed = Vec::new();
        let mut progress = Grid::new(&params.name, &findings.measure, &params.features, &grid);
        for (column, name) in params.features.iter().enumerate() {
            let feature = config.find_feature(name)?;
            for (row, strategy) in grid.iter().enumerate() {
                let number = column * grid.len() + row;
                let counted = counted_as(feature, strategy);
                let at = audited.iter().position(|audited| *audited == counted);
                let (cost, sections) = &audit[at.context("each strategy was audited")?];
                let cell = Feature {
                    name: derived_name(name, strategy),
                    truncate: strategy.clone(),
                    kinds: self.kinds(feature),
                    ..feature.clone()
                };
                let keeps = || {
                    ensure!(
                        cost.nothing_kept < cost.documents,
                        "the strategy keeps nothing of any of the {} documents",
                        cost.documents
                    );
                    Ok(())
                };
                if let Err(error) = cell.check().and_then(|()| self.suits(&cell)).and_then(|()| keeps()) {
                    ensure!(
                        !findings.cells.is_empty() || strategy != &grid[0],
                        "feature {name:?} cannot be computed with the baseline {strategy}: {error:#}"
                    );
                    let reason = format!("{error:#}");
                    progress.note(number, CellState::Skipped(reason.clone()), &self.folder())?;
                    findings.skipped.push(Skipped { feature: name.clone(), strategy: strategy.to_string(), reason });
                    continue;
                }
                progress.note(number, CellState::Running, &self.folder())?;
                let labels = labelled.as_ref().map(|labelled| (labelled, splits.as_slice()));
                let (made, stage) = self.cell(&cell, cost, &inputs, labels)?;
                reports.extend(stage);
                let figure = made.figures.get(&findings.measure).copied();
                progress.note(number, CellState::Done(figure), &self.folder())?;
                findings.cells.push(Cell {
                    feature: name.clone(),
                    strategy: strategy.clone(),
                    family: strategy.family(),
                    limit: strategy.limit(0),
                    figures: made.figures.clone(),
                    cost: made.cost.clone(),
                    set: made.set,
                    kept: sections.clone(),
                    ..Cell::default()
                });
                observed.push(made);
            }
        }
        ensure!(
            observed.len() > 1,
            "fewer than two cells could be computed, so there is nothing to compare: {:?}",
            findings.skipped
        );
        let done = ctx.stage(&report.stage.clone(), "cells", Some(observed.len() as u64), || {
            conclude(&mut findings, &observed, labelled.as_ref(), params, ctx)?;
            ctx.advance(observed.len() as u64)?;
            report.rows_in = (findings.cells.len() + findings.skipped.len()) as u64;
            report.rows_out = findings.cells.len() as u64;
            report.drop_rows("cannot be read so", findings.skipped.len() as u64);
            report.fact("observations", findings.observations);
            Ok(report)
        })?;
        reports.push(done);
        Ok((findings, reports))
    }

    fn folder(&self) -> PathBuf {
        self.run.project.experiment(&self.params.name)
    }

    fn kinds(&self, feature: &Feature) -> Vec<Kind> {
        if self.params.kinds.is_empty() { feature.kinds.clone() } else { self.params.kinds.clone() }
    }

    /// The tokens and sections that each strategy keeps of the documents.
    fn audit(
        &self,
        grid: &[Strategy],
        inputs: &Inputs<'_>,
        reports: &mut Vec<Report>,
    ) -> Result<Vec<(Cost, Vec<SectionShare>)>> {
        let ExperimentRun { run, params, .. } = self;
        let kinds = self.kinds(run.config.find_feature(&params.features[0])?);
        let versions = (version::EXPERIMENT, version::EXTRACT);
        let key = (versions, "audit", grid, &kinds, &run.config.tokenizer, run.structure, run.ctx.seed());
        read_or_make(&self.folder().join("audit.json"), Key::of_json(&key), || {
            let name = format!("strategies of {}", params.name);
            let (audit, report) = run.ctx.stage(&name, "docs", run.documents, || {
                let audit = extract::audit(grid, &kinds, inputs, run.ctx)?;
                let documents = audit.first().map_or(0, |(cost, _)| cost.documents);
                Ok((audit, Report { rows_in: documents, rows_out: documents, ..Report::new(&name) }))
            })?;
            reports.push(report);
            Ok(audit)
        })
    }

    /// The factor whose rules are used.
    fn factor_params(&self) -> Result<factor::Params> {
        let config = self.run.config;
        if let Some(name) = &self.params.factor {
            return config.find_factor(name).cloned();
        }
        let reads_a_feature = |factor: &&factor::Params| self.params.features.iter().any(|name| factor.reads(name));
        let found = config.factor.iter().find(reads_a_feature).cloned();
        Ok(found.unwrap_or_else(|| factor::Params { name: "default".to_owned(), ..factor::Params::default() }))
    }

    /// True if the expression of the factor whose rules are used names a column of a feature.
    fn names_column(&self, feature: &str) -> Result<bool> {
        let expression = self.factor_params()?.expression;
        Ok(expression.features().into_iter().any(|(name, column)| name == feature && column.is_some()))
    }

    /// Fails if the values of a feature cannot be tested against the target.
    fn suits(&self, cell: &Feature) -> Result<()> {
        let model = cell.model;
        match self.params.target {
            Target::Factor => {
                ensure!(
                    !matches!(model, Model::Tfidf | Model::Lsa | Model::Word2vec | Model::Glove | Model::FastText),
                    "the feature gives vectors, of which no factor can be made; take a model with a score, or target = \"label\""
                );
                ensure!(
                    model != Model::File || self.names_column(derived_from(&cell.name).unwrap_or(&cell.name))?,
                    "only its file says what columns the feature has; let factor name a factor whose expression names one of them, \
                     or take target = \"label\""
                );
                ensure!(
                    model != Model::Onnx || cell.onnx.output != Output::Embedding,
                    "onnx.output = \"embedding\" gives vectors, of which no factor can be made; take \"scores\", or target = \"label\""
                );
            }
            Target::Label | Target::Rating => ensure!(
                dense(model) || counted(model),
                "the values of the feature depend on returns or on earlier documents; for labels take a model of words (tfidf, logistic, \
                 bayes, svm, boosted, ridge), lexicon, file or onnx"
            ),
        }
        Ok(())
    }
}
