//! Linear models on rows of sparse and dense columns: ridge regression, logistic regression of two or more classes with L2 penalty or elastic
//! net, and linear support vector machines.
//!
//! Objectives and intercept are scikit-learn's: ridge minimises `sum s (y - xw - b)^2 + alpha |w|^2` ([`ridge()`]),
//! logistic minimises `sum s ln(1 + exp(-t (xw + b))) + alpha / 2 |w|^2` with t = +-1 and alpha = 1/C ([`logistic()`]).
//! The intercept b is never penalised (but in [`svm()`]). Those with an L2 penalty alone are solved by conjugate gradients that touch the matrix through products
//! alone, so cost grows with the stored values; the same data gives the same bytes on any number of threads.

mod cg;
mod elastic;
mod logistic;
mod map;
mod model;
mod newton;
mod params;
mod precondition;
mod ridge;
mod softmax;
mod svm;

pub(crate) use elastic::elastic_net;
pub(crate) use logistic::LogisticLearner;
pub use logistic::logistic;
pub use map::LinearMap;
pub use model::{Convergence, Linear};
pub use params::{LinearParams, SvmLoss};
pub(crate) use ridge::RidgeLearner;
pub use ridge::ridge;
pub use softmax::softmax;
pub(crate) use softmax::{log_sum_exp, to_probabilities};
pub(crate) use svm::SvmLearner;
pub use svm::svm;

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;
    use crate::design::Design;
    use crate::sparse::Csr;
    use inkstone_base::job::Ctx;

    #[derive(Deserialize)]
    struct Reference {
        x: Vec<Vec<f32>>,
        y: Vec<f64>,
        up: Vec<bool>,
        weights: Vec<f64>,
        ridge: Vec<Case>,
        logistic: Vec<Case>,
    }

    #[derive(Deserialize)]
    struct Case {
        alpha: f64,
        weighted: bool,
        coef: Vec<f64>,
        intercept: f64,
    }

    fn reference() -> (Reference, Design) {
        let reference: Reference =
            serde_json::from_str(include_str!("../../../../tests/reference/sklearn/linear.json")).unwrap();
        let mut x = Csr::new(reference.x[0].len());
        for row in &reference.x {
            x.push_row((0..).zip(row).filter(|(_, v)| **v != 0.0).map(|(j, v)| (j, *v)));
        }
        (reference, x.into())
    }

    fn assert_equal(model: &Linear, case: &Case) {
        assert!(model.convergence.converged, "{:?}", model.convergence);
        let farthest = model.weights.iter().zip(&case.coef).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        assert!(farthest < 1e-5, "alpha {}: a weight is {farthest} off", case.alpha);
        assert!((model.intercept - case.intercept).abs() < 1e-5, "alpha {}: intercept {}", case.alpha, model.intercept);
    }

    #[test]
    fn coefficients_equal_those_of_scikit_learn() {
        let (reference, x) = reference();
        let ctx = Ctx::new(2, 1).unwrap();
        for case in &reference.ridge {
            let params = LinearParams { alpha: case.alpha, ..LinearParams::default() };
            let weights = case.weighted.then_some(&reference.weights[..]);
            assert_equal(&ctx.install(|| ridge(&x, &reference.y, weights, &params, &ctx)).unwrap(), case);
        }
        for case in &reference.logistic {
            let params = LinearParams { alpha: case.alpha, ..LinearParams::default() };
            let weights = case.weighted.then_some(&reference.weights[..]);
            assert_equal(&ctx.install(|| logistic(&x, &reference.up, weights, &params, &ctx)).unwrap(), case);
        }
    }

    #[test]
    fn contributions_add_up_to_the_score() {
        let (reference, x) = reference();
        let ctx = Ctx::new(1, 1).unwrap();
        let model = ridge(&x, &reference.y, None, &LinearParams::default(), &ctx).unwrap();
        let parts = model.explain(x.row(3));
        assert!(parts.is_sorted_by(|a, b| a.1.abs() >= b.1.abs()));
        let sum: f64 = parts.iter().map(|(_, part)| part).sum();
        assert!((sum + model.intercept - model.scores(&x)[3]).abs() < 1e-12);
    }

    #[test]
    fn separable_classes_and_few_iterations_end_without_failing() {
        let mut x = Csr::new(1);
        [-2.0, -1.0, 1.0, 2.0].iter().for_each(|&v| x.push_row([(0, v)]));
        let x = x.into();
        let up = [false, false, true, true];
        let ctx = Ctx::new(1, 1).unwrap();
        let params = LinearParams { alpha: 1e-6, ..LinearParams::default() };
        let model = logistic(&x, &up, None, &params, &ctx).unwrap();
        assert!(model.convergence.converged && model.weights[0] > 5.0 && model.intercept.abs() < 1e-6, "{model:?}");
        let (reference, x) = reference();
        let params = LinearParams { max_iterations: 2, ..LinearParams::default() };
        let model = logistic(&x, &reference.up, None, &params, &ctx).unwrap();
        assert!(!model.convergence.converged && model.convergence.iterations <= 2, "{:?}", model.convergence);
    }

    #[test]
    fn input_without_a_solution_is_refused() {
        let (reference, x) = reference();
        let ctx = Ctx::new(1, 1).unwrap();
        let params = LinearParams::default();
        let one_class = vec![true; x.rows()];
        assert!(logistic(&x, &one_class, None, &params, &ctx).unwrap_err().to_string().contains("both classes"));
        let unpenalised = LinearParams { alpha: 0.0, ..params.clone() };
        assert!(ridge(&x, &reference.y, None, &unpenalised, &ctx).unwrap_err().to_string().contains("alpha = 0"));
        let mut y = reference.y.clone();
        y[5] = f64::NAN;
        assert!(ridge(&x, &y, None, &params, &ctx).is_err());
    }
}
