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
mod newton;
mod precondition;
mod ridge;
mod softmax;
mod svm;

use anyhow::{Result, ensure};
use serde::{Deserialize, Serialize};

use super::design::{Design, DesignRow};

pub(crate) use elastic::elastic_net;
pub(crate) use logistic::LogisticLearner;
pub use logistic::logistic;
pub use map::LinearMap;
pub(crate) use map::product;
pub(crate) use ridge::RidgeLearner;
pub use ridge::ridge;
pub use softmax::softmax;
pub(crate) use softmax::{log_sum_exp, to_probabilities};
pub(crate) use svm::SvmLearner;
pub use svm::{SvmLoss, svm};

defaults! {
    pub struct LinearParams {
        /// Strength of the penalty, above 0; for logistic and support vector machines 1/C.
        alpha: f64 = 1.0,
        /// Share of the L1 part in the penalty of logistic regression: 0 (default) is L2 alone, 1 is L1 alone.
        l1_ratio: f64 = 0.0,
        /// Relative size of the gradient at which the solver stops.
        tolerance: f64 = 1e-8,
        /// Products with the matrix at the most.
        max_iterations: usize = 2000,
    }
}

/// The end of a solver.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Convergence {
    /// Products with the matrix that were needed; epochs of a network.
    pub iterations: usize,
    /// The gradient's length at the end, relative to that at the start; 0 of a network, which stops by held-out rows.
    pub gradient: f64,
    /// True if the tolerance was reached; of a network, if the loss on held-out rows had stopped to fall.
    pub converged: bool,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Linear {
    /// One weight a column.
    pub weights: Vec<f64>,
    /// The score of a row of zeros.
    pub intercept: f64,
    pub convergence: Convergence,
}

impl Linear {
    /// The value for a row: ridge's estimate, or logistic's log-odds.
    pub fn score(&self, row: DesignRow<'_>) -> f64 {
        self.intercept + row.dot(&self.weights)
    }

    /// The values for all rows. Call inside `Ctx::install`.
    pub fn scores(&self, x: &Design) -> Vec<f64> {
        let mut scores = vec![0.0; x.rows()];
        x.product(&self.weights, 1, &mut scores);
        scores.iter_mut().for_each(|score| *score += self.intercept);
        scores
    }

    /// The contribution of each column of a row to its value, the largest first. The sum plus the intercept is [`Linear::score`].
    pub fn explain(&self, row: DesignRow<'_>) -> Vec<(u32, f64)> {
        let mut parts: Vec<(u32, f64)> = row.iter().map(|(j, value)| (j, value * self.weights[j as usize])).collect();
        parts.sort_by(|a, b| b.1.abs().total_cmp(&a.1.abs()).then(a.0.cmp(&b.0)));
        parts
    }
}

/// Checks the input of all solvers.
fn check(x: &Design, targets: usize, weights: Option<&[f64]>, params: &LinearParams) -> Result<()> {
    ensure!(x.rows() == targets, "{} rows of features, but {targets} targets", x.rows());
    ensure!(x.rows() > 0, "a linear model cannot be fitted on no rows");
    ensure!(params.alpha > 0.0 && params.alpha.is_finite(), "alpha = {} must be a number above 0", params.alpha);
    if let Some(weights) = weights {
        ensure!(weights.len() == targets, "{} weights for {targets} rows", weights.len());
        ensure!(weights.iter().all(|w| *w >= 0.0 && w.is_finite()), "a row's weight must be a number, 0 or above");
        ensure!(weights.iter().any(|w| *w > 0.0), "all rows have weight 0");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
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
