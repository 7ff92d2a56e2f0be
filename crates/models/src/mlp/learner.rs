//! Perceptrons as a method of an estimator.

use std::sync::Arc;

use anyhow::{Context, Result};

use super::{Mlp, MlpGoal, MlpShape};
use crate::ModelFile;
use crate::goal::{Goal, GoalKind};
use crate::learner::{ClassWeight, Contributions, FittedScorer, Learner, Link, Scorer, Setting, TrainingSet};
use crate::validation::{FoldRows, hold_out};

use inkstone_base::ensure;
use inkstone_base::language::Word;

pub(crate) struct MlpLearner;

impl Learner for MlpLearner {
    fn name(&self) -> &'static str {
        "mlp"
    }

    fn goals(&self) -> &'static [GoalKind] {
        &[GoalKind::Values, GoalKind::Classes, GoalKind::Labels]
    }

    fn tables(&self) -> &'static [&'static str] {
        &["mlp"]
    }

    fn settings(&self) -> &'static [Setting] {
        const SETTINGS: &[Setting] = &[
            Setting::layer("hidden", |params| &mut params.mlp.hidden),
            Setting::number("dropout", true, |params| &mut params.mlp.dropout),
            Setting::number("l2", true, |params| &mut params.mlp.l2),
            Setting::number("learning_rate", false, |params| &mut params.mlp.learning_rate),
        ];
        SETTINGS
    }

    fn example_grid(&self) -> &'static str {
        "l2 = [0.0001, 0.01]"
    }

    fn holds_out(&self) -> bool {
        true
    }

    fn contributions(&self) -> Contributions {
        Contributions::IntegratedGradients
    }

    fn fit(&self, set: &TrainingSet<'_>) -> Result<FittedScorer> {
        let (link, goal) = match set.goal {
            Goal::Values(values) => (Link::Value, MlpGoal::Values(values)),
            Goal::Classes { class, names } => {
                let link = if names.len() == 2 { Link::Odds } else { Link::Joint };
                (link, MlpGoal::Classes { class, classes: names.len() })
            }
            Goal::Labels { labels, .. } => {
                let rows = labels.len();
                let weights_of = |up: usize| match set.params.class_weight {
                    ClassWeight::None => [1.0, 1.0],
                    ClassWeight::Balanced => [rows - up, up].map(|n| rows as f64 / (2.0 * n.max(1) as f64)),
                };
                let weights = set.goal.sizes().into_iter().map(weights_of).collect();
                (Link::Odds, MlpGoal::Labels { labels, weights })
            }
        };
        let nothing_known = FoldRows::default();
        let split = hold_out(set.goal, set.order.unwrap_or(&nothing_known), set.ctx.seed())?;
        let (network, convergence) = Mlp::fit(set.x, &goal, set.weights, &split, &set.params.mlp, set.ctx)?;
        Ok(FittedScorer::new(link, network, vec![convergence]))
    }

    fn read(&self, file: &ModelFile, columns: usize) -> Result<Arc<dyn Scorer>> {
        let shape: MlpShape = serde_json::from_slice(file.bytes("network_shape")?).context(Word(
            "network_shape 一节损坏或属于另一版本；请重新训练",
            "the section network_shape is damaged or of another version; train the model again",
        ))?;
        ensure!(
            shape.sparse.checked_add(shape.dense) == Some(columns),
            "网络有 {} 与 {} 列，而特征有 {columns} 列；请重新训练",
            "the network has {} and {} columns, but the features {columns}; train the model again",
            shape.sparse,
            shape.dense
        );
        Ok(Arc::new(Mlp::from_numbers(shape, file.numbers("network")?)?))
    }
}
