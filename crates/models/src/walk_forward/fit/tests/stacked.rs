//! Words, sparse and dense columns side by side.

use serde::Deserialize;
use std::collections::BTreeMap;

use super::*;
use crate::design::FoldFeatures;
use crate::design::{DenseRows, SpilledDense};
use crate::estimate::{Measure, Search};

/// The numbers of scikit-learn.
#[derive(Deserialize)]
struct Reference {
    dates: Vec<usize>,
    texts: Vec<Vec<u32>>,
    labels: Vec<f64>,
    sparse: Vec<Vec<f32>>,
    dense: Vec<Vec<Option<f32>>>,
    ridge_words: Vec<Option<f64>>,
    ridge_dense: Vec<Option<f64>>,
    ridge_stacked: Vec<Option<f64>>,
    logistic_words: Vec<Option<f64>>,
    logistic_dense: Vec<Option<f64>>,
    logistic_stacked: Vec<Option<f64>>,
    search: SearchReference,
}

#[derive(Deserialize)]
struct SearchReference {
    /// Rows that train and rows that test.
    splits: Vec<(Vec<usize>, Vec<usize>)>,
    cases: Vec<SearchCase>,
}

#[derive(Deserialize)]
struct SearchCase {
    goal: Vec<serde_json::Value>,
    grid: BTreeMap<String, Vec<f64>>,
    settings: Vec<BTreeMap<String, f64>>,
    /// By measure, combination and fold.
    figures: BTreeMap<String, Vec<Vec<f64>>>,
}

/// Inputs of samples, as they are held.
struct Inputs {
    counts: Csr,
    sparse: Csr,
    dense: DenseRows,
    tfidf: VectorizerParams,
    ctx: Ctx,
}

impl Inputs {
    fn counted(&self) -> FoldCounts<'_> {
        FoldCounts { counts: &self.counts, titles: &[], params: &self.tfidf, ctx: &self.ctx }
    }

    fn stacked(&self) -> StackedRows<'_> {
        StackedRows { counts: Some(self.counted()), sparse: vec![&self.sparse], dense: Some(&self.dense) }
    }
}

fn reference() -> (Reference, Inputs) {
    let reference: Reference =
        serde_json::from_str(include_str!("../../../../../../tests/reference/sklearn/walk.json")).unwrap();
    let (mut counts, mut sparse) = (Csr::default(), Csr::new(4));
    reference.texts.iter().for_each(|text| counts.push_counts(&mut text.clone()));
    for row in &reference.sparse {
        sparse.push_row((0..).zip(row).filter(|(_, v)| **v != 0.0).map(|(j, v)| (j, *v)));
    }
    let values = reference.dense.iter().flatten().map(|v| v.unwrap_or(f32::NAN));
    let dense = DenseRows::new(3, values.collect()).unwrap();
    let (tfidf, ctx) = (VectorizerParams::default(), Ctx::new(2, 1).unwrap());
    (reference, Inputs { counts, sparse, dense, tfidf, ctx })
}

#[test]
fn scores_equal_those_of_scikit_learn_fitted_window_by_window() {
    let (reference, inputs) = reference();
    let dates = Market::new(1, 1).dates[..40].to_vec();
    let samples: Vec<Sample> = (0u64..)
        .zip(reference.dates.iter().zip(&reference.labels))
        .map(|(group, (&date, &label))| {
            let known_at = dates[date].and_time(CLOSE) - TimeDelta::hours(2);
            Sample { date, group, label, label_known: date + 2, known_at }
        })
        .collect();
    let walk = WalkForward { train_days: 20, test_days: 10, min_train_rows: 1, ..WalkForward::default() };
    let words = || StackedRows::of_counts(inputs.counted());
    let dense = || StackedRows::of_dense(&inputs.dense);
    for (method, rows, expected) in [
        (Method::Ridge, words(), &reference.ridge_words),
        (Method::Ridge, dense(), &reference.ridge_dense),
        (Method::Ridge, inputs.stacked(), &reference.ridge_stacked),
        (Method::Logistic, words(), &reference.logistic_words),
        (Method::Logistic, dense(), &reference.logistic_dense),
        (Method::Logistic, inputs.stacked(), &reference.logistic_stacked),
    ] {
        let mut params = classifier(method);
        params.estimator.linear.alpha = 0.5;
        let (found, _) = fit_predict(&samples, &rows, &dates, &walk, &params, &inputs.ctx).unwrap();
        for (i, (score, expected)) in found.score.iter().zip(expected).enumerate() {
            match expected {
                None => assert!(score.is_nan(), "sample {i}"),
                Some(truth) => {
                    let model = found.models[found.fold[i] as usize].as_ref().unwrap();
                    let exact = model.score(&rows, i).unwrap();
                    assert!((exact - truth).abs() < 1e-6 * truth.abs().max(1.0), "{method:?} {i}: {exact}, {truth}");
                    assert_eq!(*score, exact as f32);
                }
            }
        }
    }
}

#[test]
fn a_search_reaches_the_figures_of_grid_search_cv() {
    let (reference, inputs) = reference();
    let split = |(train, test): &(Vec<usize>, Vec<usize>)| Split {
        train: train.clone(),
        test: test.clone(),
        ..Split::default()
    };
    let splits: Vec<Split> = reference.search.splits.iter().map(split).collect();
    let ctx = &inputs.ctx;
    for case in reference.search.cases {
        let (goal, method) = if case.goal[0].is_boolean() {
            let class = case.goal.iter().map(|up| u32::from(up.as_bool().unwrap())).collect();
            (Goal::Classes { class, names: vec!["down".into(), "up".into()] }, Method::Logistic)
        } else {
            (Goal::Values(case.goal.iter().map(|y| y.as_f64().unwrap()).collect()), Method::Ridge)
        };
        let params = EstimatorParams { method, ..EstimatorParams::default() };
        for (measure, figures) in case.figures {
            let measure: Measure = serde_json::from_value(measure.into()).unwrap();
            let wanted = Search { grid: case.grid.clone(), measure: Some(measure), ..Search::default() };
            let points = ctx
                .install(|| search(&inputs.stacked(), &goal, TrainingRows::default(), &splits, &params, &wanted, ctx))
                .unwrap();
            assert_eq!(points.len(), case.settings.len());
            for (settings, figures) in case.settings.iter().zip(&figures) {
                let point = points.iter().find(|point| point.settings == *settings).unwrap();
                let off = crate::reference::farthest(&point.scores, figures);
                assert!(off < 1e-5, "{measure:?} {settings:?}: {:?} against {figures:?}", point.scores);
            }
        }
    }
    let wanted = Search { measure: Some(Measure::Auc), ..Search::default() };
    let goal = Goal::Values(reference.labels);
    let error =
        search(&inputs.stacked(), &goal, TrainingRows::default(), &splits, &EstimatorParams::default(), &wanted, ctx)
            .unwrap_err();
    assert!(error.to_string().contains("auc does not suit the goal; choose r2, rank_ic, mse"), "{error}");
}

/// A market, a sparse block that tells nothing, and two dense columns: a noisy label and noise with gaps.
fn planted(seed: u64, per_day: usize) -> (Market, Inputs) {
    let market = Market::new(seed, per_day);
    let mut rng = ChaCha8Rng::seed_from_u64(seed + 1);
    let (mut sparse, mut dense) = (Csr::new(2), Vec::new());
    for sample in &market.samples {
        sparse.push_row([(rng.random_range(0..2), 1.0)]);
        let gap = rng.random_range(0..5) == 0;
        dense.push(100.0 + (sample.label + rng.random_range(-3.0..3.0)) as f32);
        dense.push(if gap { f32::NAN } else { rng.random_range(-1.0..1.0) });
    }
    let inputs = Inputs {
        counts: market.counts(),
        sparse,
        dense: DenseRows::new(2, dense).unwrap(),
        tfidf: VectorizerParams::default(),
        ctx: Ctx::new(2, 1).unwrap(),
    };
    (market, inputs)
}

/// Every method that suits values without a sign or with one.
fn methods() -> Vec<TextRegression> {
    let mut elastic = classifier(Method::Logistic);
    elastic.estimator.linear.l1_ratio = 0.5;
    let mut three = classifier(Method::Logistic);
    three.classes.middle = true;
    let mut boosted = classifier(Method::Boosted);
    (boosted.estimator.boosted.trees, boosted.estimator.boosted.max_depth) = (15, 3);
    let mut all = vec![classifier(Method::Ridge), classifier(Method::Logistic), classifier(Method::Svm)];
    let mut mlp = classifier(Method::Mlp);
    (mlp.estimator.mlp.batch, mlp.estimator.mlp.learning_rate) = (20, 0.01);
    all.extend([elastic, three, boosted, mlp]);
    all
}

#[test]
fn parts_of_a_score_name_their_inputs_and_sum_up_to_it() {
    let (market, inputs) = planted(4, 10);
    let rows = inputs.stacked();
    for params in methods() {
        let (found, _) = fit_predict(&market.samples, &rows, &market.dates, &walk(), &params, &inputs.ctx).unwrap();
        let i = market.samples.len() - 1;
        let model = found.models[found.fold[i] as usize].as_ref().unwrap();
        let WalkedParts { base, parts, .. } = model.explain(&rows, i, None).unwrap().unwrap();
        let sum = base + parts.iter().map(|(_, part)| part).sum::<f64>();
        assert!((sum - f64::from(found.score[i])).abs() < 1e-4, "{params:?}: {sum} {}", found.score[i]);
        assert!(parts.iter().any(|(column, _)| *column == InputColumn::Dense(0)), "{params:?}: {parts:?}");
        assert!(parts.iter().any(|(column, _)| matches!(column, InputColumn::Term(_))));
        let last = found.folds.last().unwrap();
        assert!(last.out_of_sample.unwrap() > 0.5 && last.unseen == 0, "{params:?}: {last:?}");
    }
    let alone = StackedRows::of_dense(&inputs.dense);
    let params = classifier(Method::Ridge);
    let (found, _) = fit_predict(&market.samples, &alone, &market.dates, &walk(), &params, &inputs.ctx).unwrap();
    assert!(found.folds[0].out_of_sample.unwrap() > 0.4 && found.folds[0].top.is_empty());
}

#[test]
fn mapped_rows_and_any_number_of_threads_give_the_same_bytes() {
    let (market, inputs) = planted(5, 30);
    let dir = tempfile::tempdir().unwrap();
    let mut spilled = SpilledDense::within(dir.path()).unwrap();
    (0..inputs.dense.rows()).for_each(|i| spilled.push_row(inputs.dense.row(i)).unwrap());
    let mapped = spilled.finish().unwrap();
    for params in methods() {
        let scores = |dense: &DenseRows, threads: usize| {
            let ctx = Ctx::new(threads, 1).unwrap();
            let rows = StackedRows { dense: Some(dense), ..inputs.stacked() };
            bits(&fit_predict(&market.samples, &rows, &market.dates, &walk(), &params, &ctx).unwrap().0.score)
        };
        let one = scores(&inputs.dense, 1);
        assert!(one == scores(&inputs.dense, 8) && one == scores(&mapped, 2), "{params:?}");
    }
}

#[test]
fn later_rows_change_no_earlier_score() {
    let (market, inputs) = planted(6, 4);
    let scores = |dense: &DenseRows| {
        let rows = StackedRows { dense: Some(dense), ..inputs.stacked() };
        let params = classifier(Method::Logistic);
        fit_predict(&market.samples, &rows, &market.dates, &walk(), &params, &inputs.ctx).unwrap().0.score
    };
    let before = scores(&inputs.dense);
    let value = |i: usize, v: f32| if market.samples[i].date >= 35 { -50.0 * v } else { v };
    let changed = (0..inputs.dense.rows()).flat_map(|i| inputs.dense.row(i).iter().map(move |v| value(i, *v)));
    let after = scores(&DenseRows::new(2, changed.collect()).unwrap());
    let first = market.samples.iter().position(|sample| sample.date >= 35).unwrap();
    assert_eq!(bits(&before[..first]), bits(&after[..first]));
    assert_ne!(bits(&before[first..]), bits(&after[first..]));
}

#[test]
fn a_search_in_each_fold_chooses_among_settings_and_is_noted() {
    let (market, inputs) = planted(7, 12);
    let mut params = classifier(Method::Ridge);
    let grid = BTreeMap::from([("alpha".to_owned(), vec![1.0, 1e7])]);
    params.search = Search { grid, folds: 3, measure: Some(Measure::RankIc), ..Search::default() };
    let rows = inputs.stacked();
    let (found, _) = fit_predict(&market.samples, &rows, &market.dates, &walk(), &params, &inputs.ctx).unwrap();
    for fold in &found.folds {
        let chosen = fold.search.as_ref().unwrap();
        assert_eq!((chosen.tried, chosen.settings["alpha"]), (2, 1.0), "{chosen:?}");
        assert!(chosen.mean > 0.3 && chosen.standard_error.unwrap() > 0.0 && chosen.measure == Measure::RankIc);
    }
    params.search = Search::default();
    let (plain, _) = fit_predict(&market.samples, &rows, &market.dates, &walk(), &params, &inputs.ctx).unwrap();
    assert_eq!(bits(&found.score), bits(&plain.score), "the penalty that was chosen is the one that stands");
    let grid = BTreeMap::from([("C".to_owned(), vec![1.0])]);
    params.search = Search { grid, ..Search::default() };
    let error = fit_predict(&market.samples, &rows, &market.dates, &walk(), &params, &inputs.ctx).unwrap_err();
    assert!(format!("{error:#}").contains("ridge has no setting \"C\""), "{error:#}");
}

#[test]
fn a_search_sees_its_window_alone_and_chooses_alike_on_any_number_of_threads() {
    let (market, inputs) = planted(9, 12);
    let grids: [(Method, &[(&str, &[f64])]); 5] = [
        (Method::Ridge, &[("alpha", &[0.1, 10.0, 1000.0])]),
        (Method::Logistic, &[("C", &[0.01, 1.0, 100.0]), ("l1_ratio", &[0.0, 0.5])]),
        (Method::Svm, &[("C", &[0.001, 0.1, 10.0])]),
        (Method::Boosted, &[("trees", &[5.0, 15.0]), ("max_depth", &[2.0, 4.0])]),
        (Method::Bayes, &[("smoothing", &[0.01, 1.0, 50.0])]),
    ];
    // From day `torn` on texts, columns and labels are others.
    let torn = 45;
    let mut later = Market::new(9, 12);
    for (i, sample) in later.samples.iter_mut().enumerate().filter(|(_, sample)| sample.date >= torn) {
        sample.label = -sample.label;
        later.texts[i].iter_mut().for_each(|word| *word = (*word * 7 + 3) % WORDS);
    }
    let first = later.samples.iter().position(|sample| sample.date >= torn).unwrap();
    let values = (0..inputs.dense.rows()).flat_map(|i| {
        let sign = if i < first { 1.0 } else { -1.0 };
        inputs.dense.row(i).iter().map(move |value| sign * value)
    });
    let torn_inputs = Inputs {
        counts: later.counts(),
        sparse: inputs.sparse.clone(),
        dense: DenseRows::new(2, values.collect()).unwrap(),
        tfidf: VectorizerParams::default(),
        ctx: Ctx::new(2, 1).unwrap(),
    };
    for (method, grid) in grids {
        let mut params = classifier(method);
        let grid = grid.iter().map(|(name, values)| ((*name).to_owned(), values.to_vec())).collect();
        params.search = Search { grid, folds: 4, one_standard_error: true, ..Search::default() };
        let folds = |market: &Market, inputs: &Inputs, threads: usize| {
            let ctx = Ctx::new(threads, 1).unwrap();
            // Naive Bayes learns on counts alone.
            let rows =
                if method == Method::Bayes { StackedRows::of_counts(inputs.counted()) } else { inputs.stacked() };
            let walk = WalkForward { embargo_days: 1, ..walk() };
            fit_predict(&market.samples, &rows, &market.dates, &walk, &params, &ctx).unwrap().0
        };
        let intact = folds(&market, &inputs, 2);
        let (one, eight) = (folds(&market, &inputs, 1), folds(&market, &inputs, 8));
        assert!(one.folds == intact.folds && eight.folds == intact.folds, "{method:?}");
        assert_eq!(bits(&one.score), bits(&eight.score), "{method:?}");
        let after = folds(&later, &torn_inputs, 2);
        let is_before = |fold: &&FoldReport| fold.test.0 <= market.dates[torn];
        let chosen = |found: &Predictions| -> Vec<Option<ChosenSettings>> {
            found.folds.iter().filter(is_before).map(|fold| fold.search.clone()).collect()
        };
        assert!(chosen(&intact).len() >= 2 && chosen(&intact).iter().all(Option::is_some), "{method:?}");
        assert_eq!(chosen(&intact), chosen(&after), "{method:?}");
        assert_eq!(bits(&intact.score[..first]), bits(&after.score[..first]), "{method:?}");
        let last = |found: &Predictions| found.folds.last().unwrap().search.clone();
        assert_ne!(last(&intact), last(&after), "{method:?}: the last window has other documents");
    }
}

#[test]
fn folds_of_a_search_are_purged_of_overlapping_labels_and_keep_groups_whole() {
    let market = Market::new(10, 6);
    // Three samples of a day are reposts of the first samples of the day ten days before.
    let mut samples = market.samples.clone();
    for i in 60..samples.len() {
        if i % 6 < 3 {
            samples[i].group = samples[i - 60].group;
        }
    }
    let (counts, ctx) = (market.counts(), Ctx::new(1, 1).unwrap());
    let tfidf = VectorizerParams::default();
    let rows = StackedRows::of_counts(FoldCounts { counts: &counts, titles: &[], params: &tfidf, ctx: &ctx });
    let (params, walk) = (classifier(Method::Ridge), WalkForward { embargo_days: 3, ..walk() });
    let data = Data { samples: &samples, rows: &rows, params: &params, walk: &walk, ctx: &ctx };
    let train: Vec<usize> = (0..150).collect();
    let goal = Goal::Values(train.iter().map(|&i| samples[i].label).collect());
    let (mut purged, mut grouped) = (0, 0);
    for lead in [0, 4] {
        for split in data.splits(&goal, &train, 5, lead).unwrap() {
            let tested = || split.test.iter().map(|&row| &samples[train[row]]);
            let (first, last) = (tested().map(|s| s.date).min().unwrap(), tested().map(|s| s.date).max().unwrap());
            for &row in &split.train {
                let Sample { date, label_known, group, .. } = samples[train[row]];
                // Labels reach from `lead` days before their text to two days after it.
                let is_before = label_known + lead < first;
                let is_after = date > last + 2 + 3 + lead;
                assert!(is_before || is_after, "lead {lead}: day {date} trains for {first} to {last}");
                assert!(tested().all(|other| other.group != group));
            }
            (purged, grouped) = (purged + split.purged, grouped + split.grouped);
        }
    }
    assert!(purged > 0 && grouped > 0);
}

#[test]
fn inputs_that_do_not_fit_together_are_refused() {
    let (market, inputs) = planted(8, 6);
    let refused = |rows: &StackedRows<'_>, params: &TextRegression| {
        format!("{:#}", fit_predict(&market.samples, rows, &market.dates, &walk(), params, &inputs.ctx).unwrap_err())
    };
    let ridge = classifier(Method::Ridge);
    assert!(refused(&StackedRows::default(), &ridge).contains("no inputs"));
    let short = DenseRows::new(2, vec![0.0; 4]).unwrap();
    let message = refused(&StackedRows { dense: Some(&short), ..inputs.stacked() }, &ridge);
    assert!(message.contains("360 samples, but 2 rows of the dense rows"), "{message}");
    let message = refused(&inputs.stacked(), &classifier(Method::Bayes));
    assert!(message.contains("naive Bayes adds up counts") && message.contains("without a sign"), "{message}");
    let split = Split { train: vec![0, 1], test: vec![2], ..Split::default() };
    let (train, test) = inputs.stacked().fold(&split).unwrap();
    assert_eq!((train.rows(), test.rows(), train.cols()), (2, 1, test.cols()));
}
