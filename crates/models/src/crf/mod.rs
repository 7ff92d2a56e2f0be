//! Training of a linear-chain conditional random field over characters: of words (B, M, E, S) or of names.
//!
//! Lafferty, McCallum and Pereira (2001). Minimises `-sum ln p(labels | text) + c2 * |w|^2` over all texts by L-BFGS (Nocedal 1980), as CRFsuite
//! with its settings `all_possible_states` and `all_possible_transitions` does; the problem is convex, so there is one best model. All texts
//! are in memory: for a character some 8 bytes a template and 16 a label, for a feature 120 bytes a label.
//!
//! Sums over texts are taken in parts of fixed size, and a feature's expected count is summed over the places where it stands, in their order;
//! so the result does not depend on threads.

mod examples;
mod lbfgs;
mod objective;
#[cfg(test)]
mod tests;

use anyhow::Result;
use chrono::NaiveDateTime;
use inkstone_base::ensure;
use inkstone_base::job::Ctx;
use inkstone_base::message;
use inkstone_text::Labeller;
use inkstone_text::labeller::{LabellerParts, Templates, WordList};

use crate::checkpoint::Checkpoint;
use examples::Examples;
use lbfgs::Lbfgs;
use objective::Objective;

params! {
    /// Parameters of a training; c2 is CRFsuite's.
    pub struct CrfParams {
        /// Weight of the penalty: the sum of the squares of all weights counts so much.
        ///
        /// 惩罚的权重：全部权重的平方和按此计入。
        c2: f64 = 1.0, number("X", "--weight");
        /// Features that occur less often are left out.
        ///
        /// 出现次数更少的特征不用。
        min_count: u64 = 1, number("N", "--count");
        /// Steps of the optimisation at the most.
        ///
        /// 优化的步数上限。
        epochs: usize = 200, number("N", "--epochs");
        /// The training ends when the last ten steps have made the loss smaller by this share or less.
        ///
        /// 最近十步使损失下降的比例不超过此值时，训练结束。
        tolerance: f64 = 1e-5, number("X", "--share");
    }
}

impl CrfParams {
    pub fn check(&self) -> Result<()> {
        ensure!(
            self.epochs > 0,
            "epochs = 0：什么也学不到（--epochs）",
            "epochs = 0: nothing would be learned (--epochs)"
        );
        ensure!(
            self.c2 >= 0.0 && self.c2.is_finite(),
            "c2 = {} 须为不小于 0 的数（--c2）",
            "c2 = {} must be a number of 0 or more (--c2)",
            self.c2
        );
        Ok(())
    }
}

/// A text with the label of each character, by number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LabelledText {
    pub text: Box<str>,
    pub labels: Vec<u8>,
}

/// A trained labeller and how its training went.
pub struct TrainedCrf {
    pub labeller: Labeller,
    /// The loss after each step.
    pub losses: Vec<f64>,
    /// True if the loss has settled; false if the steps were used up.
    pub settled: bool,
    /// True if the training resumed from a checkpoint.
    pub resumed: bool,
}

/// Trains a labeller with these labels. An interrupted training goes on from its checkpoint, and ends with the same bytes.
#[allow(clippy::too_many_arguments, reason = "what is learned from what, and how")]
pub fn train_crf(
    texts: &[LabelledText],
    labels: Vec<String>,
    templates: Templates,
    words: Option<WordList>,
    fitted_until: Option<NaiveDateTime>,
    params: &CrfParams,
    checkpoint: Option<&Checkpoint>,
    ctx: &Ctx,
) -> Result<TrainedCrf> {
    params.check()?;
    let examples = Examples::new(texts, labels.len(), &templates, words.as_ref(), params.min_count, ctx)?;
    ensure!(
        !examples.features.is_empty(),
        "没有特征出现至少 {0} 次：请降低 --min-count，或提供更多文本",
        "no feature occurs {0} times or more: lower --min-count, or give more text",
        params.min_count
    );
    let mut objective = Objective::new(&examples, params.c2);
    let mut search = Lbfgs::new(objective.len());
    let mut resumed = false;
    if let Some(file) = checkpoint.map(Checkpoint::read).transpose()?.flatten() {
        search.restore(&file)?;
        resumed = true;
        ctx.advance(search.losses().len() as u64)?;
    }
    while !search.is_settled(params.tolerance) && search.losses().len() < params.epochs {
        let stepped = search.step(&mut |weights, gradient| objective.evaluate(weights, gradient, ctx), ctx)?;
        if !stepped {
            break;
        }
        ctx.advance(1)?;
        let loss = search.losses().last().copied().unwrap_or_default();
        ctx.note(message!("损失 {loss:.2}", "loss {loss:.2}").to_string());
        if let Some(checkpoint) = checkpoint.filter(|checkpoint| checkpoint.is_due()) {
            search.keep(checkpoint)?;
        }
    }
    let settled = search.losses().len() < params.epochs || search.is_settled(params.tolerance);
    let losses = search.losses().to_vec();
    let weights = search.weights();
    let states = examples.features.len() * labels.len();
    let labeller = Labeller::new(LabellerParts {
        labels,
        templates,
        words,
        weights: weights[..states].iter().map(|weight| *weight as f32).collect(),
        pairs: weights[states..].to_vec(),
        features: examples.features,
        fitted_until,
    })?;
    Ok(TrainedCrf { labeller, losses, settled, resumed })
}
