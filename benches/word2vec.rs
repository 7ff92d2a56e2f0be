//! word2vec against gensim on the same text, in turns.
//!
//! `cargo bench --bench word2vec -- FILE [EPOCHS]` reads documents of tokens, a line each; without a file it makes some. With
//! `PYTHON=python3` (which has gensim, trained from the file, its fastest way) each form alternates with gensim's in each round, so
//! that a busy machine slows both alike. Words a second are those of the whole text over the time of training alone, medians
//! over the rounds; both use two threads.

#![allow(clippy::print_stdout, reason = "a bench is a program that prints its figures")]

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use inkstone_base::job::Ctx;
use inkstone_features::models::word2vec;
use inkstone_features::models::word2vec::WordParams;
use inkstone_features::standalone::{CutSpec, Cutter, LineFormat, Lines};
use inkstone_models::{Architecture, Objective, Word2vecParams};
use inkstone_text::TokenizerParams;

mod made;

const ROUNDS: usize = 3;

/// Prints the seconds of training.
const PEER: &str = r#"
import sys, time
from gensim.models import Word2Vec
path, sg, hs, epochs = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])
m = Word2Vec(vector_size=100, window=5, min_count=5, sample=1e-3, sg=sg, hs=hs, negative=0 if hs else 5, workers=2)
m.build_vocab(corpus_file=path)
began = time.perf_counter()
m.train(corpus_file=path, total_examples=m.corpus_count, total_words=m.corpus_total_words, epochs=epochs)
print(time.perf_counter() - began)
"#;

fn main() -> Result<()> {
    // Cargo adds `--bench` to what the user gives.
    let args: Vec<String> = std::env::args().skip(1).filter(|arg| arg != "--bench").collect();
    let dir = tempfile::tempdir()?;
    let path = match args.first() {
        Some(path) => PathBuf::from(path),
        None => made::documents(dir.path(), 40_000)?,
    };
    let epochs: usize = args.get(1).map_or(Ok(1), |n| n.parse()).context("the epochs are a whole number")?;
    let python = std::env::var("PYTHON").ok();
    let cutter = Cutter::new(CutSpec::new(LineFormat::Tokens, TokenizerParams::default()), Path::new(""))?;
    let forms = [
        ("CBOW, negative samples", Architecture::Cbow, Objective::Negative),
        ("CBOW, hierarchical", Architecture::Cbow, Objective::Hierarchical),
        ("skip-gram, negative samples", Architecture::SkipGram, Objective::Negative),
        ("skip-gram, hierarchical", Architecture::SkipGram, Objective::Hierarchical),
    ];
    for (name, architecture, objective) in forms {
        let (mut ours, mut theirs) = (Vec::new(), Vec::new());
        for round in 0..ROUNDS {
            let ctx = Ctx::new(2, round as u64)?;
            let params = Word2vecParams { architecture, objective, epochs, ..Word2vecParams::default() };
            let mut lines = Lines::open(&path, LineFormat::Tokens)?;
            let (words, beside) = (WordParams::default(), dir.path().join("model"));
            let (_, report) = word2vec::train(&mut lines, &cutter, &words, &params, &beside, &ctx)?;
            let tokens = report.facts["tokens"].as_f64().context("tokens are counted")? * epochs as f64;
            let passes = report.facts["passes"].as_array().into_iter().flatten();
            ours.push(tokens / passes.filter_map(|pass| pass["seconds"].as_f64()).sum::<f64>() / 1e6);
            if let Some(python) = &python {
                let number = |yes: bool| if yes { "1" } else { "0" };
                let answer = Command::new(python)
                    .args(["-c", PEER])
                    .arg(&path)
                    .arg(number(architecture == Architecture::SkipGram))
                    .arg(number(objective == Objective::Hierarchical))
                    .arg(epochs.to_string())
                    .output()
                    .with_context(|| format!("cannot run {python}"))?;
                ensure!(answer.status.success(), "gensim stopped: {}", String::from_utf8_lossy(&answer.stderr));
                let seconds: f64 = String::from_utf8_lossy(&answer.stdout).trim().parse()?;
                theirs.push(tokens / seconds / 1e6);
            }
        }
        print!("{name:28} {:6.2} M words/s", median(ours.clone()));
        if !theirs.is_empty() {
            let ratios = ours.iter().zip(&theirs).map(|(ours, theirs)| ours / theirs).collect();
            print!("; gensim {:6.2}, ours {:.2} times that", median(theirs), median(ratios));
        }
        println!();
    }
    Ok(())
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
