//! The finished stages of a project with the keys of what they depended on, so that a stage is skipped while nothing of that has changed.
//!
//! The entry of a stage is removed before the stage starts and written after it ended: a kill at any moment makes the stage run
//! again and never trusts half of its output. An entry has the files that the stage made with their keys; a stage is only skipped while
//! every byte of them is as it was.

use std::collections::BTreeSet;
use std::path::PathBuf;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

use super::output::{MadeFile, Output};
use super::stage::StageId;
use inkstone_base::data::{DAMAGED, Key, Report};
use inkstone_base::disk::{self, Damage, Flaw};
use inkstone_base::job::Ctx;
use inkstone_base::language::Word;
use inkstone_tables::project::Project;

/// The finished stages of a project, in the order in which they last ran.
#[derive(Debug)]
pub(super) struct State {
    path: PathBuf,
    finished: Vec<FinishedStage>,
    /// Why nothing is known of the stages, although the file of the state is there.
    pub(super) damage: Option<Damage>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct FinishedStage {
    #[serde(rename = "name")]
    id: StageId,
    /// Key of everything that the stage depends on.
    key: Key,
    /// Key of what the stage made, where that has one: a feature set, an entry of the ledger.
    made: Option<Key>,
    files: Vec<MadeFile>,
    report: Report,
}

/// A stage that is about to run or to be skipped.
pub(super) struct PlannedStage {
    pub(super) id: StageId,
    /// Key of everything that it depends on.
    pub(super) key: Key,
    /// False if the rows of the store or the entries of the ledger that it made before are gone.
    pub(super) rows_are_there: bool,
    /// The files that it makes.
    pub(super) output: Output,
    /// Name of the units that its progress counts.
    pub(super) unit: &'static str,
    /// Units in all, when known.
    pub(super) total: Option<u64>,
}

impl State {
    /// The state of a project. A damaged file, or one of an older format, counts as none, since everything can be made again; a file of a
    /// newer format is an error, and so is a disk that cannot be read.
    pub(super) fn read(project: &Project) -> Result<State> {
        let path = project.state();
        let (finished, damage) = match disk::read_json(&path) {
            Ok(finished) => (finished, None),
            Err(error) => match error.downcast_ref::<Damage>().map(|damage| damage.flaw) {
                Some(Flaw::Newer(_)) => {
                    return Err(error.context(Word("该项目无法打开", "this project cannot be opened")));
                }
                None if error.chain().any(|cause| cause.is::<std::io::Error>()) => return Err(error),
                None | Some(Flaw::Missing) => (Vec::new(), None),
                Some(flaw) => (Vec::new(), Some(Damage { path: path.clone(), flaw })),
            },
        };
        Ok(State { path, finished, damage })
    }

    /// The finished stages and the files that they made.
    pub(super) fn made_files(&self) -> impl Iterator<Item = (&StageId, &[MadeFile])> {
        self.finished.iter().map(|stage| (&stage.id, stage.files.as_slice()))
    }

    /// The stages that have ended, each with its report when it last ran.
    pub(super) fn reports_of(&self) -> impl Iterator<Item = (&StageId, &Report)> {
        self.finished.iter().map(|stage| (&stage.id, &stage.report))
    }

    /// The reports of the stages, in the order in which they last ran.
    pub(super) fn reports(self) -> Vec<Report> {
        self.finished.into_iter().map(|stage| stage.report).collect()
    }

    /// Key of what a stage made.
    pub(super) fn made(&self, id: &StageId) -> Option<Key> {
        self.stage(id)?.made
    }

    /// Key of what a stage depended on, and key of what it made, if that has one.
    pub(super) fn key_of(&self, id: &StageId) -> Option<(Key, Option<Key>)> {
        self.stage(id).map(|stage| (stage.key, stage.made))
    }

    /// The report of a stage when it last ran.
    pub(super) fn report(&self, id: &StageId) -> Option<&Report> {
        self.stage(id).map(|stage| &stage.report)
    }

    /// Keys of what all the stages made.
    pub(super) fn all_made(&self) -> BTreeSet<Key> {
        self.finished.iter().filter_map(|stage| stage.made).collect()
    }

    /// Gives a stage that has no entry that of a stage with the same key, if both make rows of the store alone: a feature under a new name,
    /// or two features with the same rows.
    pub(super) fn adopt(&mut self, id: &StageId, key: Key) -> Result<()> {
        if self.stage(id).is_some_and(|stage| stage.key == key) {
            return Ok(());
        }
        let same =
            self.finished.iter().find(|stage| stage.key == key && stage.made.is_some() && stage.files.is_empty());
        let Some(same) = same.cloned() else { return Ok(()) };
        self.finished.retain(|stage| stage.id != *id);
        let report = Report { stage: id.to_string(), ..same.report.clone() };
        self.finished.push(FinishedStage { id: id.clone(), report, ..same });
        self.save()
    }

    /// Runs a stage, or keeps its files if they are whole and its key is the same as before. Returns the key of what it made, and its
    /// report. Damaged files are named in the report ([`DAMAGED`]), but not in the one that is kept.
    pub(super) fn run(
        &mut self,
        stage: PlannedStage,
        ctx: &Ctx,
        work: impl FnOnce() -> Result<(Option<Key>, Report)>,
    ) -> Result<(Option<Key>, Report)> {
        let PlannedStage { id, key, rows_are_there, output, unit, total } = stage;
        let name = id.to_string();
        let mut damaged = Vec::new();
        if let Some(before) = self.stage(&id).filter(|before| before.key == key && rows_are_there) {
            damaged = output.damage(&before.files, ctx)?;
            if damaged.is_empty() {
                let report = Report { unchanged: true, seconds: 0.0, ..before.report.clone() };
                return ctx.stage(&name, unit, Some(0), || Ok((before.made, report)));
            }
        }
        // A backtest removes the verdicts of the linter on the factor as it was.
        let outdated = match &id {
            StageId::Backtest(factor) => Some(StageId::Lint(factor.clone())),
            _ => None,
        };
        let outdated: Vec<StageId> = [id.clone()].into_iter().chain(outdated).collect();
        self.forget(&outdated)?;
        let ((made, files), report) = ctx.stage(&name, unit, total, || {
            let (made, mut report) = work()?;
            let files = output.note()?;
            report.name_damage(damaged.iter().map(|damage| damage.within(output.root())));
            Ok(((made, files), Report { stage: name.clone(), ..report }))
        })?;
        let mut kept = report.clone();
        kept.facts.shift_remove(DAMAGED);
        self.finished.push(FinishedStage { id, key, made, files, report: kept });
        self.save()?;
        Ok((made, report))
    }

    /// Takes stages for unfinished.
    pub(super) fn forget(&mut self, ids: &[StageId]) -> Result<()> {
        if !self.finished.iter().any(|stage| ids.contains(&stage.id)) {
            return Ok(());
        }
        self.finished.retain(|stage| !ids.contains(&stage.id));
        self.save()
    }

    /// Notes the report of ingest, which comes first and always runs.
    pub(super) fn note_ingest(&mut self, key: Key, report: &Report) -> Result<()> {
        self.finished.retain(|stage| stage.id != StageId::Ingest);
        let mut report = Report { unchanged: false, ..report.clone() };
        report.facts.shift_remove(DAMAGED);
        let ingest = FinishedStage { id: StageId::Ingest, key, made: None, files: Vec::new(), report };
        self.finished.insert(0, ingest);
        self.save()
    }

    fn stage(&self, id: &StageId) -> Option<&FinishedStage> {
        self.finished.iter().find(|stage| stage.id == *id)
    }

    fn save(&self) -> Result<()> {
        disk::write_json(&self.path, &self.finished)
            .context(Word("无法记下已完成的阶段", "cannot note what was finished"))
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::*;
    use crate::config::Config;

    fn planned(id: StageId, key: &str, rows_are_there: bool, project: &Project) -> PlannedStage {
        let output = Output::new(&id, &Config::default(), Path::new(""), project);
        PlannedStage { id, key: Key::of(key.as_bytes()), rows_are_there, output, unit: "docs", total: None }
    }

    fn lint(key: &str, rows_are_there: bool, project: &Project) -> PlannedStage {
        planned(StageId::Lint("tone".to_owned()), key, rows_are_there, project)
    }

    #[test]
    fn a_stage_runs_again_when_its_key_or_what_it_made_is_gone_and_not_before() {
        let dir = tempfile::tempdir().unwrap();
        let project = Project::new(dir.path());
        let ctx = Ctx::new(1, 1).unwrap();
        let made = project.lint("tone");
        let ran = |key: &str, rows_are_there: bool| {
            let mut ran = false;
            let report = State::read(&project).unwrap().run(lint(key, rows_are_there, &project), &ctx, || {
                ran = true;
                disk::write_json(&made, &"made")?;
                Ok((None, Report { rows_out: 7, ..Report::new("lint") }))
            });
            let (_, report) = report.unwrap();
            assert_eq!((report.rows_out, report.unchanged), (7, !ran));
            ran.then(|| report.damaged().map(str::to_owned).collect::<Vec<_>>())
        };
        let quietly = Some(Vec::new());
        assert_eq!(ran("a", true), quietly);
        assert_eq!(ran("a", true), None);
        assert_eq!(ran("a", false), quietly, "its rows are gone");
        assert_eq!(ran("b", true), quietly, "it depends on something else");
        let intact = fs::read(&made).unwrap();
        fs::write(&made, &intact[..intact.len() - 3]).unwrap();
        assert_eq!(ran("b", true), Some(vec!["lint/tone.json is cut short".to_owned()]));
        assert_eq!(fs::read(&made).unwrap(), intact);
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
        let work = || {
            disk::write_json(&made, &"made")?;
            Ok((None, Report::new("lint")))
        };
        State::read(&project).unwrap().run(lint("a", true, &project), &ctx, work).unwrap();
        let backtest = planned(StageId::Backtest("tone".to_owned()), "a", true, &project);
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
            Ok((None, Report::new("lint")))
        };
        state.run(lint("a", false, &project), &ctx, work).unwrap();
        state.run(lint("b", true, &project), &ctx, || anyhow::bail!("no room")).unwrap_err();
        assert!(State::read(&project).unwrap().reports().is_empty());
    }

    #[test]
    fn a_damaged_state_is_none_and_a_newer_one_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let project = Project::new(dir.path());
        fs::write(project.state(), "[]").unwrap();
        let state = State::read(&project).unwrap();
        assert_eq!(state.damage, Some(Damage { path: project.state(), flaw: Flaw::Unsealed }));
        disk::write_json(&project.state(), &Vec::<FinishedStage>::new()).unwrap();
        assert_eq!(State::read(&project).unwrap().damage, None);
        disk::write_json_of(&project.state(), &Vec::<FinishedStage>::new(), inkstone_base::disk::FORMAT + 1).unwrap();
        let error = format!("{:#}", State::read(&project).unwrap_err());
        assert!(error.contains("newer version") && error.contains("use that version"), "{error}");
        fs::remove_file(project.state()).unwrap();
        fs::create_dir(project.state()).unwrap();
        State::read(&project).expect_err("what cannot be read is not taken for nothing");
    }
}
