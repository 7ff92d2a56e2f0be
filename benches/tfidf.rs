//! TF-IDF on words that stand between spaces, against scikit-learn's `TfidfVectorizer(analyzer=str.split)`: same lines, same rows.
//!
//! `PYTHON=path/to/python cargo bench --bench tfidf [-- FILE]` reads a document a line from FILE, or makes 16 MiB of words. The runs
//! of the contenders alternate within each round, so that a busy machine slows them alike; speeds are medians over the rounds, and so
//! are the ratios, each of which compares two runs of one round. Ours reads the file, which scikit-learn has in memory.

#![allow(clippy::print_stdout, reason = "a bench is a program that prints its figures")]

use std::path::Path;
use std::time::Instant;

use anyhow::{Context, Result, bail, ensure};
use inkstone_base::job::Ctx;
use inkstone_features::models::tfidf;
use inkstone_features::standalone::{CutSpec, Cutter, LineFormat, Lines};
use inkstone_models::VectorizerParams;
use inkstone_text::{DfLimit, TokenizerParams};
use peer::Peer;
use rand::RngExt;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, Zipf};

mod peer;

const ROUNDS: usize = 7;

/// Reads the lines once, then a fit and transform for each line that it is sent; answers with seconds, values and their sum.
const PEER: &str = "
import sys, time
from sklearn.feature_extraction.text import TfidfVectorizer
lines = open(sys.argv[1], encoding='utf-8').read().splitlines()
print('ready', flush=True)
for _ in sys.stdin:
    began = time.perf_counter()
    rows = TfidfVectorizer(analyzer=str.split).fit_transform(lines)
    print(time.perf_counter() - began, rows.nnz, rows.sum(), flush=True)
";

/// Result of a run: seconds, stored values, and their sum.
type Run = (f64, u64, f64);

fn main() -> Result<()> {
    // Cargo adds `--bench` to what the user gives.
    let file = std::env::args().skip(1).find(|arg| arg != "--bench");
    let made = tempfile::tempdir()?;
    let path = match &file {
        Some(path) => path.into(),
        None => {
            let path = made.path().join("words.txt");
            std::fs::write(&path, made_words(16 << 20)?)?;
            path
        }
    };
    let megabytes =
        std::fs::metadata(&path).with_context(|| format!("cannot read {}", path.display()))?.len() as f64 / 1e6;
    let ctx = Ctx::new(0, 1)?;
    let mut peer =
        std::env::var("PYTHON").ok().map(|python| Peer::start(&python, PEER, &[path.as_os_str()])).transpose()?;

    let names = ["fit and rows", "fit alone", "scikit-learn, fit and rows"];
    let mut runs: [Vec<Run>; 3] = Default::default();
    for round in 0..=ROUNDS {
        let mut measured = vec![fit_and_rows(&path, &ctx)?, fit(&path, &ctx)?];
        if let Some(peer) = &mut peer {
            let (seconds, rest) = peer.ask("")?;
            let [values, sum] = rest[..] else { bail!("scikit-learn answers with three numbers") };
            measured.push((seconds, values as u64, sum));
        }
        // The first round warms up.
        if round > 0 {
            measured.into_iter().zip(&mut runs).for_each(|(run, runs)| runs.push(run));
        }
    }
    println!("{megabytes:.1} MB, {} threads, median of {ROUNDS} rounds", ctx.threads());
    for (name, of) in names.iter().zip(&runs).filter(|(_, of)| !of.is_empty()) {
        let ratios = runs[2].iter().zip(of).map(|(theirs, ours)| theirs.0 / ours.0);
        println!(
            "{:>8.1} MB/s {:>6.2} of scikit-learn's speed  {name}",
            megabytes / median(of.iter().map(|run| run.0).collect()),
            median(ratios.collect())
        );
    }
    if let (Some(ours), Some(theirs)) = (runs[0].first(), runs[2].first()) {
        ensure!(ours.1 == theirs.1, "{} values, scikit-learn has {}", ours.1, theirs.1);
        let off = (ours.2 / theirs.2 - 1.0).abs();
        ensure!(off < 1e-6, "the rows sum to {}, scikit-learn's to {}", ours.2, theirs.2);
        println!("{} values, sums differ by {off:.1e}", ours.1);
    }
    Ok(())
}

fn open(path: &Path) -> Result<(Lines, Cutter, VectorizerParams)> {
    let cutter = Cutter::new(CutSpec::new(LineFormat::Tokens, TokenizerParams::default()), Path::new(""))?;
    let params = VectorizerParams { min_df: DfLimit::Count(1), ..VectorizerParams::default() };
    Ok((Lines::open(path, LineFormat::Tokens)?, cutter, params))
}

fn fit(path: &Path, ctx: &Ctx) -> Result<Run> {
    let began = Instant::now();
    let (mut lines, cutter, params) = open(path)?;
    let (model, _) = tfidf::train(&mut lines, &cutter, &params, ctx)?;
    Ok((began.elapsed().as_secs_f64(), model.width() as u64, 0.0))
}

fn fit_and_rows(path: &Path, ctx: &Ctx) -> Result<Run> {
    let began = Instant::now();
    let (mut lines, cutter, params) = open(path)?;
    let (model, rows, _) = tfidf::train_rows(&mut lines, &cutter, &params, path, ctx)?;
    let mut made = Vec::new();
    rows.for_each(&model, ctx, |_, rows| {
        made.push(rows);
        Ok(())
    })?;
    let seconds = began.elapsed().as_secs_f64();
    let values = made.iter().map(|rows| rows.values().len() as u64).sum();
    Ok((seconds, values, made.iter().flat_map(|rows| rows.values()).map(|&v| f64::from(v)).sum()))
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

/// Lines of 10 to 200 words of two to four characters, whose frequencies follow Zipf's law, until there are `bytes`.
fn made_words(bytes: usize) -> Result<String> {
    let mut random = ChaCha8Rng::seed_from_u64(1);
    let character = |random: &mut ChaCha8Rng| char::from_u32(random.random_range(0x4e00..0x8000)).unwrap_or('中');
    let words: Vec<String> = (0..200_000)
        .map(|_| {
            let length = [2, 2, 2, 3, 4][random.random_range(0..5)];
            (0..length).map(|_| character(&mut random)).collect()
        })
        .collect();
    let zipf = Zipf::new(words.len() as f64, 1.0)?;
    let mut text = String::with_capacity(bytes + 4096);
    while text.len() < bytes {
        for _ in 0..random.random_range(10..200) {
            text.push_str(&words[zipf.sample(&mut random) as usize - 1]);
            text.push(' ');
        }
        text.pop();
        text.push('\n');
    }
    Ok(text)
}
