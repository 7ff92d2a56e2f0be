//! The penalised negative log-likelihood of labelled texts, and its gradient.

use anyhow::Result;
use rayon::prelude::*;

use super::examples::Examples;
use inkstone_base::job::Ctx;
use inkstone_text::labeller::{Chain, Pass};

/// Texts that are summed together before their sum is added to that of all.
const TOGETHER: usize = 64;
/// Features whose gradient one thread computes at a time.
const FEATURES: usize = 1024;
/// Numbers that are summed together.
const NUMBERS: usize = 1 << 14;

/// Weights are those of features, `[features, labels]`, and behind them those of pairs of labels, `[from, to]`.
pub(super) struct Objective<'e> {
    examples: &'e Examples,
    c2: f64,
    /// Counts of the right labels, as weights are laid out.
    right: Vec<f64>,
    /// `[places, labels]`: room for the probabilities of labels.
    probabilities: Vec<f64>,
}

impl<'e> Objective<'e> {
    pub(super) fn new(examples: &'e Examples, c2: f64) -> Objective<'e> {
        let labels = examples.labels;
        let features = examples.features.len();
        let mut right = vec![0.0; (features + labels) * labels];
        for (place, &label) in examples.right.iter().enumerate() {
            examples.seen_at(place).for_each(|feature| right[feature * labels + usize::from(label)] += 1.0);
        }
        for text in examples.texts.windows(2) {
            for pair in examples.right[text[0]..text[1]].windows(2) {
                right[(features + usize::from(pair[0])) * labels + usize::from(pair[1])] += 1.0;
            }
        }
        let probabilities = vec![0.0; examples.right.len() * labels];
        Objective { examples, c2, right, probabilities }
    }

    /// Number of weights.
    pub(super) fn len(&self) -> usize {
        self.right.len()
    }

    /// The loss at these weights; its gradient goes to `gradient`.
    pub(super) fn evaluate(&mut self, weights: &[f64], gradient: &mut [f64], ctx: &Ctx) -> Result<f64> {
        let Objective { examples, c2, right, probabilities } = self;
        let (labels, c2) = (examples.labels, *c2);
        let (states, pairs) = weights.split_at(examples.features.len() * labels);
        let chain = Chain::new(labels, pairs.to_vec());
        // The places of each part of the texts, and room for their probabilities.
        let mut parts = Vec::new();
        let mut rest = &mut probabilities[..];
        for first in (0..examples.texts.len() - 1).step_by(TOGETHER) {
            let end = (first + TOGETHER).min(examples.texts.len() - 1);
            let (room, behind) = rest.split_at_mut((examples.texts[end] - examples.texts[first]) * labels);
            parts.push((first..end, room));
            rest = behind;
        }
        let part = |(texts, mut room): (std::ops::Range<usize>, &mut [f64])| {
            ctx.check()?;
            let (mut log_z, mut counts) = (0.0, vec![0.0; labels * labels]);
            let (mut scores, mut pass) = (Vec::new(), Pass::default());
            for text in texts {
                let places = examples.texts[text]..examples.texts[text + 1];
                scores.clear();
                scores.resize(places.len() * labels, 0.0);
                for (place, scores) in places.zip(scores.chunks_exact_mut(labels)) {
                    for feature in examples.seen_at(place) {
                        let weights = &states[feature * labels..(feature + 1) * labels];
                        scores.iter_mut().zip(weights).for_each(|(score, weight)| *score += weight);
                    }
                }
                chain.pass(&scores, &mut pass);
                chain.add_pairs(&pass, &mut counts);
                log_z += pass.log_z();
                let (of_text, behind) = std::mem::take(&mut room).split_at_mut(scores.len());
                of_text.iter_mut().zip(pass.marginals()).for_each(|(room, share)| *room = share);
                room = behind;
            }
            Ok((log_z, counts))
        };
        let summed = ctx.install(|| parts.into_par_iter().map(part).collect::<Result<Vec<(f64, Vec<f64>)>>>())?;
        let (of_states, of_pairs) = gradient.split_at_mut(states.len());
        of_pairs.fill(0.0);
        let mut log_z = 0.0;
        for (z, counts) in &summed {
            log_z += z;
            of_pairs.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
        }
        ctx.install(|| {
            of_states.par_chunks_mut(FEATURES * labels).enumerate().for_each(|(part, rows)| {
                for (feature, row) in (part * FEATURES..).zip(rows.chunks_exact_mut(labels)) {
                    row.fill(0.0);
                    for &place in &examples.places[examples.begins[feature]..examples.begins[feature + 1]] {
                        let shares = &probabilities[place as usize * labels..(place as usize + 1) * labels];
                        row.iter_mut().zip(shares).for_each(|(sum, share)| *sum += share);
                    }
                }
            });
        });
        ctx.install(|| {
            let all = gradient.par_iter_mut().zip(&*right).zip(weights).with_min_len(NUMBERS);
            all.for_each(|((value, right), weight)| *value += 2.0 * c2 * weight - right);
        });
        let score = dot(weights, right, ctx);
        Ok(log_z - score + c2 * dot(weights, weights, ctx))
    }
}

/// The sum of products, the same with any number of threads.
pub(super) fn dot(a: &[f64], b: &[f64], ctx: &Ctx) -> f64 {
    let part = |(a, b): (&[f64], &[f64])| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    let parts: Vec<f64> = ctx.install(|| a.par_chunks(NUMBERS).zip(b.par_chunks(NUMBERS)).map(part).collect());
    parts.iter().sum()
}
