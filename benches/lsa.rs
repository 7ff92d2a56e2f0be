//! LSA against scikit-learn's TruncatedSVD on the same TF-IDF rows, pairs of words, and nearest rows.
//!
//! `cargo bench --bench lsa -- FILE [DIM]` reads documents of tokens, a line each; without a file it makes some. With `PYTHON=python3` (which
//! has scikit-learn) the decomposition alternates with scikit-learn's in each round, so that a busy machine slows both alike;
//! times are medians over the rounds, ratios medians of the ratios. scikit-learn's own values are compared with those of ARPACK,
//! which is exact: its randomised ones are several per cent too small where singular values lie close together.

#![allow(clippy::print_stdout, reason = "a bench is a program that prints its figures")]

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context, Result};
use inkstone_base::job::Ctx;
use inkstone_features::models::{lsa, ppmi, tfidf};
use inkstone_features::standalone::{CutSpec, Cutter, LineFormat, Lines};
use inkstone_models::{CooccurrenceParams, Nearest, PpmiParams, SvdParams, VectorizerParams};
use inkstone_text::TokenizerParams;
use peer::Peer;

mod made;
mod peer;

const ROUNDS: usize = 5;

/// Reads a command a line: `svd` answers seconds and the singular values, `exact` those of ARPACK.
const PEER: &str = r#"
import sys, time
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer
path, dim = sys.argv[1], int(sys.argv[2])
x = TfidfVectorizer(analyzer=str.split, min_df=2).fit_transform(open(path, encoding="utf-8").read().splitlines())
print("ready", flush=True)
for line in sys.stdin:
    svd = TruncatedSVD(dim, random_state=0, algorithm="arpack" if line.strip() == "exact" else "randomized")
    began = time.perf_counter()
    svd.fit(x)
    print(time.perf_counter() - began, *sorted(svd.singular_values_, reverse=True), flush=True)
"#;

fn main() -> Result<()> {
    // Cargo adds `--bench` to what the user gives.
    let args: Vec<String> = std::env::args().skip(1).filter(|arg| arg != "--bench").collect();
    let dir = tempfile::tempdir()?;
    let path = match args.first() {
        Some(path) => PathBuf::from(path),
        None => made::documents(dir.path(), 20_000)?,
    };
    let dim: usize = args.get(1).map_or(Ok(100), |dim| dim.parse()).context("the dimension is a whole number")?;
    let beside = dir.path().join("model");
    let ctx = Ctx::new(0, 1)?;
    let cutter = Cutter::new(CutSpec::new(LineFormat::Tokens, TokenizerParams::default()), Path::new(""))?;
    let lines = || Lines::open(&path, LineFormat::Tokens);

    let began = Instant::now();
    let (vectorizer, rows, _) = tfidf::train_rows(&mut lines()?, &cutter, &VectorizerParams::default(), &beside, &ctx)?;
    let words = vectorizer.width();
    println!(
        "{} documents, {words} terms, {} threads; rows in {:.2} s",
        vectorizer.documents(),
        ctx.threads(),
        began.elapsed().as_secs_f64()
    );
    let mut peer = std::env::var("PYTHON")
        .ok()
        .map(|python| Peer::start(&python, PEER, &[path.as_os_str(), OsStr::new(&dim.to_string())]))
        .transpose()?;
    let svd = SvdParams { dim };
    let (mut ours, mut theirs, mut singular) = (Vec::new(), Vec::new(), (Vec::new(), Vec::new()));
    for _ in 0..ROUNDS {
        let began = Instant::now();
        let model = lsa::decompose(vectorizer.clone(), &rows, &svd, &beside, &ctx)?;
        ours.push(began.elapsed().as_secs_f64());
        singular.0 = model.singular_values().to_vec();
        if let Some(peer) = &mut peer {
            let (seconds, values) = peer.ask("svd")?;
            theirs.push(seconds);
            singular.1 = values;
        }
    }
    println!("{:>8.2} s  LSA, {dim} dimensions", median(ours.clone()));
    if let Some(peer) = &mut peer {
        let ratios = ours.iter().zip(&theirs).map(|(ours, theirs)| theirs / ours).collect();
        println!("{:>8.2} s  TruncatedSVD: {:.2} times ours", median(theirs), median(ratios));
        let (seconds, exact) = peer.ask("exact")?;
        let worst = |values: &[f64]| values.iter().zip(&exact).map(|(v, e)| (v / e - 1.0).abs()).fold(0.0, f64::max);
        println!(
            "{seconds:>8.2} s  ARPACK; worst singular value off by {:.1e} here, {:.1e} in TruncatedSVD",
            worst(&singular.0),
            worst(&singular.1)
        );
    }

    let counting = CooccurrenceParams::default();
    let params = PpmiParams { svd, ..PpmiParams::default() };
    let began = Instant::now();
    let (model, report) =
        ppmi::train(&mut lines()?, &cutter, &counting, &params, &beside, ppmi::Matrices::default(), &ctx)?;
    let tokens = report.facts["tokens"].as_u64().unwrap_or(0);
    println!(
        "{:>8.2} s  PPMI vectors of {} words from {} pairs ({:.2} M tokens, window {})",
        began.elapsed().as_secs_f64(),
        model.words().len(),
        report.facts["pairs"],
        tokens as f64 / 1e6,
        counting.window
    );

    let nearest = ctx.install(|| Nearest::new(model.values(), model.dim()))?;
    let queries = &model.values()[..model.values().len().min(1000 * model.dim())];
    let began = Instant::now();
    let found = ctx.install(|| nearest.query_all(queries, 10));
    let seconds = began.elapsed().as_secs_f64();
    println!(
        "{:>8.2} ms a query for the 10 nearest of {} vectors, {} at once",
        1e3 * seconds / found.len() as f64,
        nearest.len(),
        found.len()
    );
    Ok(())
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
