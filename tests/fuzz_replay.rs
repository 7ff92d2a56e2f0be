//! The fuzz targets without a fuzzer: over their seeds, over what was found, and over seeded changes of both. See `tests/fuzz`.

use std::collections::BTreeSet;
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use cap::Cap;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

#[path = "fuzz/targets/mod.rs"]
mod targets;

/// Bytes in use at the most: a small file that claims a large table ends the test here, on any machine.
const MEMORY: usize = 1 << 30;

#[global_allocator]
static ALLOCATOR: Cap<std::alloc::System> = Cap::new(std::alloc::System, MEMORY);

/// Bytes of all seeds and findings at the most.
const KEPT: u64 = 300_000;
/// Changed inputs of a target; fewer where one costs milliseconds.
const CHANGED: usize = 600;
const DEAR: [&str; 7] = ["csv", "json", "models", "parquet", "pdf", "sheets", "tokens"];
const CHANGED_DEAR: usize = 120;

fn home() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fuzz")
}

/// The files of a folder with their content, in the order of their names.
fn files(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let entries = fs::read_dir(folder).into_iter().flatten();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    let name = |path: &Path| path.strip_prefix(home()).unwrap().display().to_string();
    paths.iter().map(|path| (name(path), fs::read(path).unwrap())).collect()
}

/// Seeds and findings of a target.
fn kept(target: &str) -> Vec<(String, Vec<u8>)> {
    ["seeds", "findings"].iter().flat_map(|folder| files(&home().join(folder).join(target))).collect()
}

/// Runs a target; what fails is told with its name and its bytes.
#[allow(clippy::print_stderr, reason = "what failed must be seen")]
fn holds(target: &str, name: &str, bytes: &[u8]) {
    if let Err(panic) = catch_unwind(AssertUnwindSafe(|| targets::check(target, bytes))) {
        eprintln!("{target} fails on {name}: {:?}", bytes.escape_ascii().to_string());
        std::panic::resume_unwind(panic);
    }
}

#[test]
fn seeds_and_what_was_found_are_read_or_refused() {
    for (target, _) in targets::ALL {
        kept(target).iter().for_each(|(name, bytes)| holds(target, name, bytes));
    }
}

/// Numbers at which sizes overflow, and signs that mean something in one of the formats.
const ODD: [&[u8]; 14] = [
    b"\0",
    b"\xff\xff\xff\xff",
    b"\xff\xff\xff\x7f",
    b"\0\0\0\x80",
    b"\xff\xff\xff\xff\xff\xff\xff\x7f",
    b"\n",
    b"\r\n",
    b"\"",
    b"99999999999999999999",
    b"-1",
    b"\xef\xbb\xbf",
    b"\xe4\xb8",
    b"\t",
    b"NaN",
];

/// Cuts, repeats, overwrites or joins what is there, once to four times.
fn change(seeds: &[(String, Vec<u8>)], rng: &mut ChaCha8Rng) -> (usize, Vec<u8>) {
    let from = rng.random_range(0..seeds.len());
    let mut bytes = seeds[from].1.clone();
    for _ in 0..rng.random_range(1..=4) {
        let at = rng.random_range(0..=bytes.len());
        let end = at + rng.random_range(0..=(bytes.len() - at).min(40));
        match rng.random_range(0..7) {
            0 => bytes.truncate(at),
            1 => drop(bytes.drain(at..end)),
            2 => bytes.extend_from_within(at..end),
            3 if at < bytes.len() => bytes[at] ^= 1 << rng.random_range(0..8),
            4 if at < bytes.len() => bytes[at] = rng.random(),
            5 => {
                let other = &seeds[rng.random_range(0..seeds.len())].1;
                let start = rng.random_range(0..=other.len());
                let piece = &other[start..start + rng.random_range(0..=(other.len() - start).min(60))];
                drop(bytes.splice(at..end, piece.iter().copied()));
            }
            _ => {
                let odd = ODD[rng.random_range(0..ODD.len())];
                let end = if rng.random() { at } else { (at + odd.len()).min(bytes.len()) };
                drop(bytes.splice(at..end, odd.iter().copied()));
            }
        }
    }
    (from, bytes)
}

#[test]
fn changed_seeds_are_read_or_refused() {
    std::thread::scope(|scope| {
        for half in 0..2 {
            scope.spawn(move || {
                for (target, _) in targets::ALL.iter().skip(half).step_by(2) {
                    let seeds = kept(target);
                    let mut rng = ChaCha8Rng::seed_from_u64(1);
                    for i in 0..if DEAR.contains(target) { CHANGED_DEAR } else { CHANGED } {
                        let (from, bytes) = change(&seeds, &mut rng);
                        holds(target, &format!("{}, change {i}", seeds[from].0), &bytes);
                    }
                }
            });
        }
    });
}

#[test]
fn each_target_is_a_program_with_seeds_and_what_is_kept_stays_small() {
    let targets: BTreeSet<String> = targets::ALL.iter().map(|(name, _)| (*name).to_owned()).collect();
    let manifest: toml::Table = fs::read_to_string(home().join("Cargo.toml")).unwrap().parse().unwrap();
    let programs = manifest["bin"].as_array().unwrap().iter().map(|bin| bin["name"].as_str().unwrap().to_owned());
    assert_eq!(programs.collect::<BTreeSet<String>>(), targets);
    for target in &targets {
        let program = fs::read_to_string(home().join(format!("bins/{target}.rs"))).unwrap();
        assert!(program.contains(&format!("check({target:?}")), "bins/{target}.rs runs another target");
        assert!(!files(&home().join("seeds").join(target)).is_empty(), "{target} has no seeds");
    }
    let folders = |name: &str| fs::read_dir(home().join(name)).into_iter().flatten().map(|entry| entry.unwrap());
    for folder in folders("seeds").chain(folders("findings")) {
        assert!(targets.contains(&folder.file_name().to_string_lossy().into_owned()), "{:?}", folder.path());
    }
    let bytes: u64 = targets.iter().flat_map(|target| kept(target)).map(|(_, bytes)| bytes.len() as u64).sum();
    assert!(bytes <= KEPT, "seeds and findings have {bytes} bytes");
}
