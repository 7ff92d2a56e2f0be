//! Training an n-gram model, from tokenised text to an ARPA file, against KenLM's `lmplz` where it is there.
//!
//! `cargo bench --bench ngram [-- FILE]` reads tokens, a document a line, from FILE (or from the file that `NGRAM_TEXT` names), or
//! makes 20 MB of them. `LMPLZ` names the program, which is looked for on the path otherwise; `NGRAM_ORDER` the order (5). The runs
//! of both alternate, so that a busy machine slows them alike. Each of our runs is a process of its own, so that its peak
//! memory is its own.

#![allow(clippy::print_stdout, reason = "a bench is a program that prints its figures")]

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use inkstone_base::job::Ctx;
use inkstone_features::models::ngram::{HeldOut, train_ngram};
use inkstone_features::standalone::{CutSpec, Cutter, LineFormat, Lines};
use inkstone_models::ngram::{NgramParams, Room};
use inkstone_text::TokenizerParams;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

const ROUNDS: usize = 5;
/// Set for a run of our own.
const RUN: &str = "NGRAM_RUN";

fn main() -> Result<()> {
    let order = std::env::var("NGRAM_ORDER").map_or(Ok(5), |order| order.parse())?;
    if let Ok(path) = std::env::var(RUN) {
        return run(Path::new(&path), order);
    }
    // Cargo adds `--bench` to what the user gives.
    let given = std::env::args().skip(1).find(|arg| arg != "--bench").or_else(|| std::env::var("NGRAM_TEXT").ok());
    let folder = tempfile::tempdir()?;
    let path = match given {
        Some(path) => PathBuf::from(path),
        None => made_text(&folder.path().join("text"), 20_000_000)?,
    };
    let lmplz = std::env::var("LMPLZ").unwrap_or_else(|_| "lmplz".to_owned());
    let there = Command::new(&lmplz).arg("--help").stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok();
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let output =
            Command::new(std::env::current_exe()?).env(RUN, &path).env("NGRAM_ORDER", order.to_string()).output()?;
        ensure!(output.status.success(), "training failed: {}", String::from_utf8_lossy(&output.stderr));
        println!("{}", String::from_utf8_lossy(&output.stdout).trim_end());
        ours.push(String::from_utf8_lossy(&output.stdout).split(' ').next().context("no figure")?.parse::<f64>()?);
        if there {
            let began = Instant::now();
            let status = Command::new(&lmplz)
                .args(["-o", &order.to_string(), "-S", "1G", "--discount_fallback", "--skip_symbols"])
                .arg("-T")
                .arg(folder.path().join("sort"))
                .arg("--arpa")
                .arg(folder.path().join("lmplz.arpa"))
                .stdin(std::fs::File::open(&path)?)
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .status()?;
            ensure!(status.success(), "{lmplz} failed");
            theirs.push(began.elapsed().as_secs_f64());
            println!("{:.2} s {lmplz}", theirs[theirs.len() - 1]);
        }
    }
    println!("median of {ROUNDS}: {:.2} s", median(&ours));
    if there {
        let ratios: Vec<f64> = ours.iter().zip(&theirs).map(|(ours, theirs)| theirs / ours).collect();
        println!(
            "{lmplz}: {:.2} s, {:.2} times as long (median of the rounds' ratios)",
            median(&theirs),
            median(&ratios)
        );
    }
    Ok(())
}

/// One training run, with its figures in one line.
fn run(path: &Path, order: usize) -> Result<()> {
    let ctx = Ctx::new(0, 1)?;
    let spec = CutSpec::new(LineFormat::Tokens, TokenizerParams::default());
    let params = NgramParams { order, ..NgramParams::default() };
    let began = Instant::now();
    let mut lines = Lines::open(path, LineFormat::Tokens)?;
    let room = Room::in_folder(&std::env::temp_dir());
    let cutter = Cutter::new(spec, Path::new("."))?;
    let (model, report) = train_ngram(&mut lines, HeldOut::Share, &cutter, &params, &room, &ctx)?;
    let trained = began.elapsed().as_secs_f64();
    let peak = peak_memory();
    let folder = tempfile::tempdir()?;
    model.write_arpa(&folder.path().join("model.arpa"), &ctx)?;
    let seconds = began.elapsed().as_secs_f64();
    let tokens = report.facts["tokens"].as_u64().context("no count of tokens")?;
    println!(
        "{seconds:.2} s inkstone, order {order}: model in {trained:.2} s, {:.1} M tokens/s, {} n-grams, {}; the rest is ARPA",
        tokens as f64 / 1e6 / trained,
        model.sizes().iter().sum::<usize>(),
        peak.map_or_else(|| "peak memory unknown".to_owned(), |mb| format!("{mb} MB at the most")),
    );
    Ok(())
}

/// The most memory this process has held, where the system tells.
fn peak_memory() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    Some(line.split_whitespace().nth(1)?.parse::<u64>().ok()? / 1000)
}

fn median(values: &[f64]) -> f64 {
    let mut values = values.to_vec();
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// Lines of words that follow one another as in text: of Zipf's frequencies, and often in phrases that come again.
fn made_text(path: &Path, bytes: usize) -> Result<PathBuf> {
    const WORDS: f64 = 150_000.0;
    let mut random = ChaCha8Rng::seed_from_u64(1);
    let mut out = std::io::BufWriter::new(std::fs::File::create(path)?);
    let word = |random: &mut ChaCha8Rng| WORDS.powf(random.random::<f64>()) as u32;
    let phrases: Vec<Vec<u32>> =
        (0..200_000).map(|_| (0..random.random_range(2..7)).map(|_| word(&mut random)).collect()).collect();
    let mut made = 0;
    while made < bytes {
        let mut line = String::new();
        for _ in 0..random.random_range(2..30) {
            let phrase = (phrases.len() as f64).powf(random.random::<f64>()) as usize;
            for &word in phrases.get(phrase - 1).map_or(&[][..], Vec::as_slice) {
                line.push_str(&format!("词{word} "));
            }
            line.push_str(&format!("词{} ", word(&mut random)));
        }
        line.push('\n');
        made += line.len();
        out.write_all(line.as_bytes())?;
    }
    out.flush()?;
    Ok(path.to_owned())
}
