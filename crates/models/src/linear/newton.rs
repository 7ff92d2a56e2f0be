//! Newton's method for a loss of linear scores with an L2 penalty; each step is solved by conjugate gradients only as exactly as
//! the distance to the optimum deserves (Dembo and Steihaug 1983), and shortened until the objective falls enough.

use anyhow::Result;

use super::cg::{self, dot, norm};
use super::map::product;
use super::{Convergence, LinearMap, LinearParams};
use crate::sparse::Csr;
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
    x: &Csr,
    s: &[f64],
    intercepts: &[f64],
    loss: &impl MarginLoss,
    params: &LinearParams,
    ctx: &Ctx,
) -> Result<(LinearMap, Convergence)> {
    let transposed = x.transpose();
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
    let mut convergence = Convergence::default();
    for _ in 0..MAX_STEPS {
        ctx.check()?;
        let p = loss.probabilities(&margins);
        let gradient = gather(&transposed, &loss.gradient(&p), &theta, k, alpha);
        let size = norm(&gradient);
        let first = *start.get_or_insert(size);
        convergence.gradient = if first > 0.0 { size / first } else { 0.0 };
        convergence.converged = convergence.gradient <= params.tolerance;
        if convergence.converged || convergence.iterations >= params.max_iterations {
            break;
        }

        let diagonal = diagonal(&transposed, &p, s, k, alpha);
        let mut u = vec![0.0; n * k];
        let apply = |v: &[f64], out: &mut [f64]| {
            ctx.check()?;
            spread(x, v, k, &mut u);
            loss.curve(&p, &mut u);
            out.copy_from_slice(&gather(&transposed, &u, v, k, alpha));
            Ok(())
        };
        let downhill: Vec<f64> = gradient.iter().map(|g| -g).collect();
        let exactness = convergence.gradient.sqrt().min(0.1);
        let left = params.max_iterations - convergence.iterations;
        let (step, products, _) = cg::solve(apply, &diagonal, &downhill, exactness, left)?;
        convergence.iterations += products.max(1);

        let mut along = vec![0.0; n * k];
        spread(x, &step, k, &mut along);
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
fn spread(x: &Csr, theta: &[f64], k: usize, out: &mut [f64]) {
    multiply(x, theta, k, out);
    let intercepts = &theta[x.cols() * k..];
    out.chunks_mut(k).for_each(|row| row.iter_mut().zip(intercepts).for_each(|(a, b)| *a += b));
}

/// The sums over rows of `by`, `[rows, outputs]`, for weights and intercepts, with the penalty's part for the weights.
fn gather(transposed: &Csr, by: &[f64], theta: &[f64], k: usize, alpha: f64) -> Vec<f64> {
    let weights = transposed.rows() * k;
    let mut out = vec![0.0; weights + k];
    multiply(transposed, by, k, &mut out[..weights]);
    out[..weights].iter_mut().zip(theta).for_each(|(out, w)| *out += alpha * w);
    for row in by.chunks(k) {
        out[weights..].iter_mut().zip(row).for_each(|(out, v)| *out += v);
    }
    out
}

fn multiply(x: &Csr, by: &[f64], k: usize, out: &mut [f64]) {
    match k {
        1 => x.dot_into(by, out),
        _ => product(x, by, k, out),
    }
}

/// The diagonal of the Hessian, by which conjugate gradients are preconditioned.
fn diagonal(transposed: &Csr, p: &[f64], s: &[f64], k: usize, alpha: f64) -> Vec<f64> {
    let curved: Vec<f64> = p.iter().enumerate().map(|(at, p)| s[at / k] * p * (1.0 - p)).collect();
    let mut out = Vec::with_capacity((transposed.rows() + 1) * k);
    for j in 0..transposed.rows() {
        let row = transposed.row(j);
        out.extend(
            (0..k).map(|c| {
                alpha + row.iter().map(|(i, v)| curved[i as usize * k + c] * f64::from(v).powi(2)).sum::<f64>()
            }),
        );
    }
    out.extend((0..k).map(|c| curved[c..].iter().step_by(k).sum::<f64>().max(f64::MIN_POSITIVE)));
    out
}
