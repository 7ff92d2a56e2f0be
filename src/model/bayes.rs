//! Naive Bayes on counts or weights: multinomial (McCallum and Nigam 1998) and complement (Rennie and others 2003).
//!
//! scikit-learn's `MultinomialNB` and `ComplementNB`: with N the summed values by class and column and a the smoothing,
//! multinomial scores `ln prior_c + sum x ln((N_cj + a) / (N_c + a d))`, complement `-sum x ln((N_~cj + a) / (N_~c + a d))`
//! over all classes but c. Both are linear in the row, natural logarithms.

use anyhow::{Result, ensure};
use serde::{Deserialize, Serialize};

use super::linear::LinearMap;
use super::sparse::Csr;

/// Which counts speak for a class.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum BayesForm {
    /// Those of its own rows.
    #[default]
    Multinomial,
    /// Those of all other rows, against it: steadier when classes are of unlike size.
    Complement,
}

/// Parameters of naive Bayes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct BayesParams {
    /// `multinomial` (default) or `complement`.
    pub form: BayesForm,
    /// Added to each count, above 0 (Lidstone; 1 is Laplace's). Default 1.
    pub smoothing: f64,
}

impl Default for BayesParams {
    fn default() -> BayesParams {
        BayesParams { form: BayesForm::Multinomial, smoothing: 1.0 }
    }
}

/// Fits which of `classes` each row of `x` is, by weight if `weights` are given. One output a class: its joint
/// log-probability up to a constant of the row.
pub fn naive_bayes(
    x: &Csr,
    class: &[u32],
    classes: usize,
    weights: Option<&[f64]>,
    params: &BayesParams,
) -> Result<LinearMap> {
    ensure!(x.rows() > 0 && x.rows() == class.len(), "{} rows of features, but {} classes", x.rows(), class.len());
    ensure!(
        params.smoothing > 0.0 && params.smoothing.is_finite(),
        "smoothing = {} must be a number above 0",
        params.smoothing
    );
    let d = x.cols();
    let mut counts = vec![0.0; d * classes];
    let mut priors = vec![0.0; classes];
    for (i, &c) in class.iter().enumerate() {
        let s = weights.map_or(1.0, |s| s[i]);
        priors[c as usize] += s;
        for (j, v) in x.row(i).iter() {
            ensure!(v >= 0.0, "naive Bayes adds up counts, but row {i} has the value {v}; choose features without a sign");
            counts[j as usize * classes + c as usize] += s * f64::from(v);
        }
    }
    let total: f64 = priors.iter().sum();
    if let Some(empty) = priors.iter().position(|p| *p <= 0.0) {
        anyhow::bail!("class {empty} has no rows to learn from (or all of them have weight 0); leave it out");
    }
    if params.form == BayesForm::Complement {
        for row in counts.chunks_mut(classes) {
            let all: f64 = row.iter().sum();
            row.iter_mut().for_each(|count| *count = all - *count);
        }
    }
    counts.iter_mut().for_each(|count| *count += params.smoothing);
    let mut sums = vec![0.0; classes];
    for row in counts.chunks(classes) {
        sums.iter_mut().zip(row).for_each(|(sum, count)| *sum += count);
    }
    let sign = if params.form == BayesForm::Complement { -1.0 } else { 1.0 };
    for row in counts.chunks_mut(classes) {
        row.iter_mut().zip(&sums).for_each(|(count, sum)| *count = sign * (*count / sum).ln());
    }
    let prior = |p: &f64| if params.form == BayesForm::Complement { 0.0 } else { (p / total).ln() };
    Ok(LinearMap { outputs: classes, weights: counts, intercepts: priors.iter().map(prior).collect() })
}
