//! Plans: the rows of a feature are computed by many processes, on one machine or on a cluster.
//!
//! A plan is one sealed file. A worker ([`Plan::work`]) reads it, computes the parts of its tasks and leaves their rows in a folder
//! ([`RowFolder`]), each part whole or absent; it takes no lock and opens no database. A run of the project takes up the rows that lie there and
//! computes the parts that are missing ([`Plan::take_up`]). So it does not matter which worker computes a part, how often, or whether it dies.
//!
//! The user's own scheduler starts the workers: `xargs`, Slurm, Kubernetes, Ray or Spark. A worker refuses a plan when its model, its
//! dictionary or its version differs, since it would compute another feature set. It also computes the rows of some documents again ([`Canary`]) and
//! refuses when they differ, since a library or a processor may round differently.

mod canary;
mod take_up;
mod work;

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use anyhow::{Context, Result};
use chrono::NaiveDateTime;
use serde::{Deserialize, Serialize};

pub use canary::Canary;
pub use work::{Progress, TaskProgress, Worked};

use crate::extract::Model;
use crate::extract::fits::{Fits, ListedFit, WalkFits};
use crate::extract::part_model::PartModel;
use crate::extract::set::key_of;
use crate::extract::{Feature, Inputs, RewrittenCorpus, SetMeta};
use inkstone_base::data::{Key, Report};
use inkstone_base::disk::{self, Damage, Flaw};
use inkstone_base::job::Ctx;
use inkstone_base::language::Word;
use inkstone_base::memory;
use inkstone_base::{bail, ensure, message};
use inkstone_market::{Cutoff, LazyMarket};
use inkstone_onnx::RuntimeParams;
use inkstone_store::{RowFolder, RowKind, SetSpec, Store};
use inkstone_tables::project::Project;
use inkstone_text::TokenizerParams;

/// The version of the program that makes plans and works on them.
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// All that a worker needs, beside the project's folder and the files that the feature names.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Plan {
    /// Version of the program. Another version refuses the plan.
    version: String,
    pub feature: Feature,
    tokenizer: TokenizerParams,
    /// Where contextual models run, as the project says.
    pub onnx: RuntimeParams,
    /// Seed of the project.
    pub seed: u64,
    /// Folder of relative paths, and the project's folder; both absolute.
    base: PathBuf,
    project: PathBuf,
    /// Folder of the rows that workers leave; absolute.
    pub rows: PathBuf,
    /// Key of all that the feature's rows in this project depend on.
    pub stage: Key,
    spec: SetSpec,
    meta: SetMeta,
    /// The feature whose word vectors the networks of the feature begin with.
    vectors: Option<Feature>,
    /// Time of day until which a text counts for its trading day.
    cutoff: Cutoff,
    /// The texts of rewrites that the features read in place of the documents', by the name of the rewrite.
    rewritten: BTreeMap<String, PlannedTexts>,
    /// The parts of the corpus, in its order; for a plan of fits the fits, in the order of their steps or folds.
    pub parts: Vec<PlannedPart>,
    /// The numbers of the parts of each task, those that cost most first.
    pub tasks: Vec<Vec<usize>>,
    /// Documents with their rows; none for fits, which are computed by this program alone, and so to the same bytes everywhere.
    canary: Option<Canary>,
    /// The corpus of the fits; none for a plan by parts of the corpus.
    fits: Option<PlannedFits>,
    /// True if rows may differ in their last digits, because workers have other processors or cards.
    mixed: bool,
}

/// A part of the corpus, or a fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlannedPart {
    /// Key of its batch of rows.
    pub key: Key,
    /// Key of what a part is read from, as the finished set notes it.
    pub(crate) source: Option<Key>,
    pub documents: u64,
    /// Characters that the model reads; of a fit the tokens.
    pub characters: u64,
}

/// The corpus that fits are made of.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct PlannedFits {
    /// Key of the corpus as a whole, and of its parts.
    corpus: Key,
    parts: Vec<Key>,
    /// The set of the feature's rows.
    rows: SetSpec,
}

/// The texts of a rewrite.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct PlannedTexts {
    corpus: Key,
    identity: Key,
    fitted_until: NaiveDateTime,
}

/// The runtime and the market on the machine of a worker.
#[derive(Clone, Copy)]
pub struct WorkerResources<'a> {
    /// Where contextual models run.
    pub onnx: &'a RuntimeParams,
    /// The project's market and the key of its prices; needed where [`Plan::needs_prices`].
    pub market: Option<&'a LazyMarket>,
    pub prices: Key,
}

/// How a plan is made.
pub struct PlanSettings<'a> {
    /// Tasks at most; a task is one part at least.
    pub tasks: usize,
    /// Folder of the rows that workers leave.
    pub rows: &'a Path,
    pub mixed: bool,
    /// Key of all that the feature's rows in this project depend on.
    pub stage: Key,
    pub project: &'a Project,
}

impl Plan {
    /// Plans the parts of a feature that the store and the folder of rows lack. Fails for a feature whose rows of a part depend on other parts.
    pub fn new(
        feature: &Feature,
        inputs: &Inputs<'_>,
        settings: &PlanSettings<'_>,
        store: &Store,
        ctx: &Ctx,
    ) -> Result<(Plan, Report)> {
        ensure!(settings.tasks > 0, "计划至少有一个任务", "a plan has one task at least");
        if let Some(other) = feature.condition_features().next() {
            bail!(
                "特征 {:?} 的条件（only）读取特征 {:?}，而计划不带其他特征的行：请用 `inkstone run` 计算",
                "feature {:?} reads feature {:?} in its condition (only), and a plan carries no rows of other features: compute it with `inkstone run`",
                feature.name,
                other.feature
            );
        }
        let folder = RowFolder::new(&std::path::absolute(settings.rows)?);
        if let Some(walk) = feature.model.entry().walk_fits {
            return Plan::of_fits(walk, feature, inputs, settings, &folder, ctx);
        }
        let mut model = open(feature, inputs, ctx)?;
        folder.own()?;
        let (set, limit) = (model.spec.id(), model.limit.unwrap_or(usize::MAX));
        let writer = store.writer(&model.spec)?;
        let there = folder.batches(set)?;
        let (mut parts, mut missing, mut canary) = (Vec::new(), Vec::new(), None);
        let mut report = Report::new(&feature.name);
        for number in 0..inputs.clean.files()?.len() {
            let documents = model.reader.part(number)?;
            let (key, count) = (key_of(&documents), documents.len() as u64);
            let texts = documents.iter().filter_map(|document| document.text.as_deref());
            let characters = texts.map(|text| text.chars().count().min(limit) as u64).sum();
            report.rows_in += count;
            if canary.is_none() {
                canary = Canary::new(number, &documents, &mut model)?;
            }
            // A run of a contextual model counts the windows of all texts, and so reads every part.
            let source = if feature.model == Model::Onnx { None } else { model.reader.source_of(number)? };
            parts.push(PlannedPart { key, source, documents: count, characters });
            if !there.contains(&key) && !writer.has(key)? {
                missing.push(number);
                report.rows_out += count;
            }
            ctx.advance(count)?;
        }
        report.drop_rows("whose rows are there", report.rows_in - report.rows_out);
        let canary = canary.with_context(|| {
            message!(
                "特征 {:?} 不读取任何文档：没有可计划的",
                "feature {:?} reads no document: there is nothing to plan",
                feature.name
            )
        })?;
        let mut plan = Plan::empty(feature, &model.reader.inputs, settings, &folder, ctx)?;
        plan.tasks = packed(&parts, missing, settings.tasks);
        (plan.parts, plan.canary, plan.spec, plan.meta) = (parts, Some(canary), model.spec, model.meta);
        plan.note(&mut report);
        Ok((plan, report))
    }

    /// Plans the fits of a feature that the folder lacks.
    fn of_fits(
        walk: WalkFits,
        feature: &Feature,
        inputs: &Inputs<'_>,
        settings: &PlanSettings<'_>,
        folder: &RowFolder,
        ctx: &Ctx,
    ) -> Result<(Plan, Report)> {
        let read = inputs.read_by(feature)?;
        let mut plan = Plan::empty(feature, &read, settings, folder, ctx)?;
        folder.own()?;
        let listing = Fits::List(Mutex::default());
        let mut planned = None;
        walk(feature, &Inputs { fits: &listing, ..*inputs }, ctx, &mut |parts, rows| {
            planned = Some(PlannedFits { corpus: read.corpus, parts: parts.to_vec(), rows: rows.clone() });
            Ok(())
        })?;
        let listed = listing.listed();
        let first = listed.first().with_context(|| {
            message!(
                "特征 {:?} 没有一步或一折在其之前有足够的文本：没有可计划的",
                "feature {:?} has no step or fold with enough text before it: there is nothing to plan",
                feature.name
            )
        })?;
        plan.spec = first.results.clone();
        let there = folder.batches(plan.set())?;
        let part = |fit: &ListedFit| PlannedPart {
            key: fit.key,
            source: None,
            documents: fit.documents,
            characters: fit.tokens,
        };
        plan.parts = listed.iter().map(part).collect();
        let missing = (0..plan.parts.len()).filter(|&number| !there.contains(&plan.parts[number].key));
        plan.tasks = packed(&plan.parts, missing.collect(), settings.tasks);
        plan.fits = planned;
        let mut report = Report::new(&feature.name);
        report.rows_in = plan.parts.len() as u64;
        report.rows_out = plan.tasks.iter().map(|task| task.len() as u64).sum();
        report.drop_rows("whose results are there", report.rows_in - report.rows_out);
        plan.note(&mut report);
        Ok((plan, report))
    }

    /// A plan without parts and tasks.
    fn empty(
        feature: &Feature,
        inputs: &Inputs<'_>,
        settings: &PlanSettings<'_>,
        folder: &RowFolder,
        ctx: &Ctx,
    ) -> Result<Plan> {
        let absolute =
            |path: &Path| std::path::absolute(if path.as_os_str().is_empty() { Path::new(".") } else { path });
        let vectors = feature.embeddings.feature_among(inputs.features)?.cloned();
        let texts = |read: &Feature| {
            let RewrittenCorpus { corpus, identity, fitted_until, .. } = *inputs.rewritten.get(&read.text)?;
            Some((read.text.clone(), PlannedTexts { corpus, identity, fitted_until }))
        };
        let params = serde_json::Value::Null;
        let kind = RowKind::Dense { dim: 0 };
        Ok(Plan {
            version: VERSION.to_owned(),
            feature: feature.clone(),
            tokenizer: inputs.tokenizer.clone(),
            onnx: inputs.onnx.clone(),
            seed: ctx.seed(),
            base: absolute(inputs.base)?,
            project: absolute(settings.project.dir())?,
            rows: folder.path().to_owned(),
            stage: settings.stage,
            rewritten: std::iter::once(feature).chain(&vectors).filter_map(texts).collect(),
            vectors,
            cutoff: inputs.cutoff,
            tasks: Vec::new(),
            parts: Vec::new(),
            canary: None,
            fits: None,
            mixed: settings.mixed,
            spec: SetSpec { name: feature.name.clone(), kind, params, fitted_until: None },
            meta: SetMeta::default(),
        })
    }

    /// Notes what the plan says in its report.
    fn note(&self, report: &mut Report) {
        report.fact("set", self.set());
        report.fact("tasks", self.tasks.len());
        report.fact("parts", self.parts.len());
        report.fact("missing_parts", self.tasks.iter().map(Vec::len).sum::<usize>());
        if let Some(peak) = memory::peak_mb() {
            report.fact("memory_mb", peak + self.largest_rows() / (1 << 20) + 1);
        }
        report.fact("most_characters_of_a_task", self.tasks.iter().map(|task| self.characters(task)).max());
    }

    /// Reads a plan. One that was changed by a byte, or that another version made, is refused.
    pub fn read(path: &Path) -> Result<Plan> {
        let plan: Plan = match disk::read_json(path) {
            Ok(plan) => plan,
            Err(error) => match error.downcast_ref::<Damage>().map(|damage| damage.flaw) {
                Some(Flaw::Missing) => bail!(
                    "没有计划 {}：用 `inkstone plan` 制定",
                    "there is no plan {}: `inkstone plan` makes one",
                    path.display()
                ),
                Some(flaw) => bail!(
                    "计划 {} {flaw}：请重新制定（inkstone plan）",
                    "the plan {} {flaw}: make it again (inkstone plan)",
                    path.display()
                ),
                None => {
                    return Err(error.context(Word(
                        "这不是计划：用 `inkstone plan` 制定",
                        "this is no plan: `inkstone plan` makes one",
                    )));
                }
            },
        };
        ensure!(
            plan.version == VERSION,
            "{} 由版本 {} 制定，而这是版本 {VERSION}：请在各台机器上使用同一程序，或重新制定计划（inkstone plan）",
            "{} was made by version {} and this is version {VERSION}: use the same program on all machines, or make the plan again (inkstone plan)",
            path.display(),
            plan.version
        );
        Ok(plan)
    }

    pub fn write(&self, path: &Path) -> Result<()> {
        disk::write_json(path, self)
    }

    /// The set that the rows belong to.
    pub fn set(&self) -> Key {
        self.spec.id()
    }

    /// Device that the rows were tried on: `cpu`, `cuda:N`; none for models that run on no device.
    fn device(&self) -> Option<&str> {
        self.meta.ran.as_ref()?["device"].as_str()
    }

    /// Bytes of the rows of the largest part: once as the model gives them and once packed. A character has a value of a sparse row at most.
    fn largest_rows(&self) -> u64 {
        let of_part = |part: &PlannedPart| match self.spec.kind {
            RowKind::Dense { dim } => part.documents * dim as u64 * size_of::<f32>() as u64,
            RowKind::Sparse => part.characters * (size_of::<u32>() + size_of::<f32>()) as u64,
        };
        2 * self.parts.iter().map(of_part).max().unwrap_or_default()
    }

    fn characters(&self, task: &[usize]) -> u64 {
        task.iter().map(|&part| self.parts[part].characters).sum()
    }

    /// The project whose feature is planned.
    pub fn project(&self) -> Project {
        Project::new(&self.project)
    }

    /// True if a worker needs the project's prices.
    pub fn needs_prices(&self) -> bool {
        self.feature.learns()
    }

    /// Gives `work` the inputs of the feature as the plan has them.
    fn with_inputs<T>(
        &self,
        resources: &WorkerResources<'_>,
        fits: &Fits<'_>,
        work: impl FnOnce(&Inputs<'_>) -> Result<T>,
    ) -> Result<T> {
        let project = self.project();
        let texts = |(name, texts): (&String, &PlannedTexts)| {
            let PlannedTexts { corpus, identity, fitted_until } = *texts;
            let (clean, links) = (project.rewritten(name), project.rewritten_links(name));
            (name.clone(), RewrittenCorpus { clean, links, corpus, identity, fitted_until })
        };
        let features: Vec<Feature> = std::iter::once(&self.feature).chain(&self.vectors).cloned().collect();
        work(&Inputs {
            clean: &project.clean(),
            links: &project.links(),
            sentences: &project.structure(),
            corpus: self.fits.as_ref().map(|fits| fits.corpus).unwrap_or_default(),
            market: resources.market,
            prices: resources.prices,
            cutoff: self.cutoff,
            tokenizer: &self.tokenizer,
            onnx: resources.onnx,
            base: &self.base,
            sets: None,
            rewritten: &self.rewritten.iter().map(texts).collect(),
            rewrite: None,
            features: &features,
            fits,
            shared: None,
        })
    }
}

/// The model of a feature whose parts can be computed apart.
fn open<'a>(feature: &'a Feature, inputs: &'a Inputs<'a>, ctx: &'a Ctx) -> Result<PartModel<'a>> {
    let open = feature.model.entry().part_model.with_context(|| {
        message!("特征 {:?} 从整个语料学习，不能分份计算：请交给 `inkstone run`。计划适用于词典、哈希词、模型文件、上下文模型，surprise、word2vec、glove 和 fasttext 的拟合，以及 textcnn、textrnn 和 finetune 的各折", "feature {:?} learns from the whole corpus, so its parts cannot be computed apart: leave it to `inkstone run`. Plans are for lexicons, hashed words, files of models, contextual models, the fits of surprise, word2vec, glove and fasttext, and the folds of textcnn, textrnn and finetune", feature.name)
    })?;
    open(feature, inputs, ctx)
}

/// Puts parts into tasks of about the same number of characters: each part, the longest first, goes to the task that has least.
fn packed(parts: &[PlannedPart], mut missing: Vec<usize>, tasks: usize) -> Vec<Vec<usize>> {
    missing.sort_by_key(|&part| (Reverse(parts[part].characters), part));
    let tasks = tasks.min(missing.len());
    let mut packed = vec![Vec::new(); tasks];
    let mut least: BinaryHeap<Reverse<(u64, usize)>> = (0..tasks).map(|task| Reverse((0, task))).collect();
    for part in missing {
        if let Some(mut task) = least.peek_mut() {
            packed[task.0.1].push(part);
            task.0.0 += parts[part].characters.max(1);
        }
    }
    packed
}

#[cfg(test)]
mod tests;
