//! The softmax over words drawn by chance, in place of all words: importance sampling.
//!
//! K words are drawn, with replacement, by their share q of the text. A score s becomes s - ln(K q), so that the softmax over the
//! right word and those drawn has, for large K, the gradient of the softmax over all (Bengio and Senécal 2008; Jean, Cho,
//! Memisevic and Bengio 2015). A drawn word that is the right one does not count against itself.

use rand::RngExt;
use rand_chacha::ChaCha8Rng;

use super::affine::Affine;
use super::entropy::cross_entropy;
use super::kernel::Real;
use inkstone_base::simd::wide;

/// A score that does not count.
const NEVER: f64 = -1e9;

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
    fn log_expected(&self, word: u32, n: usize) -> f64 {
        let word = word as usize;
        let before = if word == 0 { 0 } else { self.sums[word - 1] };
        (n as f64 * (self.sums[word] - before) as f64 / self.all() as f64).ln()
    }

    /// The sum of the losses of features, `[right, columns]`, against the drawn words; its gradient by the features; and that by the weights
    /// of the right words, then of the drawn ones, `[right + drawn, columns + 1]`, the bias last. `row` gives the weights and the bias of a
    /// word.
    pub(super) fn softmax<'w, T: Real + 'w>(
        &self,
        features: &[T],
        columns: usize,
        row: impl Fn(u32) -> (&'w [T], T) + Sync,
        right: &[u32],
        drawn: &[u32],
    ) -> (f64, Vec<T>, Vec<T>) {
        let others = Affine::new(columns, drawn.len(), |place| row(drawn[place]));
        let expected = |&word: &u32| T::from_f64(self.log_expected(word, drawn.len()));
        let drawn_expected: Vec<T> = drawn.iter().map(expected).collect();
        let mut by_drawn = others.forward(features);
        let mut by_features = vec![T::default(); features.len()];
        let mut by_rows = Vec::with_capacity((right.len() + drawn.len()) * (columns + 1));
        let mut loss = 0.0;
        let mut scores = vec![T::default(); drawn.len() + 1];
        let predictions = right.iter().zip(features.chunks(columns));
        let gradients = by_features.chunks_mut(columns).zip(by_drawn.chunks_mut(drawn.len()));
        for ((word, features), (to_features, by_drawn)) in predictions.zip(gradients) {
            let (weights, bias) = row(*word);
            let numbers = features.iter().zip(weights);
            let score = wide(
                #[inline(always)]
                || numbers.fold(bias, |sum, (&x, &w)| x.fused(w, sum)),
            );
            scores[0] = score - expected(word);
            for (place, to) in scores[1..].iter_mut().enumerate() {
                let never = drawn[place] == *word;
                *to = if never { T::from_f64(NEVER) } else { by_drawn[place] - drawn_expected[place] };
            }
            loss += cross_entropy(&mut scores, 0);
            by_drawn.copy_from_slice(&scores[1..]);
            to_features.iter_mut().zip(weights).for_each(|(to, &w)| *to = w * scores[0]);
            by_rows.extend(features.iter().map(|&x| x * scores[0]).chain([scores[0]]));
        }
        others.add_back(&by_drawn, &mut by_features);
        by_rows.extend(others.gradient_with_bias(features, &by_drawn));
        (loss, by_features, by_rows)
    }
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;

    use super::*;

    #[test]
    fn words_are_drawn_by_their_share() {
        let sampler = Sampler::new(&[60, 30, 0, 9]);
        let drawn = sampler.draw(20_000, &mut ChaCha8Rng::seed_from_u64(3));
        let share = |word: u32| drawn.iter().filter(|&&w| w == word).count() as f64 / 20_000.0;
        for (word, expected) in [(0, 0.6), (1, 0.3), (2, 0.01), (3, 0.09)] {
            assert!((share(word) - expected).abs() < 0.012, "{word} {}", share(word));
            assert!((sampler.log_expected(word, 10) - (10.0f64 * expected).ln()).abs() < 1e-6);
        }
    }

    #[test]
    fn when_each_word_is_drawn_as_often_as_expected_the_loss_is_that_of_the_whole_softmax() {
        let sampler = Sampler::new(&[5, 5, 5]);
        let features = [0.3, -1.0, 2.0, 0.5];
        let output: [f64; 9] = [1.0, 0.2, 0.3, -0.4, 0.9, -0.2, 0.1, -0.7, 0.0];
        let row = |word: u32| (&output[word as usize * 3..][..2], output[word as usize * 3 + 2]);
        let right = [2, 0];
        let (loss, by_features, by_rows) = sampler.softmax(&features, 2, row, &right, &[0, 1, 2]);
        let all = Affine::with_bias(&output, 2);
        let mut by_scores = all.forward(&features);
        let rows = by_scores.chunks_mut(3).zip(right);
        let expected: f64 = rows.map(|(scores, right)| cross_entropy(scores, right as usize)).sum();
        assert!((loss - expected).abs() < 1e-12, "{loss} and {expected}");
        let mut expected = vec![0.0; 4];
        all.add_back(&by_scores, &mut expected);
        assert!(by_features.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-12));
        let mut gradient = [0.0; 9];
        for (word, by) in right.into_iter().chain([0, 1, 2]).zip(by_rows.chunks(3)) {
            gradient[word as usize * 3..].iter_mut().zip(by).for_each(|(to, by)| *to += by);
        }
        let expected = all.gradient_with_bias(&features, &by_scores);
        assert!(gradient.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-12));
    }
}
