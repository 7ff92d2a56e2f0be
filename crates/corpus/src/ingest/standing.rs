//! Check of the files of an earlier ingest against its log: which sources have to be read again because something that was made of
//! them is damaged.

use std::collections::BTreeSet;
use std::path::PathBuf;

use anyhow::Result;
use rayon::prelude::*;

use crate::ingest::commit::is_interrupted;
use crate::ingest::log::IngestLog;
use crate::ingest::source::{Source, Table};
use inkstone_base::bail;
use inkstone_base::data::Key;
use inkstone_base::disk::{self, Damage, Flaw};
use inkstone_base::job::Ctx;
use inkstone_tables::project::Project;

/// The log, with the files that do not agree with it.
pub(super) struct Standing {
    /// An empty one where it cannot be trusted: everything is read again.
    pub(super) log: IngestLog,
    pub(super) damaged: Vec<Damage>,
    /// Numbers of the log's files that have to be read again.
    pub(super) again: BTreeSet<usize>,
    /// Files among them whose documents are damaged.
    lost: BTreeSet<usize>,
}

impl Standing {
    /// Reads every byte that ingest has left. A log that is damaged, or that another version wrote, is as good as none; one of a newer
    /// format is an error.
    pub(super) fn read(project: &Project, ctx: &Ctx) -> Result<Standing> {
        let none =
            |damaged| Standing { log: IngestLog::default(), damaged, again: BTreeSet::new(), lost: BTreeSet::new() };
        let log = match IngestLog::load(&project.ingest_log()) {
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
            // Their owner is not known.
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

    fn look_at_parts(&mut self, log: &IngestLog, project: &Project, ctx: &Ctx) -> Result<()> {
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

    fn look_at_tables(&mut self, log: &IngestLog, project: &Project) -> Result<()> {
        for table in [Table::Prices, Table::Securities, Table::Relations, Table::Events] {
            let Some(path) = table.file(project) else { continue };
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
                    "{}，而它所来自的 {} 已不存在：请放回该文件后重新运行；若要舍弃它的 {} 篇文档继续，请删除 {}",
                    "{}, and {}, from which it was read, is gone: put that file back and run again; or, to go on without its {} documents, remove {}",
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

/// Damage to the files that ingest has made. Files of a run that was killed in the middle of its changes are between two states, which
/// is no damage.
pub fn check(project: &Project, ctx: &Ctx) -> Result<Vec<Damage>> {
    if is_interrupted(project)? {
        return Ok(Vec::new());
    }
    match Standing::read(project, ctx) {
        Ok(standing) => Ok(standing.damaged),
        Err(error) => Ok(vec![error.downcast::<Damage>()?]),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::ingest::tests::{Desk, source};

    fn csv(ids: std::ops::Range<usize>) -> String {
        let row = |i| format!("{i},标题{i},公司第{i}号公告的正文。,600000,2024-03-01 15:00:00\n");
        std::iter::once("id,title,body,code,time\n".to_owned()).chain(ids.map(row)).collect()
    }

    /// Three files, one with a row that is set aside, which came one after the other; the last has grown.
    fn desk() -> (Desk, Vec<crate::ingest::Source>) {
        let (desk, sources) = (Desk::new(), vec![source("s", "in")]);
        desk.put("in/1.csv", csv(0..3) + "9,没有时间,正文,600000,昨天\n");
        desk.run(&sources);
        desk.put("in/2.csv", csv(10..12));
        desk.put("in/3.csv", csv(20..21));
        desk.run(&sources);
        desk.put("in/3.csv", csv(20..22));
        desk.run(&sources);
        (desk, sources)
    }

    fn cut_short(path: &std::path::Path) {
        let bytes = fs::read(path).unwrap();
        fs::write(path, &bytes[..bytes.len() / 2]).unwrap();
    }

    #[test]
    fn what_is_damaged_is_read_again_and_the_log_stays_as_it_was() {
        let (desk, sources) = desk();
        let (whole, log) = (desk.bytes(), fs::read(desk.project().ingest_log()).unwrap());
        assert!(desk.run(&sources).unchanged);
        let parts: Vec<PathBuf> = (0..3).map(|i| desk.project().documents().path(i)).collect();
        for (damaged, named) in [
            (vec![parts[0].clone()], "documents/part-00000.parquet is cut short"),
            (vec![parts[1].clone(), parts[2].clone()], "documents/part-00001.parquet is cut short"),
            (vec![desk.project().rejects()], "rejects.jsonl is damaged"),
        ] {
            damaged.iter().for_each(|path| cut_short(path));
            let report = desk.run(&sources);
            assert_eq!(report.damaged().count(), damaged.len());
            assert!(report.damaged().next().is_some_and(|damaged| damaged.starts_with(named)), "{named}: {report:?}");
            assert_eq!(desk.bytes(), whole, "{named}");
            assert!(fs::read(desk.project().ingest_log()).unwrap() == log, "{named}");
        }
        // A part in the place of another has a seal that holds, but is not the one of the log.
        fs::copy(&parts[0], &parts[1]).unwrap();
        assert!(
            desk.run(&sources).damaged().eq(["documents/part-00001.parquet is not the file that was written last: \
             another was put in its place"])
        );
        assert_eq!(desk.bytes(), whole);
    }

    #[test]
    fn a_lost_log_costs_a_reading_and_no_row() {
        let (desk, sources) = desk();
        let (whole, ids) = (desk.bytes(), desk.ids());
        cut_short(&desk.project().ingest_log());
        assert_eq!(desk.run(&sources).damaged().collect::<Vec<_>>(), ["ingest.json is cut short"]);
        assert_eq!((desk.bytes(), desk.ids()), (whole.clone(), ids));
        fs::remove_file(desk.project().ingest_log()).unwrap();
        assert_eq!(desk.run(&sources).damaged().collect::<Vec<_>>(), ["ingest.json is gone"]);
        assert_eq!(desk.bytes(), whole);
    }

    #[test]
    fn changes_that_a_kill_interrupted_are_not_damage() {
        let (desk, _) = desk();
        let (project, ctx) = (desk.project(), Ctx::new(1, 1).unwrap());
        fs::remove_file(project.documents().path(0)).unwrap();
        assert_eq!(check(&project, &ctx).unwrap().len(), 1);
        let staging = project.dir().join("ingest-staging");
        disk::write_json(&staging.join("plan.json"), &"a plan").unwrap();
        assert_eq!(check(&project, &ctx).unwrap(), []);
        cut_short(&staging.join("plan.json"));
        assert_eq!(check(&project, &ctx).unwrap().len(), 1);
    }

    #[test]
    fn a_damaged_plan_is_dropped_and_what_it_moved_is_read_again() {
        let (desk, sources) = desk();
        let (whole, project) = (desk.bytes(), desk.project());
        let staging = project.dir().join("ingest-staging");
        fs::create_dir_all(staging.join("aside")).unwrap();
        fs::rename(project.documents().path(0), staging.join("aside/part-00001.parquet")).unwrap();
        disk::write_json(&staging.join("plan.json"), &"cut").unwrap();
        cut_short(&staging.join("plan.json"));
        assert_eq!(desk.run(&sources).damaged().collect::<Vec<_>>(), ["documents/part-00000.parquet is gone"]);
        assert_eq!(desk.bytes(), whole);
    }

    #[test]
    fn damaged_staging_is_not_put_in_place() {
        let (desk, sources) = (Desk::new(), vec![source("s", "in")]);
        desk.put("in/1.csv", csv(0..3));
        desk.put("in/2.csv", "nothing,that,fits\n1,2,3\n");
        // The second file has no columns of use: the run ends there, with the first one staged.
        desk.error(&sources);
        let staged = walkdir::WalkDir::new(desk.project().dir()).into_iter().filter_map(Result::ok);
        let part = staged.map(walkdir::DirEntry::into_path).find(|path| path.ends_with("part-00000.parquet")).unwrap();
        cut_short(&part);
        desk.put("in/2.csv", csv(10..11));
        desk.run(&sources);
        assert_eq!(desk.ids().len(), 4);
        assert!(desk.run(&sources).unchanged);
    }
}
