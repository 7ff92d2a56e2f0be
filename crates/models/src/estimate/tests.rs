use std::collections::BTreeMap;

use super::*;
use crate::calibration::Calibrator;
use crate::design::Design;
use crate::goal::Goal;
use crate::learner::{ClassWeight, EstimatorParams};
use crate::linear::SvmLoss;
use crate::reference::{Reference, farthest, read};
use crate::{BayesForm, CalibrationForm, Csr, FoldParams, FoldRows, Split, draw_folds};
use inkstone_base::job::Ctx;

fn names(n: usize) -> Vec<String> {
    ["甲", "乙", "丙"][..n].iter().map(|name| (*name).to_owned()).collect()
}

fn three(reference: &Reference) -> Goal {
    Goal::Classes { class: reference.class.clone(), names: names(3) }
}

fn two(reference: &Reference) -> Goal {
    Goal::Classes { class: reference.binary(), names: names(2) }
}

fn method(method: Method) -> EstimatorParams {
    EstimatorParams { method, ..EstimatorParams::default() }
}

fn fitted(x: &Design, goal: &Goal, weights: Option<&[f64]>, params: &EstimatorParams, threads: usize) -> Estimator {
    let ctx = Ctx::new(threads, 1).unwrap();
    ctx.install(|| fit_estimator(x, goal, TrainingRows { weights, order: None }, params, &ctx)).unwrap()
}

/// Every estimator that classes can have.
fn classifiers() -> Vec<EstimatorParams> {
    let mut all: Vec<EstimatorParams> =
        [Method::Logistic, Method::Bayes, Method::Svm, Method::Boosted].map(method).into_iter().collect();
    all[3].boosted.trees = 15;
    let mut elastic = method(Method::Logistic);
    elastic.linear.l1_ratio = 0.5;
    let mut complement = method(Method::Bayes);
    complement.bayes.form = BayesForm::Complement;
    let mut hinge = method(Method::Svm);
    hinge.svm_loss = SvmLoss::Hinge;
    hinge.linear.tolerance = 1e-5;
    all.extend([elastic, complement, hinge]);
    all
}

#[test]
fn logistic_regression_equals_that_of_scikit_learn() {
    let reference = Reference::read();
    for case in reference.all["logistic"].as_array().unwrap() {
        let goal = if case["goal"] == "class" { three(&reference) } else { two(&reference) };
        let mut params = method(Method::Logistic);
        params.linear.alpha = read(&case["alpha"]);
        params.linear.l1_ratio = read(&case["l1_ratio"]);
        if read(&case["balanced"]) {
            params.class_weight = ClassWeight::Balanced;
        }
        let weights = case["weighted"].as_bool().unwrap().then_some(&reference.weights[..]);
        let model = fitted(&reference.x, &goal, weights, &params, 2);
        assert!(model.convergence[0].converged, "{params:?}: {:?}", model.convergence);
        let map = model.linear().unwrap();
        let coef: Vec<Vec<f64>> = read(&case["coef"]);
        for (k, coef) in coef.iter().enumerate() {
            let ours: Vec<f64> = (0..coef.len() as u32).map(|j| map.weight(j, k)).collect();
            let off = farthest(&ours, coef);
            assert!(off < 1e-5, "{}: {off}", case);
        }
        let mut intercepts: Vec<f64> = read(&case["intercept"]);
        if intercepts.len() > 1 {
            // A constant in all of them changes nothing; there it is what rounding made of it.
            let mean = intercepts.iter().sum::<f64>() / intercepts.len() as f64;
            intercepts.iter_mut().for_each(|b| *b -= mean);
        }
        let off = farthest(&map.intercepts, &intercepts);
        assert!(off < 1e-5, "{params:?}: intercepts {off}");
        let expected: Vec<Vec<f64>> = read(&case["probabilities"]);
        let p = model.guess(&reference.x).probabilities.unwrap();
        assert!(farthest(&p[..5 * goal.names().len()], expected.iter().flatten()) < 1e-5);
    }
}

#[test]
fn support_vectors_reach_the_objective_of_scikit_learn() {
    let reference = Reference::read();
    for case in reference.all["svm"].as_array().unwrap() {
        let mut params = method(Method::Svm);
        params.linear.alpha = read(&case["alpha"]);
        params.linear.tolerance = 1e-7;
        params.linear.max_iterations = 100_000;
        params.svm_loss = read(&case["loss"]);
        let weights = case["weighted"].as_bool().unwrap().then_some(&reference.weights[..]);
        let model = fitted(&reference.x, &two(&reference), weights, &params, 2);
        assert!(model.convergence[0].converged, "{params:?}: {:?}", model.convergence);
        let map = model.linear().unwrap();
        let size = map.weights.iter().chain(&map.intercepts).map(|w| w * w).sum::<f64>();
        let lost = model.scores(&reference.x).into_iter().zip(&reference.up).enumerate().map(|(i, (f, up))| {
            let short = (1.0 - if *up { f } else { -f }).max(0.0);
            let lost = if params.svm_loss == SvmLoss::Hinge { short } else { short * short };
            weights.map_or(1.0, |w| w[i]) * lost
        });
        let objective = 0.5 * params.linear.alpha * size + lost.sum::<f64>();
        let expected: f64 = read(&case["objective"]);
        assert!((objective / expected - 1.0).abs() < 1e-6, "{params:?}: {objective} against {expected}");
        let coef: Vec<f64> = read(&case["coef"]);
        assert!(farthest(&map.weights, &coef) < 1e-3, "{params:?}");
    }
}

#[test]
fn calibration_out_of_fold_equals_that_of_scikit_learn() {
    let reference = Reference::read();
    let calibration = &reference.all["calibration"];
    let tests: Vec<Vec<usize>> = read(&calibration["folds"]);
    let split = |test: &Vec<usize>| Split {
        train: (0..reference.x.rows()).filter(|i| !test.contains(i)).collect(),
        test: test.clone(),
        ..Split::default()
    };
    let splits: Vec<Split> = tests.iter().map(split).collect();
    let goal = two(&reference);
    let mut params = method(Method::Logistic);
    params.linear.alpha = 2.0;
    let ctx = Ctx::new(2, 1).unwrap();
    for (form, name, near) in
        [(CalibrationForm::Sigmoid, "whole_sigmoid", 1e-5), (CalibrationForm::Isotonic, "whole_isotonic", 1e-5)]
    {
        let mut model = fitted(&reference.x, &goal, None, &params, 2);
        let scores =
            ctx.install(|| out_of_fold(&reference.x, &goal, TrainingRows::default(), &splits, &params, &ctx)).unwrap();
        calibrate(&mut model, &goal, &scores, None, form).unwrap();
        let p = model.guess(&reference.x).probabilities.unwrap();
        let second: Vec<f64> = p.chunks(2).map(|p| p[1]).collect();
        let off = farthest(&second, &read::<Vec<f64>>(&calibration[name]));
        assert!(off < near, "{name}: {off}");
    }
}

#[test]
fn parts_add_up_to_what_they_explain() {
    let reference = Reference::read();
    for params in classifiers() {
        for goal in [two(&reference), three(&reference)] {
            let model = fitted(&reference.x, &goal, None, &params, 1);
            let scores = model.scores(&reference.x);
            let k = model.outputs();
            for i in [0, 7, 41] {
                let (base, parts) = model.explain(reference.x.row(i), 1, Some(0));
                let sum: f64 = base + parts.iter().map(|(_, part)| part).sum::<f64>();
                let expected = if k == 1 { scores[i] } else { scores[i * k + 1] - scores[i * k] };
                assert!((sum - expected).abs() < 1e-11, "{params:?}: {sum} against {expected}");
                if k == 1 {
                    let (other, _) = model.explain(reference.x.row(i), 0, None);
                    assert_eq!(other, -base, "the other class is the other side of the same score");
                }
            }
        }
    }
}

#[test]
fn parts_of_a_probability_add_up_to_it() {
    let reference = Reference::read();
    for params in classifiers().into_iter().chain([perceptron()]) {
        for goal in [two(&reference), three(&reference)] {
            let mut model = fitted(&reference.x, &goal, None, &params, 1);
            // A perceptron keeps its weights in single precision.
            let near = if params.method == Method::Mlp { 1e-5 } else { 1e-8 };
            let columns = if matches!(goal, Goal::Classes { ref names, .. } if names.len() == 2) { 2 } else { 3 };
            for calibrated in [false, true] {
                if calibrated {
                    let sigmoid = Calibrator::Sigmoid { slope: -0.7, offset: 0.2 };
                    model.calibrators = vec![sigmoid; model.outputs()];
                }
                let Some(expected) = model.guess(&reference.x).probabilities else {
                    assert!(model.explain_probability(reference.x.row(0), 1).is_none());
                    continue;
                };
                for (i, of) in [(0, 0), (7, 1), (41, columns - 1)] {
                    let found = model.explain_probability(reference.x.row(i), of).unwrap();
                    let sum = found.base + found.parts.iter().map(|(_, part)| part).sum::<f64>();
                    let p = expected[i * columns + of];
                    assert!((sum - p).abs() < near, "{params:?} {of} {calibrated}: {sum} against {p}");
                }
            }
        }
    }
}

#[test]
fn bytes_do_not_depend_on_the_number_of_threads() {
    let reference = Reference::read();
    for params in classifiers().into_iter().chain([perceptron()]) {
        let sections = |threads| {
            fitted(&reference.x, &three(&reference), Some(&reference.weights), &params, threads).sections().unwrap()
        };
        let one = sections(1);
        assert!(one == sections(2) && one == sections(8), "{params:?}");
    }
}

/// A small network, at a rate for a few hundred rows.
fn perceptron() -> EstimatorParams {
    let mut params = method(Method::Mlp);
    (params.mlp.hidden, params.mlp.batch, params.mlp.learning_rate) = (vec![12], 30, 0.01);
    params
}

#[test]
fn a_network_learns_every_goal_and_its_parts_add_up() {
    let reference = Reference::read();
    // Each row four times: the tenth that is held out has its like among the rows that train, so that training ends when these are learned.
    let rows: Vec<usize> = (0..360).map(|i| i % 90).collect();
    let x = reference.x.select(&rows);
    let values: Vec<f64> = read(&reference.all["order"]["value"]);
    let weights: Vec<f64> = rows.iter().map(|&i| reference.weights[i]).collect();
    let class = |classes: &[u32], names| Goal::Classes { class: rows.iter().map(|&i| classes[i]).collect(), names };
    let labels = rows.iter().map(|&i| if reference.up[i] { vec![0] } else { vec![1] }).collect();
    let mut balanced = perceptron();
    balanced.class_weight = ClassWeight::Balanced;
    for (goal, params) in [
        (class(&reference.binary(), names(2)), perceptron()),
        (class(&reference.class, names(3)), balanced.clone()),
        (Goal::Labels { labels, names: names(2) }, balanced),
        (Goal::Values(rows.iter().map(|&i| values[i]).collect()), perceptron()),
    ] {
        let model = fitted(&x, &goal, Some(&weights), &params, 2);
        let judgement = model.guess(&x).judge(&goal);
        match &judgement {
            Judgement::Classes { report, .. } => assert!(report.macro_average.recall > 0.99, "{judgement:?}"),
            Judgement::Labels(report) => assert!(report.micro_average.f1 > 0.99, "{judgement:?}"),
            Judgement::Values(report) => assert!(report.r2.unwrap() > 0.95, "{judgement:?}"),
        }
        let scores = model.scores(&x);
        let (base, parts) = model.explain(x.row(7), 0, None);
        let sum = base + parts.iter().map(|(_, part)| part).sum::<f64>();
        let sign = if matches!(&goal, Goal::Classes { names, .. } if names.len() == 2) { -1.0 } else { 1.0 };
        let score = sign * scores[7 * model.outputs()];
        assert!((sum - score).abs() < 1e-5 * (1.0 + score.abs()), "{sum} {score}");
        assert!(model.linear().is_none());
    }
}

#[test]
fn values_are_learned_by_ridge_and_trees() {
    let reference = Reference::read();
    let values: Vec<f64> = read(&reference.all["order"]["value"]);
    let goal = Goal::Values(values.clone());
    let mut boosted = method(Method::Boosted);
    boosted.boosted.trees = 40;
    for params in [method(Method::Ridge), boosted] {
        let model = fitted(&reference.x, &goal, None, &params, 2);
        let Judgement::Values(report) = model.guess(&reference.x).judge(&goal) else { panic!("values are judged") };
        assert!(report.r2.unwrap() > 0.6, "{params:?}: {report:?}");
        let (base, parts) = model.explain(reference.x.row(3), 0, None);
        let sum = base + parts.iter().map(|(_, part)| part).sum::<f64>();
        assert!((sum - model.scores(&reference.x)[3]).abs() < 1e-11);
    }
    let ctx = Ctx::new(1, 1).unwrap();
    for params in [method(Method::Logistic), method(Method::Svm)] {
        let error =
            fit_estimator(&reference.x, &goal, TrainingRows::default(), &params, &ctx).err().unwrap().to_string();
        assert!(error.contains("learns classes, not values"), "{error}");
    }
}

#[test]
fn labels_are_called_when_likelier_than_not() {
    let reference = Reference::read();
    // 甲 and 乙 as in two problems of their own; nobody has 丙.
    let labels = (0..90).map(|i| {
        let mut row = Vec::new();
        if reference.up[i] {
            row.push(0);
        }
        if reference.class[i] != 0 {
            row.push(1);
        }
        row
    });
    let goal = Goal::Labels { labels: labels.collect(), names: names(3) };
    for params in classifiers().into_iter().filter(|params| params.method != Method::Boosted) {
        let model = fitted(&reference.x, &goal, None, &params, 2);
        let guess = model.guess(&reference.x);
        let first = fitted(&reference.x, &two(&reference), None, &params, 2).guess(&reference.x);
        for i in 0..90 {
            assert_eq!(guess.called[i].contains(&0), first.called[i] == [1], "{params:?}");
            assert!(!guess.called[i].contains(&2), "nobody has it");
        }
        let Judgement::Labels(report) = guess.judge(&goal) else { panic!("labels are judged") };
        assert!(report.micro_average.f1 > 0.7);
    }
}

#[test]
fn what_cannot_be_learned_is_refused() {
    let reference = Reference::read();
    let ctx = Ctx::new(1, 1).unwrap();
    let error_of = |x: &Design, goal: &Goal, method_: Method| {
        let error = fit_estimator(x, goal, TrainingRows::default(), &method(method_), &ctx).map(|_| ()).unwrap_err();
        format!("{error:#}")
    };
    let one = Goal::Classes { class: vec![0; 90], names: names(1) };
    assert!(error_of(&reference.x, &one, Method::Logistic).contains("all rows are of one class (\"甲\")"));
    let absent = Goal::Classes { class: reference.binary(), names: names(3) };
    assert!(error_of(&reference.x, &absent, Method::Bayes).contains("class \"丙\" has 0 rows"));
    let empty = Goal::Classes { class: Vec::new(), names: names(2) };
    assert!(error_of(&Csr::new(3).into(), &empty, Method::Svm).contains("no rows"));
    let mut values = vec![0.5; 90];
    values[4] = f64::NAN;
    assert!(error_of(&reference.x, &Goal::Values(values), Method::Ridge).contains("row 4 has the value NaN"));
    assert!(error_of(&reference.x, &two(&reference), Method::Ridge).contains("ridge learns values"));
    let few = Goal::Classes { class: vec![0, 1, 0, 1], names: names(2) };
    let four = reference.x.select(&[0, 1, 2, 3]);
    assert!(error_of(&four, &few, Method::Mlp).contains("4 rows are too few to hold a tenth of them out"));
    let labels = Goal::Labels { labels: vec![vec![0]; 90], names: names(1) };
    assert!(error_of(&reference.x, &labels, Method::Logistic).contains("every row has every label"));
    let mut small = method(Method::Boosted);
    small.boosted.memory_mb = 0;
    let error =
        fit_estimator(&reference.x, &two(&reference), TrainingRows::default(), &small, &ctx).err().unwrap().to_string();
    assert!(error.contains("90 rows and 18 columns") && error.contains("lower max_features"), "{error}");
}

#[test]
fn of_penalties_the_best_out_of_fold_is_chosen() {
    let reference = Reference::read();
    let goal = Goal::Values(read(&reference.all["order"]["value"]));
    let splits = draw_folds(&goal, &FoldRows::default(), &FoldParams::default(), 3).unwrap();
    let ctx = Ctx::new(2, 1).unwrap();
    let wanted = grid(&[("alpha", &[1.0, 1e9])]);
    let points = ctx
        .install(|| {
            search(&reference.x, &goal, TrainingRows::default(), &splits, &method(Method::Ridge), &wanted, &ctx)
        })
        .unwrap();
    assert!(points.iter().all(|point| point.scores.len() == 5));
    // A penalty that large leaves the mean alone.
    assert!(points[0].mean > points[1].mean && choose_point(&points, false) == Some(0), "{points:?}");
}

fn grid(of: &[(&str, &[f64])]) -> Search {
    Search {
        grid: of.iter().map(|(name, values)| ((*name).to_owned(), values.to_vec())).collect(),
        ..Search::default()
    }
}

#[test]
fn the_rule_of_one_standard_error_takes_the_stronger_penalty() {
    let point = |name: &str, value: f64, scores: [f64; 3]| {
        let mean = scores.iter().sum::<f64>() / 3.0;
        let standard_error = (scores.iter().map(|s| (s - mean).powi(2)).sum::<f64>() / 2.0).sqrt() / 3f64.sqrt();
        let settings = BTreeMap::from([(name.to_owned(), value)]);
        SearchPoint { settings, mean, standard_error, scores: scores.to_vec() }
    };
    let points_of = |name: &str, values: [f64; 4]| {
        let scores = [[0.7, 0.9, 0.8], [0.7, 0.8, 0.8], [0.6, 0.6, 0.6], [0.1; 3]];
        values.into_iter().zip(scores).map(|(value, scores)| point(name, value, scores)).collect::<Vec<_>>()
    };
    for points in [points_of("alpha", [0.1, 1.0, 10.0, 0.01]), points_of("C", [10.0, 1.0, 0.1, 100.0])] {
        assert_eq!((choose_point(&points, false), choose_point(&points, true)), (Some(0), Some(1)));
    }
    assert_eq!(choose_point(&[], false), None);
    let equal = [point("trees", 2.0, [0.5; 3]), point("trees", 1.0, [0.5; 3])];
    assert_eq!(choose_point(&equal, false), Some(1), "of equals the model that is held back more");
    let unknown = [point("alpha", 1.0, [f64::NAN; 3])];
    assert_eq!((choose_point(&unknown, false), choose_point(&unknown, true)), (None, None));
    // Figures of one fold alone have no standard error: the rule then takes the best.
    let mut one_fold = points_of("alpha", [0.1, 1.0, 10.0, 0.01]);
    one_fold.iter_mut().for_each(|point| point.standard_error = f64::NAN);
    assert_eq!(choose_point(&one_fold, true), Some(0));
}

#[test]
fn settings_that_a_method_does_not_have_are_refused() {
    let refused = |of: Method, wanted: &Search| wanted.points(&method(of)).unwrap_err().to_string();
    let message = refused(Method::Ridge, &grid(&[("C", &[1.0])]));
    assert!(message.contains("ridge has no setting \"C\"") && message.contains("it has alpha"), "{message}");
    assert!(refused(Method::Boosted, &grid(&[("trees", &[1.5])])).contains("trees = 1.5 must be a whole number"));
    assert!(refused(Method::Svm, &grid(&[("C", &[1.0, 0.0])])).contains("C = 0 must be above 0"));
    assert!(refused(Method::Ridge, &grid(&[("alpha", &[0.0])])).contains("alpha = 0 must be above 0"));
    let measured = |measure| Search { measure: Some(measure), ..grid(&[("C", &[1.0])]) };
    measured(Measure::Auc).check(&method(Method::Svm), false).unwrap();
    let message = measured(Measure::LogLoss).check(&method(Method::Svm), false).unwrap_err().to_string();
    assert!(message.contains("a support vector machine has none"), "{message}");
    let message = measured(Measure::Mse).check(&method(Method::Logistic), false).unwrap_err().to_string();
    assert!(message.contains("mse does not suit the goal; choose auc, accuracy, f1, log_loss"), "{message}");
    assert!(refused(Method::Svm, &grid(&[("C", &[1.0]), ("alpha", &[1.0])])).contains("C is 1/alpha"));
    assert!(refused(Method::Svm, &grid(&[("C", &[])])).contains("no values of C"));
    let many: Vec<f64> = (1..=40).map(f64::from).collect();
    assert!(refused(Method::Boosted, &grid(&[("trees", &many), ("l2", &many)])).contains("more than 1000"));
    let points = grid(&[("C", &[1.0, 2.0]), ("l1_ratio", &[0.0, 0.5])]).points(&method(Method::Logistic)).unwrap();
    let point = |c, ratio| BTreeMap::from([("C".to_owned(), c), ("l1_ratio".to_owned(), ratio)]);
    assert_eq!(points, [point(1.0, 0.0), point(1.0, 0.5), point(2.0, 0.0), point(2.0, 0.5)]);
    let wanted = BTreeMap::from([("hidden".to_owned(), 8.0), ("dropout".to_owned(), 0.5)]);
    let found = method(Method::Mlp).with_settings(&wanted).unwrap().mlp;
    assert_eq!((found.hidden, found.dropout), (vec![8], 0.5));
    assert!(refused(Method::Mlp, &grid(&[("trees", &[1.0])])).contains("it has hidden, dropout, l2, learning_rate"));
    assert_eq!(method(Method::Logistic).with_settings(&points[3]).unwrap().linear.alpha, 0.5);
}
