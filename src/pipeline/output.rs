//! The files that a stage made. Their keys are noted when the stage ends, and compared before a later run skips it.

use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::config::Config;
use inkstone_base::data::Key;
use inkstone_base::disk::{self, Damage, Flaw};
use inkstone_base::job::Ctx;
use inkstone_lab::export::{FileEntry, Manifest};
use inkstone_tables::corpus::Parts;
use inkstone_tables::project::Project;

/// The files of a stage.
pub(super) struct Output {
    /// Folder that their names are relative to.
    root: PathBuf,
    kind: Kind,
}

enum Kind {
    /// No files: rows of the feature store, or files that ingest checks.
    None,
    /// Files, by name.
    Files(Vec<String>),
    /// The parts of a table, no more and no fewer, and files beside them.
    Parts(Parts, Vec<PathBuf>),
    /// The page of a factor, and its charts.
    Page,
    /// The files that the manifest in the root lists.
    Export,
}

/// A file as it was when its stage ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Made {
    /// Path below the root, with `/`.
    file: String,
    /// By [`disk::key_of`].
    key: Key,
}

impl Output {
    /// The files of the stage with this name.
    pub(super) fn of(stage: &str, config: &Config, base: &Path, project: &Project) -> Output {
        let (room, name) = stage.split_once(' ').unwrap_or((stage, ""));
        let file = |path: PathBuf| shown(&path, project.dir());
        let kind = match room {
            "clean" => Kind::Parts(project.clean(), Vec::new()),
            "link" => Kind::Parts(project.links(), Vec::new()),
            "structure" => Kind::Parts(project.structure(), vec![project.boilerplate()]),
            "factor" => Kind::Files(vec![file(project.signals(name)), file(project.factor(name))]),
            "backtest" => Kind::Files(vec![file(project.backtest(name))]),
            "events" => Kind::Files(vec![file(project.events(name))]),
            "lint" => Kind::Files(vec![file(project.lint(name))]),
            "export" => return Output { root: base.join(&config.project.exports), kind: Kind::Export },
            "report" => return Output { root: base.join(&config.report.dir).join(name), kind: Kind::Page },
            _ => Kind::None,
        };
        Output { root: project.dir().to_owned(), kind }
    }

    pub(super) fn root(&self) -> &Path {
        &self.root
    }

    /// The files of a stage that has ended, with their keys.
    pub(super) fn note(&self) -> Result<Vec<Made>> {
        let files = match &self.kind {
            Kind::None => Vec::new(),
            Kind::Files(names) => names.iter().map(|name| self.root.join(name)).collect(),
            Kind::Parts(parts, beside) => [parts.files()?, beside.clone()].concat(),
            Kind::Page => pages_in(&self.root)?,
            Kind::Export => vec![manifest(&self.root)],
        };
        files.iter().map(|path| Ok(Made { file: shown(path, &self.root), key: disk::key_of(path)? })).collect()
    }

    /// The files that are not as they were noted. Reads every byte.
    pub(super) fn damage(&self, made: &[Made], ctx: &Ctx) -> Result<Vec<Damage>> {
        let look = |made: &Made| {
            ctx.check()?;
            disk::damage_of(&self.root.join(&made.file), Some(made.key))
        };
        let found: Vec<Option<Damage>> = ctx.install(|| made.par_iter().map(look).collect::<Result<_>>())?;
        let mut damaged: Vec<Damage> = found.into_iter().flatten().collect();
        match &self.kind {
            Kind::Parts(parts, _) => {
                let known: BTreeSet<PathBuf> = made.iter().map(|made| self.root.join(&made.file)).collect();
                let surplus = parts.files()?.into_iter().filter(|path| !known.contains(path));
                damaged.extend(surplus.map(|path| Damage { path, flaw: Flaw::Surplus }));
            }
            Kind::Export if damaged.is_empty() => damaged = self.damage_of_export(ctx)?,
            _ => {}
        }
        Ok(damaged)
    }

    fn damage_of_export(&self, ctx: &Ctx) -> Result<Vec<Damage>> {
        let manifest = Manifest::read(&manifest(&self.root))?;
        let look = |file: &FileEntry| -> Result<Option<Damage>> {
            ctx.check()?;
            let path = self.root.join(&file.path);
            let flaw = match path.metadata() {
                Err(error) if error.kind() == ErrorKind::NotFound => Some(Flaw::Missing),
                about => {
                    let bytes = about.with_context(|| format!("cannot read {}", path.display()))?.len();
                    match bytes < file.bytes {
                        true => Some(Flaw::CutShort),
                        false => (disk::hash_file_in_full(&path)? != file.blake3).then_some(Flaw::Altered),
                    }
                }
            };
            Ok(flaw.map(|flaw| Damage { path, flaw }))
        };
        let found: Vec<Option<Damage>> = ctx.install(|| manifest.files.par_iter().map(look).collect::<Result<_>>())?;
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

/// True if a file has the name of a chart: `ic.zh.svg`.
fn is_chart(file: &Path) -> bool {
    let language = file.file_stem().and_then(|stem| Path::new(stem).extension());
    language.is_some_and(|language| language == "zh" || language == "en")
}

/// A path below a root, with `/` on every system.
fn shown(path: &Path, root: &Path) -> String {
    let names = path.strip_prefix(root).unwrap_or(path).components();
    names.map(|name| name.as_os_str().to_string_lossy()).collect::<Vec<_>>().join("/")
}
