//! The feature store: how long it takes to open after a clean close and after a kill, and what it takes on disk after overwriting.
//!
//! `cargo bench --bench store [-- MB [DIR]]` makes a store of so many megabytes (default 64) in DIR (default: a temporary folder) and
//! removes it. Opening is measured in a process of its own, twice: first with the files out of the memory of the system where it lets go of
//! them (Linux), then again. Beside each time stands the peak memory of that process.

#![allow(clippy::print_stdout, reason = "a bench is a program that prints its figures")]

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use inkstone_base::data::Key;
use inkstone_base::job::Ctx;
use inkstone_store::{RowKind, Rows, SetSpec, Store};

const ROWS: usize = 4096;
const DIM: usize = 256;
/// Bytes of a batch: a key and the values of each row.
const BATCH: usize = ROWS * (16 + 4 * DIM);
const OVERWRITES: usize = 20;
/// Megabytes up to which the store is overwritten; beyond, it would be an hour of writing.
const OVERWRITTEN: usize = 1000;
const WHAT: &str = "INKSTONE_BENCH_STORE";

fn main() -> Result<()> {
    // Cargo adds `--bench` to what the user gives.
    let given: Vec<String> = std::env::args().skip(1).filter(|arg| arg != "--bench").collect();
    let megabytes: usize =
        given.first().map_or(Ok(64), |mb| mb.parse()).context("the first argument is a size in MB")?;
    let batches = (megabytes * 1_000_000 / BATCH).max(1);
    let temporary = tempfile::tempdir()?;
    let folder = given.get(1).map_or(temporary.path().to_owned(), PathBuf::from).join("store-bench");
    match std::env::var(WHAT).as_deref() {
        Ok("open") => return open(&folder),
        Ok("fill") => return fill(&folder, batches, 0, true),
        _ => ensure!(!folder.exists(), "{} is in the way", folder.display()),
    }
    println!("{} MB in {batches} batches of {ROWS} rows of {DIM}", batches * BATCH / 1_000_000);
    for (what, killed) in [("closed", false), ("killed", true)] {
        let began = Instant::now();
        if killed {
            child(&folder, "fill", &given)?;
        } else {
            fill(&folder, batches, 0, false)?;
        }
        println!("{what:>8}: written in {:.1} s", began.elapsed().as_secs_f64());
        for warm in ["cold", "warm"] {
            if warm == "cold" {
                forget(&folder)?;
            }
            print!("{what:>8}, {warm}: {}", child(&folder, "open", &given)?);
        }
        if killed {
            break;
        }
        std::fs::remove_dir_all(&folder)?;
    }
    if megabytes > OVERWRITTEN {
        return Ok(std::fs::remove_dir_all(&folder)?);
    }
    let rounds = Instant::now();
    for round in 1..=OVERWRITES {
        Store::open(&folder)?.remove(&spec().id())?;
        fill(&folder, batches, round, false)?;
    }
    let before = Store::open(&folder)?.stats()?;
    let mut store = Store::open(&folder)?;
    let began = Instant::now();
    let report = store.compact(|_| true, &Ctx::new(1, 1)?)?;
    let live = store.stats()?.live_bytes as f64;
    println!(
        "{OVERWRITES} overwrites in {:.1} s: files of {:.3} times the rows, compacted in {:.2} s {:.3} times",
        rounds.elapsed().as_secs_f64(),
        before.file_bytes as f64 / live,
        began.elapsed().as_secs_f64(),
        report.after as f64 / live,
    );
    drop(store);
    Ok(std::fs::remove_dir_all(&folder)?)
}

fn spec() -> SetSpec {
    let params = serde_json::json!({ "dim": DIM });
    SetSpec { name: "bench".into(), kind: RowKind::Dense { dim: DIM }, params, fitted_until: None }
}

/// Writes the set; a process that is to be killed is, in the middle of the last batch but one.
fn fill(folder: &Path, batches: usize, round: usize, killed: bool) -> Result<()> {
    let store = Store::open(folder)?;
    let writer = store.writer(&spec())?;
    let order: Vec<Key> = (0..batches).map(|batch| Key::of(&(batch as u64).to_le_bytes())).collect();
    for (number, batch) in order.iter().enumerate() {
        if killed && number + 1 == batches {
            kill();
        }
        writer.put(*batch, &rows(number, round))?;
    }
    writer.finish(&order, serde_json::Value::Null)?;
    Ok(())
}

/// Rows of numbers that no compression makes smaller (xorshift), different in every round.
fn rows(batch: usize, round: usize) -> Rows {
    let mut state = (batch as u32 + 1).wrapping_mul(2_654_435_761) ^ (round as u32 + 1).wrapping_mul(40_503) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        state as f32
    };
    let data = (0..ROWS * DIM).map(|_| next()).collect();
    let keys = (0..ROWS).map(|row| Key::of_parts([&(batch as u64).to_le_bytes()[..], &(row as u64).to_le_bytes()]));
    Rows::dense(keys.collect(), DIM, data)
}

fn open(folder: &Path) -> Result<()> {
    let began = Instant::now();
    let store = Store::open(folder)?;
    let opened = began.elapsed();
    let stats = store.stats()?;
    println!(
        "opened in {:.0} ms, measured ({} MB of files) after {:.0} ms, peak memory {} MB",
        1e3 * opened.as_secs_f64(),
        stats.file_bytes / 1_000_000,
        1e3 * began.elapsed().as_secs_f64(),
        peak_memory().map_or("?".to_owned(), |bytes| (bytes / 1_000_000).to_string())
    );
    Ok(())
}

/// Runs this program for one task in a process of its own, and gives what it prints.
fn child(folder: &Path, what: &str, given: &[String]) -> Result<String> {
    let size = given.first().map_or("64", String::as_str);
    let dir = folder.parent().context("the store lies in a folder")?;
    let ran = Command::new(std::env::current_exe()?).arg(size).arg(dir).env(WHAT, what).output()?;
    ensure!(ran.status.success() || what == "fill", "{}", String::from_utf8_lossy(&ran.stderr));
    Ok(String::from_utf8_lossy(&ran.stdout).into_owned())
}

/// Ends this process as a pulled plug does.
fn kill() -> ! {
    let _ = Command::new("kill").args(["-9", &std::process::id().to_string()]).status();
    std::process::abort()
}

/// Asks the system to let go of what it has in memory of these files; only Linux does, and other systems read them warm.
fn forget(folder: &Path) -> Result<()> {
    for entry in walkdir::WalkDir::new(folder) {
        let entry = entry?;
        if entry.file_type().is_file() {
            let file = std::fs::File::open(entry.path())?;
            file.sync_all()?;
            #[cfg(target_os = "linux")]
            rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::DontNeed)?;
        }
    }
    Ok(())
}

/// Peak resident memory of this process in bytes, where the system tells.
fn peak_memory() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    Some(1024 * line.split_whitespace().nth(1)?.parse::<u64>().ok()?)
}
