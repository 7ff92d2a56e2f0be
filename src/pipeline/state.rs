//! The finished stages of a project and what each depended on, so that a stage is skipped while nothing that it depends on has changed.
//!
//! A stage's entry is removed before the stage starts and written after it ended: a kill at any moment makes the stage run
//! again and never trusts half of its output. An entry has the files that the stage made with their keys; a stage is only skipped while
//! every byte of them is as it was.

use std::collections::BTreeSet;
use std::path::PathBuf;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

use super::output::{Made, Output};
use inkstone_base::data::{DAMAGED, Key, Report};
use inkstone_base::disk::{self, Damage, Flaw};
use inkstone_base::job::Ctx;
use inkstone_tables::project::Project;

/// The finished stages of a project, in the order in which they last ran.
#[derive(Debug)]
pub(super) struct State {
    path: PathBuf,
    entries: Vec<Entry>,
    /// Flaw of the file, where it could not be read.
    pub(super) damage: Option<Damage>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Entry {
    name: String,
    /// Everything that the stage depends on.
    key: Key,
    /// Key of the feature set that the stage made.
    made: Option<Key>,
    files: Vec<Made>,
    report: Report,
}

/// A stage to be run, or kept.
pub(super) struct Step<'a> {
    /// Name, as in its report.
    pub(super) name: &'a str,
    /// Everything that it depends on.
    pub(super) key: Key,
    /// True if its earlier rows in the feature store, or entries in the ledger, are still there.
    pub(super) stands: bool,
    /// The files that it makes.
    pub(super) output: Output,
    /// Name of the units that it counts.
    pub(super) unit: &'static str,
    /// Units in all, when known.
    pub(super) total: Option<u64>,
}

impl State {
    /// The state of a project. A damaged file, or one of an older format, counts as none, since everything can be made again; a file of a
    /// newer format is an error, and so is a disk that cannot be read.
    pub(super) fn read(project: &Project) -> Result<State> {
        let path = project.state();
        let (entries, damage) = match disk::read_json(&path) {
            Ok(entries) => (entries, None),
            Err(error) => match error.downcast_ref::<Damage>().map(|damage| damage.flaw) {
                Some(Flaw::Newer(_)) => return Err(error.context("this project cannot be opened")),
                None if error.chain().any(|cause| cause.is::<std::io::Error>()) => return Err(error),
                None | Some(Flaw::Missing) => (Vec::new(), None),
                Some(flaw) => (Vec::new(), Some(Damage { path: path.clone(), flaw })),
            },
        };
        Ok(State { path, entries, damage })
    }

    /// The names of the stages, with what they depended on and the files that they made.
    pub(super) fn made_files(&self) -> impl Iterator<Item = (&str, Key, &[Made])> {
        self.entries.iter().map(|entry| (entry.name.as_str(), entry.key, entry.files.as_slice()))
    }

    /// The reports of the stages, in the order in which they last ran.
    pub(super) fn reports(self) -> Vec<Report> {
        self.entries.into_iter().map(|e| e.report).collect()
    }

    /// Key of the feature set that the stage of this name made.
    pub(super) fn made(&self, name: &str) -> Option<Key> {
        self.entry(name)?.made
    }

    /// Key of everything that the stage of this name depended on, and that of the feature set that it made.
    pub(super) fn key_of(&self, name: &str) -> Option<(Key, Option<Key>)> {
        self.entry(name).map(|entry| (entry.key, entry.made))
    }

    /// Report of the last run of the stage of this name.
    pub(super) fn report(&self, name: &str) -> Option<&Report> {
        self.entry(name).map(|entry| &entry.report)
    }

    /// Keys of the feature sets of all stages.
    pub(super) fn all_made(&self) -> BTreeSet<Key> {
        self.entries.iter().filter_map(|e| e.made).collect()
    }

    /// Runs a stage, or skips it where its key is the same and its files are whole. The report names damaged files ([`DAMAGED`]); the
    /// report that is kept does not.
    pub(super) fn run(
        &mut self,
        step: Step<'_>,
        ctx: &Ctx,
        work: impl FnOnce() -> Result<(Report, Option<Key>)>,
    ) -> Result<Report> {
        let Step { name, key, stands, output, unit, total } = step;
        let mut damaged = Vec::new();
        if let Some(entry) = self.entry(name).filter(|entry| entry.key == key && stands) {
            damaged = output.damage(&entry.files, ctx)?;
            if damaged.is_empty() {
                let report = Report { unchanged: true, seconds: 0.0, ..entry.report.clone() };
                return ctx.stage(name, unit, Some(0), || Ok(report));
            }
        }
        // A backtest removes the linter's verdicts on the factor as it was.
        let outdated = name.strip_prefix("backtest ").map(|factor| format!("lint {factor}"));
        let goes = |entry: &Entry| entry.name == name || outdated.as_ref() == Some(&entry.name);
        if self.entries.iter().any(goes) {
            self.entries.retain(|entry| !goes(entry));
            self.save()?;
        }
        let (mut made, mut files) = (None, Vec::new());
        let report = ctx.stage(name, unit, total, || {
            let (mut report, key) = work()?;
            (made, files) = (key, output.note()?);
            report.name_damage(damaged.iter().map(|damage| damage.within(output.root())));
            Ok(Report { stage: name.to_owned(), ..report })
        })?;
        let mut kept = report.clone();
        kept.facts.shift_remove(DAMAGED);
        self.entries.push(Entry { name: name.to_owned(), key, made, files, report: kept });
        self.save()?;
        Ok(report)
    }

    /// Notes the report of the stage that comes first and always runs.
    pub(super) fn note_first(&mut self, name: &str, key: Key, report: &Report) -> Result<()> {
        self.entries.retain(|e| e.name != name);
        let mut report = Report { unchanged: false, ..report.clone() };
        report.facts.shift_remove(DAMAGED);
        self.entries.insert(0, Entry { name: name.to_owned(), key, made: None, files: Vec::new(), report });
        self.save()
    }

    fn entry(&self, name: &str) -> Option<&Entry> {
        self.entries.iter().find(|e| e.name == name)
    }

    fn save(&self) -> Result<()> {
        disk::write_json(&self.path, &self.entries).context("cannot note what was finished")
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::*;
    use crate::config::Config;

    fn step<'a>(key: &str, stands: bool, project: &Project) -> Step<'a> {
        let output = Output::of("lint tone", &Config::default(), Path::new(""), project);
        Step { name: "lint tone", key: Key::of(key.as_bytes()), stands, output, unit: "docs", total: None }
    }

    #[test]
    fn a_stage_runs_again_when_its_key_or_what_it_made_is_gone_and_not_before() {
        let dir = tempfile::tempdir().unwrap();
        let project = Project::new(dir.path());
        let ctx = Ctx::new(1, 1).unwrap();
        let made = project.lint("tone");
        let ran = |key: &str, stands: bool| {
            let mut ran = false;
            let report = State::read(&project).unwrap().run(step(key, stands, &project), &ctx, || {
                ran = true;
                disk::write_json(&made, &"made")?;
                Ok((Report { rows_out: 7, ..Report::new("lint") }, None))
            });
            let report = report.unwrap();
            assert_eq!((report.rows_out, report.unchanged), (7, !ran));
            ran.then(|| report.damaged().map(str::to_owned).collect::<Vec<_>>())
        };
        let quietly = Some(Vec::new());
        assert_eq!(ran("a", true), quietly);
        assert_eq!(ran("a", true), None);
        assert_eq!(ran("a", false), quietly, "its rows are gone");
        assert_eq!(ran("b", true), quietly, "it depends on something else");
        let whole = fs::read(&made).unwrap();
        fs::write(&made, &whole[..whole.len() - 3]).unwrap();
        assert_eq!(ran("b", true), Some(vec!["lint/tone.json is cut short".to_owned()]));
        assert_eq!(fs::read(&made).unwrap(), whole);
        fs::remove_file(&made).unwrap();
        assert_eq!(ran("b", true), Some(vec!["lint/tone.json is gone".to_owned()]));
        disk::write_json(&made, &"another").unwrap();
        assert!(ran("b", true).is_some_and(|named| named[0].contains("another was put in its place")));
        assert_eq!(ran("b", true), None);
        let reports = State::read(&project).unwrap().reports();
        assert_eq!(
            reports.iter().map(|report| report.damaged().count()).collect::<Vec<_>>(),
            [0],
            "what is past is not kept"
        );
    }

    #[test]
    fn verdicts_are_not_finished_once_the_backtest_begins_that_removes_them() {
        let dir = tempfile::tempdir().unwrap();
        let project = Project::new(dir.path());
        let ctx = Ctx::new(1, 1).unwrap();
        let made = project.lint("tone");
        let lint = || {
            disk::write_json(&made, &"made")?;
            Ok((Report::new("lint"), None))
        };
        State::read(&project).unwrap().run(step("a", true, &project), &ctx, lint).unwrap();
        let output = Output::of("backtest tone", &Config::default(), Path::new(""), &project);
        let backtest = Step { name: "backtest tone", output, ..step("a", true, &project) };
        let killed = || {
            fs::remove_file(&made)?;
            anyhow::bail!("killed")
        };
        State::read(&project).unwrap().run(backtest, &ctx, killed).unwrap_err();
        assert!(State::read(&project).unwrap().reports().is_empty());
    }

    #[test]
    fn a_failed_stage_is_not_taken_for_finished() {
        let dir = tempfile::tempdir().unwrap();
        let project = Project::new(dir.path());
        let ctx = Ctx::new(1, 1).unwrap();
        let mut state = State::read(&project).unwrap();
        let work = || {
            disk::write_json(&project.lint("tone"), &"made")?;
            Ok((Report::new("lint"), None))
        };
        state.run(step("a", false, &project), &ctx, work).unwrap();
        state.run(step("b", true, &project), &ctx, || anyhow::bail!("no room")).unwrap_err();
        assert!(State::read(&project).unwrap().reports().is_empty());
    }

    #[test]
    fn a_damaged_state_is_none_and_a_newer_one_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let project = Project::new(dir.path());
        fs::write(project.state(), "[]").unwrap();
        let state = State::read(&project).unwrap();
        assert_eq!(state.damage, Some(Damage { path: project.state(), flaw: Flaw::Unsealed }));
        disk::write_json(&project.state(), &Vec::<Entry>::new()).unwrap();
        assert_eq!(State::read(&project).unwrap().damage, None);
        disk::write_json_of(&project.state(), &Vec::<Entry>::new(), inkstone_base::disk::FORMAT + 1).unwrap();
        let error = format!("{:#}", State::read(&project).unwrap_err());
        assert!(error.contains("newer version") && error.contains("use that version"), "{error}");
        fs::remove_file(project.state()).unwrap();
        fs::create_dir(project.state()).unwrap();
        State::read(&project).expect_err("what cannot be read is not taken for nothing");
    }
}
