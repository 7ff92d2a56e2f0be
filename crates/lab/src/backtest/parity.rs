//! The presets against the packages that they reproduce, and the summary of a series against statsmodels and scipy:
//! `tests/reference/{alphalens,qlib,statsmodels}` hold the figures of the packages.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use chrono::NaiveDate;

use crate::backtest::correlation::summarise;
use crate::backtest::cross::{Cross, Prices, pair};
use crate::backtest::{Outcome, Params, Preset, run};
use crate::factor::Factor;
use inkstone_base::job::Ctx;
use inkstone_market::{Market, Tradability};

const CLOSE_ENOUGH: f64 = 1e-10;

pub(super) fn reference(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/reference").join(file)
}

pub(super) fn table(file: &str) -> Vec<BTreeMap<String, String>> {
    csv::Reader::from_path(reference(file)).unwrap().deserialize().map(Result::unwrap).collect()
}

pub(super) fn number(row: &BTreeMap<String, String>, column: &str) -> f64 {
    let text = &row[column];
    if text.is_empty() { f64::NAN } else { text.parse().unwrap() }
}

pub(super) fn same(ours: f64, theirs: f64, what: &str) {
    let equal = (ours.is_nan() && theirs.is_nan()) || (ours - theirs).abs() < CLOSE_ENOUGH;
    assert!(equal, "{what}: {ours} instead of {theirs}");
}

/// A series equals a column; a date that only the package lists has no figure there (it fills its calendar up).
fn by_date(dates: &[NaiveDate], series: &[f64], rows: &[BTreeMap<String, String>], column: &str) {
    let mut ours: BTreeMap<String, f64> = dates.iter().map(NaiveDate::to_string).zip(series.iter().copied()).collect();
    for row in rows {
        same(ours.remove(&row["date"]).unwrap_or(f64::NAN), number(row, column), &format!("{column} {}", row["date"]));
    }
    assert!(ours.is_empty(), "only we have {ours:?}");
}

fn params(preset: Preset, horizons: &[usize]) -> Params {
    Params { preset, horizons: horizons.to_vec(), quantiles: 4, max_loss: 0.5, ..Params::default() }
}

fn backtest(params: &Params) -> (Outcome, Vec<Cross>, Market) {
    let ctx = Ctx::new(2, 1).unwrap();
    let market = Market::read(&reference("alphalens/prices.csv"), &[]).unwrap();
    let (factor, _) = Factor::read(&reference("alphalens/factor.csv"), &market).unwrap();
    let (outcome, _) = run(&factor, &market, params, &ctx).unwrap();
    let tradability = Tradability::new(&market, params.traded_price(), &[]).unwrap();
    let prices = Prices::new(&factor, &market, &tradability, params).unwrap();
    let (crosses, _) = pair(&factor, &market, &prices, params, &ctx).unwrap();
    (outcome, crosses, market)
}

const HORIZONS: [usize; 3] = [1, 3, 5];

#[test]
fn the_clean_rows_of_alphalens_their_returns_and_quantiles() {
    let (_, crosses, market) = backtest(&params(Preset::Alphalens, &HORIZONS));
    let mut ours = Vec::new();
    for cross in &crosses {
        for (k, i) in cross.names.iter().enumerate() {
            let returns: Vec<f64> = cross.returns.values().map(|returns| returns[k]).collect();
            let code = market.codes()[*i as usize].to_string();
            ours.push((market.dates()[cross.t], code, cross.quantiles[k], returns));
        }
    }
    let theirs = table("alphalens/clean.csv");
    assert_eq!(ours.len(), theirs.len());
    for ((date, code, quantile, returns), row) in ours.iter().zip(&theirs) {
        let what = format!("{date} {code}");
        assert_eq!((date.to_string(), code.as_str()), (row["date"].clone(), row["asset"].as_str()));
        same(f64::from(*quantile), number(row, "factor_quantile"), &what);
        HORIZONS.iter().zip(returns).for_each(|(h, r)| same(*r, number(row, &format!("{h}D")), &what));
    }
}

#[test]
fn the_measures_of_alphalens() {
    let (outcome, _, _) = backtest(&params(Preset::Alphalens, &HORIZONS));
    let raw = Params { demean: Some(false), ..params(Preset::Alphalens, &HORIZONS) };
    let (raw, _, _) = backtest(&raw);
    let ic = table("alphalens/rank_ic.csv");
    let spread = table("alphalens/spread.csv");
    for (h, horizon) in HORIZONS.iter().enumerate() {
        let column = format!("{horizon}D");
        let series = &outcome.ic[h];
        by_date(&series.dates, &series.rank_ic, &ic, &column);
        by_date(&outcome.layers.spread_dates[h], &outcome.layers.spread[h], &spread, &column);
        for (file, outcome) in [("demeaned", &outcome), ("raw", &raw)] {
            for (q, row) in table(&format!("alphalens/mean_return_{file}.csv")).iter().enumerate() {
                let what = format!("{file} quantile {q} horizon {horizon}");
                same(outcome.layers.mean[h][q], number(row, &column), &what);
                same(outcome.layers.stderr[h][q], number(row, &format!("{column}_stderr")), &what);
            }
        }
    }
    for row in table("alphalens/stability.csv") {
        let (figure, period) = row["figure"].split_once('_').unwrap();
        let stability = outcome.stability.iter().find(|s| s.period.to_string() == period).unwrap();
        let ours = match figure.strip_prefix('q') {
            Some(quantile) => stability.turnover[quantile.parse::<usize>().unwrap() - 1],
            None => stability.rank_autocorrelation,
        };
        same(ours, number(&row, "value"), &row["figure"]);
    }
    assert!(outcome.lookahead, "a value of the close cannot be bought at that close");
}

#[test]
fn the_measures_of_qlib() {
    let (outcome, _, _) = backtest(&params(Preset::Qlib, &[1]));
    let daily = table("qlib/daily.csv");
    let series = &outcome.ic[0];
    assert_eq!(series.dates.len(), daily.len());
    for (k, row) in daily.iter().enumerate() {
        assert_eq!(series.dates[k].to_string(), row["datetime"]);
        same(series.ic[k], number(row, "ic"), "IC");
        same(series.rank_ic[k], number(row, "rank_ic"), "rank IC");
        let at = outcome.layers.spread_dates[0].iter().position(|date| *date == series.dates[k]);
        same(at.map_or(f64::NAN, |at| outcome.layers.spread[0][at]), number(row, "long_short"), "long-short");
    }
    for (g, row) in table("qlib/groups.csv").iter().enumerate() {
        same(outcome.layers.mean[0][3 - g], number(row, "mean"), &row["group"]);
    }
    assert!(!outcome.lookahead);
}

#[test]
fn the_summary_of_a_series_under_overlap() {
    let text = std::fs::read_to_string(reference("statsmodels/summary.json")).unwrap();
    let theirs: serde_json::Value = serde_json::from_str(&text).unwrap();
    let number = |value: &serde_json::Value| value.as_f64().unwrap();
    let series: Vec<f64> = theirs["series"].as_array().unwrap().iter().map(number).collect();
    for row in theirs["horizons"].as_array().unwrap() {
        let ours = summarise(&series, row["horizon"].as_u64().unwrap() as usize);
        same(ours.t_nw, number(&row["t_nw"]), "Newey-West t");
        same(ours.p, number(&row["p"]), "p");
        for (figure, name) in
            [(ours.mean, "mean"), (ours.std, "std"), (ours.t, "t"), (ours.skew, "skew"), (ours.kurtosis, "kurtosis")]
        {
            same(figure, number(&theirs[name]), name);
        }
    }
}
