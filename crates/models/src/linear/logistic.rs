//! Binary logistic regression by Newton's method; each step is solved by conjugate gradients only as exactly as the
//! distance to the optimum deserves (Dembo and Steihaug 1983), and shortened until the objective falls enough.

use anyhow::{Result, ensure};

use super::cg::{self, dot, norm};
use super::{Convergence, Linear, LinearParams};
use crate::sparse::Csr;
use inkstone_base::job::Ctx;

/// Newton steps at the most; a dozen is usual.
const MAX_STEPS: usize = 100;

/// Fits which rows of `x` are `up`, by weight if `weights` are given (one a row, none negative). Call inside
/// [`Ctx::install`].
pub fn logistic(x: &Csr, up: &[bool], weights: Option<&[f64]>, params: &LinearParams, ctx: &Ctx) -> Result<Linear> {
    super::check(x, up.len(), weights, params)?;
    let transposed = x.transpose();
    let ones = vec![1.0; x.rows()];
    let s = weights.unwrap_or(&ones);
    let (n, d, alpha) = (x.rows(), x.cols(), params.alpha);
    let total: f64 = s.iter().sum();
    let ups: f64 = s.iter().zip(up).filter(|(_, up)| **up).map(|(s, _)| s).sum();
    ensure!(ups > 0.0 && ups < total, "logistic regression needs rows of both classes; {ups} of {total} are up");

    // The unknowns are the weights, then the intercept. The start is the model that knows the base rate alone.
    let mut theta = vec![0.0; d + 1];
    theta[d] = (ups / (total - ups)).ln();
    let mut margins = vec![theta[d]; n];
    let mut value = objective(&margins, up, s, &theta[..d], alpha);
    let mut start = None;
    let mut convergence = Convergence::default();
    for _ in 0..MAX_STEPS {
        ctx.check()?;
        let p: Vec<f64> = margins.iter().map(|&z| 1.0 / (1.0 + (-z).exp())).collect();
        let pull: Vec<f64> = (0..n).map(|i| s[i] * (p[i] - f64::from(u8::from(up[i])))).collect();
        let mut gradient = vec![0.0; d + 1];
        transposed.dot_into(&pull, &mut gradient[..d]);
        for (g, w) in gradient[..d].iter_mut().zip(&theta) {
            *g += alpha * w;
        }
        gradient[d] = pull.iter().sum();
        let size = norm(&gradient);
        let first = *start.get_or_insert(size);
        convergence.gradient = if first > 0.0 { size / first } else { 0.0 };
        convergence.converged = convergence.gradient <= params.tolerance;
        if convergence.converged || convergence.iterations >= params.max_iterations {
            break;
        }

        let curvature: Vec<f64> = (0..n).map(|i| s[i] * p[i] * (1.0 - p[i])).collect();
        let mut diagonal: Vec<f64> = (0..d)
            .map(|j| {
                alpha + transposed.row(j).iter().map(|(i, v)| curvature[i as usize] * f64::from(v).powi(2)).sum::<f64>()
            })
            .collect();
        diagonal.push(curvature.iter().sum::<f64>().max(f64::MIN_POSITIVE));
        let mut moved = vec![0.0; n];
        let apply = |v: &[f64], out: &mut [f64]| {
            ctx.check()?;
            x.dot_into(v, &mut moved);
            for (m, c) in moved.iter_mut().zip(&curvature) {
                *m = c * (*m + v[d]);
            }
            transposed.dot_into(&moved, &mut out[..d]);
            for (out, v) in out[..d].iter_mut().zip(v) {
                *out += alpha * v;
            }
            out[d] = moved.iter().sum();
            Ok(())
        };
        let downhill: Vec<f64> = gradient.iter().map(|g| -g).collect();
        let exactness = convergence.gradient.sqrt().min(0.1);
        let left = params.max_iterations - convergence.iterations;
        let (step, products, _) = cg::solve(apply, &diagonal, &downhill, exactness, left)?;
        convergence.iterations += products.max(1);

        let mut along = x.dot(&step);
        along.iter_mut().for_each(|a| *a += step[d]);
        let slope = dot(&gradient, &step);
        let mut length = 1.0;
        loop {
            let next: Vec<f64> = theta.iter().zip(&step).map(|(t, s)| t + length * s).collect();
            let next_margins: Vec<f64> = margins.iter().zip(&along).map(|(m, a)| m + length * a).collect();
            let next_value = objective(&next_margins, up, s, &next[..d], alpha);
            // Near the optimum the fall drowns in rounding; a full step is right there.
            let rounding = 1e-12 * value.abs();
            if next_value <= value + 1e-4 * length * slope + rounding || length < 1e-10 {
                (theta, margins, value) = (next, next_margins, next_value);
                break;
            }
            length *= 0.5;
        }
    }
    let intercept = theta[d];
    theta.truncate(d);
    Ok(Linear { weights: theta, intercept, convergence })
}

fn objective(margins: &[f64], up: &[bool], s: &[f64], weights: &[f64], alpha: f64) -> f64 {
    let loss = |i: usize| {
        let against = if up[i] { -margins[i] } else { margins[i] };
        // ln(1 + e^a) without overflow.
        s[i] * (against.max(0.0) + (-against.abs()).exp().ln_1p())
    };
    (0..margins.len()).map(loss).sum::<f64>() + 0.5 * alpha * dot(weights, weights)
}
