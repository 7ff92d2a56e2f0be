//! What is said of factors once they are tested: what happened around their documents, whether they look ahead, what they are worth
//! after so many looks, and the page that tells it.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;

use anyhow::{Context, Result};
use serde::Serialize;
use serde_json::Value;

use super::evidence::{Evidence, Source};
use super::materials::{Materials, read_factor};
use super::state::{State, Step};
use super::{Run, VERSION, findings, project};
use crate::config::{ChartFormat, Config};
use inkstone_base::data::{Key, Report, TooLittle};
use inkstone_base::disk;
use inkstone_base::disk::Room;
use inkstone_base::job::Ctx;
use inkstone_base::language::Language;
use inkstone_features::extract::{Feature, Model};
use inkstone_lab::backtest::events::{EventStudy, events_of_factor, events_of_signals};
use inkstone_lab::backtest::{Outcome, events};
use inkstone_lab::factor::{self, Factor, Plan, Signal, signals_from_frame};
use inkstone_lab::ledger::{self, Looks};
use inkstone_lab::lint;
use inkstone_lab::lint::{Masked, Subject, TextReading, Texts, Verdict};
use inkstone_market::Market;
use inkstone_report::{FactorPage, factor_charts, factor_html, png};
use inkstone_store::Store;
use inkstone_tables::frames;
use inkstone_tables::project::Project;

/// Everything that is said of a factor.
pub struct Judged {
    /// Its backtest.
    pub outcome: Outcome,
    /// What happened around its documents; none where there were too few.
    pub events: Option<EventStudy>,
    /// The linter's verdicts; empty until it ran.
    pub verdicts: Vec<Verdict>,
    /// What the result is worth after so many looks.
    pub looks: Option<Looks>,
}

/// The sets of features whose texts name no companies.
#[derive(Serialize)]
enum MaskedSets {
    /// Not computed.
    Unknown,
    /// Those of the features themselves.
    Same,
    /// Others, by the names of the features.
    Other(BTreeMap<String, Key>),
}

/// What a project has to say of its factors, in the order of the configuration.
pub fn judged(config: &Config, base: &Path) -> Result<Vec<Judged>> {
    let project = project(config, base);
    let state = State::read(&project)?;
    let name = |factor: &factor::Params| format!("backtest {}", factor.name);
    let trials: Vec<Key> = config.factor.iter().map(|f| state.made(&name(f)).unwrap_or_default()).collect();
    let looks = ledger::looks(&project.ledger(), &trials)?;
    let of = |(factor, looks): (&factor::Params, Option<Looks>)| {
        Ok(Judged {
            outcome: disk::read_json(&project.backtest(&factor.name))?,
            events: read_if_there(&project.events(&factor.name))?.flatten(),
            verdicts: lint::read_verdicts(&project.lint(&factor.name))?,
            looks,
        })
    };
    config.factor.iter().zip(looks).map(of).collect()
}

/// What a project has to say of one factor; none before its backtest.
pub fn judged_of(config: &Config, base: &Path, factor: &str) -> Result<Option<Judged>> {
    if !project(config, base).backtest(factor).exists() {
        return Ok(None);
    }
    let mut alone = config.clone();
    alone.factor.retain(|params| params.name == factor);
    Ok(judged(&alone, base)?.pop())
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

impl Run<'_> {
    /// What happened around the documents of each factor, by what the first part of its expression reads of them.
    pub(super) fn events(&mut self) -> Result<()> {
        let (config, ctx, project) = (self.config, self.ctx, self.project.clone());
        let market = self.market.take().context("factors were built with prices")?;
        for (i, params) in config.factor.iter().enumerate() {
            let key = Key::of_json(&(VERSION, "events", &config.events, self.factors[i]));
            let path = project.events(&params.name);
            let name = format!("events {}", params.name);
            let output = self.output(&name);
            let step = Step { name: &name, key, stands: true, output, unit: "events", total: None };
            self.step(step, || {
                let mut signals = read_signals(&params.name, &project)?;
                signals.retain(|signal| signal.reading == 0);
                let factor = read_factor(&params.name, &project, &market)?;
                let (study, report) = study(&signals, &factor, &market, &config.events, ctx)?;
                disk::write_json(&path, &study)?;
                Ok((report, None))
            })?;
            self.judged.push(key);
        }
        self.market = Some(market);
        Ok(())
    }

    /// Tries to find look-ahead in each factor.
    pub(super) fn lint(&mut self) -> Result<()> {
        let (config, ctx, project) = (self.config, self.ctx, self.project.clone());
        for (i, params) in config.factor.iter().enumerate() {
            let store = Store::open(&project.store())?;
            let plan = Plan::new(params)?;
            let masked = self.masked_sets(&plan, &store)?;
            let market = self.market.take().context("factors were built with prices")?;
            let key = Key::of_json(&(
                VERSION,
                "lint",
                lint::VERSION,
                &config.lint,
                &config.backtest,
                self.factors[i],
                &masked,
            ));
            let path = project.lint(&params.name);
            let name = format!("lint {}", params.name);
            let output = self.output(&name);
            let step = Step { name: &name, key, stands: true, output, unit: "steps", total: None };
            let sets = self.sets.clone();
            let linted = self.step(step, || {
                let materials = Materials { store: &store, market: &market, project: &project, config };
                let signals = read_signals(&params.name, &project)?;
                let factor = read_factor(&params.name, &project, &market)?;
                let compared = match &masked {
                    MaskedSets::Other(sets) => Some(materials.factor(params, sets, ctx)?.0),
                    MaskedSets::Same | MaskedSets::Unknown => None,
                };
                let masked = match (&masked, &compared) {
                    (_, Some(factor)) => Masked::Factor(factor),
                    (MaskedSets::Same, _) => Masked::Always,
                    _ => Masked::Unknown,
                };
                let source = |name: &String| {
                    let feature = config.feature.iter().find(|feature| feature.name == *name);
                    let set = sets.get(name).map(|key| store.set(key)).transpose()?.flatten();
                    let kinds = feature.map_or(&[][..], |feature| &feature.kinds);
                    let external = feature.is_some_and(|feature| feature.model == Model::Onnx);
                    Ok(Source { kinds, set, external })
                };
                let sources = plan.features().iter().map(source).collect::<Result<Vec<_>>>()?;
                let evidence = Evidence::read(&project.clean(), &sources, (&market, config.market.cutoff))?;
                let readings: Vec<TextReading> = plan
                    .readings()
                    .into_iter()
                    .map(|(features, first_only)| TextReading { features, first_only })
                    .collect();
                let rebuild = |signals: &[Signal]| Ok(materials.of_signals(params, &plan, signals, ctx)?.0);
                let texts = plan.reads_documents().then(|| Texts {
                    signals: &signals,
                    documents: &evidence.documents,
                    models: &evidence.models,
                    cutoff: config.market.cutoff,
                    readings: &readings,
                    rebuild: &rebuild,
                });
                let subject = Subject {
                    factor: &factor,
                    market: &market,
                    backtest: &config.backtest,
                    times_assumed: false,
                    texts,
                    masked,
                };
                let (verdicts, report) = lint::run(&subject, &config.lint, ctx)?;
                disk::write_json(&path, &verdicts)?;
                Ok((report, None))
            });
            self.market = Some(market);
            linted?;
            self.judged.push(key);
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
            let Some(feature) = self.config.feature.iter().find(|feature| feature.name == *name) else { continue };
            if feature.masks_names() {
                continue;
            }
            if feature.model == Model::Onnx && !self.config.lint.mask_contextual {
                return Ok(MaskedSets::Unknown);
            }
            let variant = Feature { name: format!("{name} · masked"), mask_names: Some(true), ..feature.clone() };
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
        for judged in judged(config, self.base)? {
            let of_factor: Vec<_> = experiments
                .iter()
                .filter(|found| found.factor.as_ref().is_some_and(|(name, _)| *name == judged.outcome.factor))
                .cloned()
                .collect();
            let page = FactorPage {
                outcome: &judged.outcome,
                events: judged.events.as_ref(),
                verdicts: &judged.verdicts,
                looks: judged.looks.as_ref(),
                experiments: &of_factor,
                manifest: &manifest,
                note: &config.project.note,
            };
            let name = format!("report {}", judged.outcome.factor);
            let key = Key::of_json(&(VERSION, &config.report, &manifest, &judged.looks, &of_factor));
            let folder = out.join(&judged.outcome.factor);
            let output = self.output(&name);
            let step = Step { name: &name, key, stands: true, output, unit: "files", total: None };
            self.step(step, || Ok((write_report(&page, &folder, &config.report.charts, ctx)?, None)))?;
        }
        Ok(())
    }
}

/// Writes the page of a factor and its charts into a folder.
pub fn write_report(page: &FactorPage<'_>, folder: &Path, charts: &[ChartFormat], ctx: &Ctx) -> Result<Report> {
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
        .with_context(|| format!("{} is unreadable: build the factor again (inkstone factor)", path.display()))
}
