//! The boosting itself: a tree on the derivatives of the loss, and the rows' scores raised by its leaves, round by round.

use anyhow::Result;

use super::bins::Binned;
use super::columns::BoostColumns;
use super::goal::{BoostGoal, Derivatives};
use super::tree::Grower;
use super::{BoostParams, Boosted, OutputTrees};
use crate::design::{Design, TwoWay};
use inkstone_base::ensure;
use inkstone_base::job::Ctx;

/// Grows trees. Call inside `Ctx::install`.
pub(crate) fn grow(
    x: &Design,
    goal: &BoostGoal<'_>,
    weights: Option<&[f64]>,
    params: &BoostParams,
    ctx: &Ctx,
) -> Result<Boosted> {
    grow_on(TwoWay::new(x), goal, weights, params, ctx)
}

/// Grows trees on columns, which are let go once they are in bins. Call inside `Ctx::install`.
pub(crate) fn grow_on(
    x: impl BoostColumns,
    goal: &BoostGoal<'_>,
    weights: Option<&[f64]>,
    params: &BoostParams,
    ctx: &Ctx,
) -> Result<Boosted> {
    let rows = x.rows();
    ensure!(rows > 0, "没有行，树无法生长", "trees cannot be grown on no rows");
    ensure!(
        params.learning_rate > 0.0 && params.learning_rate <= 1.0,
        "learning_rate = {} 须大于 0 且不超过 1",
        "learning_rate = {} must be above 0 and at most 1",
        params.learning_rate
    );
    ensure!(
        params.trees > 0 && params.max_depth > 0,
        "trees 与 max_depth 须不小于 1",
        "trees and max_depth must be at least 1"
    );
    let ones = vec![1.0; rows];
    let weights = weights.unwrap_or(&ones);
    let base = goal.base_scores(weights)?;
    let k = base.len();
    let binned = Binned::new(&x, goal, weights, k, params)?;
    drop(x);

    let mut grower = Grower::new(&binned, params);
    let mut derivatives = vec![Derivatives::default(); rows * k];
    let mut scores = base.repeat(rows);
    let mut outputs: Vec<OutputTrees> = base.into_iter().map(|base| OutputTrees { base, trees: Vec::new() }).collect();
    for _ in 0..params.trees {
        goal.derivatives(&scores, weights, k, &mut derivatives);
        for (c, output) in outputs.iter_mut().enumerate() {
            ctx.check()?;
            let of_output = derivatives[c..].iter().step_by(k);
            let tree = grower.grow(of_output, |i, value| scores[i * k + c] += value, ctx)?;
            output.trees.push(tree);
        }
    }
    let columns: Vec<u32> = binned.columns.iter().map(|column| column.column).collect();
    Ok(Boosted::new(&columns, outputs))
}
