//! Factors of a run: built, tested, and written for other tools.

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use chrono::Utc;
use serde_json::json;

use super::capsule;
use super::materials::{Materials, read_factor};
use super::state::{State, Step};
use super::{KNOWN_AT, Run, VERSION, last_reports, outcomes};
use crate::config::Config;
use inkstone_base::data::{Key, Report};
use inkstone_base::disk;
use inkstone_corpus::ingest;
use inkstone_lab::export::{ExportFactor, Extra, Provenance};
use inkstone_lab::factor::{Factor, Plan, signals_to_frame};
use inkstone_lab::ledger::{self, Trial};
use inkstone_lab::lint::read_verdicts;
use inkstone_lab::{backtest, export};
use inkstone_report::verdicts_json;
use inkstone_store::Reader;
use inkstone_tables::frames;
use inkstone_tables::project::Project;

impl Run<'_> {
    pub(super) fn factors(&mut self) -> Result<()> {
        let (config, ctx, project) = (self.config, self.ctx, self.project.clone());
        let market = self.market.take().context("factors need prices: add a [[source]] with table = \"prices\"")?;
        let mut built: BTreeMap<&str, Key> = BTreeMap::new();
        let sets_by_name = self.sets.clone();
        for params in &config.factor {
            let store = Reader::open(&project.store())?;
            let materials = Materials { store: &store, market: &market, project: &project, config };
            let plan = Plan::new(params)?;
            let sets: Vec<Key> = plan.features().iter().map(|name| self.sets[name]).collect();
            let factors: Vec<Key> = plan.factors().iter().map(|name| built[name.as_str()]).collect();
            let key =
                Key::of_json(&(VERSION, "factor", params, &config.market, sets, factors, self.corpus, self.prices));
            built.insert(&params.name, key);
            let (path, beside) = (project.factor(&params.name), project.signals(&params.name));
            let name = format!("factor {}", params.name);
            let output = self.output(&name);
            let step = Step { name: &name, key, stands: true, output, unit: "docs", total: self.documents };
            self.step(step, || {
                let (signals, mut report) = materials.signals(params, &plan, &sets_by_name, ctx)?;
                let (factor, built) = materials.of_signals(params, &plan, &signals, ctx)?;
                report.fact("values", built.rows_out);
                report.facts.extend(built.facts);
                frames::write_parquet(&beside, &mut signals_to_frame(&signals)?)?;
                frames::write_parquet(&path, &mut factor.to_frame()?)?;
                Ok((report, None))
            })?;
            self.factors.push(key);
        }
        self.market = Some(market);
        Ok(())
    }

    /// Tests the factors; each test that runs is noted in the research ledger.
    pub(super) fn backtests(&mut self) -> Result<()> {
        let (config, ctx, project) = (self.config, self.ctx, self.project.clone());
        let market = self.market.take().context("factors were built with prices")?;
        let (prices, corpus) = (self.prices, self.corpus);
        for (params, &factor_key) in config.factor.iter().zip(&self.factors.clone()) {
            let key = Key::of_json(&(VERSION, "backtest", &config.backtest, factor_key));
            let path = project.backtest(&params.name);
            let name = format!("backtest {}", params.name);
            let total = Some(market.dates().len() as u64);
            // A ledger that was taken away is begun anew: what is shown must be among its entries.
            let stands = project.ledger().exists();
            let step = Step { name: &name, key, stands, output: self.output(&name), unit: "dates", total };
            self.step(step, || {
                // Verdicts were on the factor as it was; those on this one are the linter's next work.
                disk::remove_if_there(&project.lint(&params.name))?;
                let factor = read_factor(&params.name, &project, &market)?;
                let (outcome, report) = backtest::run(&factor, &market, &config.backtest, ctx)?;
                let inputs = BTreeMap::from([
                    ("factor".to_owned(), disk::hash_file(&project.factor(&params.name))?),
                    ("prices".to_owned(), prices),
                    ("corpus".to_owned(), corpus),
                ]);
                let chosen = json!({"backtest": config.backtest, "factor": params});
                let trial = Trial::backtest(&outcome, chosen, inputs);
                ledger::record_once(&project.ledger(), &trial, Utc::now())?;
                disk::write_json(&path, &outcome)?;
                Ok((report, Some(trial.key())))
            })?;
            self.judged.push(key);
        }
        self.market = Some(market);
        Ok(())
    }

    pub(super) fn export(&mut self) -> Result<()> {
        let out = self.base.join(&self.config.project.exports);
        export::remove_stale_lock(&out)?;
        let key = Key::of_json(&(VERSION, "export", &self.config.export, &self.judged));
        let (config, ctx, project) = (self.config, self.ctx, self.project.clone());
        let market = self.market.take().context("factors were built with prices")?;
        let (built, prices) = (self.factors.clone(), self.prices);
        let output = self.output("export");
        let step = Step { name: "export", key, stands: true, output, unit: "files", total: None };
        self.step(step, || {
            let factors: Vec<Factor> =
                config.factor.iter().map(|f| read_factor(&f.name, &project, &market)).collect::<Result<_>>()?;
            let tables: Vec<ExportFactor<'_>> =
                factors.iter().map(|f| ExportFactor { name: &f.name, values: &f.values }).collect();
            let outcomes = outcomes(config, &project)?;
            // Here, and from what was noted: to hash what all stages made is not for runs that export nothing.
            let provenance = provenance(config, &project, &built, &State::read(&project)?, prices)?;
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
            Ok((export::run(&tables, &outcomes, &extras, &out, &config.export, &provenance, ctx)?.1, None))
        })?;
        self.market = Some(market);
        Ok(())
    }
}

/// What an export says of its origin. Where things lie and how many threads there were does not enter: it changes nothing.
fn provenance(config: &Config, project: &Project, tested: &[Key], state: &State, prices: Key) -> Result<Provenance> {
    let mut inputs = BTreeMap::from([
        ("ingested files".to_owned(), disk::hash_file(&project.ingest_log())?),
        ("prices".to_owned(), prices),
    ]);
    inputs.extend(ingest::sources(project)?.into_iter().map(|(path, hash)| (format!("file {path}"), hash)));
    for (factor, key) in config.factor.iter().zip(tested) {
        inputs.insert(format!("factor {}", factor.name), *key);
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

/// Where the contextual models of a project ran, by feature.
fn ran(project: &Project) -> BTreeMap<String, serde_json::Value> {
    let of = |report: Report| Some((report.stage, report.facts.get("ran")?.clone()));
    last_reports(project).into_iter().filter_map(of).collect()
}
