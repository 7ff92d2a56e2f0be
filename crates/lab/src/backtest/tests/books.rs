//! Books, benchmark, samples and capacity on markets small enough to check by hand.

use super::{DAYS, factor, market, small, test, wavy};
use crate::backtest::{Outcome, Params, Portfolio, Weights};
use inkstone_base::code::Code;
use inkstone_market::{Market, Price, Security};

/// Rows of a price table with these columns; a cell that is empty has no row.
fn table(columns: &str, codes: &[&str], cell: impl Fn(usize, usize) -> String) -> String {
    let mut text = format!("date,code,{columns}\n");
    for (t, day) in DAYS.iter().enumerate() {
        for (i, code) in codes.iter().enumerate().filter(|(i, _)| !cell(t, *i).is_empty()) {
            text += &format!("{day},{code},{}\n", cell(t, i));
        }
    }
    text
}

const FOUR: [&str; 4] = ["600001.SH", "600002.SH", "600003.SH", "600004.SH"];

fn book<'a>(outcome: &'a Outcome, name: &str) -> &'a Portfolio {
    outcome.portfolios.iter().find(|book| book.name == name).unwrap()
}

fn close_to(ours: &[f64], expected: &[f64]) {
    let equal = ours.len() == expected.len() && ours.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-12);
    assert!(equal, "{ours:?} instead of {expected:?}");
}

#[test]
fn a_delisted_holding_takes_the_assumed_return_once_and_is_cash_from_the_next_rebalancing() {
    // Name 4 has its last price, 10, on day 2. Names 3 and 4 are the top throughout.
    let rows = table("open,close", &FOUR, |t, i| if i == 3 && t > 2 { String::new() } else { "10,10".into() });
    let market = Market::of_text(&rows, &[]).unwrap();
    let values = factor(&market, 0..4, |_, i| i as f64);
    let outcome = |params: Params| test(&values, &market, &params).unwrap();
    let kept = outcome(small());
    assert_eq!((kept.execution.delisted, kept.long_short.long.iter().sum::<f64>()), (1, 0.0));
    // Entries on days 1 to 4; the return from day 2 to day 3 has the loss, once.
    let halved = outcome(Params { delisting_return: -0.5, ..small() });
    close_to(&halved.long_short.long, &[0.0, -0.25, 0.0, 0.0]);
    // Of what is left two thirds are in name 3. On day 3 the rest is cash and goes to what can be bought, name 3.
    close_to(&book(&halved, "long").turnover, &[0.5, 0.0, (1.0 / 3.0) / 2.0, 0.0]);
    assert_eq!(halved.untradable["long leg: could not be entered"], 2, "its values of days 2 and 3");
    let lost = outcome(Params { delisting_return: -1.0, rebalance: 3, ..small() });
    close_to(&lost.long_short.long, &[0.0, -0.5, 0.0, 0.0, 0.0][..lost.long_short.long.len()]);
    // In the layers the return that ends after the last price has it too: mean of name 3 and 4 on the date before.
    close_to(&[halved.layers.mean[0][1]], &[(0.0 - 0.25 + 0.0 + 0.0) / 4.0]);
}

#[test]
fn what_is_bought_on_a_day_is_sold_on_a_later_one() {
    // Bought at the open of day 1 for 10; it closes at 20 and opens at 5. The value of day 1 says sell: at the open of day 2.
    let open = |t: usize, i: usize| if i == 3 && t > 1 { 5.0 } else { 10.0 };
    let close = |t: usize, i: usize| if i == 3 && t == 1 { 20.0 } else { open(t, i) };
    let market = market(4, open, close);
    let turn = factor(&market, 0..2, |t, i| if t == 0 { i as f64 } else { -(i as f64) });
    let outcome = test(&turn, &market, &Params { limits: vec![], ..small() }).unwrap();
    close_to(&outcome.long_short.long, &[-0.25, 0.0]);
    close_to(&book(&outcome, "long").turnover, &[0.5, 1.0]);
}

#[test]
fn nobody_gets_in_on_a_day_of_one_price() {
    let rows = table("open,high,low,close", &FOUR, |t, i| match (t, i) {
        (1, 3) => "11,11,11,11".into(),
        (1, 2) => "11,11,10.2,10.5".into(),
        _ => "10,10,10,10".into(),
    });
    let market = Market::of_text(&rows, &[]).unwrap();
    let outcome = test(&factor(&market, 0..1, |_, i| i as f64), &market, &small()).unwrap();
    assert_eq!(outcome.untradable["value: one price all day, the upper limit, on the day of entry"], 1);
    assert_eq!(outcome.untradable["value: locked at the upper limit on the day of entry"], 1);
    assert_eq!(outcome.untradable["long leg: could not be entered, one price all day"], 1);
    assert_eq!(outcome.untradable["long leg: could not be entered"], 1);
    // Two purchases failed, two sales of the short leg were done.
    assert_eq!((outcome.execution.orders, outcome.execution.filled), (4, 2));
}

#[test]
fn newcomers_are_left_alone_for_as_long_as_is_said() {
    let rows = table("open,close", &FOUR, |t, i| if i == 3 && t == 0 { String::new() } else { "10,10".into() });
    let market = Market::of_text(&rows, &[]).unwrap();
    let values = factor(&market, 0..4, |_, i| i as f64);
    let params = Params { min_listed_days: 3, ..small() };
    let outcome = test(&values, &market, &params).unwrap();
    assert_eq!(outcome.untradable["value: listed for too few days on the day of entry"], 3);
    assert_eq!(outcome.ic[0].names, [3, 3, 3, 4]);
}

#[test]
fn lots_leave_cash_that_earns_nothing() {
    // A main-board name at 10, a STAR name at 30, each half of 10,000 CNY: 500 shares; 166 of the STAR market are too few.
    let codes = ["600001.SH", "600002.SH", "600003.SH", "688004.SH"];
    let rows = table("open,close", &codes, |t, i| match i {
        3 => "30,30".into(),
        2 if t > 1 => "11,11".into(),
        _ => "10,10".into(),
    });
    let market = Market::of_text(&rows, &[]).unwrap();
    let values = factor(&market, 0..1, |_, i| i as f64);
    let lots = test(&values, &market, &Params { capital: 10_000.0, limits: vec![], ..small() }).unwrap();
    close_to(&lots.long_short.long, &[0.05]);
    assert_eq!(lots.untradable["long leg: less than a lot"], 1);
    assert_eq!(lots.execution.capital, Some(10_000.0));
    // The long leg leaves a half, the short leg, of two names at 10, nothing.
    close_to(&[lots.execution.idle], &[0.25]);
    // With 20,000 CNY 333 shares are enough.
    let more = test(&values, &market, &Params { capital: 20_000.0, limits: vec![], ..small() }).unwrap();
    close_to(&[more.execution.idle], &[(1.0 - (0.5 + 333.0 * 30.0 / 20_000.0)) / 2.0]);
    assert!(test(&values, &market, &small()).unwrap().execution.idle.is_nan());
}

#[test]
fn legs_weigh_by_capitalisation_where_that_is_asked_for() {
    let rows = table("open,close,market_cap", &FOUR, |t, i| match (t, i) {
        (_, 2) => "10,10,1e8".into(),
        (0 | 1, 3) => "10,10,3e8".into(),
        (_, 3) => "12,12,3e8".into(),
        _ => "10,10,".into(),
    });
    let market = Market::of_text(&rows, &[]).unwrap();
    let values = factor(&market, 0..1, |_, i| i as f64);
    let cap = Params { weights: Weights::Cap, limits: vec![], ..small() };
    let outcome = test(&values, &market, &cap).unwrap();
    close_to(&[outcome.layers.mean[0][1], outcome.long_short.long[0]], &[0.15, 0.15]);
    assert!(outcome.layers.mean[0][0].is_nan(), "nobody in the bottom has a capitalisation");
    let equal = test(&values, &market, &Params { weights: Weights::Equal, ..cap.clone() }).unwrap();
    close_to(&[equal.layers.mean[0][1], equal.long_short.long[0]], &[0.1, 0.1]);
    let plain = super::market(4, wavy, wavy);
    let error = test(&factor(&plain, 0..1, |_, i| i as f64), &plain, &cap).unwrap_err().to_string();
    assert!(error.contains("market_cap") && error.contains("weights"), "{error}");
}

fn in_industry(code: &str, industry: &str) -> Security {
    Security { industry: Some(industry.to_owned()), ..Security::unnamed(Code::canonical(code)) }
}

#[test]
fn quantiles_within_industries_bet_on_names_and_not_on_industries() {
    // All of the bank are worse than all of the power stations; the fifth name is alone in its industry.
    let codes = ["600001.SH", "600002.SH", "600003.SH", "600004.SH", "600005.SH"];
    let securities: Vec<Security> = codes
        .iter()
        .zip(["银行", "银行", "电力", "电力", "传媒"])
        .map(|(code, name)| in_industry(code, name))
        .collect();
    let rise = |i: usize| [10.0, 10.1, 10.4, 10.5, 10.9][i];
    let rows = table("open,close", &codes, |t, i| {
        let price = if t < 2 { 10.0 } else { rise(i) };
        format!("{price},{price}")
    });
    let market = Market::of_text(&rows, &securities).unwrap();
    let values = factor(&market, 0..1, |_, i| i as f64);
    let outcome = test(&values, &market, &Params { within_industry: true, ..small() }).unwrap();
    // Names 1 and 3 against names 2 and 4; over all of them it would be 4 and 5 against the others.
    close_to(&outcome.layers.mean[0], &[(0.0 + 0.04) / 2.0, (0.01 + 0.05) / 2.0]);
    close_to(&outcome.long_short.long, &[0.03]);
    let all = test(&values, &market, &small()).unwrap();
    close_to(&[all.layers.mean[0][1]], &[0.07]);
    let error =
        test(&values, &market, &Params { preset: crate::backtest::Preset::Qlib, within_industry: true, ..small() });
    assert!(error.unwrap_err().to_string().contains("preset"));
}

#[test]
fn samples_show_the_factor_among_names_of_a_kind() {
    // The factor is right among the small, wrong among the large; of the documents name 1 to 4 have one, the others more.
    let codes: Vec<String> = (1..=12).map(|i| format!("6000{i:02}.SH")).collect();
    let codes: Vec<&str> = codes.iter().map(String::as_str).collect();
    let securities: Vec<Security> =
        codes.iter().enumerate().map(|(i, code)| in_industry(code, if i < 4 { "银行" } else { "电力" })).collect();
    let rows = table("open,close,market_cap", &codes, |t, i| {
        let step = if i < 4 { i as f64 } else { -(i as f64) };
        let price = if t < 2 { 10.0 } else { 10.0 + 0.01 * step };
        format!("{price},{price},{}e8", i + 1)
    });
    let market = Market::of_text(&rows, &securities).unwrap();
    let mut values = factor(&market, 0..1, |_, i| i as f64);
    for i in 4..12 {
        values.put(0, i, i as f64, market.dates()[0].and_hms_opt(10, 0, 0).unwrap(), if i < 8 { 2 } else { 3 });
    }
    let outcome = test(&values, &market, &small()).unwrap();
    let found: Vec<(&str, &str, f64, f64)> =
        outcome.samples.iter().map(|s| (s.by.as_str(), s.group.as_str(), s.names, s.rank_ic[0].mean.round())).collect();
    let expected = [
        ("size", "small", 4.0, 1.0),
        ("size", "middle", 4.0, -1.0),
        ("size", "large", 4.0, -1.0),
        ("industry", "电力", 8.0, -1.0),
        ("industry", "银行", 4.0, 1.0),
        ("coverage", "few", 4.0, 1.0),
        ("coverage", "some", 4.0, -1.0),
        ("coverage", "many", 4.0, -1.0),
    ];
    assert_eq!(found, expected);
    // Names 3 and 4 against 1 and 2: (0.02 + 0.03 - 0.00 - 0.01) / 2 on a price of 10.
    close_to(&outcome.samples[0].spread, &[0.002]);
    for i in 0..12 {
        values.put(0, i, i as f64, market.dates()[0].and_hms_opt(10, 0, 0).unwrap(), 0);
    }
    let uncounted = test(&values, &market, &small()).unwrap();
    assert!(uncounted.samples.iter().all(|s| s.by != "coverage"), "a table without counts");
}

#[test]
fn the_benchmark_is_the_mean_of_what_traded_or_a_code_that_is_then_no_name() {
    let codes = ["000300.SH", "600001.SH", "600002.SH", "600003.SH", "600004.SH"];
    let rows = table("open,close", &codes, |t, i| {
        let price = if t < 2 { 10.0 } else { [10.1, 10.0, 10.2, 10.4, 10.6][i] };
        format!("{price},{price}")
    });
    let market = Market::of_text(&rows, &[]).unwrap();
    let values = factor(&market, 0..1, |_, i| i as f64);
    let tested = |benchmark: &str| test(&values, &market, &Params { benchmark: benchmark.to_owned(), ..small() });
    let index = tested("000300.SH").unwrap();
    let benchmark = index.benchmark.as_ref().unwrap();
    assert_eq!((benchmark.name.as_str(), index.ic[0].names[0], index.coverage.universe[0]), ("000300.SH", 4, 4));
    close_to(&benchmark.returns, &[0.01]);
    // Costs of opening: 5 bp of what is bought, 15 bp of what is sold short.
    close_to(&book(&index, "long").excess, &[0.05 - 0.0005 - 0.01]);
    close_to(&book(&index, "short").excess, &[-0.01 - 0.0015 + 0.01]);
    assert!(book(&index, "factor_weighted").excess.is_empty());
    assert_eq!(book(&index, "long").excess_total.unwrap().hit_rate, 1.0);
    // Values -1.5, -0.5, 0.5, 1.5 from their mean, over 4.
    let weighted = (-1.5 * 0.0 - 0.5 * 0.02 + 0.5 * 0.04 + 1.5 * 0.06) / 4.0;
    close_to(&book(&index, "factor_weighted").gross, &[weighted]);
    close_to(&book(&index, "factor_weighted").turnover, &[0.5]);

    let universe = tested("universe").unwrap();
    close_to(&universe.benchmark.unwrap().returns, &[(0.01 + 0.0 + 0.02 + 0.04 + 0.06) / 5.0]);
    let none = tested("none").unwrap();
    assert!(none.benchmark.is_none() && book(&none, "long").excess_total.is_none());
    let error = tested("000905.SH").unwrap_err().to_string();
    assert!(error.contains("000905.SH") && error.contains("universe"), "{error}");
}

#[test]
fn capacity_is_set_by_the_tightest_order_of_a_day() {
    // Half a leg in each name. The thinnest trades 1,000 shares at 10 CNY: 10 % of 10,000 CNY is half of a leg of 2,000.
    let rows = table("open,close,volume", &FOUR, |_, i| format!("10,10,{}", if i == 3 { 1_000 } else { 5_000 }));
    let market = Market::of_text(&rows, &[]).unwrap();
    let hold = factor(&market, 0..3, |_, i| i as f64);
    let outcome = test(&hold, &market, &small()).unwrap();
    assert_eq!(outcome.capacity.days, 1, "nothing is ordered later");
    close_to(&[outcome.capacity.median, outcome.capacity.low], &[2_000.0, 2_000.0]);
    // An amount wins over volume x price, and the share is a parameter.
    let rows =
        table("open,close,volume,amount", &FOUR, |_, i| format!("10,10,100,{}", if i == 0 { 4_000 } else { 9_000 }));
    let market = Market::of_text(&rows, &[]).unwrap();
    let params = Params { volume_share: 0.5, ..small() };
    close_to(&[test(&hold, &market, &params).unwrap().capacity.median], &[4_000.0]);
    let unknown = super::market(4, wavy, wavy);
    let values = factor(&unknown, 0..3, |_, i| i as f64);
    assert!(test(&values, &unknown, &small()).unwrap().capacity.median.is_nan());
}

#[test]
fn the_best_names_are_held_with_a_buffer_and_slippage_is_paid_on_both_sides() {
    let market = market(4, |_, _| 10.0, |_, _| 10.0);
    let turn = factor(&market, 0..3, |t, i| if t == 0 { i as f64 } else { -(i as f64) });
    let params = Params { top: 2, drop: 1, slippage_bps: 10.0, ..small() };
    let outcome = test(&turn, &market, &params).unwrap();
    let best = book(&outcome, "top_2");
    // Names 3 and 4, then one of them a day is replaced.
    close_to(&best.turnover, &[0.5, 0.5, 0.5]);
    close_to(&best.net, &[-15e-4, -(0.5 * 15.0 + 0.5 * 25.0) * 1e-4, -(0.5 * 15.0 + 0.5 * 25.0) * 1e-4]);
    assert!(test(&turn, &market, &Params { top: 0, ..small() }).unwrap().portfolios.len() == 3);
    assert!(test(&turn, &market, &Params { drop: 0, ..params }).unwrap_err().to_string().contains("drop"));
}

#[test]
fn the_order_of_rows_and_the_threads_change_no_figure() {
    let codes: Vec<String> = (1..=9).map(|i| format!("60000{i}.SH")).collect();
    let codes: Vec<&str> = codes.iter().map(String::as_str).collect();
    let securities: Vec<Security> =
        codes.iter().enumerate().map(|(i, code)| in_industry(code, ["银行", "电力"][i % 2])).collect();
    let rows = table("open,close,volume,market_cap", &codes, |t, i| {
        if i == 5 && t > 3 {
            return String::new();
        }
        format!("{},{},{},{}e8", wavy(t, i), wavy(t, i) + 0.01, 100 * (i + 1), 3 + (i * 7) % 5)
    });
    let mut turned: Vec<&str> = rows.lines().skip(1).collect();
    turned.reverse();
    let turned = format!("date,code,open,close,volume,market_cap\n{}\n", turned.join("\n"));
    let params = Params {
        top: 3,
        drop: 1,
        capital: 1e6,
        delisting_return: -0.3,
        weights: Weights::Cap,
        within_industry: true,
        price: Some(Price::Close),
        ..small()
    };
    let json = |rows: &str, threads| {
        let market = Market::of_text(rows, &securities).unwrap();
        let values = factor(&market, 0..5, |t, i| ((t * 5 + i * 3) % 7) as f64);
        let ctx = inkstone_base::job::Ctx::new(threads, 1).unwrap();
        serde_json::to_string(&crate::backtest::run(&values, &market, &params, &ctx).unwrap().0).unwrap()
    };
    assert_eq!(json(&rows, 1), json(&turned, 3));
}
