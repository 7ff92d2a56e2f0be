//! Experiments: the same documents under every combination of settings, through the stages of features and factors.
//!
//! A cell is a feature with settings put over it. Its observations are kept in a file, so that an experiment that was stopped continues
//! with the cell that it was in. Cells that read a text alike share what they count of it, and contextual models that put rows together
//! from windows read each window once for all cells.

mod cells;
mod document;
mod labels;
mod plan;

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::{Mutex, PoisonError};

use anyhow::{Context, Result, ensure};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::stage::Stage;
use super::{CorpusParts, Run, feature_sets, market, securities, version};
use crate::config::Config;
use inkstone_base::data::{Key, Report};
use inkstone_base::disk;
use inkstone_base::job::Ctx;
use inkstone_corpus::truncate::{SectionShare, Strategy};
use inkstone_features::experiment::{
    Cell, CellState, Findings, Grid, GridCell, Params, Skipped, Target, conclude, family_of,
};
use inkstone_features::extract::{self, Cost, Counts, Inputs};
use inkstone_lab::factor;
use inkstone_store::Store;
use inkstone_text::TokenizerParams;

pub use document::{ExperimentDocument, experiment_document, score_of};
use plan::PlannedCell;

/// Runs the experiments of a configuration, or the one of this name, and gives the reports of the stages and the findings.
pub fn experiments(
    config: &Config,
    base: &Path,
    name: Option<&str>,
    ctx: &Ctx,
) -> Result<(Vec<Report>, Vec<Findings>)> {
    ensure!(
        !config.experiment.is_empty(),
        "the configuration has no [[experiment]]: add one with the features to compare and the settings to vary (inkstone experiment --preset writes one)"
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
    run.extract_inputs_of(chosen.iter().flat_map(|params| &params.features), &store)?;
    let in_use = feature_sets(config, &run.project)?;
    let mut findings = Vec::new();
    for params in chosen {
        let shared = Mutex::new(Vec::new());
        let counted = RefCell::new(None);
        let experiment =
            ExperimentRun { run: &run, params, store: &store, shared: &shared, in_use: &in_use, counted: &counted };
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
    /// Feature sets that the project or an earlier experiment needs.
    in_use: &'a BTreeSet<Key>,
    /// The words that the last cell counted, with the key of its reading.
    counted: &'a RefCell<Option<(Key, Rc<Counts>)>>,
}

/// The cost of the documents under a strategy, and the share of each section that it keeps.
type Audited = (Cost, Vec<SectionShare>);

impl ExperimentRun<'_> {
    fn run(&self) -> Result<(Findings, Vec<Report>)> {
        let ExperimentRun { run, params, .. } = self;
        let (config, ctx) = (run.config, run.ctx);
        let parts = CorpusParts::new(&run.project);
        let inputs = |tokenizer| Inputs { shared: Some(self.shared), tokenizer, ..run.inputs(&parts, self.store) };
        let plan = self.plan()?;
        let mut reports = Vec::new();
        let asked: Vec<(&TokenizerParams, Strategy)> =
            plan.iter().map(|cell| (&cell.varied.tokenizer, cell.audited())).collect();
        let audit = self.audit(&asked, &inputs, &mut reports)?;
        let mut findings = Findings {
            name: params.name.clone(),
            target: params.target,
            documents: audit.first().map_or(0, |(cost, _)| cost.documents),
            vary: self.paths(),
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
                let (labelled, overlap) = self.labelled(&inputs(&config.tokenizer), &mut findings)?;
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
        let baseline = params.baseline()?;
        let mut progress = Grid {
            name: params.name.clone(),
            measure: findings.measure.clone(),
            vary: findings.vary.clone(),
            cells: plan.iter().map(|cell| cell.named.clone()).collect(),
        };
        let mut observed = vec![None; plan.len()];
        for number in order_of(&plan) {
            let (planned, cost) = (&plan[number], &audit[number].0);
            let cell = &planned.varied.feature;
            let keeps = || {
                ensure!(
                    cost.nothing_kept < cost.documents,
                    "the strategy keeps nothing of any of the {} documents",
                    cost.documents
                );
                Ok(())
            };
            if let Err(error) = cell.check().and_then(|()| self.suits(cell)).and_then(|()| keeps()) {
                ensure!(
                    number != baseline,
                    "the baseline {} cannot be computed: {error:#}. Name another with baseline = {{ ... }}, or order features otherwise",
                    planned.named.name()
                );
                progress.note(number, CellState::Skipped(format!("{error:#}")), &self.folder())?;
                continue;
            }
            progress.note(number, CellState::Running, &self.folder())?;
            let labels = labelled.as_ref().map(|labelled| (labelled, splits.as_slice()));
            let (made, stages) = self.cell(planned, cost, &inputs(&planned.varied.tokenizer), labels)?;
            reports.extend(stages);
            let figure = made.figures.get(&findings.measure).copied();
            progress.note(number, CellState::Done(figure), &self.folder())?;
            observed[number] = Some(made);
        }
        let mut compared = Vec::new();
        for (number, made) in observed.into_iter().enumerate() {
            let GridCell { feature, setting, values, state, .. } = progress.cells[number].clone();
            let Some(made) = made else {
                let reason = if let CellState::Skipped(reason) = state { reason } else { String::new() };
                findings.skipped.push(Skipped { feature, setting, values, reason });
                continue;
            };
            if number == baseline {
                findings.baseline = compared.len();
            }
            let strategy = plan[number].varied.feature.truncate.clone();
            findings.cells.push(Cell {
                family: family_of(&feature, &findings.vary, &values, &strategy),
                feature,
                setting,
                values,
                strategy,
                figures: made.figures.clone(),
                cost: made.cost.clone(),
                set: made.set,
                kept: audit[number].1.clone(),
                ..Cell::default()
            });
            compared.push(made);
        }
        ensure!(
            compared.len() > 1,
            "fewer than two cells could be computed, so there is nothing to compare: {:?}",
            findings.skipped
        );
        let done = ctx.stage(&report.stage.clone(), "cells", Some(compared.len() as u64), || {
            conclude(&mut findings, &compared, labelled.as_ref(), params, ctx)?;
            ctx.advance(compared.len() as u64)?;
            report.rows_in = (findings.cells.len() + findings.skipped.len()) as u64;
            report.rows_out = findings.cells.len() as u64;
            report.drop_rows("cannot be computed so", findings.skipped.len() as u64);
            report.fact("observations", findings.observations);
            Ok(report)
        })?;
        reports.push(done);
        Ok((findings, reports))
    }

    fn folder(&self) -> PathBuf {
        self.run.project.experiment(&self.params.name)
    }

    /// The tokens and sections that are read of the documents, by each strategy in the words of its tokenizer.
    fn audit<'t, 'i>(
        &self,
        asked: &[(&'t TokenizerParams, Strategy)],
        inputs: &impl Fn(&'t TokenizerParams) -> Inputs<'i>,
        reports: &mut Vec<Report>,
    ) -> Result<Vec<Audited>>
    where
        't: 'i,
    {
        let ExperimentRun { run, params, .. } = self;
        let kinds = self.kinds(run.config.find_feature(&params.features[0])?);
        let versions = (version::EXPERIMENT, version::EXTRACT);
        let files = asked.iter().map(|(tokenizer, _)| run.files_of_words(tokenizer)).collect::<Result<Vec<_>>>()?;
        let key = (versions, "audit", asked, &kinds, files, run.corpus, run.structure, run.ctx.seed());
        read_or_make(&self.folder().join("audit.json"), Key::of_json(&key), || {
            let mut tokenizers: Vec<&'t TokenizerParams> = Vec::new();
            for &(tokenizer, _) in asked {
                if !tokenizers.contains(&tokenizer) {
                    tokenizers.push(tokenizer);
                }
            }
            let mut audited: Vec<Option<Audited>> = vec![None; asked.len()];
            let name = format!("audit of {}", params.name);
            let work = run.documents.map(|documents| documents * tokenizers.len() as u64);
            let ((), report) = run.ctx.stage(&name, "docs", work, || {
                let mut documents = 0;
                for &tokenizer in &tokenizers {
                    let mut strategies: Vec<Strategy> = Vec::new();
                    for (_, strategy) in asked.iter().filter(|(other, _)| *other == tokenizer) {
                        if !strategies.contains(strategy) {
                            strategies.push(strategy.clone());
                        }
                    }
                    let found = extract::audit(&strategies, &kinds, &inputs(tokenizer), run.ctx)?;
                    documents = found.first().map_or(0, |(cost, _)| cost.documents);
                    for (place, (_, strategy)) in
                        audited.iter_mut().zip(asked).filter(|(_, (other, _))| *other == tokenizer)
                    {
                        let at = strategies.iter().position(|other| other == strategy);
                        *place = at.map(|at| found[at].clone());
                    }
                }
                Ok(((), Report { rows_in: documents, rows_out: documents, ..Report::new(&name) }))
            })?;
            reports.push(report);
            audited.into_iter().collect::<Option<Vec<Audited>>>().context("each strategy was audited")
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
}

/// The order in which cells are computed: those that read alike one after another, else as they are planned.
fn order_of(plan: &[PlannedCell]) -> Vec<usize> {
    let first = |reading: Key| plan.iter().position(|cell| cell.reading == reading);
    let mut order: Vec<usize> = (0..plan.len()).collect();
    order.sort_by_key(|&number| first(plan[number].reading));
    order
}
