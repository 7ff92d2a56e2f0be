//! SESTM against a reference in numpy, on planted topics, and walked over a market of invented samples.

use chrono::{Days, NaiveDate, NaiveTime, TimeDelta};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde::Deserialize;

use super::*;
use crate::ModelFile;
use crate::sparse::{Csr, Row};
use crate::walk_forward::{Sample, WalkForward};
use inkstone_base::job::Ctx;

fn ctx(threads: usize) -> Ctx {
    Ctx::new(threads, 1).unwrap()
}

fn matrix(rows: &[Vec<u32>]) -> Csr {
    let mut x = Csr::new(rows.first().map_or(0, Vec::len));
    for row in rows {
        x.push_row((0u32..).zip(row).filter(|(_, n)| **n > 0).map(|(j, &n)| (j, n as f32)));
    }
    x
}

#[test]
fn words_topics_and_scores_equal_those_of_the_reference() {
    #[derive(Deserialize)]
    struct Reference {
        counts: Vec<Vec<u32>>,
        returns: Vec<f64>,
        fresh: Vec<Vec<u32>>,
        cases: Vec<Case>,
    }
    #[derive(Deserialize)]
    struct Case {
        params: SestmParams,
        base_rate: f64,
        columns: Vec<u32>,
        share: Vec<f64>,
        positive: Vec<f64>,
        negative: Vec<f64>,
        p: Vec<f64>,
    }
    let text = include_str!("../../../../tests/reference/sestm/sestm.json");
    let reference: Reference = serde_json::from_str(text).unwrap();
    let (counts, fresh) = (matrix(&reference.counts), matrix(&reference.fresh));
    let rows: Vec<usize> = (0..counts.rows()).collect();
    for case in reference.cases {
        let (topics, fit) = Topics::fit(&counts, &rows, &reference.returns, &case.params, &ctx(2)).unwrap();
        assert_eq!(topics.columns, case.columns, "{:?}", case.params);
        let near = |a: &[f64], b: &[f64]| a.len() == b.len() && a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-12);
        assert!(near(&[fit.base_rate], &[case.base_rate]) && near(&topics.share, &case.share));
        assert!(near(&topics.positive, &case.positive) && near(&topics.negative, &case.negative));
        let p: Vec<f64> = (0..fresh.rows()).map(|i| topics.score(fresh.row(i)).p).collect();
        assert!(p.iter().zip(&case.p).all(|(a, b)| (a - b).abs() < 1e-10), "{p:?} {:?}", case.p);
        assert_eq!((p[0], topics.score(fresh.row(0)).words), (0.5, 0.0), "an empty text says nothing, and is flagged");
    }
}

/// Documents drawn from two topics of twenty tone words among neutral ones; the return of each is its tone.
fn planted(documents: usize) -> (Csr, Vec<f64>, [Vec<f64>; 2]) {
    let mut rng = ChaCha8Rng::seed_from_u64(7);
    let mut topics = [0.0, 1.0].map(|side: f64| {
        let weight = |j: usize| if (j < 10) == (side == 0.0) { 3.0 + (j % 10) as f64 } else { 1.0 };
        (0..20).map(weight).collect::<Vec<f64>>()
    });
    for topic in &mut topics {
        let sum: f64 = topic.iter().sum();
        topic.iter_mut().for_each(|w| *w /= sum);
    }
    let (mut x, mut returns) = (Csr::new(60), Vec::new());
    for i in 0..documents {
        let p = (i as f64 + 0.5) / documents as f64;
        let share = |j: u32| p * topics[0][j as usize] + (1.0 - p) * topics[1][j as usize];
        let mut ids: Vec<u32> = (0..15).map(|_| rng.random_range(20..60)).collect();
        for _ in 0..40 {
            let mut left: f64 = rng.random();
            let drawn = (0..19).find(|&j| {
                left -= share(j);
                left < 0.0
            });
            ids.push(drawn.unwrap_or(19));
        }
        x.push_counts(&mut ids);
        returns.push(p - 0.5);
    }
    (x, returns, topics)
}

#[test]
fn planted_topics_are_recovered() {
    let (x, returns, truth) = planted(4000);
    let rows: Vec<usize> = (0..x.rows()).collect();
    let params = SestmParams { words: 10, ..SestmParams::default() };
    let (topics, fit) = Topics::fit(&x, &rows, &returns, &params, &ctx(2)).unwrap();
    assert_eq!(topics.columns, (0..20).collect::<Vec<u32>>());
    assert_eq!((fit.positive_words, fit.negative_words, fit.base_rate), (10, 10, 0.5));
    for j in 0..20 {
        assert!((topics.positive[j] - truth[0][j]).abs() < 0.01, "O+ of {j}: {} {}", topics.positive[j], truth[0][j]);
        assert!((topics.negative[j] - truth[1][j]).abs() < 0.01, "O- of {j}: {} {}", topics.negative[j], truth[1][j]);
    }
    let scores: Vec<f64> = rows.iter().map(|&i| topics.score(x.row(i)).p).collect();
    assert!(inkstone_base::stats::spearman(&scores, &returns) > 0.9);
}

#[test]
fn two_documents_are_solved_by_hand() {
    // Ranks 1/2 and 1. Document 0 has the bad word alone, document 1 the good word alone: O = H W' (W W')^-1 with
    // W = [[.5, 1], [.5, 0]] gives O+ = h_1 = (0, 1) and O- = 2 h_0 - h_1 = (2, -1), clipped to (2, 0) and scaled to (1, 0).
    let x = matrix(&[vec![3, 0], vec![0, 2]]);
    let params = SestmParams { kappa: DfLimit::Count(1), ..SestmParams::default() };
    let (topics, fit) = Topics::fit(&x, &[0, 1], &[-0.1, 0.1], &params, &ctx(1)).unwrap();
    assert!((topics.positive[0]).abs() < 1e-12 && (topics.positive[1] - 1.0).abs() < 1e-12, "{topics:?}");
    assert!((topics.negative[0] - 1.0).abs() < 1e-12 && topics.negative[1].abs() < 1e-12, "{topics:?}");
    assert_eq!((fit.alpha_plus, fit.alpha_minus), (0.5, 0.5));
    // Good words alone: (1 + lambda) / (1 + 2 lambda) with lambda 1.
    assert!((topics.score(Row { indices: &[1], values: &[5.0] }).p - 2.0 / 3.0).abs() < 1e-10);
}

#[test]
fn returns_that_teach_nothing_say_so() {
    let x = matrix(&[vec![1, 0], vec![0, 1], vec![1, 1]]);
    let params = SestmParams { kappa: DfLimit::Count(1), ..SestmParams::default() };
    let error_of = |labels: &[f64], params: &SestmParams| {
        Topics::fit(&x, &[0, 1, 2], labels, params, &ctx(1)).unwrap_err().to_string()
    };
    assert!(error_of(&[0.1, f64::NAN, 0.2], &params).contains("the return of document 1 is NaN"));
    assert!(error_of(&[0.1, 0.2, 0.2], &params).contains("all 3 returns are above 0"));
    assert!(
        error_of(&[0.1, -0.2, 0.2], &SestmParams { lambda: 0.0, ..params.clone() })
            .contains("lambda = 0 must be above 0")
    );
    let none = Topics::fit(&x, &[], &[], &params, &ctx(1)).unwrap_err().to_string();
    assert!(none.contains("no document with a return"), "{none}");
}

fn named(x: &Csr, returns: &[f64], params: &SestmParams) -> (Sestm, Vec<SestmTrial>) {
    let words: Vec<Box<str>> = (0..x.cols()).map(|j| format!("词{:02}", 59 - j).into()).collect();
    let groups: Vec<u64> = (0..x.rows() as u64).collect();
    let start = NaiveDate::from_ymd_opt(2024, 1, 2).unwrap().and_hms_opt(9, 0, 0).unwrap();
    // Times run against the rows, so that an order by row would be told from one by time.
    let times: Vec<_> =
        (0..x.rows()).map(|i| Some(start + TimeDelta::minutes(((i * 7919) % x.rows()) as i64))).collect();
    let data = Returns { counts: x, words: &words, labels: returns, times: &times, groups: &groups };
    Sestm::fit(&data, params, &ctx(2)).unwrap()
}

#[test]
fn what_the_words_gave_sums_to_the_score() {
    let (x, returns, _) = planted(500);
    let (model, _) = named(&x, &returns, &SestmParams { words: 10, ..SestmParams::default() });
    let terms = ["词59", "词58", "词59", "词45", "词03"];
    let explained = model.explain(&terms);
    let sum: f64 = explained.terms.iter().map(|part| part.value).sum();
    assert!((sum - explained.score).abs() < 1e-9 && explained.score == model.score(&terms).score(), "{explained:?}");
    assert_eq!(explained.terms.len(), 3, "词03 was not screened in");
    assert!(explained.terms.iter().all(|part| (part.value > 0.0) == (part.token != "词45")), "{explained:?}");
    assert_eq!(model.explain(&["词03"]).score, 0.0);
}

#[test]
fn a_saved_model_scores_the_same() {
    let (x, returns, _) = planted(500);
    let (model, _) = named(&x, &returns, &SestmParams { words: 10, ..SestmParams::default() });
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("m");
    model.save(&path, &"cut").unwrap();
    let file = ModelFile::open(&path).unwrap();
    assert_eq!(Sestm::read(&file).unwrap(), model);
    assert_eq!((file.header().documents, file.header().fitted_until), (500, model.fitted_until()));
    assert_eq!(model.fitted_until().unwrap().to_string(), "2024-01-02 17:19:00");
}

#[test]
fn the_best_of_several_values_is_chosen_on_the_latest_documents() {
    let (x, returns, _) = planted(1500);
    let tune = Tune { words: vec![2, 10], lambda: vec![0.1, 50.0], ..Tune::default() };
    let (model, trials) = named(&x, &returns, &SestmParams { tune, ..SestmParams::default() });
    assert_eq!(trials.len(), 4);
    let best = trials.iter().min_by(|a, b| a.loss.unwrap().total_cmp(&b.loss.unwrap())).unwrap();
    assert_eq!((model.params().words, model.params().lambda), (best.words, best.lambda));
    assert_eq!((best.words, best.lambda), (10, 0.1), "{trials:?}");
}

const DAYS: usize = 60;

/// Twelve samples a day; words 0..10 go with returns above 0, 10..20 with those below.
pub(crate) fn market(seed: u64) -> (Vec<Sample>, Csr, Vec<NaiveDate>) {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let first = NaiveDate::from_ymd_opt(2024, 1, 1).unwrap();
    let dates: Vec<NaiveDate> = (0..DAYS as u64).map(|d| first + Days::new(d)).collect();
    let (mut samples, mut x) = (Vec::new(), Csr::new(60));
    for (date, day) in dates.iter().enumerate() {
        for _ in 0..12 {
            let mut ids: Vec<u32> = (0..15).map(|_| rng.random_range(0..60)).collect();
            let push = |id: &u32| if *id < 10 { 1.0 } else { -f64::from(u8::from(*id < 20)) };
            let label = ids.iter().map(push).sum::<f64>() + rng.random_range(-2.0..2.0);
            let known_at = day.and_time(NaiveTime::from_hms_opt(13, 0, 0).unwrap());
            samples.push(Sample { date, group: samples.len() as u64, label, label_known: date + 2, known_at });
            x.push_counts(&mut ids);
        }
    }
    (samples, x, dates)
}

fn walked(market: &(Vec<Sample>, Csr, Vec<NaiveDate>), params: &SestmParams, threads: usize) -> SestmWalk {
    let walk = WalkForward { train_days: 25, test_days: 10, min_train_rows: 50, ..WalkForward::default() };
    sestm_walk(&market.0, &market.1, &market.2, &walk, params, &ctx(threads)).unwrap().0
}

fn bits(walk: &SestmWalk) -> Vec<Option<(u64, u64)>> {
    walk.scores.iter().map(|score| score.map(|score| (score.p.to_bits(), score.words.to_bits()))).collect()
}

#[test]
fn a_walk_finds_what_moves_returns() {
    let walk = walked(&market(3), &SestmParams { words: 10, ..SestmParams::default() }, 2);
    for (fold, model) in walk.folds.iter().zip(&walk.models) {
        assert!(fold.out_of_sample.unwrap() > 0.6, "{fold:?}");
        assert_eq!(fold.vocabulary, model.as_ref().unwrap().topics.columns.len());
        for (words, planted) in [(&fold.top, 0..10), (&fold.bottom, 10..20)] {
            assert!(words[..4].iter().all(|(id, _)| planted.contains(id)), "{fold:?}");
            assert!(words.iter().filter(|(id, _)| planted.contains(id)).count() >= 7, "{fold:?}");
        }
    }
    assert!(walk.scores[..25 * 12].iter().all(Option::is_none) && walk.scores[25 * 12..].iter().all(Option::is_some));
}

#[test]
fn nothing_at_or_after_the_test_window_changes_its_scores() {
    let tune = Tune { lambda: vec![0.5, 5.0], words: vec![5, 10], ..Tune::default() };
    let params = SestmParams { tune, ..SestmParams::default() };
    let mut market = market(4);
    let before = walked(&market, &params, 2);
    // The first test window is days 25..35; the labels of days 23 and 24 are known in it.
    market.0.iter_mut().filter(|s| s.date >= 23).for_each(|s| s.label = -3.0 * s.label + 1.0);
    let after = walked(&market, &params, 2);
    assert_eq!(bits(&before)[..35 * 12], bits(&after)[..35 * 12]);
    assert_eq!(before.models[0], after.models[0]);
    assert_ne!(bits(&before)[35 * 12..], bits(&after)[35 * 12..]);
}

#[test]
fn the_number_of_threads_changes_no_bit() {
    let tune = Tune { lambda: vec![0.5, 5.0], ..Tune::default() };
    let params = SestmParams { words: 10, tune, ..SestmParams::default() };
    let market = market(5);
    let one = walked(&market, &params, 1);
    for threads in [2, 8] {
        let other = walked(&market, &params, threads);
        assert_eq!(bits(&one), bits(&other));
        assert_eq!(one.models, other.models);
    }
}
