//! Puts a finished run in place so that a kill at any moment loses nothing.
//!
//! A run prepares its files beside the project's ([`Staging`]) and then writes a plan. The plan is carried out in two steps, each
//! of which may be repeated from its beginning: first the parts that change their number are moved aside and those that go are
//! removed, then everything is renamed to its place and the log is written. A run that finds a plan finishes it first. The names of a
//! step are on the disk before the plan or the log says that the step was done.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Component, Path, PathBuf};

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

use crate::ingest::log::IngestLog;
use inkstone_base::data::Key;
use inkstone_base::disk::{self, Damage, Flaw};
use inkstone_base::{bail, ensure, message};
use inkstone_tables::project::Project;

/// The folder in which a run prepares its files.
#[derive(Clone, Debug)]
pub(super) struct Staging(PathBuf);

impl Staging {
    pub(super) fn new(project: &Project) -> Staging {
        Staging(project.staging())
    }

    pub(super) fn unit(&self, source: &str, path: &str) -> PathBuf {
        self.0.join("units").join(Key::of_parts([source.as_bytes(), path.as_bytes()]).hex())
    }

    pub(super) fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// Removes the folder and all in it.
    pub(super) fn clear(&self) -> Result<()> {
        if !self.0.exists() {
            return Ok(());
        }
        fs::remove_dir_all(&self.0).with_context(|| message!("无法删除 {}", "cannot remove {}", self.0.display()))
    }

    fn plan(&self) -> PathBuf {
        self.0.join("plan.json")
    }

    fn aside(&self, part: usize) -> PathBuf {
        self.0.join("aside").join(format!("part-{part:05}.parquet"))
    }
}

/// Place of one part of the new corpus before the commit.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) enum PartSource {
    /// Part of this number in the corpus as it stands.
    Kept(usize),
    /// A file of the staging folder.
    Staged(PathBuf),
}

/// The changes of a run. In its file all paths are relative to the project's folder, so that a plan leads nowhere else, and holds after
/// the folder was moved.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct CommitPlan {
    /// The parts of the new corpus, in order.
    pub(super) pieces: Vec<PartSource>,
    /// Further files: from where, to where.
    pub(super) files: Vec<(PathBuf, PathBuf)>,
    pub(super) gone: Vec<PathBuf>,
    pub(super) log: IngestLog,
    gathered: bool,
}

impl CommitPlan {
    /// Fails where a path is not below the project's folder.
    pub(super) fn new(
        project: &Project,
        pieces: Vec<PartSource>,
        files: Vec<(PathBuf, PathBuf)>,
        gone: Vec<PathBuf>,
        log: IngestLog,
    ) -> Result<CommitPlan> {
        let below = |path: PathBuf| -> Result<PathBuf> {
            let path = path
                .strip_prefix(project.dir())
                .with_context(|| message!("{} 不是项目文件", "{} is no project file", path.display()));
            path.map(Path::to_owned)
        };
        let piece = |piece| match piece {
            PartSource::Kept(part) => Ok(PartSource::Kept(part)),
            PartSource::Staged(path) => below(path).map(PartSource::Staged),
        };
        Ok(CommitPlan {
            pieces: pieces.into_iter().map(piece).collect::<Result<_>>()?,
            files: files.into_iter().map(|(from, to)| Ok((below(from)?, below(to)?))).collect::<Result<_>>()?,
            gone: gone.into_iter().map(below).collect::<Result<_>>()?,
            log,
            gathered: false,
        })
    }

    /// Fails where a path leads out of the project's folder.
    fn check(&self, project: &Project) -> Result<()> {
        let staged = self.pieces.iter().filter_map(|piece| match piece {
            PartSource::Kept(_) => None,
            PartSource::Staged(path) => Some(path),
        });
        let paths = staged.chain(self.files.iter().flat_map(|(from, to)| [from, to])).chain(&self.gone);
        for path in paths {
            ensure!(
                path.components().all(|part| matches!(part, Component::Normal(_))),
                "计划 {} 会改动项目文件夹之外的 {}：删除该计划，下次运行将重新读取全部数据",
                "the plan {} would change {}, which is not in the project's folder: remove the plan, and the next run reads everything again",
                Staging::new(project).plan().display(),
                path.display()
            );
        }
        Ok(())
    }

    /// Writes the plan and carries it out.
    pub(super) fn commit(self, project: &Project, staging: &Staging) -> Result<()> {
        disk::write_json(&staging.plan(), &self)?;
        self.carry_out(project, staging)
    }

    fn carry_out(mut self, project: &Project, staging: &Staging) -> Result<()> {
        self.check(project)?;
        let (parts, dir) = (project.documents(), project.dir());
        disk::make_dir(parts.folder())?;
        let stays = |i: usize, piece: &PartSource| matches!(piece, PartSource::Kept(old) if *old == i);
        if !self.gathered {
            let mut changed = BTreeSet::from([parts.folder().to_owned()]);
            for (i, piece) in self.pieces.iter().enumerate() {
                if let PartSource::Kept(old) = piece
                    && *old != i
                {
                    move_once(&parts.path(*old), &staging.aside(i), &mut changed)?;
                }
            }
            let staying: Vec<PathBuf> =
                self.pieces.iter().enumerate().filter(|(i, p)| stays(*i, p)).map(|(i, _)| parts.path(i)).collect();
            for path in parts.files()? {
                if staying.binary_search(&path).is_err() {
                    disk::remove_if_there(&path)?;
                }
            }
            bring_to_disk(&changed)?;
            self.gathered = true;
            disk::write_json(&staging.plan(), &self)?;
        }
        let mut changed = BTreeSet::new();
        for (i, piece) in self.pieces.iter().enumerate() {
            match piece {
                PartSource::Kept(old) if *old == i => {}
                PartSource::Kept(_) => move_once(&staging.aside(i), &parts.path(i), &mut changed)?,
                PartSource::Staged(path) => move_once(&dir.join(path), &parts.path(i), &mut changed)?,
            }
        }
        for (from, to) in &self.files {
            move_once(&dir.join(from), &dir.join(to), &mut changed)?;
        }
        for path in &self.gone {
            let path = dir.join(path);
            disk::remove_if_there(&path)?;
            changed.insert(disk::folder_of(&path).to_owned());
        }
        bring_to_disk(&changed)?;
        disk::write_json(&project.ingest_log(), &self.log)?;
        staging.clear()
    }
}

/// True where a run was killed while it carried out its plan, which the next run finishes first.
pub fn is_interrupted(project: &Project) -> Result<bool> {
    Ok(disk::damage_of(&Staging::new(project).plan(), None)?.is_none())
}

/// Carries out the rest of an earlier run's plan, if that run was killed in the middle.
pub(super) fn finish_interrupted(project: &Project) -> Result<()> {
    let staging = Staging::new(project);
    // The log is written last but one; a plan whose log stands is finished but for its staging folder.
    match disk::damage_of(&staging.plan(), None)? {
        None => disk::read_json::<CommitPlan>(&staging.plan())?.carry_out(project, &staging),
        Some(Damage { flaw: Flaw::Missing, .. }) => Ok(()),
        Some(newer @ Damage { flaw: Flaw::Newer(_), .. }) => bail!(newer),
        // Parts that were moved are not those of the log, which shows by their seals: they are read again.
        Some(_) => fs::remove_dir_all(&staging.0)
            .with_context(|| message!("无法删除 {}", "cannot remove {}", staging.0.display())),
    }
}

/// Renames, unless an earlier attempt did, and adds to `changed` the folder that has the new name.
fn move_once(from: &Path, to: &Path, changed: &mut BTreeSet<PathBuf>) -> Result<()> {
    let folder = disk::folder_of(to);
    // The earlier attempt may have been killed before it brought the name to the disk.
    changed.insert(folder.to_owned());
    if !from.exists() {
        if to.exists() {
            return Ok(());
        }
        bail!(
            "{} 不见了；删除项目的 ingest.json 即可重新读取全部数据",
            "{} is gone; remove the project's ingest.json to read everything again",
            from.display()
        );
    }
    disk::make_dir(folder)?;
    fs::rename(from, to)
        .with_context(|| message!("无法把 {} 移到 {}", "cannot move {} to {}", from.display(), to.display()))
}

/// Brings the names in folders to the disk.
fn bring_to_disk(folders: &BTreeSet<PathBuf>) -> Result<()> {
    folders.iter().try_for_each(|folder| disk::sync_folder(folder))
}
