//! Masked words, which an encoder is trained to predict (Devlin and others 2019), or spans of them (Joshi and others 2020); beside them tokens in
//! another order (StructBERT, Wang and others 2020).

use std::ops::Range;

use rand::RngExt;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;

use super::encoder::{CONTINUES, NAMED, SECOND, token_number};

/// The rule by which words are masked.
#[derive(Clone, Copy, Debug)]
pub struct Masking {
    /// Share of a text's tokens that are masked.
    pub share: f64,
    /// Number of the mask token.
    pub mask: u32,
    /// Tokens of the vocabulary, from which replacements are drawn.
    pub vocabulary: u32,
    /// The special token between two segments, which is not masked.
    pub separator: Option<u32>,
    /// True if words are masked in spans of 1 to 10, the lengths geometric with p = 0.2 (SpanBERT).
    pub spans: bool,
    /// Share of a text's tokens that stand in another order, three in a row, and are predicted in their own.
    pub shuffled: f64,
}

/// Words of the longest span.
const LONGEST: usize = 10;

/// A text with masked words.
pub(super) struct MaskedText {
    pub(super) tokens: Vec<u32>,
    /// Places of the masked tokens, ascending, and the right token of each.
    pub(super) masked: Vec<(usize, u32)>,
}

impl Masking {
    /// Masks words of a text whose first and last tokens are special tokens; words of names that are [`NAMED`] stay. A word or a span is masked as a whole: of the words' tokens, or of the
    /// spans, 8 in 10 become the mask token, 1 in 10 becomes other tokens, and 1 in 10 stays.
    pub(super) fn mask(&self, text: &[u32], rng: &mut ChaCha8Rng) -> MaskedText {
        let mut tokens: Vec<u32> = text.iter().map(|token| token & !CONTINUES).collect();
        let inner = 1..text.len().saturating_sub(1);
        let mut words: Vec<Range<usize>> = Vec::new();
        let is_masked = |place: &usize| text[*place] & NAMED == 0 && Some(token_number(text[*place])) != self.separator;
        for place in inner.clone().filter(is_masked) {
            match words.last_mut() {
                Some(word) if text[place] & CONTINUES != 0 && word.end == place => word.end = place + 1,
                _ => words.push(place..place + 1),
            }
        }
        let most = ((inner.len() as f64 * self.share).round() as usize).max(1);
        if self.spans {
            words = spans_of(&words, most, rng);
        }
        words.shuffle(rng);
        let mut chosen = Vec::new();
        let mut count = 0;
        for word in words {
            if count + word.len() <= most || (count == 0 && most == 1) {
                count += word.len();
                chosen.push(word);
            }
        }
        chosen.sort_unstable_by_key(|word| word.start);
        let mut masked = Vec::with_capacity(count);
        for word in chosen {
            let of_span = self.spans.then(|| rng.random_range(0..10));
            for place in word {
                let (right, segment) = (token_number(tokens[place]), tokens[place] & SECOND);
                masked.push((place, right));
                tokens[place] = segment
                    | match of_span.unwrap_or_else(|| rng.random_range(0..10)) {
                        0 => rng.random_range(0..self.vocabulary),
                        1 => right,
                        _ => self.mask,
                    };
            }
        }
        if self.shuffled > 0.0 {
            self.shuffle(inner.filter(is_masked), &mut tokens, &mut masked, rng);
        }
        MaskedText { tokens, masked }
    }

    /// Puts threes of tokens in a row into another order, none of which is masked.
    fn shuffle(
        &self,
        places: impl Iterator<Item = usize>,
        tokens: &mut [u32],
        masked: &mut Vec<(usize, u32)>,
        rng: &mut ChaCha8Rng,
    ) {
        let places: Vec<usize> = places.collect();
        let most = (places.len() as f64 * self.shuffled / 3.0).round() as usize;
        let is_masked = |place: usize| masked.binary_search_by_key(&place, |(place, _)| *place).is_ok();
        let free: Vec<usize> = places.into_iter().filter(|place| !is_masked(*place)).collect();
        let rows = free.chunk_by(|place, next| *next == place + 1);
        let mut threes: Vec<&[usize]> = rows.flat_map(|row| row.chunks_exact(3)).collect();
        threes.shuffle(rng);
        for three in threes.into_iter().take(most) {
            masked.extend(three.iter().map(|&place| (place, token_number(tokens[place]))));
            tokens[three[0]..three[0] + 3].shuffle(rng);
        }
        masked.sort_unstable_by_key(|(place, _)| *place);
    }
}

/// Words in a row as spans of random lengths, of so many words at most.
fn spans_of(words: &[Range<usize>], most: usize, rng: &mut ChaCha8Rng) -> Vec<Range<usize>> {
    let mut spans = Vec::new();
    let mut rest = words;
    while let Some(first) = rest.first() {
        let length = 1 + (1..LONGEST).take_while(|_| rng.random_range(0..5) != 0).count();
        let (span, others) = rest.split_at(length.min(most).min(rest.len()));
        spans.push(first.start..span.last().map_or(first.end, |last| last.end));
        rest = others;
    }
    spans
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;

    use super::*;

    #[test]
    fn words_are_masked_as_a_whole_in_the_stated_shares() {
        let masking = Masking { share: 0.15, mask: 4, vocabulary: 1000, separator: None, spans: false, shuffled: 0.0 };
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        // Words of two tokens between the special tokens 2 and 3.
        let word = |i: u32| [100 + i, (200 + i) | CONTINUES];
        let text: Vec<u32> = [2].into_iter().chain((0..50).flat_map(word)).chain([3]).collect();
        let [mut masked, mut masks, mut kept, mut others] = [0usize; 4];
        for _ in 0..2000 {
            let text_with_masks = masking.mask(&text, &mut rng);
            assert_eq!(
                (text_with_masks.tokens[0], text_with_masks.tokens[101], text_with_masks.tokens.len()),
                (2, 3, 102)
            );
            for pair in text_with_masks.masked.chunks(2) {
                assert_eq!((pair[0].0 % 2, pair[1].0), (1, pair[0].0 + 1), "both tokens of a word");
            }
            for &(place, right) in &text_with_masks.masked {
                assert_eq!(right, text[place] & !CONTINUES);
                match text_with_masks.tokens[place] {
                    4 => masks += 1,
                    token if token == right => kept += 1,
                    _ => others += 1,
                }
            }
            let changed = (0..102).filter(|&i| text_with_masks.tokens[i] != text[i] & !CONTINUES).count();
            assert!(changed <= text_with_masks.masked.len());
            masked += text_with_masks.masked.len();
        }
        // 14 of 100 tokens: the fifteenth has no room for a word of two.
        assert_eq!(masked, 2000 * 14);
        let share = |count: usize| count as f64 / masked as f64;
        assert!((share(masks) - 0.8).abs() < 0.01 && (share(kept) - 0.1).abs() < 0.01, "{masks} {kept} {others}");
        assert!((share(others) - 0.1).abs() < 0.01);
    }

    #[test]
    fn threes_of_tokens_are_shuffled_within_their_segment_and_predicted_in_their_order() {
        let masking =
            Masking { share: 0.15, mask: 4, vocabulary: 1000, separator: Some(3), spans: false, shuffled: 0.06 };
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        let second = (150..200).chain([3]).map(|token| token | SECOND);
        let text: Vec<u32> = [2].into_iter().chain(100..150).chain([3]).chain(second).collect();
        let (mut moved, mut all) = (0, 0);
        for _ in 0..500 {
            let MaskedText { tokens, masked } = masking.mask(&text, &mut rng);
            assert!(masked.is_sorted_by_key(|(place, _)| *place));
            assert!(masked.iter().all(|(place, right)| *right == token_number(text[*place])));
            assert!((0..text.len()).all(|place| (tokens[place] & SECOND != 0) == (text[place] & SECOND != 0)));
            // 15 of 101 inner tokens are masked, and two threes of the 100 words are shuffled.
            assert_eq!(masked.len(), 15 + 6);
            let changed =
                |place: &usize| tokens[*place] != text[*place] && (100..200).contains(&token_number(tokens[*place]));
            moved += (0..text.len()).filter(changed).count();
            all += 6;
        }
        // A third of the tokens stays where it is, in the mean of all orders of three; some masked tokens become others of the text.
        let share = moved as f64 / f64::from(all);
        assert!((0.6..0.8).contains(&share), "{share}");
    }

    #[test]
    fn spans_are_masked_alike_and_their_lengths_are_those_of_the_paper() {
        let masking =
            Masking { share: 0.15, mask: 4, vocabulary: 1_000_000, separator: None, spans: true, shuffled: 0.0 };
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        let text: Vec<u32> = [2].into_iter().chain(100..2100).chain([3]).collect();
        let mut lengths = Vec::new();
        let mut count = 0;
        for _ in 0..200 {
            lengths.extend(spans_of(&(1..2001).map(|i| i..i + 1).collect::<Vec<_>>(), 300, &mut rng));
            let MaskedText { tokens, masked } = masking.mask(&text, &mut rng);
            assert_eq!(masked.len(), 300);
            // Of tokens in a row all or none are the mask token, but where two spans meet.
            let pairs = masked.windows(2).filter(|pair| pair[1].0 == pair[0].0 + 1);
            let (alike, others): (Vec<_>, Vec<_>) =
                pairs.partition(|pair| (tokens[pair[0].0] == 4) == (tokens[pair[1].0] == 4));
            assert!(alike.len() > 10 * others.len(), "{} {}", alike.len(), others.len());
            count += masked.len();
        }
        assert_eq!(count, 60_000);
        // The mean of a geometric distribution with p = 0.2 that ends at 10: (1 - 0.8^10) / 0.2.
        let mean = lengths.iter().map(|span| span.len() as f64).sum::<f64>() / lengths.len() as f64;
        assert!((mean - (1.0 - 0.8f64.powi(10)) / 0.2).abs() < 0.05, "{mean}");
    }

    #[test]
    fn the_separator_of_two_segments_stays_and_masked_tokens_keep_their_segment() {
        let masking =
            Masking { share: 0.5, mask: 4, vocabulary: 1000, separator: Some(3), spans: false, shuffled: 0.0 };
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        // A word that goes on behind the separator is two words.
        let second = [3, 30 | CONTINUES, 31, 32, 3].map(|token| token | SECOND);
        let text = [&[2, 10, 11, 12, 3][..], &second[1..]].concat();
        // Names stay, and keep their mark.
        let named: Vec<u32> = text.iter().map(|token| if *token == 11 { 11 | NAMED } else { *token }).collect();
        for _ in 0..200 {
            let MaskedText { tokens, masked } = masking.mask(&named, &mut rng);
            assert!(tokens[2] == 11 | NAMED && masked.iter().all(|(place, _)| *place != 2), "{masked:?}");
            let MaskedText { tokens, masked } = masking.mask(&text, &mut rng);
            assert!(masked.iter().all(|(place, right)| *place != 4 && right & SECOND == 0), "{masked:?}");
            assert_eq!(tokens[4], 3);
            assert!((0..9).all(|place| (tokens[place] & SECOND != 0) == (place > 4)), "{tokens:?}");
        }
    }
}
