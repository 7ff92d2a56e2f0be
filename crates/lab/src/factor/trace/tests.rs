use super::*;
use crate::factor::{Decay, GraphInputs, Inputs, Params, SPREAD, SpillOver, Standardise, Winsorise, build};
use inkstone_base::job::Ctx;
use inkstone_market::Cutoff;
use inkstone_market::Market;

/// A Friday, then Monday to Thursday.
fn market() -> Market {
    let mut prices = "date,code,close\n".to_owned();
    for day in ["05", "08", "09", "10", "11"] {
        for code in ["000001.SZ", "000002.SZ"] {
            prices += &format!("2024-01-{day},{code},1\n");
        }
    }
    Market::of_text(&prices, &[]).unwrap()
}

fn signal(document: u32, date: u32, hour: u32, value: f64) -> Signal {
    let known_at = market().dates()[date as usize].and_hms_opt(hour, 0, 0).unwrap();
    Signal { document, ..Signal::of(0, date, known_at, value) }
}

fn plan(params: &Params, expression: &str) -> Plan {
    Plan::new(&Params { name: "f".into(), expression: expression.parse().unwrap(), ..params.clone() }).unwrap()
}

fn contributions(trace: &ReadingTrace) -> Vec<(u32, f64)> {
    trace.shares.iter().map(|share| (share.document, share.contribution)).collect()
}

#[test]
fn a_mean_is_shared_out_by_weight_and_age() {
    let mut signals = vec![signal(7, 1, 9, 4.0), signal(3, 0, 9, 1.0)];
    signals[0].weight = 3.0;
    let params = Params { lookback: 3, decay: Decay::Exponential(0.5), ..Params::default() };
    let traced = plan(&params, "tone").trace(&signals, &GraphTies::default(), &market(), 1, 0);
    let [trace] = &traced[..] else { panic!("{traced:?}") };
    assert_eq!(contributions(trace), [(3, 0.5 / 3.5), (7, 12.0 / 3.5)]);
    assert_eq!((trace.shares[0].age, trace.shares[0].weight, trace.value), (1, 0.5, 12.5 / 3.5));
    // The other name has none, and the older document falls out of the look-back.
    assert!(plan(&params, "tone").trace(&signals, &GraphTies::default(), &market(), 1, 1)[0].value.is_nan());
    assert_eq!(
        contributions(&plan(&params, "tone").trace(&signals, &GraphTies::default(), &market(), 3, 0)[0]),
        [(7, 4.0)]
    );
}

#[test]
fn what_documents_gave_sums_to_the_number_of_every_aggregate() {
    let signals = [signal(0, 0, 9, -2.0), signal(1, 1, 9, 3.0), signal(2, 1, 10, 3.0), signal(3, 1, 10, 1.0)];
    for (expression, by_hand) in [
        ("mean(tone)", vec![-0.5, 0.75, 0.75, 0.25]),
        ("sum(tone)", vec![-2.0, 3.0, 3.0, 1.0]),
        ("count(tone)", vec![1.0; 4]),
        ("max(tone)", vec![0.0, 1.5, 1.5, 0.0]),
        ("min(tone)", vec![-2.0, 0.0, 0.0, 0.0]),
        ("last(tone)", vec![0.0, 0.0, 1.5, 0.5]),
    ] {
        let trace =
            plan(&Params::default(), expression).trace(&signals, &GraphTies::default(), &market(), 1, 0).remove(0);
        let mut given: Vec<(u32, f64)> = contributions(&trace);
        given.sort_by_key(|(document, _)| *document);
        assert_eq!(given.iter().map(|(_, part)| *part).collect::<Vec<_>>(), by_hand, "{expression}");
        assert!((given.iter().map(|(_, part)| part).sum::<f64>() - trace.value).abs() < 1e-12, "{expression}");
    }
    let spread =
        plan(&Params::default(), "std(tone)").trace(&signals, &GraphTies::default(), &market(), 1, 0).remove(0);
    assert!(spread.value > 0.0 && spread.shares.iter().all(|share| share.contribution.is_nan()));
}

#[test]
fn repeats_count_only_where_the_factor_counts_them() {
    let mut signals = [signal(0, 0, 9, 1.0), signal(1, 0, 10, 3.0)];
    signals[1].first = false;
    let traced = |first_only| {
        plan(&Params { first_only, ..Params::default() }, "tone").trace(
            &signals,
            &GraphTies::default(),
            &market(),
            0,
            0,
        )
    };
    assert_eq!((traced(true)[0].value, traced(true)[0].shares.len()), (1.0, 1));
    assert_eq!((traced(false)[0].value, traced(false)[0].shares.len()), (2.0, 2));
}

#[test]
fn days_that_the_expression_looks_back_to_are_traced_too() {
    let signals = [signal(0, 0, 9, 1.0), signal(1, 2, 9, 5.0)];
    let params = Params { lookback: 1, neutralise: vec!["count(days = 2)".parse().unwrap()], ..Params::default() };
    let dates = |expression: &str| -> Vec<(usize, usize, bool)> {
        let traced = plan(&params, expression).trace(&signals, &GraphTies::default(), &market(), 2, 0);
        traced.iter().map(|trace| (trace.reading, trace.date, trace.control)).collect()
    };
    assert_eq!(dates("mean(tone) - lag(mean(tone), 2)"), [(0, 2, false), (0, 0, false), (1, 2, true)]);
    assert_eq!(dates("mean(rank(mean(tone)), days = 2)"), [(0, 2, false), (0, 1, false), (1, 2, true)]);
    // Natural days: Tuesday looks back to Monday and Sunday, not to Friday.
    assert_eq!(dates("max(mean(tone), natural_days = 3)"), [(0, 2, false), (0, 1, false), (1, 2, true)]);
    assert_eq!(dates("market.close"), [(0, 2, true)]);
}

#[test]
fn a_trace_has_the_numbers_that_the_factor_was_built_of() {
    let market = market();
    let signals: Vec<Signal> = (0..12).map(|n| signal(n, n % 4, 9 + n % 5, f64::from(n * 7 % 5) - 2.0)).collect();
    for aggregate in [Aggregate::Mean, Aggregate::Sum, Aggregate::Max, Aggregate::Last, Aggregate::Std] {
        let params = Params { aggregate, lookback: 2, min_names: 1, ..Params::default() };
        let params = Params { name: "f".into(), expression: "tone".parse().unwrap(), ..params };
        let plan = Plan::new(&params).unwrap();
        let inputs = Inputs {
            market: &market,
            cutoff: Cutoff::Close,
            signals: &signals,
            factors: &[],
            graphs: Default::default(),
            events: &[],
        };
        let (factor, _) = build(&plan, &inputs, &params, &Ctx::new(1, 1).unwrap()).unwrap();
        for t in 0..market.dates().len() {
            let trace = plan.trace(&signals, &GraphTies::default(), &market, t, 0).remove(0);
            let (raw, value) = (factor.raw.at(t, 0), trace.value);
            assert!(raw == value || raw.is_nan() && value.is_nan(), "{aggregate:?} {t}: {raw} {value}");
            assert!(raw.is_nan() || trace.known_at == factor.known_at(t, 0));
        }
    }
}

#[test]
fn a_number_of_neighbours_is_traced_to_their_documents_by_their_shares() {
    let mut world = SpillOver::planted(100);
    let (market, cutoff) = (&world.market, Cutoff::Close);
    let plain = Params { winsorise: Winsorise::None, standardise: Standardise::None, lookback: 1, ..Params::default() };
    let twice = SPREAD.replace("tone", SPREAD);
    let factors = [SPREAD, twice.as_str()].map(|expression| (expression, world.factor(expression, None)));
    world.signals.sort_by_key(|signal| signal.code);
    for ((expression, factor), hops) in factors.iter().zip(1..) {
        let plan = plan(&plain, expression);
        let relations = GraphInputs { relations: &world.relations, rewired: None };
        let index_of = |code: &str| market.index_of(code);
        let graphs = GraphTies::new(&plan, (market.calendar(), cutoff), index_of, &world.signals, &relations);
        for (t, neighbours) in [(50, 3usize), (120, 4)] {
            let readings = plan.trace(&world.signals, &graphs, market, t, 9);
            let shares: f64 = readings.iter().map(|reading| reading.share).sum();
            let value: f64 = readings.iter().map(|reading| reading.share * reading.value).sum();
            assert!(readings.iter().all(|reading| reading.shares.len() == 1 && reading.name != 9 || hops == 2));
            assert!(readings.windows(2).all(|pair| pair[0].share >= pair[1].share));
            assert!((shares - 1.0).abs() < 1e-12 && (value - factor.raw.at(t, 9)).abs() < 1e-12, "{expression}");
            if hops == 1 {
                // The tie that became known weighs 2, the others 1.
                let largest = if neighbours == 4 { 2.0 / 5.0 } else { 1.0 / 3.0 };
                assert_eq!(readings.len(), neighbours);
                assert!((readings[0].share - largest).abs() < 1e-12, "{}", readings[0].share);
            } else {
                // A name that is reached by two ways is listed once.
                assert!((neighbours + 1..=neighbours * neighbours).contains(&readings.len()), "{}", readings.len());
            }
        }
    }
}

#[test]
fn a_reading_names_its_columns() {
    let plan = plan(&Params::default(), "mean(tone.positive - tone.negative) + count(heat) * mean(document.length)");
    let columns = |reading| plan.columns_of(reading);
    let named = |name: &str| Some(name.to_owned());
    assert_eq!(columns(0), [("tone", named("positive")), ("tone", named("negative"))]);
    assert_eq!(columns(1), [("heat", None)]);
    assert!(columns(2).is_empty() && columns(9).is_empty());
}
