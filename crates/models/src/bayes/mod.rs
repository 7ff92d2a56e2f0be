//! Naive Bayes on counts or weights: multinomial (McCallum and Nigam 1998) and complement (Rennie and others 2003).
//!
//! scikit-learn's `MultinomialNB` and `ComplementNB`: with N the summed values by class and column and a the smoothing,
//! multinomial scores `ln prior_c + sum x ln((N_cj + a) / (N_c + a d))`, complement `-sum x ln((N_~cj + a) / (N_~c + a d))`
//! over all classes but c. Both are linear in the row, natural logarithms.

mod params;

use anyhow::Result;

use super::design::Design;
use super::goal::{Goal, GoalKind};
use super::learner::{FittedScorer, Learner, Link, Setting, TrainingSet};
use super::linear::{Convergence, Linear, LinearMap};
pub use params::{BayesForm, BayesParams};

use inkstone_base::ensure;

pub(crate) struct BayesLearner;

impl Learner for BayesLearner {
    fn name(&self) -> &'static str {
        "bayes"
    }

    fn goals(&self) -> &'static [GoalKind] {
        &[GoalKind::Classes, GoalKind::Labels]
    }

    fn tables(&self) -> &'static [&'static str] {
        &["bayes"]
    }

    fn settings(&self) -> &'static [Setting] {
        const SETTINGS: &[Setting] = &[Setting::number("smoothing", true, |params| &mut params.bayes.smoothing)];
        SETTINGS
    }

    fn penalty(&self) -> &'static str {
        "smoothing"
    }

    fn example_grid(&self) -> &'static str {
        "smoothing = [0.1, 1.0]"
    }

    fn fit(&self, set: &TrainingSet<'_>) -> Result<FittedScorer> {
        let params = &set.params.bayes;
        match set.goal {
            Goal::Classes { class, names } => {
                let map = naive_bayes(set.x, class, names.len(), set.weights, params)?;
                let (link, map) =
                    if names.len() == 2 { (Link::Odds, map.lead_of_second()) } else { (Link::Joint, map) };
                Ok(FittedScorer::new(link, map, Vec::new()))
            }
            Goal::Labels { labels, .. } => set.one_against_rest(labels, Link::Odds, |up, weights, _| {
                let class: Vec<u32> = up.iter().map(|&up| u32::from(up)).collect();
                let map = naive_bayes(set.x, &class, 2, weights, params)?.lead_of_second();
                let convergence = Convergence { converged: true, ..Convergence::default() };
                Ok(Linear { intercept: map.intercept(0), weights: map.weights, convergence })
            }),
            Goal::Values(_) => Err(set.refused()),
        }
    }
}

/// Fits which of `classes` each row of `x` is, by weight if `weights` are given. One output a class: its joint
/// log-probability up to a constant of the row.
pub fn naive_bayes(
    x: &Design,
    class: &[u32],
    classes: usize,
    weights: Option<&[f64]>,
    params: &BayesParams,
) -> Result<LinearMap> {
    ensure!(
        x.rows() > 0 && x.rows() == class.len(),
        "特征有 {} 行，而类别有 {} 个",
        "{} rows of features, but {} classes",
        x.rows(),
        class.len()
    );
    ensure!(
        params.smoothing > 0.0 && params.smoothing.is_finite(),
        "smoothing = {} 须为大于 0 的数",
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
            ensure!(
                v >= 0.0,
                "朴素贝叶斯对计数求和，而第 {i} 行的值为 {v}；请选非负的特征",
                "naive Bayes adds up counts, but row {i} has the value {v}; choose features without a sign"
            );
            counts[j as usize * classes + c as usize] += s * v;
        }
    }
    let total: f64 = priors.iter().sum();
    if let Some(empty) = priors.iter().position(|p| *p <= 0.0) {
        inkstone_base::bail!(
            "类别 {empty} 没有可学的行（或其权重都为 0）；请去掉",
            "class {empty} has no rows to learn from (or all of them have weight 0); leave it out"
        );
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Csr;
    use crate::learner::Scorer;
    use crate::linear::to_probabilities;
    use crate::reference::{Reference, farthest, read};

    #[test]
    fn joint_log_probabilities_equal_those_of_scikit_learn() {
        let reference = Reference::read();
        let names = |form: &str| if form == "complement" { BayesForm::Complement } else { BayesForm::Multinomial };
        for case in reference.all["bayes"].as_array().unwrap() {
            let params = BayesParams {
                form: names(case["form"].as_str().unwrap()),
                smoothing: case["smoothing"].as_f64().unwrap(),
            };
            let weights = case["weighted"].as_bool().unwrap().then_some(&reference.weights[..]);
            let map = naive_bayes(&reference.x, &reference.class, 3, weights, &params).unwrap();
            let mut scores = map.scores(&reference.x);
            scores.truncate(8 * 3);
            let joint: Vec<Vec<f64>> = read(&case["joint"]);
            assert!(farthest(&scores, joint.iter().flatten()) < 1e-9, "{params:?}");
            scores.chunks_mut(3).for_each(to_probabilities);
            let p: Vec<Vec<f64>> = read(&case["probabilities"]);
            assert!(farthest(&scores, p.iter().flatten()) < 1e-9, "{params:?}");
        }
    }

    #[test]
    fn a_small_case_is_as_by_hand() {
        // 甲 has 3 of word 0 and 1 of word 1, 乙 has 1 of word 1; smoothing 1 over two words.
        let mut x = Csr::new(2);
        x.push_row([(0, 3.0), (1, 1.0)]);
        x.push_row([(1, 1.0)]);
        let map = naive_bayes(&x.into(), &[0, 1], 2, None, &BayesParams::default()).unwrap();
        let expected = [(4.0f64 / 6.0).ln(), (1.0f64 / 3.0).ln(), (2.0f64 / 6.0).ln(), (2.0f64 / 3.0).ln()];
        assert!(farthest(&map.weights, &expected) < 1e-15);
        assert_eq!(map.intercepts, [0.5f64.ln(); 2]);
    }

    #[test]
    fn what_cannot_be_counted_is_refused() {
        let mut x = Csr::new(1);
        x.push_row([(0, -1.0)]);
        x.push_row([(0, 1.0)]);
        let x = x.into();
        let error_of = |params: &BayesParams, class: &[u32], classes| {
            naive_bayes(&x, class, classes, None, params).unwrap_err().to_string()
        };
        assert!(error_of(&BayesParams::default(), &[0, 1], 2).contains("row 0 has the value -1"));
        assert!(
            error_of(&BayesParams { smoothing: 0.0, ..BayesParams::default() }, &[0, 1], 2).contains("smoothing = 0")
        );
        let mut x = Csr::new(1);
        (0..2).for_each(|_| x.push_row([(0, 1.0)]));
        assert!(
            naive_bayes(&x.into(), &[0, 0], 2, None, &BayesParams::default())
                .unwrap_err()
                .to_string()
                .contains("class 1")
        );
    }
}
