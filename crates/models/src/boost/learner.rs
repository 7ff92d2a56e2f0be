//! Boosted trees as a method of an estimator.

use std::sync::Arc;

use anyhow::{Context, Result};

use super::{BoostGoal, Boosted, grow};
use crate::ModelFile;
use crate::goal::{Goal, GoalKind};
use crate::learner::{Contributions, FittedScorer, Learner, Link, Scorer, Setting, TrainingSet};

use inkstone_base::ensure;
use inkstone_base::language::Word;

pub(crate) struct BoostedLearner;

impl Learner for BoostedLearner {
    fn name(&self) -> &'static str {
        "boosted"
    }

    fn goals(&self) -> &'static [GoalKind] {
        &[GoalKind::Values, GoalKind::Classes]
    }

    fn tables(&self) -> &'static [&'static str] {
        &["boosted"]
    }

    fn settings(&self) -> &'static [Setting] {
        const SETTINGS: &[Setting] = &[
            Setting::count("trees", |params| &mut params.boosted.trees),
            Setting::number("learning_rate", false, |params| &mut params.boosted.learning_rate),
            Setting::count("max_depth", |params| &mut params.boosted.max_depth),
            Setting::number("min_leaf_weight", true, |params| &mut params.boosted.min_leaf_weight),
            Setting::number("l2", true, |params| &mut params.boosted.l2),
            Setting::count("max_features", |params| &mut params.boosted.max_features),
        ];
        SETTINGS
    }

    fn example_grid(&self) -> &'static str {
        "max_depth = [3, 6]"
    }

    fn contributions(&self) -> Contributions {
        Contributions::ShapleyValues
    }

    fn fit(&self, set: &TrainingSet<'_>) -> Result<FittedScorer> {
        let (link, goal) = match set.goal {
            Goal::Values(values) => (Link::Value, BoostGoal::Value(values)),
            Goal::Classes { class, names } => {
                let link = if names.len() == 2 { Link::Odds } else { Link::Joint };
                (link, BoostGoal::Class { class, classes: names.len() })
            }
            Goal::Labels { .. } => return Err(set.refused()),
        };
        let trees = grow(set.x, &goal, set.weights, &set.params.boosted, set.ctx)?;
        Ok(FittedScorer::new(link, trees, Vec::new()))
    }

    fn read(&self, file: &ModelFile, columns: usize) -> Result<Arc<dyn Scorer>> {
        let trees = Boosted::from_bytes(file.bytes("trees")?).context(Word(
            "模型的树无法读取；请重新训练",
            "the trees of the model cannot be read; train the model again",
        ))?;
        ensure!(
            trees.columns().last().is_none_or(|&j| (j as usize) < columns),
            "树用到超出特征 {columns} 列的列；请重新训练",
            "the trees use a column beyond the {columns} of the features; train the model again"
        );
        Ok(Arc::new(trees))
    }
}
