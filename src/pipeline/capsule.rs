//! Run capsules: the manifest of an export is enough to run it again, and to find the first stage at which two runs differ.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde::Serialize;
use serde_json::Value;

use super::stage::StageId;
use super::state::State;
use super::{Stage, run};
use crate::config::Config;
use inkstone_base::data::{Key, Report};
use inkstone_base::disk;
use inkstone_base::job::Ctx;
use inkstone_base::language::Word;
use inkstone_base::{bail, ensure, message};
use inkstone_lab::export::{Difference, Manifest, StageNote, difference};
use inkstone_store::Reader;
use inkstone_tables::project::Project;

/// A run that was repeated.
#[derive(Clone, Debug, Serialize)]
pub struct Replayed {
    /// Files of the export.
    pub files: usize,
    /// Files with the same bytes.
    pub same: usize,
    /// The differences between the two runs.
    pub difference: Difference,
    /// Files beside the manifest that were changed since; empty when only the manifest was kept.
    pub altered: Vec<String>,
    /// The library of native code that the manifest names, which was not loaded: a manifest may come from anywhere.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub library_ignored: Option<String>,
}

/// The configuration as a manifest keeps it: all that shapes a result. Folders, threads, screens, experiments and the place
/// of a library are left out.
pub(super) fn parameters(config: &Config) -> Result<Value> {
    let mut value = serde_json::to_value(config)?;
    let sections = value.as_object_mut().context(Word("配置应为表", "a configuration is a table"))?;
    for section in ["experiment", "export", "ui"] {
        sections.remove(section);
    }
    if let Some(onnx) = sections.get_mut("onnx").and_then(Value::as_object_mut) {
        onnx.insert("library".into(), Value::Null);
    }
    if let Some(project) = sections.get_mut("project").and_then(Value::as_object_mut) {
        project.retain(|key, _| ["name", "note"].contains(&key.as_str()));
    }
    Ok(value)
}

/// The stages up to the backtests, with the keys of what each depended on and made.
pub(super) fn stages(config: &Config, project: &Project, state: &State) -> Result<Vec<StageNote>> {
    let features = || config.feature.iter().map(|feature| feature.name.clone());
    let factors = || config.factor.iter().map(|factor| factor.name.clone());
    let ids = [StageId::Ingest, StageId::Clean, StageId::Link, StageId::Structure]
        .into_iter()
        .chain(config.rewrite.iter().map(|rewrite| StageId::Rewrite(rewrite.name.clone())))
        .chain(features().map(StageId::Extract))
        .chain(factors().map(StageId::Factor))
        .chain(factors().map(StageId::Backtest));
    let store = Reader::open(&project.store())?;
    let mut notes = Vec::new();
    for id in ids {
        let Some((key, made)) = state.key_of(&id) else { continue };
        let output = match &id {
            StageId::Ingest => {
                let dated = [project.relations(), project.company_events()].into_iter().filter(|path| path.exists());
                let tables = [project.prices(), project.securities()].into_iter().chain(dated);
                hash_of_files(project.documents().files()?.into_iter().chain(tables).collect())?
            }
            StageId::Clean => hash_of_files(project.clean().files()?)?,
            StageId::Link => hash_of_files(project.links().files()?)?,
            StageId::Structure => hash_of_files(project.structure().files()?)?,
            StageId::Rewrite(name) => hash_of_files(project.rewritten(name).files()?)?,
            StageId::Extract(_) => {
                let set = made.context(Word("完成的特征应有特征集", "a finished feature has a set"))?;
                let set = store
                    .set(&set)?
                    .context(Word("完成的特征集应在特征库中", "a finished feature's set is in the store"))?;
                Key::of_json(&set.header().batches.iter().map(|batch| batch.record.digest).collect::<Vec<_>>())
            }
            StageId::Factor(name) => hash_of_files(vec![project.factor(name)])?,
            StageId::Backtest(name) => hash_of_files(vec![project.backtest(name)])?,
            StageId::Events(_) | StageId::Lint(_) | StageId::Export | StageId::Report(_) => continue,
        };
        notes.push(StageNote { stage: id.to_string(), key, output });
    }
    Ok(notes)
}

/// Hash of files in their order; a file that is not there counts as empty.
fn hash_of_files(files: Vec<PathBuf>) -> Result<Key> {
    let hash = |file: &PathBuf| super::hash_if_there(file);
    Ok(Key::of_json(&files.iter().map(hash).collect::<Result<Vec<Key>>>()?))
}

/// Repeats the run of a manifest and compares every file of the export. `base` is the folder that its sources' paths are
/// relative to; everything is written below `dir`, which must be empty. The context has the seed of the run that is repeated.
pub fn replay(manifest: &Path, base: &Path, dir: &Path, ctx: &Ctx) -> Result<(Replayed, Vec<Report>)> {
    let mut kept = Manifest::read(manifest)?;
    let library_ignored = take_library(&mut kept);
    if kept.provenance.stages.is_empty() {
        bail!(
            "{} 是对给定表格回测的清单，不是项目运行的清单，不能重放：请用 inkstone backtest --factor --prices --out 重复检验，再用 inkstone diff 比较两份清单",
            "{} is the manifest of a backtest of given tables, not of a run of a project, and cannot be replayed: repeat the test with inkstone backtest --factor --prices --out, and compare the two manifests with inkstone diff",
            manifest.display()
        );
    }
    disk::make_dir(dir)?;
    ensure!(
        std::fs::read_dir(dir)
            .with_context(|| message!("无法查看 {}", "cannot look into {}", dir.display()))?
            .next()
            .is_none(),
        "{} 不是空的：请指定空文件夹，或不存在的文件夹",
        "{} is not empty: name an empty folder, or one that does not exist",
        dir.display()
    );
    let mut config: Config = serde_json::from_value(kept.provenance.parameters.clone()).with_context(|| {
        message!("本版本无法读取 {} 中的参数", "this version cannot read the parameters in {}", manifest.display())
    })?;
    // Its names become files below the folder, and a manifest may come from anywhere.
    config
        .check()
        .with_context(|| message!("{} 中的参数无效", "the parameters in {} are not valid", manifest.display()))?;
    let dir =
        std::path::absolute(dir).with_context(|| message!("{} 不是文件夹", "{} is not a folder", dir.display()))?;
    config.export = kept.export.clone();
    config.project.seed = kept.provenance.seed;
    config.project.dir = dir.join("project");
    config.project.exports = dir.join("exports");
    let reports = run(&config, base, Stage::Export, ctx)?;
    let again = Manifest::read(&config.project.exports.join("manifest.json"))?;
    let difference = difference(&kept, &again);
    let same = kept.files.len() - difference.changed.len() - difference.missing.len();
    let altered = altered(&kept, manifest)?;
    Ok((Replayed { files: kept.files.len(), same, altered, difference, library_ignored }, reports))
}

/// Takes the library of native code out of the parameters of a manifest, where an older version kept it there.
fn take_library(manifest: &mut Manifest) -> Option<String> {
    let library = manifest.provenance.parameters.get_mut("onnx")?.get_mut("library")?.take();
    library.as_str().map(str::to_owned)
}

/// Compares two exports by their manifests. The library of native code that one may name is left out of it, and none is loaded.
pub fn diff(a: &Path, b: &Path) -> Result<Difference> {
    let [a, b] = [a, b].map(|path| {
        let mut manifest = Manifest::read(path)?;
        take_library(&mut manifest);
        anyhow::Ok(manifest)
    });
    Ok(difference(&a?, &b?))
}

/// Files beside a manifest whose bytes are not those that it was written for.
fn altered(manifest: &Manifest, path: &Path) -> Result<Vec<String>> {
    let folder = path.parent().unwrap_or(Path::new(""));
    let mut altered = Vec::new();
    for file in &manifest.files {
        let path = folder.join(&file.path);
        if path.exists() && disk::hash_file_in_full(&path)? != file.blake3 {
            altered.push(file.path.clone());
        }
    }
    Ok(altered)
}
