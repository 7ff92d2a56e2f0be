//! Joins the stages: files to documents, features, factors, tests and exports.
//!
//! Each stage has a key: its parameters, the version of its code, and the keys of what it reads. A stage is skipped while
//! its key stands and the files that it made are whole, byte by byte (`state`, `output`); `integrity` checks all of a project.

mod capsule;
mod clocks;
mod course;
#[cfg(test)]
mod demo_structure;
mod document_table;
mod drift;
mod events;
mod experiment;
mod experiment_findings;
mod factor_builder;
mod factors;
mod feature_status;
mod forecast;
mod integrity;
mod keys;
mod lint_evidence;
mod market;
#[cfg(test)]
mod masked_inputs;
mod notify;
mod output;
mod over_gaps;
mod plan;
mod results;
mod search;
mod stage;
mod state;
mod stock;
mod texts;
mod trace;
mod vault;
mod version;

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::Path;

use anyhow::{Context, Error, Result};

use crate::config::Config;
pub use capsule::{Replayed, diff, replay};
use clocks::known_at_ingestion;
pub use course::expected_of_rows;
pub use document_table::write_document_table;
pub use drift::{Drifted, drift};
pub use events::{EventQuery, ListedEvent, ListedEvents, ListedKind, list_events};
pub use experiment::{
    ExperimentDocument, expected_experiments, experiment_differences, experiment_document, experiments, grids,
    planned_cells, score_of,
};
pub use experiment_findings::findings;
pub use factors::history_files;
pub use feature_status::{FeatureStatus, feature_statuses};
pub use forecast::{Basis, DueReason, Forecast, forecast};
use inkstone_base::data::{Key, Report, TooLittle};
use inkstone_base::disk;
use inkstone_base::disk::{Damage, Room};
use inkstone_base::job::{Cancelled, Ctx};
use inkstone_base::language::{Message, Word};
use inkstone_base::{bail, ensure, message};
use inkstone_corpus::link::{Linked, Taught};
use inkstone_corpus::{clean, ingest, link, structure};
use inkstone_features::extract::{self, Feature, FeatureSets, Inputs, Model, RewrittenCorpus, in_order_of_inputs};
use inkstone_features::models::file;
use inkstone_features::plan::Plan;
use inkstone_lab::backtest::Outcome;
use inkstone_lab::factor;
use inkstone_market::LazyMarket;
use inkstone_onnx::LibraryRefused;
use inkstone_store::{Set, Store};
use inkstone_tables::frames;
use inkstone_tables::project::Project;
pub use integrity::{check, repair};
pub use market::market_of;
use market::{linkable, market_with, securities};
pub use notify::{NOTIFY, notify};
use output::Output;
pub use plan::{PlanRequest, plan, watch};
pub use results::{FactorResult, factor_result, factor_results, study, write_report};
pub use search::{KeptIndex, Searched, search};
pub use stage::{Stage, StageId, derived_from};
use state::{PlannedStage, State};
pub use stock::StockReader;
use texts::{CorpusParts, needs_structure, structure_params};
pub use trace::Tracer;
pub use vault::{open_vault, vault_openings};

/// The rule for the known-at time of a factor value, in words; a part of every manifest.
const KNOWN_AT: &str = "the latest publication among the documents that entered the value, and the last data of any model \
                        that was fitted; a value is used only if it was known strictly before its return begins";

/// Runs the stages up to and including `last` and returns their reports in order. A feature or a factor that fails is left out with its
/// reason ([`left_out`]), and so is what reads it; the others go on. Fails if no factor is left.
///
/// Paths in the configuration are relative to `base`.
pub fn run(config: &Config, base: &Path, last: Stage, ctx: &Ctx) -> Result<Vec<Report>> {
    run_around(config, base, last, ctx, || Ok(Vec::new()))
}

/// Runs the stages as [`run`] does, and `between` once factors are tested, before tables and pages are written: what it notes in the ledger
/// is then in them.
pub fn run_around(
    config: &Config,
    base: &Path,
    last: Stage,
    ctx: &Ctx,
    between: impl FnOnce() -> Result<Vec<Report>>,
) -> Result<Vec<Report>> {
    ensure!(
        !config.source.is_empty(),
        "没有 [[source]]：请在配置中写出要读取的文件",
        "there is no [[source]]: name the files to read in the configuration"
    );
    check_folders(config, base, last)?;
    course::expect_stages(config, base, last, ctx);
    let mut run = PipelineRun::new(config, base, ctx)?;
    run.run_stages(Stage::Ingest, last.min(Stage::Lint))?;
    let further = between()?;
    if !further.is_empty() {
        run.reports.extend(further);
        run.state = State::read(&run.project)?;
    }
    run.run_stages(Stage::Export, last)?;
    Ok(run.reports)
}

/// Fails if a folder that the stages up to `last` write belongs to somebody else: now, and not after hours of work.
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

/// The project of a configuration.
pub fn project(config: &Config, base: &Path) -> Project {
    Project::new(base.join(&config.project.dir))
}

/// The reports of a project's stages when they last ran; none if the state cannot be read.
pub fn last_reports(project: &Project) -> Vec<Report> {
    State::read(project).map(State::reports).unwrap_or_default()
}

/// The feature sets that a project's finished stages and experiments refer to. Fails if that is not known, since all others may be
/// removed.
pub fn feature_sets(config: &Config, project: &Project) -> Result<BTreeSet<Key>> {
    let cells = findings(config, project)?.into_iter().flat_map(|findings| findings.cells);
    let state = State::read(project)?;
    if let Some(damage) = &state.damage {
        bail!(damage.clone());
    }
    Ok(state.all_made().into_iter().chain(cells.filter_map(|cell| cell.set)).collect())
}

/// The set that the last run made of a feature; none if it has not run.
pub fn feature_set(project: &Project, feature: &str) -> Option<Key> {
    State::read(project).ok()?.made(&StageId::Extract(feature.to_owned()))
}

/// The backtests that a project has, in the order of the configuration.
pub fn outcomes(config: &Config, project: &Project) -> Result<Vec<Outcome>> {
    config.factor.iter().map(|f| disk::read_json(&project.backtest(&f.name))).collect()
}

/// One run through the stages. The keys are those of the stages that it has passed.
struct PipelineRun<'a> {
    config: &'a Config,
    base: &'a Path,
    ctx: &'a Ctx,
    project: Project,
    state: State,
    reports: Vec<Report>,
    /// Documents of the corpus; known once it is cleaned.
    documents: Option<u64>,
    corpus: Key,
    /// Key of the structure stage; `None` if nothing needs it.
    structure: Option<Key>,
    /// The texts of the rewrites that were not left out, by name.
    rewritten: BTreeMap<String, RewrittenCorpus>,
    prices: Key,
    /// Key of the codes that have prices.
    price_codes: Key,
    relations: Key,
    company_events: Key,
    market: Option<LazyMarket>,
    /// Feature sets by name of the feature.
    sets: BTreeMap<String, Key>,
    /// The factors that were not left out, in the order of the configuration, with their keys.
    factors: Vec<(&'a factor::Params, Key)>,
    /// Keys of their backtests, event studies and verdicts.
    results: Vec<Key>,
    /// The reason for which the first feature or factor was left out.
    first_reason: Option<Error>,
}

impl<'a> PipelineRun<'a> {
    /// A run that has passed no stage and touched no file.
    fn new(config: &'a Config, base: &'a Path, ctx: &'a Ctx) -> Result<PipelineRun<'a>> {
        let project = project(config, base);
        Ok(PipelineRun {
            config,
            base,
            ctx,
            state: State::read(&project)?,
            project,
            reports: Vec::new(),
            documents: None,
            corpus: Key::default(),
            structure: None,
            rewritten: BTreeMap::new(),
            prices: Key::default(),
            price_codes: Key::default(),
            relations: Key::default(),
            company_events: Key::default(),
            market: None,
            sets: BTreeMap::new(),
            factors: Vec::new(),
            results: Vec::new(),
            first_reason: None,
        })
    }

    /// Runs the stages up to and including `last`.
    fn run_until(&mut self, last: Stage) -> Result<()> {
        self.run_stages(Stage::Ingest, last)
    }

    /// Runs the stages from `first` to `last`, both included; those before `first` have run.
    fn run_stages(&mut self, first: Stage, last: Stage) -> Result<()> {
        type Work<'r> = fn(&mut PipelineRun<'r>) -> Result<()>;
        let corpus_stages: [(Stage, Work<'a>); 6] = [
            (Stage::Ingest, PipelineRun::ingest),
            (Stage::Clean, PipelineRun::clean),
            (Stage::Link, PipelineRun::link),
            (Stage::Structure, PipelineRun::structure_if_needed),
            (Stage::Rewrite, PipelineRun::rewrite_all),
            (Stage::Extract, PipelineRun::extract),
        ];
        let factor_stages: [(Stage, Work<'a>); 6] = [
            (Stage::Factor, PipelineRun::factors),
            (Stage::Backtest, PipelineRun::backtests),
            (Stage::Backtest, PipelineRun::events),
            (Stage::Lint, PipelineRun::lint),
            (Stage::Export, PipelineRun::export),
            (Stage::Report, PipelineRun::report),
        ];
        // A project without factors is a corpus with features.
        let factor_stages = if self.config.factor.is_empty() { &[][..] } else { &factor_stages };
        let stages = corpus_stages.iter().chain(factor_stages);
        stages.filter(|(stage, _)| (first..=last).contains(stage)).try_for_each(|(_, work)| work(self))
    }

    /// Trading days of the price table, as ingest counted them.
    fn trading_days(&self) -> Option<u64> {
        self.state.report(&StageId::Ingest)?.facts.get("calendar")?.get("dates")?.as_u64()
    }

    /// A stage whose rows are all there, and whose number of units is unknown.
    fn plan(&self, id: StageId, key: Key, unit: &'static str) -> PlannedStage {
        let output = Output::new(&id, self.config, self.base, &self.project);
        PlannedStage { id, key, rows_are_there: true, output, unit, total: None }
    }

    /// Always runs: it finds out itself what is new.
    fn ingest(&mut self) -> Result<()> {
        let PipelineRun { config, base, ctx, project, state, .. } = self;
        let work = || {
            let mut report = ingest::run(&config.source, &config.ingest_params(), base, project, ctx)?;
            report.name_damage(state.damage.iter().map(|damage| damage.within(project.dir())));
            Ok(report)
        };
        let report = ctx.stage(&StageId::Ingest.to_string(), "rows", None, work)?;
        self.read_ingest_keys()?;
        // A run that was killed behind ingest, or whose state is lost, has read but not noted it.
        let log = ingest::corpus_key(&self.project)?;
        if self.state.key_of(&StageId::Ingest) != Some((log, None)) {
            self.state.note_ingest(log, &report)?;
        }
        self.reports.push(report);
        Ok(())
    }

    /// Sets the keys of the corpus and the prices to those of what ingest wrote.
    fn read_ingest_keys(&mut self) -> Result<()> {
        let keys = ingest::table_keys(&self.project)?;
        (self.corpus, self.price_codes) = (keys.documents, keys.price_codes);
        self.prices = hash_if_there(&self.project.prices())?;
        self.relations = hash_if_there(&self.project.relations())?;
        self.company_events = hash_if_there(&self.project.company_events())?;
        Ok(())
    }

    fn clean(&mut self) -> Result<()> {
        let (documents, clean) = (self.project.documents(), self.project.clean());
        ensure!(
            !documents.files()?.is_empty(),
            "没有读到文档：[[source]] 的文件中没有文档，或没有 table = \"documents\" 的 [[source]]；拒收的行见 {}",
            "no document was read: the files of [[source]] hold none, or no [[source]] has table = \"documents\"; rows set aside are in {}",
            self.project.rejects().display()
        );
        self.corpus = self.clean_key();
        let rows = documents.files()?.iter().map(|part| frames::rows_of_parquet(part)).sum::<Result<usize>>()?;
        let stage = PlannedStage { total: Some(rows as u64), ..self.plan(StageId::Clean, self.corpus, "docs") };
        let work = || {
            let sources = known_at_ingestion(self.config);
            let mut report = clean::run(&documents, &clean, &self.config.clean, &sources, self.ctx)?;
            let gaps = ingest::gaps(&self.project)?;
            if !gaps.is_empty() {
                let behind = over_gaps::first_mentions_behind(&gaps, &clean, self.config.clean.window_days)?;
                report.fact("first_mentions_behind_gaps", behind);
            }
            Ok((None, report))
        };
        let (_, report) = self.state.run(stage, self.ctx, work)?;
        self.documents = Some(report.rows_out);
        self.reports.push(report);
        Ok(())
    }

    fn link(&mut self) -> Result<()> {
        let (clean, links) = (self.project.clean(), self.project.links());
        self.corpus = self.link_key()?;
        let stage = PlannedStage { total: self.documents, ..self.plan(StageId::Link, self.corpus, "docs") };
        let work = || {
            let securities = linkable(&self.project)?;
            let learns = self.config.link.learn_names.learns(self.project.securities().exists());
            let taught = if learns { Taught::Here } else { Taught::Nothing };
            let report = link::run(&clean, &securities, taught, &links, &self.config.link, Linked::Any, self.ctx)?;
            Ok((None, report))
        };
        self.reports.push(self.state.run(stage, self.ctx, work)?.1);
        Ok(())
    }

    /// Runs the structure stage, whether features need it or not.
    fn structure(&mut self) -> Result<()> {
        let (config, clean, out) = (self.config, self.project.clean(), self.project.structure());
        let params = structure_params(config);
        let key = self.structure_key(&params)?;
        let stage = PlannedStage { total: self.documents, ..self.plan(StageId::Structure, key, "docs") };
        let work = || Ok((None, structure::run(&clean, &out, &params, &config.tokenizer, self.base, self.ctx)?));
        self.reports.push(self.state.run(stage, self.ctx, work)?.1);
        self.structure = Some(key);
        Ok(())
    }

    fn structure_if_needed(&mut self) -> Result<()> {
        if needs_structure(self.config).sentences { self.structure() } else { Ok(()) }
    }

    fn extract(&mut self) -> Result<()> {
        self.open_market();
        let store = Store::open(&self.project.store())?;
        for feature in in_order_of_inputs(&self.config.feature)? {
            let vectors = Some(feature.embeddings.feature.as_str()).filter(|name| !name.is_empty());
            let sources = feature.needed_features().map(|input| input.feature).chain(vectors);
            let text = Some(feature.text.as_str()).filter(|text| !text.is_empty());
            let without_text = text.filter(|text| !self.rewritten.contains_key(*text));
            let missing = without_text.or(sources.into_iter().find(|name| !self.sets.contains_key(*name)));
            let made = match missing {
                Some(name) => Err(reads_what_was_left_out(name)),
                None => self.extract_one(feature, &store),
            };
            match made {
                Ok(set) => drop(self.sets.insert(feature.name.clone(), set)),
                Err(error) => self.leave_out(&StageId::Extract(feature.name.clone()), reason_to_leave_out(error)?)?,
            }
        }
        if self.sets.is_empty() { self.first_reason.take().map_or(Ok(()), Err) } else { Ok(()) }
    }

    /// Goes on without a feature or a factor, and reports the reason.
    fn leave_out(&mut self, id: &StageId, reason: Error) -> Result<()> {
        self.remove_results(id)?;
        let stage = id.to_string();
        let report = Report::of_left_out(&stage, self.documents.unwrap_or_default(), Message::of_error(&reason));
        self.ctx.leave_out(&stage, "docs", report.clone());
        self.reports.push(report);
        self.first_reason.get_or_insert(reason);
        Ok(())
    }

    /// Removes what an earlier run made of a factor from the stage on that is left out now: no screen may show old figures as its own.
    fn remove_results(&mut self, left_out: &StageId) -> Result<()> {
        let later: [fn(String) -> StageId; 3] = [StageId::Backtest, StageId::Events, StageId::Lint];
        let later = |name: &String| later.map(|stage| stage(name.clone())).to_vec();
        let ids = match left_out {
            StageId::Factor(name) => [vec![left_out.clone()], later(name)].concat(),
            StageId::Backtest(name) => later(name),
            _ => Vec::new(),
        };
        self.state.forget(&ids)?;
        ids.iter().try_for_each(|id| Output::new(id, self.config, self.base, &self.project).remove())
    }

    /// The configuration with the factors that were not left out.
    fn tested(&self) -> Config {
        let mut tested = self.config.clone();
        tested.factor = self.factors.iter().map(|(params, _)| (*params).clone()).collect();
        tested
    }

    /// Computes the features of these names, each after its inputs, which must be among them. Features for which there is too little data
    /// are left out, and those that learn on them.
    fn extract_named(&mut self, names: &BTreeSet<String>, store: &Store) -> Result<()> {
        for feature in in_order_of_inputs(&self.config.feature)? {
            let has_inputs = feature.needed_features().all(|input| self.sets.contains_key(input.feature));
            if !names.contains(&feature.name) || !has_inputs {
                continue;
            }
            match self.extract_one(feature, store) {
                Ok(set) => drop(self.sets.insert(feature.name.clone(), set)),
                Err(error) if error.is::<TooLittle>() => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn extract_one(&mut self, feature: &Feature, store: &Store) -> Result<Key> {
        let config = self.config;
        self.extract_among(feature, &config.feature, &self.sets.clone(), store)
    }

    /// Computes a feature whose inputs and word vectors are those of `features`; `sets` has the rows of its inputs, by name.
    fn extract_among(
        &mut self,
        feature: &Feature,
        features: &[Feature],
        sets: &BTreeMap<String, Key>,
        store: &Store,
    ) -> Result<Key> {
        let key = self.extract_key_among(feature, features, &self.config.tokenizer)?;
        let id = StageId::Extract(feature.name.clone());
        self.state.adopt(&id, key)?;
        let before = self.state.made(&id);
        let rows_are_there = match before {
            Some(set) => store.set(&set)?.is_some(),
            None => false,
        };
        let parts = CorpusParts::new(self.config, self.base, &self.project);
        let (corpus, market, prices, rewritten) = (self.corpus, self.market.as_ref(), self.prices, &self.rewritten);
        let sets = Some(FeatureSets { store, ids: sets });
        let inputs =
            Inputs { corpus, market, prices, rewritten, sets, features, ..parts.inputs(self.config, self.base) };
        let stage = PlannedStage { rows_are_there, total: self.documents, ..self.plan(id, key, "docs") };
        let wanted = if feature.model == Model::File { self.columns_in_factors(feature) } else { Vec::new() };
        let plan = self.planned(feature, key);
        let folder = plan.as_ref().and_then(Plan::folder_of_fits);
        let work = || {
            if let Some(folder) = &folder {
                return plan::extract_with_fits(feature, &inputs, folder, store, self.ctx);
            }
            let mut taken = None;
            if let Some(plan) = &plan {
                let (finished, report) = plan.take_up(store, self.ctx)?;
                if finished.is_some() {
                    return Ok((finished, report));
                }
                taken = Some(report);
            }
            file::check_file_columns(feature, &wanted, &inputs, self.ctx)?;
            let (set, mut report) = extract::run(feature, &inputs, store, self.ctx)?;
            report.facts.extend(taken.into_iter().flat_map(|taken| taken.facts));
            Ok((Some(set), report))
        };
        let (made, report) = self.state.run(stage, self.ctx, work)?;
        if plan.is_some() {
            self.forget_plan(feature)?;
        }
        self.reports.push(report);
        let made = made.context(Word("完成的特征应有特征集", "a finished feature has a set"))?;
        if let Some(replaced) = before.filter(|set| !self.state.all_made().contains(set)) {
            store.remove(&replaced)?;
        }
        // Features with the same rows share a set, which bears the name of one of them.
        let named = |set: &Set<'_>| set.header().spec.name.clone();
        let name = store.set(&made)?.as_ref().map(named).unwrap_or_default();
        if self.config.feature.iter().all(|other| other.name != name) {
            store.rename(&made, &feature.name)?;
        }
        Ok(made)
    }

    /// The columns of a feature that factors name.
    fn columns_in_factors(&self, feature: &Feature) -> Vec<String> {
        let expressions = self.config.factor.iter().flat_map(|factor| factor.expressions());
        let named = expressions.flat_map(|expression| expression.features());
        named.filter(|(name, _)| *name == feature.name).filter_map(|(_, column)| column.map(str::to_owned)).collect()
    }

    /// Inputs of the extract stage at this point of the run.
    fn inputs<'r>(&'r self, parts: &'r CorpusParts, store: &'r Store) -> Inputs<'r> {
        let (corpus, market, prices, rewritten) = (self.corpus, self.market.as_ref(), self.prices, &self.rewritten);
        let sets = Some(FeatureSets { store, ids: &self.sets });
        Inputs { corpus, market, prices, rewritten, sets, ..parts.inputs(self.config, self.base) }
    }
}

/// The error, if a run goes on without the feature or the factor that failed with it. The run itself fails if the user stopped it, if the
/// disk or the store fails, if an earlier stage's files are damaged, or if the configuration names a library that cannot be loaded.
fn reason_to_leave_out(error: Error) -> Result<Error> {
    let fails = |cause: &(dyn std::error::Error + 'static)| {
        cause.downcast_ref::<io::Error>().is_some_and(|error| error.kind() != io::ErrorKind::NotFound)
    };
    let ends_the_run = error.is::<Cancelled>()
        || error.is::<Damage>()
        || error.is::<LibraryRefused>()
        || inkstone_store::is_fault(&error)
        || error.chain().any(fails);
    if ends_the_run { Err(error) } else { Ok(error) }
}

/// The reason to leave out a feature or a factor that reads one that was left out.
fn reads_what_was_left_out(name: &str) -> Error {
    TooLittle(message!("它读取已略过的 {name:?}", "it reads {name:?}, which was left out")).into()
}

/// The features and factors that a run left out, each with its stage and the reason.
pub fn left_out(reports: &[Report]) -> Vec<(StageId, Message)> {
    let reason = |report: &Report| Some((StageId::try_from(report.stage.clone()).ok()?, report.left_out()?));
    reports.iter().filter_map(reason).collect()
}

/// The content hash of a file; the zero key where there is none.
fn hash_if_there(path: &Path) -> Result<Key> {
    if path.exists() { disk::hash_file(path) } else { Ok(Key::default()) }
}
