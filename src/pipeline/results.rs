//! Results on factors beside their backtests: event studies, verdicts of the linter, looks of the ledger, and the report page.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;

use anyhow::{Context, Result};
use serde::Serialize;
use serde_json::Value;

use super::factor_builder::{FactorBuilder, read_factor};
use super::lint_evidence::{FeatureEvidence, LintEvidence};
use super::stage::{StageId, derived_name};
use super::state::State;
use super::{PipelineRun, findings, project, version};
use crate::config::{ChartFormat, Config};
use inkstone_base::data::{Key, Report, TooLittle};
use inkstone_base::disk;
use inkstone_base::disk::Room;
use inkstone_base::job::Ctx;
use inkstone_base::language::Language;
use inkstone_features::experiment::Findings;
use inkstone_features::extract::{Feature, Model};
use inkstone_lab::backtest::events::{EventStudy, events_of_factor, events_of_signals};
use inkstone_lab::backtest::{Outcome, events};
use inkstone_lab::factor::{self, Factor, Plan, Signal, signals_from_frame};
use inkstone_lab::ledger::{self, Looks};
use inkstone_lab::lint;
use inkstone_lab::lint::{Masked, Subject, TextReading, Texts, Verdict};
use inkstone_market::Market;
use inkstone_report::{FactorReport, factor_charts, factor_html, png};
use inkstone_store::Store;
use inkstone_tables::frames;
use inkstone_tables::project::Project;

/// All results on a factor.
pub struct FactorResult {
    pub outcome: Outcome,
    /// The event study of its documents; none where there were too few.
    pub events: Option<EventStudy>,
    /// The verdicts of the linter; empty until it ran.
    pub verdicts: Vec<Verdict>,
    /// The statistics of its backtest in the ledger: the number of trials, and the deflated Sharpe ratio.
    pub looks: Option<Looks>,
}

/// The sets of a factor's features, computed with the names of companies masked.
#[derive(Serialize)]
enum MaskedSets {
    Unknown,
    /// The sets of the features themselves, which mask names.
    Same,
    /// Others, by the names of the features.
    Other(BTreeMap<String, Key>),
}

/// The results on the factors of a project, in the order of the configuration. Fails before their backtests.
pub fn factor_results(config: &Config, base: &Path) -> Result<Vec<FactorResult>> {
    let project = project(config, base);
    let state = State::read(&project)?;
    let trial = |factor: &factor::Params| state.made(&StageId::Backtest(factor.name.clone())).unwrap_or_default();
    let trials: Vec<Key> = config.factor.iter().map(trial).collect();
    let looks = ledger::looks(&project.ledger(), &trials)?;
    let result = |(factor, looks): (&factor::Params, Option<Looks>)| {
        Ok(FactorResult {
            outcome: disk::read_json(&project.backtest(&factor.name))?,
            events: read_if_there(&project.events(&factor.name))?.flatten(),
            verdicts: lint::read_verdicts(&project.lint(&factor.name))?,
            looks,
        })
    };
    config.factor.iter().zip(looks).map(result).collect()
}

/// The results on one factor of a project; none before its backtest.
pub fn factor_result(config: &Config, base: &Path, factor: &str) -> Result<Option<FactorResult>> {
    if !project(config, base).backtest(factor).exists() {
        return Ok(None);
    }
    let mut alone = config.clone();
    alone.factor.retain(|params| params.name == factor);
    Ok(factor_results(&alone, base)?.pop())
}

fn read_if_there<T: serde::de::DeserializeOwned>(path: &Path) -> Result<Option<T>> {
    path.exists().then(|| disk::read_json(path)).transpose()
}

/// The event study of a factor: of its documents where it has some, else of its new values. None where too little is left.
pub fn study(
    signals: &[Signal],
    factor: &Factor,
    market: &Market,
    params: &events::Params,
    ctx: &Ctx,
) -> Result<(Option<EventStudy>, Report)> {
    let (found, source) = match signals.is_empty() {
        true => events_of_factor(factor, market),
        false => events_of_signals(signals, market, params.first_only),
    };
    match events::run(&found, market, params, ctx) {
        Ok((study, mut report)) => {
            report.fact("source", source);
            Ok((Some(study), report))
        }
        Err(error) if error.is::<TooLittle>() => {
            let mut report = Report::new("events");
            report.fact("none", format!("{error:#}"));
            Ok((None, report))
        }
        Err(error) => Err(error),
    }
}

impl PipelineRun<'_> {
    /// Studies what happened around the documents of each factor, by what the first part of its expression reads of them.
    pub(super) fn events(&mut self) -> Result<()> {
        let market = self.market.as_ref().context("factors were built with prices")?;
        for (params, factor_key) in self.config.factor.iter().zip(&self.factors) {
            let id = StageId::Events(params.name.clone());
            let key = Key::of_json(&(version::EVENTS, "events", &self.config.events, factor_key));
            let stage = self.plan(id, key, "events");
            let work = || {
                let mut signals = read_signals(&params.name, &self.project)?;
                signals.retain(|signal| signal.reading == 0);
                let factor = read_factor(&params.name, &self.project, market)?;
                let (study, report) = study(&signals, &factor, market, &self.config.events, self.ctx)?;
                disk::write_json(&self.project.events(&params.name), &study)?;
                Ok((None, report))
            };
            self.reports.push(self.state.run(stage, self.ctx, work)?.1);
            self.results.push(key);
        }
        Ok(())
    }

    /// Tries to find look-ahead in each factor.
    pub(super) fn lint(&mut self) -> Result<()> {
        let config = self.config;
        for (params, factor_key) in config.factor.iter().zip(self.factors.clone()) {
            let store = Store::open(&self.project.store())?;
            let plan = Plan::new(params)?;
            let masked = self.masked_sets(&plan, &store)?;
            let market = self.market.as_ref().context("factors were built with prices")?;
            let id = StageId::Lint(params.name.clone());
            let key = Key::of_json(&(version::LINT, "lint", &config.lint, self.backtest_key(factor_key), &masked));
            let stage = self.plan(id, key, "steps");
            let builder = FactorBuilder { store: &store, market, project: &self.project, config };
            let work = || Ok((None, lint_factor(params, &plan, &builder, &self.sets, &masked, self.ctx)?));
            self.reports.push(self.state.run(stage, self.ctx, work)?.1);
            self.results.push(key);
        }
        Ok(())
    }

    /// The sets of a plan's features with the names of companies masked. A contextual model reads the corpus once more only if that was
    /// asked for.
    fn masked_sets(&mut self, plan: &Plan, store: &Store) -> Result<MaskedSets> {
        let mut sets: BTreeMap<String, Key> =
            plan.features().iter().map(|name| (name.clone(), self.sets[name])).collect();
        let mut same = true;
        for name in plan.features() {
            let Ok(feature) = self.config.find_feature(name) else { continue };
            if feature.masks_names() {
                continue;
            }
            if feature.model == Model::Onnx && !self.config.lint.mask_contextual {
                return Ok(MaskedSets::Unknown);
            }
            let name_of_masked = derived_name(name, "masked");
            let variant = Feature { name: name_of_masked, mask_names: Some(true), ..feature.clone() };
            sets.insert(name.clone(), self.extract_one(&variant, store)?);
            same = false;
        }
        Ok(match (same, plan.reads_documents()) {
            (false, _) => MaskedSets::Other(sets),
            (true, true) => MaskedSets::Same,
            (true, false) => MaskedSets::Unknown,
        })
    }

    /// Writes a page and charts of each factor.
    pub(super) fn report(&mut self) -> Result<()> {
        let (config, ctx) = (self.config, self.ctx);
        let out = self.base.join(&config.report.dir);
        disk::own_folder(&out, Room::Reports)?;
        let experiments = findings(config, &self.project);
        let manifest: Value = disk::read_json(&self.base.join(&config.project.exports).join("manifest.json"))?;
        for result in factor_results(config, self.base)? {
            let name = &result.outcome.factor;
            let reads_factor = |found: &&Findings| found.factor.as_ref().is_some_and(|(factor, _)| factor == name);
            let experiments: Vec<Findings> = experiments.iter().filter(reads_factor).cloned().collect();
            let id = StageId::Report(name.clone());
            let key = Key::of_json(&(version::REPORT, &config.report, &manifest, &result.looks, &experiments));
            let stage = self.plan(id, key, "files");
            let page = FactorReport {
                outcome: &result.outcome,
                events: result.events.as_ref(),
                verdicts: &result.verdicts,
                looks: result.looks.as_ref(),
                experiments: &experiments,
                manifest: &manifest,
                note: &config.project.note,
            };
            let work = || Ok((None, write_report(&page, &out.join(name), &config.report.charts, ctx)?));
            self.reports.push(self.state.run(stage, ctx, work)?.1);
        }
        Ok(())
    }
}

/// Tries to find look-ahead in a factor; `sets` are those of its features, `masked` the same with names masked. Writes the verdicts.
fn lint_factor(
    params: &factor::Params,
    plan: &Plan,
    builder: &FactorBuilder<'_>,
    sets: &BTreeMap<String, Key>,
    masked: &MaskedSets,
    ctx: &Ctx,
) -> Result<Report> {
    let &FactorBuilder { store, market, project, config } = builder;
    let signals = read_signals(&params.name, project)?;
    let factor = read_factor(&params.name, project, market)?;
    let masked_factor = match masked {
        MaskedSets::Other(sets) => Some(builder.build(params, sets, ctx)?),
        MaskedSets::Same | MaskedSets::Unknown => None,
    };
    let masked = match (masked, &masked_factor) {
        (_, Some(factor)) => Masked::Factor(factor),
        (MaskedSets::Same, _) => Masked::Always,
        _ => Masked::Unknown,
    };
    let evidence_of = |name: &String| {
        let feature = config.find_feature(name).ok();
        Ok(FeatureEvidence {
            kinds: feature.map_or(&[][..], |feature| &feature.kinds),
            set: sets.get(name).map(|key| store.set(key)).transpose()?.flatten(),
            external: feature.is_some_and(|feature| feature.model == Model::Onnx),
        })
    };
    let features = plan.features().iter().map(evidence_of).collect::<Result<Vec<_>>>()?;
    let evidence = LintEvidence::read(&project.clean(), &features, (market, config.market.cutoff))?;
    let readings: Vec<TextReading> =
        plan.readings().into_iter().map(|(features, first_only)| TextReading { features, first_only }).collect();
    let rebuild = |signals: &[Signal]| Ok(builder.build_from_signals(params, plan, signals, ctx)?.0);
    let texts = plan.reads_documents().then(|| Texts {
        signals: &signals,
        documents: &evidence.documents,
        models: &evidence.models,
        cutoff: config.market.cutoff,
        readings: &readings,
        rebuild: &rebuild,
    });
    let subject = Subject { factor: &factor, market, backtest: &config.backtest, times_assumed: false, texts, masked };
    let (verdicts, report) = lint::run(&subject, &config.lint, ctx)?;
    disk::write_json(&project.lint(&params.name), &verdicts)?;
    Ok(report)
}

/// Writes the page of a factor and its charts into a folder.
pub fn write_report(page: &FactorReport<'_>, folder: &Path, charts: &[ChartFormat], ctx: &Ctx) -> Result<Report> {
    let mut report = Report::new("report");
    disk::make_dir(folder)?;
    let write = |file: &str, bytes: &[u8]| disk::write_atomic(&folder.join(file), |out| Ok(out.write_all(bytes)?));
    write("index.html", factor_html(page)?.as_bytes())?;
    ctx.advance(1)?;
    let mut files = 1u64;
    let mut without_bitmaps = None;
    for language in Language::ALL.into_iter().filter(|_| !charts.is_empty()) {
        let suffix = if language == Language::Zh { "zh" } else { "en" };
        for (stem, svg) in factor_charts(page, language)? {
            if charts.contains(&ChartFormat::Svg) {
                write(&format!("{stem}.{suffix}.svg"), svg.as_bytes())?;
                files += 1;
            }
            if charts.contains(&ChartFormat::Png) && without_bitmaps.is_none() {
                match png(&svg, 2.0) {
                    Ok(bytes) => {
                        write(&format!("{stem}.{suffix}.png"), &bytes)?;
                        files += 1;
                    }
                    Err(error) => without_bitmaps = Some(format!("{error:#}")),
                }
            }
            ctx.advance(1)?;
        }
    }
    (report.rows_in, report.rows_out) = (files, files);
    report.fact("folder", folder.display().to_string());
    if let Some(why) = without_bitmaps {
        report.fact("no_png", why);
    }
    Ok(report)
}

/// The signals of a factor, as it was built last.
pub(super) fn read_signals(name: &str, project: &Project) -> Result<Vec<Signal>> {
    let path = project.signals(name);
    signals_from_frame(&frames::read_parquet(&path, None)?)
        .with_context(|| format!("{} is unreadable: build the factor again with inkstone factor", path.display()))
}
