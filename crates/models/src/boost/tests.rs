use serde_json::Value;

use super::columns::{BoostColumns, FilledColumn, choose};
use super::grow::grow_on;
use super::*;
use crate::design::TwoWay;
use crate::reference::{Reference, farthest, read};
use crate::{Csr, Row};
use inkstone_base::job::Ctx;

fn grown(x: &Design, goal: &BoostGoal<'_>, params: &BoostParams, threads: usize) -> Boosted {
    let ctx = Ctx::new(threads, 1).unwrap();
    ctx.install(|| grow(x, goal, None, params, &ctx)).unwrap()
}

#[test]
fn scores_and_contributions_equal_those_of_xgboost() {
    let reference = Reference::read();
    let binary = reference.binary();
    let value: Vec<f64> = read(&reference.all["order"]["value"]);
    let cases: Value = serde_json::from_str(include_str!("../../../../tests/reference/xgboost/boosted.json")).unwrap();
    let ctx = Ctx::new(2, 1).unwrap();
    for case in cases["cases"].as_array().unwrap() {
        let goal = match case["goal"].as_str().unwrap() {
            "class" => BoostGoal::Class { class: &reference.class, classes: 3 },
            "binary" => BoostGoal::Class { class: &binary, classes: 2 },
            _ => BoostGoal::Value(&value),
        };
        let params: BoostParams = read(&case["params"]);
        let weights = case["weighted"].as_bool().unwrap().then_some(&reference.weights[..]);
        let model = ctx.install(|| grow(&reference.x, &goal, weights, &params, &ctx)).unwrap();
        let scores: Vec<Vec<f64>> = read(&case["scores"]);
        let ours = model.scores(&reference.x);
        let off = farthest(&ours, scores.iter().flatten());
        assert!(off < 1e-5, "{} {params:?}: scores off by {off}", case["goal"]);
        let expected: Vec<Vec<Vec<f64>>> = read(&case["parts"]);
        for (i, expected) in expected.iter().enumerate() {
            for (output, expected) in expected.iter().enumerate() {
                let (base, found) = model.explain(reference.x.row(i), output, None);
                let mut parts = vec![0.0; reference.x.cols() + 1];
                found.into_iter().for_each(|(j, part)| parts[j as usize] = part);
                parts[reference.x.cols()] = base;
                let sum: f64 = parts.iter().sum();
                assert!((sum - ours[i * model.outputs() + output]).abs() < 1e-11, "contributions add up to the score");
                let off = farthest(&parts, expected);
                assert!(off < 1e-5, "{} {params:?}: contributions to row {i} off by {off}", case["goal"]);
            }
        }
    }
}

#[test]
fn columns_are_chosen_in_the_order_of_scikit_learn() {
    let reference = Reference::read();
    let value: Vec<f64> = read(&reference.all["order"]["value"]);
    let of_class = BoostGoal::Class { class: &reference.class, classes: 3 };
    let ones = vec![1.0; reference.x.rows()];
    for (name, goal) in [("f_classif", of_class), ("f_regression", BoostGoal::Value(&value))] {
        let merit: Vec<f64> = read(&reference.all["order"][name]);
        let mut order: Vec<u32> = (0..merit.len() as u32).collect();
        order.sort_by(|&a, &b| merit[b as usize].total_cmp(&merit[a as usize]));
        for n in [1, 3, 7] {
            let params = BoostParams { max_features: n, ..BoostParams::default() };
            let chosen = choose(&TwoWay::new(&reference.x), &goal, &ones, &params).unwrap();
            let mut expected = order[..n].to_vec();
            expected.sort_unstable();
            assert_eq!(chosen.iter().map(|chosen| chosen.column).collect::<Vec<u32>>(), expected, "{name}");
        }
    }
}

#[test]
fn columns_of_too_few_rows_for_a_leaf_are_left_out() {
    let mut x = Csr::new(2);
    for i in 0..20u32 {
        // Column 0 has 3 rows, whose second derivatives are 0.75 at the most; column 1 has 4.
        x.push_row([(0, i < 3), (1, i < 4)].into_iter().filter(|(_, is)| *is).map(|(j, _)| (j, 1.0)));
    }
    let class: Vec<u32> = (0..20).map(|i| u32::from(i < 3)).collect();
    let goal = BoostGoal::Class { class: &class, classes: 2 };
    let chosen = choose(&TwoWay::new(&x.into()), &goal, &[1.0; 20], &BoostParams::default()).unwrap();
    assert_eq!(chosen.iter().map(|chosen| (chosen.column, chosen.values)).collect::<Vec<_>>(), [(1, 4)]);
}

#[test]
fn a_rule_of_two_columns_is_learned_where_no_line_would_do() {
    // 甲 when exactly one of two words is there.
    let (mut x, mut class) = (Csr::new(3), Vec::new());
    for i in 0..120u32 {
        let (a, b) = (i % 2 == 0, i / 2 % 2 == 0);
        let here = [(0, a), (1, b), (2, i % 3 == 0)];
        x.push_row(here.into_iter().filter(|(_, is)| *is).map(|(j, _)| (j, 0.25 * (1 + i % 4) as f32)));
        class.push(u32::from((a != b) ^ (i == 5)));
    }
    let params = BoostParams { trees: 40, ..BoostParams::default() };
    let trees = grown(&x.clone().into(), &BoostGoal::Class { class: &class, classes: 2 }, &params, 2);
    let scores = trees.scores(&x.clone().into());
    let right = scores.iter().zip(&class).filter(|(score, class)| (**score > 0.0) == (**class == 1)).count();
    assert!(right >= 119, "{right}");
}

/// Rows of which some columns have few values, some most; the first decides with others.
fn mixed(rows: u32) -> (Design, Vec<f64>) {
    let mut x = Csr::new(12);
    let mut random = crate::random::Random::new([7, 0, 0]);
    let mut value = Vec::new();
    for _ in 0..rows {
        let mut row: Vec<(u32, f32)> = Vec::new();
        for j in 0..12 {
            if random.below(12) > j {
                row.push((j, (random.unit() * 300.0).round() / 16.0 - 4.0));
            }
        }
        let at = |j: u32| row.iter().find(|(i, _)| *i == j).map_or(-1.0, |(_, v)| f64::from(*v));
        value.push(at(0) * at(6) + at(3).abs() - at(10) + f64::from(random.unit()));
        x.push_row(row);
    }
    (x.into(), value)
}

/// A tree grown with neither histograms nor lists: each split is looked for among all rows and values.
fn slow_score(x: &[Vec<f32>], y: &[f64], rows: &[usize], depth: usize, params: &BoostParams, out: &mut [f64]) {
    let sums = |rows: &[usize]| (rows.iter().map(|&i| -y[i]).sum::<f64>(), rows.len() as f64);
    let score = |(g, h): (f64, f64)| g * g / (h + params.l2);
    let part = |j: usize, threshold: f32, absent_left: bool| -> (Vec<usize>, Vec<usize>) {
        rows.iter().partition(|&&i| if x[i][j].is_nan() { absent_left } else { x[i][j] < threshold })
    };
    let mut best: Option<(f64, Vec<usize>, Vec<usize>)> = None;
    for j in (0..x[0].len()).filter(|_| depth < params.max_depth) {
        let mut thresholds: Vec<f32> = rows.iter().map(|&i| x[i][j]).filter(|v| !v.is_nan()).collect();
        thresholds.push(f32::INFINITY);
        for threshold in thresholds {
            for absent_left in [false, true] {
                let (left, right) = part(j, threshold, absent_left);
                let least = params.min_leaf_weight.max(1.0);
                if (left.len() as f64) < least || (right.len() as f64) < least {
                    continue;
                }
                let gain = score(sums(&left)) + score(sums(&right)) - score(sums(rows));
                if gain > 1e-6 && best.as_ref().is_none_or(|(best, ..)| gain > *best) {
                    best = Some((gain, left, right));
                }
            }
        }
    }
    match best {
        Some((_, left, right)) => {
            slow_score(x, y, &left, depth + 1, params, out);
            slow_score(x, y, &right, depth + 1, params, out);
        }
        None => {
            let (g, h) = sums(rows);
            rows.iter().for_each(|&i| out[i] = -g / (h + params.l2) * params.learning_rate);
        }
    }
}

#[test]
fn a_tree_is_that_of_a_search_through_all_rows() {
    // Few values, so that each is a cut; deep, so that histograms come from rows, from siblings and from lists.
    let (x, value) = mixed(150);
    let rounded: Vec<Vec<f32>> = (0..x.rows())
        .map(|i| {
            let mut row = vec![f32::NAN; x.cols()];
            x.row(i).iter().for_each(|(j, v)| row[j as usize] = ((v * 2.0).round() / 2.0) as f32);
            row
        })
        .collect();
    let mean = value.iter().sum::<f64>() / value.len() as f64;
    let rest: Vec<f64> = value.iter().map(|v| v - mean).collect();
    struct Dense<'a>(&'a [Vec<f32>]);
    impl BoostColumns for Dense<'_> {
        fn rows(&self) -> usize {
            self.0.len()
        }
        fn len(&self) -> usize {
            self.0[0].len()
        }
        fn read(&self, j: usize, column: &mut FilledColumn) {
            for (i, row) in (0..).zip(self.0).filter(|(_, row)| !row[j].is_nan()) {
                column.rows.push(i);
                column.values.push(row[j]);
            }
        }
    }
    for max_depth in [1, 3, 9] {
        let params = BoostParams { trees: 1, max_depth, min_leaf_weight: 2.0, ..BoostParams::default() };
        let ctx = Ctx::new(2, 1).unwrap();
        let goal = BoostGoal::Value(&value);
        let model = ctx.install(|| grow_on(Dense(&rounded), &goal, None, &params, &ctx)).unwrap();
        let mut expected = vec![0.0; value.len()];
        slow_score(&rounded, &rest, &(0..value.len()).collect::<Vec<_>>(), 0, &params, &mut expected);
        let ours = rounded.iter().map(|row| {
            let used: Vec<f32> = model.columns.iter().map(|&j| row[j as usize]).collect();
            model.outputs[0].trees[0].value(&used)
        });
        let off = farthest(&ours.collect::<Vec<f64>>(), &expected);
        assert!(off < 1e-5, "depth {max_depth}: off by {off}");
    }
}

#[test]
fn trees_and_their_bytes_do_not_depend_on_the_number_of_threads() {
    let reference = Reference::read();
    let (mixed, value) = mixed(3000);
    let class = BoostGoal::Class { class: &reference.class, classes: 3 };
    let deep = BoostParams { trees: 6, max_depth: 12, ..BoostParams::default() };
    let shallow = BoostParams { trees: 12, ..BoostParams::default() };
    for (x, goal, params) in [(&reference.x, class, shallow), (&mixed, BoostGoal::Value(&value), deep)] {
        let model = grown(x, &goal, &params, 1);
        let bytes = model.to_bytes();
        assert!([2, 3, 8].iter().all(|&threads| grown(x, &goal, &params, threads).to_bytes() == bytes));
        assert!(Boosted::from_bytes(&bytes).unwrap() == model);
    }
}

#[test]
fn damaged_trees_and_those_of_another_version_are_refused() {
    let reference = Reference::read();
    let goal = BoostGoal::Class { class: &reference.class, classes: 3 };
    let bytes = grown(&reference.x, &goal, &BoostParams { trees: 2, ..BoostParams::default() }, 1).to_bytes();
    let error = |bytes: &[u8]| Boosted::from_bytes(bytes).unwrap_err().to_string();
    assert!(error(b"[[0,1],[[0.5,[]]]]").contains("another version"));
    assert!(error(&bytes[..bytes.len() - 1]).contains("cut short"));
    assert!(error(&[&bytes[..], &[0; 4]].concat()).contains("4 bytes follow"));
    // Whatever a word holds, reading ends, and trees that are read lead each row to a leaf.
    let row = Row { indices: &[0, 3], values: &[1.0, 0.5] };
    for at in (0..bytes.len()).step_by(4) {
        for word in [0, 1, 2, 7, u32::MAX, f32::NAN.to_bits()] {
            let mut bytes = bytes.clone();
            bytes[at..at + 4].copy_from_slice(&word.to_le_bytes());
            if let Ok(model) = Boosted::from_bytes(&bytes)
                && model.outputs() > 0
            {
                model.explain(row.into(), 0, None);
            }
        }
    }
}

#[test]
fn work_stops_when_it_is_cancelled() {
    let reference = Reference::read();
    let ctx = Ctx::new(1, 1).unwrap();
    ctx.cancel();
    let goal = BoostGoal::Class { class: &reference.class, classes: 3 };
    let error = grow(&reference.x, &goal, None, &BoostParams::default(), &ctx).unwrap_err();
    assert!(error.is::<inkstone_base::job::Cancelled>(), "{error:#}");
}

#[test]
fn what_tells_nothing_and_what_is_too_large_are_refused() {
    let ctx = Ctx::new(1, 1).unwrap();
    let mut x = Csr::new(1);
    (0..4).for_each(|_| x.push_row([(0, 1.0)]));
    let goal = BoostGoal::Class { class: &[0, 1, 0, 1], classes: 2 };
    let error_of = |x: &Design, goal: &BoostGoal<'_>, params: &BoostParams| {
        grow(x, goal, None, params, &ctx).map(|_| ()).unwrap_err().to_string()
    };
    assert!(error_of(&x.clone().into(), &goal, &BoostParams::default()).contains("no column tells anything"));
    assert!(
        error_of(&x.clone().into(), &goal, &BoostParams { learning_rate: 0.0, ..BoostParams::default() })
            .contains("learning_rate = 0")
    );
    let nan = BoostGoal::Value(&[1.0, f64::NAN, 0.0, 2.0]);
    assert!(error_of(&x.clone().into(), &nan, &BoostParams::default()).contains("finite target"));
    let reference = Reference::read();
    let goal = BoostGoal::Class { class: &reference.class, classes: 3 };
    let message = error_of(&reference.x, &goal, &BoostParams { memory_mb: 0, ..BoostParams::default() });
    assert!(message.contains("memory_mb = 0") && message.contains("lower max_features (now 2000)"), "{message}");
}
