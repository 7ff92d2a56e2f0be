//! One stock with its documents, and two factors over one another.

use std::fs;

use serde_json::Value;

use crate::desk::{DAYS, Desk};
use crate::{assert_says, run};

/// A second factor, of prices.
const REVERSAL: &str = r#"
[[factor]]
name = "reversal"
expression = "0 - delta(log(market.close), 1)"
min_names = 2
"#;

fn desk_of_two() -> Desk {
    let desk = Desk::new();
    let config = fs::read_to_string(desk.folder().join("workbench.toml")).unwrap();
    desk.write("workbench.toml", config + REVERSAL);
    desk
}

#[test]
fn a_stock_is_told_with_its_documents_their_returns_and_the_factor_around_them() {
    let desk = desk_of_two();
    let stock = |flags: &[&str]| run(desk.folder(), &[&["stock"], flags].concat());
    assert_says(&stock(&["600101"]).refusal(), &["there are no prices yet", "inkstone ingest"]);
    desk.run().finished();

    let json = stock(&["sh600101"]).finished();
    assert_eq!(json["code"], "600101.SH");
    let prices = &json["prices"];
    assert_eq!((prices["from"].as_str(), prices["to"].as_str()), (Some(DAYS[0]), Some(DAYS[10])), "{prices:#}");
    assert_eq!((&prices["days_traded"], &prices["days_suspended"]), (&Value::from(11), &Value::from(0)));
    assert_eq!(json["factor"]["name"], "tone");
    let documents = json["documents"].as_array().unwrap();
    assert_eq!(documents.len(), 8);
    let first = &documents[0];
    assert_eq!((first["doc_id"].as_str(), first["trade_date"].as_str()), (Some("news/0-0"), Some(DAYS[0])));
    assert_eq!(first["tradable_from"], DAYS[0], "it was published before the close: {first:#}");
    assert!(first["abnormal_return"].is_null(), "the first day of the table has no return");
    assert!(first["factor_before"]["value"].is_null() && first["factor"]["value"].is_number(), "{first:#}");
    // What is expected is the mean of all four names, so that abnormal returns of a day sum to nothing.
    let of_code = |code: &str, document: usize, days: &str| {
        let json = stock(&[code]).finished();
        json["documents"][document]["abnormal_return_after_days"][days].as_f64().unwrap()
    };
    let sum: f64 = ["600101", "600102", "103", "300104"].map(|code| of_code(code, 1, "1")).iter().sum();
    assert!(sum.abs() < 1e-9, "{sum}");
    assert!(
        documents[7]["abnormal_return_after_days"]["3"].is_number(),
        "the eighth of eleven days has three after it"
    );
    assert!(documents[7]["abnormal_return_after_days"]["5"].is_null());

    let json = stock(&["600101.SH", "--factor", "reversal", "--svg", "stock.svg"]).finished();
    assert_eq!((&json["factor"]["name"], &json["written"][0]), (&"reversal".into(), &"stock.svg".into()));
    let picture = fs::read_to_string(desk.folder().join("stock.svg")).unwrap();
    assert!(picture.starts_with("<svg") && picture.contains("600101.SH"));
    for (flags, said) in [
        (&["600999"][..], &["600999 is not in the price table", "write a code as"][..]),
        (&["600101", "--factor", "tonne"], &["tonne"]),
        (&["600101", "--png", "stock.svg"], &["--png", "ends in .png"]),
    ] {
        assert_says(&stock(flags).refusal(), said);
    }
}

#[test]
fn days_without_a_price_are_days_of_suspension_and_not_of_trade() {
    let desk = Desk::new();
    let prices = fs::read_to_string(desk.folder().join("prices.csv")).unwrap();
    let gone = |line: &&str| line.contains("300104") && DAYS[4..6].iter().any(|day| line.starts_with(day));
    assert_eq!(prices.lines().filter(gone).count(), 2, "{prices}");
    let kept: Vec<&str> = prices.lines().filter(|line| !gone(line)).collect();
    desk.write("prices.csv", kept.join("\n") + "\n");
    desk.run().finished();
    let prices = &run(desk.folder(), &["stock", "300104"]).finished()["prices"];
    assert_eq!((&prices["days_traded"], &prices["days_suspended"]), (&Value::from(9), &Value::from(2)), "{prices:#}");
}

#[test]
fn two_factors_are_compared_date_by_date() {
    let desk = desk_of_two();
    let compare = |flags: &[&str]| run(desk.folder(), &[&["compare"], flags].concat());
    assert_says(&compare(&["tone", "reversal"]).refusal(), &["\"tone\" is not tested yet", "inkstone backtest"]);
    desk.run().finished();
    let json = compare(&["tone", "reversal"]).finished();
    let pair = &json["pair"];
    assert_eq!((pair["a"].as_str(), pair["b"].as_str(), &pair["horizon"]), (Some("tone"), Some("reversal"), &1.into()));
    let dates = pair["dates"].as_array().unwrap();
    let numbers = |key: &str| pair[key].as_array().unwrap().iter().map(Value::as_f64).collect::<Vec<_>>();
    let (correlations, overlaps) = (numbers("correlations"), numbers("overlaps"));
    assert!(!dates.is_empty() && dates.len() == correlations.len() && dates.len() == overlaps.len(), "{pair:#}");
    assert!(correlations.iter().flatten().all(|value| (-1.0..=1.0).contains(value)), "{correlations:?}");
    assert!(overlaps.iter().flatten().all(|share| (0.0..=1.0).contains(share)), "{overlaps:?}");
    let there: Vec<f64> = correlations.iter().flatten().copied().collect();
    let mean = there.iter().sum::<f64>() / there.len() as f64;
    assert!((pair["mean_correlation"].as_f64().unwrap() - mean).abs() < 1e-12, "{pair:#}");
    // The order of the two changes nothing.
    let turned = compare(&["reversal", "tone"]).finished();
    assert_eq!(turned["pair"]["correlations"], pair["correlations"]);
    for (flags, said) in [(&["tone", "tone"][..], &["two different factors"][..]), (&["tone", "nobody"], &["nobody"])] {
        assert_says(&compare(flags).refusal(), said);
    }
}
