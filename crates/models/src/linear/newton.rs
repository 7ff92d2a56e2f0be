//! Newton's method for a loss of linear scores with an L2 penalty; each step is solved by conjugate gradients only as exactly as
//! the distance to the optimum deserves (Dembo and Steihaug 1983), and shortened until the objective falls enough. Dense columns are
//! preconditioned by the Cholesky factor of their products at the start, where all rows have the same curvature.

use anyhow::Result;

use super::cg::{self, dot, norm};
use super::precondition::{DenseFactor, Preconditioner, squares};
use super::{Convergence, LinearMap, LinearParams};
use crate::design::{Design, TwoWay};
use inkstone_base::job::Ctx;

/// Newton steps at the most; a dozen is usual.
const MAX_STEPS: usize = 100;

/// A loss of the scores (margins) of rows, `[rows, outputs]`.
pub(super) trait MarginLoss {
    /// The summed loss.
    fn value(&self, margins: &[f64]) -> f64;

    /// Probabilities at these margins.
    fn probabilities(&self, margins: &[f64]) -> Vec<f64>;

    /// Derivatives of the loss by the margins.
    fn gradient(&self, p: &[f64]) -> Vec<f64>;

    /// Multiplies `u` by the second derivatives.
    fn curve(&self, p: &[f64], u: &mut [f64]);
}

/// Minimises the loss of rows with weights `s` plus `alpha / 2 |W|^2`, from weights of 0 and these intercepts, one an output.
pub(super) fn minimise(
    x: &Design,
    s: &[f64],
    intercepts: &[f64],
    loss: &impl MarginLoss,
    params: &LinearParams,
    ctx: &Ctx,
) -> Result<(LinearMap, Convergence)> {
    let two = TwoWay::new(x);
    let (n, d, k, alpha) = (x.rows(), x.cols(), intercepts.len(), params.alpha);
    let objective = |margins: &[f64], theta: &[f64]| {
        let weights = &theta[..d * k];
        loss.value(margins) + 0.5 * alpha * dot(weights, weights)
    };
    // The unknowns are the weights `[columns, outputs]`, then the intercepts.
    let mut theta = vec![0.0; d * k];
    theta.extend_from_slice(intercepts);
    let mut margins: Vec<f64> = intercepts.repeat(n);
    let mut value = objective(&margins, &theta);
    let mut start = None;
    let mut factor = None;
    let mut convergence = Convergence::default();
    for _ in 0..MAX_STEPS {
        ctx.check()?;
        let p = loss.probabilities(&margins);
        let gradient = gather(&two, &loss.gradient(&p), &theta, k, alpha);
        let size = norm(&gradient);
        let first = *start.get_or_insert(size);
        convergence.gradient = if first > 0.0 { size / first } else { 0.0 };
        convergence.converged = convergence.gradient <= params.tolerance;
        if convergence.converged || convergence.iterations >= params.max_iterations {
            break;
        }

        let curved: Vec<f64> = p.iter().enumerate().map(|(at, p)| s[at / k] * p * (1.0 - p)).collect();
        let curvatures: Vec<f64> = (0..k).map(|c| curved[c..].iter().step_by(k).sum::<f64>()).collect();
        if factor.is_none() && x.dense().is_some() {
            // The penalty weighs as much beside the products as it does beside the mean curvature of a row.
            let mean = curvatures.iter().sum::<f64>() / (k as f64 * s.iter().sum::<f64>());
            factor = DenseFactor::new(x, s, None, alpha / mean.max(f64::MIN_POSITIVE), ctx)?;
        }
        let preconditioner = Preconditioner {
            k,
            diagonal: diagonal(&two, &curved, &curvatures, alpha, factor.is_some()),
            dense: factor.as_ref().map(|factor| (factor, scales(&curvatures, s))),
        };
        let condition = |r: &[f64], z: &mut [f64]| preconditioner.apply(r, z);
        let mut u = vec![0.0; n * k];
        let apply = |v: &[f64], out: &mut [f64]| {
            ctx.check()?;
            spread(&two, v, k, &mut u);
            loss.curve(&p, &mut u);
            out.copy_from_slice(&gather(&two, &u, v, k, alpha));
            Ok(())
        };
        let downhill: Vec<f64> = gradient.iter().map(|g| -g).collect();
        let exactness = convergence.gradient.sqrt().min(0.1);
        let left = params.max_iterations - convergence.iterations;
        let (step, products, _) = cg::solve(apply, condition, &downhill, exactness, left)?;
        convergence.iterations += products.max(1);

        let mut along = vec![0.0; n * k];
        spread(&two, &step, k, &mut along);
        let slope = dot(&gradient, &step);
        let mut length = 1.0;
        loop {
            let moved =
                |from: &[f64], by: &[f64]| from.iter().zip(by).map(|(a, b)| a + length * b).collect::<Vec<f64>>();
            let (next, next_margins) = (moved(&theta, &step), moved(&margins, &along));
            let next_value = objective(&next_margins, &next);
            // Near the optimum the fall drowns in rounding; a full step is right there.
            let rounding = 1e-12 * value.abs();
            if next_value <= value + 1e-4 * length * slope + rounding || length < 1e-10 {
                (theta, margins, value) = (next, next_margins, next_value);
                break;
            }
            length *= 0.5;
        }
    }
    let intercepts = theta.split_off(d * k);
    Ok((LinearMap { outputs: k, weights: theta, intercepts }, convergence))
}

/// The margins of rows under weights and intercepts, `[rows, outputs]`.
fn spread(two: &TwoWay<'_>, theta: &[f64], k: usize, out: &mut [f64]) {
    let (weights, intercepts) = theta.split_at(two.x.cols() * k);
    two.product(weights, k, out);
    out.chunks_mut(k).for_each(|row| row.iter_mut().zip(intercepts).for_each(|(a, b)| *a += b));
}

/// The sums over rows of `by`, `[rows, outputs]`, for weights and intercepts, with the penalty's part for the weights.
fn gather(two: &TwoWay<'_>, by: &[f64], theta: &[f64], k: usize, alpha: f64) -> Vec<f64> {
    let weights = two.x.cols() * k;
    let mut out = vec![0.0; weights + k];
    two.transposed_product(by, k, &mut out[..weights]);
    out[..weights].iter_mut().zip(theta).for_each(|(out, w)| *out += alpha * w);
    for row in by.chunks(k) {
        out[weights..].iter_mut().zip(row).for_each(|(out, v)| *out += v);
    }
    out
}

/// The diagonal of the Hessian, given the curvature of each row in each output, `[rows, outputs]`, and the sums of them.
fn diagonal(two: &TwoWay<'_>, curved: &[f64], curvatures: &[f64], alpha: f64, factored: bool) -> Vec<f64> {
    let mut out: Vec<f64> =
        squares(two, curved, curvatures.len(), factored).into_iter().map(|square| alpha + square).collect();
    out.extend(curvatures.iter().map(|curvature| curvature.max(f64::MIN_POSITIVE)));
    out
}

/// The curvature of an output, as a multiple of the row weights that the factor was made with.
fn scales(curvatures: &[f64], s: &[f64]) -> Vec<f64> {
    let total: f64 = s.iter().sum();
    curvatures.iter().map(|curvature| (curvature / total).max(f64::MIN_POSITIVE)).collect()
}
