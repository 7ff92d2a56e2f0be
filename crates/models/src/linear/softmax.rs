//! Multinomial logistic regression with an L2 penalty: scikit-learn's `LogisticRegression` on more than two classes.
//!
//! Minimises `sum s (ln sum_k e^(z_k) - z_y) + alpha / 2 |W|^2` with z = xW + b, one column of W a class and b free. Newton's
//! method as in the binary case: the Hessian's product with V is `s p (u - sum p u)` with u = xV, so the matrix is touched by
//! products alone. A constant added to all of b changes nothing; b is given with mean 0, as lbfgs from zero gives it.

use anyhow::Result;

use super::cg::dot;
use super::newton::{MarginLoss, minimise};
use super::{Convergence, LinearMap, LinearParams};
use crate::design::Design;
use inkstone_base::ensure;
use inkstone_base::job::Ctx;

/// Fits which of `classes` each row of `x` is, by weight if `weights` are given (one a row, none negative). Call inside
/// [`Ctx::install`].
pub fn softmax(
    x: &Design,
    class: &[u32],
    classes: usize,
    weights: Option<&[f64]>,
    params: &LinearParams,
    ctx: &Ctx,
) -> Result<(LinearMap, Convergence)> {
    super::model::check(x, class.len(), weights, params)?;
    let ones = vec![1.0; x.rows()];
    let s = weights.unwrap_or(&ones);
    let total = totals(class, classes, s)?;
    // The start knows the base rates alone.
    let mut start: Vec<f64> = total.iter().map(|t| t.ln()).collect();
    centre(&mut start);
    let (mut map, convergence) = minimise(x, s, &start, &SoftmaxLoss { class, s, k: classes }, params, ctx)?;
    centre(&mut map.intercepts);
    Ok((map, convergence))
}

struct SoftmaxLoss<'a> {
    class: &'a [u32],
    s: &'a [f64],
    k: usize,
}

impl MarginLoss for SoftmaxLoss<'_> {
    fn value(&self, margins: &[f64]) -> f64 {
        let loss = |((z, &c), s): ((&[f64], &u32), &f64)| s * (log_sum_exp(z.iter().copied()) - z[c as usize]);
        margins.chunks(self.k).zip(self.class).zip(self.s).map(loss).sum()
    }

    fn probabilities(&self, margins: &[f64]) -> Vec<f64> {
        let mut p = margins.to_vec();
        p.chunks_mut(self.k).for_each(to_probabilities);
        p
    }

    fn gradient(&self, p: &[f64]) -> Vec<f64> {
        let mut gradient = p.to_vec();
        for ((row, &c), s) in gradient.chunks_mut(self.k).zip(self.class).zip(self.s) {
            row[c as usize] -= 1.0;
            row.iter_mut().for_each(|v| *v *= s);
        }
        gradient
    }

    fn curve(&self, p: &[f64], u: &mut [f64]) {
        for ((u, p), s) in u.chunks_mut(self.k).zip(p.chunks(self.k)).zip(self.s) {
            let mean = dot(u, p);
            u.iter_mut().zip(p).for_each(|(u, p)| *u = s * p * (*u - mean));
        }
    }
}

/// The total weight of the rows of each class. Fails on a class without weight.
pub(super) fn totals(class: &[u32], classes: usize, s: &[f64]) -> Result<Vec<f64>> {
    ensure!(
        classes > 1,
        "分类器需要两个以上类别的行；现在只有一个",
        "a classifier needs rows of two classes or more; there is only one"
    );
    let mut total = vec![0.0; classes];
    for (&c, s) in class.iter().zip(s) {
        total[c as usize] += s;
    }
    if let Some(empty) = total.iter().position(|t| *t <= 0.0) {
        inkstone_base::bail!(
            "类别 {empty} 没有可学的行（或其权重都为 0）；请去掉",
            "class {empty} has no rows to learn from (or all of them have weight 0); leave it out"
        );
    }
    Ok(total)
}

fn centre(b: &mut [f64]) {
    let mean = b.iter().sum::<f64>() / b.len() as f64;
    b.iter_mut().for_each(|b| *b -= mean);
}

/// Scores to probabilities, in place.
pub(crate) fn to_probabilities(z: &mut [f64]) {
    let top = z.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    z.iter_mut().for_each(|z| *z = (*z - top).exp());
    let sum: f64 = z.iter().sum();
    z.iter_mut().for_each(|z| *z /= sum);
}

/// ln sum e^z without overflow.
pub(crate) fn log_sum_exp(z: impl Iterator<Item = f64> + Clone) -> f64 {
    let top = z.clone().fold(f64::NEG_INFINITY, f64::max);
    top + z.map(|z| (z - top).exp()).sum::<f64>().ln()
}
