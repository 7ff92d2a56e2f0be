//! The books against the packages whose rules they follow: `tests/reference/{alphalens,qlib}` hold what these made.

use std::collections::BTreeMap;

use super::book::factor_weights;
use super::figures::{figures, wealth};
use super::orders::{Blocked, Holding};
use super::topk;
use crate::backtest::cross::{Prices, pair};
use crate::backtest::parity::{number, reference, same, table};
use crate::backtest::{Params, Portfolio, Preset, run};
use crate::factor::Factor;
use inkstone_base::job::Ctx;
use inkstone_market::{Gate, Market, Price, Tradability};

fn read(values: &str) -> (Market, Factor) {
    let market = Market::read(&reference("alphalens/prices.csv"), &[]).unwrap();
    let factor = Factor::read(&reference(values), &market).unwrap().0;
    (market, factor)
}

fn book(values: &str, name: &str, params: &Params) -> Portfolio {
    let (market, factor) = read(values);
    let outcome = run(&factor, &market, params, &Ctx::new(2, 1).unwrap()).unwrap().0;
    outcome.portfolios.into_iter().find(|book| book.name == name).unwrap()
}

fn qlib(days_per_year: u32) -> Params {
    let base = Params { horizons: vec![1], quantiles: 2, max_loss: 1.0, days_per_year, ..Params::default() };
    Params { preset: Preset::Qlib, top: 4, drop: 2, ..base }
}

#[test]
fn the_names_that_topk_dropout_holds_day_by_day() {
    let (market, factor) = read("qlib/scores.csv");
    let close = market.price(Price::Close).unwrap();
    let mut held: Vec<Holding> = Vec::new();
    let rule = topk::HoldingRule { top: 4, drop: 2, python: true };
    for row in table("qlib/topk.csv") {
        let e = market.calendar().index_of(row["date"].parse().unwrap()).unwrap();
        let scores = factor.values.row(e - 1);
        let names: Vec<u32> = (0..scores.len() as u32).filter(|&i| !scores[i as usize].is_nan()).collect();
        let values: Vec<f64> = names.iter().map(|&i| scores[i as usize]).collect();
        let gate = |i: u32| if close.at(e, i as usize).is_nan() { Gate::Shut } else { Gate::Free };
        let orders = topk::orders(&held, (&names, &values), rule, gate, &mut Blocked::default());
        let kept = orders.iter().filter(|order| order.to != 0.0);
        held = kept.map(|order| Holding { name: order.name, weight: order.to }).collect();
        let codes: Vec<&str> = held.iter().map(|h| market.codes()[h.name as usize].as_str()).collect();
        assert_eq!(codes.join(" "), row["held"], "{}", row["date"]);
    }
}

#[test]
fn the_returns_of_topk_dropout_and_their_risk_analysis() {
    let ours = book("qlib/scores.csv", "top_4", &qlib(238));
    let by_date: BTreeMap<String, f64> =
        ours.dates.iter().map(|date| date.to_string()).zip(ours.gross.iter().copied()).collect();
    let theirs = table("qlib/topk.csv");
    // On its first day Qlib's account only buys.
    let returns: Vec<f64> = theirs[1..].iter().map(|row| by_date[&row["date"]]).collect();
    returns.iter().zip(&theirs[1..]).for_each(|(r, row)| same(*r, number(row, "return"), &row["date"]));
    for row in table("qlib/risk.csv") {
        let (name, days) = row["figure"].rsplit_once('_').unwrap();
        let days: u32 = days.parse().unwrap();
        let figures = figures(&returns, &qlib(days));
        let per_year = f64::from(days);
        let ours = match name {
            "mean" => figures.annual_return / per_year,
            "std" => figures.volatility / per_year.sqrt(),
            "annualized_return" => figures.annual_return,
            "information_ratio" => figures.sharpe,
            "max_drawdown" => figures.max_drawdown,
            other => panic!("{other}"),
        };
        same(ours, number(&row, "value"), &row["figure"]);
    }
}

#[test]
fn the_weights_and_returns_of_alphalenss_factor_portfolio() {
    let params =
        Params { preset: Preset::Alphalens, horizons: vec![1, 3, 5], quantiles: 4, max_loss: 0.5, ..Params::default() };
    let (market, factor) = read("alphalens/factor.csv");
    let tradability = Tradability::new(&market, Price::Close, &[]).unwrap();
    let prices = Prices::new(&factor, &market, &tradability, &params).unwrap();
    let (crosses, _) = pair(&factor, &market, &prices, &params, &Ctx::new(2, 1).unwrap()).unwrap();
    let ours: Vec<(String, f64)> = crosses
        .iter()
        .flat_map(|cross| factor_weights(cross).into_iter().map(|h| (cross.t, h)))
        .map(|(t, h)| (format!("{} {}", market.dates()[t], market.codes()[h.name as usize]), h.weight))
        .collect();
    let theirs = table("alphalens/weights.csv");
    assert_eq!(ours.len(), theirs.len());
    for ((cell, weight), row) in ours.iter().zip(&theirs) {
        assert_eq!(*cell, format!("{} {}", row["date"], row["asset"]));
        same(*weight, number(row, "weight"), cell);
    }

    // A return stands at the date of its end here, at that of its beginning there; a date that could not be cut has none there.
    let book = book("alphalens/factor.csv", "factor_weighted", &params);
    let before = |end: chrono::NaiveDate| market.dates()[market.calendar().index_of(end).unwrap() - 1].to_string();
    let ours: BTreeMap<String, f64> = book.dates.iter().map(|end| before(*end)).zip(book.gross).collect();
    let mut theirs = table("alphalens/factor_returns.csv");
    theirs.retain(|row| !number(row, "return").is_nan());
    let returns: Vec<f64> = theirs.iter().map(|row| ours[&row["date"]]).collect();
    for ((r, growth), row) in returns.iter().zip(wealth(&returns)).zip(&theirs) {
        same(*r, number(row, "return"), &row["date"]);
        same(growth, number(row, "growth"), &row["date"]);
    }
    assert!(theirs.len() > 30);
}
