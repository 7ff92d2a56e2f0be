//! A conditional random field over characters against CRFsuite on the same features of the same lines.
//!
//! `PYTHON=path/to/python TRAIN=train.jsonl TEST=test.jsonl cargo bench --bench crf`; lines have `text` and `entities`. The contenders take turns;
//! CRFsuite has one thread, ours has one and then two. Training counts characters in a step; tagging is from text to labels, with the features
//! that CRFsuite's users make in Python. Medians over the rounds.

#![allow(clippy::print_stdout, reason = "a bench is a program that prints its figures")]

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use inkstone_base::job::Ctx;
use inkstone_features::models::crf::{LabelledUnit, LabellerParams, train};
use inkstone_features::models::open_model;
use inkstone_features::standalone::{LineFormat, Lines};
use serde_json::Value;

const ROUNDS: usize = 3;

/// Characters a second in training (each step) and in tagging, seconds of the training, and F1.
struct Run {
    train: f64,
    tag: f64,
    seconds: f64,
    f1: f64,
}

fn main() -> Result<()> {
    let file = |name: &str| std::env::var(name).map(PathBuf::from).with_context(|| format!("{name} names a file"));
    let (train, test) = (file("TRAIN")?, file("TEST")?);
    let (mut one, mut two, mut theirs) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        one.push(ours(&train, &test, 1)?);
        two.push(ours(&train, &test, 2)?);
        if let Ok(python) = std::env::var("PYTHON") {
            theirs.push(peer(&python, &train, &test)?);
        }
    }
    for (name, runs) in [("ours, 1 thread", &one), ("ours, 2 threads", &two), ("CRFsuite", &theirs)] {
        if !runs.is_empty() {
            let middle = |figure: fn(&Run) -> f64| median(runs.iter().map(figure).collect());
            println!(
                "{name:<16} {:>8.0} k characters/s a step, {:>6.1} s in all, tagging {:>6.0} k characters/s, F1 {:.4}",
                middle(|run| run.train) / 1e3,
                middle(|run| run.seconds),
                middle(|run| run.tag) / 1e3,
                middle(|run| run.f1)
            );
        }
    }
    Ok(())
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn ours(input: &Path, test: &Path, threads: usize) -> Result<Run> {
    let ctx = Ctx::new(threads, 1)?;
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("names.crf");
    let params = LabellerParams { learn: LabelledUnit::Entities, ..LabellerParams::default() };
    let began = Instant::now();
    let report = train(&mut Lines::open(input, LineFormat::Jsonl)?, &params, &path, &ctx)?;
    let seconds = began.elapsed().as_secs_f64();
    let train = report.facts["characters_per_second"].as_f64().context("a rate")?;
    let (model, format) = open_model(&path, None, None, Path::new(""), &ctx)?;
    let characters: usize = std::fs::read_to_string(test)?
        .lines()
        .filter_map(|line| Some(serde_json::from_str::<Value>(line).ok()?["text"].as_str()?.chars().count()))
        .sum();
    let began = Instant::now();
    let (figures, _) = model.evaluate(&mut Lines::open(test, format)?, &Default::default(), &ctx)?;
    let tag = characters as f64 / began.elapsed().as_secs_f64();
    Ok(Run { train, tag, seconds, f1: figures["against"]["micro"]["f1"].as_f64().context("a figure")? })
}

fn peer(python: &str, train: &Path, test: &Path) -> Result<Run> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/crf.py");
    let out = Command::new(python).arg(script).args([train, test]).output()?;
    ensure!(out.status.success(), "CRFsuite failed: {}", String::from_utf8_lossy(&out.stderr));
    let found: Value = serde_json::from_slice(&out.stdout)?;
    let figure = |name: &str| found[name].as_f64().with_context(|| format!("no figure {name}"));
    Ok(Run {
        train: figure("characters")? * figure("steps")? / figure("train")?,
        tag: figure("test_characters")? / figure("tag")?,
        seconds: figure("features")? + figure("train")?,
        f1: figure("f1")?,
    })
}
