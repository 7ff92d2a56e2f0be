//! The softmax over words drawn by chance, in place of all words: importance sampling.
//!
//! K words are drawn, with replacement, by their share q of the text. A score s becomes s - ln(K q), so that the softmax over the
//! right word and those drawn has, for large K, the gradient of the softmax over all (Bengio and Senécal 2008; Jean, Cho,
//! Memisevic and Bengio 2015). A drawn word that is the right one does not count against itself.

use anyhow::Result;
use candle_core::Tensor;
use rand::RngExt;
use rand_chacha::ChaCha8Rng;

use super::entropy::cross_entropy;
use super::weights::Leaves;

/// A number added to a score so that it does not count.
const NEVER: f32 = -1e9;

/// Draws words by their share.
pub(crate) struct Sampler {
    /// The sum of the counts up to and with each word; a word that never occurs counts one.
    sums: Vec<u64>,
}

impl Sampler {
    pub(super) fn new(counts: &[u64]) -> Sampler {
        let mut sum = 0;
        let sums = counts.iter().map(|&count| {
            sum += count.max(1);
            sum
        });
        Sampler { sums: sums.collect() }
    }

    fn all(&self) -> u64 {
        self.sums.last().copied().unwrap_or(0)
    }

    pub(super) fn draw(&self, n: usize, rng: &mut ChaCha8Rng) -> Vec<u32> {
        let place = |at: u64| self.sums.partition_point(|&sum| sum <= at) as u32;
        (0..n).map(|_| place(rng.random_range(0..self.all()))).collect()
    }

    /// ln of how often a word is expected among `n` drawn ones.
    fn log_expected(&self, word: u32, n: usize) -> f32 {
        let word = word as usize;
        let before = if word == 0 { 0 } else { self.sums[word - 1] };
        (n as f64 * (self.sums[word] - before) as f64 / self.all() as f64).ln() as f32
    }
}

/// The sum of the losses of `[rows, features]`: of the right words' rows of the output, `[rows, features]`, against those of the
/// drawn ones, `[drawn, features]`, each with the words' numbers.
pub(crate) fn sampled_loss(
    leaves: &Leaves,
    features: &Tensor,
    (right, right_words): (&Tensor, &[u32]),
    (drawn, drawn_words): (&Tensor, &[u32]),
    sampler: &Sampler,
) -> Result<Tensor> {
    let (rows, n) = (right_words.len(), drawn_words.len());
    let scores = Tensor::cat(&[&(features * right)?.sum_keepdim(1)?, &features.matmul(&drawn.t()?)?], 1)?;
    let expected: Vec<f32> = drawn_words.iter().map(|&word| -sampler.log_expected(word, n)).collect();
    let corrections = right_words.iter().flat_map(|&right| {
        let drawn = drawn_words.iter().zip(&expected);
        let drawn = drawn.map(move |(&word, &expected)| if word == right { NEVER } else { expected });
        std::iter::once(-sampler.log_expected(right, n)).chain(drawn)
    });
    let corrections = leaves.constant(&corrections.collect::<Vec<f32>>(), (rows, n + 1))?;
    Ok(cross_entropy(&(scores + corrections)?, vec![0; rows])?.sum_all()?)
}

#[cfg(test)]
mod tests {
    use candle_core::Device;
    use rand::SeedableRng;

    use super::*;
    use crate::neural::check::close;

    #[test]
    fn words_are_drawn_by_their_share() {
        let sampler = Sampler::new(&[60, 30, 0, 9]);
        let drawn = sampler.draw(20_000, &mut ChaCha8Rng::seed_from_u64(3));
        let share = |word: u32| drawn.iter().filter(|&&w| w == word).count() as f64 / 20_000.0;
        for (word, expected) in [(0, 0.6), (1, 0.3), (2, 0.01), (3, 0.09)] {
            assert!((share(word) - expected).abs() < 0.012, "{word} {}", share(word));
            assert!((f64::from(sampler.log_expected(word, 10)) - (10.0 * expected).ln()).abs() < 1e-6);
        }
    }

    #[test]
    fn when_each_word_is_drawn_as_often_as_expected_the_loss_is_that_of_the_whole_softmax() {
        let sampler = Sampler::new(&[5, 5, 5]);
        let tensor = |values: &[f32], shape: (usize, usize)| Tensor::from_slice(values, shape, &Device::Cpu).unwrap();
        let features = tensor(&[0.3, -1.0, 2.0, 0.5], (2, 2));
        let output = tensor(&[1.0, 0.2, -0.4, 0.9, 0.1, -0.7], (3, 2));
        let right = [2u32, 0];
        let rows = tensor(&[0.1, -0.7, 1.0, 0.2], (2, 2));
        let leaves = Leaves::whole_of(std::slice::from_ref(&output));
        let ours = sampled_loss(&leaves, &features, (&rows, &right), (&output, &[0, 1, 2]), &sampler).unwrap();
        let all = cross_entropy(&features.matmul(&output.t().unwrap()).unwrap(), right.to_vec()).unwrap();
        close(&ours, &all.sum_all().unwrap(), 1e-5);
    }
}
