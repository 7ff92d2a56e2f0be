//! The files that a stage made: noted with their keys when it ended, and compared with these before it is skipped.

use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::stage::StageId;
use crate::config::Config;
use inkstone_base::data::Key;
use inkstone_base::disk::{self, Damage, Flaw};
use inkstone_base::job::Ctx;
use inkstone_base::message;
use inkstone_lab::export::{FileEntry, Manifest};
use inkstone_tables::corpus::Parts;
use inkstone_tables::project::Project;

/// The files that a stage makes.
pub(super) struct Output {
    /// Folder that their names are relative to.
    root: PathBuf,
    files: OutputFiles,
}

enum OutputFiles {
    /// None: rows in the feature store.
    None,
    /// Files of these names.
    Named(Vec<String>),
    /// The parts of tables, no more and no fewer, and files beside them.
    Parts(Vec<Parts>, Vec<PathBuf>),
    /// The page of a factor, and its charts.
    Page,
    /// The files that the manifest in the root lists.
    Export,
}

/// A file as it was when its stage ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct MadeFile {
    /// Path below the root, with `/`.
    file: String,
    /// By [`disk::key_of`].
    key: Key,
}

impl Output {
    pub(super) fn new(id: &StageId, config: &Config, base: &Path, project: &Project) -> Output {
        let named = |path: PathBuf| shown(&path, project.dir());
        let files = match id {
            StageId::Ingest | StageId::Extract(_) => OutputFiles::None,
            StageId::Clean => OutputFiles::Parts(vec![project.clean()], Vec::new()),
            StageId::Link => {
                let learns = config.link.learn_names.learns(project.securities().exists());
                OutputFiles::Parts(vec![project.links()], learns.then(|| project.names()).into_iter().collect())
            }
            StageId::Structure => OutputFiles::Parts(vec![project.structure()], vec![project.boilerplate()]),
            StageId::Rewrite(name) => {
                OutputFiles::Parts(vec![project.rewritten(name), project.rewritten_links(name)], Vec::new())
            }
            StageId::Factor(name) => {
                OutputFiles::Named(vec![named(project.signals(name)), named(project.factor(name))])
            }
            StageId::Backtest(name) => {
                let files = [project.backtest(name), project.backtest_names(name), project.backtest_axes(name)];
                OutputFiles::Named(files.map(named).into())
            }
            StageId::Events(name) => OutputFiles::Named(vec![named(project.events(name))]),
            StageId::Lint(name) => OutputFiles::Named(vec![named(project.lint(name))]),
            StageId::Export => return Output { root: base.join(&config.project.exports), files: OutputFiles::Export },
            StageId::Report(name) => {
                return Output { root: base.join(&config.report.dir).join(name), files: OutputFiles::Page };
            }
        };
        Output { root: project.dir().to_owned(), files }
    }

    pub(super) fn root(&self) -> &Path {
        &self.root
    }

    /// Removes the files of these names that are there.
    pub(super) fn remove(&self) -> Result<()> {
        match &self.files {
            OutputFiles::Named(names) => names.iter().try_for_each(|name| disk::remove_if_there(&self.root.join(name))),
            _ => Ok(()),
        }
    }

    /// The files that the stage has made, with their keys.
    pub(super) fn note(&self) -> Result<Vec<MadeFile>> {
        let files = match &self.files {
            OutputFiles::None => Vec::new(),
            OutputFiles::Named(names) => names.iter().map(|name| self.root.join(name)).collect(),
            OutputFiles::Parts(tables, beside) => {
                let parts = tables.iter().map(Parts::files).collect::<Result<Vec<_>>>()?;
                [parts.concat(), beside.clone()].concat()
            }
            OutputFiles::Page => pages_in(&self.root)?,
            OutputFiles::Export => vec![manifest(&self.root)],
        };
        let made = |path: &PathBuf| Ok(MadeFile { file: shown(path, &self.root), key: disk::key_of(path)? });
        files.iter().map(made).collect()
    }

    /// The files that are no longer as they were noted. Every byte is read.
    pub(super) fn damage(&self, made: &[MadeFile], ctx: &Ctx) -> Result<Vec<Damage>> {
        let check_file = |made: &MadeFile| {
            ctx.check()?;
            disk::damage_of(&self.root.join(&made.file), Some(made.key))
        };
        let found: Vec<Option<Damage>> = ctx.install(|| made.par_iter().map(check_file).collect::<Result<_>>())?;
        let mut damaged: Vec<Damage> = found.into_iter().flatten().collect();
        match &self.files {
            OutputFiles::Parts(tables, _) => {
                let known: BTreeSet<PathBuf> = made.iter().map(|made| self.root.join(&made.file)).collect();
                for parts in tables {
                    let surplus = parts.files()?.into_iter().filter(|path| !known.contains(path));
                    damaged.extend(surplus.map(|path| Damage { path, flaw: Flaw::Surplus }));
                }
            }
            OutputFiles::Export if damaged.is_empty() => damaged = self.damage_of_export(ctx)?,
            _ => {}
        }
        Ok(damaged)
    }

    fn damage_of_export(&self, ctx: &Ctx) -> Result<Vec<Damage>> {
        let manifest = Manifest::read(&manifest(&self.root))?;
        let check_file = |file: &FileEntry| -> Result<Option<Damage>> {
            ctx.check()?;
            let path = self.root.join(&file.path);
            let flaw = match path.metadata() {
                Err(error) if error.kind() == ErrorKind::NotFound => Some(Flaw::Missing),
                about => {
                    let bytes = about.with_context(|| message!("无法读取 {}", "cannot read {}", path.display()))?.len();
                    match bytes < file.bytes {
                        true => Some(Flaw::CutShort),
                        false => (disk::hash_file_in_full(&path)? != file.blake3).then_some(Flaw::Altered),
                    }
                }
            };
            Ok(flaw.map(|flaw| Damage { path, flaw }))
        };
        let found: Vec<Option<Damage>> =
            ctx.install(|| manifest.files.par_iter().map(check_file).collect::<Result<_>>())?;
        Ok(found.into_iter().flatten().collect())
    }
}

fn manifest(exports: &Path) -> PathBuf {
    exports.join("manifest.json")
}

/// The page and the charts in a folder, sorted. Other files there are the user's.
fn pages_in(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut files = vec![folder.join("index.html")];
    for extension in ["svg", "png"] {
        files.extend(disk::files_in(folder, extension)?.into_iter().filter(|file| is_chart(file)));
    }
    files.sort();
    Ok(files)
}

/// True if a file is named as charts are: `ic.zh.svg`.
fn is_chart(file: &Path) -> bool {
    let language = file.file_stem().and_then(|stem| Path::new(stem).extension());
    language.is_some_and(|language| language == "zh" || language == "en")
}

/// A path below a root, with `/` on every system.
fn shown(path: &Path, root: &Path) -> String {
    let names = path.strip_prefix(root).unwrap_or(path).components();
    names.map(|name| name.as_os_str().to_string_lossy()).collect::<Vec<_>>().join("/")
}
