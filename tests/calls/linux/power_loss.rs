//! A loss of power may come at any moment. The record of a project's work is cut at every step, everything that was not on the disk
//! is lost in every way that a file system allows, and each time the program must find its way: nothing is taken for damage, nothing that was
//! acknowledged is gone, and the next run ends with the same bytes.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fs;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Instant;

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde_json::Value;
use tempfile::TempDir;

use crate::linux::losses::{Case, Loss, Losses, Model};
use crate::linux::project::{
    DELETES, NEWS, NOTE, NOTE_BESIDE, RUN, STEPS, Trial, add_news, difference, is_inner, ran, results, trials,
};
use crate::linux::record::{Record, What};
use crate::linux::tree::Tree;
use crate::linux::{LIMIT, Shard, copy_of, folder, inkstone, project, seed, traced};

/// States that are tried of each kind of loss after each command.
const SAMPLE: usize = 3;

/// Kinds of files and folders, with all below them, whose calls are made although no loss of power shows that they are needed, and why.
const SPARE: [(&str, &str); 15] = [
    ("file .inkstone/.inkstone-folder", "an empty marker counts as well"),
    ("file .exports.partial", "all below the folder is brought to the disk at once a moment later"),
    ("folder .exports.partial", "the same"),
    ("folder exports", "the same"),
    ("file .inkstone/clean/unfinished", "where it is damaged all marks are made again"),
    ("file .inkstone/factors/tone.history.json", "its times are left out of what must be equal"),
    (
        "file .inkstone/features.sled/db-#/db",
        "each file of rows holds the record of its batch, which is written again from it",
    ),
    ("folder .inkstone/features.sled/db-#", "the same"),
    ("file .inkstone/ingest-staging/units/#/rejects.jsonl", "what was read of a file and is lost is read again"),
    ("file .inkstone/ingest-staging/units/#/staged.json", "the same"),
    ("folder .inkstone/ingest-staging/units/#", "the same"),
    ("file .inkstone/ledger/.inkstone-folder", "an empty marker counts as well"),
    ("file .inkstone/ledger/db", "the ledger is kept twice, and its copy is on the disk before"),
    ("folder .inkstone/ledger/db", "the same"),
    ("file .inkstone/structure/boilerplate.jsonl", "the project is too small to have boilerplate"),
];

/// The reason for which the calls of a kind are made without need.
fn spare(kind: &str) -> Option<&'static str> {
    let is_below = |above: &str| kind.strip_prefix(above).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    SPARE.iter().find(|(above, _)| is_below(above)).map(|(_, reason)| *reason)
}

/// States that are tried to show that a call is needed.
const TRIES: usize = 60;

/// Work that nothing disturbed.
struct Usual {
    record: Record,
    ends: Vec<End>,
    /// Keeps what the record refers to.
    _kept: TempDir,
}

/// The project as it stood when a command had ended.
struct End {
    /// The step of the record that says so.
    moment: usize,
    files: BTreeMap<String, Vec<u8>>,
    trials: Vec<Trial>,
    /// The finished stages with the keys of what they depend on.
    stages: BTreeMap<String, Value>,
    /// The files that a run after the command ends with.
    results: BTreeMap<String, Vec<u8>>,
    trials_after_run: Vec<Trial>,
}

impl Usual {
    fn new() -> Option<Usual> {
        let (project, kept) = (project::new(), folder());
        let folder = project.path();
        let mut record = Record::new(folder);
        let mut ends = Vec::new();
        for (number, step) in STEPS.iter().enumerate() {
            if step.has_news {
                add_news(folder);
                record.changed(NEWS, &kept.path().join(number.to_string()));
                record.changed(NOTE, &kept.path().join("note"));
            }
            let ended = traced(inkstone(folder, step.args), LIMIT, &mut record)?;
            assert!(matches!(ended.status.code(), Some(0 | 1)), "{:?}: {ended:?}", step.args);
            record.end(number);
            record.check_complete();
            ends.push(End::of(&record, folder));
        }
        Some(Usual { record, ends, _kept: kept })
    }

    /// The command that a moment falls into.
    fn command(&self, moment: usize) -> usize {
        self.ends.iter().take_while(|end| end.moment < moment).count().min(STEPS.len() - 1)
    }

    /// Fails where a state lacks what was acknowledged, or the program does not find its way from it.
    fn check(&self, tree: &Tree, moment: usize) -> Result<(), String> {
        let number = self.command(moment);
        let before = number.checked_sub(1).map(|before| &self.ends[before]);
        let (end, step) = (&self.ends[number], &STEPS[number]);
        if let Some(acknowledged) = before {
            check_kept(tree, &acknowledged.files, &end.files)?;
        }
        if end.moment == moment {
            check_acknowledged(tree, &end.files)?;
        }
        let folder = folder();
        tree.materialise(folder.path());
        let folder = folder.path();
        let stood = stages(folder);
        if folder.join(".inkstone").exists() {
            let verified = ran(folder, &["store", "verify", "--headless"]);
            if verified.json["problems"].as_array().is_none_or(|problems| !problems.is_empty()) {
                return Err(format!("store verify: {}{}", verified.json, verified.stderr));
            }
        }
        let known = trials(folder)?;
        let must_know = if end.moment == moment { Some(end) } else { before };
        let deletes = number == DELETES;
        if let Some(lost) = must_know.and_then(|end| end.trials.iter().find(|trial| !trial.is_in(&known, deletes))) {
            return Err(format!("the ledger has lost {lost:?}: {known:?}"));
        }
        let is_deleted = deletes && known == end.trials;
        if step.args != RUN && !is_deleted {
            ran(folder, step.args).finished(step.args[0])?;
        }
        let json = ran(folder, RUN).finished("the next run")?;
        let stages = json["stages"].as_array().ok_or("a run without stages")?;
        for stage in stages {
            let name = stage["stage"].as_str().unwrap_or_default();
            if stage["facts"].get("damaged").is_some() || stage.get("damaged").is_some() {
                return Err(format!("{name} takes something for damage: {stage}"));
            }
            let was_finished = stood.get(name).is_some_and(|key| end.stages.get(name) == Some(key));
            if was_finished && name != "ingest" && stage["unchanged"] == false {
                return Err(format!("{name} was finished, and is done again"));
            }
        }
        let differ = difference(&end.results, &results(folder));
        if !differ.is_empty() {
            return Err(format!("the next run ends otherwise: {differ:?}"));
        }
        let known = trials(folder)?;
        if known != end.trials_after_run {
            return Err(format!("the ledger has {known:?} and not {:?}", end.trials_after_run));
        }
        Ok(())
    }
}

impl End {
    fn of(record: &Record, folder: &Path) -> End {
        let (moment, files) = (record.steps.len(), record.now.files());
        let after = copy_of(folder);
        let own = trials(after.path()).expect("the ledger can be read");
        ran(after.path(), RUN).finished("a run after a command").expect("it ends");
        End {
            moment,
            files,
            trials: own,
            stages: stages(after.path()),
            results: results(after.path()),
            trials_after_run: trials(after.path()).expect("the ledger can be read"),
        }
    }
}

/// The stages that a project takes to be finished, with the keys of what they depend on.
fn stages(folder: &Path) -> BTreeMap<String, Value> {
    let text = fs::read(folder.join(".inkstone/state.json")).unwrap_or_default();
    let json: Value = serde_json::from_slice(&text).unwrap_or_default();
    let entries = json.as_object().and_then(|members| members.values().find_map(Value::as_array));
    let entries = entries.into_iter().flatten();
    entries.filter_map(|entry| Some((entry["name"].as_str()?.to_owned(), entry["key"].clone()))).collect()
}

/// Fails unless all files of a command that has ended are there.
fn check_acknowledged(tree: &Tree, files: &BTreeMap<String, Vec<u8>>) -> Result<(), String> {
    let there = tree.files();
    let lost = files.iter().find(|(path, bytes)| !is_inner(path) && there.get(*path) != Some(bytes));
    lost.map_or(Ok(()), |(path, _)| Err(format!("the command had ended, and {path} is not as it was written")))
}

/// Fails unless the exports and reports of an earlier command are there, or those that the next puts in their place.
fn check_kept(tree: &Tree, old: &BTreeMap<String, Vec<u8>>, new: &BTreeMap<String, Vec<u8>>) -> Result<(), String> {
    let there = tree.files();
    let of_user = |path: &&String| !path.starts_with(".inkstone/") && !path.starts_with(".exports");
    let lost = old.keys().filter(of_user).find(|path| {
        // An export that was killed has the user's note beside its folder; the next one puts it back.
        let found = there.get(*path).or_else(|| there.get(NOTE_BESIDE).filter(|_| *path == NOTE));
        found != old.get(*path) && found != new.get(*path)
    });
    lost.map_or(Ok(()), |path| Err(format!("{path} was finished, and is neither as it was nor as it becomes")))
}

/// Tries cases on all processors; gives the number of different states, and what is wrong with which.
fn tried(usual: &Usual, losses: &Losses<'_>, cases: &[Case]) -> (usize, Vec<(Case, String)>) {
    let (next, met, wrong) = (AtomicUsize::new(0), Mutex::new(HashSet::new()), Mutex::new(Vec::new()));
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                while let Some(case) = cases.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let tree = losses.tree(*case);
                    let ended = usual.ends.iter().position(|end| end.moment == case.moment);
                    if !met.lock().unwrap().insert((tree.hash(), usual.command(case.moment), ended)) {
                        continue;
                    }
                    if let Err(error) = usual.check(&tree, case.moment) {
                        wrong.lock().unwrap().push((*case, error));
                    }
                }
            });
        }
    });
    (met.into_inner().unwrap().len(), wrong.into_inner().unwrap())
}

/// Some cases of every kind of loss after every command.
fn sample(usual: &Usual, cases: Vec<Case>, draw: &mut ChaCha8Rng) -> Vec<Case> {
    let mut kinds: BTreeMap<(usize, String), Vec<Case>> = BTreeMap::new();
    for case in cases {
        let kind = format!("{:?}", case.loss).split('(').next().unwrap_or_default().to_owned();
        kinds.entry((usual.command(case.moment), kind)).or_default().push(case);
    }
    kinds
        .into_values()
        .flat_map(|of_kind| (0..SAMPLE).map(|_| of_kind[draw.random_range(0..of_kind.len())]).collect::<Vec<_>>())
        .collect()
}

/// The lines of a list of what is wrong, with the step that comes next.
fn listed(usual: &Usual, wrong: &[(Case, String)]) -> String {
    let line = |(case, error): &(Case, String)| {
        let next = usual.record.steps.get(case.moment).map_or_else(|| "the end".to_owned(), |step| step.to_string());
        let about = match case.loss {
            Loss::Only(step) | Loss::OnlyAsZeros(step) | Loss::AllBut(step) => usual.record.steps[step].to_string(),
            _ => String::new(),
        };
        let error: String = error.chars().take(600).collect();
        format!("{case:?} {about}\n    before {next}\n    {error}\n")
    };
    wrong.iter().map(line).collect()
}

#[test]
#[allow(clippy::print_stdout, reason = "how much was tried is worth reading")]
fn a_loss_of_power_at_any_moment_costs_nothing_that_was_acknowledged() {
    let Some(usual) = Usual::new() else { return };
    let (seed, begun) = (seed(), Instant::now());
    let model = if std::env::var_os("INKSTONE_TEST_ORDERED").is_some() { Model::Ordered } else { Model::Posix };
    let losses = Losses::new(&usual.record, model);
    let all = losses.cases();
    let count = all.len();
    let cases = match Shard::asked() {
        Some(shard) => shard.of(all),
        None => sample(&usual, all, &mut ChaCha8Rng::seed_from_u64(seed)),
    };
    let (states, wrong) = tried(&usual, &losses, &cases);
    println!(
        "{} steps, {count} cases; {} tried, {states} different states, in {:.0} s (INKSTONE_TEST_SEED={seed})",
        usual.record.steps.len(),
        cases.len(),
        begun.elapsed().as_secs_f64()
    );
    let list = listed(&usual, &wrong);
    assert!(wrong.is_empty(), "{} of {states} states (INKSTONE_TEST_SEED={seed}, {model:?}):\n{list}", wrong.len());
}

/// The calls that bring something to the disk, by the kind of file.
fn sites(usual: &Usual) -> BTreeMap<String, Vec<usize>> {
    let mut sites: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for (number, step) in usual.record.steps.iter().enumerate() {
        let site = match step.what {
            What::Sync(node) => usual.record.kind_of(node),
            What::SyncAll => "everything".to_owned(),
            _ => continue,
        };
        sites.entry(site).or_default().push(number);
    }
    sites
}

/// A state that shows that the calls of a site are needed.
fn shown_needed(usual: &Usual, site: &[usize], is_full: bool) -> Option<(Case, String)> {
    let left_out: BTreeSet<usize> = site.iter().copied().collect();
    let without = Losses::without(&usual.record, Model::Posix, |step| left_out.contains(&step));
    let mut cases = Vec::new();
    for &call in site {
        let brought = without.brought_by(call);
        let still_open = |moment: &usize| *moment > call && brought.iter().any(|step| without.is_open(*step, *moment));
        let ends: Vec<usize> = usual.ends.iter().map(|end| end.moment).filter(still_open).collect();
        let last = ends.last().copied().unwrap_or(usual.record.steps.len());
        let is_sync = |moment: &usize| matches!(usual.record.steps[*moment].what, What::Sync(_) | What::SyncAll);
        let syncs = (call + 1..last).filter(is_sync).filter(still_open);
        for loss in [Loss::Covered(call), Loss::CoveredAsZeros(call)] {
            for end in usual.ends.iter().filter(|end| ends.contains(&end.moment)) {
                // What is missing after a command shows without a run.
                let case = Case { moment: end.moment, loss };
                if let Err(error) = check_acknowledged(&without.tree(case), &end.files) {
                    return Some((case, error));
                }
            }
            let moments = ends.iter().copied().chain(syncs.clone()).enumerate();
            cases.extend(moments.map(|(rank, moment)| (rank, Case { moment, loss })));
        }
    }
    // Of each call the next moments first, and then ever greater steps.
    cases.retain(|(rank, _)| is_full || *rank == 0 || rank.is_power_of_two());
    cases.sort_by_key(|(rank, _)| *rank);
    let mut met = HashSet::new();
    let trees = cases.iter().map(|(_, case)| (*case, without.tree(*case))).filter(|(_, tree)| met.insert(tree.hash()));
    trees
        .take(if is_full { usize::MAX } else { TRIES })
        .find_map(|(case, tree)| Some((case, usual.check(&tree, case.moment).err()?)))
}

#[test]
#[allow(clippy::print_stdout, reason = "which call is needed for what is worth reading")]
fn every_call_that_brings_something_to_the_disk_is_needed() {
    let Some(usual) = Usual::new() else { return };
    let shard = Shard::asked();
    let all: Vec<(String, Vec<usize>)> = sites(&usual).into_iter().collect();
    let sites = match shard {
        Some(shard) => shard.of(all),
        None => all.into_iter().filter(|(name, _)| spare(name).is_none()).collect(),
    };
    let (next, found) = (AtomicUsize::new(0), Mutex::new(BTreeMap::new()));
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                while let Some((name, calls)) = sites.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let shown = shown_needed(&usual, calls, shard.is_some());
                    found.lock().unwrap().insert(name.clone(), (calls.len(), shown));
                }
            });
        }
    });
    let mut needless = Vec::new();
    for (name, (calls, shown)) in found.into_inner().unwrap() {
        match (shown, spare(&name)) {
            (Some((case, error)), _) => {
                let error: String = error.chars().take(120).collect();
                println!("{name}: {calls} calls; without them {:?} at {}: {error}", case.loss, case.moment);
            }
            (None, Some(reason)) => println!("{name}: {calls} calls: {reason}"),
            (None, None) => needless.push(name),
        }
    }
    assert!(needless.is_empty(), "no loss of power shows that these calls are needed: {needless:#?}");
}
