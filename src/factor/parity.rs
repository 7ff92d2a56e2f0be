//! A processed cross-section equals numpy's (tests/reference/statsmodels).

use chrono::NaiveDate;
use serde::Deserialize;

use crate::factor::{Control, Inputs, Params, Plan, Signal, build};
use crate::job::Ctx;
use crate::market::{Code, Cutoff, Market, Security};

#[derive(Deserialize)]
struct Reference {
    raw: Vec<f64>,
    industry: Vec<Option<String>>,
    market_cap: Vec<f64>,
    value: Vec<f64>,
}

#[test]
fn winsorised_neutralised_and_standardised_as_by_least_squares() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/reference/statsmodels/factor.json");
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
    let inputs = Inputs { market: &market, cutoff: Cutoff::Close, signals: &signals, factors: &[] };
    let plan = Plan::new(&params).unwrap();
    let (factor, _) = build(&plan, &inputs, &params, &Ctx::new(1, 1).unwrap()).unwrap();
    for (ours, theirs) in factor.values.row(0).iter().zip(&reference.value) {
        assert!((ours - theirs).abs() < 1e-10, "{ours} instead of {theirs}");
    }
}
