//! Sums and maxima over all sequences of labels of a linear chain.
//!
//! A sequence `y` of labels scores `sum_t s[t][y_t] + sum_t w[y_t-1][y_t]`, and its probability is `exp(score) / Z` (Lafferty, McCallum and
//! Pereira 2001). Forward and backward values are kept as shares that sum to 1 at each place, so that no text is too long for them.
//! Scores are natural logarithms, `[places, labels]`, row by row.

/// The scores of label pairs, `[from, to]`, row by row.
pub struct Chain {
    labels: usize,
    pairs: Vec<f64>,
    /// `exp(pair - highest pair)`.
    weights: Vec<f64>,
    highest: f64,
}

/// Forward and backward values of a text. The memory is used again for the next text.
#[derive(Default)]
pub struct Pass {
    /// `exp(score - highest score of the place)`, `[places, labels]`.
    states: Vec<f64>,
    /// Forward values, which sum to 1 at each place.
    forward: Vec<f64>,
    /// Backward values: forward x backward is the probability of a label at a place.
    backward: Vec<f64>,
    /// Divisors of the forward values, by place.
    sums: Vec<f64>,
    log_z: f64,
}

impl Chain {
    /// A chain of `labels` labels; `pairs` holds `labels * labels` scores, of which some may be minus infinity.
    pub fn new(labels: usize, pairs: Vec<f64>) -> Chain {
        assert_eq!(pairs.len(), labels * labels);
        let highest = pairs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let highest = if highest.is_finite() { highest } else { 0.0 };
        let weights = pairs.iter().map(|pair| (pair - highest).exp()).collect();
        Chain { labels, pairs, weights, highest }
    }

    pub fn pairs(&self) -> &[f64] {
        &self.pairs
    }

    /// Goes forward and backward over the scores of a text, which is not empty.
    pub fn pass(&self, scores: &[f64], pass: &mut Pass) {
        let labels = self.labels;
        let places = scores.len() / labels;
        let Pass { states, forward, backward, sums, log_z } = pass;
        states.clear();
        *log_z = (places - 1) as f64 * self.highest;
        for scores in scores.chunks_exact(labels) {
            let highest = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            *log_z += highest;
            states.extend(scores.iter().map(|score| (score - highest).exp()));
        }
        forward.clear();
        forward.resize(scores.len(), 0.0);
        sums.clear();
        for place in 0..places {
            let (before, here) = forward.split_at_mut(place * labels);
            let here = &mut here[..labels];
            if place == 0 {
                here.copy_from_slice(&states[..labels]);
            } else {
                let before = &before[(place - 1) * labels..];
                for (share, weights) in before.iter().zip(self.weights.chunks_exact(labels)) {
                    here.iter_mut().zip(weights).for_each(|(sum, weight)| *sum += share * weight);
                }
                here.iter_mut().zip(&states[place * labels..]).for_each(|(sum, state)| *sum *= state);
            }
            let sum: f64 = here.iter().sum();
            here.iter_mut().for_each(|value| *value /= sum);
            *log_z += sum.ln();
            sums.push(sum);
        }
        backward.clear();
        backward.resize(scores.len(), 1.0);
        let mut next = vec![0.0; labels];
        for place in (0..places - 1).rev() {
            let (here, behind) = backward.split_at_mut((place + 1) * labels);
            let state = &states[(place + 1) * labels..];
            for ((next, behind), state) in next.iter_mut().zip(&*behind).zip(state) {
                *next = behind * state / sums[place + 1];
            }
            let here = &mut here[place * labels..];
            for (value, weights) in here.iter_mut().zip(self.weights.chunks_exact(labels)) {
                *value = weights.iter().zip(&next).map(|(weight, next)| weight * next).sum();
            }
        }
    }

    /// Adds the probabilities of the pairs of labels that stand side by side to `counts`, `[from, to]`.
    pub fn add_pairs(&self, pass: &Pass, counts: &mut [f64]) {
        let labels = self.labels;
        let mut next = vec![0.0; labels];
        for place in 1..pass.sums.len() {
            let (from, to) = ((place - 1) * labels, place * labels);
            for (label, next) in next.iter_mut().enumerate() {
                *next = pass.backward[to + label] * pass.states[to + label] / pass.sums[place];
            }
            let rows = counts.chunks_exact_mut(labels).zip(self.weights.chunks_exact(labels));
            for (share, (counts, weights)) in pass.forward[from..to].iter().zip(rows) {
                for ((count, weight), next) in counts.iter_mut().zip(weights).zip(&next) {
                    *count += share * weight * next;
                }
            }
        }
    }

    /// The probability of these labels from place `first` on, whatever the others are.
    pub fn probability(&self, pass: &Pass, first: usize, labels: &[u8]) -> f64 {
        let count = self.labels;
        let Some((&last, _)) = labels.split_last() else { return 1.0 };
        let mut share = pass.forward[first * count + usize::from(labels[0])];
        for (place, pair) in (first + 1..).zip(labels.windows(2)) {
            let (from, to) = (usize::from(pair[0]), usize::from(pair[1]));
            share *= self.weights[from * count + to] * pass.states[place * count + to] / pass.sums[place];
        }
        share * pass.backward[(first + labels.len() - 1) * count + usize::from(last)]
    }

    /// The score of a sequence of labels.
    pub fn score(&self, scores: &[f64], labels: &[u8]) -> f64 {
        let states = labels.iter().zip(scores.chunks_exact(self.labels)).map(|(label, row)| row[usize::from(*label)]);
        let pairs = labels.windows(2).map(|pair| self.pairs[usize::from(pair[0]) * self.labels + usize::from(pair[1])]);
        states.sum::<f64>() + pairs.sum::<f64>()
    }

    /// The sequence of labels with the highest score, of those that begin and end with a label that `begins` and `ends` allow; of equals
    /// the one whose last labels come first.
    pub fn best(&self, scores: &[f64], begins: &[bool], ends: &[bool]) -> Vec<u8> {
        let labels = self.labels;
        let places = scores.len() / labels;
        if places == 0 {
            return Vec::new();
        }
        let mut values: Vec<f64> =
            (0..labels).map(|label| if begins[label] { scores[label] } else { f64::NEG_INFINITY }).collect();
        let mut next = vec![0.0; labels];
        let mut from = vec![0_u8; scores.len()];
        for place in 1..places {
            for (to, next) in next.iter_mut().enumerate() {
                let (mut best, mut value) = (0, f64::NEG_INFINITY);
                for (label, before) in values.iter().enumerate() {
                    let sum = before + self.pairs[label * labels + to];
                    if sum > value {
                        (best, value) = (label, sum);
                    }
                }
                from[place * labels + to] = best as u8;
                *next = value + scores[place * labels + to];
            }
            std::mem::swap(&mut values, &mut next);
        }
        let allowed = (0..labels).filter(|&label| ends[label]);
        let mut label =
            allowed.reduce(|best, label| if values[label] > values[best] { label } else { best }).unwrap_or(0);
        let mut found = vec![0; places];
        for place in (0..places).rev() {
            found[place] = label as u8;
            label = from[place * labels + label].into();
        }
        found
    }
}

impl Pass {
    /// The logarithm of the sum of `exp(score)` over all sequences.
    pub fn log_z(&self) -> f64 {
        self.log_z
    }

    /// The probability of each label at each place, `[places, labels]`.
    pub fn marginals(&self) -> impl Iterator<Item = f64> {
        self.forward.iter().zip(&self.backward).map(|(forward, backward)| forward * backward)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LABELS: usize = 3;

    /// All sequences of `places` labels.
    fn sequences(places: u32) -> impl Iterator<Item = Vec<u8>> {
        let digits = move |number: usize| (0..places).map(|at| (number / LABELS.pow(at) % LABELS) as u8).collect();
        (0..LABELS.pow(places)).map(digits)
    }

    /// Scores without a pattern.
    fn scores(count: usize, seed: u64) -> Vec<f64> {
        let mut state = seed;
        let next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as f64 / f64::from(1_u32 << 30) - 1.0
        };
        std::iter::repeat_with(next).take(count).collect()
    }

    #[test]
    fn sums_and_maxima_are_those_over_all_sequences() {
        for places in 1..7_u32 {
            let states: Vec<f64> =
                scores(places as usize * LABELS, places.into()).iter().map(|score| 3.0 * score).collect();
            let chain = Chain::new(LABELS, scores(LABELS * LABELS, 7));
            let mut pass = Pass::default();
            chain.pass(&states, &mut pass);
            let all: Vec<(Vec<u8>, f64)> =
                sequences(places).map(|labels| (labels.clone(), chain.score(&states, &labels).exp())).collect();
            let z: f64 = all.iter().map(|(_, weight)| weight).sum();
            assert!((pass.log_z() - z.ln()).abs() < 1e-12);
            let share = |wanted: &dyn Fn(&[u8]) -> bool| {
                all.iter().filter(|(labels, _)| wanted(labels)).map(|(_, weight)| weight).sum::<f64>() / z
            };
            for (number, found) in pass.marginals().enumerate() {
                let wanted = share(&|labels| usize::from(labels[number / LABELS]) == number % LABELS);
                assert!((found - wanted).abs() < 1e-12);
            }
            let mut pairs = vec![0.0; LABELS * LABELS];
            chain.add_pairs(&pass, &mut pairs);
            for (number, found) in pairs.iter().enumerate() {
                let pair = [(number / LABELS) as u8, (number % LABELS) as u8];
                let wanted: f64 = (1..places as usize).map(|at| share(&|labels| labels[at - 1..=at] == pair)).sum();
                assert!((found - wanted).abs() < 1e-12);
            }
            for (first, part) in [(0, &[1_u8][..]), (1, &[0, 2, 2]), (2, &[1, 0])] {
                if first + part.len() <= places as usize {
                    let wanted = share(&|labels| labels[first..].starts_with(part));
                    assert!((chain.probability(&pass, first, part) - wanted).abs() < 1e-12);
                }
            }
            let (begins, ends) = ([true, false, true], [false, true, true]);
            let allowed = |labels: &[u8]| begins[usize::from(labels[0])] && ends[usize::from(labels[labels.len() - 1])];
            let best = all.iter().filter(|(labels, _)| allowed(labels)).max_by(|a, b| a.1.total_cmp(&b.1)).unwrap();
            assert_eq!(chain.best(&states, &begins, &ends), best.0);
        }
    }

    #[test]
    fn a_long_text_neither_overflows_nor_vanishes() {
        let chain = Chain::new(LABELS, scores(LABELS * LABELS, 3));
        let states: Vec<f64> = scores(100_000 * LABELS, 5).iter().map(|score| 400.0 * score).collect();
        let mut pass = Pass::default();
        chain.pass(&states, &mut pass);
        assert!(pass.log_z().is_finite());
        let sums: Vec<f64> = pass.marginals().collect();
        assert!(sums.chunks(LABELS).all(|row| (row.iter().sum::<f64>() - 1.0).abs() < 1e-9));
    }
}
