//! Joins the stages: files to documents, features, factors, tests and exports, each stage skipped while nothing it depends on has changed.
//!
//! What a stage depends on is a key: its parameters, the version of its code, and the keys of what it reads. The keys of
//! finished stages stand in one small file; a stage's entry is removed before it starts and written after it ended, so
//! that a kill at any moment makes the stage run again and never trusts half of its output.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::backtest::Outcome;
use crate::config::Config;
use crate::corpus::Parts;
use crate::data::{Key, Report};
use crate::export::{ExportFactor, Provenance};
use crate::extract::{self, Feature};
use crate::factor::{self, Factor, Selection};
use crate::job::Ctx;
use crate::market::{Code, Market, Security, securities_from_frame};
use crate::project::Project;
use crate::store::Store;
use crate::{backtest, clean, disk, export, ingest, link};

/// Version of the stages' code; raising it makes every project compute everything again.
const VERSION: u32 = 1;

/// When a factor's value counts as known, in words; stands in every manifest.
const KNOWN_AT: &str = "the latest publication among the documents that entered the value, and the last data of any model \
                        that was fitted; a value is used only if it was known strictly before its return begins";

/// The stages that a run can stop after, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, clap::ValueEnum)]
pub enum Stage {
    /// Files to documents, prices and securities.
    Ingest,
    /// Normalised text, duplicates marked.
    Clean,
    /// Codes and name spans.
    Link,
    /// Features.
    Extract,
    /// A value per date and code.
    Factor,
    /// IC, layers, long-short.
    Backtest,
    /// Tables for other tools.
    Export,
}

/// A project opened for a run.
struct Pipeline<'a> {
    config: &'a Config,
    base: &'a Path,
    project: Project,
    state: BTreeMap<String, Entry>,
    reports: Vec<Report>,
}

/// What a finished stage depended on, and what it said.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Entry {
    key: Key,
    /// Key of what the stage made, where it has one of its own: the feature set.
    made: Option<Key>,
    report: Report,
}

/// Runs the stages up to and including `last` and returns their reports in order.
///
/// Paths in the configuration are relative to `base`.
pub fn run(config: &Config, base: &Path, last: Stage, ctx: &Ctx) -> Result<Vec<Report>> {
    let mut pipeline = Pipeline::open(config, base)?;
    pipeline.run(last, ctx)?;
    Ok(pipeline.reports)
}

/// The project of a configuration.
pub fn project(config: &Config, base: &Path) -> Project {
    Project::new(base.join(&config.project.dir))
}

/// The price table with the securities, or `None` when the project has no prices.
pub fn market(project: &Project) -> Result<Option<Market>> {
    if !project.prices().exists() {
        return Ok(None);
    }
    Market::read(&project.prices(), &securities(project)?).map(Some)
}

/// The backtests that a project has, by factor, in the order of the configuration.
pub fn outcomes(config: &Config, project: &Project) -> Result<Vec<Outcome>> {
    config.factor.iter().map(|f| disk::read_json(&project.backtest(&f.name))).collect()
}

fn securities(project: &Project) -> Result<Vec<Security>> {
    if !project.securities().exists() {
        return Ok(Vec::new());
    }
    securities_from_frame(&disk::read_parquet(&project.securities(), None)?)
}

/// The securities that texts are linked to; without a table of them, the codes of the price table, which have no names.
fn linkable(project: &Project) -> Result<Vec<Security>> {
    let table = securities(project)?;
    if !table.is_empty() || !project.prices().exists() {
        return Ok(table);
    }
    let prices = disk::read_parquet(&project.prices(), Some(&["code"]))?;
    let codes: BTreeSet<&str> = prices.column("code")?.str()?.iter().flatten().collect();
    Ok(codes.into_iter().map(|code| Security::unnamed(Code::canonical(code))).collect())
}

impl<'a> Pipeline<'a> {
    fn open(config: &'a Config, base: &'a Path) -> Result<Pipeline<'a>> {
        let project = project(config, base);
        disk::make_dir(project.dir())?;
        disk::sweep(project.dir())?;
        let state = if project.state().exists() {
            disk::read_json(&project.state()).unwrap_or_default()
        } else {
            BTreeMap::new()
        };
        Ok(Pipeline { config, base, project, state, reports: Vec::new() })
    }

    fn run(&mut self, last: Stage, ctx: &Ctx) -> Result<()> {
        let project = self.project.clone();
        let config = self.config;
        ensure!(!config.source.is_empty(), "there is no [[source]]: name the files to read in the configuration");

        let report = ctx
            .stage("ingest", "rows", None, || ingest::run(&config.source, &config.ingest, self.base, &project, ctx))?;
        self.reports.push(report);
        if last < Stage::Clean {
            return Ok(());
        }
        let read = self.ingested()?;

        let documents = project.documents();
        let count = documents.files()?.len();
        let key = Key::of_json(&(VERSION, "clean", &config.clean, read));
        self.stage("clean", key, parts_stand(&project.clean(), count), "docs", None, ctx, || {
            let report = clean::run(&documents, &project.clean(), &config.clean, ctx)?;
            project.clean().truncate(count)?;
            Ok((report, None))
        })?;
        if last < Stage::Link {
            return Ok(());
        }
        let docs = self.reports.last().map(|r| r.rows_out);
        let prices = hash_if_there(&project.prices())?;

        let key = Key::of_json(&(VERSION, "link", &config.link, key, hash_if_there(&project.securities())?, prices));
        self.stage("link", key, parts_stand(&project.links(), count), "docs", docs, ctx, || {
            let report = link::run(&project.clean(), &linkable(&project)?, &project.links(), &config.link, ctx)?;
            project.links().truncate(count)?;
            Ok((report, None))
        })?;
        if last < Stage::Extract {
            return Ok(());
        }

        let market = market(&project)?;
        let store = Store::open(&project.store())?;
        let mut sets = BTreeMap::new();
        for feature in &config.feature {
            let set = self.extract(feature, &store, key, prices, market.as_ref(), docs, ctx)?;
            sets.insert(feature.name.clone(), set);
        }
        if last < Stage::Factor || config.factor.is_empty() {
            return Ok(());
        }

        let market = market.context("factors need prices: add a [[source]] with table = \"prices\"")?;
        let mut made = Vec::new();
        for params in &config.factor {
            let set = sets[params.source().0];
            let key = Key::of_json(&(VERSION, "factor", params, &config.market, set, key, prices));
            let path = project.factor(&params.name);
            let name = format!("factor {}", params.name);
            self.stage(&name, key, path.exists(), "docs", docs, ctx, || {
                Ok((build(params, set, &store, &market, &project, config, ctx)?, None))
            })?;
            made.push(key);
        }
        drop(store);
        if last < Stage::Backtest {
            return Ok(());
        }

        let mut tested = Vec::new();
        for (params, key) in config.factor.iter().zip(made) {
            let key = Key::of_json(&(VERSION, "backtest", &config.backtest, key));
            let name = format!("backtest {}", params.name);
            let dates = market.dates().len() as u64;
            self.stage(&name, key, project.backtest(&params.name).exists(), "dates", Some(dates), ctx, || {
                let factor = read_factor(&params.name, &project, &market)?;
                let (outcome, report) = backtest::run(&factor, &market, &config.backtest, ctx)?;
                disk::write_json(&project.backtest(&params.name), &outcome)?;
                Ok((report, None))
            })?;
            tested.push(key);
        }
        if last < Stage::Export {
            return Ok(());
        }

        let out = self.base.join(&config.project.exports);
        let key = Key::of_json(&(VERSION, "export", &config.export, &tested));
        self.stage("export", key, out.join("manifest.json").exists(), "files", None, ctx, || {
            Ok((write_exports(config, &project, &market, &out, &tested, ctx)?, None))
        })
    }

    fn extract(
        &mut self,
        feature: &Feature,
        store: &Store,
        corpus: Key,
        prices: Key,
        market: Option<&Market>,
        docs: Option<u64>,
        ctx: &Ctx,
    ) -> Result<Key> {
        let config = self.config;
        let (clean, links) = (self.project.clean(), self.project.links());
        let inputs = extract::Inputs {
            clean: &clean,
            links: &links,
            corpus,
            market,
            prices,
            cutoff: config.market.cutoff,
            trade: &config.backtest,
            tokenizer: &config.tokenizer,
            base: self.base,
        };
        let dictionaries = self.files_named_in(feature)?;
        let learns = feature.learns().then_some((prices, &config.backtest, &config.market));
        let key = Key::of_json(&(VERSION, "extract", feature, &config.tokenizer, corpus, learns, dictionaries));
        let name = format!("extract {}", feature.name);
        let stands = match self.state.get(&name).and_then(|e| e.made) {
            Some(set) => store.set(&set)?.is_some(),
            None => false,
        };
        self.stage(&name, key, stands, "docs", docs, ctx, || {
            let (set, report) = extract::run(feature, &inputs, store, ctx)?;
            Ok((report, Some(set)))
        })?;
        self.state[&name].made.context("a finished feature has a set")
    }

    /// Content hashes of the dictionaries and word lists that a feature reads beside the corpus.
    fn files_named_in(&self, feature: &Feature) -> Result<Vec<Key>> {
        let lists = feature.lexicon.positive.iter().chain(&feature.lexicon.negative);
        let files = self.config.tokenizer.files().into_iter().chain(lists.map(PathBuf::as_path));
        files.map(|file| disk::hash_file(&self.base.join(file))).collect()
    }

    /// Key of everything that ingest has read.
    fn ingested(&self) -> Result<Key> {
        disk::hash_file(&self.project.ingest_log())
    }

    /// Runs one stage, or keeps what it made before when its key and its output still stand.
    #[allow(clippy::too_many_arguments)]
    fn stage(
        &mut self,
        name: &str,
        key: Key,
        stands: bool,
        unit: &'static str,
        total: Option<u64>,
        ctx: &Ctx,
        work: impl FnOnce() -> Result<(Report, Option<Key>)>,
    ) -> Result<()> {
        let before = self.state.get(name).filter(|entry| entry.key == key && stands).cloned();
        if let Some(entry) = before {
            let report = Report { unchanged: true, seconds: 0.0, ..entry.report };
            self.reports.push(ctx.stage(name, unit, Some(0), || Ok(report))?);
            return Ok(());
        }
        if self.state.remove(name).is_some() {
            self.save()?;
        }
        let mut made = None;
        let report = ctx.stage(name, unit, total, || {
            let (report, set) = work()?;
            made = set;
            Ok(Report { stage: name.to_owned(), ..report })
        })?;
        self.state.insert(name.to_owned(), Entry { key, made, report: report.clone() });
        self.reports.push(report);
        self.save()
    }

    fn save(&self) -> Result<()> {
        disk::write_json(&self.project.state(), &self.state)
    }
}

fn build(
    params: &factor::Params,
    set: Key,
    store: &Store,
    market: &Market,
    project: &Project,
    config: &Config,
    ctx: &Ctx,
) -> Result<Report> {
    let set = store.set(&set)?.context("the feature's rows are gone from the store; run again to compute them")?;
    let (clean, links) = (project.clean(), project.links());
    let (_, column) = params.source();
    let selection =
        Selection { clean: &clean, links: &links, column, kinds: &params.kinds, cutoff: config.market.cutoff };
    let (signals, mut report) = factor::signals(&set, &selection, market, ctx)?;
    let (factor, built) = factor::build(&signals, market, params, ctx)?;
    disk::write_parquet(&project.factor(&params.name), &mut factor.to_frame()?)?;
    report.fact("values", built.rows_out);
    report.facts.extend(built.facts);
    Ok(report)
}

fn write_exports(
    config: &Config,
    project: &Project,
    market: &Market,
    out: &Path,
    tested: &[Key],
    ctx: &Ctx,
) -> Result<Report> {
    let factors: Vec<Factor> =
        config.factor.iter().map(|f| read_factor(&f.name, project, market)).collect::<Result<_>>()?;
    let tables: Vec<ExportFactor<'_>> =
        factors.iter().map(|f| ExportFactor { name: &f.name, values: &f.values }).collect();
    let outcomes = outcomes(config, project)?;
    let mut inputs = BTreeMap::from([
        ("ingested files".to_owned(), disk::hash_file(&project.ingest_log())?),
        ("prices".to_owned(), disk::hash_file(&project.prices())?),
    ]);
    for (factor, key) in config.factor.iter().zip(tested) {
        inputs.insert(format!("factor {}", factor.name), *key);
    }
    let provenance = Provenance {
        // Where things lie and how many threads there are does not enter what they are.
        parameters: json!({
            "name": config.project.name, "note": config.project.note, "source": config.source, "ingest": config.ingest,
            "clean": config.clean, "link": config.link, "tokenizer": config.tokenizer, "market": config.market,
            "feature": config.feature, "factor": config.factor, "backtest": config.backtest,
        }),
        inputs,
        seed: config.project.seed,
        known_at: KNOWN_AT.to_owned(),
        versions: BTreeMap::from([("jieba-rs".to_owned(), crate::text::JIEBA_VERSION.to_owned())]),
        created: None,
    };
    Ok(export::run(&tables, &outcomes, out, &config.export, &provenance, ctx)?.1)
}

fn read_factor(name: &str, project: &Project, market: &Market) -> Result<Factor> {
    let (mut factor, _) = Factor::read(&project.factor(name), market)?;
    factor.name = name.to_owned();
    Ok(factor)
}

/// Whether the first `count` parts are there.
fn parts_stand(parts: &Parts, count: usize) -> bool {
    (0..count).all(|i| parts.path(i).exists()) && !parts.path(count).exists()
}

/// The content hash of a file; the zero key where there is none.
fn hash_if_there(path: &Path) -> Result<Key> {
    if path.exists() { disk::hash_file(path) } else { Ok(Key::default()) }
}
