//! Puts a finished run in place so that a kill at any moment loses nothing.
//!
//! A run prepares its files beside the project's ([`Staging`]) and then writes a plan. The plan is carried out in two steps, each
//! of which may be repeated from its beginning: first the parts that change their number are moved aside and those that go are
//! removed, then everything is renamed to its place and the log is written. A run that finds a plan finishes it first.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use serde::{Deserialize, Serialize};

use crate::data::Key;
use crate::disk::{self, Damage, Flaw};
use crate::ingest::log::Log;
use crate::project::Project;

/// The folder in which a run prepares its files.
#[derive(Clone, Debug)]
pub(super) struct Staging(PathBuf);

impl Staging {
    pub(super) fn of(project: &Project) -> Staging {
        Staging(project.dir().join("ingest-staging"))
    }

    /// The folder of one unit.
    pub(super) fn unit(&self, source: &str, path: &str) -> PathBuf {
        self.0.join("units").join(Key::of_parts([source.as_bytes(), path.as_bytes()]).hex())
    }

    /// A file for the whole run.
    pub(super) fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// Removes the folder and all in it.
    pub(super) fn clear(&self) -> Result<()> {
        if !self.0.exists() {
            return Ok(());
        }
        fs::remove_dir_all(&self.0).with_context(|| format!("cannot remove {}", self.0.display()))
    }

    fn plan(&self) -> PathBuf {
        self.0.join("plan.json")
    }

    fn aside(&self, part: usize) -> PathBuf {
        self.0.join("aside").join(format!("part-{part:05}.parquet"))
    }
}

/// Where one part of the new corpus is now.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) enum Piece {
    /// Part of this number in the corpus as it stands.
    Kept(usize),
    /// A file of the staging folder.
    Staged(PathBuf),
}

/// What a run changes.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Plan {
    /// The parts of the new corpus, in order.
    pub(super) pieces: Vec<Piece>,
    /// Further files: from where, to where.
    pub(super) files: Vec<(PathBuf, PathBuf)>,
    /// Files that go.
    pub(super) gone: Vec<PathBuf>,
    /// The new log.
    pub(super) log: Log,
    gathered: bool,
}

impl Plan {
    pub(super) fn new(pieces: Vec<Piece>, files: Vec<(PathBuf, PathBuf)>, gone: Vec<PathBuf>, log: Log) -> Plan {
        Plan { pieces, files, gone, log, gathered: false }
    }

    /// Writes the plan and carries it out.
    pub(super) fn commit(self, project: &Project, staging: &Staging) -> Result<()> {
        disk::write_json(&staging.plan(), &self)?;
        self.carry_out(project, staging)
    }

    fn carry_out(mut self, project: &Project, staging: &Staging) -> Result<()> {
        let parts = project.documents();
        disk::make_dir(parts.folder())?;
        let stays = |i: usize, piece: &Piece| matches!(piece, Piece::Kept(old) if *old == i);
        if !self.gathered {
            for (i, piece) in self.pieces.iter().enumerate() {
                if let Piece::Kept(old) = piece
                    && *old != i
                {
                    move_once(&parts.path(*old), &staging.aside(i))?;
                }
            }
            let staying: Vec<PathBuf> =
                self.pieces.iter().enumerate().filter(|(i, p)| stays(*i, p)).map(|(i, _)| parts.path(i)).collect();
            for path in parts.files()? {
                if staying.binary_search(&path).is_err() {
                    disk::remove_if_there(&path)?;
                }
            }
            self.gathered = true;
            disk::write_json(&staging.plan(), &self)?;
        }
        for (i, piece) in self.pieces.iter().enumerate() {
            match piece {
                Piece::Kept(old) if *old == i => {}
                Piece::Kept(_) => move_once(&staging.aside(i), &parts.path(i))?,
                Piece::Staged(path) => move_once(path, &parts.path(i))?,
            }
        }
        for (from, to) in &self.files {
            move_once(from, to)?;
        }
        for path in &self.gone {
            disk::remove_if_there(path)?;
        }
        disk::write_json(&project.ingest_log(), &self.log)?;
        staging.clear()
    }
}

/// True where a run was killed while it carried out its plan, which the next run finishes first.
pub fn is_interrupted(project: &Project) -> Result<bool> {
    Ok(disk::damage_of(&Staging::of(project).plan(), None)?.is_none())
}

/// Finishes what an earlier run planned, if it was killed while it carried its plan out.
pub(super) fn finish_interrupted(project: &Project) -> Result<()> {
    let staging = Staging::of(project);
    // The log is written last but one; a plan whose log stands is finished but for its staging folder.
    match disk::damage_of(&staging.plan(), None)? {
        None => disk::read_json::<Plan>(&staging.plan())?.carry_out(project, &staging),
        Some(Damage { flaw: Flaw::Missing, .. }) => Ok(()),
        Some(newer @ Damage { flaw: Flaw::Newer(_), .. }) => bail!(newer),
        // Parts that were moved are not those of the log, which shows by their seals: they are read again.
        Some(_) => fs::remove_dir_all(&staging.0).with_context(|| format!("cannot remove {}", staging.0.display())),
    }
}

/// Renames, unless an earlier attempt did.
fn move_once(from: &Path, to: &Path) -> Result<()> {
    if !from.exists() {
        if to.exists() {
            return Ok(());
        }
        bail!("{} is gone; remove the project's ingest.json to read everything again", from.display());
    }
    to.parent().map_or(Ok(()), disk::make_dir)?;
    fs::rename(from, to).with_context(|| format!("cannot move {} to {}", from.display(), to.display()))
}
