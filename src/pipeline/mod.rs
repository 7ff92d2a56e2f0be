//! Joins the stages: files to documents, features, factors, tests and exports.
//!
//! Each stage has a key: its parameters, the version of the code, and the keys of what it reads. A stage is skipped while
//! its key stands and the files that it made are whole, byte by byte (`state`, `output`); `whole` looks at all of a project.

mod capsule;
mod drift;
mod evidence;
mod experiment;
mod factors;
mod judgement;
mod materials;
mod output;
mod standing;
mod state;
#[cfg(test)]
mod structure_of_demo;
mod trace;
mod whole;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};

use crate::config::Config;
pub use capsule::{Replayed, diff, replay};
pub use drift::{Drifted, drift};
pub use experiment::{Looked, experiments, findings, grids, look_at, score_of};
use inkstone_base::code::Code;
use inkstone_base::data::{Key, Report};
use inkstone_base::disk;
use inkstone_base::disk::Room;
use inkstone_base::job::Ctx;
use inkstone_corpus::truncate::Needs;
use inkstone_corpus::{clean, ingest, link, structure};
use inkstone_features::extract::{self, Feature, Model};
use inkstone_lab::backtest::Outcome;
use inkstone_market::{Market, Security, securities_from_frame};
use inkstone_store::Store;
use inkstone_tables::frames;
use inkstone_tables::project::Project;
pub use judgement::{Judged, judged, judged_of, study, write_report};
use output::Output;
pub use standing::{Standing, standings};
use state::{State, Step};
pub use trace::Tracer;
pub use whole::{check, repair};

/// Version of the stages' code; raising it makes every project compute everything again.
const VERSION: u32 = 3;

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
    /// Sentences, sections and boilerplate, if anything needs them.
    Structure,
    /// Features.
    Extract,
    /// A value per date and code.
    Factor,
    /// IC, layers, portfolios, events; noted in the research ledger.
    Backtest,
    /// Checks for look-ahead.
    Lint,
    /// Tables for other tools.
    Export,
    /// A page and charts for people.
    Report,
}

/// Runs the stages up to and including `last` and returns their reports in order.
///
/// Paths in the configuration are relative to `base`.
pub fn run(config: &Config, base: &Path, last: Stage, ctx: &Ctx) -> Result<Vec<Report>> {
    ensure!(!config.source.is_empty(), "there is no [[source]]: name the files to read in the configuration");
    check_folders(config, base, last)?;
    let mut run = Run::new(config, base, ctx)?;
    run.ingest()?;
    if last >= Stage::Clean {
        run.clean()?;
    }
    if last >= Stage::Link {
        run.link()?;
    }
    if last >= Stage::Structure {
        run.structure()?;
    }
    if last >= Stage::Extract {
        run.extract()?;
    }
    // A project without factors is a corpus with features; that is all right.
    if last >= Stage::Factor && !config.factor.is_empty() {
        run.factors()?;
        if last >= Stage::Backtest {
            run.backtests()?;
            run.events()?;
        }
        if last >= Stage::Lint {
            run.lint()?;
        }
        if last >= Stage::Export {
            run.export()?;
        }
        if last >= Stage::Report {
            run.report()?;
        }
    }
    Ok(run.reports)
}

/// Fails where a folder that the stages up to `last` write is somebody else's: now, and not after hours of work.
fn check_folders(config: &Config, base: &Path, last: Stage) -> Result<()> {
    disk::is_ours(project(config, base).dir(), Room::Project)?;
    if last >= Stage::Export && !config.factor.is_empty() {
        disk::is_ours(&base.join(&config.project.exports), Room::Exports)?;
    }
    if last >= Stage::Report && !config.factor.is_empty() {
        disk::is_ours(&base.join(&config.report.dir), Room::Reports)?;
    }
    Ok(())
}

/// What a configuration needs to know of sentences: whether its features or the user want them, and by which measures they are
/// salient. Measures that experiments need are among these always, so that an experiment makes no feature compute again.
fn needs_structure(config: &Config) -> Needs {
    let asked =
        Needs { sentences: config.structure.enabled, salience: config.structure.salience.iter().copied().collect() };
    let strategies = config.experiment.iter().flat_map(|experiment| experiment.grid().unwrap_or_default());
    let of_experiments = strategies.map(|strategy| Needs { sentences: false, ..strategy.needs() });
    config.feature.iter().map(Feature::needs).chain(of_experiments).fold(asked, Needs::and)
}

/// The project of a configuration.
pub fn project(config: &Config, base: &Path) -> Project {
    Project::new(base.join(&config.project.dir))
}

/// The reports of a project's stages, as they last ran; none where nothing can be read of them.
pub fn last_reports(project: &Project) -> Vec<Report> {
    State::read(project).map(State::reports).unwrap_or_default()
}

/// The feature sets that a project's finished stages and experiments refer to. Fails where that is not known, as what nobody refers to
/// may be removed.
pub fn feature_sets(config: &Config, project: &Project) -> Result<BTreeSet<Key>> {
    let of_cells =
        findings(config, project).into_iter().flat_map(|findings| findings.cells).filter_map(|cell| cell.set);
    let state = State::read(project)?;
    if let Some(damage) = &state.damage {
        bail!(damage.clone());
    }
    Ok(state.all_made().into_iter().chain(of_cells).collect())
}

/// The set that a project's feature of this name made last; none where it has not run.
pub fn feature_set(project: &Project, feature: &str) -> Option<Key> {
    State::read(project).ok()?.made(&format!("extract {feature}"))
}

/// The backtests that a project has, in the order of the configuration.
pub fn outcomes(config: &Config, project: &Project) -> Result<Vec<Outcome>> {
    config.factor.iter().map(|f| disk::read_json(&project.backtest(&f.name))).collect()
}

/// One run through the stages. The keys are those of the stages that it has passed.
struct Run<'a> {
    config: &'a Config,
    base: &'a Path,
    ctx: &'a Ctx,
    project: Project,
    state: State,
    reports: Vec<Report>,
    /// Documents of the corpus; known once it is cleaned.
    documents: Option<u64>,
    corpus: Key,
    /// What the sentences of the corpus depend on; `None` while nothing needs them.
    structure: Option<Key>,
    prices: Key,
    market: Option<Market>,
    /// Feature sets by name of the feature.
    sets: BTreeMap<String, Key>,
    /// Keys of the factors, in the order of the configuration.
    factors: Vec<Key>,
    /// Keys of their backtests, event studies and verdicts.
    judged: Vec<Key>,
}

impl<'a> Run<'a> {
    /// A run that has passed no stage and touched no file.
    fn new(config: &'a Config, base: &'a Path, ctx: &'a Ctx) -> Result<Run<'a>> {
        let project = project(config, base);
        Ok(Run {
            config,
            base,
            ctx,
            state: State::read(&project)?,
            project,
            reports: Vec::new(),
            documents: None,
            corpus: Key::default(),
            structure: None,
            prices: Key::default(),
            market: None,
            sets: BTreeMap::new(),
            factors: Vec::new(),
            judged: Vec::new(),
        })
    }

    /// The files of the stage of this name.
    fn output(&self, stage: &str) -> Output {
        Output::of(stage, self.config, self.base, &self.project)
    }

    fn step(&mut self, step: Step<'_>, work: impl FnOnce() -> Result<(Report, Option<Key>)>) -> Result<()> {
        let report = self.state.run(step, self.ctx, work)?;
        self.reports.push(report);
        Ok(())
    }

    /// Always runs: it finds out itself what is new.
    fn ingest(&mut self) -> Result<()> {
        let Run { config, base, ctx, project, state, .. } = self;
        let work = || {
            let mut report = ingest::run(&config.source, &config.ingest, base, project, ctx)?;
            report.name_damage(state.damage.iter().map(|damage| damage.within(project.dir())));
            Ok(report)
        };
        let report = ctx.stage("ingest", "rows", None, work)?;
        self.pass_ingest()?;
        // A run that was killed behind ingest, or whose state is lost, has read but not noted it.
        if self.state.key_of("ingest") != Some((self.corpus, None)) {
            self.state.note_first("ingest", self.corpus, &Report { unchanged: false, ..report.clone() })?;
        }
        self.reports.push(report);
        Ok(())
    }

    /// Takes up what ingest has left.
    fn pass_ingest(&mut self) -> Result<()> {
        self.corpus = disk::hash_file(&self.project.ingest_log())?;
        self.prices = hash_if_there(&self.project.prices())?;
        Ok(())
    }

    fn clean(&mut self) -> Result<()> {
        let (config, ctx, project) = (self.config, self.ctx, self.project.clone());
        let (documents, clean) = (project.documents(), project.clean());
        let count = documents.files()?.len();
        ensure!(
            count > 0,
            "no document was read: the files of [[source]] hold none, or no [[source]] has table = \"documents\"; rows set \
             aside are in {}",
            project.rejects().display()
        );
        self.corpus = self.clean_key();
        let output = self.output("clean");
        let step = Step { name: "clean", key: self.corpus, stands: true, output, unit: "docs", total: None };
        self.step(step, || Ok((clean::run(&documents, &clean, &config.clean, ctx)?, None)))?;
        self.documents = self.reports.last().map(|r| r.rows_out);
        Ok(())
    }

    fn link(&mut self) -> Result<()> {
        let (config, ctx, project) = (self.config, self.ctx, self.project.clone());
        let (clean, links) = (project.clean(), project.links());
        self.corpus = self.link_key()?;
        let (output, total) = (self.output("link"), self.documents);
        let step = Step { name: "link", key: self.corpus, stands: true, output, unit: "docs", total };
        self.step(step, || Ok((link::run(&clean, &linkable(&project)?, &links, &config.link, ctx)?, None)))
    }

    fn structure(&mut self) -> Result<()> {
        let needs = needs_structure(self.config);
        if needs.sentences { self.structure_of(needs) } else { Ok(()) }
    }

    /// The stage, whether features need it or not.
    fn structure_of(&mut self, needs: Needs) -> Result<()> {
        let (config, base, ctx, project) = (self.config, self.base, self.ctx, self.project.clone());
        let (clean, out) = (project.clean(), project.structure());
        let params = structure::Params { salience: needs.salience.into_iter().collect(), ..config.structure.clone() };
        let key = self.structure_key(&params)?;
        let (output, total) = (self.output("structure"), self.documents);
        let step = Step { name: "structure", key, stands: true, output, unit: "docs", total };
        self.step(step, || Ok((structure::run(&clean, &out, &params, &config.tokenizer, base, ctx)?, None)))?;
        self.structure = Some(key);
        Ok(())
    }

    fn extract(&mut self) -> Result<()> {
        if self.project.prices().exists() {
            self.market = Some(market(&self.project, &securities(&self.project)?)?);
        }
        let store = Store::open(&self.project.store())?;
        for feature in &self.config.feature {
            let set = self.extract_one(feature, &store)?;
            self.sets.insert(feature.name.clone(), set);
        }
        Ok(())
    }

    fn extract_one(&mut self, feature: &Feature, store: &Store) -> Result<Key> {
        let config = self.config;
        let key = self.extract_key(feature)?;
        let name = format!("extract {}", feature.name);
        let before = self.state.made(&name);
        let stands = match before {
            Some(set) => store.set(&set)?.is_some(),
            None => false,
        };
        let (clean, links, sentences) = (self.project.clean(), self.project.links(), self.project.structure());
        let market = self.market.take();
        let inputs = extract::Inputs {
            clean: &clean,
            links: &links,
            sentences: &sentences,
            corpus: self.corpus,
            market: market.as_ref(),
            prices: self.prices,
            cutoff: config.market.cutoff,
            tokenizer: &config.tokenizer,
            onnx: &config.onnx,
            base: self.base,
            shared: None,
        };
        let ctx = self.ctx;
        let output = self.output(&name);
        let step = Step { name: &name, key, stands, output, unit: "docs", total: self.documents };
        self.step(step, || {
            let (set, report) = extract::run(feature, &inputs, store, ctx)?;
            Ok((report, Some(set)))
        })?;
        self.market = market;
        let made = self.state.made(&name).context("a finished feature has a set")?;
        if let Some(replaced) = before.filter(|set| *set != made && !self.sets.values().any(|used| used == set)) {
            store.remove(&replaced)?;
        }
        Ok(made)
    }

    /// Key of the cleaned corpus, of that of ingest.
    fn clean_key(&self) -> Key {
        Key::of_json(&(VERSION, "clean", &self.config.clean, self.corpus))
    }

    /// Key of the linked corpus, of that of the cleaned one.
    fn link_key(&self) -> Result<Key> {
        let names = hash_if_there(&self.project.securities())?;
        Ok(Key::of_json(&(VERSION, "link", &self.config.link, self.corpus, names, self.prices)))
    }

    /// Key of the sentences of the linked corpus.
    fn structure_key(&self, params: &structure::Params) -> Result<Key> {
        let (config, base) = (self.config, self.base);
        let decisions = params.decisions.as_ref().map(|file| hash_if_there(&base.join(file))).transpose()?;
        let mut tokenizer = None;
        if params.cuts_words() {
            let files = config.tokenizer.files().into_iter().map(|file| disk::hash_file(&base.join(file)));
            tokenizer = Some((&config.tokenizer, files.collect::<Result<Vec<Key>>>()?));
        }
        Ok(Key::of_json(&(VERSION, "structure", params, self.corpus, decisions, tokenizer)))
    }

    /// Key of a feature of the linked corpus.
    fn extract_key(&self, feature: &Feature) -> Result<Key> {
        let learns = feature.learns().then_some((self.prices, &self.config.market));
        Ok(Key::of_json(&(
            VERSION,
            "extract",
            feature,
            &self.config.tokenizer,
            self.corpus,
            feature.needs().sentences.then_some(self.structure),
            learns,
            self.files_named_in(feature)?,
            self.ctx.seed(),
        )))
    }

    /// Content hashes of the dictionaries, word lists and word vectors that a feature reads beside the corpus.
    fn files_named_in(&self, feature: &Feature) -> Result<Vec<Key>> {
        let vectors = (feature.model == Model::Vectors).then_some(feature.vectors.file.as_path());
        let files = self.config.tokenizer.files().into_iter().chain(feature.lexicon.files()).chain(vectors);
        let mut keys = files.map(|file| disk::hash_file(&self.base.join(file))).collect::<Result<Vec<Key>>>()?;
        if feature.model == Model::Onnx {
            keys.push(feature.onnx.files_key(self.base)?);
        }
        Ok(keys)
    }
}

fn securities(project: &Project) -> Result<Vec<Security>> {
    if !project.securities().exists() {
        return Ok(Vec::new());
    }
    securities_from_frame(&frames::read_parquet(&project.securities(), None)?)
}

/// The market of a project's own table of prices.
fn market(project: &Project, securities: &[Security]) -> Result<Market> {
    let path = project.prices();
    let frame = frames::read_parquet(&path, None)?;
    Market::from_frame(&frame, securities).with_context(|| format!("the price table {}", path.display()))
}

/// The securities that texts are linked to; without a table of them, the codes of the price table, which have no names.
fn linkable(project: &Project) -> Result<Vec<Security>> {
    let table = securities(project)?;
    if !table.is_empty() || !project.prices().exists() {
        return Ok(table);
    }
    let prices = frames::read_parquet(&project.prices(), Some(&["code"]))?;
    let codes: BTreeSet<&str> = prices.column("code")?.str()?.iter().flatten().collect();
    Ok(codes.into_iter().map(|code| Security::unnamed(Code::canonical(code))).collect())
}

/// The content hash of a file; the zero key where there is none.
fn hash_if_there(path: &Path) -> Result<Key> {
    if path.exists() { disk::hash_file(path) } else { Ok(Key::default()) }
}
