//! The plan of a run: for each stage, whether the run keeps it, the reason if not, and the expected seconds. The plan runs and writes nothing.
//!
//! Seconds come from the last time that the stage ran, in proportion to its rows; else from another stage of the kind; else from a rough rate
//! of a common machine, and the plan tells which. The plan compares keys alone; a run also checks the bytes of a stage before it keeps them.

use std::path::Path;

use anyhow::Result;
use serde::Serialize;

use super::results::MaskedSets;
use super::stage::{Stage, StageId, derived_from, derived_name};
use super::{PipelineRun, findings, needs_structure, structure_params};
use crate::config::Config;
use inkstone_base::data::{Key, Report};
use inkstone_base::disk;
use inkstone_base::job::Ctx;
use inkstone_corpus::ingest::{self, Due, Table};
use inkstone_features::experiment::Findings;
use inkstone_features::extract::{Feature, Model, in_order_of_inputs};
use inkstone_lab::factor::{self, Plan};

/// Rows of documents and prices that ingest compares and writes again in a second, on a common machine.
const ROWS_WRITTEN_AGAIN: f64 = 2_000_000.0;

/// Bytes of a news item and of a row of prices, where none was read yet.
const DOCUMENT_BYTES: u64 = 600;
const PRICE_BYTES: u64 = 55;

/// The reason for which a stage is due.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "why")]
pub enum DueReason {
    NeverRan,
    /// Files are new, longer, changed or gone.
    Files,
    /// The stage of this id, which it reads, is due.
    Reads {
        stage: String,
    },
    /// The settings of the stage, the program, or a file that the stage names has changed since the stage ran.
    Changed,
    /// A file that it needs cannot be read.
    Fault {
        reason: String,
    },
}

/// Origin of a number of seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Basis {
    /// The last run of the stage.
    Measured,
    /// The last run of another stage of its kind.
    Alike,
    /// A common machine.
    Rough,
}

/// A stage as the next run would find it.
#[derive(Clone, Debug, Serialize)]
pub struct Forecast {
    pub stage: StageId,
    /// The reason to run the stage; none if the run keeps it.
    pub due: Option<DueReason>,
    /// Rows that it would take.
    pub rows: u64,
    /// Seconds expected; 0 where it is kept.
    pub seconds: f64,
    pub basis: Basis,
}

/// The stages up to and including `last`, in the order in which a run comes to them.
pub fn forecast(config: &Config, base: &Path, last: Stage, ctx: &Ctx) -> Result<Vec<Forecast>> {
    let run = PipelineRun::new(config, base, ctx)?;
    let due = ingest::due(&config.source, &config.ingest_params(), base, &run.project, ctx)?;
    foreseen(config, last, due, run)
}

/// The stages of a whole first run on files that are not there yet, with so many documents and rows of prices.
pub(super) fn forecast_of_rows(
    config: &Config,
    base: &Path,
    documents: u64,
    prices: u64,
    ctx: &Ctx,
) -> Result<Vec<Forecast>> {
    let bytes_of =
        [(Table::Documents.name(), documents * DOCUMENT_BYTES), (Table::Prices.name(), prices * PRICE_BYTES)];
    let bytes = bytes_of.iter().map(|(_, bytes)| bytes).sum();
    let due = Due { bytes, bytes_of: bytes_of.into(), ..Due::default() };
    foreseen(config, Stage::Report, due, PipelineRun::new(config, base, ctx)?)
}

fn foreseen(config: &Config, last: Stage, due: Due, run: PipelineRun<'_>) -> Result<Vec<Forecast>> {
    let mut forecaster = Forecaster { config, last, due, run, stages: Vec::new(), documents: 0, cells: 0 };
    forecaster.look()?;
    Ok(forecaster.stages)
}

struct Forecaster<'a> {
    config: &'a Config,
    last: Stage,
    due: Due,
    run: PipelineRun<'a>,
    stages: Vec<Forecast>,
    /// Documents, and rows of prices, that there would be.
    documents: u64,
    cells: u64,
}

impl Forecaster<'_> {
    fn look(&mut self) -> Result<()> {
        self.ingest()?;
        self.corpus()?;
        if self.last >= Stage::Extract {
            self.features()?;
        }
        if self.last >= Stage::Factor && !self.config.factor.is_empty() {
            self.factors()?;
        }
        Ok(())
    }

    fn ingest(&mut self) -> Result<()> {
        // Without an earlier run, rows are guessed from the bytes: a news item and a row of prices are of some size.
        let guess = |table: Table, bytes: u64| self.due.bytes_of.get(table.name()).copied().unwrap_or_default() / bytes;
        self.documents = self.due.rows_of(Table::Documents).unwrap_or_else(|| guess(Table::Documents, DOCUMENT_BYTES));
        self.cells = self.due.rows_of(Table::Prices).unwrap_or_else(|| guess(Table::Prices, PRICE_BYTES));
        let known: u64 = self.due.bytes_known.values().sum();
        let all = self.documents + self.cells;
        let bytes: u64 = self.due.bytes_of.values().sum();
        let rows = (all as f64 * self.due.bytes as f64 / bytes.max(1) as f64) as u64;
        let why = match () {
            () if known == 0 => Some(DueReason::NeverRan),
            () if self.due.is_nothing() => None,
            () => Some(DueReason::Files),
        };
        let never = matches!(why, Some(DueReason::NeverRan));
        self.note(StageId::Ingest, why, rows);
        if !never {
            self.run.read_ingest_keys()?;
        }
        Ok(())
    }

    fn corpus(&mut self) -> Result<()> {
        let (config, last) = (self.config, self.last);
        let of_ingest = |due: &Due, tables: &[Table]| {
            tables
                .iter()
                .any(|table| due.changes(*table))
                .then(|| DueReason::Reads { stage: StageId::Ingest.to_string() })
        };
        if last >= Stage::Clean {
            self.run.corpus = self.run.clean_key();
            let reads = of_ingest(&self.due, &[Table::Documents]);
            self.by_key(StageId::Clean, reads, Ok(self.run.corpus), self.documents);
        }
        if last >= Stage::Link {
            let names = if self.run.project.securities().exists() { Table::Securities } else { Table::Prices };
            let reads = self.reads(&[StageId::Clean]).or(of_ingest(&self.due, &[names, Table::Securities]));
            let key = self.run.link_key();
            self.run.corpus = key.as_ref().copied().unwrap_or_default();
            self.by_key(StageId::Link, reads, key, self.documents);
        }
        if last >= Stage::Structure && needs_structure(config).sentences {
            let key = self.run.structure_key(&structure_params(config));
            self.run.structure = key.as_ref().ok().copied();
            let reads = self.reads(&[StageId::Clean, StageId::Link]);
            self.by_key(StageId::Structure, reads, key, self.documents);
        }
        if last >= Stage::Rewrite {
            for rewrite in &config.rewrite {
                let texts = self.run.rewritten_by(rewrite);
                let key = texts.as_ref().map(|texts| texts.corpus).map_err(|error| anyhow::anyhow!("{error:#}"));
                if let Ok(texts) = texts {
                    self.run.rewritten.insert(rewrite.name.clone(), texts);
                }
                let reads = self.reads(&[StageId::Link]);
                self.by_key(StageId::Rewrite(rewrite.name.clone()), reads, key, self.documents);
            }
        }
        Ok(())
    }

    fn features(&mut self) -> Result<()> {
        for feature in in_order_of_inputs(&self.config.feature)? {
            let mut sources = vec![StageId::Link];
            sources.extend(feature.needs().sentences.then_some(StageId::Structure));
            sources
                .extend(Some(&feature.text).filter(|text| !text.is_empty()).map(|text| StageId::Rewrite(text.clone())));
            let vectors = Some(feature.embeddings.feature.as_str()).filter(|name| !name.is_empty());
            let inputs = feature.needed_features().map(|input| input.feature).chain(vectors);
            sources.extend(inputs.map(|name| StageId::Extract(name.to_owned())));
            let mut reads = self.reads(&sources);
            if feature.learns() && self.due.changes(Table::Prices) {
                reads = reads.or(Some(DueReason::Reads { stage: StageId::Ingest.to_string() }));
            }
            let key = self.run.extract_key(feature);
            let id = StageId::Extract(feature.name.clone());
            self.by_key(id.clone(), reads, key, self.documents);
            if let Some(set) = self.run.state.made(&id) {
                self.run.sets.insert(feature.name.clone(), set);
            }
        }
        Ok(())
    }

    fn factors(&mut self) -> Result<()> {
        let (config, last) = (self.config, self.last);
        let mut keys = Vec::new();
        for params in &config.factor {
            let plan = Plan::new(params)?;
            let features = plan.features().iter().map(|name| StageId::Extract(name.clone()));
            let others = plan.factors().iter().map(|name| StageId::Factor(name.clone()));
            let sources: Vec<StageId> = [StageId::Link].into_iter().chain(features).chain(others).collect();
            let mut reads = self.reads(&sources);
            let reads_relations = plan.reads_relations() && self.due.changes(Table::Relations);
            let reads_events = plan.reads_events() && self.due.changes(Table::Events);
            if self.due.changes(Table::Prices) || reads_relations || reads_events {
                reads = reads.or(Some(DueReason::Reads { stage: StageId::Ingest.to_string() }));
            }
            let built =
                keys.iter().map(|(params, key): &(&factor::Params, Key)| (params.name.as_str(), *key)).collect();
            let key = match reads {
                None => self.run.factor_key(params, &plan, &built),
                Some(_) => Ok(Key::default()),
            };
            keys.push((params, key.as_ref().copied().unwrap_or_default()));
            self.by_key(StageId::Factor(params.name.clone()), reads, key, self.cells);
        }
        self.run.factors = keys.clone();
        let due_before = |forecaster: &Self, name: &str| forecaster.reads(&[StageId::Factor(name.to_owned())]);
        if last >= Stage::Backtest {
            for (params, key) in &keys {
                let (reads, key) = (due_before(self, &params.name), self.run.backtest_key(*key));
                self.by_key(StageId::Backtest(params.name.clone()), reads, Ok(key), self.cells);
                self.run.results.push(key);
            }
            for (params, key) in &keys {
                let (reads, key) = (due_before(self, &params.name), self.run.events_key(*key));
                self.by_key(StageId::Events(params.name.clone()), reads, Ok(key), self.cells);
                self.run.results.push(key);
            }
        }
        if last >= Stage::Lint {
            for (params, key) in &keys {
                self.lint(params, *key)?;
            }
        }
        if last >= Stage::Export {
            let tested = |params: &&factor::Params| {
                let name = || params.name.clone();
                [StageId::Backtest(name()), StageId::Events(name()), StageId::Lint(name())]
            };
            let sources: Vec<StageId> = keys.iter().flat_map(|(params, _)| tested(params)).collect();
            let extracted = config.feature.iter().map(|feature| StageId::Extract(feature.name.clone()));
            let reads = self.reads(&sources.into_iter().chain(extracted).collect::<Vec<_>>());
            let key = self.run.export_key();
            self.by_key(StageId::Export, reads, Ok(key), self.cells * config.factor.len() as u64);
        }
        if last >= Stage::Report {
            self.reports(&keys)?;
        }
        Ok(())
    }

    /// The linter of a factor, and before it the features that it computes anew with the names of companies masked.
    fn lint(&mut self, params: &factor::Params, factor_key: Key) -> Result<()> {
        let plan = Plan::new(params)?;
        let mut reads = self.reads(&[StageId::Factor(params.name.clone()), StageId::Backtest(params.name.clone())]);
        let mut variants = Vec::new();
        let masked = self.run.masked_sets_by(&plan, &mut |run, variant, features, _| {
            let id = StageId::Extract(variant.name.clone());
            let key = run.extract_key_among(variant, features, &run.config.tokenizer)?;
            let made = run.state.key_of(&id).filter(|(before, _)| *before == key).and_then(|(_, made)| made);
            variants.push((variant.clone(), key));
            // A set that is to be made has no id yet: no entry of the linter has this one.
            Ok(made.unwrap_or(Key::of_json(&("due", key))))
        });
        for (variant, key) in variants {
            let id = StageId::Extract(variant.name.clone());
            if self.stages.iter().all(|stage| stage.stage != id) {
                let plain = self.config.feature.iter().find(|f| derived_name(&f.name, "masked") == variant.name);
                let reads = plain.and_then(|plain| self.reads(&[StageId::Extract(plain.name.clone())]));
                self.by_key(id.clone(), reads, Ok(key), self.documents);
            }
            reads = reads.or(self.reads(&[id]));
        }
        let key = masked.map(|masked: MaskedSets| self.run.lint_key(factor_key, &masked));
        if let Ok(key) = &key {
            self.run.results.push(*key);
        }
        self.by_key(StageId::Lint(params.name.clone()), reads, key, self.cells);
        Ok(())
    }

    fn reports(&mut self, keys: &[(&factor::Params, Key)]) -> Result<()> {
        let reads = self.reads(&[StageId::Export]);
        let manifest = self.run.base.join(&self.config.project.exports).join("manifest.json");
        let mut found = Vec::new();
        if reads.is_none() && manifest.exists() {
            let manifest = disk::read_json(&manifest)?;
            let experiments = findings(self.config, &self.run.project)?;
            let keys: Vec<Key> = keys.iter().map(|(_, key)| *key).collect();
            for result in super::factor_results(self.config, self.run.base)? {
                let name = result.outcome.factor.clone();
                let reads_factor = |f: &&Findings| f.factor.as_ref().is_some_and(|(factor, _)| *factor == name);
                let own: Vec<Findings> = experiments.iter().filter(reads_factor).cloned().collect();
                found.push((name.clone(), self.run.report_key(&manifest, &result.looks, &own, &keys)?));
            }
        }
        for factor in &self.config.factor {
            let key = found.iter().find(|(name, _)| *name == factor.name).map_or(Key::default(), |(_, key)| *key);
            self.by_key(StageId::Report(factor.name.clone()), reads.clone(), Ok(key), self.cells);
        }
        Ok(())
    }

    /// The first of these stages that is due.
    fn reads(&self, stages: &[StageId]) -> Option<DueReason> {
        let due = self.stages.iter().find(|stage| stage.due.is_some() && stages.contains(&stage.stage));
        due.map(|stage| DueReason::Reads { stage: stage.stage.to_string() })
    }

    /// Notes a stage that is due if what it reads is, or if its key is another one than when it ran.
    fn by_key(&mut self, id: StageId, reads: Option<DueReason>, key: Result<Key>, rows: u64) {
        let before = self.run.state.key_of(&id);
        let why = match (before, reads, key) {
            (None, _, Ok(_)) => Some(DueReason::NeverRan),
            (_, _, Err(error)) => Some(DueReason::Fault { reason: format!("{error:#}") }),
            (Some(_), Some(reads), _) => Some(reads),
            (Some((before, _)), None, Ok(key)) => (before != key).then_some(DueReason::Changed),
        };
        self.note(id, why, rows);
    }

    fn note(&mut self, id: StageId, due: Option<DueReason>, rows: u64) {
        let (seconds, basis) = match due {
            None => (0.0, Basis::Measured),
            Some(_) => {
                let (seconds, basis) = self.seconds(&id, rows);
                // Files are compared, and a table of prices is written as a whole, however few rows are new.
                let written_again = if id == StageId::Ingest { self.documents + self.cells } else { 0 };
                (seconds + written_again as f64 / ROWS_WRITTEN_AGAIN, basis)
            }
        };
        self.stages.push(Forecast { stage: id, due, rows, seconds, basis });
    }

    /// Seconds that a stage takes for so many rows.
    fn seconds(&self, id: &StageId, rows: u64) -> (f64, Basis) {
        let state = &self.run.state;
        // What was kept of parts took no time.
        let is_whole = |report: &&Report| {
            report.seconds > 0.0 && report.facts.get("parts_kept").and_then(serde_json::Value::as_u64).unwrap_or(0) == 0
        };
        if let Some(report) = state.report(id).filter(is_whole) {
            let before = self.rows_before(report, rows);
            return (report.seconds * rows as f64 / before.max(1) as f64, Basis::Measured);
        }
        let alike = state.reports_of().filter(|(other, _)| self.is_alike(id, other)).map(|(_, report)| report);
        let rates: Vec<f64> = alike
            .filter(is_whole)
            .map(|report| report.seconds / self.rows_before(report, rows).max(1) as f64)
            .collect();
        if !rates.is_empty() {
            return (rates.iter().sum::<f64>() / rates.len() as f64 * rows as f64, Basis::Alike);
        }
        (rows as f64 / self.rough_rate(id), Basis::Rough)
    }

    /// Rows of the last run of a stage, in the units of `rows` now: stages of factors read prices, which their reports do not count.
    fn rows_before(&self, report: &Report, rows: u64) -> u64 {
        let of_documents = ["clean", "link", "structure", "extract", "rewrite"];
        match report.stage.split(' ').next() {
            Some("ingest") => report.rows_in,
            Some(stage) if of_documents.contains(&stage) => report.rows_in,
            _ => rows.min(self.due.rows_known.get(Table::Prices.name()).copied().unwrap_or(rows)),
        }
    }

    fn is_alike(&self, id: &StageId, other: &StageId) -> bool {
        match (id, other) {
            (StageId::Extract(a), StageId::Extract(b)) => {
                let model = |name: &str| self.feature_of(name).map(|feature| feature.model);
                model(a).is_some() && model(a) == model(b)
            }
            (a, b) => std::mem::discriminant(a) == std::mem::discriminant(b),
        }
    }

    /// The feature that a stage computes, or computes with a change.
    fn feature_of(&self, name: &str) -> Option<&Feature> {
        let plain = derived_from(name).unwrap_or(name);
        self.config.feature.iter().find(|feature| feature.name == plain)
    }

    /// Rows a second on two cores of a common machine.
    fn rough_rate(&self, id: &StageId) -> f64 {
        match id {
            StageId::Ingest => 200_000.0,
            StageId::Clean => 25_000.0,
            StageId::Link => 100_000.0,
            StageId::Structure => 4_000.0,
            StageId::Rewrite(_) => 0.5,
            StageId::Extract(name) => {
                self.feature_of(name).map_or(OTHER_MODELS, |feature| rows_a_second(feature.model))
            }
            StageId::Factor(_) => 2_000_000.0,
            StageId::Backtest(_) | StageId::Events(_) => 800_000.0,
            StageId::Lint(_) => 800_000.0,
            StageId::Export => 1_500_000.0,
            StageId::Report(_) => 2_000_000.0,
        }
    }
}

/// Documents a second of a model without a rate of its own.
const OTHER_MODELS: f64 = 3_000.0;

/// Documents that a model reads in a second on two cores of a common machine.
pub(super) fn rows_a_second(model: Model) -> f64 {
    match model {
        Model::Lexicon => 40_000.0,
        Model::Tfidf => 15_000.0,
        Model::Onnx => 30.0,
        Model::Finetune => 5.0,
        Model::TextCnn | Model::TextRnn => 100.0,
        _ => OTHER_MODELS,
    }
}
