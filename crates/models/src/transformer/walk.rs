//! Encoders walked forward: each fold trains one on from the same base, on its training window alone.

use std::ops::Range;

use anyhow::Result;
use chrono::NaiveDateTime;

use super::head::TextGoal;
use super::params::TransformerParams;
use super::train::{Goals, TokenTexts, TrainingTexts, Transformer};
use crate::Goal;
use crate::linear::log_sum_exp;
use crate::walk_forward::{FoldNetworks, FoldReport, NetFold};
use inkstone_base::job::Ctx;

/// The texts of samples, and the base that is trained on.
pub struct FinetunedFolds<'a> {
    pub base: &'a Transformer,
    pub texts: TokenTexts<'a>,
    /// The place of each sample among the tokens.
    pub places: &'a [Range<usize>],
    /// The time of each sample: the last ones of a training window are held out.
    pub times: &'a [NaiveDateTime],
    /// Number of special tokens around a text.
    pub specials: usize,
    pub params: &'a TransformerParams,
}

impl FinetunedFolds<'_> {
    fn places_of(&self, samples: &[usize]) -> Vec<Range<usize>> {
        samples.iter().map(|&sample| self.places[sample].clone()).collect()
    }
}

impl FoldNetworks for FinetunedFolds<'_> {
    type Network = Transformer;

    fn tokens(&self, sample: usize) -> usize {
        self.places[sample].len()
    }

    fn train(&self, samples: &[usize], goal: &Goal, _: &mut FoldReport, ctx: &Ctx) -> Result<Option<Transformer>> {
        let mut order: Vec<usize> = (0..samples.len()).collect();
        order.sort_by_key(|&at| self.times[samples[at]]);
        let ordered: Vec<usize> = order.iter().map(|&at| samples[at]).collect();
        let goals = Goals::Texts(goal.select(&order));
        let given = TrainingTexts { texts: self.texts, places: &self.places_of(&ordered), goals };
        let begun = self.base.with_outputs(TextGoal::Classes(goal.names().len()), ctx.seed())?;
        begun.train(&given, self.params, None, ctx).map(Some)
    }

    fn probabilities(&self, network: &Transformer, samples: &[usize], ctx: &Ctx) -> Result<Vec<f64>> {
        let scores = network.scores(self.texts, &self.places_of(samples), ctx)?;
        Ok(scores.chunks(scores.len() / samples.len().max(1)).flat_map(softmax).collect())
    }

    fn knows(&self, _: &Transformer, sample: usize) -> bool {
        self.places[sample].len() > self.specials
    }

    fn figures(&self, network: &Transformer) -> NetFold {
        NetFold {
            given_words: None,
            vectors_until: None,
            parameters: network.values().iter().map(|values| values.len()).sum(),
            epochs: network.epochs().to_vec(),
        }
    }
}

/// Probabilities of a row of scores.
pub fn softmax(scores: &[f32]) -> Vec<f64> {
    let scores = scores.iter().map(|&score| f64::from(score));
    let sum = log_sum_exp(scores.clone());
    scores.map(|score| (score - sum).exp()).collect()
}
