//! Predictions for texts and vectors of words, in fastText's arithmetic.

use std::cmp::Ordering;
use std::sync::LazyLock;

use super::{FastText, Form, Loss};

/// fastText's sigmoid is a table of 512 steps from -8 to 8, and its probabilities are those of the table.
const STEPS: usize = 512;
const BOUND: f32 = 8.0;

static SIGMOID: LazyLock<Vec<f32>> = LazyLock::new(|| {
    let x = |i: usize| (i as f32 * 2.0 * BOUND) / STEPS as f32 - BOUND;
    (0..=STEPS).map(|i| (1.0 / (1.0 + f64::from((-x(i)).exp()))) as f32).collect()
});

fn sigmoid(x: f32) -> f32 {
    match x {
        x if x < -BOUND => 0.0,
        x if x > BOUND => 1.0,
        // Not a number has no place in the table.
        x if x.is_nan() => x,
        x => SIGMOID[((x + BOUND) * STEPS as f32 / BOUND / 2.0) as usize],
    }
}

/// The order of labels by their scores: the highest first, and of equals the last.
pub(super) fn likelier(a: &(u32, f32), b: &(u32, f32)) -> Ordering {
    b.1.total_cmp(&a.1).then(b.0.cmp(&a.0))
}

impl FastText {
    /// The mean of some rows of the input matrix, `[dim]`; zeros when there are none.
    pub fn hidden(&self, features: &[u32]) -> Vec<f32> {
        let mut hidden = vec![0.0; self.params.dim];
        features.iter().for_each(|&row| self.input.add_row(row, &mut hidden));
        let by = (1.0 / features.len().max(1) as f64) as f32;
        hidden.iter_mut().for_each(|value| *value *= by);
        hidden
    }

    /// The probability of each label as fastText gives it, which is 0.00001 above the true one; none for a text without
    /// any feature. Labels of `ova` and `ns` do not add up to 1.
    pub fn probabilities(&self, tokens: &[&str]) -> Option<Vec<f32>> {
        let hidden = self.hidden_of_text(tokens)?;
        Some(self.log_probabilities(&hidden).into_iter().map(f32::exp).collect())
    }

    /// The `most` likeliest labels with their probabilities, the likeliest first; of equals the last first, as fastText has them. Equals
    /// are common with `ova` and `ns`, whose probabilities come from a table. A tree of labels is searched, not counted out.
    pub fn likeliest(&self, tokens: &[&str], most: usize) -> Option<Vec<(u32, f32)>> {
        let hidden = self.hidden_of_text(tokens)?;
        let ranked = match &self.tree {
            Some(tree) => tree.likeliest(most, |node| self.turning_right(node, &hidden)),
            None => {
                let mut scores: Vec<(u32, f32)> = (0..).zip(self.log_probabilities(&hidden)).collect();
                if most < scores.len() {
                    scores.select_nth_unstable_by(most, likelier);
                    scores.truncate(most);
                }
                scores.sort_unstable_by(likelier);
                scores
            }
        };
        Some(ranked.into_iter().map(|(label, score)| (label, score.exp())).collect())
    }

    /// The hidden vector of a text; none without any feature, and for a model without labels.
    fn hidden_of_text(&self, tokens: &[&str]) -> Option<Vec<f32>> {
        let features = self.dictionary.features(tokens);
        (self.params.form == Form::Supervised && !features.is_empty()).then(|| self.hidden(&features))
    }

    /// The probability of turning right at a node of the tree.
    fn turning_right(&self, node: u32, hidden: &[f32]) -> f32 {
        1.0 / (1.0 + (-self.output.dot_row(node, hidden)).exp())
    }

    fn log_probabilities(&self, hidden: &[f32]) -> Vec<f32> {
        if let Some(tree) = &self.tree {
            return tree.log_probabilities(|node| self.turning_right(node, hidden));
        }
        let mut output: Vec<f32> = self.logits(hidden);
        match self.params.loss {
            Loss::Softmax => {
                let most = output.iter().copied().fold(f32::NEG_INFINITY, f32::max);
                output.iter_mut().for_each(|value| *value = (*value - most).exp());
                let sum: f32 = output.iter().sum();
                output.iter_mut().for_each(|value| *value /= sum);
            }
            Loss::Ns | Loss::Ova | Loss::Hs => output.iter_mut().for_each(|value| *value = sigmoid(*value)),
        }
        output.into_iter().map(super::log).collect()
    }

    /// The product of each row of the output matrix and a hidden vector.
    pub(super) fn logits(&self, hidden: &[f32]) -> Vec<f32> {
        (0..self.output.rows() as u32).map(|row| self.output.dot_row(row, hidden)).collect()
    }

    /// The vector of a word, known or not: the mean of its rows, zeros when it has none.
    pub fn word_vector(&self, word: &str) -> Vec<f32> {
        self.hidden(&self.dictionary.word_features(word))
    }

    /// The vectors of all words, `[words, dim]`.
    pub fn word_vectors(&self) -> Vec<f32> {
        self.dictionary.words().iter().flat_map(|word| self.word_vector(word)).collect()
    }

    /// The vector of a text as fastText's print-sentence-vectors has it: the mean of the features of a supervised model, the
    /// mean of the words' vectors of length 1 for others.
    pub fn sentence_vector(&self, tokens: &[&str]) -> Vec<f32> {
        if self.is_supervised() {
            return self.hidden(&self.dictionary.features(tokens));
        }
        let mut sum = vec![0.0f32; self.params.dim];
        let mut count = 0;
        // The end of the line is a word of length 1, if the model has one.
        for token in tokens {
            let vector = self.word_vector(token);
            let norm = vector.iter().map(|v| v * v).sum::<f32>().sqrt();
            if norm > 0.0 {
                let by = (1.0 / f64::from(norm)) as f32;
                sum.iter_mut().zip(&vector).for_each(|(sum, v)| *sum += v * by);
                count += 1;
            }
        }
        let by = (1.0 / f64::from(count.max(1))) as f32;
        sum.iter_mut().for_each(|sum| *sum *= by);
        sum
    }
}
