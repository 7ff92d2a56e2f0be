//! Words drawn by weight in constant time: Walker's alias method in Vose's form.
//!
//! The table has an entry a word, where the C tool has one of 10^8: it stays in the cache.

use super::random::Random;

/// Draws words by weight.
pub(crate) struct Alias(Vec<AliasCell>);

#[derive(Clone, Copy)]
struct AliasCell {
    /// The word itself is taken when 32 random bits are below this.
    below: u32,
    /// The word that is taken otherwise.
    other: u32,
}

impl Alias {
    /// Draws word `i` with a probability in proportion to `weights[i]`, which are finite, not negative and not all 0.
    pub(crate) fn new(weights: &[f64]) -> Alias {
        let scale = weights.len() as f64 / weights.iter().sum::<f64>();
        let mut left: Vec<f64> = weights.iter().map(|weight| weight * scale).collect();
        let mut entries: Vec<AliasCell> =
            (0..weights.len() as u32).map(|i| AliasCell { below: u32::MAX, other: i }).collect();
        let (mut small, mut large): (Vec<u32>, Vec<u32>) =
            (0..weights.len() as u32).partition(|&i| left[i as usize] < 1.0);
        while let (Some(&from), Some(to)) = (large.last(), small.pop()) {
            let share = left[to as usize];
            entries[to as usize] = AliasCell { below: (share * 2f64.powi(32)) as u32, other: from };
            left[from as usize] -= 1.0 - share;
            if left[from as usize] < 1.0 {
                large.pop();
                small.push(from);
            }
        }
        Alias(entries)
    }

    #[inline(always)]
    pub(crate) fn draw(&self, random: &mut Random) -> u32 {
        let bits = random.next();
        let word = (((bits >> 32) * self.0.len() as u64) >> 32) as u32;
        let entry = self.0[word as usize];
        if (bits as u32) < entry.below { word } else { entry.other }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_come_as_often_as_their_weights_say() {
        let weights = [5.0, 0.0, 1.0, 0.25, 3.75];
        let (alias, mut random) = (Alias::new(&weights), Random::new([1, 2, 3]));
        let mut seen = [0u32; 5];
        let draws = 1_000_000;
        (0..draws).for_each(|_| seen[alias.draw(&mut random) as usize] += 1);
        for (seen, weight) in seen.iter().zip(weights) {
            // Five standard deviations of a share of a million draws.
            assert!((f64::from(*seen) / f64::from(draws) - weight / 10.0).abs() < 0.0025, "{seen} of {weight}");
        }
    }
}
