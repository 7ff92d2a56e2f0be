//! The study against scipy and statsmodels: `tests/reference/events` holds the panel, the documents and the figures.

use std::path::Path;

use serde_json::Value;

use crate::backtest::events::fit::Fit;
use crate::backtest::events::returns::Returns;
use crate::backtest::events::{Event, EventTest, Model, Params, run};
use inkstone_base::job::Ctx;
use inkstone_market::Market;

const CLOSE_ENOUGH: f64 = 1e-10;

fn reference(file: &str) -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/reference/events").join(file))
        .unwrap()
}

/// The wide table as one row per date and code.
fn market() -> Market {
    let wide = reference("prices.csv");
    let mut rows = wide.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let codes = rows.next().unwrap();
    let mut long = "date,code,close\n".to_owned();
    for row in rows {
        for (code, close) in codes.iter().zip(&row).skip(1) {
            long += &format!("{},{code},{close}\n", row[0]);
        }
    }
    Market::of_text(&long, &[]).unwrap()
}

fn params(model: &str) -> Params {
    Params {
        model: serde_json::from_value(model.into()).unwrap(),
        window: (-3, 5),
        estimation: (-100, -11),
        min_returns: 50,
        parts: vec![(-3, -1), (0, 0), (1, 3), (1, 5)],
        ..Params::default()
    }
}

fn same(ours: f64, theirs: &Value, what: &str) {
    let theirs = theirs.as_f64().unwrap_or(f64::NAN);
    let equal = (ours.is_nan() && theirs.is_nan()) || (ours - theirs).abs() < CLOSE_ENOUGH;
    assert!(equal, "{what}: {ours} instead of {theirs}");
}

fn all_same(ours: &[f64], theirs: &Value, what: &str) {
    assert_eq!(ours.len(), theirs.as_array().unwrap().len(), "{what}");
    ours.iter().zip(theirs.as_array().unwrap()).for_each(|(ours, theirs)| same(*ours, theirs, what));
}

/// Our tests equal theirs, part by part.
fn tests(ours: &[EventTest], theirs: &[Value], what: &str) {
    let mut number = 0;
    for (part, ours) in theirs.iter().zip(ours.chunk_by(|a, b| a.days == b.days)) {
        assert_eq!(ours.len(), part["tests"].as_object().unwrap().len());
        for test in ours {
            let what = format!("{what} {:?} {}", test.days, test.test);
            same(test.mean, &part["mean"], &what);
            same(test.statistic, &part["tests"][&test.test][0], &what);
            same(test.p, &part["tests"][&test.test][1], &what);
            number += 1;
        }
    }
    assert_eq!(number, ours.len());
}

#[test]
fn means_margins_and_tests_of_every_model() {
    let (market, ctx) = (market(), Ctx::new(2, 1).unwrap());
    let reference: Value = serde_json::from_str(&reference("study.json")).unwrap();
    let documents: Vec<(u32, u32, f64)> = serde_json::from_value(reference["documents"].clone()).unwrap();
    let events: Vec<Event> = documents.iter().map(|&(code, date, value)| Event { code, date, value }).collect();
    for theirs in reference["studies"].as_array().unwrap() {
        let model = theirs["model"].as_str().unwrap();
        let (ours, report) = run(&events, &market, &params(model), &ctx).unwrap();
        assert_eq!(serde_json::to_value(&ours.excluded).unwrap(), theirs["excluded"]);
        assert_eq!(report.rows_in, report.rows_out + report.dropped_rows());
        assert_eq!(ours.groups.len(), 3);
        for (ours, theirs) in ours.groups.iter().zip(theirs["groups"].as_array().unwrap()) {
            let what = format!("{model}, group {}", ours.group);
            assert_eq!(Some(ours.events), theirs["events"].as_u64(), "{what}");
            same(ours.values.0, &theirs["values"][0], &what);
            same(ours.values.1, &theirs["values"][1], &what);
            all_same(&ours.abnormal, &theirs["abnormal"], &what);
            all_same(&ours.cumulative, &theirs["cumulative"], &what);
            all_same(&ours.margin, &theirs["margin"], &what);
            tests(&ours.tests, theirs["parts"].as_array().unwrap(), &what);
        }
        let (ours, theirs) = (ours.difference.unwrap(), theirs["difference"].as_array().unwrap());
        tests(&ours.tests, &theirs[..4], &format!("{model}, difference"));
        for (day, theirs) in theirs[4..].iter().enumerate() {
            same(ours.cumulative[day], &theirs["mean"], model);
            same(ours.margin[day], &theirs["margin"], model);
        }
    }
}

#[test]
fn abnormal_returns_and_their_standardised_sums() {
    let (market, ctx, params) = (market(), Ctx::new(1, 1).unwrap(), params("market-model"));
    let reference: Value = serde_json::from_str(&reference("study.json")).unwrap();
    let study = reference["studies"].as_array().unwrap().iter().find(|s| s["model"] == "market-model").unwrap();
    let codes: Vec<u32> = (0..market.codes().len() as u32).collect();
    assert_eq!(params.model, Model::MarketModel);
    let returns = Returns::new(&market, &codes, &params, &ctx).unwrap();
    for theirs in study["events"].as_array().unwrap() {
        let number = |key: &str| theirs[key].as_u64().unwrap() as u32;
        let event = Event { code: number("code"), date: number("date"), value: 0.0 };
        let name = returns.name(event.code);
        let fit = Fit::new(name, &event, &params).unwrap();
        let window = fit.window(name, &event, &params);
        all_same(&window.values, &theirs["ar"], "abnormal returns");
        for (k, &(from, to)) in crate::backtest::events::sums::spans(&params)[..4].iter().enumerate() {
            let standardised = fit.car(&window, from, to).map_or(f64::NAN, |car| car.standardised);
            same(standardised, &theirs["scar"][k], "standardised");
        }
    }
}
