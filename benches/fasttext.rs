//! Supervised fastText against the official program on the same labelled lines.
//!
//! `PYTHON=path/to/python TRAIN=train.txt TEST=test.txt cargo bench --bench fasttext`, files as fastText takes them. The
//! contenders take turns on two threads; times are medians over the rounds, from opening the file to the trained model in memory.

#![allow(clippy::print_stdout, reason = "a bench is a program that prints its figures")]

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use inkstone_base::job::Ctx;
use inkstone_features::models::{fasttext, open_model};
use inkstone_features::standalone::{CutSpec, Cutter, LineFormat, Lines};
use inkstone_models::FastTextParams;
use inkstone_text::TokenizerParams;

const ROUNDS: usize = 5;

/// Trains once; prints the seconds and the precision of the likeliest label.
const PEER: &str = "
import sys, time, fasttext
began = time.perf_counter()
model = fasttext.train_supervised(sys.argv[1], wordNgrams=2, lr=0.5, epoch=25, dim=100, thread=2, verbose=0)
seconds = time.perf_counter() - began
print(seconds, model.test(sys.argv[2])[1])
";

fn main() -> Result<()> {
    let file = |name: &str| std::env::var(name).map(PathBuf::from).with_context(|| format!("{name} names a file"));
    let (train, test) = (file("TRAIN")?, file("TEST")?);
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for round in 0..ROUNDS {
        ours.push(run(&train, &test, round as u64)?);
        if let Ok(python) = std::env::var("PYTHON") {
            theirs.push(peer(&python, &train, &test)?);
        }
    }
    for (name, runs) in [("ours", &mut ours), ("fastText", &mut theirs)] {
        if let Some((seconds, precision)) = median(runs) {
            println!("{name:<8} {seconds:>7.3} s, precision at 1 {precision:.4} (mean), median of {ROUNDS} rounds");
        }
    }
    Ok(())
}

fn run(train: &Path, test: &Path, seed: u64) -> Result<(f64, f64)> {
    let ctx = Ctx::new(2, seed)?;
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("model");
    let cutter = Cutter::new(CutSpec::new(LineFormat::Tokens, TokenizerParams::default()), Path::new(""))?;
    let params = FastTextParams { word_ngrams: 2, lr: 0.5, epochs: 25, ..FastTextParams::supervised() };
    let began = Instant::now();
    let mut lines = Lines::open(train, LineFormat::Tokens)?;
    let ((model, training), _) = fasttext::train_supervised(&mut lines, &cutter, &params, None, None, &path, &ctx)?;
    let seconds = began.elapsed().as_secs_f64();
    model.save_model(&path, cutter.spec(), &training)?;
    let (fitted, format) = open_model(&path, None, None, Path::new(""), &ctx)?;
    let (figures, _) = fitted.evaluate(&mut Lines::open(test, format)?, &Default::default(), &ctx)?;
    Ok((seconds, figures["precision_at_1"].as_f64().context("a figure")?))
}

fn peer(python: &str, train: &Path, test: &Path) -> Result<(f64, f64)> {
    let out = Command::new(python).args(["-c", PEER]).args([train, test]).output()?;
    ensure!(out.status.success(), "fastText failed: {}", String::from_utf8_lossy(&out.stderr));
    let text = String::from_utf8(out.stdout)?;
    let mut numbers = text.split_whitespace().map(str::parse::<f64>);
    let mut number = || anyhow::Ok(numbers.next().context("two numbers")??);
    Ok((number()?, number()?))
}

/// The median of the seconds and the mean of the precision.
fn median(runs: &mut [(f64, f64)]) -> Option<(f64, f64)> {
    runs.sort_by(|a, b| a.0.total_cmp(&b.0));
    let precision = runs.iter().map(|run| run.1).sum::<f64>() / runs.len().max(1) as f64;
    runs.get(runs.len() / 2).map(|run| (run.0, precision))
}
