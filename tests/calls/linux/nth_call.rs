//! Any call of the system may fail. The n-th call of each kind is made to fail in turn: the program ends with a code that it knows, one JSON
//! object and words, and the next run, which nothing disturbs, ends with the same bytes.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Instant;

use libc::{c_int, c_long};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde_json::Value;
use tempfile::TempDir;

use crate::linux::project::{RUN, STEPS, Trial, add_news, difference, ran, results, trials};
use crate::linux::tracer::{Call, Ended, Verdict, Watcher};
use crate::linux::{LIMIT, Shard, copy_of, inkstone, project, seed, traced};

/// Calls that are tried of each kind with each error in each command; more of those on the database's log, since sled may wait for ever
/// after one of them.
const SAMPLE: usize = 1;
const SAMPLE_OF_LOG: usize = 4;

/// The kinds of calls that are made to fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Open,
    Read,
    Write,
    WriteLog,
    Sync,
    Rename,
    Remove,
    MakeFolder,
    Map,
    Thread,
}

/// The kinds with the errors that their calls may end with.
const KINDS: [(Kind, &[c_int]); 10] = [
    (Kind::Open, &[libc::EIO, libc::ENOSPC, libc::EMFILE, libc::EINTR]),
    (Kind::Read, &[libc::EIO, libc::EINTR]),
    (Kind::Write, &[libc::EIO, libc::ENOSPC, libc::EINTR]),
    (Kind::WriteLog, &[libc::EIO, libc::ENOSPC]),
    (Kind::Sync, &[libc::EIO, libc::ENOSPC, libc::EINTR]),
    (Kind::Rename, &[libc::EIO, libc::ENOSPC]),
    (Kind::Remove, &[libc::EIO]),
    (Kind::MakeFolder, &[libc::EIO, libc::ENOSPC]),
    (Kind::Map, &[libc::EIO, libc::ENOMEM]),
    (Kind::Thread, &[libc::EAGAIN]),
];

/// Which call fails, and how.
#[derive(Clone, Copy, Debug)]
struct Fault {
    kind: Kind,
    /// From 1.
    n: usize,
    error: c_int,
}

/// Counts the calls on files below a folder, and the starts of threads, and lets one of them fail.
struct Failing {
    root: PathBuf,
    fault: Option<Fault>,
    counts: BTreeMap<Kind, usize>,
    /// The call that failed, in words.
    failed: Option<String>,
}

impl Failing {
    fn new(root: &Path, fault: Option<Fault>) -> Failing {
        let root = root.canonicalize().expect("the folder is there");
        Failing { root, fault, counts: BTreeMap::new(), failed: None }
    }

    /// The kind of a call and the file that it is on, if it counts.
    fn counted(&self, call: &Call) -> Option<(Kind, PathBuf)> {
        let [a, b, c, d, e, _] = call.args;
        let here = libc::AT_FDCWD as u64;
        let below = |path: PathBuf| path.starts_with(&self.root).then_some(path);
        let open = |number: u64| fs::read_link(call.descriptor(number)).ok().and_then(below);
        let (kind, path) = match call.number {
            libc::SYS_openat => (Kind::Open, below(call.path(a, b))?),
            libc::SYS_open | libc::SYS_creat => (Kind::Open, below(call.path(here, a))?),
            libc::SYS_read
            | libc::SYS_pread64
            | libc::SYS_readv
            | libc::SYS_preadv
            | libc::SYS_preadv2
            | libc::SYS_getdents64 => (Kind::Read, open(a)?),
            libc::SYS_write | libc::SYS_pwrite64 | libc::SYS_writev | libc::SYS_pwritev | libc::SYS_pwritev2 => {
                let path = open(a)?;
                (if path.ends_with("db") { Kind::WriteLog } else { Kind::Write }, path)
            }
            libc::SYS_sendfile | libc::SYS_ftruncate | libc::SYS_fallocate => (Kind::Write, open(a)?),
            libc::SYS_copy_file_range => (Kind::Write, open(c)?),
            libc::SYS_fsync | libc::SYS_fdatasync | libc::SYS_sync_file_range => (Kind::Sync, open(a)?),
            libc::SYS_rename => (Kind::Rename, below(call.path(here, b))?),
            libc::SYS_renameat | libc::SYS_renameat2 => (Kind::Rename, below(call.path(c, d))?),
            libc::SYS_unlink | libc::SYS_rmdir => (Kind::Remove, below(call.path(here, a))?),
            libc::SYS_unlinkat => (Kind::Remove, below(call.path(a, b))?),
            libc::SYS_mkdir => (Kind::MakeFolder, below(call.path(here, a))?),
            libc::SYS_mkdirat => (Kind::MakeFolder, below(call.path(a, b))?),
            libc::SYS_mmap => (Kind::Map, open(e).filter(|_| d as c_int & libc::MAP_ANONYMOUS == 0)?),
            libc::SYS_clone => thread_start(a)?,
            libc::SYS_clone3 => {
                let memory = File::open(format!("/proc/{}/mem", call.thread)).ok()?;
                let mut flags = [0; 8];
                memory.read_exact_at(&mut flags, a).ok()?;
                thread_start(u64::from_le_bytes(flags))?
            }
            _ => return None,
        };
        Some((kind, path))
    }
}

/// The start of a thread; none where the flags start a child.
fn thread_start(flags: u64) -> Option<(Kind, PathBuf)> {
    (flags & libc::CLONE_THREAD as u64 != 0).then(|| (Kind::Thread, PathBuf::from("thread")))
}

impl Watcher for Failing {
    fn calls(&self) -> Vec<c_long> {
        vec![
            libc::SYS_openat,
            libc::SYS_open,
            libc::SYS_creat,
            libc::SYS_read,
            libc::SYS_pread64,
            libc::SYS_readv,
            libc::SYS_preadv,
            libc::SYS_preadv2,
            libc::SYS_getdents64,
            libc::SYS_write,
            libc::SYS_pwrite64,
            libc::SYS_writev,
            libc::SYS_pwritev,
            libc::SYS_pwritev2,
            libc::SYS_sendfile,
            libc::SYS_copy_file_range,
            libc::SYS_ftruncate,
            libc::SYS_fallocate,
            libc::SYS_fsync,
            libc::SYS_fdatasync,
            libc::SYS_sync_file_range,
            libc::SYS_rename,
            libc::SYS_renameat,
            libc::SYS_renameat2,
            libc::SYS_unlink,
            libc::SYS_unlinkat,
            libc::SYS_rmdir,
            libc::SYS_mkdir,
            libc::SYS_mkdirat,
            libc::SYS_mmap,
            libc::SYS_clone,
            libc::SYS_clone3,
        ]
    }

    fn entered(&mut self, call: &Call) -> Verdict {
        let Some((kind, path)) = self.counted(call) else { return Verdict::Let };
        let count = self.counts.entry(kind).or_default();
        *count += 1;
        match self.fault {
            Some(fault) if fault.kind == kind && fault.n == *count => {
                let path = path.strip_prefix(&self.root).unwrap_or(&path);
                self.failed = Some(format!("call {} on {}", call.number, path.display()));
                Verdict::Fail(fault.error)
            }
            _ => Verdict::Let,
        }
    }

    fn ended(&mut self, _: &Call, _: i64) {}
}

/// A command on a prepared project, with what comes of it.
struct Usual {
    name: String,
    args: &'static [&'static str],
    prepared: TempDir,
    counts: BTreeMap<Kind, usize>,
    results: BTreeMap<String, Vec<u8>>,
    trials: Vec<Trial>,
}

/// The commands, each with the project as it stands before it; none where this machine lets nobody trace.
fn usual() -> Option<Vec<Usual>> {
    let folder = project::new();
    let mut all = Vec::new();
    for (number, step) in STEPS.iter().enumerate() {
        if step.has_news {
            add_news(folder.path());
        }
        let prepared = copy_of(folder.path());
        let mut counting = Failing::new(folder.path(), None);
        let ended = traced(inkstone(folder.path(), step.args), LIMIT, &mut counting)?;
        assert!(matches!(ended.status.code(), Some(0 | 1)), "{:?}: {ended:?}", step.args);
        let after = copy_of(folder.path());
        ran(after.path(), RUN).finished("a run after a command").expect("it ends");
        let (results, trials) = (results(after.path()), trials(after.path()).expect("the ledger can be read"));
        let name = format!("{number} {}", step.args[..2].join(" "));
        all.push(Usual { name, args: step.args, prepared, counts: counting.counts, results, trials });
    }
    Some(all)
}

/// Fails where the program does not end as it should when a call fails, or the next run does not end as ever.
fn check(usual: &Usual, fault: Fault) -> Result<(), String> {
    let folder = copy_of(usual.prepared.path());
    let mut failing = Failing::new(folder.path(), Some(fault));
    let ended =
        traced(inkstone(folder.path(), usual.args), LIMIT, &mut failing).ok_or("this machine lets nobody trace")?;
    // Threads make their calls in no order: now and then there is one call less.
    let Some(failed) = failing.failed else { return Ok(()) };
    let code = defined(&ended).map_err(|error| format!("{failed}: {error}"))?;
    if code == 2 {
        ran(folder.path(), usual.args);
    }
    let mut again = ran(folder.path(), RUN);
    // A database that could not be read is taken for damaged; its rows are not.
    if fault.kind == Kind::Read
        && failed.contains("features.sled/db-")
        && again.json.to_string().contains("store repair")
    {
        ran(folder.path(), &["store", "repair", "--headless"]);
        if code == 2 {
            ran(folder.path(), usual.args);
        }
        again = ran(folder.path(), RUN);
    }
    again.finished("the next run").map_err(|error| format!("{failed}, {code}: {error}"))?;
    let mut found = results(folder.path());
    if fault.kind == Kind::Remove {
        // What could not be removed of an old export is removed by the next.
        found.retain(|path, _| !path.starts_with(".exports.partial/"));
    }
    let differ = difference(&usual.results, &found);
    if !differ.is_empty() {
        return Err(format!("{failed}, {code}: the next run ends otherwise: {differ:?}"));
    }
    let trials = trials(folder.path()).map_err(|error| format!("{failed}, {code}: {error}"))?;
    match trials == usual.trials {
        true => Ok(()),
        false => Err(format!("{failed}, {code}: the ledger has {trials:?} and not {:?}", usual.trials)),
    }
}

/// The exit code of a program that ended as it may: with a code that means something, one JSON object, and words where it failed.
fn defined(ended: &Ended) -> Result<i32, String> {
    let stderr: String = ended.stderr.lines().rev().take(12).collect::<Vec<_>>().join(" / ");
    if ended.late {
        return Err(format!("it hangs: {stderr}"));
    }
    let code = ended.status.code().ok_or_else(|| format!("it ended by {}: {stderr}", ended.status))?;
    let json: Value = serde_json::from_slice(&ended.stdout).map_err(|error| {
        format!("{code}: no JSON object ({error}): {} {stderr}", String::from_utf8_lossy(&ended.stdout))
    })?;
    let has_words = json["error"].as_str().is_some_and(|error| error.chars().filter(|c| *c == ' ').count() >= 3);
    let is_defined = match (code, json["status"].as_str()) {
        (0, Some("done")) | (1, Some("partial")) => true,
        (2, Some("failed")) => has_words,
        _ => false,
    };
    if !is_defined {
        return Err(format!("{code}: {json} {stderr}"));
    }
    Ok(code)
}

/// All faults of a command, or a sample of them.
fn faults(usual: &Usual, draw: &mut ChaCha8Rng) -> Vec<Fault> {
    let mut faults = Vec::new();
    for (kind, errors) in KINDS {
        let count = usual.counts.get(&kind).copied().unwrap_or(0);
        let sample = if kind == Kind::WriteLog { SAMPLE_OF_LOG } else { SAMPLE };
        for &error in errors {
            let numbers: Vec<usize> = match Shard::asked() {
                Some(_) => (1..=count).collect(),
                None => (0..sample.min(count)).map(|_| draw.random_range(1..=count)).collect(),
            };
            faults.extend(numbers.into_iter().map(|n| Fault { kind, n, error }));
        }
    }
    faults
}

#[test]
#[allow(clippy::print_stdout, reason = "how much was tried is worth reading")]
fn whichever_call_fails_the_program_says_so_and_the_next_run_ends_as_ever() {
    let Some(usual) = usual() else { return };
    let (seed, begun) = (seed(), Instant::now());
    let mut draw = ChaCha8Rng::seed_from_u64(seed);
    let all: Vec<(&Usual, Fault)> =
        usual.iter().flat_map(|usual| faults(usual, &mut draw).into_iter().map(move |fault| (usual, fault))).collect();
    let cases = match Shard::asked() {
        Some(shard) => shard.of(all),
        None => all,
    };
    let (next, wrong) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                while let Some((usual, fault)) = cases.get(next.fetch_add(1, Ordering::Relaxed)) {
                    if let Err(error) = check(usual, *fault) {
                        let error: String = error.chars().take(700).collect();
                        wrong.lock().unwrap().push(format!("{}: {fault:?}: {error}", usual.name));
                    }
                }
            });
        }
    });
    let calls: Vec<(&str, &BTreeMap<Kind, usize>)> = usual.iter().map(|u| (u.name.as_str(), &u.counts)).collect();
    println!(
        "{} calls failed in {:.0} s (INKSTONE_TEST_SEED={seed}); of {calls:?}",
        cases.len(),
        begun.elapsed().as_secs_f64()
    );
    let wrong = wrong.into_inner().unwrap();
    assert!(wrong.is_empty(), "{} of {} (INKSTONE_TEST_SEED={seed}):\n{}", wrong.len(), cases.len(), wrong.join("\n"));
}
