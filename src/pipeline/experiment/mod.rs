//! Experiments: the same documents under every combination of settings, through the stages of features and factors.
//!
//! A cell is a feature with settings put over it. Its observations are kept in a file, so that an experiment that was stopped continues
//! with the cell that it was in. Cells that read a text alike share what they count of it, and contextual models that put rows together
//! from windows read each window once for all cells.

mod cells;
mod document;
mod labels;
mod plan;
mod sets;

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::{Mutex, PoisonError};

use anyhow::{Context, Result};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::course::{expect_cells, expected_cells};
use super::stage::Stage;
use super::{CorpusParts, PipelineRun, feature_sets, version};
use crate::config::Config;
use inkstone_base::data::{Key, Report, TooLittle};
use inkstone_base::disk;
use inkstone_base::expected::ExpectedStage;
use inkstone_base::job::Ctx;
use inkstone_base::language::Message;
use inkstone_base::{bail, ensure, message};
use inkstone_corpus::truncate::{SectionShare, Strategy};
use inkstone_features::experiment::{
    Cell, CellState, Findings, Grid, GridCell, Observed, Params, Skipped, Target, conclude, family_of, leave_out_short,
};
use inkstone_features::extract::{self, Cost, Counts, Feature, Inputs};
use inkstone_lab::factor;
use inkstone_store::Store;
use inkstone_text::TokenizerParams;

pub use document::{ExperimentDocument, experiment_differences, experiment_document, score_of};
use plan::{PlannedCell, audited, kinds, limits_in_characters, plan};
use sets::CellSets;

/// Runs the experiments of a configuration, or the one of this name, and gives the reports of the stages and the findings.
pub fn experiments(
    config: &Config,
    base: &Path,
    name: Option<&str>,
    ctx: &Ctx,
) -> Result<(Vec<Report>, Vec<Findings>)> {
    ensure!(
        !config.experiment.is_empty(),
        "配置没有 [[experiment]]：请添加，写明要比较的特征与要变化的设置（inkstone experiment --preset 可写出一个）",
        "the configuration has no [[experiment]]: add one with the features to compare and the settings to vary (inkstone experiment --preset writes one)"
    );
    let chosen: Vec<&Params> = match name {
        Some(name) => vec![config.find_experiment(name)?],
        None => config.experiment.iter().collect(),
    };
    let named = |params: &Params| format!("experiment {:?}", params.name);
    let plans = chosen.iter().map(|params| plan(config, params).with_context(|| named(params)));
    let plans: Vec<Vec<PlannedCell>> = plans.collect::<Result<_>>()?;
    let cells = chosen.iter().zip(&plans).map(|(params, plan)| (params.name.as_str(), features_in_order(plan)));
    expect_cells(config, base, cells, ctx);
    let mut run = PipelineRun::new(config, base, ctx)?;
    run.run_until(Stage::Link)?;
    run.structure()?;
    run.rewrite_all()?;
    run.open_market();
    let store = Store::open(&run.project.store())?;
    // Inputs that no setting changes are the project's own.
    run.extract_named(&plans.iter().flatten().flat_map(|cell| cell.configured_inputs(config)).collect(), &store)?;
    let in_use = feature_sets(config, &run.project)?;
    let mut findings = Vec::new();
    for (params, plan) in chosen.into_iter().zip(plans) {
        let shared = Mutex::new(Vec::new());
        let mut experiment = ExperimentRun {
            run: &run,
            params,
            store: &store,
            shared: &shared,
            in_use: &in_use,
            limits_in_characters: limits_in_characters(&plan),
            audited: Vec::new(),
            counted: RefCell::default(),
            sets: RefCell::default(),
        };
        let (found, reports) = experiment.run(&plan).with_context(|| named(params))?;
        for windows in shared.lock().unwrap_or_else(PoisonError::into_inner).iter() {
            store.remove(windows)?;
        }
        disk::write_json(&run.project.experiment(&params.name).join("findings.json"), &found)?;
        findings.push(found);
        run.reports.extend(reports);
    }
    Ok((run.reports, findings))
}

/// Names of the experiments of a configuration and the number of their cells.
pub fn planned_cells(config: &Config) -> Vec<(String, usize)> {
    let cells = |params: &Params| plan(config, params).map_or(0, |plan| plan.len());
    config.experiment.iter().map(|params| (params.name.clone(), cells(params))).collect()
}

/// The stages of the experiments of a configuration on so many documents.
pub fn expected_experiments(config: &Config, documents: u64) -> Vec<ExpectedStage> {
    let stages = config.experiment.iter().filter_map(|params| {
        let plan = plan(config, params).ok()?;
        Some(expected_cells(&params.name, &features_in_order(&plan), documents))
    });
    stages.flatten().collect()
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
    if let Some(kept) = disk::read_json_if_whole::<KeyedResult<T>>(path)?
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
    run: &'a PipelineRun<'a>,
    params: &'a Params,
    store: &'a Store,
    shared: &'a Mutex<Vec<Key>>,
    /// Feature sets that the project or an earlier experiment needs.
    in_use: &'a BTreeSet<Key>,
    /// True if the truncation of some cell counts characters.
    limits_in_characters: bool,
    /// Share of the documents that each strategy reads, in the words of each tokenizer.
    audited: Vec<((TokenizerParams, Strategy), Audited)>,
    /// The words that the last cell counted, with the key of its reading.
    counted: RefCell<Option<(Key, Rc<Counts>)>>,
    sets: RefCell<CellSets>,
}

/// The cost of the documents under a strategy, and the share of each section that it keeps.
type Audited = (Cost, Vec<SectionShare>);

impl ExperimentRun<'_> {
    fn run(&mut self, plan: &[PlannedCell]) -> Result<(Findings, Vec<Report>)> {
        let ExperimentRun { run, params, store, shared, .. } = *self;
        let (config, ctx) = (run.config, run.ctx);
        let parts = CorpusParts::new(config, run.base, &run.project);
        let inputs = |tokenizer| Inputs { shared: Some(shared), tokenizer, ..run.inputs(&parts, store) };
        let baseline = params.baseline()?;
        let unfit: Vec<Option<Message>> =
            plan.iter().map(|cell| self.suits(cell).err().map(|error| Message::of_error(&error))).collect();
        if let Some(reason) = &unfit[baseline] {
            bail!(
                "基准 {} 无法计算：{reason}。请用 baseline = {{ ... }} 另指定一个，或调整特征的次序",
                "the baseline {} cannot be computed: {reason}. Name another with baseline = {{ ... }}, or order features otherwise",
                plan[baseline].named.name()
            );
        }
        let mut reports = Vec::new();
        self.audited = self.audit(plan, &inputs, &mut reports)?;
        let mut findings = Findings {
            name: params.name.clone(),
            target: params.target,
            documents: self.audited.first().map_or(0, |(_, (cost, _))| cost.documents),
            vary: params.vary.keys().cloned().collect(),
            ..Findings::default()
        };
        ensure!(
            findings.documents > 0,
            "没有文档属于实验所读的类型（{:?}）",
            "no document is of the kinds that the experiment reads ({:?})",
            params.kinds
        );
        let labelled = match params.target {
            Target::Factor => {
                let (factor, horizon) = (self.factor_params()?, params.horizon);
                ensure!(
                    config.backtest.horizons.contains(&horizon),
                    "horizon = {horizon} 不在 [backtest] horizons = {:?} 之中；请在那里添加",
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
        let mut progress = Grid {
            name: params.name.clone(),
            measure: findings.measure.clone(),
            vary: findings.vary.clone(),
            cells: plan.iter().map(|cell| cell.named.clone()).collect(),
        };
        let mut observed: Vec<Result<Observed, Message>> = vec![Err(Message::default()); plan.len()];
        self.note_needed(plan.iter().zip(&unfit).filter(|(_, unfit)| unfit.is_none()).map(|(cell, _)| cell))?;
        for number in order_of(plan) {
            let planned = &plan[number];
            let state = if let Some(reason) = &unfit[number] {
                observed[number] = Err(reason.clone());
                CellState::Skipped(reason.clone())
            } else {
                progress.note(number, CellState::Running, &self.folder())?;
                let labels = labelled.as_ref().map(|labelled| (labelled, splits.as_slice()));
                let made = self
                    .keeps_text(planned)
                    .and_then(|()| self.cell(planned, &inputs(&planned.varied.tokenizer), labels));
                self.release(planned)?;
                match made {
                    Ok((made, stages)) => {
                        reports.extend(stages);
                        let figure = made.figures.get(&findings.measure).copied();
                        observed[number] = Ok(made);
                        CellState::Done(figure)
                    }
                    Err(error) if error.is::<TooLittle>() => {
                        observed[number] = Err(Message::of_error(&error));
                        CellState::Skipped(Message::of_error(&error))
                    }
                    Err(error) => return Err(error),
                }
            };
            progress.note(number, state, &self.folder())?;
        }
        if params.target == Target::Factor {
            for number in leave_out_short(&mut observed, baseline) {
                let reason = observed[number].as_ref().err().cloned().unwrap_or_default();
                progress.note(number, CellState::Skipped(reason), &self.folder())?;
            }
        }
        let Some(compared_with) = [baseline].into_iter().chain(0..plan.len()).find(|&number| observed[number].is_ok())
        else {
            let reason = observed.into_iter().find_map(Result::err).unwrap_or_default();
            bail!("没有一个单元能计算；{}：{reason}", "no cell could be computed; {}: {reason}", plan[0].named.name());
        };
        if compared_with != baseline
            && let Err(reason) = &mut observed[baseline]
        {
            *reason = message!(
                "{reason}。它本应作为基准：各单元改与 {} 比较",
                "{reason}. It was to be the baseline: cells are compared with {} instead",
                plan[compared_with].named.name()
            );
            progress.note(baseline, CellState::Skipped(reason.clone()), &self.folder())?;
        }
        let mut compared = Vec::new();
        for (number, made) in observed.into_iter().enumerate() {
            let GridCell { feature, setting, values, .. } = progress.cells[number].clone();
            let made = match made {
                Ok(made) => made,
                Err(reason) => {
                    findings.skipped.push(Skipped { feature, setting, values, reason });
                    continue;
                }
            };
            if number == compared_with {
                findings.baseline = compared.len();
            }
            let reader = plan[number].varied.reader();
            let strategy = reader.truncate.clone();
            findings.cells.push(Cell {
                family: family_of(&feature, &findings.vary, &values, &strategy),
                feature,
                setting,
                values,
                strategy,
                figures: made.figures.clone(),
                cost: made.cost.clone(),
                set: made.set,
                kept: self.audit_of(reader, &plan[number]).map(|(_, kept)| kept.clone()).unwrap_or_default(),
                ..Cell::default()
            });
            compared.push(made);
        }
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

    /// Fails if nothing is kept of any document by what a cell reads first.
    fn keeps_text(&self, planned: &PlannedCell) -> Result<()> {
        let cost = self.cost_of(planned.varied.reader(), planned);
        ensure!(
            cost.nothing_kept < cost.documents,
            TooLittle(message!(
                "该策略对 {} 篇文档都不保留任何内容",
                "the strategy keeps nothing of any of the {} documents",
                cost.documents
            ))
        );
        Ok(())
    }

    /// Share of the documents that a feature of a cell reads.
    fn audit_of(&self, feature: &Feature, planned: &PlannedCell) -> Option<&Audited> {
        let strategy = audited(feature, self.limits_in_characters);
        let is_asked = |asked: &(TokenizerParams, Strategy)| asked.0 == planned.varied.tokenizer && asked.1 == strategy;
        self.audited.iter().find(|(asked, _)| is_asked(asked)).map(|(_, audited)| audited)
    }

    /// The tokens and sections that the cells read of the documents, by each strategy in the words of its tokenizer.
    fn audit<'p, 'i>(
        &self,
        plan: &'p [PlannedCell],
        inputs: &impl Fn(&'p TokenizerParams) -> Inputs<'i>,
        reports: &mut Vec<Report>,
    ) -> Result<Vec<((TokenizerParams, Strategy), Audited)>>
    where
        'p: 'i,
    {
        let ExperimentRun { run, params, .. } = self;
        let kinds = kinds(params, run.config.find_feature(&params.features[0])?);
        let mut asked: Vec<(&'p TokenizerParams, Vec<Strategy>)> = Vec::new();
        for cell in plan {
            let tokenizer = &cell.varied.tokenizer;
            let at = asked.iter().position(|(other, _)| *other == tokenizer).unwrap_or_else(|| {
                asked.push((tokenizer, Vec::new()));
                asked.len() - 1
            });
            let strategies = &mut asked[at].1;
            for strategy in cell.varied.readers().map(|reader| audited(reader, self.limits_in_characters)) {
                if !strategies.contains(&strategy) {
                    strategies.push(strategy);
                }
            }
        }
        let versions = (version::EXPERIMENT, version::EXTRACT);
        let files = asked.iter().map(|(tokenizer, _)| tokenizer.file_keys(run.base)).collect::<Result<Vec<_>>>()?;
        let key = (versions, "audit in order", &asked, &kinds, files, run.corpus, run.structure, run.ctx.seed());
        let key = Key::of_json(&key);
        let in_order = asked.iter().flat_map(|(tokenizer, strategies)| {
            strategies.iter().map(|strategy| ((*tokenizer).clone(), strategy.clone()))
        });
        let in_order: Vec<(TokenizerParams, Strategy)> = in_order.collect();
        // The text of a strategy without a limit does not say what its kept tokens are counted in, so the file has the counts alone.
        let found: Vec<Audited> = read_or_make(&self.folder().join("audits.json"), key, || {
            let mut audited = Vec::new();
            let name = format!("audit {}", params.name);
            let work = run.documents.map(|documents| documents * asked.len() as u64);
            let ((), report) = run.ctx.stage(&name, "docs", work, || {
                let mut documents = 0;
                for (tokenizer, strategies) in asked {
                    let found = extract::audit(&strategies, &kinds, &inputs(tokenizer), run.ctx)?;
                    documents = found.first().map_or(0, |(cost, _)| cost.documents);
                    audited.extend(found);
                }
                Ok(((), Report { rows_in: documents, rows_out: documents, ..Report::new(&name) }))
            })?;
            reports.push(report);
            Ok(audited)
        })?;
        Ok(in_order.into_iter().zip(found).collect())
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

/// The features of the cells in the order in which they are computed.
fn features_in_order(plan: &[PlannedCell]) -> Vec<&Feature> {
    order_of(plan).into_iter().map(|number| &plan[number].varied.feature).collect()
}

/// The order in which cells are computed: those that read alike one after another, else as they are planned.
fn order_of(plan: &[PlannedCell]) -> Vec<usize> {
    let first = |reading: Key| plan.iter().position(|cell| cell.reading == reading);
    let mut order: Vec<usize> = (0..plan.len()).collect();
    order.sort_by_key(|&number| first(plan[number].reading));
    order
}
