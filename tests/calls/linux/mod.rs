//! The tests themselves, with what they share.

mod losses;
mod nth_call;
mod power_loss;
mod project;
mod record;
mod tracer;
mod tree;

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use tempfile::TempDir;

use crate::linux::tracer::{Ended, Watcher, trace};

/// A program that has not ended by then hangs.
const LIMIT: Duration = Duration::from_secs(120);

/// The program in a folder, with no setting of the machine's user.
fn inkstone(folder: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_inkstone"));
    command.current_dir(folder).args(args);
    for name in ["LANG", "LC_ALL", "LC_MESSAGES", "RUST_BACKTRACE"] {
        command.env_remove(name);
    }
    command
}

/// Traces a program; none where this machine does not let it.
fn traced(command: Command, limit: Duration, watcher: &mut impl Watcher) -> Option<Ended> {
    match trace(command, limit, watcher) {
        Ok(ended) => Some(ended),
        Err(reason) => {
            inkstone_testing::not_tried(&reason);
            None
        }
    }
}

/// A folder in memory, where there is room: bringing its files to a disk would take most of the time.
fn folder() -> TempDir {
    let memory = Path::new("/dev/shm");
    let within = memory.is_dir().then(|| tempfile::tempdir_in(memory).ok()).flatten();
    within.unwrap_or_else(|| tempfile::tempdir().expect("a folder can be made"))
}

/// The files below a folder with their bytes, by path.
fn files_below(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut files = BTreeMap::new();
    for entry in walkdir::WalkDir::new(folder) {
        let entry = entry.expect("the folder can be read");
        if entry.file_type().is_file() {
            let path = entry.path().strip_prefix(folder).expect("it lies below the folder").display().to_string();
            files.insert(path, fs::read(entry.path()).expect("the file can be read"));
        }
    }
    files
}

/// A number from the environment.
fn asked(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{name} is a number, not {text:?}")))
}

/// The seed of the sample.
fn seed() -> u64 {
    asked("INKSTONE_TEST_SEED").unwrap_or(1)
}

/// The share of all cases that is tried instead of a sample: `2/4` is every fourth case, beginning with the second.
#[derive(Clone, Copy)]
struct Shard {
    /// From 0.
    number: usize,
    count: usize,
}

impl Shard {
    /// The share that the environment asks for.
    fn asked() -> Option<Shard> {
        let text = std::env::var("INKSTONE_TEST_EVERY").ok()?;
        let (number, count) = text.split_once('/').unwrap_or(("1", &text));
        let shard = number.parse::<usize>().ok().zip(count.parse().ok());
        let shard = shard.filter(|(number, count)| (1..=*count).contains(number));
        let (number, count) =
            shard.unwrap_or_else(|| panic!("INKSTONE_TEST_EVERY is 1 or a share as 2/4, not {text:?}"));
        Some(Shard { number: number - 1, count })
    }

    fn of<T>(self, cases: Vec<T>) -> Vec<T> {
        cases.into_iter().skip(self.number).step_by(self.count).collect()
    }
}

/// Makes a copy of a folder, ages of the files included, by which the program tells what has changed.
fn copy_of(from: &Path) -> TempDir {
    let to = folder();
    for entry in walkdir::WalkDir::new(from).min_depth(1) {
        let entry = entry.expect("the folder can be read");
        let target: PathBuf = to.path().join(entry.path().strip_prefix(from).expect("it lies below the folder"));
        if entry.file_type().is_dir() {
            fs::create_dir(&target).expect("the copy can be made");
        } else {
            fs::copy(entry.path(), &target).expect("the copy can be made");
            let age = entry.metadata().ok().and_then(|meta| meta.modified().ok()).expect("a file has an age");
            let copy = File::options().write(true).open(&target).expect("the copy can be opened");
            copy.set_modified(age).expect("a file can have an age");
        }
    }
    to
}
