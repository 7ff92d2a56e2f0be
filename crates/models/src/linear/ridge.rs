//! Ridge regression by conjugate gradients on the centred normal equations; the centring is never carried out on the
//! sparse matrix, but enters each product as a correction of rank one.

use anyhow::{Result, ensure};

use super::cg::{self, dot};
use super::{Convergence, Linear, LinearParams};
use crate::sparse::Csr;
use inkstone_base::job::Ctx;

/// Fits `y` on the rows of `x`, by weight if `weights` are given (one a row, none negative). Call inside
/// [`Ctx::install`].
pub fn ridge(x: &Csr, y: &[f64], weights: Option<&[f64]>, params: &LinearParams, ctx: &Ctx) -> Result<Linear> {
    super::check(x, y.len(), weights, params)?;
    ensure!(
        y.iter().all(|v| v.is_finite()),
        "ridge regression needs a finite target in each row; leave the others out"
    );
    let transposed = x.transpose();
    let ones = vec![1.0; x.rows()];
    let s = weights.unwrap_or(&ones);
    let total: f64 = s.iter().sum();
    let y_mean = dot(s, y) / total;
    let mut means = transposed.dot(s);
    means.iter_mut().for_each(|m| *m /= total);

    let target: Vec<f64> = y.iter().zip(s).map(|(y, s)| s * (y - y_mean)).collect();
    let b = transposed.dot(&target);
    let diagonal: Vec<f64> = (0..x.cols())
        .map(|j| {
            let squares: f64 = transposed.row(j).iter().map(|(i, v)| s[i as usize] * f64::from(v).powi(2)).sum();
            (squares - total * means[j] * means[j]).max(0.0) + params.alpha
        })
        .collect();

    let mut fitted = vec![0.0; x.rows()];
    let apply = |v: &[f64], out: &mut [f64]| {
        ctx.check()?;
        x.dot_into(v, &mut fitted);
        let shift = dot(&means, v);
        for (f, s) in fitted.iter_mut().zip(s) {
            *f = s * (*f - shift);
        }
        let sum: f64 = fitted.iter().sum();
        transposed.dot_into(&fitted, out);
        for ((out, v), m) in out.iter_mut().zip(v).zip(&means) {
            *out += params.alpha * v - sum * m;
        }
        Ok(())
    };
    let (weights, iterations, gradient) = cg::solve(apply, &diagonal, &b, params.tolerance, params.max_iterations)?;
    let intercept = y_mean - dot(&means, &weights);
    let convergence = Convergence { iterations, gradient, converged: gradient <= params.tolerance };
    Ok(Linear { weights, intercept, convergence })
}
