//! Rules of the backtest on markets small enough to check by hand.

mod books;

use chrono::NaiveDateTime;
use proptest::prelude::*;

use crate::backtest::{Outcome, Params, run};
use crate::factor::Factor;
use inkstone_base::data::TooLittle;
use inkstone_base::job::Ctx;
use inkstone_market::{CLOSE, Market, Price};

const DAYS: [&str; 6] = ["2024-01-02", "2024-01-03", "2024-01-04", "2024-01-05", "2024-01-08", "2024-01-09"];

/// Names 600001.SH to 60000n.SH; open and close by date and name.
fn market(names: usize, open: impl Fn(usize, usize) -> f64, close: impl Fn(usize, usize) -> f64) -> Market {
    let mut prices = "date,code,open,close\n".to_owned();
    for (t, day) in DAYS.iter().enumerate() {
        for i in 0..names {
            prices += &format!("{day},60000{}.SH,{},{}\n", i + 1, open(t, i), close(t, i));
        }
    }
    Market::of_text(&prices, &[]).unwrap()
}

/// Prices that move a little, differently for each name and day.
fn wavy(t: usize, i: usize) -> f64 {
    10.0 + 0.1 * ((7 * t + 3 * i + t * i) % 5) as f64
}

fn factor(market: &Market, dates: std::ops::Range<usize>, value: impl Fn(usize, usize) -> f64) -> Factor {
    known(market, dates, value, |t| market.dates()[t].and_hms_opt(14, 59, 59).unwrap())
}

fn known(
    market: &Market,
    dates: std::ops::Range<usize>,
    value: impl Fn(usize, usize) -> f64,
    known_at: impl Fn(usize) -> NaiveDateTime,
) -> Factor {
    let mut factor = Factor::empty("测试", market);
    for t in dates {
        for i in 0..market.codes().len() {
            factor.put(t, i, value(t, i), known_at(t), 1);
        }
    }
    factor
}

fn small() -> Params {
    Params { horizons: vec![1], quantiles: 2, min_names: 2, max_loss: 1.0, ..Params::default() }
}

fn test(factor: &Factor, market: &Market, params: &Params) -> anyhow::Result<Outcome> {
    Ok(run(factor, market, params, &Ctx::new(2, 1)?)?.0)
}

#[test]
fn a_horizon_whose_returns_end_without_a_price_is_refused() {
    // Nobody has a price on the fourth day.
    let open = |t: usize, i: usize| if t == 3 { 0.0 } else { wavy(t, i) };
    let market = market(4, open, open);
    let values = factor(&market, 0..1, |_, i| i as f64);
    let tested =
        |horizon: usize| test(&values, &market, &Params { horizons: vec![horizon], max_loss: 0.35, ..small() });
    assert!(tested(1).is_ok());
    let error = tested(2).unwrap_err();
    assert!(error.is::<TooLittle>());
    let error = error.to_string();
    assert!(error.contains("100.0 % of the returns over 2 days end on a day without a price (limit 35.0 %"), "{error}");
    assert!(error.contains("[backtest] horizons: ") && error.contains("take 2 out"), "{error}");
}

#[test]
fn a_value_meets_the_return_from_the_next_open_to_the_one_after() {
    let market = market(4, wavy, |t, i| wavy(t, i) + 0.01);
    // The value of day t is the very return from the open of t + 1 to the open of t + 2.
    let leak = |t: usize, i: usize| wavy(t + 2, i) / wavy(t + 1, i) - 1.0;
    let outcome = test(&factor(&market, 0..4, leak), &market, &small()).unwrap();
    let series = &outcome.ic[0];
    assert_eq!(series.dates.len(), 4);
    assert!(series.ic.iter().chain(&series.rank_ic).all(|r| (r - 1.0).abs() < 1e-12), "{series:?}");
    let later = Params { delay: Some(2), ..small() };
    let other = test(&factor(&market, 0..3, leak), &market, &later).unwrap();
    assert!(other.ic[0].ic.iter().all(|r| *r < 0.999));
    assert!(outcome.alignment_in_words().contains("open of day t+1") && !outcome.lookahead, "{outcome:?}");
}

#[test]
fn what_is_known_when_the_return_begins_is_refused_to_the_second() {
    let market = market(4, wavy, wavy);
    let value = |t: usize, i: usize| ((t + 2 * i) % 4) as f64;
    let at_close = known(&market, 0..5, value, |t| market.dates()[t].and_time(CLOSE));
    let before = factor(&market, 0..5, value);
    let same_close = Params { delay: Some(0), price: Some(Price::Close), ..small() };
    let outcome = test(&before, &market, &same_close).unwrap();
    assert_eq!(outcome.refused.values, 0);
    let error = test(&at_close, &market, &same_close).unwrap_err().to_string();
    assert!(error.contains("20 of 20 values (100.0 %)") && error.contains("delay = 1"), "{error}");
    assert!(error.contains("known at 2024-01-02 15:00:00, its return begins at 2024-01-02 15:00:00"), "{error}");
    // Tomorrow's open is no trouble, today's is; and yesterday's close is the plain same-day leak.
    assert!(test(&at_close, &market, &small()).is_ok());
    assert!(test(&before, &market, &Params { delay: Some(0), ..small() }).is_err());
    let same_day = Params { delay: Some(-1), ..same_close };
    assert!(test(&before, &market, &same_day).is_err());
    let forced = test(&before, &market, &Params { allow_lookahead: true, ..same_day }).unwrap();
    assert!(forced.lookahead && forced.alignment_in_words().contains("LOOK-AHEAD"), "{forced:?}");
}

#[test]
fn a_factor_begins_when_the_model_behind_it_is_known() {
    let market = market(6, wavy, wavy);
    let value = |t: usize, i: usize| ((t + 2 * i) % 5) as f64;
    let fitted = market.dates()[2].and_hms_opt(23, 59, 59).unwrap();
    let all = known(&market, 0..5, value, |t| fitted.max(market.dates()[t].and_time(CLOSE)));
    let (outcome, report) = run(&all, &market, &small(), &Ctx::new(1, 1).unwrap()).unwrap();
    let after = test(&factor(&market, 2..5, value), &market, &small()).unwrap();
    assert_eq!((&outcome.ic[0].dates, &outcome.ic[0].rank_ic), (&after.ic[0].dates, &after.ic[0].rank_ic));
    assert_eq!((outcome.refused.values, report.dropped["of dates before a model behind them was fitted"]), (0, 12));
    assert_eq!(report.rows_in, report.rows_out + report.dropped_rows());
    // A value that is late once the model is known is refused as ever.
    let again = known(&market, 0..5, value, |t| if t == 4 { market.dates()[5].and_time(CLOSE) } else { fitted });
    assert!(test(&again, &market, &small()).unwrap_err().to_string().contains("not known before"));
}

#[test]
fn a_few_late_values_are_set_aside_with_examples() {
    let market = market(6, wavy, wavy);
    let mut factor = factor(&market, 0..4, |t, i| (t * i) as f64);
    let late = market.dates()[2].and_hms_opt(9, 15, 0).unwrap();
    factor.put(1, 4, 9.0, late, 1);
    let (outcome, report) = run(&factor, &market, &small(), &Ctx::new(1, 1).unwrap()).unwrap();
    assert_eq!((outcome.refused.values, report.dropped["not known before the return begins"]), (1, 1));
    let (date, code, known_at, begins) = &outcome.refused.examples[0];
    assert_eq!((date, code.as_str(), known_at, begins), (&market.dates()[1], "600005.SH", &late, &late));
    assert_eq!(report.rows_in, report.rows_out + report.dropped_rows());
    assert_eq!(outcome.ic[0].names, [6, 5, 6, 6]);
}

#[test]
fn a_name_locked_at_its_limit_earns_nothing_for_those_who_could_not_buy() {
    // Name 4 opens 10 % up on day 1, locked, and doubles afterwards; it has the best value.
    let open = |t: usize, i: usize| match (t, i) {
        (1, 3) => 11.0,
        (2.., 3) => 22.0,
        _ => 10.0,
    };
    let market = market(4, open, |t, i| if i == 3 && t > 0 { open(t, i) } else { 10.0 });
    let outcome = test(&factor(&market, 0..1, |_, i| i as f64), &market, &small()).unwrap();
    assert_eq!(outcome.untradable["value: locked at the upper limit on the day of entry"], 1);
    assert_eq!(outcome.layers.mean[0], [0.0, 0.0]);
    assert_eq!(outcome.untradable["long leg: could not be entered"], 1);
    assert_eq!(outcome.long_short.long, [0.0]);
}

#[test]
fn the_loss_of_a_delisted_name_stays_in_the_books() {
    // Name 4 closes at half its price on day 1 and is never traded again.
    let mut prices = "date,code,open,close\n".to_owned();
    for (t, day) in DAYS.iter().enumerate() {
        for i in 0..4 {
            match (t, i) {
                (0, 3) => prices += &format!("{day},X4,10,10\n"),
                (1, 3) => prices += &format!("{day},X4,10,5\n"),
                (_, 3) => {}
                _ => prices += &format!("{day},X{},10,10\n", i + 1),
            }
        }
    }
    let market = Market::of_text(&prices, &[]).unwrap();
    let outcome = test(&factor(&market, 0..3, |_, i| i as f64), &market, &small()).unwrap();
    assert_eq!(outcome.layers.mean[0][1], mean_of(&[-0.25, 0.0, 0.0]));
    assert!((outcome.long_short.long[0] + 0.25).abs() < 1e-15, "{:?}", outcome.long_short.long);
    assert_eq!(outcome.coverage.universe, [4, 4, 3]);
}

fn mean_of(x: &[f64]) -> f64 {
    x.iter().sum::<f64>() / x.len() as f64
}

#[test]
fn costs_follow_what_is_bought_and_sold() {
    // Flat prices: the long leg holds names 3 and 4, then 1 and 2, then 3 and 4 again.
    let market = market(4, |_, _| 10.0, |_, _| 10.0);
    let turn = factor(&market, 0..3, |t, i| if t % 2 == 0 { i as f64 } else { -(i as f64) });
    let outcome = test(&turn, &market, &small()).unwrap();
    let book = &outcome.long_short;
    assert_eq!(book.turnover, [0.5, 1.0, 1.0], "the first day only buys");
    let bps = [5.0 + 15.0, 20.0 + 20.0, 20.0 + 20.0];
    assert!(book.cost.iter().zip(bps).all(|(cost, b)| (cost - b * 1e-4).abs() < 1e-15), "{:?}", book.cost);
    assert!(book.net.iter().zip(&book.cost).all(|(net, cost)| *net == -cost));
    assert_eq!(outcome.new_names, 1.0);
    assert!((outcome.rank_autocorrelation + 1.0).abs() < 1e-12);
    let held = test(&turn, &market, &Params { rebalance: 3, ..small() }).unwrap();
    assert_eq!(held.long_short.turnover[..3], [0.5, 0.0, 0.0]);
}

#[test]
fn a_rebalancing_that_meets_no_values_waits_for_the_next_day_with_some() {
    let market = market(4, |_, _| 10.0, |_, _| 10.0);
    let mut turn = factor(&market, 0..4, |t, i| if t % 3 == 0 { i as f64 } else { f64::NAN });
    // Due every second day: on day 2 of the book there is nothing to go by, on day 3 there is.
    turn.values.row_mut(3).reverse();
    let outcome = test(&turn, &market, &Params { rebalance: 2, ..small() }).unwrap();
    assert_eq!(outcome.long_short.turnover, [0.5, 0.0, 0.0, 1.0]);
}

#[test]
fn parameters_out_of_range_are_refused_by_name() {
    let refused = |params: Params| params.validate().unwrap_err().to_string();
    assert!(refused(Params { max_refused: -0.1, ..small() }).contains("max_refused"));
    assert!(refused(Params { max_loss: 35.0, ..small() }).contains("max_loss"));
    assert!(refused(Params { close_bps: f64::NAN, ..small() }).contains("close_bps"));
    assert!(refused(Params { slippage_bps: -1.0, ..small() }).contains("slippage_bps"));
    assert!(refused(Params { capital: -1.0, ..small() }).contains("capital"));
    assert!(refused(Params { delisting_return: -1.5, ..small() }).contains("delisting_return"));
    assert!(refused(Params { volume_share: 10.0, ..small() }).contains("volume_share"));
}

#[test]
fn a_loss_over_the_limit_names_the_reason() {
    let market = market(4, wavy, wavy);
    let all = factor(&market, 0..6, |t, i| (t + i) as f64);
    let error = test(&all, &market, &Params { max_loss: 0.3, ..small() }).unwrap_err().to_string();
    assert!(error.contains("[backtest] max_loss") && error.contains("no trading day to enter on"), "{error}");
}

#[test]
fn an_outcome_survives_json_with_its_gaps() {
    let market = market(4, wavy, wavy);
    let flat_at_first = factor(&market, 0..3, |t, i| if t == 0 { 1.0 } else { i as f64 });
    let outcome = test(&flat_at_first, &market, &small()).unwrap();
    assert!(outcome.ic[0].rank_ic[0].is_nan() && !outcome.ic[0].rank_ic[1].is_nan());
    let json = serde_json::to_string(&outcome).unwrap();
    let read: Outcome = serde_json::from_str(&json).unwrap();
    assert!(read.ic[0].rank_ic[0].is_nan());
    assert_eq!(serde_json::to_string(&read).unwrap(), json);
}

#[test]
fn a_factor_that_orders_nothing_is_no_test() {
    let market = market(4, wavy, wavy);
    let by_date_alone = factor(&market, 0..3, |t, _| t as f64);
    let error = test(&by_date_alone, &market, &small()).unwrap_err();
    assert!(error.is::<TooLittle>() && error.to_string().contains("same value for all names"), "{error}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn knowing_later_only_refuses_more(hours in prop::collection::vec(0i64..60, 4), more in 0i64..30) {
        let market = market(5, wavy, wavy);
        let params = Params { max_refused: 1.0, min_names: 1, ..small() };
        let refused = |shift: i64| {
            let at = |t: usize| market.dates()[t].and_time(CLOSE) + chrono::TimeDelta::hours(hours[t] + shift);
            let factor = known(&market, 0..4, |t, i| (t * 3 + i * i) as f64, at);
            let (outcome, report) = run(&factor, &market, &params, &Ctx::new(2, 1).unwrap()).unwrap();
            let early = report.dropped.get("of dates before a model behind them was fitted").copied();
            outcome.refused.values + early.unwrap_or(0)
        };
        prop_assert!(refused(0) <= refused(more));
    }

    #[test]
    fn ranks_ignore_monotone_transforms_and_threads_change_nothing(values in prop::collection::vec(-3.0f64..3.0, 24)) {
        let market = market(6, wavy, wavy);
        let plain = factor(&market, 0..4, |t, i| values[6 * t + i]);
        let bent = factor(&market, 0..4, |t, i| values[6 * t + i].exp() * 10.0 - 4.0);
        let json = |factor: &Factor, threads| {
            serde_json::to_string(&run(factor, &market, &small(), &Ctx::new(threads, 1).unwrap()).unwrap().0).unwrap()
        };
        prop_assert_eq!(json(&plain, 1), json(&plain, 3));
        let rank_ic = |factor: &Factor| test(factor, &market, &small()).unwrap().ic[0].rank_ic.clone();
        for (a, b) in rank_ic(&plain).into_iter().zip(rank_ic(&bent)) {
            prop_assert!((a - b).abs() < 1e-12 || (a.is_nan() && b.is_nan()));
        }
    }
}
