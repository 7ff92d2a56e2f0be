//! Fitting classifiers on sparse rows against scikit-learn, and trees against XGBoost and LightGBM: same rows, same classes, same
//! objective.
//!
//! `PYTHON=path/to/python cargo bench --bench classify [-- boosted]` makes 20,000 rows of about 60 terms and three classes; a word
//! picks the models whose names begin with it. The contenders take turns within each round; times are medians over the rounds,
//! ratios the medians of each round's. scikit-learn runs with its default tolerances, ours with tighter ones; in `logistic, tight` it takes
//! 64-bit rows and comes as near to the minimum as ours. Trees may use every
//! term and have 64 bins; LightGBM keeps its own least rows of a leaf (20), with which it drops rare terms. Perceptrons have ten epochs.

#![allow(clippy::print_stdout, reason = "a bench is a program that prints its figures")]

use std::time::Instant;

use anyhow::{Context, Result};
use inkstone_base::job::Ctx;
use inkstone_models::{Csr, Design, EstimatorParams, Goal, Method, NpzWriter, TrainingRows, fit_estimator};
use peer::Peer;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, Zipf};

mod peer;

const ROUNDS: usize = 3;
const ROWS: usize = 20_000;
const COLUMNS: usize = 30_000;
const CLASSES: usize = 3;

/// Fits the model that each line names; answers with the seconds and the share of rows called rightly.
const PEER: &str = "
import sys, time
import numpy as np, scipy.sparse
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import MultinomialNB
from sklearn.neural_network import MLPClassifier
from sklearn.svm import LinearSVC
rows = scipy.sparse.load_npz(sys.argv[1])
y = np.loadtxt(sys.argv[2], dtype=int)
trees = {'n_estimators': 20, 'learning_rate': 0.1, 'max_depth': 6, 'reg_lambda': 1, 'min_child_weight': 1, 'n_jobs': int(sys.argv[3])}
def xgboost():
    from xgboost import XGBClassifier
    return XGBClassifier(tree_method='hist', max_bin=64, **trees)
def lightgbm():
    from lightgbm import LGBMClassifier
    return LGBMClassifier(num_leaves=64, max_bin=64, verbose=-1, **trees)
models = {
    'logistic': lambda: LogisticRegression(max_iter=2000),
    'logistic, tight': lambda: LogisticRegression(max_iter=20000, tol=1e-6),
    'elastic': lambda: LogisticRegression(l1_ratio=0.5, solver='saga', max_iter=2000),
    'bayes': MultinomialNB,
    'svm': LinearSVC,
    'mlp': lambda: MLPClassifier((64,), batch_size=200, max_iter=10, early_stopping=True, n_iter_no_change=10),
    'xgboost': xgboost,
    'lightgbm': lightgbm,
}
print('ready', flush=True)
exact = rows.astype(np.float64)
for line in sys.stdin:
    model = models[line.strip()]()
    x = exact if 'tight' in line else rows
    began = time.perf_counter()
    model.fit(x, y)
    print(time.perf_counter() - began, model.score(x, y), flush=True)
";

fn main() -> Result<()> {
    let (x, class) = made()?;
    let names = (0..CLASSES).map(|c| c.to_string()).collect();
    let goal = Goal::Classes { class: class.clone(), names };
    let folder = tempfile::tempdir()?;
    let (rows, classes) = (folder.path().join("x.npz"), folder.path().join("y.txt"));
    let mut writer = NpzWriter::create(&rows, x.cols())?;
    writer.push(&x, [])?;
    writer.finish(None::<std::iter::Empty<&str>>)?;
    std::fs::write(&classes, class.iter().map(|c| format!("{c}\n")).collect::<String>())?;
    let x = Design::from(x);
    let ctx = Ctx::new(0, 1)?;
    let threads = ctx.threads().to_string();
    let mut peer = std::env::var("PYTHON")
        .ok()
        .map(|python| Peer::start(&python, PEER, &[rows.as_os_str(), classes.as_os_str(), threads.as_ref()]))
        .transpose()?;
    println!("{ROWS} rows, {CLASSES} classes, {threads} threads, median of {ROUNDS} rounds");
    // Cargo adds `--bench` to what the user gives.
    let wanted = std::env::args().skip(1).find(|arg| arg != "--bench").unwrap_or_default();
    for (name, theirs_is, params) in contenders().into_iter().filter(|(name, ..)| name.starts_with(&wanted)) {
        let (mut ours, mut theirs, mut right) = (Vec::new(), Vec::new(), (0.0, 0.0));
        for _ in 0..ROUNDS {
            let began = Instant::now();
            let model = ctx.install(|| fit_estimator(&x, &goal, TrainingRows::default(), &params, &ctx))?;
            ours.push(began.elapsed().as_secs_f64());
            right.0 = ctx.install(|| model.guess(&x)).judge(&goal).figure();
            if let Some(peer) = &mut peer {
                let (seconds, rest) = peer.ask(if params.method == Method::Boosted { theirs_is } else { name })?;
                theirs.push(seconds);
                right.1 = *rest.first().context("the peer answers with two numbers")?;
            }
        }
        let ratios = theirs.iter().zip(&ours).map(|(theirs, ours)| theirs / ours).collect();
        println!(
            "{name:<15} {:>8.3} s, {theirs_is} {:>8.3} s, {:>6.1} of its speed; right in training {:.5} and {:.5}",
            median(ours.clone()),
            median(theirs.clone()),
            median(ratios),
            right.0,
            right.1
        );
    }
    Ok(())
}

/// Name, peer, parameters.
fn contenders() -> Vec<(&'static str, &'static str, EstimatorParams)> {
    let params = |method| EstimatorParams { method, ..EstimatorParams::default() };
    let (mut logistic, mut elastic, mut svm) =
        (params(Method::Logistic), params(Method::Logistic), params(Method::Svm));
    logistic.linear.tolerance = 1e-5;
    elastic.linear.tolerance = 1e-4;
    elastic.linear.l1_ratio = 0.5;
    svm.linear.tolerance = 1e-4;
    let mut boosted = params(Method::Boosted);
    boosted.boosted.trees = 20;
    boosted.boosted.max_features = 0;
    let mut mlp = params(Method::Mlp);
    mlp.mlp.epochs = 10;
    vec![
        ("logistic", "scikit-learn", logistic.clone()),
        ("logistic, tight", "scikit-learn", logistic),
        ("elastic", "scikit-learn", elastic),
        ("bayes", "scikit-learn", params(Method::Bayes)),
        ("svm", "scikit-learn", svm),
        ("mlp", "scikit-learn", mlp),
        ("boosted", "xgboost", boosted.clone()),
        ("boosted", "lightgbm", boosted),
    ]
}

/// Rows of length 1 whose terms follow Zipf's law; a class by planted weights and noise.
fn made() -> Result<(Csr, Vec<u32>)> {
    let mut random = ChaCha8Rng::seed_from_u64(1);
    let zipf = Zipf::new(COLUMNS as f64, 1.0)?;
    let weights: Vec<f64> = (0..COLUMNS * CLASSES).map(|_| random.random_range(-3.0..3.0)).collect();
    let (mut x, mut class) = (Csr::new(COLUMNS), Vec::with_capacity(ROWS));
    for _ in 0..ROWS {
        let mut ids: Vec<u32> = (0..90).map(|_| zipf.sample(&mut random) as u32 - 1).collect();
        ids.sort_unstable();
        let counts: Vec<(u32, f32)> =
            ids.chunk_by(|a, b| a == b).map(|run| (run[0], (1.0 + run.len() as f32).ln())).collect();
        let length = counts.iter().map(|(_, v)| v * v).sum::<f32>().sqrt();
        let score =
            |c: usize| counts.iter().map(|&(j, v)| weights[j as usize * CLASSES + c] * f64::from(v)).sum::<f64>();
        let scores: Vec<f64> = (0..CLASSES).map(|c| score(c) + random.random_range(-4.0..4.0)).collect();
        class.push(
            (0..CLASSES as u32).fold(0, |best, c| if scores[c as usize] > scores[best as usize] { c } else { best }),
        );
        x.push_row(counts.into_iter().map(|(j, v)| (j, v / length)));
    }
    Ok((x, class))
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}
