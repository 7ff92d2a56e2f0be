//! Fitting linear models on dense rows, such as vectors of texts, against scikit-learn: same rows, same goal, same objective.
//!
//! `PYTHON=path/to/python cargo bench --bench dense` makes 100,000 rows of 768 correlated columns. Both sides standardise the columns
//! and fit, in turn within each round; times are medians over the rounds, ratios the medians of each round's. scikit-learn takes the
//! 32-bit rows and stops at its default tolerance, ours stops at a tighter one. Then both are fitted once more, tightly and
//! scikit-learn on 64-bit rows, and the farthest score is printed. scikit-learn uses as many threads as ours (`OMP_NUM_THREADS`).

#![allow(clippy::print_stdout, reason = "a bench is a program that prints its figures")]

use std::time::Instant;

use anyhow::Result;
use inkstone_base::job::Ctx;
use inkstone_models::{
    DenseRows, EstimatorParams, FoldFeatures, Goal, Method, Split, StackedRows, TrainingRows, fit_estimator,
};
use peer::Peer;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

mod peer;

const ROUNDS: usize = 3;
const ROWS: usize = 100_000;
const COLUMNS: usize = 768;

/// Columns that the others are mixed from.
const FACTORS: usize = 48;

/// Rows whose scores are compared.
const COMPARED: usize = 1000;

/// Fits the model that each line names; answers with the seconds, and after `exact` with the scores of the first rows.
const PEER: &str = "
import sys, time
import numpy as np
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.preprocessing import StandardScaler
columns, compared = int(sys.argv[3]), int(sys.argv[4])
rows = np.fromfile(sys.argv[1], dtype=np.float32).reshape(-1, columns)
value = np.fromfile(sys.argv[2], dtype=np.float64)
up = value > 0
def fit(name, rows, **exact):
    x = StandardScaler().fit_transform(rows)
    if name == 'ridge':
        return Ridge(alpha=1.0).fit(x, value), x
    return LogisticRegression(max_iter=1000, **exact).fit(x, up), x
print('ready', flush=True)
for line in sys.stdin:
    name, how = line.split()
    began = time.perf_counter()
    if how == 'timed':
        fit(name, rows)
        print(time.perf_counter() - began, flush=True)
    else:
        model, x = fit(name, rows.astype(np.float64), solver='newton-cholesky', tol=1e-12)
        scores = model.predict(x[:compared]) if name == 'ridge' else model.decision_function(x[:compared])
        print(time.perf_counter() - began, *scores, flush=True)
";

fn main() -> Result<()> {
    let (data, value) = made();
    let folder = tempfile::tempdir()?;
    let (rows, values) = (folder.path().join("rows.f32"), folder.path().join("values.f64"));
    std::fs::write(&rows, data.iter().flat_map(|v| v.to_le_bytes()).collect::<Vec<u8>>())?;
    std::fs::write(&values, value.iter().flat_map(|v| v.to_le_bytes()).collect::<Vec<u8>>())?;
    let data = DenseRows::new(COLUMNS, data)?;
    let split = Split { train: (0..ROWS).collect(), ..Split::default() };
    let class = value.iter().map(|v| u32::from(*v > 0.0)).collect();
    let names = vec!["down".to_owned(), "up".to_owned()];
    let contenders =
        [("ridge", Method::Ridge, Goal::Values(value)), ("logistic", Method::Logistic, Goal::Classes { class, names })];
    let ctx = Ctx::new(0, 1)?;
    let (columns, compared) = (COLUMNS.to_string(), COMPARED.to_string());
    let args = [rows.as_os_str(), values.as_os_str(), columns.as_ref(), compared.as_ref()];
    let mut peer = std::env::var("PYTHON").ok().map(|python| Peer::start(&python, PEER, &args)).transpose()?;
    println!("{ROWS} rows of {COLUMNS} columns, {} threads, median of {ROUNDS} rounds", ctx.threads());
    for (name, method, goal) in contenders {
        let mut params = EstimatorParams { method, ..EstimatorParams::default() };
        let fit = |params: &EstimatorParams| {
            ctx.install(|| -> Result<_> {
                let (x, _) = StackedRows::of_dense(&data).fold(&split)?;
                Ok((fit_estimator(&x, &goal, TrainingRows::default(), params, &ctx)?, x))
            })
        };
        params.linear.tolerance = 1e-5;
        let (mut ours, mut theirs) = (Vec::new(), Vec::new());
        let mut products = 0;
        for _ in 0..ROUNDS {
            let began = Instant::now();
            let (model, _) = fit(&params)?;
            ours.push(began.elapsed().as_secs_f64());
            products = model.convergence[0].iterations;
            if let Some(peer) = &mut peer {
                theirs.push(peer.ask(&format!("{name} timed"))?.0);
            }
        }
        let ratios = theirs.iter().zip(&ours).map(|(theirs, ours)| theirs / ours).collect();
        println!(
            "{name:<9} {:>7.3} s ({products} products), scikit-learn {:>7.3} s, {:>5.2} of its speed",
            median(ours),
            median(theirs),
            median(ratios),
        );
        if let Some(peer) = &mut peer {
            params.linear.tolerance = 1e-9;
            let (model, x) = fit(&params)?;
            let scores = model.scores(&x);
            let (_, expected) = peer.ask(&format!("{name} exact"))?;
            let farthest = scores.iter().zip(&expected).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
            println!("{name:<9} farthest of {} scores: {farthest:.1e}", expected.len());
        }
    }
    Ok(())
}

/// Rows whose columns are mixed from fewer, of unlike scale and mean, and a value by planted weights and noise.
fn made() -> (Vec<f32>, Vec<f64>) {
    let mut random = ChaCha8Rng::seed_from_u64(1);
    let mut uniform = |n: usize| -> Vec<f32> { (0..n).map(|_| random.random_range(-1.0f32..1.0)).collect() };
    let (mixing, scales, shifts) = (uniform(FACTORS * COLUMNS), uniform(COLUMNS), uniform(COLUMNS));
    let weights = uniform(COLUMNS);
    let (mut data, mut value) = (Vec::with_capacity(ROWS * COLUMNS), Vec::with_capacity(ROWS));
    for _ in 0..ROWS {
        let (factors, mut row) = (uniform(FACTORS), uniform(COLUMNS));
        for (factor, mixing) in factors.iter().zip(mixing.chunks(COLUMNS)) {
            row.iter_mut().zip(mixing).for_each(|(x, by)| *x += factor * by);
        }
        let dot: f32 = row.iter().zip(&weights).map(|(x, w)| x * w).sum();
        value.push(f64::from(dot + 20.0 * uniform(1)[0]));
        row.iter_mut().zip(&scales).zip(&shifts).for_each(|((x, scale), shift)| *x = *x * (0.1 + scale.abs()) + shift);
        data.extend(row);
    }
    (data, value)
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}
