//! Event studies of markets whose truth is known.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};

use crate::backtest::events::{Event, EventStudy, EventTest, Grouping, Params, run};
use inkstone_base::data::TooLittle;
use inkstone_base::job::Ctx;
use inkstone_market::Market;

/// Prices of `names` names over `days` days, from returns by day and name.
fn market(days: usize, names: usize, mut returns: impl FnMut(usize, usize) -> Option<f64>) -> Market {
    let first = chrono::NaiveDate::from_ymd_opt(2020, 1, 1).unwrap();
    let mut closes = vec![10.0; names];
    let mut text = "date,code,close\n".to_owned();
    for t in 0..days {
        let date = first + chrono::Days::new(t as u64);
        for (i, close) in closes.iter_mut().enumerate() {
            let Some(by) = returns(t, i) else { continue };
            *close *= 1.0 + by;
            text += &format!("{date},{},{close}\n", 600_001 + i);
        }
    }
    Market::of_text(&text, &[]).unwrap()
}

/// Two sectors whose names move together, so that the market's return does not take out what they share.
fn sectors(days: usize, names: usize, seed: u64) -> Market {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut noise = move || -> f64 { StandardNormal.sample(&mut rng) };
    let mut shared = [0.0; 2];
    market(days, names, |_, i| {
        if i == 0 {
            shared = [0.01 * noise(), 0.01 * noise()];
        }
        Some(shared[i % 2] + 0.015 * noise())
    })
}

fn ctx() -> Ctx {
    Ctx::new(2, 1).unwrap()
}

fn study(events: &[Event], market: &Market, params: &Params) -> EventStudy {
    run(events, market, params, &ctx()).unwrap().0
}

fn test<'a>(tests: &'a [EventTest], name: &str, days: (i32, i32)) -> &'a EventTest {
    tests.iter().find(|test| test.test == name && test.days == days).unwrap()
}

const TESTS: [&str; 6] = ["cross_section", "bmp", "kolari_pynnonen", "clustered", "corrado", "sign"];

/// Windows that fit a market of twenty days.
fn short() -> Params {
    Params { window: (-1, 2), estimation: (-8, -3), min_returns: 4, parts: vec![(0, 0), (1, 2)], ..Params::default() }
}

#[test]
fn a_study_of_two_events_is_as_by_hand() {
    // Three names stand still but for a wave before the events, +4 % and +2 % of two names on their days 0, and a suspension.
    let wave = |t: usize, i: usize| if t < 9 { 0.001 * [1.0, -1.0, 0.0][(t + i) % 3] } else { 0.0 };
    let market = market(20, 3, |t, i| match (t, i) {
        (10, 0) => Some(0.04),
        (12, 1) => Some(0.02),
        (13, 1) => None,
        (14, 1) => Some(0.01),
        _ => Some(wave(t, i)),
    });
    let events = [Event { code: 1, date: 12, value: 1.0 }, Event { code: 0, date: 10, value: 1.0 }];
    let params = Params { benchmark: Some("600003.SH".into()), groups: 1, ..short() };
    let found = study(&events, &market, &params);
    let group = &found.groups[0];
    assert_eq!((group.events, &group.days), (2, &vec![-1, 0, 1, 2]));
    // The second name does not trade on its day +1; its 1 % stands on day +2.
    for (day, (abnormal, cumulative)) in [(0.0, 0.0), (0.03, 0.03), (0.0, 0.03), (0.005, 0.035)].into_iter().enumerate()
    {
        assert!((group.abnormal[day] - abnormal).abs() < 1e-12, "day {day}: {}", group.abnormal[day]);
        assert!((group.cumulative[day] - cumulative).abs() < 1e-12, "day {day}: {}", group.cumulative[day]);
    }
    let announcement = test(&group.tests, "cross_section", (0, 0));
    // 4 % and 2 %: mean 3 %, deviation 1.414 %, t = 3 / (1.414 / sqrt(2)) = 3.
    assert!((announcement.mean - 0.03).abs() < 1e-12 && (announcement.statistic - 3.0).abs() < 1e-9);
    assert!(found.difference.is_none() && found.excluded.is_empty());
}

#[test]
fn a_planted_effect_is_found_on_its_day_with_its_sign_and_none_elsewhere() {
    let (days, names) = (420, 30);
    let mut rng = ChaCha8Rng::seed_from_u64(3);
    // Documents on some sixty days; the price follows the tone two days later, by up to 2 %.
    let events: Vec<Event> = (0..360)
        .map(|_| Event {
            code: rng.random_range(0..names as u32),
            date: 130 + 5 * rng.random_range(0..55u32),
            value: rng.random_range(-1.0..1.0),
        })
        .collect();
    let mut planted = vec![vec![0.0; names]; days];
    for event in &events {
        planted[event.date as usize + 2][event.code as usize] = 0.02 * event.value;
    }
    let mut shared = [0.0; 2];
    let market = market(days, names, |t, i| {
        let mut noise = || -> f64 { StandardNormal.sample(&mut rng) };
        if i == 0 {
            shared = [0.005 * noise(), 0.005 * noise()];
        }
        Some(shared[i % 2] + 0.01 * noise() + planted[t][i])
    });
    let params = Params { parts: vec![(-5, -1), (0, 1), (2, 2), (3, 10)], ..Params::default() };
    let found = study(&events, &market, &params);
    let (low, high) = (&found.groups[0], &found.groups[2]);
    for name in TESTS {
        let (low, high) = (test(&low.tests, name, (2, 2)), test(&high.tests, name, (2, 2)));
        assert!(low.statistic < -4.0 && low.p < 1e-3, "{low:?}");
        assert!(high.statistic > 4.0 && high.p < 1e-3, "{high:?}");
    }
    let difference = found.difference.unwrap();
    let effect = test(&difference.tests, "clustered", (2, 2));
    // Thirds of -1 to 1 have their means at -2/3 and 2/3.
    assert!((effect.mean - 0.02 * 4.0 / 3.0).abs() < 0.004 && effect.p < 1e-6, "{effect:?}");
    for days in [(-5, -1), (0, 1), (3, 10)] {
        let nothing = test(&difference.tests, "clustered", days);
        assert!(nothing.p > 0.01, "{nothing:?}");
    }
    let last = difference.cumulative.len() - 1;
    assert!((difference.cumulative[last] - effect.mean).abs() < 2.0 * difference.margin[last]);
}

#[test]
fn documents_of_the_same_days_deceive_a_plain_t_but_not_the_tests_that_allow_for_them() {
    // Placebo: four neighbouring days at random, twelve names of one sector each.
    let market = sectors(400, 40, 7);
    let mut rng = ChaCha8Rng::seed_from_u64(11);
    let params = Params { groups: 1, parts: vec![(1, 5)], min_returns: 40, estimation: (-65, -6), ..Params::default() };
    let draws = 200;
    let mut rejected = [0; TESTS.len()];
    for _ in 0..draws {
        let start = rng.random_range(70..380);
        let event =
            |k: u32, rng: &mut ChaCha8Rng| Event { code: 2 * rng.random_range(0..20), date: start + k % 4, value: 1.0 };
        let events: Vec<Event> = (0..48).map(|k| event(k, &mut rng)).collect();
        let found = study(&events, &market, &params);
        for (count, name) in rejected.iter_mut().zip(TESTS) {
            *count += usize::from(test(&found.groups[0].tests, name, (1, 5)).p < 0.05);
        }
    }
    let share = |name: &str| rejected[TESTS.iter().position(|t| *t == name).unwrap()] as f64 / f64::from(draws);
    for deceived in ["cross_section", "bmp"] {
        assert!(share(deceived) > 0.25, "{deceived}: {}", share(deceived));
    }
    for sound in ["kolari_pynnonen", "clustered"] {
        assert!(share(sound) < 0.12, "{sound}: {}", share(sound));
    }
}

#[test]
fn lone_events_are_called_what_they_are_not_about_as_often_as_said() {
    // Placebo: forty names, each on a day of its own far from the others.
    let market = sectors(900, 40, 5);
    let mut rng = ChaCha8Rng::seed_from_u64(12);
    let params = Params { groups: 1, parts: vec![(0, 0)], min_returns: 40, estimation: (-65, -6), ..Params::default() };
    let draws = 200;
    let mut rejected = [0; TESTS.len()];
    for _ in 0..draws {
        let event = |k: u32| Event { code: k, date: 70 + 20 * k + rng.random_range(0..20), value: 1.0 };
        let events: Vec<Event> = (0..40).map(event).collect();
        let found = study(&events, &market, &params);
        for (count, name) in rejected.iter_mut().zip(TESTS) {
            *count += usize::from(test(&found.groups[0].tests, name, (0, 0)).p < 0.05);
        }
    }
    for (count, name) in rejected.iter().zip(TESTS) {
        let share = *count as f64 / f64::from(draws);
        assert!((0.005..0.11).contains(&share), "{name}: {share}");
    }
}

#[test]
fn what_cannot_be_studied_is_counted_by_reason() {
    let market = market(40, 4, |t, i| match i {
        2 if t < 18 => None,
        3 if (17..30).contains(&t) => None,
        _ => Some(0.001 * ((t * (i + 2)) % 7) as f64),
    });
    let event = |code: u32, date: u32| Event { code, date, value: f64::from(date) };
    let mut events = vec![event(0, 20), event(0, 20), event(0, 22), event(1, 24), event(0, 38), event(0, 1)];
    events.extend([event(2, 20), event(3, 20), Event { value: f64::NAN, ..event(1, 25) }]);
    let (found, report) = run(&events, &market, &Params { gap: 2, ..short() }, &ctx()).unwrap();
    let excluded: Vec<(&str, u64)> = found.excluded.iter().map(|(reason, n)| (reason.as_str(), *n)).collect();
    assert_eq!(
        excluded,
        [
            ("follows another event of its code within the gap", 1),
            ("no return in the window", 1),
            ("no value", 1),
            ("one event with another document of its code and day", 1),
            ("too few returns in the estimation window", 1),
            ("window reaches beyond the price table", 2),
        ]
    );
    assert_eq!((report.rows_in, report.rows_out), (9, 2));
    let error = run(&[event(0, 1)], &market, &short(), &ctx()).unwrap_err();
    assert!(error.is::<TooLittle>() && error.to_string().contains("1 × window reaches beyond"), "{error}");
    assert!(run(&[event(9, 1)], &market, &short(), &ctx()).unwrap_err().to_string().contains("code 9"));
}

#[test]
fn of_many_events_each_name_and_each_date_gives_its_share() {
    let market = sectors(80, 40, 5);
    let events: Vec<Event> = (20..70)
        .flat_map(|date| (0..40).map(move |code| Event { code, date, value: f64::from((code * 7 + date) % 11) }))
        .collect();
    let params = Params { max_events: 500, ..short() };
    let (found, report) = run(&events, &market, &params, &ctx()).unwrap();
    let left_out = found.excluded["not drawn: more events than max_events"];
    assert_eq!(left_out + report.rows_out, 2000);
    assert!((400..600).contains(&report.rows_out), "{}", report.rows_out);
    assert_eq!((report.facts["dates"].as_u64(), report.facts["codes"].as_u64()), (Some(50), Some(40)));
    // Those drawn are the same in any order.
    let reversed: Vec<Event> = events.iter().rev().copied().collect();
    let again = run(&reversed, &market, &params, &ctx()).unwrap().0;
    assert_eq!(serde_json::to_string(&again).unwrap(), serde_json::to_string(&found).unwrap());
    let all = run(&events, &market, &Params { max_events: 2000, ..short() }, &ctx()).unwrap();
    assert_eq!((all.1.rows_out, all.0.excluded.len()), (2000, 0));
}

#[test]
fn groups_by_sign_part_bad_news_from_good() {
    let market = sectors(60, 6, 2);
    let event = |code: u32, value: f64| Event { code, date: 20 + code, value };
    let events = [event(0, -0.5), event(1, -0.1), event(2, 0.7), event(3, -0.0), event(4, 0.0)];
    let by_sign = |events: &[Event]| {
        let found = study(events, &market, &Params { by: Grouping::Sign, ..short() });
        found.groups.iter().map(|g| (g.group, g.events, g.values)).collect::<Vec<_>>()
    };
    assert_eq!(by_sign(&events), [(1, 2, (-0.5, -0.1)), (2, 2, (0.0, 0.0)), (3, 1, (0.7, 0.7))]);
    assert_eq!(by_sign(&events[..3]).iter().map(|g| g.0).collect::<Vec<_>>(), [1, 3]);
}

#[test]
fn the_study_is_the_same_for_any_order_and_number_of_threads_and_reads_back() {
    let market = sectors(200, 20, 4);
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    let event = |_| Event { code: rng.random_range(0..20), date: rng.random_range(20..190), value: rng.random() };
    let mut events: Vec<Event> = (0..300).map(event).collect();
    let study = |events: &[Event], threads| {
        serde_json::to_string(&run(events, &market, &short(), &Ctx::new(threads, 1).unwrap()).unwrap().0).unwrap()
    };
    let first = study(&events, 1);
    events.reverse();
    assert_eq!(first, study(&events, 3));
    // One event alone has statistics that do not exist; they are null and come back.
    let lone = study(&events[..1], 1);
    let read: EventStudy = serde_json::from_str(&lone).unwrap();
    assert!(lone.contains("null") && read.groups[0].margin[0].is_nan());
    assert_eq!(serde_json::to_string(&read).unwrap(), lone);
}
