//! The boosting itself: gradients of the loss, a tree for each, and the rows' scores moved by its leaves.

use anyhow::{Result, ensure};
use forust_ml::Matrix;
use forust_ml::constraints::ConstraintMap;
use forust_ml::gradientbooster::GrowPolicy;
use forust_ml::sampler::SampleMethod;
use forust_ml::splitter::MissingImputerSplitter;
use forust_ml::tree::Tree;

use super::{BoostParams, Boosted, columns, leaf};
use crate::design::{Design, TwoWay};
use crate::linear::to_probabilities;
use inkstone_base::job::Ctx;

/// The goal of boosting.
pub(crate) enum BoostGoal<'a> {
    /// A value.
    Value(&'a [f64]),
    /// One of the classes; of two there is one score, the log-odds of the second.
    Class {
        /// By row.
        class: &'a [u32],
        /// Their number.
        classes: usize,
    },
}

/// Grows the trees. Call inside `Ctx::install`.
pub(crate) fn grow(
    x: &Design,
    goal: &BoostGoal<'_>,
    weights: Option<&[f64]>,
    params: &BoostParams,
    ctx: &Ctx,
) -> Result<Boosted> {
    ensure!(x.rows() > 0, "trees cannot be grown on no rows");
    ensure!(
        params.learning_rate > 0.0 && params.learning_rate <= 1.0,
        "learning_rate = {} must be above 0 and at most 1",
        params.learning_rate
    );
    ensure!(params.trees > 0 && params.max_depth > 0, "trees and max_depth must be at least 1");
    let ones = vec![1.0; x.rows()];
    let s = weights.unwrap_or(&ones);
    let base = base_scores(goal, s)?;
    let two = TwoWay::new(x);
    let columns = columns::choose(&two, goal, s, params)?;
    let binned = columns::bin(&two, &columns);
    let data = Matrix::new(&binned.bins, x.rows(), columns.len());
    let every: Vec<usize> = (0..columns.len()).collect();
    let splitter = MissingImputerSplitter {
        l1: 0.0,
        l2: params.l2 as f32,
        max_delta_step: 0.0,
        gamma: 0.0,
        min_leaf_weight: params.min_leaf_weight as f32,
        learning_rate: params.learning_rate as f32,
        allow_missing_splits: true,
        constraints_map: ConstraintMap::new(),
    };

    let k = base.len();
    let mut scores: Vec<f64> = base.repeat(x.rows());
    let mut model = Boosted::new(columns, base.into_iter().map(|b| (b, Vec::new())).collect());
    for _ in 0..params.trees {
        let (gradients, curvatures) = derivatives(goal, &scores, s, k);
        for c in 0..k {
            ctx.check()?;
            let of_output = |all: &[f32]| all[c..].iter().step_by(k).copied().collect::<Vec<f32>>();
            let mut tree = Tree::new();
            let reached = tree.fit(
                &data,
                data.index.clone(),
                &every,
                &binned.cuts,
                &of_output(&gradients),
                &of_output(&curvatures),
                &splitter,
                usize::MAX,
                params.max_depth,
                true,
                &SampleMethod::None,
                &GrowPolicy::DepthWise,
            );
            match reached {
                Some(rows) => {
                    for (rows, value) in rows.leaves(&tree) {
                        rows.iter().for_each(|&i| scores[i * k + c] += value);
                    }
                }
                // The rows were not parted as the tree would part them: they go down it one by one.
                None => {
                    let mut dense = vec![0.0; model.columns.len()];
                    for i in 0..x.rows() {
                        model.spread(x.row(i), &mut dense);
                        scores[i * k + c] += leaf(&tree, &dense);
                    }
                }
            }
            model.boosters[c].trees.push(tree);
        }
    }
    Ok(model)
}

/// The scores before the first tree: base rates and the mean.
fn base_scores(goal: &BoostGoal<'_>, s: &[f64]) -> Result<Vec<f64>> {
    let total: f64 = s.iter().sum();
    ensure!(total > 0.0, "all rows have weight 0");
    match goal {
        BoostGoal::Value(y) => {
            ensure!(y.iter().all(|v| v.is_finite()), "trees need a finite target in each row; leave the others out");
            Ok(vec![y.iter().zip(s).map(|(y, s)| s * y).sum::<f64>() / total])
        }
        BoostGoal::Class { class, classes } => {
            let mut sizes = vec![0.0; *classes];
            class.iter().zip(s).for_each(|(&c, s)| sizes[c as usize] += s);
            ensure!(
                *classes > 1 && sizes.iter().all(|n| *n > 0.0),
                "trees need rows of two classes or more, and of each"
            );
            Ok(match sizes[..] {
                [first, second] => vec![(second / first).ln()],
                _ => sizes.iter().map(|n| (n / total).ln()).collect(),
            })
        }
    }
}

/// First and second derivatives of the loss in each score, `[rows, outputs]`.
fn derivatives(goal: &BoostGoal<'_>, scores: &[f64], s: &[f64], k: usize) -> (Vec<f32>, Vec<f32>) {
    let logistic = |p: f64, so: bool, s: f64| ((s * (p - f64::from(u8::from(so)))) as f32, (s * p * (1.0 - p)) as f32);
    match goal {
        BoostGoal::Value(y) => {
            scores.iter().zip(*y).zip(s).map(|((f, y), s)| ((s * (f - y)) as f32, *s as f32)).unzip()
        }
        BoostGoal::Class { class, .. } if k == 1 => {
            let one = |((f, &c), s): ((&f64, &u32), &f64)| logistic(1.0 / (1.0 + (-f).exp()), c == 1, *s);
            scores.iter().zip(*class).zip(s).map(one).unzip()
        }
        BoostGoal::Class { class, .. } => {
            let mut p = scores.to_vec();
            p.chunks_mut(k).for_each(to_probabilities);
            let one = |(at, p): (usize, &f64)| logistic(*p, class[at / k] as usize == at % k, s[at / k]);
            p.iter().enumerate().map(one).unzip()
        }
    }
}
