//! Asking an n-gram model for probabilities on one thread, text parsing included, against KenLM's probing model where it is there.
//!
//! `cargo bench --bench ngram_query -- TRAIN TEST` trains an order-5 model on TRAIN (tokens, a document a line) and asks for TEST. With
//! `KENLM` naming the folder of KenLM's programs, our ARPA file becomes its binary file, and `query` is asked the same; runs alternate.
//! Seconds are of the processor, so that a busy machine disturbs less; both leave out loading.

#![allow(clippy::print_stdout, reason = "a bench is a program that prints its figures")]

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use inkstone_base::job::Ctx;
use inkstone_features::models::ngram::{HeldOut, train_ngram};
use inkstone_features::standalone::{CutSpec, Cutter, LineFormat, Lines};
use inkstone_models::ModelFile;
use inkstone_models::ngram::{LanguageModel, NgramParams, Room, Score};
use inkstone_text::TokenizerParams;

const ROUNDS: usize = 5;
/// Documents asked for at once.
const CHUNK: usize = 256;

fn main() -> Result<()> {
    // Cargo adds `--bench` to what the user gives.
    let given: Vec<PathBuf> = std::env::args().skip(1).filter(|arg| arg != "--bench").map(PathBuf::from).collect();
    let [train, test] = given.as_slice() else {
        println!("nothing to measure: give a file to train on and one to ask for, tokens, a document a line");
        return Ok(());
    };
    let folder = tempfile::tempdir()?;
    let (arpa, mapped) = (folder.path().join("m.arpa"), folder.path().join("m.bin"));
    let ctx = Ctx::new(0, 1)?;
    let spec = CutSpec::new(LineFormat::Tokens, TokenizerParams::default());
    let params = NgramParams { order: 5, ..NgramParams::default() };
    let cutter = Cutter::new(spec.clone(), Path::new("."))?;
    let mut lines = Lines::open(train, LineFormat::Tokens)?;
    let room = Room::in_folder(folder.path());
    let (model, _) = train_ngram(&mut lines, HeldOut::Share, &cutter, &params, &room, &ctx)?;
    LanguageModel::new(&model, &ctx)?.save(&mapped, &spec, &params)?;
    let bytes = std::fs::metadata(&mapped)?.len() as f64;
    println!("{:.1} bytes an n-gram, vocabulary included", bytes / model.sizes().iter().sum::<usize>() as f64);
    let kenlm = std::env::var("KENLM").ok().map(PathBuf::from);
    let probing = folder.path().join("m.probing");
    if let Some(kenlm) = &kenlm {
        model.write_arpa(&arpa, &ctx)?;
        let built = Command::new(kenlm.join("build_binary")).arg("probing").args([&arpa, &probing]).output()?;
        ensure!(built.status.success(), "build_binary: {}", String::from_utf8_lossy(&built.stderr));
    }
    drop(model);
    let model = LanguageModel::open(ModelFile::open(&mapped)?)?;
    let text = std::fs::read_to_string(test).with_context(|| format!("cannot read {}", test.display()))?;
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    let mut total = Score::default();
    for _ in 0..ROUNDS {
        let began = processor_seconds()?;
        total = ask(&model, &text);
        ours.push(total.tokens as f64 / 1e6 / (processor_seconds()? - began));
        if let Some(kenlm) = &kenlm {
            theirs.push(total.tokens as f64 / 1e6 / query(&kenlm.join("query"), &probing, test)?);
        }
    }
    println!(
        "{} tokens, perplexity {:.6}, without unknown words {:.6}",
        total.tokens,
        total.perplexity(),
        total.perplexity_no_oov()
    );
    println!("{:.1} M tokens/s inkstone, best of {ROUNDS}", best(&ours));
    if !theirs.is_empty() {
        println!("{:.1} M tokens/s KenLM, best of {ROUNDS}; ratio {:.2}", best(&theirs), best(&ours) / best(&theirs));
    }
    Ok(())
}

fn best(speeds: &[f64]) -> f64 {
    speeds.iter().copied().fold(0.0, f64::max)
}

fn ask(model: &LanguageModel, text: &str) -> Score {
    let (mut scores, mut total) = (model.scores(), Score::default());
    let mut lines = text.lines().peekable();
    while lines.peek().is_some() {
        scores.clear();
        lines.by_ref().take(CHUNK).for_each(|line| scores.push(line.split_ascii_whitespace()));
        scores.score();
        scores.totals().for_each(|score| total.add(&score));
    }
    total
}

/// Seconds of the processor that `query` says it took, loading (a map) among them.
fn query(program: &Path, model: &Path, text: &Path) -> Result<f64> {
    let run = Command::new(program)
        .args(["-v", "summary"])
        .arg(model)
        .stdin(File::open(text)?)
        .stdout(Stdio::null())
        .output()?;
    let message = String::from_utf8_lossy(&run.stderr);
    let user = message.split("user:").nth(1).and_then(|rest| rest.split_whitespace().next()?.parse().ok());
    user.with_context(|| format!("query did not say how long it took: {message}"))
}

/// Seconds of the processor that this thread has taken.
fn processor_seconds() -> Result<f64> {
    let stat = std::fs::read_to_string("/proc/thread-self/schedstat").context("this bench needs Linux")?;
    let nanoseconds: f64 = stat.split_whitespace().next().context("schedstat is empty")?.parse()?;
    Ok(nanoseconds / 1e9)
}
