//! The fuzz targets without a fuzzer: over their seeds, over what was found, over files that are made, and over changes of all of
//! these, the same ones and new ones each time. See `tests/fuzz`.
//!
//! `INKSTONE_FUZZ_SEED=N` repeats the new changes of a run that printed N. `INKSTONE_FUZZ_MINUTES=N` goes on for N minutes with new
//! changes, then prints the runs and the memory of each target.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Write;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use inkstone_models::neural::LanguageKind;
use inkstone_models::ngram::LanguageModel;
use inkstone_models::textnet::TextNetKind;
use inkstone_models::{Doc2vec, FastText, Lexicon, Lsa, Method, Pooling, Sestm, Vectorizer, WordVectors};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

#[path = "fuzz/bombs.rs"]
mod bombs;
#[path = "fuzz/makers.rs"]
mod makers;
#[path = "fuzz/targets/mod.rs"]
mod targets;

use targets::{Taken, alone};

/// Bytes of all seeds and findings at the most.
const KEPT: u64 = 300_000;
/// Changed inputs of a target that are the same each time, and new ones; fewer for targets that need milliseconds an input.
const CHANGED: (usize, usize) = (600, 200);
const SLOW: [&str; 9] = ["csv", "json", "models", "onnx_config", "parquet", "pdf", "sheets", "tokens", "words"];
const CHANGED_SLOW: (usize, usize) = (100, 40);
/// Files that are made for each target that has a maker.
const MADE: usize = 12;

/// Inputs that failed in this process.
static FINDINGS: AtomicUsize = AtomicUsize::new(0);

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

/// Sound files of random structure, for the targets that have a maker.
fn made(target: &str, rng: &mut ChaCha8Rng) -> Vec<(String, Vec<u8>)> {
    let make: fn(&mut ChaCha8Rng) -> Vec<u8> = match target {
        "parquet" => makers::parquet,
        "pdf" => makers::pdf,
        "sheets" => makers::workbook,
        _ => return Vec::new(),
    };
    (0..MADE).map(|i| (format!("made {i}"), make(rng))).collect()
}

/// Prints a line that is seen whether the test fails or not.
fn print(line: &str) {
    std::io::stderr().write_all(format!("{line}\n").as_bytes()).unwrap();
}

/// Runs a target. An input that fails is printed, and its bytes are kept in the temporary folder.
fn run_target(target: &str, name: &str, bytes: &[u8]) -> thread::Result<Taken> {
    let result = catch_unwind(AssertUnwindSafe(|| targets::check(target, bytes)));
    if result.is_err() {
        let number = FINDINGS.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("inkstone-fuzz-{target}-{}-{number}", std::process::id()));
        let _ = fs::write(&path, bytes);
        let shown = bytes[..bytes.len().min(2000)].escape_ascii();
        print(&format!("{target} fails on {name}, kept as {}: {shown}", path.display()));
    }
    result
}

/// Runs a target on an input that it must pass.
fn pass(target: &str, name: &str, bytes: &[u8]) {
    run_target(target, name, bytes).unwrap_or_else(|panic| resume_unwind(panic));
}

#[test]
fn seeds_and_what_was_found_are_read_or_refused() {
    let _alone = alone();
    for target in &targets::ALL {
        for (name, bytes) in kept(target.name) {
            pass(target.name, &name, &bytes);
        }
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
        match rng.random_range(0..8) {
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
            6 => larger(&mut bytes, at, rng),
            _ => {
                let odd = ODD[rng.random_range(0..ODD.len())];
                let end = if rng.random() { at } else { (at + odd.len()).min(bytes.len()) };
                drop(bytes.splice(at..end, odd.iter().copied()));
            }
        }
    }
    (from, bytes)
}

/// Writes another number in the place of the next one that is written in digits.
fn larger(bytes: &mut Vec<u8>, at: usize, rng: &mut ChaCha8Rng) {
    let Some(start) = bytes[at..].iter().position(u8::is_ascii_digit).map(|n| at + n) else { return };
    let digits = bytes[start..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    let number = match rng.random_range(0..4) {
        0 => 0,
        1 => rng.random_range(0..1000),
        2 => 1 << rng.random_range(8..64),
        _ => u64::MAX,
    };
    drop(bytes.splice(start..start + digits, number.to_string().into_bytes()));
}

/// Runs of a target.
#[derive(Default)]
struct Done {
    /// Inputs that passed.
    runs: usize,
    failed: usize,
    /// The inputs for each byte of which the most memory was held, and asked for: that memory, and the bytes of the input.
    held: (usize, usize),
    asked: (usize, usize),
    slowest: Duration,
}

impl Done {
    fn add(&mut self, taken: Taken, input: usize, time: Duration) {
        let worse = |worst: &mut (usize, usize), bytes: usize| {
            if bytes * worst.1.max(1) > worst.0 * input.max(1) {
                *worst = (bytes, input);
            }
        };
        self.runs += 1;
        // A byte or two only show what is taken for any input.
        if input >= 64 {
            worse(&mut self.held, taken.peak);
            worse(&mut self.asked, taken.total);
        }
        self.slowest = self.slowest.max(time);
    }

    fn line(&self, target: &str) -> String {
        let Done { runs, failed, held, asked, slowest } = self;
        let each = |(bytes, input): &(usize, usize)| format!("{} ({bytes} for {input})", bytes / input.max(&1));
        format!(
            "{target:13} {runs:8} runs, {failed} failed, bytes a byte held {}, asked for {}, {slowest:?}",
            each(held),
            each(asked)
        )
    }
}

/// Runs a target on `count` changes of its seeds, and goes on after an input that fails.
fn run_changes(target: &str, count: usize, seed: u64, done: &mut Done) {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut seeds = kept(target);
    seeds.extend(made(target, &mut rng));
    for i in 0..count {
        let (from, bytes) = change(&seeds, &mut rng);
        let began = Instant::now();
        match run_target(target, &format!("{}, change {i} of seed {seed}", seeds[from].0), &bytes) {
            Ok(taken) => done.add(taken, bytes.len(), began.elapsed()),
            Err(_) => done.failed += 1,
        }
    }
}

/// Fails if an input failed.
fn all_passed<'a>(done: impl IntoIterator<Item = &'a Done>) {
    let failed: usize = done.into_iter().map(|done| done.failed).sum();
    assert_eq!(failed, 0, "inputs that failed; each is printed above");
}

fn counts(target: &str) -> (usize, usize) {
    if SLOW.contains(&target) { CHANGED_SLOW } else { CHANGED }
}

#[test]
fn changed_seeds_are_read_or_refused() {
    let _alone = alone();
    for target in &targets::ALL {
        let mut done = Done::default();
        run_changes(target.name, counts(target.name).0, 1, &mut done);
        all_passed([&done]);
    }
}

/// Drawn anew in every run.
#[test]
fn new_changes_are_read_or_refused() {
    let _alone = alone();
    let given = std::env::var("INKSTONE_FUZZ_SEED").ok().map(|seed| seed.parse().expect("a whole number as a seed"));
    let mut seed: u64 = given.unwrap_or_else(|| u64::from(rand::random::<u32>()));
    let minutes = std::env::var("INKSTONE_FUZZ_MINUTES").ok().map_or(0, |n| n.parse().expect("a number of minutes"));
    print(&format!("new changes of seed {seed}; INKSTONE_FUZZ_SEED={seed} repeats them"));
    let (began, mut done) = (Instant::now(), BTreeMap::<&str, Done>::new());
    loop {
        for target in &targets::ALL {
            run_changes(target.name, counts(target.name).1, seed, done.entry(target.name).or_default());
        }
        if began.elapsed() >= Duration::from_secs(60 * minutes) {
            break;
        }
        seed += 1;
    }
    if minutes > 0 {
        done.iter().for_each(|(target, done)| print(&done.line(target)));
    }
    all_passed(done.values());
}

#[test]
fn made_files_are_sound() {
    let _alone = alone();
    let mut rng = ChaCha8Rng::seed_from_u64(7);
    for _ in 0..60 {
        bombs::reads(&makers::pdf(&mut rng), "a.pdf", makers::SAID);
        bombs::rows(&makers::parquet(&mut rng), "a.parquet");
        bombs::rows(&makers::workbook(&mut rng), "a.xlsx");
    }
}

#[test]
fn each_kind_of_model_file_has_a_seed() {
    let kind_of = |bytes: &[u8]| -> String {
        let length = u32::from_le_bytes(bytes[12..16].try_into().unwrap()) as usize;
        let header: serde_json::Value = serde_json::from_slice(&bytes[16..16 + length]).unwrap();
        header["kind"].as_str().unwrap().to_owned()
    };
    let seeds: BTreeSet<String> = kept("models").iter().map(|(_, bytes)| kind_of(bytes)).collect();
    let kinds = [
        Doc2vec::KIND,
        FastText::KIND,
        LanguageModel::KIND,
        Lexicon::KIND,
        Lsa::KIND,
        Pooling::KIND,
        Sestm::KIND,
        Vectorizer::KIND,
        WordVectors::KIND,
    ];
    let learners = Method::ALL.iter().map(|method| method.name());
    let networks = TextNetKind::ALL.iter().map(|kind| kind.name());
    let languages = LanguageKind::ALL.iter().map(|kind| kind.name());
    let missing = kinds.into_iter().chain(learners).chain(networks).chain(languages);
    let missing: Vec<&str> = missing.filter(|kind| !seeds.contains(*kind)).collect();
    assert!(missing.is_empty(), "seeds/models has no file of these kinds: {missing:?}");
}

#[test]
fn each_target_is_a_program_with_seeds_and_what_is_kept_stays_small() {
    let _alone = alone();
    let targets: BTreeSet<String> = targets::ALL.iter().map(|target| target.name.to_owned()).collect();
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
