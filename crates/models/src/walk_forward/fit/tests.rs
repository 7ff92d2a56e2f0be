//! A small market of invented samples, seeded: words 0..10 push the label up, 10..20 down, the others say nothing.

use chrono::{Days, TimeDelta};
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::super::text::ClassParams;
use super::super::walk::CLOSE;
use super::*;
use crate::learner::{EstimatorParams, Method};
use crate::linear::LinearParams;
use crate::sparse::Csr;
use crate::vectorize::{FoldCounts, VectorizerParams};
use inkstone_text::DfLimit;

mod stacked;

const DAYS: usize = 60;
const WORDS: u32 = 60;

struct Market {
    dates: Vec<NaiveDate>,
    samples: Vec<Sample>,
    texts: Vec<Vec<u32>>,
}

impl Market {
    fn new(seed: u64, per_day: usize) -> Market {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let first = NaiveDate::from_ymd_opt(2024, 1, 1).unwrap();
        let dates: Vec<NaiveDate> = (0..DAYS as u64).map(|d| first + Days::new(d)).collect();
        let (mut samples, mut texts) = (Vec::new(), Vec::new());
        for (date, day) in dates.iter().enumerate() {
            for _ in 0..per_day {
                let text: Vec<u32> = (0..12).map(|_| rng.random_range(0..WORDS)).collect();
                let push = |id: &u32| match id {
                    0..10 => 1.0,
                    10..20 => -1.0,
                    _ => 0.0,
                };
                let label = text.iter().map(push).sum::<f64>() + rng.random_range(-2.0..2.0);
                let known_at = day.and_time(CLOSE) - TimeDelta::hours(2);
                samples.push(Sample { date, group: samples.len() as u64, label, label_known: date + 2, known_at });
                texts.push(text);
            }
        }
        Market { dates, samples, texts }
    }

    fn counts(&self) -> Csr {
        let mut counts = Csr::new(WORDS as usize);
        self.texts.iter().for_each(|text| counts.push_counts(&mut text.clone()));
        counts
    }

    fn run(&self, walk: &WalkForward, params: &TextRegression, threads: usize) -> Result<(Predictions, Report)> {
        self.run_with(&VectorizerParams::default(), walk, params, threads)
    }

    fn run_with(
        &self,
        tfidf: &VectorizerParams,
        walk: &WalkForward,
        params: &TextRegression,
        threads: usize,
    ) -> Result<(Predictions, Report)> {
        let (counts, ctx) = (self.counts(), Ctx::new(threads, 1)?);
        let rows = StackedRows::of_counts(FoldCounts { counts: &counts, titles: &[], params: tfidf, ctx: &ctx });
        fit_predict(&self.samples, &rows, &self.dates, walk, params, &ctx)
    }
}

fn walk() -> WalkForward {
    WalkForward { train_days: 25, test_days: 10, min_train_rows: 50, ..WalkForward::default() }
}

fn classifier(method: Method) -> TextRegression {
    let estimator = EstimatorParams { method, ..EstimatorParams::default() };
    TextRegression { estimator, ..TextRegression::default() }
}

fn logistic_regression() -> TextRegression {
    classifier(Method::Logistic)
}

fn bits(scores: &[f32]) -> Vec<u32> {
    scores.iter().map(|s| s.to_bits()).collect()
}

#[test]
fn a_planted_tone_is_found_and_shuffled_labels_hold_none() {
    let market = Market::new(3, 12);
    let mut shuffled = Market::new(3, 12);
    let mut labels: Vec<f64> = shuffled.samples.iter().map(|s| s.label).collect();
    labels.shuffle(&mut ChaCha8Rng::seed_from_u64(9));
    shuffled.samples.iter_mut().zip(labels).for_each(|(s, label)| s.label = label);
    let ranked = TextRegression { label: Some(LabelForm::Ranked), ..TextRegression::default() };
    for params in [TextRegression::default(), ranked, logistic_regression()] {
        let mean = |market: &Market| {
            let (predictions, report) = market.run(&walk(), &params, 2).unwrap();
            assert_eq!(report.rows_in, report.rows_out + report.dropped_rows());
            assert_eq!(report.dropped["before the first test window"], 25 * 12);
            let folds = &predictions.folds;
            (folds.iter().map(|f| f.out_of_sample.unwrap()).sum::<f64>() / folds.len() as f64, predictions)
        };
        let (found, predictions) = mean(&market);
        assert!(found > 0.6, "{params:?}: {found}");
        let last = predictions.folds.last().unwrap();
        assert!(last.top[..5].iter().all(|(id, w)| *id < 10 && *w > 0.0), "{:?}", last.top);
        assert!(last.bottom[..5].iter().all(|(id, w)| (10..20).contains(id) && *w < 0.0), "{:?}", last.bottom);
        let (noise, _) = mean(&shuffled);
        assert!(noise.abs() < 0.15, "{params:?}: {noise}");
    }
}

#[test]
fn a_label_trains_only_from_the_day_after_it_was_known() {
    // One sample a day, its label known two days later; the test window begins on day 25.
    let market = Market::new(1, 1);
    let run = |embargo_days| {
        let walk = WalkForward { embargo_days, min_train_rows: 1, ..walk() };
        market.run(&walk, &TextRegression::default(), 1).unwrap().0
    };
    let first = run(0).folds[0].clone();
    // Days 0..=22 are known by day 24; days 23 and 24 are not.
    assert_eq!((first.train_rows, first.purged), (23, 2));
    assert_eq!(first.fitted_until, Some(market.dates[24].and_time(CLOSE)));
    assert_eq!(first.train, (market.dates[0], market.dates[24]));
    assert_eq!(first.test, (market.dates[25], market.dates[34]));
    let (predictions, samples) = (run(0), &market.samples);
    assert_eq!(predictions.known_at(24, &samples[24]), None);
    assert_eq!(predictions.known_at(25, &samples[25]), Some(samples[25].known_at));
    let early = Sample { known_at: market.dates[3].and_time(CLOSE), ..samples[25].clone() };
    assert_eq!(predictions.known_at(25, &early), first.fitted_until, "no score is older than its model");
    assert_eq!((run(3).folds[0].train_rows, run(3).folds[0].purged), (20, 5));
}

#[test]
fn an_event_never_stands_on_both_sides() {
    let mut market = Market::new(1, 1);
    // Day 20 reports the event that day 26 reports again; day 19 shares one with day 40, tested by another fold.
    market.samples[20].group = 26;
    market.samples[19].group = 40;
    market.samples[5].label = f64::NAN;
    let walk = WalkForward { min_train_rows: 1, ..walk() };
    let (predictions, _) = market.run(&walk, &TextRegression::default(), 1).unwrap();
    let first = &predictions.folds[0];
    assert_eq!((first.grouped, first.unlabelled, first.train_rows), (1, 1, 21));
    assert_eq!(predictions.folds[1].grouped, 1);
}

#[test]
fn nothing_at_or_after_the_test_window_changes_its_scores() {
    let market = Market::new(5, 4);
    let tfidf = VectorizerParams { max_features: 30, ..VectorizerParams::default() };
    let mut classes = Market::new(5, 4);
    named(&mut classes);
    let of_returns = [Method::Logistic, Method::Ridge, Method::Svm].map(classifier);
    for params in of_returns.into_iter().chain([named_classifier(Method::Logistic)]) {
        let has_classes = !params.classes.labels.is_empty();
        let market = if has_classes { &classes } else { &market };
        let before = market.run_with(&tfidf, &walk(), &params, 2).unwrap().0;
        for start in [25, 35, 45] {
            let mut changed = Market::new(5, 4);
            if has_classes {
                named(&mut changed);
            }
            let mut rng = ChaCha8Rng::seed_from_u64(start as u64);
            let window = start..start + 10;
            for (i, sample) in changed.samples.iter_mut().enumerate() {
                // Labels that become known in the window or later, and texts from its end on.
                if sample.label_known >= start {
                    sample.label =
                        if has_classes { f64::from(rng.random_range(0..3u8)) } else { rng.random_range(-9.0..9.0) };
                }
                if sample.date >= window.end {
                    changed.texts[i] = (0..40).map(|_| rng.random_range(0..WORDS)).collect();
                }
            }
            // In the window itself each document's text may change no score but its own.
            let own = changed.samples.iter().position(|s| s.date == start).unwrap();
            changed.texts[own] = vec![0; 50];
            let after = changed.run_with(&tfidf, &walk(), &params, 2).unwrap().0;
            for (i, sample) in changed.samples.iter().enumerate().filter(|(i, _)| *i != own) {
                if sample.date < window.end {
                    assert_eq!(before.score[i].to_bits(), after.score[i].to_bits(), "day {} of {start}", sample.date);
                }
            }
            assert_ne!(before.score[own].to_bits(), after.score[own].to_bits());
            let last = after.score.iter().rposition(|s| !s.is_nan()).unwrap();
            assert_ne!(before.score[last].to_bits(), after.score[last].to_bits(), "the changes reach later windows");
        }
    }
}

#[test]
fn the_number_of_threads_changes_no_bit() {
    let market = Market::new(8, 30);
    for params in [TextRegression::default(), logistic_regression()] {
        let one = market.run(&walk(), &params, 1).unwrap().0;
        let four = market.run(&walk(), &params, 4).unwrap().0;
        assert_eq!(bits(&one.score), bits(&four.score));
        assert_eq!(one.folds, four.folds);
    }
}

#[test]
fn a_score_is_the_sum_of_what_its_words_add() {
    let market = Market::new(2, 10);
    let mut three = classifier(Method::Bayes);
    three.classes.middle = true;
    let mut calibrated = classifier(Method::Svm);
    calibrated.classes.calibrate = CalibrationForm::Sigmoid;
    for params in [TextRegression::default(), logistic_regression(), three, calibrated] {
        let (predictions, _) = market.run(&walk(), &params, 1).unwrap();
        let i = market.samples.len() - 1;
        let model = predictions.models[predictions.fold[i] as usize].as_ref().unwrap();
        let (counts, tfidf, ctx) = (market.counts(), VectorizerParams::default(), Ctx::new(1, 1).unwrap());
        let rows = StackedRows::of_counts(FoldCounts { counts: &counts, titles: &[], params: &tfidf, ctx: &ctx });
        let WalkedParts { base, parts, .. } = model.explain(&rows, i, None).unwrap().unwrap();
        let sum: f64 = parts.iter().map(|(_, part)| part).sum();
        assert!((sum + base - f64::from(predictions.score[i])).abs() < 1e-5, "{params:?}");
        assert_eq!(model.score(&rows, i).unwrap() as f32, predictions.score[i]);
        let here = |column: &InputColumn| matches!(column, InputColumn::Term(id) if market.texts[i].contains(id));
        assert!(parts.iter().all(|(column, _)| here(column)));
    }
}

#[test]
fn every_classifier_finds_a_planted_tone_with_two_classes_or_three() {
    let market = Market::new(3, 12);
    for method in [Method::Logistic, Method::Bayes, Method::Svm, Method::Boosted, Method::Mlp] {
        for (middle, calibrate) in
            [(false, CalibrationForm::None), (true, CalibrationForm::None), (true, CalibrationForm::Sigmoid)]
        {
            let mut params = classifier(method);
            params.classes = ClassParams { middle, calibrate, ..ClassParams::default() };
            (params.estimator.mlp.batch, params.estimator.mlp.learning_rate) = (20, 0.01);
            params.estimator.boosted.trees = 50;
            params.estimator.boosted.max_depth = 3;
            params.estimator.linear.tolerance = 1e-4;
            let (predictions, _) = market.run(&walk(), &params, 2).unwrap();
            for fold in &predictions.folds {
                assert_eq!(fold.middle == 0, middle);
                assert!(fold.out_of_sample.unwrap() > 0.4, "{params:?}: {:?}", fold.out_of_sample);
                assert!(fold.in_sample.unwrap() > 0.8);
            }
            let eight = market.run(&walk(), &params, 8).unwrap().0;
            assert_eq!(bits(&predictions.score), bits(&eight.score));
        }
    }
}

/// The labels of a market as numbers of classes: the low third, the middle and the high third.
fn named(market: &mut Market) {
    market.samples.iter_mut().for_each(|s| {
        s.label = if s.label < -1.0 {
            0.0
        } else if s.label > 1.0 {
            2.0
        } else {
            1.0
        }
    });
}

fn named_classifier(method: Method) -> TextRegression {
    let mut params = classifier(method);
    params.classes.labels = ["low", "middle", "high"].map(str::to_owned).to_vec();
    params.estimator.boosted.trees = 25;
    params.estimator.boosted.max_depth = 3;
    params
}

#[test]
fn named_classes_are_told_apart_with_a_probability_each() {
    let mut market = Market::new(3, 12);
    named(&mut market);
    let mut shuffled = Market::new(3, 12);
    let mut labels: Vec<f64> = market.samples.iter().map(|s| s.label).collect();
    labels.shuffle(&mut ChaCha8Rng::seed_from_u64(9));
    shuffled.samples.iter_mut().zip(labels).for_each(|(s, label)| s.label = label);
    for method in [Method::Logistic, Method::Bayes, Method::Boosted, Method::Svm] {
        let mut params = named_classifier(method);
        if method == Method::Svm {
            params.classes.calibrate = CalibrationForm::Sigmoid;
        }
        let mean = |market: &Market| {
            let predictions = market.run(&walk(), &params, 2).unwrap().0;
            let found = predictions.folds.iter().map(|f| f.out_of_sample.unwrap()).sum::<f64>();
            (found / predictions.folds.len() as f64, predictions)
        };
        let (found, predictions) = mean(&market);
        assert!(found > 0.4, "{method:?}: {found}");
        assert!(mean(&shuffled).0.abs() < 0.15, "{method:?}");
        assert!(predictions.folds.iter().all(|fold| fold.middle == 0 && fold.missing.is_empty()));
        for (score, p) in predictions.score.iter().zip(predictions.probabilities.chunks(3)) {
            let sum: f32 = p.iter().sum();
            assert!(score.is_nan() && sum.is_nan() || (sum - 1.0).abs() < 1e-5, "{method:?} {score} {p:?}");
        }
        let known = |p: &[f32]| !p[0].is_nan();
        assert_eq!(predictions.probabilities.chunks(3).filter(|p| known(p)).count(), 35 * 12);
    }
    // Two classes say it all by their score.
    let mut two = named_classifier(Method::Logistic);
    two.classes.labels.remove(1);
    market.samples.iter_mut().for_each(|s| s.label = f64::from(s.label > 1.0));
    assert!(market.run(&walk(), &two, 1).unwrap().0.probabilities.is_empty());
}

#[test]
fn a_window_without_the_first_or_the_last_class_is_passed_over_and_one_without_another_is_not() {
    let mut market = Market::new(3, 12);
    named(&mut market);
    // The first window, days 0 to 24, has no high label; the second, 10 to 34, no middle one.
    for sample in &mut market.samples {
        if sample.date < 25 {
            sample.label = sample.label.min(1.0);
        }
        if (10..35).contains(&sample.date) && sample.label == 1.0 {
            sample.label = 0.0;
        }
    }
    let (predictions, report) = market.run(&walk(), &named_classifier(Method::Logistic), 1).unwrap();
    let [first, second] = [0, 1].map(|fold| &predictions.folds[fold]);
    assert_eq!((&first.missing[..], first.fitted_until), (&["high".to_owned()][..], None));
    assert_eq!(report.dropped["no training sample of the first or the last class (classes.labels)"], 10 * 12);
    assert_eq!(second.missing, ["middle"]);
    let tested = market.samples.iter().position(|s| s.date == 36).unwrap();
    let p = &predictions.probabilities[3 * tested..][..3];
    assert!(p[1].is_nan() && (p[0] + p[2] - 1.0).abs() < 1e-6 && !predictions.score[tested].is_nan(), "{p:?}");
}

#[test]
fn trees_learn_values_where_a_form_is_given() {
    let market = Market::new(3, 12);
    let mut params = named_classifier(Method::Boosted);
    (params.classes, params.label) = (ClassParams::default(), Some(LabelForm::Raw));
    let predictions = market.run(&walk(), &params, 2).unwrap().0;
    assert!(predictions.folds.iter().all(|fold| fold.out_of_sample.unwrap() > 0.3 && fold.middle == 0));
    let model = predictions.models[0].as_ref().unwrap();
    assert!(model.estimator.task.names().is_empty());
}

#[test]
fn overlapping_windows_take_the_newest_model_and_thin_folds_are_passed_over() {
    let market = Market::new(2, 4);
    let overlapping = WalkForward { step_days: 5, ..walk() };
    let (predictions, report) = market.run(&overlapping, &TextRegression::default(), 1).unwrap();
    let fold_of = |day: usize| predictions.fold[market.samples.iter().position(|s| s.date == day).unwrap()];
    assert_eq!([fold_of(24), fold_of(25), fold_of(29), fold_of(30), fold_of(35)], [-1, 0, 0, 1, 2]);
    assert_eq!(report.rows_out, 35 * 4);
    let thin = WalkForward { min_train_rows: 1000, ..walk() };
    let (predictions, report) = market.run(&thin, &TextRegression::default(), 1).unwrap();
    assert!(predictions.score.iter().all(|s| s.is_nan()) && predictions.models.iter().all(Option::is_none));
    assert_eq!(report.dropped["too few training samples (min_train_rows)"], 35 * 4);
    // Too few is no error, even where the labels could not be split.
    let mut flat = Market::new(2, 1);
    flat.samples.iter_mut().for_each(|s| s.label = 1.0);
    assert_eq!(flat.run(&thin, &logistic_regression(), 1).unwrap().1.rows_out, 0);
}

#[test]
fn the_outer_parts_train_a_logistic_model() {
    let mut market = Market::new(2, 1);
    for sample in &mut market.samples {
        sample.label = sample.date as f64;
    }
    let walk = WalkForward { min_train_rows: 1, ..walk() };
    let params = TextRegression {
        estimator: EstimatorParams {
            linear: LinearParams { alpha: 0.5, ..LinearParams::default() },
            ..EstimatorParams::default()
        },
        ..TextRegression::default()
    };
    let tfidf = VectorizerParams { min_df: DfLimit::Count(1), ..VectorizerParams::default() };
    let first = &market.run_with(&tfidf, &walk, &params, 1).unwrap().0.folds[0];
    // The labels 0..=22 have their cuts at 6.6 and 15.4: seven below, nine between, seven above.
    assert_eq!((first.train_rows, first.middle), (14, 9));
    market.samples.iter_mut().for_each(|s| s.label = 1.0);
    let message = format!("{:#}", market.run(&walk, &params, 1).unwrap_err());
    assert!(message.contains("fold 1") && message.contains("tail = 0.3"), "{message}");
}

#[test]
fn words_of_titles_are_chosen_by_a_number_of_their_own() {
    let market = Market::new(1, 10);
    let counts = market.counts();
    let titles: Vec<bool> = (0..WORDS).map(|id| id % 2 == 0).collect();
    let tfidf = VectorizerParams { title_features: 4, max_features: 7, ..VectorizerParams::default() };
    let ctx = Ctx::new(1, 1).unwrap();
    let rows = StackedRows::of_counts(FoldCounts { counts: &counts, titles: &titles, params: &tfidf, ctx: &ctx });
    let params = TextRegression::default();
    let (found, _) = fit_predict(&market.samples, &rows, &market.dates, &walk(), &params, &ctx).unwrap();
    let terms = found.models[0].as_ref().unwrap().terms();
    assert_eq!(terms.iter().filter(|id| titles[**id as usize]).count(), 4);
    assert_eq!(terms.len(), 11);
}

#[test]
fn a_cancelled_walk_ends_as_cancelled() {
    let market = Market::new(1, 10);
    let (counts, tfidf, ctx) = (market.counts(), VectorizerParams::default(), Ctx::new(1, 1).unwrap());
    ctx.cancel();
    let rows = StackedRows::of_counts(FoldCounts { counts: &counts, titles: &[], params: &tfidf, ctx: &ctx });
    let error =
        fit_predict(&market.samples, &rows, &market.dates, &walk(), &TextRegression::default(), &ctx).unwrap_err();
    assert!(error.is::<inkstone_base::job::Cancelled>(), "{error:#}");
}

#[test]
fn samples_that_contradict_the_calendar_are_refused() {
    let refused = |change: &dyn Fn(&mut Sample), words: &str| {
        let mut market = Market::new(1, 1);
        change(&mut market.samples[7]);
        let message = market.run(&walk(), &TextRegression::default(), 1).unwrap_err().to_string();
        assert!(message.contains("sample 7") && message.contains(words), "{message}");
    };
    refused(&|s| s.date = 600, "60 days");
    refused(&|s| s.known_at += TimeDelta::days(9), "before it was known");
    refused(&|s| s.label_known = 3, "before its own day");
    refused(&|s| s.label = f64::INFINITY, "inf");
}
