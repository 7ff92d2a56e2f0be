//! Factors of a run: built, tested, and written for other tools.

use std::collections::BTreeMap;

use anyhow::{Error, Result};
use chrono::Utc;
use serde_json::json;

use super::capsule;
use super::clocks::{clock, known_at_ingestion};
use super::factor_builder::{FactorBuilder, event_key, read_factor};
use super::market::needed;
use super::results::read_signals;
use super::stage::StageId;
use super::state::{PlannedStage, State};
use super::trace::{count_documents, documents_by_date};
use super::{KNOWN_AT, PipelineRun, last_reports, outcomes, reads_what_was_left_out, reason_to_leave_out, version};
use crate::config::Config;
use inkstone_base::data::{Key, Report};
use inkstone_base::disk;
use inkstone_base::ensure;
use inkstone_corpus::ingest;
use inkstone_features::extract::{Feature, with_inputs};
use inkstone_lab::export::{ExportFactor, Extra, Provenance};
use inkstone_lab::factor::{self, Cause, Factor, History, HistoryFiles, Plan, signals_to_frame};
use inkstone_lab::ledger::{self, Trial};
use inkstone_lab::lint::read_verdicts;
use inkstone_lab::{backtest, export};
use inkstone_market::MarketAxes;
use inkstone_report::verdicts_json;
use inkstone_store::Reader;
use inkstone_tables::frames;
use inkstone_tables::project::Project;

impl PipelineRun<'_> {
    pub(super) fn factors(&mut self) -> Result<()> {
        let config = self.config;
        ensure!(
            self.market.is_some(),
            "因子需要行情：请添加 table = \"prices\" 的 [[source]]",
            "factors need prices: add a [[source]] with table = \"prices\""
        );
        let mut built: BTreeMap<&str, Key> = BTreeMap::new();
        let mut left_out = Vec::new();
        for params in &config.factor {
            let store = Reader::open(&self.project.store())?;
            let plan = Plan::new(params)?;
            let features = plan.features().iter().filter(|name| !self.sets.contains_key(*name));
            let factors = plan.factors().iter().filter(|name| !built.contains_key(name.as_str()));
            if let Some(missing) = features.chain(factors).next() {
                left_out.push((StageId::Factor(params.name.clone()), reads_what_was_left_out(missing)));
                continue;
            }
            let id = StageId::Factor(params.name.clone());
            let key = match self.factor_key(params, &plan, &built) {
                Ok(key) => key,
                Err(error) => {
                    left_out.push((id, reason_to_leave_out(error)?));
                    continue;
                }
            };
            let stage = PlannedStage { total: self.documents, ..self.plan(id, key, "docs") };
            let (definition, files) = (self.definition(params, &plan)?, history_files(&self.project, &params.name));
            let revisions = self.state.report(&StageId::Ingest).and_then(|report| report.facts.get("revisions"));
            let cause = Cause {
                reason: revisions.map(ToString::to_string),
                prices_stand: revisions
                    .and_then(|revisions| revisions.get("prices"))
                    .is_none_or(|prices| ["corrected", "withdrawn"].iter().all(|change| prices.get(change).is_none())),
            };
            let work = || {
                let market = needed(&self.market)?;
                let builder = FactorBuilder { store: &store, market, project: &self.project, config, base: self.base };
                let (signals, mut report) = builder.signals(params, &plan, &self.sets, self.ctx)?;
                let (factor, built) = builder.build_from_signals(params, &plan, &signals, None, self.ctx)?;
                report.fact("values", built.rows_out);
                report.facts.extend(built.facts);
                frames::write_parquet(&self.project.signals(&params.name), &mut signals_to_frame(&signals)?)?;
                let run = factor::write_table(&files, &factor, definition, cause, clock(config))?;
                report.fact("history", run);
                Ok((None, report))
            };
            match self.state.run(stage, self.ctx, work) {
                Ok((_, report)) => {
                    self.reports.push(report);
                    built.insert(&params.name, key);
                    self.factors.push((params, key));
                }
                Err(error) => left_out.push((StageId::Factor(params.name.clone()), reason_to_leave_out(error)?)),
            }
        }
        self.go_on_without(left_out)
    }

    /// Key of everything that the values of a factor depend on, but for documents and prices.
    fn definition(&self, params: &factor::Params, plan: &Plan) -> Result<Key> {
        let config = self.config;
        let mut features = Vec::new();
        for name in plan.features() {
            features
                .extend(with_inputs(config.find_feature(name)?, &config.feature)?.into_iter().map(Feature::identity));
        }
        let others: Vec<Key> = plan
            .factors()
            .iter()
            .map(|name| {
                let params = config.find_factor(name)?;
                self.definition(params, &Plan::new(params)?)
            })
            .collect::<Result<_>>()?;
        let text = (&config.clean, &config.link, &config.structure, &config.tokenizer, &config.rewrite);
        let versions = (version::CLEAN, version::LINK, version::STRUCTURE, version::EXTRACT, version::FACTOR);
        let rules = (&config.market, known_at_ingestion(config), config.project.seed, config.vault.sealed_from());
        let key = Key::of_json(&(params, features, others, text, versions, rules));
        match plan.reads_events() {
            true => Ok(Key::of_json(&(key, event_key(config, self.base, plan)?))),
            false => Ok(key),
        }
    }

    /// Key of a factor of features that have sets, and of factors that were `built`.
    pub(super) fn factor_key(&self, params: &factor::Params, plan: &Plan, built: &BTreeMap<&str, Key>) -> Result<Key> {
        let sets: Vec<Option<&Key>> = plan.features().iter().map(|name| self.sets.get(name)).collect();
        let factors: Vec<Option<&Key>> = plan.factors().iter().map(|name| built.get(name.as_str())).collect();
        let (market_rules, corpus, prices) = (&self.config.market, self.corpus, self.prices);
        let key = Key::of_json(&(version::FACTOR, "factor", params, market_rules, sets, factors, corpus, prices));
        let key = if plan.reads_relations() { Key::of_json(&(key, self.relations)) } else { key };
        match plan.reads_events() {
            true => Ok(Key::of_json(&(key, event_key(self.config, self.base, plan)?, self.company_events))),
            false => Ok(key),
        }
    }

    /// Leaves factors out; fails where none is left.
    fn go_on_without(&mut self, left_out: Vec<(StageId, Error)>) -> Result<()> {
        left_out.into_iter().try_for_each(|(id, reason)| self.leave_out(&id, reason))?;
        if self.factors.is_empty() { self.first_reason.take().map_or(Ok(()), Err) } else { Ok(()) }
    }

    /// Key of the backtest of the factor with this key.
    pub(super) fn backtest_key(&self, factor: Key) -> Key {
        Key::of_json(&(version::BACKTEST, "backtest", &self.config.backtest, factor))
    }

    /// Tests the factors; each test that runs is noted in the research ledger.
    pub(super) fn backtests(&mut self) -> Result<()> {
        let (config, project) = (self.config, &self.project);
        let (mut tested, mut left_out) = (Vec::new(), Vec::new());
        for &(params, factor_key) in &self.factors {
            let key = self.backtest_key(factor_key);
            let stage = PlannedStage {
                // A ledger that was taken away is begun anew: what is shown must be among its entries.
                rows_are_there: project.ledger().exists(),
                total: self.trading_days(),
                ..self.plan(StageId::Backtest(params.name.clone()), key, "dates")
            };
            let work = || {
                // The verdicts are on the factor as it was; the linter runs after this and gives those on the new one.
                disk::remove_if_there(&project.lint(&params.name))?;
                let market = needed(&self.market)?;
                let factor = read_factor(&params.name, project, market)?;
                let (outcome, report) = backtest::run(&factor, market, &config.backtest, self.ctx)?;
                let documents = documents_by_date(&read_signals(&params.name, project)?);
                let counted = |date, code| count_documents(&documents, date, code);
                let mut names = backtest::names_frame(&factor, market, &config.backtest, counted, self.ctx)?;
                frames::write_parquet(&project.backtest_names(&params.name), &mut names)?;
                disk::write_json(&project.backtest_axes(&params.name), &MarketAxes::new(market))?;
                let inputs = BTreeMap::from([
                    ("factor".to_owned(), disk::hash_file(&project.factor(&params.name))?),
                    ("prices".to_owned(), self.prices),
                    ("corpus".to_owned(), self.corpus),
                ]);
                let mut chosen = json!({"backtest": config.backtest, "factor": params});
                if config.vault.is_open {
                    chosen["opened_vault"] = json!(config.vault.from);
                }
                let trial = Trial::backtest(&outcome, chosen, inputs);
                let history = History::read(&history_files(project, &params.name))?.unwrap_or_default();
                let trial = ledger::record_further(&project.ledger(), trial, &history.unbroken(), Utc::now())?;
                disk::write_json(&project.backtest(&params.name), &outcome)?;
                Ok((Some(trial), report))
            };
            match self.state.run(stage, self.ctx, work) {
                Ok((_, report)) => {
                    self.reports.push(report);
                    self.results.push(key);
                    tested.push((params, factor_key));
                }
                Err(error) => left_out.push((StageId::Backtest(params.name.clone()), reason_to_leave_out(error)?)),
            }
        }
        self.factors = tested;
        self.go_on_without(left_out)
    }

    /// Key of the export of the results so far.
    pub(super) fn export_key(&self) -> Key {
        // The manifest lists the sets of all features, also of those that no factor reads.
        Key::of_json(&(version::EXPORT, "export", &self.config.export, &self.results, &self.sets))
    }

    pub(super) fn export(&mut self) -> Result<()> {
        let (config, project) = (&self.tested(), &self.project);
        let out = self.base.join(&config.project.exports);
        export::remove_stale_lock(&out)?;
        let stage = self.plan(StageId::Export, self.export_key(), "files");
        let work = || {
            let market = needed(&self.market)?;
            let factors: Vec<Factor> =
                config.factor.iter().map(|f| read_factor(&f.name, project, market)).collect::<Result<_>>()?;
            let tables: Vec<ExportFactor<'_>> =
                factors.iter().map(|f| ExportFactor { name: &f.name, values: &f.values }).collect();
            let outcomes = outcomes(config, project)?;
            // Here, and from what was noted: to hash what all stages made is not for runs that export nothing.
            let provenance = provenance(config, project, &self.factors, &State::read(project)?, self.prices)?;
            let mut extras = Vec::new();
            for factor in &config.factor {
                let (events, lint) = (project.events(&factor.name), project.lint(&factor.name));
                let in_export = |file: &str| format!("backtest/{}/{file}.json", factor.name);
                if events.exists() {
                    extras.push(Extra { path: in_export("events"), bytes: disk::content_of_json(&events)? });
                }
                if lint.exists() {
                    let verdicts = verdicts_json(&read_verdicts(&lint)?);
                    let bytes = format!("{verdicts:#}\n").into_bytes();
                    extras.push(Extra { path: in_export("lint"), bytes });
                }
            }
            Ok((None, export::run(&tables, &outcomes, &extras, &out, &config.export, &provenance, self.ctx)?.1))
        };
        self.reports.push(self.state.run(stage, self.ctx, work)?.1);
        Ok(())
    }
}

/// The files of a factor's past.
pub fn history_files(project: &Project, name: &str) -> HistoryFiles {
    HistoryFiles { table: project.factor(name), runs: project.history(name), revisions: project.revised_values(name) }
}

/// The origin of an export. Paths and the number of threads do not enter: they change nothing.
fn provenance(
    config: &Config,
    project: &Project,
    tested: &[(&factor::Params, Key)],
    state: &State,
    prices: Key,
) -> Result<Provenance> {
    let mut inputs =
        BTreeMap::from([("ingested files".to_owned(), ingest::corpus_key(project)?), ("prices".to_owned(), prices)]);
    inputs.extend(ingest::sources(project)?.into_iter().map(|(path, hash)| (format!("file {path}"), hash)));
    for (factor, key) in tested {
        inputs.insert(StageId::Factor(factor.name.clone()).to_string(), *key);
    }
    Ok(Provenance {
        parameters: capsule::parameters(config)?,
        ran: ran(project),
        inputs,
        stages: capsule::stages(config, project, state)?,
        seed: config.project.seed,
        known_at: KNOWN_AT.to_owned(),
        versions: BTreeMap::from([("jieba-rs".to_owned(), inkstone_text::JIEBA_VERSION.to_owned())]),
        created: None,
    })
}

/// The devices that the contextual models of a project ran on, by stage.
fn ran(project: &Project) -> BTreeMap<String, serde_json::Value> {
    let device = |report: Report| Some((report.stage, report.facts.get("ran")?.clone()));
    last_reports(project).into_iter().filter_map(device).collect()
}
