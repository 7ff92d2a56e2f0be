//! Encoders walked forward: each fold trains one on from a base, on its training window alone.

use std::ops::Range;

use anyhow::Result;
use chrono::NaiveDateTime;

use super::head::TextGoal;
use super::params::TransformerParams;
use super::train::{Goals, TokenTexts, TrainingTexts, Transformer, WordsBeside};
use crate::Goal;
use crate::linear::to_probabilities;
use crate::walk_forward::{FoldNetworks, FoldReport, NetFold};
use inkstone_base::job::Ctx;

/// A base, and the last time of the text that it was trained on.
pub struct BaseVintage {
    pub encoder: Transformer,
    pub seen_until: NaiveDateTime,
}

/// The texts of samples, and the bases that are trained on.
pub struct FinetunedFolds<'a> {
    /// One base for all folds; or several, by time: a fold takes the last one that knows no text behind its own training samples.
    pub bases: &'a [BaseVintage],
    pub texts: TokenTexts<'a>,
    /// The place of each sample among the tokens.
    pub places: &'a [Range<usize>],
    /// The time of each sample: the last ones of a training window are held out.
    pub times: &'a [NaiveDateTime],
    /// Number of special tokens around a text.
    pub specials: usize,
    pub params: &'a TransformerParams,
    /// The texts' own words, where they are learned beside the target.
    pub words: Option<WordsBeside>,
}

/// The encoder of a fold.
pub struct FinetunedEncoder {
    pub encoder: Transformer,
    base_until: NaiveDateTime,
}

impl FinetunedFolds<'_> {
    fn places_of(&self, samples: &[usize]) -> Vec<Range<usize>> {
        samples.iter().map(|&sample| self.places[sample].clone()).collect()
    }

    /// The base of a fold whose training samples end at a time; none where all of several know later text.
    fn base(&self, end: NaiveDateTime) -> Option<&BaseVintage> {
        match self.bases {
            [only] => Some(only),
            several => several.iter().rev().find(|base| base.seen_until <= end),
        }
    }
}

impl FoldNetworks for FinetunedFolds<'_> {
    type Network = FinetunedEncoder;

    fn tokens(&self, sample: usize) -> usize {
        self.places[sample].len()
    }

    fn train(&self, samples: &[usize], goal: &Goal, _: &mut FoldReport, ctx: &Ctx) -> Result<Option<FinetunedEncoder>> {
        let mut order: Vec<usize> = (0..samples.len()).collect();
        order.sort_by_key(|&at| self.times[samples[at]]);
        let ordered: Vec<usize> = order.iter().map(|&at| samples[at]).collect();
        let end = ordered.last().map(|&sample| self.times[sample]);
        let Some(base) = end.and_then(|end| self.base(end)) else { return Ok(None) };
        let goal_of_texts = goal.select(&order);
        let goals = match self.words {
            Some(words) => Goals::TextsAndWords(goal_of_texts, words),
            None => Goals::Texts(goal_of_texts),
        };
        let given = TrainingTexts { texts: self.texts, places: &self.places_of(&ordered), goals };
        let begun = base.encoder.with_outputs(TextGoal::Classes(goal.names().len()), ctx.seed())?;
        let encoder = begun.train(&given, self.params, None, ctx)?;
        Ok(Some(FinetunedEncoder { encoder, base_until: base.seen_until }))
    }

    fn probabilities(&self, network: &FinetunedEncoder, samples: &[usize], ctx: &Ctx) -> Result<Vec<f64>> {
        let scores = network.encoder.scores(self.texts, &self.places_of(samples), ctx)?;
        Ok(scores.chunks(scores.len() / samples.len().max(1)).flat_map(softmax).collect())
    }

    fn knows(&self, _: &FinetunedEncoder, sample: usize) -> bool {
        self.places[sample].len() > self.specials
    }

    fn figures(&self, network: &FinetunedEncoder) -> NetFold {
        let FinetunedEncoder { encoder, base_until } = network;
        NetFold {
            given_words: None,
            vectors_until: (self.bases.len() > 1).then_some(*base_until),
            parameters: encoder.values().iter().map(|values| values.len()).sum(),
            epochs: encoder.epochs().to_vec(),
        }
    }
}

/// Probabilities of a row of scores.
pub fn softmax(scores: &[f32]) -> Vec<f64> {
    let mut scores: Vec<f64> = scores.iter().map(|&score| f64::from(score)).collect();
    to_probabilities(&mut scores);
    scores
}
