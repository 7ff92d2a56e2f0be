//! Factors of documents on a small market.

use super::*;
use inkstone_market::table::DailyTable;

fn market() -> Market {
    let mut prices = "date,code,close,market_cap\n".to_owned();
    for day in ["02", "03", "04"] {
        for i in 1..=6 {
            prices += &format!("2024-01-{day},00000{i}.SZ,10,{}\n", f64::from(i) * 1e9);
        }
    }
    Market::of_text(&prices, &[]).unwrap()
}

fn signals(market: &Market) -> Vec<Signal> {
    let at = |date: usize, hour| market.dates()[date].and_hms_opt(hour, 30, 0).unwrap();
    (0..6u32)
        .flat_map(|code| (0..2u32).map(move |k| (code, k)))
        .map(|(code, k)| Signal {
            code,
            date: k,
            known_at: at(k as usize, 10 + code % 3),
            value: f64::from(code * code) - f64::from(k) / 3.0,
            weight: 1.0,
            first: k == 0 || code != 5,
            document: 2 * code + k,
            reading: 0,
        })
        .collect()
}

/// The factor of one reading, `tone` unless the parameters say otherwise.
fn built(signals: &[Signal], market: &Market, params: &Params, threads: usize) -> (Factor, Report) {
    let params = match params.expression.is_empty() {
        true => Params { expression: "tone".parse().unwrap(), ..params.clone() },
        false => params.clone(),
    };
    let plan = Plan::new(&params).unwrap();
    let taken_by = |reading| signals.iter().map(move |signal| Signal { reading, ..*signal });
    let signals: Vec<Signal> = (0..plan.readings.len() as u32).flat_map(taken_by).collect();
    let inputs = Inputs {
        market,
        cutoff: Cutoff::Close,
        signals: &signals,
        factors: &[],
        graphs: Default::default(),
        events: &[],
    };
    build(&plan, &inputs, &params, &Ctx::new(threads, 1).unwrap()).unwrap()
}

/// Nothing is processed.
fn bare(expression: &str) -> Params {
    Params {
        expression: expression.parse().unwrap(),
        winsorise: Winsorise::None,
        standardise: Standardise::None,
        ..Params::default()
    }
}

#[test]
fn a_factor_is_the_same_for_any_order_of_documents_and_number_of_threads() {
    let market = market();
    let mut signals = signals(&market);
    let params = Params { neutralise: vec![Control::Size], ..Params::default() };
    let table = |signals: &[Signal], threads| {
        let (factor, report) = built(signals, &market, &params, threads);
        assert_eq!((report.rows_in, report.rows_out), (12, 11));
        assert_eq!(report.dropped["repeat of an earlier document"], 1);
        factor.to_frame().unwrap()
    };
    let first = table(&signals, 1);
    signals.reverse();
    assert!(first.equals_missing(&table(&signals, 2)));
    let (read, report) = Factor::from_table(&DailyTable::Whole(first.clone()), "factor", &market).unwrap();
    assert_eq!(report.rows_in, report.rows_out);
    assert!(first.equals_missing(&read.to_frame().unwrap()), "the table reads back as it was");
}

#[test]
fn a_value_scaled_by_its_cross_section_is_known_when_the_last_of_it_is() {
    let market = market();
    let signals = signals(&market);
    let latest = market.dates()[0].and_hms_opt(12, 30, 0);
    let known = |params: &Params| {
        let (factor, _) = built(&signals, &market, params, 1);
        (0..6).map(|i| factor.known_at(0, i)).collect::<Vec<_>>()
    };
    assert_eq!(known(&Params::default()), [latest; 6]);
    let alone = bare("tone");
    let own = |i: u32| market.dates()[0].and_hms_opt(10 + i % 3, 30, 0);
    assert_eq!(known(&alone), (0..6).map(own).collect::<Vec<_>>(), "nothing of another name went in");
}

#[test]
fn no_news_is_nan_and_a_table_of_strangers_is_refused() {
    let market = market();
    let one = [signals(&market)[3]];
    let (factor, report) = built(&one, &market, &Params { lookback: 1, ..Params::default() }, 1);
    assert_eq!(factor.raw.row(0).iter().filter(|v| !v.is_nan()).count(), 0);
    assert_eq!(factor.raw.at(1, 1), one[0].value);
    assert_eq!(factor.known_at(1, 1), Some(one[0].known_at));
    assert_eq!(factor.known_at(1, 2), None);
    assert!(factor.values.at(1, 1).is_nan(), "one name is no cross-section");
    assert_eq!(report.facts["values_on_dates_with_too_few_names"], 1);
    let strangers = inkstone_tables::frames::frame(vec![
        polars_core::prelude::Column::new("date".into(), ["2024-01-02"]),
        polars_core::prelude::Column::new("code".into(), ["AAPL"]),
        polars_core::prelude::Column::new("value".into(), [1.0]),
    ])
    .unwrap();
    let error = Factor::from_table(&DailyTable::Whole(strangers.clone()), "f", &market).unwrap_err().to_string();
    assert!(error.contains("AAPL") && error.contains("000001.SZ"), "{error}");
}

fn at_close(market: &Market, t: usize) -> Option<NaiveDateTime> {
    Some(market.dates()[t].and_time(CLOSE))
}

#[test]
fn expressions_are_carried_out_on_every_level() {
    let market = market();
    let one = [Signal { value: 3.0, ..signals(&market)[4] }];
    let row = |expression: &str, t: usize| {
        let (factor, _) = built(&one, &market, &Params { lookback: 1, ..bare(expression) }, 1);
        factor.raw.row(t).to_vec()
    };
    let only = |value: f64| {
        let mut row = [f64::NAN; 6];
        row[2] = value;
        row
    };
    let same = |ours: Vec<f64>, theirs: [f64; 6]| {
        let equal = ours.iter().zip(&theirs).all(|(a, b)| (a.is_nan() && b.is_nan()) || (a - b).abs() < 1e-12);
        assert!(equal, "{ours:?} instead of {theirs:?}");
    };
    same(row("tone", 0), only(3.0));
    same(row("2 * sum(tone) - 1", 0), only(5.0));
    same(row("lag(sum(tone), 1)", 1), only(3.0));
    same(row("lag(sum(tone), 1)", 0), only(f64::NAN));
    same(row("delta(fill(sum(tone), 0), 1)", 1), [0.0, 0.0, -3.0, 0.0, 0.0, 0.0]);
    same(row("mean(fill(sum(tone), 0), days = 2)", 1), [0.0, 0.0, 1.5, 0.0, 0.0, 0.0]);
    same(row("sum(sum(tone), days = 3, decay = 0.5)", 2), only(0.75));
    same(row("rank(market.cap)", 0), [-1.0, -0.6, -0.2, 0.2, 0.6, 1.0]);
    same(row("demean(market.cap) / 1e9", 1), [-2.5, -1.5, -0.5, 0.5, 1.5, 2.5]);
    same(row("residual(market.cap, 2 * market.cap + 1)", 1), [0.0; 6]);
    same(row("market.close / lag(market.close, 1) - 1", 1), [0.0; 6]);
    same(row("sum(tone) / 0", 0), only(f64::NAN));
    same(row("log1p(-sum(tone))", 0), only(f64::NAN));
    same(row("clip(sqrt(sum(tone) + 1), 0, 1.5)", 0), only(1.5));
    same(row("count(days = 2)", 1), only(1.0));
}

#[test]
fn every_number_keeps_the_time_at_which_it_was_known() {
    let market = market();
    let signals = signals(&market);
    let known = |expression: &str, t: usize, i: usize| {
        built(&signals, &market, &Params { lookback: 1, ..bare(expression) }, 1).0.known_at(t, i)
    };
    let text = |t: usize, hour| market.dates()[t].and_hms_opt(hour, 30, 0);
    assert_eq!(known("tone", 0, 1), text(0, 11));
    assert_eq!(known("rank(mean(tone))", 0, 1), text(0, 12), "ranked among texts of which the last came at 12:30");
    assert_eq!(known("mean(tone) * market.close", 0, 1), at_close(&market, 0));
    assert_eq!(known("lag(mean(tone) * market.close, 1)", 1, 1), at_close(&market, 0));
    assert_eq!(known("mean(mean(tone), days = 3)", 1, 2), text(1, 12));
    assert_eq!(known("fill(mean(tone), 0)", 2, 1), at_close(&market, 2), "that nothing came is known at the end");
}

#[test]
fn filled_names_and_controls_are_known_at_the_close_and_survive_the_table() {
    let market = market();
    let some: Vec<Signal> = signals(&market).into_iter().filter(|s| s.code < 4 && s.date == 0).collect();
    let params = Params {
        lookback: 1,
        min_names: 2,
        fill: Fill::Median,
        neutralise: vec![Control::Size, "market.close".parse().unwrap()],
        ..bare("tone")
    };
    let (factor, report) = built(&some, &market, &params, 1);
    assert_eq!(
        (factor.values.row(0).iter().filter(|v| !v.is_nan()).count(), &report.facts["values_filled"]),
        (6, &2.into())
    );
    assert!(factor.raw.at(0, 5).is_nan() && factor.known_at(0, 5) == at_close(&market, 0));
    let frame = factor.to_frame().unwrap();
    let (read, _) = Factor::from_table(&DailyTable::Whole(frame.clone()), "factor", &market).unwrap();
    assert!(frame.equals_missing(&read.to_frame().unwrap()));
    let sum: f64 = factor.values.row(0).iter().sum();
    assert!(sum.abs() < 1e-9, "residuals sum to nothing");
}

#[test]
fn factors_are_made_of_factors() {
    let market = market();
    let signals = signals(&market);
    let (tone, _) = built(&signals, &market, &Params { name: "tone".to_owned(), ..Params::default() }, 1);
    let params = Params { name: "both".to_owned(), ..bare("factor.tone * 2 + 0 * market.cap") };
    let plan = Plan::new(&params).unwrap();
    let from = |factors: &[&Factor]| {
        let inputs = Inputs {
            market: &market,
            cutoff: Cutoff::Close,
            signals: &[],
            factors,
            graphs: Default::default(),
            events: &[],
        };
        build(&plan, &inputs, &params, &Ctx::new(1, 1).unwrap())
    };
    let (both, _) = from(&[&tone]).unwrap();
    assert_eq!(both.values.at(0, 3), 2.0 * tone.values.at(0, 3));
    assert_eq!(both.documents(0, 3), tone.documents(0, 3));
    assert_eq!(both.known_at(0, 3), at_close(&market, 0));
    assert!(from(&[]).unwrap_err().to_string().contains("made of 1 factors"));
}

#[test]
fn a_market_without_industries_or_sizes_neutralises_nothing() {
    let plain =
        Market::of_text("date,code,close,market_cap\n2024-01-02,000001.SZ,10,\n2024-01-03,000001.SZ,10,\n", &[])
            .unwrap();
    for (control, lacking) in [(Control::Industry, "needs industries"), (Control::Size, "gives no market_cap")] {
        let params = Params { expression: "tone".parse().unwrap(), neutralise: vec![control], ..Params::default() };
        let inputs = Inputs {
            market: &plain,
            cutoff: Cutoff::default(),
            signals: &[],
            factors: &[],
            graphs: Default::default(),
            events: &[],
        };
        let error = build(&Plan::new(&params).unwrap(), &inputs, &params, &Ctx::new(1, 1).unwrap()).err().unwrap();
        assert!(error.is::<TooLittle>() && error.to_string().contains(lacking), "{error}");
    }
}
