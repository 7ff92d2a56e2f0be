//! GloVe against the authors' programs on the same text, in turns.
//!
//! `cargo bench --bench glove -- FILE [EPOCHS]` reads documents of tokens, a line each; without a file it makes some. With
//! `GLOVE=folder`, where `vocab_count`, `cooccur`, `shuffle` and `glove` are, both stages alternate with theirs in each round, so that
//! a busy machine slows both alike. Counting is words of the whole text a second, ours from the file of text to pairs in
//! shuffled blocks, theirs `cooccur` and `shuffle`; training is pairs a second on two threads, theirs with the writing of the vectors.
//! Medians over the rounds.

#![allow(clippy::print_stdout, reason = "a bench is a program that prints its figures")]

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use inkstone_base::job::Ctx;
use inkstone_features::models::glove;
use inkstone_features::standalone::{CutSpec, Cutter, LineFormat, Lines};
use inkstone_models::{CooccurrenceParams, GloveParams, PairWeighting};
use inkstone_text::TokenizerParams;

mod made;

const ROUNDS: usize = 3;
const WINDOW: usize = 15;
const MIN_COUNT: u64 = 5;
const X_MAX: f64 = 10.0;
const DIM: usize = 100;
/// Bytes of a pair in the authors' file: two numbers of words and a count.
const PAIR: u64 = 16;

fn main() -> Result<()> {
    // Cargo adds `--bench` to what the user gives.
    let args: Vec<String> = std::env::args().skip(1).filter(|arg| arg != "--bench").collect();
    let dir = tempfile::tempdir()?;
    let path = match args.first() {
        Some(path) => PathBuf::from(path),
        None => made::documents(dir.path(), 40_000)?,
    };
    let epochs: usize = args.get(1).map_or(Ok(5), |n| n.parse()).context("the epochs are a whole number")?;
    let theirs = std::env::var_os("GLOVE").map(|folder| Theirs { folder: folder.into(), dir: dir.path(), path: &path });
    let cutter = Cutter::new(CutSpec::new(LineFormat::Tokens, TokenizerParams::default()), Path::new(""))?;
    let counting = CooccurrenceParams {
        window: WINDOW,
        min_count: MIN_COUNT,
        weighting: PairWeighting::Harmonic,
        ..CooccurrenceParams::default()
    };
    let params = GloveParams { dim: DIM, epochs, x_max: X_MAX, ..GloveParams::default() };
    let (mut counted, mut trained) = (Vec::new(), Vec::new());
    for round in 0..ROUNDS {
        let ctx = Ctx::new(2, round as u64)?;
        let began = Instant::now();
        let mut lines = Lines::open(&path, LineFormat::Tokens)?;
        let (_, report) = glove::train(&mut lines, &cutter, &counting, &params, &dir.path().join("model"), &ctx)?;
        let seconds = began.elapsed().as_secs_f64();
        let fact = |name: &str| report.facts[name].as_f64().with_context(|| format!("no fact {name}"));
        let (tokens, pairs, rate) = (fact("tokens")?, fact("pairs")?, fact("pairs_per_second")?);
        let counting = seconds - pairs * epochs as f64 / rate;
        let loss = report.facts["losses"].as_array().and_then(|losses| losses.last()?.as_f64()).unwrap_or(f64::NAN);
        if round == 0 {
            println!("{:.2} M words, {:.2} M pairs, {epochs} epochs, last loss {loss:.4}", tokens / 1e6, pairs / 1e6);
        }
        let other = theirs.as_ref().map(|theirs| theirs.run(epochs)).transpose()?;
        counted.push((tokens / counting / 1e6, other.as_ref().map(|run| tokens / run.counting / 1e6)));
        let pairs_of = |run: &Run| run.pairs * epochs as f64 / run.training / 1e6;
        trained.push((rate / 1e6, other.as_ref().map(pairs_of)));
    }
    for (name, rounds) in [("co-occurrence, M words/s", counted), ("training, M pairs/s", trained)] {
        print!("{name:26} {:6.2}", median(rounds.iter().map(|round| round.0).collect()));
        let others: Vec<(f64, f64)> = rounds.iter().filter_map(|&(ours, other)| Some((ours, other?))).collect();
        if !others.is_empty() {
            let ratios = others.iter().map(|(ours, other)| ours / other).collect();
            let other = median(others.iter().map(|round| round.1).collect());
            print!("; the authors' {other:6.2}, ours {:.2} times that", median(ratios));
        }
        println!();
    }
    Ok(())
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// The authors' programs.
struct Theirs<'a> {
    folder: PathBuf,
    dir: &'a Path,
    path: &'a Path,
}

/// Seconds, and how many pairs there were.
struct Run {
    counting: f64,
    training: f64,
    pairs: f64,
}

impl Theirs<'_> {
    fn run(&self, epochs: usize) -> Result<Run> {
        let at = |name: &str| self.dir.join(name).display().to_string();
        let (vocabulary, pairs, shuffled) = (at("vocab.txt"), at("pairs.bin"), at("shuffled.bin"));
        let window = WINDOW.to_string();
        self.one("vocab_count", &["-min-count", &MIN_COUNT.to_string()], Some(self.path), Some(&vocabulary))?;
        let flags =
            ["-vocab-file", &vocabulary, "-memory", "4.0", "-window-size", &window, "-overflow-file", &at("over")];
        let mut counting = self.one("cooccur", &flags, Some(self.path), Some(&pairs))?;
        let flags = ["-memory", "4.0", "-temp-file", &at("temp")];
        counting += self.one("shuffle", &flags, Some(Path::new(&pairs)), Some(&shuffled))?;
        let (epochs, dim, x_max) = (epochs.to_string(), DIM.to_string(), X_MAX.to_string());
        let flags = [
            ["-vocab-file", &vocabulary],
            ["-input-file", &shuffled],
            ["-save-file", &at("vectors")],
            ["-vector-size", &dim],
            ["-iter", &epochs],
            ["-x-max", &x_max],
            ["-threads", "2"],
            ["-binary", "1"],
        ];
        let training = self.one("glove", &flags.concat(), None, None)?;
        let pairs = std::fs::metadata(&shuffled)?.len() / PAIR;
        Ok(Run { counting, training, pairs: pairs as f64 })
    }

    /// Runs a program; gives its seconds.
    fn one(&self, name: &str, flags: &[&str], input: Option<&Path>, output: Option<&str>) -> Result<f64> {
        let program = self.folder.join(name);
        let mut command = Command::new(&program);
        command.args(flags).args(["-verbose", "0"]).stderr(Stdio::null());
        command.stdin(input.map_or(Ok(Stdio::null()), |input| File::open(input).map(Stdio::from))?);
        command.stdout(output.map_or(Ok(Stdio::null()), |output| File::create(output).map(Stdio::from))?);
        let began = Instant::now();
        let status = command.status().with_context(|| format!("cannot run {} (GLOVE)", program.display()))?;
        ensure!(status.success(), "{} stopped: {status}", program.display());
        Ok(began.elapsed().as_secs_f64())
    }
}
