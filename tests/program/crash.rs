//! A run may be killed at any moment. Killed two hundred times, wherever it is, a project ends as if nothing had happened, and what was
//! finished is not computed again.

use std::collections::BTreeMap;
use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Stdio};
use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant};

use inkstone::pipeline::last_reports;
use inkstone_store::{BatchEntry, Header, Store};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde_json::Value;
use tempfile::TempDir;

use crate::threads::{Contents, SCALE, folder, project};
use crate::{assert_same_files, copy_folder, files_below, inkstone, run};

const KILLS: usize = 200;
/// Kills of one project, each of the run that goes on after the one before.
const CHAIN: usize = 10;
/// Projects that are killed again and again by a thread, at the most: some runs end before they can be killed.
const PROJECTS: usize = 4 * KILLS / 2 / CHAIN;
/// Kills aimed at a stage that those were not enough for, at the most.
const AIMED: usize = 30;
const RUN: [&str; 8] = ["demo", "--headless", "--scale", SCALE, "--dir", ".", "--threads", "2"];
/// The stage before all stages that the state knows: the market is made.
const GENERATE: &str = "generate";
/// How often a run is looked at.
const LOOK: Duration = Duration::from_millis(2);
/// A run that has not come to its moment by then is killed where it is.
const PATIENCE: Duration = Duration::from_secs(60);

/// A run that nothing disturbed.
struct Undisturbed {
    folder: TempDir,
    contents: Contents,
    /// The stages in order, with the seconds that each takes.
    stages: Vec<(String, f64)>,
    /// The chance of a kill to fall into each: half by time, half alike for all rooms of the pipeline, or the short ones would be spared.
    weights: Vec<f64>,
    /// Seconds until a run comes to the first stage that it has to do.
    start: f64,
}

impl Undisturbed {
    fn new() -> Undisturbed {
        let folder = folder();
        let json = run(folder.path(), &RUN).finished();
        let of_generate = json["stages"][0]["seconds"].as_f64().expect("a stage says how long it took");
        let reports = last_reports(&project(folder.path()));
        let mut stages = vec![(GENERATE.to_owned(), of_generate)];
        stages.extend(reports.into_iter().map(|report| (report.stage, report.seconds)));
        let start = Instant::now();
        run(folder.path(), &RUN).finished();
        let start = start.elapsed().as_secs_f64();
        let total_seconds: f64 = stages.iter().map(|stage| stage.1).sum();
        let mut rooms: BTreeMap<&str, usize> = BTreeMap::new();
        stages.iter().for_each(|stage| *rooms.entry(room(&stage.0)).or_default() += 1);
        let alike = |stage: &str| 0.5 / (rooms.len() * rooms[room(stage)]) as f64;
        let weights = stages.iter().map(|(stage, seconds)| 0.5 * seconds / total_seconds + alike(stage)).collect();
        Undisturbed { contents: Contents::of(folder.path()), weights, stages, start, folder }
    }

    /// The first stage that is not finished in a folder.
    fn standing(&self, folder: &Path) -> usize {
        if !folder.join("data/truth.json").exists() {
            return 0;
        }
        let finished = last_reports(&project(folder));
        let is_finished = |name: &str| finished.iter().any(|report| report.stage == name);
        self.stages.iter().skip(1).take_while(|(name, _)| is_finished(name)).count() + 1
    }

    /// A moment among all that is left from stage `from` on, such that `kills` of them lie evenly: a stage, and the share of its time.
    fn moment(&self, from: usize, kills: usize, draw: &mut ChaCha8Rng) -> (usize, f64) {
        let left = &self.weights[from..];
        let mut way = draw.random::<f64>() * 2.0 / (kills + 1) as f64 * left.iter().sum::<f64>();
        for (stage, weight) in left.iter().enumerate() {
            if way < *weight {
                return (from + stage, way / weight);
            }
            way -= weight;
        }
        (self.weights.len() - 1, draw.random())
    }
}

/// The part of the pipeline that a stage belongs to.
fn room(stage: &str) -> &str {
    stage.split(' ').next().unwrap_or(stage)
}

/// True if a child ended by itself within this time.
fn ends_within(child: &mut Child, time: Duration) -> bool {
    let until = Instant::now() + time;
    loop {
        if child.try_wait().unwrap().is_some() {
            return true;
        }
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return false;
        }
        thread::sleep(left.min(LOOK));
    }
}

/// A run that is killed at this moment; none when it came to its end before.
fn killed(usual: &Undisturbed, folder: &Path, (stage, share): (usize, f64)) -> Option<()> {
    let mut child = inkstone(folder, &RUN).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let seen = |meta: Metadata| (meta.ino(), meta.len(), meta.mtime_nsec());
    let look = || [".inkstone/state.json", "data/truth.json"].map(|file| folder.join(file).metadata().ok().map(seen));
    let (begun, mut known) = (Instant::now(), look());
    let mut standing = usual.standing(folder);
    let mut wait = if standing >= stage { usual.start } else { 0.0 };
    while standing < stage && begun.elapsed() < PATIENCE {
        if ends_within(&mut child, LOOK) {
            return None;
        }
        let now = look();
        if now != known {
            (known, standing) = (now, usual.standing(folder));
        }
    }
    wait += share * usual.stages[stage].1;
    if ends_within(&mut child, Duration::from_secs_f64(wait.max(0.0))) {
        return None;
    }
    child.kill().unwrap();
    (child.wait().unwrap().signal() == Some(9)).then_some(())
}

/// Of the stages that are not finished in a folder what a kill left of them: the noted parts of stages that go part by part, the batches of
/// features in the store. Each is what the next run must keep. The store is opened in a copy: the program is to be the first to meet what
/// the kill left.
fn left(usual: &Undisturbed, folder: &Path) -> BTreeMap<String, u64> {
    let finished = last_reports(&project(folder));
    let is_open = |stage: &str| !finished.iter().any(|report| report.stage == stage);
    let mut left = BTreeMap::new();
    for (stage, parts) in [("clean", project(folder).clean()), ("link", project(folder).links())] {
        if is_open(stage) {
            let notes = parts.folder().read_dir().into_iter().flatten();
            let notes = notes.filter(|note| note.as_ref().unwrap().path().extension().is_some_and(|e| e == "json"));
            left.insert(stage.to_owned(), notes.count() as u64);
        }
    }
    let stage = |set: &Header| format!("extract {}", set.spec.name);
    let open: Vec<&Header> = usual.contents.sets.iter().filter(|set| is_open(&stage(set))).collect();
    let (path, copy) = (project(folder).store(), tempfile::tempdir().unwrap());
    let store = (!open.is_empty() && path.exists()).then(|| {
        copy_folder(&path, copy.path());
        Store::open(copy.path()).unwrap()
    });
    for set in open {
        let writer = store.as_ref().map(|store| store.writer(&set.spec).unwrap());
        let lies = |batch: &&BatchEntry| writer.as_ref().is_some_and(|writer| writer.has(batch.key).unwrap());
        left.insert(stage(set), set.batches.iter().filter(lies).count() as u64);
    }
    left
}

/// Counts of the kills in some projects.
#[derive(Default)]
struct Met {
    /// Kills by room.
    rooms: BTreeMap<String, usize>,
    kills: usize,
    /// Kills that left a file half-written.
    torn: usize,
    /// Parts and batches that a kill left and the next run kept.
    kept: u64,
}

impl Met {
    fn add(&mut self, more: Met) {
        more.rooms.into_iter().for_each(|(room, kills)| *self.rooms.entry(room).or_default() += kills);
        (self.kills, self.torn, self.kept) = (self.kills + more.kills, self.torn + more.torn, self.kept + more.kept);
    }

    /// Fails where a run that finished a stage kept another part of it than lay there before.
    fn check_kept(&mut self, folder: &Path, before: &BTreeMap<String, u64>) {
        for report in last_reports(&project(folder)) {
            if let Some(lay) = before.get(&report.stage) {
                let fact = if report.stage.starts_with("extract ") { "batches_kept" } else { "parts_kept" };
                assert_eq!(report.facts.get(fact), Some(&Value::from(*lay)), "{fact} of {}: {report:?}", report.stage);
                self.kept += lay;
            }
        }
    }
}

/// Kills a project again and again, lets it come to its end, and compares. `moment` chooses the next kill by the stage that stands
/// and the kills that are to come.
fn chain(usual: &Undisturbed, kills: usize, mut moment: impl FnMut(usize, usize) -> (usize, f64)) -> Met {
    let mut met = Met::default();
    let folder = folder();
    let mut before = BTreeMap::new();
    for to_come in (1..=kills).rev() {
        let standing = usual.standing(folder.path());
        if standing == usual.stages.len() {
            break;
        }
        let was_killed = killed(usual, folder.path(), moment(standing, to_come));
        met.check_kept(folder.path(), &before);
        before = left(usual, folder.path());
        if was_killed.is_none() {
            break;
        }
        let standing = usual.standing(folder.path());
        let stage = usual.stages.get(standing).map_or("end", |stage| room(&stage.0));
        *met.rooms.entry(stage.to_owned()).or_default() += 1;
        met.kills += 1;
        met.torn += usize::from(files_below(folder.path()).keys().any(|path| path.contains("/.tmp-")));
    }
    run(folder.path(), &RUN).finished();
    met.check_kept(folder.path(), &before);
    usual.contents.assert_same(&Contents::of(folder.path()));
    met
}

#[test]
#[allow(clippy::print_stdout, reason = "where the kills fell is worth reading")]
fn two_hundred_kills_change_no_byte_and_cost_no_finished_batch() {
    let usual = Undisturbed::new();
    let all = Mutex::new(Met::default());
    let begun = Instant::now();
    thread::scope(|scope| {
        for worker in 0..2 {
            let (usual, all) = (&usual, &all);
            scope.spawn(move || {
                let mut draw = ChaCha8Rng::seed_from_u64(20240229 + worker);
                let mut done = 0;
                for _ in 0..PROJECTS {
                    let kills = CHAIN.min(KILLS / 2 - done);
                    if kills == 0 {
                        break;
                    }
                    let met = chain(usual, kills, |from, to_come| usual.moment(from, to_come, &mut draw));
                    done += met.kills;
                    all.lock().unwrap().add(met);
                }
            });
        }
    });
    let mut met = all.into_inner().unwrap();
    println!(
        "{} kills in {:.0} s: {:?}; {} left a half-written file, {} finished parts and batches were kept",
        met.kills,
        begun.elapsed().as_secs_f64(),
        met.rooms,
        met.torn,
        met.kept
    );
    assert_eq!(met.kills, KILLS);
    // How fast a machine is while it does this moves the moments: what was spared is aimed at.
    let mut draw = ChaCha8Rng::seed_from_u64(20240229);
    for (stage, (name, time)) in usual.stages.iter().enumerate() {
        // The program may begin faster now than when it was measured, and the first stage is short.
        let earliest = if stage == 0 { -usual.start / time } else { 0.0 };
        let mut tries = 0;
        while met.rooms.get(room(name)).is_none_or(|kills| *kills < 2) {
            assert!(tries < AIMED, "{name} ends before any kill: {:?}", met.rooms);
            met.add(chain(&usual, 1, |_, _| (stage, draw.random_range(earliest..1.0))));
            tries += 1;
        }
    }
    assert!(met.kept > 0, "no kill left anything finished");
}

/// Kills a command at moments that lie evenly over the time that it takes, lets it come to its end in the same folder, and gives the
/// folder beside one in which nothing disturbed it.
fn disturbed(prepared: &Path, args: &[&str], kills: u32, draw: &mut ChaCha8Rng) -> [TempDir; 2] {
    let [calm, killed] = [(); 2].map(|()| {
        let copy = tempfile::tempdir().unwrap();
        copy_folder(prepared, copy.path());
        copy
    });
    let begun = Instant::now();
    run(calm.path(), args).finished();
    let total_seconds = begun.elapsed().as_secs_f64();
    for kill in 0..kills {
        let mut child = inkstone(killed.path(), args).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let moment = total_seconds * (f64::from(kill) + draw.random::<f64>()) / f64::from(kills);
        if ends_within(&mut child, Duration::from_secs_f64(moment)) {
            break;
        }
        child.kill().unwrap();
        child.wait().unwrap();
    }
    run(killed.path(), args).finished();
    [calm, killed]
}

#[test]
fn a_killed_experiment_compaction_or_training_ends_as_if_nothing_had_happened() {
    let mut draw = ChaCha8Rng::seed_from_u64(8);
    let market = Undisturbed::new().folder;
    let [calm, killed] = disturbed(market.path(), &["experiment", "--headless"], 6, &mut draw);
    Contents::of(calm.path()).assert_same(&Contents::of(killed.path()));

    let [calm, killed] = disturbed(calm.path(), &["store", "compact", "--headless"], 6, &mut draw);
    Contents::of(calm.path()).assert_same(&Contents::of(killed.path()));
    let databases = fs::read_dir(project(killed.path()).store()).unwrap().map(|entry| entry.unwrap().file_name());
    assert_eq!(databases.filter(|name| name.to_string_lossy().starts_with("db-")).count(), 1);

    let corpus = tempfile::tempdir().unwrap();
    let words = ["公司", "订单", "增长", "净利润", "下滑", "股东", "减持", "回购", "产能", "扩张", "亏损", "中标"];
    let mut line = || (0..20).map(|_| words[draw.random_range(0..words.len())]).collect::<String>() + "\n";
    fs::write(corpus.path().join("corpus.txt"), (0..4000).map(|_| line()).collect::<String>()).unwrap();
    let train = ["train", "word2vec", "--input", "corpus.txt", "--output", "model", "--dim", "8", "--headless"];
    let [calm, killed] = disturbed(corpus.path(), &train, 6, &mut draw);
    assert_same_files(&files_below(calm.path()), &files_below(killed.path()));
}
