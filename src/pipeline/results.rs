//! Results on factors beside their backtests: event studies, verdicts of the linter, looks of the ledger, and the report page.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::path::Path;

use anyhow::{Context, Result};
use serde::Serialize;
use serde_json::Value;

use super::factor_builder::{FactorBuilder, read_factor};
use super::lint_evidence::{FeatureEvidence, LintEvidence, crawled_columns};
use super::market::needed;
use super::stage::{StageId, derived_name};
use super::state::State;
use super::trace::Tracer;
use super::vault::note_with_vault;
use super::{PipelineRun, findings, project, version};
use crate::config::{ChartFormat, Config};
use inkstone_base::data::{Key, Report, TooLittle};
use inkstone_base::disk;
use inkstone_base::disk::Room;
use inkstone_base::job::Ctx;
use inkstone_base::language::Language;
use inkstone_base::message;
use inkstone_features::experiment::Findings;
use inkstone_features::extract::{Feature, Model, with_inputs};
use inkstone_lab::backtest::events::{EventStudy, events_of_factor, events_of_signals};
use inkstone_lab::backtest::{self, FactorBeside, Outcome, events};
use inkstone_lab::factor::{self, Factor, Plan, Signal, TracedDate, signals_from_frame};
use inkstone_lab::ledger::{self, Looks};
use inkstone_lab::lint;
use inkstone_lab::lint::{Masked, Rewire, Subject, TextReading, Texts, Verdict};
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
pub(super) enum MaskedSets {
    Unknown,
    /// No model reads texts for the factor, nor for the factors in it.
    NoTexts,
    /// The sets of the features themselves: names are masked for all models behind them.
    Same,
    /// With masked names too little text is left to fit the model on.
    TooLittle,
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

/// Gives the set of a feature whose inputs are among some features with their sets.
type MakeSet<'m, 'r> =
    &'m mut dyn FnMut(&mut PipelineRun<'r>, &Feature, &[Feature], &BTreeMap<String, Key>) -> Result<Key>;

impl<'r> PipelineRun<'r> {
    /// Key of the event study of the factor with this key.
    pub(super) fn events_key(&self, factor: Key) -> Key {
        Key::of_json(&(version::EVENTS, "events", &self.config.events, factor))
    }

    /// Key of the verdicts on the factor with this key.
    pub(super) fn lint_key(&self, factor: Key, masked: &MaskedSets) -> Key {
        Key::of_json(&(version::LINT, "lint", &self.config.lint, self.backtest_key(factor), masked))
    }

    /// Key of the page of a factor beside the factors with these keys.
    pub(super) fn report_key(
        &self,
        manifest: &Value,
        looks: &Option<Looks>,
        experiments: &[Findings],
        keys: &[Key],
    ) -> Result<Key> {
        let note = note_with_vault(self.config, self.base)?;
        Ok(Key::of_json(&(version::REPORT, &self.config.report, manifest, looks, experiments, keys, note)))
    }

    /// Studies what happened around the documents of each factor, by what the first part of its expression reads of them.
    pub(super) fn events(&mut self) -> Result<()> {
        for (params, factor_key) in &self.factors {
            let id = StageId::Events(params.name.clone());
            let key = self.events_key(*factor_key);
            let stage = self.plan(id, key, "events");
            let work = || {
                let market = needed(&self.market)?;
                let mut signals = read_signals(&params.name, &self.project)?;
                // A document without weight takes no part in the factor.
                signals.retain(|signal| signal.reading == 0 && signal.weight != 0.0);
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
        for (params, factor_key) in self.factors.clone() {
            let store = Store::open(&self.project.store())?;
            let plan = Plan::new(params)?;
            let masked = self.masked_sets(&plan, &store)?;
            let id = StageId::Lint(params.name.clone());
            let key = self.lint_key(factor_key, &masked);
            let stage = self.plan(id, key, "steps");
            let work = || {
                let market = needed(&self.market)?;
                let builder = FactorBuilder { store: &store, market, project: &self.project, config, base: self.base };
                Ok((None, lint_factor(params, &plan, &builder, &self.sets, &masked, self.ctx)?))
            };
            self.reports.push(self.state.run(stage, self.ctx, work)?.1);
            self.results.push(key);
        }
        Ok(())
    }

    /// The sets of a plan's features with the names of companies masked, for them and for all features that they learn on or take word
    /// vectors of. A contextual model or a network is run once more only if that was asked for.
    fn masked_sets(&mut self, plan: &Plan, store: &Store) -> Result<MaskedSets> {
        self.masked_sets_by(plan, &mut |run, variant, features, sets| run.extract_among(variant, features, sets, store))
    }

    /// The sets of [`PipelineRun::masked_sets`]; `make` gives the set of a feature whose inputs are among some features with their sets.
    pub(super) fn masked_sets_by(&mut self, plan: &Plan, make: MakeSet<'_, 'r>) -> Result<MaskedSets> {
        let (config, lint) = (self.config, &self.config.lint);
        let graph = features_behind(config, plan)?;
        if graph.is_empty() {
            return Ok(MaskedSets::NoTexts);
        }
        let shown: BTreeSet<&str> = graph.iter().filter(|f| reads_names(f)).map(|f| f.name.as_str()).collect();
        if shown.is_empty() {
            return Ok(MaskedSets::Same);
        }
        // Factors in the expression are read as they were built, of texts with names.
        let is_costly =
            |f: &Feature| matches!(f.model, Model::Onnx | Model::TextCnn | Model::TextRnn | Model::Finetune);
        let costly = graph.iter().any(|f| is_costly(f) && shown.contains(f.name.as_str()));
        if !plan.factors().is_empty() || (costly && !lint.mask_contextual) {
            return Ok(MaskedSets::Unknown);
        }
        let masked = |feature: &Feature| Feature { mask_names: Some(true), ..feature.clone() };
        let features: Vec<Feature> = config.feature.iter().map(masked).collect();
        let mut sets = self.sets.clone();
        // Each stands behind its inputs, so that what it learns on is masked before it.
        for feature in graph {
            let behind = with_sources(feature, &config.feature)?;
            if behind.iter().any(|source| shown.contains(source.name.as_str())) {
                let variant = Feature { name: derived_name(&feature.name, "masked"), ..masked(feature) };
                match make(self, &variant, &features, &sets) {
                    Ok(set) => drop(sets.insert(feature.name.clone(), set)),
                    Err(error) if error.is::<TooLittle>() => return Ok(MaskedSets::TooLittle),
                    Err(error) => return Err(error),
                }
            }
        }
        Ok(MaskedSets::Other(plan.features().iter().map(|name| (name.clone(), sets[name])).collect()))
    }

    /// Writes a page and charts of each factor.
    pub(super) fn report(&mut self) -> Result<()> {
        let (config, ctx) = (self.config, self.ctx);
        let out = self.base.join(&config.report.dir);
        disk::own_folder(&out, Room::Reports)?;
        let experiments = findings(config, &self.project)?;
        let manifest: Value = disk::read_json(&self.base.join(&config.project.exports).join("manifest.json"))?;
        let keys: Vec<Key> = self.factors.iter().map(|(_, key)| *key).collect();
        let note = note_with_vault(config, self.base)?;
        let tracer = Tracer::new(config, self.base);
        // Made when the first page is written.
        let mut beside: Vec<FactorBeside> = Vec::new();
        for (number, result) in factor_results(&self.tested(), self.base)?.into_iter().enumerate() {
            let name = &result.outcome.factor;
            let reads_factor = |found: &&Findings| found.factor.as_ref().is_some_and(|(factor, _)| factor == name);
            let experiments: Vec<Findings> = experiments.iter().filter(reads_factor).cloned().collect();
            let id = StageId::Report(name.clone());
            let key = self.report_key(&manifest, &result.looks, &experiments, &keys)?;
            let stage = self.plan(id, key, "files");
            let page = FactorReport {
                outcome: &result.outcome,
                events: result.events.as_ref(),
                verdicts: &result.verdicts,
                looks: result.looks.as_ref(),
                beside: None,
                newest: None,
                experiments: &experiments,
                manifest: &manifest,
                note: &note,
            };
            let work = || {
                if beside.is_empty() && keys.len() > 1 {
                    let market = needed(&self.market)?;
                    let read = |(params, _): &(&factor::Params, Key)| read_factor(&params.name, &self.project, market);
                    let factors: Vec<Factor> = self.factors.iter().map(read).collect::<Result<_>>()?;
                    beside = backtest::beside(&factors.iter().collect::<Vec<_>>(), market, &config.backtest, ctx)?;
                }
                let newest = newest_values(&tracer, name, ctx)?;
                let page = FactorReport { beside: beside.get(number), newest: newest.as_ref(), ..page };
                Ok((None, write_report(&page, &out.join(name), &config.report.charts, ctx)?))
            };
            self.reports.push(self.state.run(stage, ctx, work)?.1);
        }
        Ok(())
    }
}

/// The values of a factor's last date with the documents behind them; none of a factor without dates.
fn newest_values(tracer: &Tracer, factor: &str, ctx: &Ctx) -> Result<Option<TracedDate>> {
    let last = tracer.dates(factor, ctx)?.last().copied();
    last.map(|date| tracer.names(factor, date, None, ctx)).transpose()
}

/// A feature and all that it learns on or takes word vectors of, through any number of others, each after its own sources.
fn with_sources<'c>(feature: &'c Feature, features: &'c [Feature]) -> Result<Vec<&'c Feature>> {
    let mut sources: Vec<&Feature> = Vec::new();
    for source in with_inputs(feature, features)? {
        let vectors = source.embeddings.feature_among(features)?;
        for source in vectors.into_iter().chain([source]) {
            if !sources.iter().any(|other| other.name == source.name) {
                sources.push(source);
            }
        }
    }
    Ok(sources)
}

/// The features behind a plan and behind the factors in it, with their sources, each after its own.
fn features_behind<'c>(config: &'c Config, plan: &Plan) -> Result<Vec<&'c Feature>> {
    let mut behind: Vec<&Feature> = Vec::new();
    for name in plan.features() {
        for source in with_sources(config.find_feature(name)?, &config.feature)? {
            if !behind.iter().any(|other| other.name == source.name) {
                behind.push(source);
            }
        }
    }
    for name in plan.factors() {
        let params = config.factor.iter().find(|factor| factor.name == *name);
        let params = params.with_context(|| message!("没有因子 {name:?}", "there is no factor {name:?}"))?;
        for source in features_behind(config, &Plan::new(params)?)? {
            if !behind.iter().any(|other| other.name == source.name) {
                behind.push(source);
            }
        }
    }
    Ok(behind)
}

/// True if the model itself reads texts in which names stand; one that learns on other features alone reads none.
fn reads_names(feature: &Feature) -> bool {
    feature.learns_on_words() && !feature.masks_names()
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
    let &FactorBuilder { store, market, project, config, .. } = builder;
    let signals = read_signals(&params.name, project)?;
    let factor = read_factor(&params.name, project, market)?;
    let masked_factor = match masked {
        MaskedSets::Other(sets) => match builder.build(params, sets, ctx) {
            Err(error) if error.is::<TooLittle>() => None,
            built => Some(built?),
        },
        MaskedSets::Same | MaskedSets::NoTexts | MaskedSets::TooLittle | MaskedSets::Unknown => None,
    };
    let masked = match (masked, &masked_factor) {
        (_, Some(factor)) => Masked::Factor(factor),
        (MaskedSets::Other(_) | MaskedSets::TooLittle, _) => Masked::TooLittle,
        (MaskedSets::Same, _) => Masked::Always,
        (MaskedSets::NoTexts, _) if plan.reads_documents() => Masked::NoTexts,
        _ => Masked::Unknown,
    };
    // The models of a feature's inputs share in its values, so each has its own evidence.
    let mut behind: Vec<&Feature> = Vec::new();
    let mut places: Vec<Vec<usize>> = Vec::new();
    for name in plan.features() {
        let mut own = Vec::new();
        for source in with_inputs(config.find_feature(name)?, &config.feature)? {
            let place = behind.iter().position(|other| other.name == source.name);
            own.push(place.unwrap_or(behind.len()));
            if place.is_none() {
                behind.push(source);
            }
        }
        places.push(own);
    }
    let mut features = Vec::with_capacity(behind.len());
    for feature in &behind {
        features.push(FeatureEvidence {
            kinds: &feature.kinds,
            set: sets.get(&feature.name).map(|key| store.set(key)).transpose()?.flatten(),
            // The folds of all other models are of the corpus.
            external: !matches!(feature.model, Model::Tfidf | Model::Lsa),
        });
    }
    let evidence = LintEvidence::read(&project.clean(), &features, (market, config.market.cutoff))?;
    let reading = |(features, first_only): (Vec<usize>, bool)| {
        let mut all: Vec<usize> = features.iter().flat_map(|feature| places[*feature].iter().copied()).collect();
        all.sort_unstable();
        all.dedup();
        TextReading { features: all, first_only }
    };
    let readings: Vec<TextReading> = plan.readings().into_iter().map(reading).collect();
    let crawled = crawled_columns(plan, &behind, project)?;
    let rebuild = |signals: &[Signal]| Ok(builder.build_from_signals(params, plan, signals, None, ctx)?.0);
    let rewire = |seed: u64| Ok(builder.build_from_signals(params, plan, &signals, Some(seed), ctx)?.0);
    // Events of tables are no texts.
    let texts = (!signals.is_empty()).then(|| Texts {
        signals: &signals,
        documents: &evidence.documents,
        models: &evidence.models,
        cutoff: config.market.cutoff,
        readings: &readings,
        crawled: &crawled,
        rebuild: &rebuild,
    });
    let (backtest, factors) = (&config.backtest, Some(plan.factors()));
    let rewire: Option<Rewire<'_>> = if plan.has_graphs() { Some(&rewire) } else { None };
    let subject = Subject { factor: &factor, market, backtest, times_assumed: false, texts, factors, masked, rewire };
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
    signals_from_frame(&frames::read_parquet(&path, None)?).with_context(|| {
        message!(
            "{} 无法读取：请用 inkstone factor 重新计算因子",
            "{} is unreadable: build the factor again with inkstone factor",
            path.display()
        )
    })
}
