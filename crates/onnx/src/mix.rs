//! Weights of a model's layers learned for a task, as ELMo learns them (Peters et al. 2018, equation 1): a document's vector is
//! gamma * sum of s_j h_j over the layers, s a softmax, and a softmax regression on it calls the label.
//!
//! Weights and regression are learned together by Adam over all documents at once, with a penalty on the regression's weights and
//! on how far s lies from equal weights. Vectors of layers are pooled before they are mixed, which for means is the same.

use anyhow::Result;
use serde::{Deserialize, Serialize};

use inkstone_base::ensure;
use inkstone_base::job::Ctx;

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct MixParams {
    pub epochs: usize,
    /// Rate of learning of Adam.
    pub lr: f64,
    /// Penalty: half of it times the sum of squares.
    pub l2: f64,
}

impl Default for MixParams {
    fn default() -> MixParams {
        MixParams { epochs: 300, lr: 0.02, l2: 1e-3 }
    }
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Mix {
    /// A weight a layer, from the embeddings on; they sum to 1.
    pub weights: Vec<f64>,
    /// The scale of the sum.
    pub gamma: f64,
    /// Mean negative logarithm of the probability of the true label, without the penalty.
    pub loss: f64,
    /// Share of documents called rightly, of those that it was learned on.
    pub accuracy: f64,
    /// The softmax regression on the mixed vectors, `[classes, dim + 1]`: weights, then the intercept.
    #[serde(skip)]
    pub regression: Vec<f64>,
}

/// Documents by layer, `[documents, layers, dim]`, and the label of each.
pub struct Layered<'a> {
    pub values: &'a [f32],
    pub layers: usize,
    pub dim: usize,
    /// The label of each document, below `classes`.
    pub labels: &'a [u32],
    pub classes: usize,
}

/// Learns the weights. The vectors of each layer are brought to the same mean length first, so that none wins by its scale alone; the
/// weights that come out are for the vectors as they are.
pub fn learn_mix(data: &Layered<'_>, params: &MixParams, ctx: &Ctx) -> Result<Mix> {
    let (layers, dim, classes, documents) = (data.layers, data.dim, data.classes, data.labels.len());
    ensure!(
        documents > 1 && classes > 1,
        "各层的权重须由至少两种标签的文档学得",
        "layers are weighed by documents of at least two labels"
    );
    ensure!(
        data.values.len() == documents * layers * dim,
        "文档应有 {layers} 层 {dim} 维",
        "a document has {layers} layers of {dim} values"
    );
    let scales = scales(data);
    let mut learned = Learned::new(layers, dim, classes);
    let mut adam = Adam::new(learned.values.len(), params.lr);
    let (mut loss, mut accuracy) = (0.0, 0.0);
    for epoch in 0..params.epochs {
        let step = learned.gradient(data, &scales, params.l2);
        (loss, accuracy) = (step.loss, step.accuracy);
        adam.step(&mut learned.values, &step.gradient);
        ctx.note(format!("epoch {}, loss {loss:.4}", epoch + 1));
        ctx.advance(1)?;
    }
    ensure!(
        loss.is_finite(),
        "权重的训练在学习率 {} 下发散；请用更低的（--lr）",
        "training of the weights diverged at a learning rate of {}; take a lower one (--lr)",
        params.lr
    );
    let (s, gamma) = (learned.shares(), learned.gamma());
    let of_vectors: Vec<f64> = s.iter().zip(&scales).map(|(share, scale)| share * scale).collect();
    let sum: f64 = of_vectors.iter().sum();
    Ok(Mix {
        weights: of_vectors.iter().map(|weight| weight / sum).collect(),
        gamma: gamma * sum,
        loss,
        accuracy,
        regression: learned.values[layers + 1..].to_vec(),
    })
}

/// Factors that give the vectors of each layer a mean length of 1.
fn scales(data: &Layered<'_>) -> Vec<f64> {
    let mut lengths = vec![0.0; data.layers];
    for (i, vector) in data.values.chunks(data.dim).enumerate() {
        lengths[i % data.layers] += vector.iter().map(|value| f64::from(*value).powi(2)).sum::<f64>().sqrt();
    }
    lengths.iter().map(|length| data.labels.len() as f64 / length.max(1e-12)).collect()
}

/// Logits of the weights, the logarithm of gamma, then the regression `[classes, dim + 1]`.
struct Learned {
    values: Vec<f64>,
    layers: usize,
    dim: usize,
    classes: usize,
}

struct Gradient {
    gradient: Vec<f64>,
    loss: f64,
    accuracy: f64,
}

impl Learned {
    fn new(layers: usize, dim: usize, classes: usize) -> Learned {
        Learned { values: vec![0.0; layers + 1 + classes * (dim + 1)], layers, dim, classes }
    }

    fn shares(&self) -> Vec<f64> {
        softmax(&self.values[..self.layers])
    }

    fn gamma(&self) -> f64 {
        self.values[self.layers].exp()
    }

    /// The loss with its gradient, in the order of the documents.
    fn gradient(&self, data: &Layered<'_>, scales: &[f64], l2: f64) -> Gradient {
        let (layers, dim, classes) = (self.layers, self.dim, self.classes);
        let (s, gamma) = (self.shares(), self.gamma());
        let regression = &self.values[layers + 1..];
        let documents = data.labels.len() as f64;
        let mut gradient = vec![0.0; self.values.len()];
        let (mut by_share, mut by_gamma) = (vec![0.0; layers], 0.0);
        let (mut loss, mut right) = (0.0, 0.0);
        let mut mixed = vec![0.0; dim];
        for (document, &label) in data.values.chunks(layers * dim).zip(data.labels) {
            mixed.fill(0.0);
            for (layer, vector) in document.chunks(dim).enumerate() {
                let weight = s[layer] * scales[layer];
                mixed.iter_mut().zip(vector).for_each(|(sum, value)| *sum += weight * f64::from(*value));
            }
            let logits: Vec<f64> = regression
                .chunks(dim + 1)
                .map(|row| gamma * row.iter().zip(&mixed).map(|(w, x)| w * x).sum::<f64>() + row[dim])
                .collect();
            let p = softmax(&logits);
            loss -= p[label as usize].max(f64::MIN_POSITIVE).ln();
            let called = (0..classes).rev().max_by(|&a, &b| p[a].total_cmp(&p[b]));
            right += f64::from(called == Some(label as usize));
            // The gradient by the mixed vector, and through it by the weights.
            let mut by_mixed = vec![0.0; dim];
            for (class, row) in regression.chunks(dim + 1).enumerate() {
                let error = p[class] - f64::from(class == label as usize);
                let at = layers + 1 + class * (dim + 1);
                for i in 0..dim {
                    gradient[at + i] += error * gamma * mixed[i];
                    by_mixed[i] += error * gamma * row[i];
                }
                gradient[at + dim] += error;
            }
            by_gamma += by_mixed.iter().zip(&mixed).map(|(g, x)| g * x).sum::<f64>();
            for (layer, vector) in document.chunks(dim).enumerate() {
                by_share[layer] +=
                    scales[layer] * vector.iter().zip(&by_mixed).map(|(x, g)| f64::from(*x) * g).sum::<f64>();
            }
        }
        gradient.iter_mut().for_each(|value| *value /= documents);
        let mean: f64 = by_share.iter().zip(&s).map(|(g, s)| g * s).sum();
        for layer in 0..layers {
            gradient[layer] = s[layer] * (by_share[layer] - mean) / documents + l2 * self.values[layer];
        }
        gradient[layers] = by_gamma / documents + l2 * self.values[layers];
        for (class, row) in regression.chunks(dim + 1).enumerate() {
            let at = layers + 1 + class * (dim + 1);
            (0..dim).for_each(|i| gradient[at + i] += l2 * row[i]);
        }
        Gradient { gradient, loss: loss / documents, accuracy: right / documents }
    }
}

fn softmax(logits: &[f64]) -> Vec<f64> {
    let most = logits.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let powers: Vec<f64> = logits.iter().map(|logit| (logit - most).exp()).collect();
    let sum: f64 = powers.iter().sum();
    powers.into_iter().map(|power| power / sum).collect()
}

/// Adam (Kingma & Ba 2015) with its usual constants.
struct Adam {
    first: Vec<f64>,
    second: Vec<f64>,
    lr: f64,
    steps: i32,
}

impl Adam {
    fn new(len: usize, lr: f64) -> Adam {
        Adam { first: vec![0.0; len], second: vec![0.0; len], lr, steps: 0 }
    }

    fn step(&mut self, values: &mut [f64], gradient: &[f64]) {
        self.steps += 1;
        let (one, two) = (1.0 - 0.9f64.powi(self.steps), 1.0 - 0.999f64.powi(self.steps));
        for (i, value) in values.iter_mut().enumerate() {
            self.first[i] = 0.9 * self.first[i] + 0.1 * gradient[i];
            self.second[i] = 0.999 * self.second[i] + 0.001 * gradient[i].powi(2);
            *value -= self.lr * (self.first[i] / one) / ((self.second[i] / two).sqrt() + 1e-8);
        }
    }
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng};

    use super::*;

    /// Three layers of four values, of which the second alone says the label.
    fn made(documents: usize) -> (Vec<f32>, Vec<u32>) {
        let mut rng = rand_chacha::ChaCha8Rng::seed_from_u64(7);
        let labels: Vec<u32> = (0..documents as u32).map(|i| i % 2).collect();
        let value = |layer: usize, i: usize, label: u32, noise: f32| match (layer, i) {
            (1, 0) => 3.0 * (label as f32 - 0.5) + 0.3 * noise,
            // A larger scale must not win.
            (2, _) => 50.0 * noise,
            _ => noise,
        };
        let mut values = Vec::new();
        for &label in &labels {
            for at in 0..12 {
                values.push(value(at / 4, at % 4, label, rng.random_range(-1.0..1.0)));
            }
        }
        (values, labels)
    }

    #[test]
    fn the_layer_that_tells_is_found_whatever_its_scale() {
        let (values, labels) = made(200);
        let data = Layered { values: &values, layers: 3, dim: 4, labels: &labels, classes: 2 };
        let ctx = Ctx::new(1, 1).unwrap();
        let mix = learn_mix(&data, &MixParams::default(), &ctx).unwrap();
        assert!((mix.weights.iter().sum::<f64>() - 1.0).abs() < 1e-12 && mix.accuracy > 0.95, "{mix:?}");
        // In the vectors as they are, the third would drown the second at equal weights.
        assert!(mix.weights[1] > mix.weights[0] && mix.weights[1] > 20.0 * mix.weights[2], "{mix:?}");
        assert_eq!(mix, learn_mix(&data, &MixParams::default(), &ctx).unwrap());
    }

    #[test]
    fn the_gradient_is_that_of_finite_differences() {
        let (values, labels) = made(6);
        let data = Layered { values: &values, layers: 3, dim: 4, labels: &labels, classes: 2 };
        let mut learned = Learned::new(3, 4, 2);
        let mut rng = rand_chacha::ChaCha8Rng::seed_from_u64(1);
        learned.values.iter_mut().for_each(|value| *value = rng.random_range(-0.5..0.5));
        let scales = scales(&data);
        let found = learned.gradient(&data, &scales, 0.0).gradient;
        for at in 0..learned.values.len() {
            let here = learned.values[at];
            let mut loss = |value| {
                learned.values[at] = value;
                learned.gradient(&data, &scales, 0.0).loss
            };
            let slope = (loss(here + 1e-6) - loss(here - 1e-6)) / 2e-6;
            learned.values[at] = here;
            assert!((slope - found[at]).abs() < 1e-6, "{at}: {slope} {}", found[at]);
        }
    }

    #[test]
    fn one_label_weighs_nothing() {
        let data = Layered { values: &[1.0; 12], layers: 3, dim: 4, labels: &[0], classes: 1 };
        let error = learn_mix(&data, &MixParams::default(), &Ctx::new(1, 1).unwrap()).unwrap_err().to_string();
        assert!(error.contains("at least two labels"), "{error}");
    }
}
