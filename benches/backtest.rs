//! A backtest against alphalens and polars on the same panels: 1.16 million values, and the A shares of ten years (12.5 million).
//!
//! `cargo bench --bench backtest`. With `PYTHON=python3` (which has alphalens-reloaded and polars) the three alternate in each round, so
//! that a busy machine slows all alike; times are medians over the rounds, the ratio the median of the ratios. alphalens and polars make
//! forward returns, RankIC, returns by quantile, turnover and autocorrelation; ours makes these and all of its books, samples and styles
//! beside them. Tables are read before the clock starts.

#![allow(clippy::print_stdout, reason = "a bench is a program that prints its figures")]

use std::fmt::Write;
use std::path::Path;
use std::time::Instant;

use anyhow::Result;
use inkstone_base::job::Ctx;
use inkstone_lab::backtest::{self, Params, Preset};
use inkstone_lab::factor::Factor;
use inkstone_market::Market;
use peer::Peer;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::StandardNormal;

mod peer;

/// Codes, dates and rounds of each panel.
const PANELS: [(usize, usize, usize); 2] = [(800, 1_450, 5), (5_000, 2_500, 1)];

/// Reads a line, tests the factor, answers the seconds and the mean RankIC at each horizon.
const ALPHALENS: &str = r#"
import contextlib, io, sys, time
import pandas as pd
import alphalens.performance as perf, alphalens.utils as utils
folder = sys.argv[1]
prices = pd.read_csv(f"{folder}/prices.csv", parse_dates=["date"]).pivot(index="date", columns="code", values="close")
factor = pd.read_csv(f"{folder}/factor.csv", parse_dates=["date"]).set_index(["date", "code"])["value"]
factor.index.names = ["date", "asset"]
print("ready", flush=True)
for line in sys.stdin:
    began = time.perf_counter()
    with contextlib.redirect_stdout(io.StringIO()):  # it prints what it dropped
        data = utils.get_clean_factor_and_forward_returns(factor, prices, quantiles=5, periods=(1, 5, 20))
    ic = perf.factor_information_coefficient(data)
    perf.mean_return_by_quantile(data, demeaned=True)
    for period in (1, 5, 20):
        perf.factor_rank_autocorrelation(data, period)
        for quantile in range(1, 6):
            perf.quantile_turnover(data["factor_quantile"], quantile, period)
    perf.factor_returns(data)
    print(time.perf_counter() - began, *ic.mean(), flush=True)
"#;

/// The same figures as lazy queries.
const POLARS: &str = r#"
import sys, time
import polars as pl
folder = sys.argv[1]
prices = pl.read_csv(f"{folder}/prices.csv").select("date", "code", "close")
factor = pl.read_csv(f"{folder}/factor.csv")
horizons, quantiles = (1, 5, 20), 5
print("ready", flush=True)
for line in sys.stdin:
    began = time.perf_counter()
    later = [(pl.col("close").shift(-h).over("code") / pl.col("close") - 1).alias(f"r{h}") for h in horizons]
    data = prices.sort("code", "date").lazy().with_columns(later).join(factor.lazy(), on=["date", "code"]).drop_nulls()
    rank = pl.col("value").rank().over("date")
    data = data.with_columns(rank=rank, layer=((rank - 1) * quantiles / pl.len().over("date")).floor().cast(pl.Int32)).collect()
    ic = data.lazy().group_by("date").agg(pl.corr("value", f"r{h}", method="spearman").alias(f"r{h}") for h in horizons).collect()
    data.lazy().group_by("date", "layer").agg(pl.col(f"r{h}").mean() for h in horizons).drop("date").group_by("layer").mean().collect()
    for h in horizons:
        before = [pl.col(c).shift(h).over("code", order_by="date").alias(f"{c}_before") for c in ("rank", "layer")]
        pairs = data.lazy().with_columns(before).drop_nulls()
        pairs.group_by("date").agg(pl.corr("rank", "rank_before")).collect()
        pairs.group_by("date", "layer").agg((pl.col("layer") != pl.col("layer_before")).mean().alias("new")).collect()
    print(time.perf_counter() - began, *(ic[f"r{h}"].mean() for h in horizons), flush=True)
"#;

fn main() -> Result<()> {
    let dir = tempfile::tempdir()?;
    let ctx = Ctx::new(0, 1)?;
    let python = std::env::var("PYTHON").ok();
    for (codes, days, rounds) in PANELS {
        write_tables(dir.path(), codes, days)?;
        let (market, factor) = tables(dir.path())?;
        let params = Params { preset: Preset::Alphalens, max_loss: 0.5, ..Params::default() };
        let mut peers = Vec::new();
        for (name, script) in [("alphalens", ALPHALENS), ("polars", POLARS)] {
            if let Some(python) = &python {
                peers.push((name, Peer::start(python, script, &[dir.path().as_os_str()])?, Vec::new(), 0.0_f64));
            }
        }
        let mut ours = Vec::new();
        let mut outcome = None;
        for _ in 0..rounds {
            let began = Instant::now();
            let (tested, _) = backtest::run(&factor, &market, &params, &ctx)?;
            ours.push(began.elapsed().as_secs_f64());
            for (_, peer, seconds, worst) in &mut peers {
                let (taken, means) = peer.ask("test")?;
                seconds.push(taken);
                let mine = tested.ic.iter().map(|series| series.rank_ic_summary.mean);
                *worst = mine.zip(means).map(|(ours, theirs)| (ours - theirs).abs()).fold(*worst, f64::max);
            }
            outcome = Some(tested);
        }
        println!("{codes} codes x {days} dates, 3 horizons, {} threads", ctx.threads());
        if let Some(outcome) = outcome {
            let (books, samples) = (outcome.portfolios.len() + 2, outcome.samples.len());
            println!("{:>8.2} s  ours, with {books} books and {samples} samples", median(ours.clone()));
        }
        for (name, _, seconds, worst) in peers {
            let ratio = median(ours.iter().zip(&seconds).map(|(ours, theirs)| theirs / ours).collect());
            println!("{:>8.2} s  {name}: {ratio:.1} times ours; mean RankICs differ by {worst:.1e}", median(seconds));
        }
    }
    Ok(())
}

/// A slow score that drives a small part of the next day's return, and the prices that come of it.
fn write_tables(folder: &Path, codes: usize, days: usize) -> Result<()> {
    let mut rng = ChaCha8Rng::seed_from_u64(11);
    let mut normal = move || rng.sample::<f64, _>(StandardNormal);
    let first = chrono::NaiveDate::from_ymd_opt(2018, 1, 2).expect("a day of the calendar");
    let weekday = |date: &chrono::NaiveDate| chrono::Datelike::weekday(date).number_from_monday() < 6;
    let mut score: Vec<f64> = (0..codes).map(|_| normal()).collect();
    let mut price: Vec<f64> = (0..codes).map(|_| 20.0 * (0.5 * normal()).exp()).collect();
    let (mut prices, mut factor) = ("date,code,open,close,volume\n".to_owned(), "date,code,value\n".to_owned());
    for date in first.iter_days().filter(weekday).take(days) {
        for i in 0..codes {
            let code = 600_000 + i;
            let open = price[i];
            price[i] *= (1.0 + 0.022 * normal() + 0.0006 * score[i]).clamp(0.9, 1.1);
            score[i] = 0.95 * score[i] + (1.0_f64 - 0.95 * 0.95).sqrt() * normal();
            writeln!(prices, "{date},{code},{open:.4},{:.4},1000000", price[i])?;
            writeln!(factor, "{date},{code},{:.6}", score[i] + 0.5 * normal())?;
        }
    }
    std::fs::write(folder.join("prices.csv"), prices)?;
    std::fs::write(folder.join("factor.csv"), factor)?;
    Ok(())
}

fn tables(folder: &Path) -> Result<(Market, Factor)> {
    let market = Market::read(&folder.join("prices.csv"), &[])?;
    let (factor, _) = Factor::read(&folder.join("factor.csv"), &market)?;
    Ok((market, factor))
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
