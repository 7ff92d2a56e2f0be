use chrono::{Datelike, NaiveDate};
use rand::seq::SliceRandom;
use rand_distr::StandardNormal;

use super::*;
use crate::factor::{Factor, Inputs, Params, Plan, Standardise, Winsorise, build};
use inkstone_base::code::Code;
use inkstone_base::stats::{mean, spearman};

fn code(i: usize) -> String {
    format!("60{i:04}.SH")
}

/// A market in which the move of a name from one close to the next is given by day (of 2024 on) and name.
fn market(names: usize, days: usize, moved: impl Fn(usize, usize) -> f64) -> Market {
    let weekday = |date: &NaiveDate| date.weekday().num_days_from_monday() < 5;
    let mut prices = "date,code,open,close\n".to_owned();
    let mut last = vec![10.0; names];
    let dates = NaiveDate::from_ymd_opt(2024, 1, 1).unwrap().iter_days().filter(weekday);
    for (t, date) in dates.take(days).enumerate() {
        for (i, last) in last.iter_mut().enumerate() {
            let open = *last;
            *last *= 1.0 + moved(t, i);
            prices += &format!("{date},{},{open},{last}\n", code(i));
        }
    }
    Market::of_text(&prices, &[]).unwrap()
}

fn relation(from: usize, to: usize, weight: f64, known_at: &str) -> Relation {
    Relation {
        from: Code::canonical(&code(from)),
        to: Code::canonical(&code(to)),
        kind: "supply".into(),
        weight,
        valid_from: None,
        valid_to: None,
        known_at: known_at.parse().unwrap(),
    }
}

fn params(expression: &str) -> Params {
    Params {
        expression: expression.parse().unwrap(),
        winsorise: Winsorise::None,
        standardise: Standardise::None,
        lookback: 1,
        min_names: 1,
        ..Params::default()
    }
}

fn made(expression: &str, market: &Market, signals: &[Signal], graphs: GraphInputs<'_>) -> Factor {
    let params = params(expression);
    let plan = Plan::new(&params).unwrap();
    let inputs = Inputs { market, cutoff: Cutoff::Close, signals, factors: &[], graphs, events: &[] };
    build(&plan, &inputs, &params, &Ctx::new(2, 1).unwrap()).unwrap().0
}

/// Signals of documents, each `(document, date, hour, names, value)`, in these readings.
fn documents(market: &Market, documents: &[(u32, u32, u32, &[u32], f64)], readings: &[u32]) -> Vec<Signal> {
    let mut signals = Vec::new();
    for &(document, date, hour, names, value) in documents {
        let known_at = market.dates()[date as usize].and_hms_opt(hour, 0, 0).unwrap();
        for (&code, &reading) in names.iter().flat_map(|name| readings.iter().map(move |reading| (name, reading))) {
            let value = if reading == readings[readings.len() - 1] && readings.len() > 1 { 1.0 } else { value };
            signals.push(Signal { document, reading, ..Signal::of(code, date, known_at, value) });
        }
    }
    signals
}

fn row(factor: &Factor, t: usize) -> Vec<f64> {
    factor.raw.row(t).to_vec()
}

fn same(ours: &[f64], theirs: &[f64]) {
    let equal = ours.iter().zip(theirs).all(|(a, b)| (a.is_nan() && b.is_nan()) || (a - b).abs() < 1e-12);
    assert!(ours.len() == theirs.len() && equal, "{ours:?} instead of {theirs:?}");
}

const NAN: f64 = f64::NAN;

#[test]
fn a_name_takes_the_weighed_mean_of_its_neighbours_and_knows_it_with_the_last_of_them() {
    // Monday 1 to Friday 5 January 2024; the move of name i on day t is (t + 1) (i + 1) thousandths.
    let market = market(4, 5, |t, i| (t + 1) as f64 * (i + 1) as f64 / 1000.0);
    let x = |t: usize, i: usize| market.price(inkstone_market::Price::Close).unwrap().at(t, i);
    let day = |day: &str| day.parse().ok();
    let relations = [
        relation(0, 1, 1.0, "2023-06-01T23:59:59"),
        relation(0, 2, 3.0, "2024-01-02T10:00:00"),
        Relation { valid_from: day("2024-01-04"), ..relation(3, 2, 1.0, "2023-01-01T00:00:00") },
        Relation { valid_to: day("2024-01-03"), ..relation(3, 1, 1.0, "2023-01-01T00:00:00") },
        // Known after the close of Wednesday: it counts from Thursday on, and then in place of the first.
        relation(0, 1, 2.0, "2024-01-03T18:00:00"),
        Relation { kind: "rival".into(), ..relation(1, 3, 1.0, "2023-01-01T00:00:00") },
    ];
    let graphs = GraphInputs { relations: &relations, rewired: None };
    let factor = made("spread(market.close, graph = relations, kinds = supply, takes = to)", &market, &[], graphs);
    same(&row(&factor, 0), &[x(0, 1), NAN, NAN, x(0, 1)]);
    same(&row(&factor, 1), &[(x(1, 1) + 3.0 * x(1, 2)) / 4.0, NAN, NAN, x(1, 1)]);
    same(&row(&factor, 2), &[(x(2, 1) + 3.0 * x(2, 2)) / 4.0, NAN, NAN, NAN]);
    same(&row(&factor, 3), &[(2.0 * x(3, 1) + 3.0 * x(3, 2)) / 5.0, NAN, NAN, x(3, 2)]);
    let back = made("spread(market.close, graph = relations, takes = from)", &market, &[], graphs);
    same(&row(&back, 0), &[NAN, (x(0, 0) + x(0, 3)) / 2.0, NAN, x(0, 1)]);
    let both = made("spread(market.close, graph = relations, kinds = supply + rival)", &market, &[], graphs);
    same(&row(&both, 2), &[(x(2, 1) + 3.0 * x(2, 2)) / 4.0, (x(2, 0) + x(2, 3)) / 2.0, x(2, 0), x(2, 1)]);
    let twice = made(
        "spread(spread(market.close, graph = relations, kinds = supply, takes = to), graph = relations, kinds = rival, takes = to)",
        &market,
        &[],
        graphs,
    );
    same(&row(&twice, 0), &[NAN, x(0, 1), NAN, NAN]);

    // What is said of a neighbour at 9 is known with the relation, at 10.
    let signals = documents(&market, &[(0, 1, 9, &[2], 5.0)], &[0]);
    let received = made("spread(tone, graph = relations, takes = to)", &market, &signals, graphs);
    same(&row(&received, 1), &[5.0, NAN, NAN, NAN]);
    assert_eq!(received.known_at(1, 0), market.dates()[1].and_hms_opt(10, 0, 0));
    assert_eq!(received.documents(1, 0), 1);
}

#[test]
fn names_in_one_document_are_neighbours_for_a_while() {
    let market = market(4, 6, |_, _| 0.01);
    let all = [
        (0, 0, 9, &[0, 1][..], 2.0),
        (1, 1, 9, &[0, 1, 2][..], 4.0),
        (2, 2, 11, &[3][..], 7.0),
        (3, 2, 13, &[0, 3][..], 1.0),
    ];
    let signals = documents(&market, &all, &[0, 1]);
    let spread = |options: &str| {
        let expression = format!("spread(sum(tone, days = 9), graph = mentions, {options})");
        made(&expression, &market, &signals, GraphInputs::default())
    };
    // Sums of tone on date 2: 7, 6, 4 and 8. A pair of the document of three weighs half.
    let factor = spread("days = 2");
    same(&row(&factor, 0), &[2.0, 2.0, NAN, NAN]);
    same(&row(&factor, 1), &[(1.5 * 6.0 + 0.5 * 4.0) / 2.0, (1.5 * 6.0 + 0.5 * 4.0) / 2.0, 6.0, NAN]);
    same(&row(&factor, 2), &[(0.5 * 6.0 + 0.5 * 4.0 + 8.0) / 2.0, (0.5 * 7.0 + 0.5 * 4.0) / 1.0, 6.5, 7.0]);
    same(&row(&factor, 3), &[8.0, NAN, NAN, 7.0]);
    assert_eq!(factor.known_at(2, 0), market.dates()[2].and_hms_opt(13, 0, 0));
    assert_eq!(factor.known_at(2, 2), market.dates()[2].and_hms_opt(13, 0, 0), "the sum of name 0 is known then");
    assert_eq!(row(&spread("natural_days = 2"), 2)[1], row(&factor, 2)[1]);
    // Two documents that name both: 0 and 1, as long as both are in the window.
    let factor = spread("days = 2, documents = 2");
    same(&row(&factor, 1), &[6.0, 6.0, NAN, NAN]);
    same(&row(&factor, 2), &[NAN; 4]);
    let factor = spread("days = 4, decay = 0.5");
    same(&row(&factor, 2)[1..2], &[(0.5 * 4.0 * 0.5 + (0.25 + 0.25) * 7.0) / (0.25 + 0.5)]);
}

/// A market in which a supplier moves a day after the news of its customers, with the relations between them.
pub(crate) struct SpillOver {
    pub market: Market,
    pub signals: Vec<Signal>,
    pub relations: Vec<Relation>,
}

pub(crate) const SPREAD: &str = "spread(tone, graph = relations, takes = to)";

impl SpillOver {
    /// News and relations before day `cut` are the same for every `cut`; from that day on they differ.
    pub(crate) fn planted(cut: usize) -> SpillOver {
        const NAMES: usize = 60;
        const DAYS: usize = 160;
        let mut rng = ChaCha8Rng::seed_from_u64(5);
        let mut customers: Vec<Vec<usize>> = Vec::new();
        for i in 0..NAMES {
            let mut others: Vec<usize> = (0..NAMES).filter(|j| *j != i).collect();
            others.shuffle(&mut rng);
            customers.push(others[..3].to_vec());
        }
        let mut other = ChaCha8Rng::seed_from_u64(6);
        let mut news = vec![vec![0.0; NAMES]; DAYS];
        let mut noise = news.clone();
        for t in 0..DAYS {
            for i in 0..NAMES {
                let drawn: [f64; 2] = std::array::from_fn(|_| rng.sample(StandardNormal));
                let others: [f64; 2] = std::array::from_fn(|_| other.sample(StandardNormal));
                [news[t][i], noise[t][i]] = if t < cut { drawn } else { others };
            }
        }
        let moved = |t: usize, i: usize| {
            let customer_news = if t == 0 { 0.0 } else { mean(customers[i].iter().map(|&j| news[t - 1][j])) };
            (0.006 * customer_news + 0.012 * noise[t][i]).clamp(-0.09, 0.09)
        };
        let market = market(NAMES, DAYS, moved);
        let mut signals = Vec::new();
        for (t, row) in news.iter().enumerate() {
            for (i, value) in row.iter().enumerate() {
                let known_at = market.dates()[t].and_hms_opt(10, 0, 0).unwrap();
                let document = (t * NAMES + i) as u32;
                signals.push(Signal { document, ..Signal::of(i as u32, t as u32, known_at, *value) });
            }
        }
        let before = customers.iter().enumerate();
        let mut relations: Vec<Relation> = before
            .flat_map(|(i, customers)| customers.iter().map(move |&j| relation(i, j, 1.0, "2023-06-30T23:59:59")))
            .collect();
        if cut < DAYS {
            let known = format!("{}T10:00:00", market.dates()[cut]);
            relations.extend((0..NAMES).map(|i| relation(i, (i + 7) % NAMES, 2.0, &known)));
        }
        SpillOver { market, signals, relations }
    }

    pub(crate) fn factor(&self, expression: &str, rewired: Option<u64>) -> Factor {
        made(expression, &self.market, &self.signals, GraphInputs { relations: &self.relations, rewired })
    }

    /// Mean rank correlation of a factor with the move from open to close of the next day.
    fn rank_ic(&self, factor: &Factor) -> f64 {
        let close = self.market.price(inkstone_market::Price::Close).unwrap();
        let open = self.market.price(inkstone_market::Price::Open).unwrap();
        let of_date = |t: usize| {
            let pairs = factor.values.row(t).iter().enumerate().filter(|(_, v)| !v.is_nan());
            let pairs: Vec<(f64, f64)> =
                pairs.map(|(i, v)| (*v, close.at(t + 1, i) / open.at(t + 1, i) - 1.0)).collect();
            let (x, y): (Vec<f64>, Vec<f64>) = pairs.into_iter().unzip();
            spearman(&x, &y)
        };
        mean((0..self.market.dates().len() - 1).map(of_date))
    }
}

#[test]
fn a_planted_spill_over_is_found_and_a_rewired_graph_has_none() {
    let world = SpillOver::planted(usize::MAX);
    let found = world.rank_ic(&world.factor(SPREAD, None));
    // The signal is 0.006 times a mean of three, against noise of 0.012: a correlation of 0.28.
    assert!((found - 0.27).abs() < 0.03, "{found}");
    let of_itself = world.rank_ic(&world.factor("tone", None));
    assert!(of_itself.abs() < 0.03, "what is said of a name moves others: {of_itself}");
    let rewired: Vec<f64> = (0..10).map(|seed| world.rank_ic(&world.factor(SPREAD, Some(seed)))).collect();
    // Of 177 other pairs three are true by chance.
    assert!(mean(rewired.iter().copied()).abs() < 0.03 && rewired.iter().all(|ic| ic.abs() < 0.08), "{rewired:?}");
    let turned = world.rank_ic(&world.factor("spread(tone, graph = relations, takes = from)", None));
    assert!(turned.abs() < 0.03, "customers do not follow their suppliers: {turned}");
}

#[test]
fn later_ties_and_documents_change_no_earlier_value() {
    let (uncut, cut) = (SpillOver::planted(usize::MAX), SpillOver::planted(100));
    let bits = |factor: &Factor, days: std::ops::Range<usize>| {
        days.flat_map(|t| row(factor, t)).map(f64::to_bits).collect::<Vec<u64>>()
    };
    let (first, second) = (uncut.factor(SPREAD, None), cut.factor(SPREAD, None));
    assert_eq!(bits(&first, 0..100), bits(&second, 0..100));
    assert_ne!(bits(&first, 100..160), bits(&second, 100..160));
    for t in 0..100 {
        assert_eq!(first.known_at(t, 3), second.known_at(t, 3));
    }
    // The graph of documents, too.
    let market = market(3, 8, |_, _| 0.01);
    let spread = |late: &[u32]| {
        let all = [(0, 1, 9, &[0, 1][..], 2.0), (1, 4, 9, late, 3.0)];
        let signals = documents(&market, &all, &[0, 1]);
        made("spread(sum(tone, days = 9), graph = mentions, days = 9)", &market, &signals, GraphInputs::default())
    };
    let (one, two) = (spread(&[0, 1, 2]), spread(&[0, 2]));
    assert_eq!(bits(&one, 0..4), bits(&two, 0..4));
    assert_ne!(bits(&one, 4..8), bits(&two, 4..8));
}

#[test]
fn a_rewired_graph_keeps_the_number_of_ties_of_each_name() {
    let mut rng = ChaCha8Rng::seed_from_u64(3);
    let before: Vec<(u32, u32)> = (0..40).flat_map(|i| (1..=1 + i % 4).map(move |k| (i, (i + 3 * k) % 40))).collect();
    let mut after = before.clone();
    rewire(&mut after, |a, b| a != b, &mut rng);
    let ends = |pairs: &[(u32, u32)]| {
        let mut ends: Vec<u32> = pairs.iter().map(|pair| pair.1).collect();
        ends.sort_unstable();
        ends
    };
    assert_eq!(ends(&before), ends(&after));
    assert!(before.iter().zip(&after).all(|(a, b)| a.0 == b.0) && after.iter().all(|(a, b)| a != b));
    let mut distinct = after.clone();
    distinct.sort_unstable();
    distinct.dedup();
    assert_eq!(distinct.len(), before.len(), "no pair is there twice");
    let kept = after.iter().filter(|pair| before.contains(pair)).count();
    assert!(kept < before.len() / 4, "{kept} of {} are as they were", before.len());
    let mut again = before.clone();
    rewire(&mut again, |a, b| a != b, &mut ChaCha8Rng::seed_from_u64(3));
    assert_eq!(again, after, "by the seed alone");
}

#[test]
fn a_graph_that_makes_no_sense_is_refused_with_what_it_could_be() {
    let error = |expression: &str| format!("{:#}", Plan::new(&params(expression)).unwrap_err());
    assert!(error("spread(tone)").contains("graph = relations"), "{}", error("spread(tone)"));
    assert!(error("spread(tone, graph = mentions)").contains("days = 60"));
    assert!(error("spread(tone, graph = relations, days = 3)").contains("\"days\" at character"));
    assert!(error("spread(tone, graph = mentions, days = 3, takes = to)").contains("documents"));
    assert!(error("spread(tone, heat, graph = relations)").contains("it takes one number, not 2"));
    let plan =
        Plan::new(&params("spread(tone, graph = mentions, days = 3) + spread(tone, graph = mentions, days = 3)"));
    assert_eq!(plan.unwrap().graphs.len(), 1, "a graph that is named twice is made once");
}
