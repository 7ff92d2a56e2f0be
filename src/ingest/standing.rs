//! What an earlier run of ingest has left, held against its log: which files have to be read again because something that was made of
//! them is damaged.

use std::collections::BTreeSet;
use std::path::PathBuf;

use anyhow::{Result, bail};
use rayon::prelude::*;

use crate::data::Key;
use crate::disk::{self, Damage, Flaw};
use crate::ingest::log::Log;
use crate::ingest::source::{Source, Table};
use crate::job::Ctx;
use crate::project::Project;

/// The log, and what is not as it says.
pub(super) struct Standing {
    /// An empty one where it cannot be trusted: everything is read again.
    pub(super) log: Log,
    /// What is wrong.
    pub(super) damaged: Vec<Damage>,
    /// Numbers of the log's files that have to be read again.
    pub(super) again: BTreeSet<usize>,
    /// Those among them whose documents are damaged.
    lost: BTreeSet<usize>,
}

impl Standing {
    /// Reads every byte that ingest has left. A log that is damaged, or that another version wrote, is as good as none; one of a newer
    /// format is an error.
    pub(super) fn of(project: &Project, ctx: &Ctx) -> Result<Standing> {
        let none = |damaged| Standing { log: Log::default(), damaged, again: BTreeSet::new(), lost: BTreeSet::new() };
        let log = match Log::load(&project.ingest_log()) {
            Ok(log) => log,
            Err(error) => match error.downcast::<Damage>()? {
                newer @ Damage { flaw: Flaw::Newer(_), .. } => bail!(newer),
                damage => return Ok(none(vec![damage])),
            },
        };
        if log.files.is_empty() {
            let lost = !project.ingest_log().exists() && !project.documents().files()?.is_empty();
            let damage = Damage { path: project.ingest_log(), flaw: Flaw::Missing };
            return Ok(none(lost.then_some(damage).into_iter().collect()));
        }
        let mut standing = none(Vec::new());
        standing.look_at_parts(&log, project, ctx)?;
        if standing.damaged.iter().any(|damage| damage.flaw == Flaw::Surplus) {
            // Whose they are is not known.
            return Ok(none(standing.damaged));
        }
        standing.look_at_tables(&log, project)?;
        let rejects = disk::damage_of(&project.rejects(), Some(log.rejects))?;
        if let Some(damage) = rejects {
            standing.damaged.push(damage);
            standing.again.extend((0..log.files.len()).filter(|i| log.files[*i].rejects() > 0));
        }
        Ok(Standing { log, ..standing })
    }

    fn look_at_parts(&mut self, log: &Log, project: &Project, ctx: &Ctx) -> Result<()> {
        let parts = project.documents();
        let of_file = |(i, file): (usize, &super::log::FileEntry)| -> Vec<(usize, PathBuf, Key)> {
            file.seals.iter().zip(file.first_part..).map(|(seal, part)| (i, parts.path(part), *seal)).collect()
        };
        let known: Vec<(usize, PathBuf, Key)> = log.files.iter().enumerate().flat_map(of_file).collect();
        let look = |(i, path, seal): &(usize, PathBuf, Key)| {
            ctx.check()?;
            Ok(disk::damage_of(path, Some(*seal))?.map(|damage| (*i, damage)))
        };
        let found: Vec<Option<(usize, Damage)>> = ctx.install(|| known.par_iter().map(look).collect::<Result<_>>())?;
        for (i, damage) in found.into_iter().flatten() {
            self.damaged.push(damage);
            self.again.insert(i);
            self.lost.insert(i);
        }
        let known: BTreeSet<&PathBuf> = known.iter().map(|(_, path, _)| path).collect();
        let surplus = parts.files()?.into_iter().filter(|path| !known.contains(path));
        self.damaged.extend(surplus.map(|path| Damage { path, flaw: Flaw::Surplus }));
        Ok(())
    }

    fn look_at_tables(&mut self, log: &Log, project: &Project) -> Result<()> {
        for (table, path) in [(Table::Prices, project.prices()), (Table::Securities, project.securities())] {
            let mine = |i: &usize| log.files[*i].table == table;
            let files: Vec<usize> = (0..log.files.len()).filter(mine).collect();
            let damage = match files.is_empty() {
                true => path.exists().then_some(Damage { path, flaw: Flaw::Exchanged }),
                false => disk::damage_of(&path, log.tables.get(table.name()).copied())?,
            };
            if let Some(damage) = damage {
                self.damaged.push(damage);
                self.again.extend(files);
            }
        }
        Ok(())
    }

    /// Fails where documents are damaged whose file is gone although its source is still asked for: only that file could bring them back.
    pub(super) fn check_sources(
        &self,
        sources: &[Source],
        there: &BTreeSet<(&str, &str)>,
        project: &Project,
    ) -> Result<()> {
        for i in &self.lost {
            let file = &self.log.files[*i];
            let asked = sources.iter().any(|source| source.name == file.source);
            if asked && !there.contains(&(file.source.as_str(), file.path.as_str())) {
                let parts: Vec<PathBuf> = (file.first_part..file.first_part + file.parts)
                    .map(|part| project.documents().path(part))
                    .collect();
                let damage = self.damaged.iter().find(|damage| parts.contains(&damage.path));
                bail!(
                    "{}, and {}, from which it was read, is gone: put that file back and run again; or, to go on without its {} \
                     documents, remove {}",
                    damage.map(|damage| damage.within(project.dir())).unwrap_or_default(),
                    file.path,
                    file.rows_out,
                    project.ingest_log().display()
                );
            }
        }
        Ok(())
    }
}

/// What is wrong with the files that ingest has made.
pub fn check(project: &Project, ctx: &Ctx) -> Result<Vec<Damage>> {
    match Standing::of(project, ctx) {
        Ok(standing) => Ok(standing.damaged),
        Err(error) => Ok(vec![error.downcast::<Damage>()?]),
    }
}
