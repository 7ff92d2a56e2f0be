use super::*;
use crate::boost::BoostParams;
use crate::design::FoldFeatures;
use crate::estimate::{Estimator, TrainingRows, fit_estimator};
use crate::goal::Goal;
use crate::learner::{EstimatorParams, Method};
use crate::reference::farthest;
use crate::stacked::StackedRows;
use crate::validation::Split;
use inkstone_base::job::Ctx;

const ROWS: usize = 240;

/// Dense rows `[240, 21]` that are correlated, of unlike scale, with gaps; one column does not vary.
fn source() -> DenseRows {
    let value = |i: usize, j: usize| {
        let base = ((i * 7919 + 13) % 211) as f32 / 16.0;
        match j {
            4 => 3.25,
            _ if (i * 31 + j * 17).is_multiple_of(23) => f32::NAN,
            _ => (base + ((i * (j + 3) * 104_729) % 509) as f32 / 32.0) * 10f32.powi(j as i32 % 5 - 2) + j as f32,
        }
    };
    DenseRows::new(21, (0..ROWS).flat_map(|i| (0..21).map(move |j| value(i, j))).collect()).unwrap()
}

fn block() -> Csr {
    let mut x = Csr::new(9);
    (0..ROWS).for_each(|i| x.push_row([((i % 4) as u32, 0.5), (4 + (i * i % 5) as u32, 1.0 + (i % 3) as f32)]));
    x
}

/// The design of both, and the same rows with every cell stored.
fn both(source: &DenseRows, block: &Csr) -> (Design, Design) {
    let rows = StackedRows { counts: None, sparse: vec![block], dense: Some(source) };
    let (x, _) = rows.fold(&Split { train: (0..ROWS).collect(), ..Split::default() }).unwrap();
    let mut stored = Csr::new(x.cols());
    (0..ROWS).for_each(|i| stored.push_row(x.row(i).iter().map(|(j, v)| (j, v as f32))));
    (x, stored.into())
}

fn classes(x: &Design, k: u32) -> Goal {
    let score = |i: usize| x.row(i).iter().map(|(j, v)| v * f64::from(j % 3) - v).sum::<f64>() + (i % 7) as f64;
    let class: Vec<u32> = (0..ROWS).map(|i| (score(i).rem_euclid(f64::from(3 * k)) / 3.0) as u32).collect();
    Goal::Classes { class, names: (0..k).map(|c| c.to_string()).collect() }
}

fn fitted(x: &Design, goal: &Goal, params: &EstimatorParams) -> Estimator {
    let ctx = Ctx::new(2, 1).unwrap();
    let weights: Vec<f64> = (0..ROWS).map(|i| 0.5 + (i % 3) as f64).collect();
    ctx.install(|| fit_estimator(x, goal, TrainingRows { weights: Some(&weights), order: None }, params, &ctx)).unwrap()
}

#[test]
fn every_model_learns_from_a_view_what_it_learns_from_stored_cells() {
    let (x, stored) = both(&source(), &block());
    let values = Goal::Values((0..ROWS).map(|i| x.row(i).iter().map(|(j, v)| v / f64::from(j + 1)).sum()).collect());
    let params = |method: Method| EstimatorParams { method, ..EstimatorParams::default() };
    let mut elastic = params(Method::Logistic);
    elastic.linear.l1_ratio = 0.5;
    let mut svm = params(Method::Svm);
    (svm.linear.tolerance, svm.linear.max_iterations) = (1e-7, 100_000);
    let mut boosted = params(Method::Boosted);
    boosted.boosted = BoostParams { trees: 10, max_depth: 3, ..BoostParams::default() };
    let (two, three) = (classes(&x, 2), classes(&x, 3));
    for (params, goal, near) in [
        (&params(Method::Ridge), &values, 1e-5),
        (&params(Method::Logistic), &two, 1e-5),
        (&params(Method::Logistic), &three, 1e-5),
        (&elastic, &two, 1e-5),
        (&elastic, &three, 1e-5),
        (&svm, &two, 1e-2),
        (&boosted, &values, 1e-5),
        (&boosted, &three, 1e-5),
    ] {
        let (ours, expected) = (fitted(&x, goal, params), fitted(&stored, goal, params));
        assert!(ours.worst_convergence().converged, "{params:?}: {:?}", ours.convergence);
        let scores = ours.scores(&x);
        let off = farthest(&scores, &expected.scores(&stored));
        assert!(off < near, "{params:?}: {off}");
        let k = ours.outputs();
        let (base, parts) = ours.explain(x.row(5), 0, None);
        let sum = base + parts.iter().map(|(_, part)| part).sum::<f64>();
        let sign = if k == 1 && !goal.names().is_empty() { -1.0 } else { 1.0 };
        assert!((sum - sign * scores[5 * k]).abs() < 1e-4, "{params:?}: {sum} {}", scores[5 * k]);
    }
}

#[test]
fn products_are_those_of_the_stored_cells() {
    let (x, stored) = both(&source(), &block());
    let (one, other) = (TwoWay::new(&x), TwoWay::new(&stored));
    for k in [1, 3] {
        let weights: Vec<f64> = (0..x.cols() * k).map(|at| ((at * 37) % 11) as f64 - 5.0).collect();
        let by: Vec<f64> = (0..ROWS * k).map(|at| ((at * 41) % 13) as f64 - 6.0).collect();
        let (mut a, mut b) = (vec![0.0; ROWS * k], vec![0.0; ROWS * k]);
        one.product(&weights, k, &mut a);
        other.product(&weights, k, &mut b);
        assert!(farthest(&a, &b) < 1e-4, "{}", farthest(&a, &b));
        let (mut a, mut b) = (vec![0.0; x.cols() * k], vec![0.0; x.cols() * k]);
        one.transposed_product(&by, k, &mut a);
        other.transposed_product(&by, k, &mut b);
        assert!(farthest(&a, &b) < 1e-3, "{}", farthest(&a, &b));
    }
    let chosen = x.select(&[7, 3]);
    assert!(chosen.row(1).iter().eq(x.row(3).iter()) && chosen.rows() == 2);
}

#[test]
fn columns_of_one_value_and_missing_cells_are_zero() {
    let source = source();
    let (x, _) = both(&source, &block());
    for i in 0..ROWS {
        for (j, value) in x.row(i).iter().filter(|(j, _)| *j >= 9) {
            let raw = source.row(i)[j as usize - 9];
            assert_eq!(raw.is_nan() || j == 9 + 4, value == 0.0, "{i} {j}");
        }
    }
    // Standardised: mean 0 and deviation 1 over the cells that are there.
    let there: Vec<f64> =
        (0..ROWS).filter(|&i| !source.row(i)[0].is_nan()).map(|i| x.row(i).dense_value(9).unwrap()).collect();
    let mean = there.iter().sum::<f64>() / there.len() as f64;
    let variance = there.iter().map(|v| v * v).sum::<f64>() / there.len() as f64;
    assert!(mean.abs() < 1e-6 && (variance - 1.0).abs() < 1e-9, "{mean} {variance}");
    let mut written = [0.0; 21];
    x.row(7).write_dense(&mut written, |value| value);
    assert!(x.row(7).iter().skip_while(|(j, _)| *j < 9).map(|(_, value)| value).eq(written));
    let plain = Design::from(block());
    assert!(plain.row(0).iter().eq([(0, 0.5), (4, 1.0)]) && plain.has_value(0) && plain.cols() == 9);
}
