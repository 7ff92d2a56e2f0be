//! A vocabulary of word pieces learned from text (Schuster and Nakajima 2012, by the merges of Sennrich, Haddow and Birch 2016), for BERT's
//! way of cutting: characters of Chinese stand alone, and words of other scripts are cut into pieces that go on with `##`.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};

use anyhow::Result;
use rustc_hash::FxHashMap;
use serde_json::{Map, Value, json};
use tokenizers::normalizers::BertNormalizer;
use tokenizers::pre_tokenizers::bert::BertPreTokenizer;
use tokenizers::{NormalizedString, Normalizer, OffsetReferential, OffsetType, PreTokenizedString, PreTokenizer};

use inkstone_base::{ensure, error};

/// The special tokens of BERT, the first tokens of a vocabulary.
const SPECIALS: [&str; 5] = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"];
/// Prefix of a piece that continues a word.
const CONTINUING: &str = "##";
/// Characters of the longest word that is cut into pieces; a longer one is unknown.
const LONGEST: usize = 100;

/// Counts of words, as BERT cuts text.
#[derive(Clone, Debug, Default)]
pub struct WordCounts {
    counts: FxHashMap<String, u64>,
}

impl WordCounts {
    /// Counts the words of a text.
    pub fn add(&mut self, text: &str) -> Result<()> {
        let mut normalised = NormalizedString::from(text);
        normaliser()
            .normalize(&mut normalised)
            .map_err(|error| error!("文本无法规范化：“{error}”", "a text cannot be normalised: {error}"))?;
        let mut cut = PreTokenizedString::from(normalised);
        BertPreTokenizer
            .pre_tokenize(&mut cut)
            .map_err(|error| error!("文本无法切分：“{error}”", "a text cannot be cut: {error}"))?;
        for (word, ..) in cut.get_splits(OffsetReferential::Normalized, OffsetType::Byte) {
            match self.counts.get_mut(word) {
                Some(count) => *count += 1,
                None => drop(self.counts.insert(word.to_owned(), 1)),
            }
        }
        Ok(())
    }

    pub fn merge(&mut self, other: WordCounts) {
        other.counts.into_iter().for_each(|(word, count)| *self.counts.entry(word).or_default() += count);
    }

    /// The definition of a tokenizer, in the form of `tokenizer.json`, with so many tokens at most: the special tokens, the characters that occur at
    /// least `min_count` times, and merges of them, the most frequent first.
    pub fn word_pieces(&self, size: usize, min_count: u64) -> Result<Value> {
        let vocabulary = vocabulary(&self.counts, size, min_count);
        ensure!(
            vocabulary.len() > SPECIALS.len(),
            "没有字出现 {min_count} 次：请降低 --min-count，或提供更多文本",
            "no character occurs {min_count} times: lower --min-count, or give more text"
        );
        let ids: Map<String, Value> =
            vocabulary.iter().enumerate().map(|(id, token)| (token.clone(), id.into())).collect();
        let mark = |(id, mark): (usize, &&str)| json!({"id": id, "content": mark, "single_word": false, "lstrip": false, "rstrip": false, "normalized": false, "special": true});
        let piece = |name: &str, kind: u32| json!({"SpecialToken": {"id": name, "type_id": kind}});
        let text = |id: &str, kind: u32| json!({"Sequence": {"id": id, "type_id": kind}});
        let special = |name: &str, id: usize| json!({"id": name, "ids": [id], "tokens": [name]});
        Ok(json!({
            "version": "1.0", "truncation": null, "padding": null,
            "added_tokens": SPECIALS.iter().enumerate().map(mark).collect::<Vec<Value>>(),
            "normalizer": {"type": "BertNormalizer", "clean_text": true, "handle_chinese_chars": true, "strip_accents": null, "lowercase": true},
            "pre_tokenizer": {"type": "BertPreTokenizer"},
            "post_processor": {
                "type": "TemplateProcessing",
                "single": [piece("[CLS]", 0), text("A", 0), piece("[SEP]", 0)],
                "pair": [piece("[CLS]", 0), text("A", 0), piece("[SEP]", 0), text("B", 1), piece("[SEP]", 1)],
                "special_tokens": {"[CLS]": special("[CLS]", 2), "[SEP]": special("[SEP]", 3)},
            },
            "decoder": {"type": "WordPiece", "prefix": CONTINUING, "cleanup": true},
            "model": {
                "type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": CONTINUING, "max_input_chars_per_word": LONGEST, "vocab": ids,
            },
        }))
    }
}

fn normaliser() -> BertNormalizer {
    BertNormalizer::new(true, true, None, true)
}

/// A word as numbers of pieces, and how often it occurs.
struct CountedWord {
    pieces: Vec<u32>,
    count: u64,
}

/// The pieces that are known, by number.
#[derive(Default)]
struct PieceTable {
    pieces: Vec<String>,
    numbers: FxHashMap<String, u32>,
}

impl PieceTable {
    fn number(&mut self, piece: String) -> u32 {
        if let Some(&number) = self.numbers.get(&piece) {
            return number;
        }
        let number = self.pieces.len() as u32;
        self.numbers.insert(piece.clone(), number);
        self.pieces.push(piece);
        number
    }
}

/// The tokens of a vocabulary, special tokens first.
fn vocabulary(counts: &FxHashMap<String, u64>, size: usize, min_count: u64) -> Vec<String> {
    // The order of a hash table must not show in the numbers.
    let words: BTreeMap<&str, u64> = counts.iter().map(|(word, count)| (word.as_str(), *count)).collect();
    let mut characters: BTreeMap<String, u64> = BTreeMap::new();
    for (word, count) in &words {
        for piece in pieces_of(word) {
            *characters.entry(piece).or_default() += count;
        }
    }
    let mut kept: Vec<(&String, &u64)> = characters.iter().filter(|(_, count)| **count >= min_count).collect();
    kept.sort_by_key(|(piece, count)| (Reverse(**count), *piece));
    kept.truncate(size.saturating_sub(SPECIALS.len()));
    let mut table = PieceTable::default();
    for piece in SPECIALS.iter().map(|mark| (*mark).to_owned()).chain(kept.into_iter().map(|(piece, _)| piece.clone()))
    {
        table.number(piece);
    }
    let known = |(word, count): (&str, u64)| {
        let pieces: Option<Vec<u32>> = pieces_of(word).map(|piece| table.numbers.get(&piece).copied()).collect();
        pieces.filter(|pieces| pieces.len() > 1 && pieces.len() <= LONGEST).map(|pieces| CountedWord { pieces, count })
    };
    let mut words: Vec<CountedWord> = words.into_iter().filter_map(known).collect();
    merge_pairs(&mut words, &mut table, size, min_count);
    table.pieces
}

/// The characters of a word as pieces.
fn pieces_of(word: &str) -> impl Iterator<Item = String> {
    word.chars()
        .enumerate()
        .map(|(place, character)| if place == 0 { character.to_string() } else { format!("{CONTINUING}{character}") })
}

/// Merges the most frequent pair of pieces, of equals the one with the lower numbers, until there are `size` pieces or no pair is frequent.
fn merge_pairs(words: &mut [CountedWord], table: &mut PieceTable, size: usize, min_count: u64) {
    let mut counts: FxHashMap<[u32; 2], u64> = FxHashMap::default();
    let mut places: FxHashMap<[u32; 2], BTreeSet<usize>> = FxHashMap::default();
    for (place, word) in words.iter().enumerate() {
        for pair in word.pieces.array_windows::<2>() {
            *counts.entry(*pair).or_default() += word.count;
            places.entry(*pair).or_default().insert(place);
        }
    }
    let mut queue: BinaryHeap<(u64, Reverse<[u32; 2]>)> =
        counts.iter().map(|(pair, count)| (*count, Reverse(*pair))).collect();
    while table.pieces.len() < size {
        let Some((count, Reverse(pair))) = queue.pop() else { return };
        if counts.get(&pair) != Some(&count) {
            // Its count has changed since; the pair stands in the queue with the new one.
            continue;
        }
        if count < min_count.max(1) {
            return;
        }
        let [first, second] = pair.map(|number| table.pieces[number as usize].clone());
        let merged = table.number(format!("{first}{}", second.strip_prefix(CONTINUING).unwrap_or(&second)));
        let mut changed = BTreeSet::new();
        for place in places.remove(&pair).unwrap_or_default() {
            let CountedWord { pieces, count } = &mut words[place];
            for pair in pieces.array_windows::<2>() {
                if let Some(known) = counts.get_mut(pair) {
                    *known -= *count;
                    changed.insert(*pair);
                }
            }
            let mut at = 0;
            while at + 1 < pieces.len() {
                if [pieces[at], pieces[at + 1]] == pair {
                    pieces[at] = merged;
                    pieces.remove(at + 1);
                }
                at += 1;
            }
            for pair in pieces.array_windows::<2>() {
                *counts.entry(*pair).or_default() += *count;
                places.entry(*pair).or_default().insert(place);
                changed.insert(*pair);
            }
        }
        counts.remove(&pair);
        changed.remove(&pair);
        queue.extend(changed.into_iter().map(|pair| (counts[&pair], Reverse(pair))));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::subword::Subword;

    fn counted(texts: &[(&str, usize)]) -> WordCounts {
        let mut counts = WordCounts::default();
        for (text, times) in texts {
            (0..*times).for_each(|_| counts.add(text).unwrap());
        }
        counts
    }

    /// The example of Sennrich and others: low, lower, newest, widest.
    #[test]
    fn frequent_pairs_are_merged_first() {
        let counts = counted(&[("low", 5), ("lower", 2), ("newest", 6), ("widest", 3)]);
        let pieces = vocabulary(&counts.counts, 1000, 1);
        // Characters by frequency, then the merges: es and est (9 times), ow and low (7), ...
        let merges: Vec<&str> = pieces
            .iter()
            .skip(SPECIALS.len())
            .filter(|piece| piece.trim_start_matches(CONTINUING).chars().count() > 1)
            .map(String::as_str)
            .collect();
        assert_eq!(merges[..4], ["##es", "##est", "##ow", "low"], "{pieces:?}");
        assert!(merges.contains(&"newest") && merges.contains(&"widest"), "{pieces:?}");
        assert_eq!(vocabulary(&counts.counts, SPECIALS.len() + 12, 1).len(), SPECIALS.len() + 12);
    }

    #[test]
    fn a_learned_vocabulary_cuts_its_text() {
        let counts = counted(&[("公司Q3净利润增长12%，同比增长。", 3), ("增长12", 2), ("罕", 1)]);
        let definition = counts.word_pieces(200, 2).unwrap();
        assert_eq!(definition, counts.word_pieces(200, 2).unwrap());
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("tokenizer.json"), definition.to_string()).unwrap();
        let subword = Subword::open(dir.path()).unwrap();
        let pieces = subword.encode("净利润增长12罕").unwrap();
        let known: Vec<bool> = pieces.ids.iter().map(|id| Some(*id) != subword.unk_id()).collect();
        assert_eq!(known, [true, true, true, true, true, true, false]);
        assert_eq!(pieces.ids[5], subword.id("12").unwrap());
        assert_eq!((subword.wrap(&[7]).ids, subword.mask_id()), (vec![2, 7, 3], Some(4)));
        let error = counts.word_pieces(200, 100).unwrap_err().to_string();
        assert!(error.contains("no character occurs 100 times"), "{error}");
    }
}
