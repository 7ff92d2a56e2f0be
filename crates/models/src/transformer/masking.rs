//! Words that are hidden from an encoder, which it is trained to tell (Devlin and others 2019).

use rand::RngExt;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;

/// Added to the number of a token that goes on with the word of the token before.
pub const CONTINUES: u32 = 1 << 31;

/// How words are hidden.
#[derive(Clone, Copy, Debug)]
pub struct Masking {
    /// The share of a text's tokens that is asked for.
    pub share: f64,
    /// The number of the token that stands for a hidden one.
    pub mask: u32,
    /// Tokens of the vocabulary, of which one in ten hidden tokens is drawn.
    pub vocabulary: u32,
}

/// A text with hidden words.
pub(super) struct MaskedText {
    pub(super) tokens: Vec<u32>,
    /// Places among the tokens that are asked for, ascending, and the right token of each.
    pub(super) asked: Vec<(usize, u32)>,
}

impl Masking {
    /// Hides words of a text, whose first and last tokens are marks of the tokenizer. A word is hidden as a whole: of its tokens 8 in 10 become
    /// the mask, 1 in 10 another token, and 1 in 10 stays.
    pub(super) fn hide(&self, text: &[u32], rng: &mut ChaCha8Rng) -> MaskedText {
        let mut tokens: Vec<u32> = text.iter().map(|token| token & !CONTINUES).collect();
        let inner = 1..text.len().saturating_sub(1);
        let mut words: Vec<std::ops::Range<usize>> = Vec::new();
        for place in inner.clone() {
            match words.last_mut() {
                Some(word) if text[place] & CONTINUES != 0 => word.end = place + 1,
                _ => words.push(place..place + 1),
            }
        }
        words.shuffle(rng);
        let most = ((inner.len() as f64 * self.share).round() as usize).max(1);
        let mut asked = Vec::with_capacity(most);
        for word in words {
            if asked.len() + word.len() <= most || (asked.is_empty() && most == 1) {
                asked.extend(word.map(|place| (place, tokens[place])));
            }
        }
        asked.sort_unstable();
        for &(place, _) in &asked {
            tokens[place] = match rng.random_range(0..10) {
                0 => rng.random_range(0..self.vocabulary),
                1 => tokens[place],
                _ => self.mask,
            };
        }
        MaskedText { tokens, asked }
    }
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;

    use super::*;

    #[test]
    fn words_are_hidden_as_a_whole_in_the_stated_shares() {
        let masking = Masking { share: 0.15, mask: 4, vocabulary: 1000 };
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        // Words of two tokens between the marks 2 and 3.
        let word = |i: u32| [100 + i, (200 + i) | CONTINUES];
        let text: Vec<u32> = [2].into_iter().chain((0..50).flat_map(word)).chain([3]).collect();
        let [mut asked, mut masks, mut kept, mut others] = [0usize; 4];
        for _ in 0..2000 {
            let hidden = masking.hide(&text, &mut rng);
            assert_eq!((hidden.tokens[0], hidden.tokens[101], hidden.tokens.len()), (2, 3, 102));
            for pair in hidden.asked.chunks(2) {
                assert_eq!((pair[0].0 % 2, pair[1].0), (1, pair[0].0 + 1), "both tokens of a word");
            }
            for &(place, right) in &hidden.asked {
                assert_eq!(right, text[place] & !CONTINUES);
                match hidden.tokens[place] {
                    4 => masks += 1,
                    token if token == right => kept += 1,
                    _ => others += 1,
                }
            }
            let changed = (0..102).filter(|&i| hidden.tokens[i] != text[i] & !CONTINUES).count();
            assert!(changed <= hidden.asked.len());
            asked += hidden.asked.len();
        }
        // 14 of 100 tokens: the fifteenth has no room for a word of two.
        assert_eq!(asked, 2000 * 14);
        let share = |count: usize| count as f64 / asked as f64;
        assert!((share(masks) - 0.8).abs() < 0.01 && (share(kept) - 0.1).abs() < 0.01, "{masks} {kept} {others}");
        assert!((share(others) - 0.1).abs() < 0.01);
    }
}
