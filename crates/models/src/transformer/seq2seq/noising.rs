//! Texts that are damaged, which an encoder reads and a decoder restores (Lewis and others 2020).

use rand::RngExt;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, Poisson};
use serde::Serialize;

use crate::transformer::encoder::{BEGINS, CONTINUES};

/// Mean of the lengths of spans, in words.
const SPAN: f64 = 3.0;

/// A way to damage a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
#[serde(rename_all = "lowercase")]
pub enum Noise {
    /// Sentences stand in another order.
    Sentences,
    /// The text begins at a token by chance, and what stood before it follows its end.
    Rotation,
    /// Each span of words becomes one mask; of a span of no word, a mask is put in.
    Infilling,
    /// Each word becomes masks, one a token.
    Masking,
    /// Words are left out.
    Deletion,
}

/// The rule by which texts are damaged.
#[derive(Clone, Debug)]
pub struct Noising {
    /// In the order of [`Noise`], each once.
    pub noises: Vec<Noise>,
    /// Share of a text's tokens in the spans and words that are damaged.
    pub share: f64,
    /// Number of the mask token.
    pub mask: u32,
}

impl Noising {
    /// A damaged text. The first and the last token are special tokens, which stay; tokens that begin a sentence are [`BEGINS`], and those that
    /// continue a word [`CONTINUES`].
    pub(super) fn damage(&self, text: &[u32], rng: &mut ChaCha8Rng) -> Vec<u32> {
        let [first, inner @ .., last] = text else { return text.to_vec() };
        let mut inner = inner.to_vec();
        for noise in &self.noises {
            inner = match noise {
                Noise::Sentences => {
                    let mut sentences: Vec<&[u32]> = inner.chunk_by(|_, next| next & BEGINS == 0).collect();
                    sentences.shuffle(rng);
                    sentences.concat()
                }
                Noise::Rotation => {
                    let begin = rng.random_range(0..inner.len().max(1));
                    inner.rotate_left(begin);
                    inner
                }
                Noise::Infilling => self.infilled(&inner, rng),
                Noise::Masking => self.each_chosen(&inner, rng, |word| vec![self.mask; word.len()]),
                Noise::Deletion => self.each_chosen(&inner, rng, |_| Vec::new()),
            };
        }
        [&[*first], inner.as_slice(), &[*last]].concat()
    }

    /// The tokens of words that are damaged, about.
    fn most(&self, tokens: &[u32]) -> usize {
        ((tokens.len() as f64 * self.share).round() as usize).max(1)
    }

    /// The text with other tokens in the place of words that are chosen by chance, of its share of the tokens at most.
    fn each_chosen(&self, tokens: &[u32], rng: &mut ChaCha8Rng, other: impl Fn(&[u32]) -> Vec<u32>) -> Vec<u32> {
        let words = words(tokens);
        let mut order: Vec<usize> = (0..words.len()).collect();
        order.shuffle(rng);
        let (mut left, mut chosen) = (self.most(tokens), vec![false; words.len()]);
        for word in order {
            if let Some(rest) = left.checked_sub(words[word].len()) {
                (left, chosen[word]) = (rest, true);
            }
        }
        let each = words.into_iter().zip(chosen);
        each.flat_map(|(word, chosen)| if chosen { other(word) } else { word.to_vec() }).collect()
    }

    /// The text with a mask in the place of each span. The lengths of spans are drawn until they are the share of the words; spans and the words
    /// between them stand in an order by chance, in which words keep theirs.
    fn infilled(&self, tokens: &[u32], rng: &mut ChaCha8Rng) -> Vec<u32> {
        let words = words(tokens);
        let Ok(lengths) = Poisson::new(SPAN) else { return tokens.to_vec() };
        let mut left = ((words.len() as f64 * self.share).round() as usize).clamp(1, words.len().max(1));
        // The length of a span; none for a word that stays.
        let mut parts: Vec<Option<usize>> = Vec::new();
        let mut masked = 0;
        while left > 0 {
            let length = (lengths.sample(rng) as usize).min(left);
            parts.push(Some(length));
            masked += length;
            left -= length;
        }
        parts.extend(vec![None; words.len().saturating_sub(masked)]);
        parts.shuffle(rng);
        let (mut out, mut rest) = (Vec::with_capacity(tokens.len()), words.as_slice());
        for part in parts {
            let (here, others) = rest.split_at(part.unwrap_or(1).min(rest.len()));
            match part {
                Some(_) => out.push(self.mask),
                None => out.extend(here.iter().copied().flatten()),
            }
            rest = others;
        }
        out
    }
}

/// The words of a text.
fn words(tokens: &[u32]) -> Vec<&[u32]> {
    tokens.chunk_by(|_, next| next & CONTINUES != 0).collect()
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;

    use super::*;
    use crate::transformer::encoder::token_number;

    const MASK: u32 = 4;

    /// Ten sentences of ten words of two tokens between the special tokens 2 and 3.
    fn text() -> Vec<u32> {
        let token = |i: u32| match i % 20 {
            0 => (100 + i) | BEGINS,
            odd if odd % 2 == 1 => (100 + i) | CONTINUES,
            _ => 100 + i,
        };
        [2].into_iter().chain((0..200).map(token)).chain([3]).collect()
    }

    fn damaged(noise: Noise, rng: &mut ChaCha8Rng) -> Vec<u32> {
        let noising = Noising { noises: vec![noise], share: 0.3, mask: MASK };
        let damaged = noising.damage(&text(), rng);
        assert_eq!((damaged[0], damaged.last()), (2, Some(&3)));
        damaged[1..damaged.len() - 1].iter().map(|token| token_number(*token)).collect()
    }

    #[test]
    fn each_noise_damages_a_text_as_the_paper_says() {
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        let sequence: Vec<u32> = (100..300).collect();
        let (mut masks, mut kept) = (0, 0);
        for _ in 0..500 {
            let sentences = damaged(Noise::Sentences, &mut rng);
            assert_ne!(sentences, sequence);
            assert!(sentences.chunks(20).all(|sentence| sentence.windows(2).all(|pair| pair[1] == pair[0] + 1)));

            let rotated = damaged(Noise::Rotation, &mut rng);
            let begin = rotated.iter().position(|token| *token == 100).unwrap();
            assert_eq!([&rotated[begin..], &rotated[..begin]].concat(), sequence);

            // 60 of 200 tokens, in whole words.
            let masked = damaged(Noise::Masking, &mut rng);
            assert_eq!(masked.iter().filter(|token| **token == MASK).count(), 60);
            assert!(masked.chunks(2).all(|word| (word[0] == MASK) == (word[1] == MASK)));
            let left = damaged(Noise::Deletion, &mut rng);
            assert!(left.len() == 140 && left.is_sorted());

            let infilled = damaged(Noise::Infilling, &mut rng);
            let (here, words): (Vec<u32>, Vec<u32>) = infilled.iter().partition(|token| **token == MASK);
            assert!(words.is_sorted() && words.len() == 140, "{}", words.len());
            (masks, kept) = (masks + here.len(), kept + 1);
        }
        // 30 words in spans of 3 words in the mean, those of none among them; the last span is cut.
        let mean = f64::from(masks as u32) / f64::from(kept);
        assert!((10.0..11.5).contains(&mean), "{mean}");
    }

    #[test]
    fn noises_follow_each_other_and_short_texts_stay_texts() {
        let noising = Noising { noises: vec![Noise::Sentences, Noise::Infilling], share: 0.3, mask: MASK };
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        let damaged = noising.damage(&text(), &mut rng);
        let words: Vec<u32> =
            damaged.iter().filter(|token| **token != MASK).map(|token| token_number(*token)).collect();
        assert!(!words[1..words.len() - 1].is_sorted() && words.len() == 142);
        for short in [vec![2, 3], vec![2, 7, 3], vec![2]] {
            let damaged = noising.damage(&short, &mut rng);
            assert!(damaged.len() <= short.len() + 2 && damaged[0] == 2, "{damaged:?}");
        }
    }
}
