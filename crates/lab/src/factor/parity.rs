//! A processed cross-section equals numpy's (tests/reference/statsmodels), expressions equal pandas's (tests/reference/pandas).

use std::collections::BTreeMap;

use chrono::NaiveDate;
use serde::Deserialize;

use crate::factor::{Control, Inputs, Params, Plan, Signal, Standardise, Winsorise, build};
use inkstone_base::code::Code;
use inkstone_base::job::Ctx;
use inkstone_market::{Cutoff, Market, Security};

#[derive(Deserialize)]
struct Reference {
    raw: Vec<f64>,
    industry: Vec<Option<String>>,
    market_cap: Vec<f64>,
    value: Vec<f64>,
}

#[test]
fn winsorised_neutralised_and_standardised_as_by_least_squares() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/reference/statsmodels/factor.json");
    let reference: Reference = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let mut prices = "date,code,close,market_cap\n".to_owned();
    let mut securities = Vec::new();
    for (i, (industry, cap)) in reference.industry.iter().zip(&reference.market_cap).enumerate() {
        let code = format!("{}.SH", 600_001 + i);
        prices += &format!("2024-03-01,{code},10,{cap}\n");
        securities.push(Security { industry: industry.clone(), ..Security::unnamed(Code::canonical(&code)) });
    }
    let market = Market::of_text(&prices, &securities).unwrap();
    let known_at = NaiveDate::from_ymd_opt(2024, 3, 1).unwrap().and_hms_opt(10, 0, 0).unwrap();
    let signal = |(i, &value): (usize, &f64)| Signal::of(i as u32, 0, known_at, value);
    let signals: Vec<Signal> = reference.raw.iter().enumerate().map(signal).collect();
    let neutralise = vec![Control::Industry, Control::Size];
    let params = Params { expression: "tone".parse().unwrap(), neutralise, ..Params::default() };
    let inputs = Inputs {
        market: &market,
        cutoff: Cutoff::Close,
        signals: &signals,
        factors: &[],
        graphs: Default::default(),
        events: &[],
    };
    let plan = Plan::new(&params).unwrap();
    let (factor, _) = build(&plan, &inputs, &params, &Ctx::new(1, 1).unwrap()).unwrap();
    for (ours, theirs) in factor.values.row(0).iter().zip(&reference.value) {
        assert!((ours - theirs).abs() < 1e-10, "{ours} instead of {theirs}");
    }
}

#[test]
fn expressions_give_what_pandas_gives() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/reference/pandas/");
    let read = |file: &str| std::fs::read_to_string(format!("{folder}{file}")).unwrap();
    let market = Market::of_text(&read("prices.csv"), &[]).unwrap();
    let mut signals = Vec::new();
    for line in csv::Reader::from_reader(read("signals.csv").as_bytes()).deserialize() {
        let (date, code, value, order): (u32, String, f64, u32) = line.unwrap();
        let known_at = market.dates()[date as usize].and_hms_opt(10, order, 0).unwrap();
        signals.push(Signal::of(market.index_of(&code).unwrap() as u32, date, known_at, value));
    }
    let expressions: BTreeMap<String, Vec<Vec<Option<f64>>>> = serde_json::from_str(&read("expressions.json")).unwrap();
    for (text, theirs) in expressions {
        let params = Params {
            expression: text.parse().unwrap(),
            winsorise: Winsorise::None,
            standardise: Standardise::None,
            ..Params::default()
        };
        let plan = Plan::new(&params).unwrap();
        let signals_of = |reading| signals.iter().map(move |signal| Signal { reading, ..*signal });
        let signals: Vec<Signal> = (0..plan.readings.len() as u32).flat_map(signals_of).collect();
        let inputs = Inputs {
            market: &market,
            cutoff: Cutoff::Close,
            signals: &signals,
            factors: &[],
            graphs: Default::default(),
            events: &[],
        };
        let (factor, _) = build(&plan, &inputs, &params, &Ctx::new(2, 1).unwrap()).unwrap();
        for (t, row) in theirs.iter().enumerate() {
            for (i, theirs) in row.iter().enumerate() {
                let (ours, theirs) = (factor.raw.at(t, i), theirs.unwrap_or(f64::NAN));
                let same = (ours.is_nan() && theirs.is_nan()) || (ours - theirs).abs() < 1e-10;
                assert!(same, "{text}: {ours} instead of {theirs} on date {t}, code {i}");
            }
        }
    }
}
