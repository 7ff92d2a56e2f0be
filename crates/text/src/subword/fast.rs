//! The word pieces of BERT without the crate's bookkeeping: a table of characters, and the longest pieces of a word first.
//!
//! The table holds, for the characters that fill Chinese text, what the tokenizer's own normaliser and splitter make of them. It is read
//! off these when a tokenizer is opened, so nothing of them is repeated here. A word with any other character goes to the crate. That is
//! exact because white space, punctuation and Chinese characters separate words whatever stands beside them.

use std::ops::RangeInclusive;

use aho_corasick::{AhoCorasick, MatchKind};
use anyhow::{Context, Result};
use rustc_hash::FxHashMap;
use serde_json::Value;
use tokenizers::{
    Normalizer, OffsetReferential, OffsetType, PreTokenizedString, PreTokenizer, Tokenizer, tokenizer::NormalizedString,
};

use super::Pieces;

use inkstone_base::{ensure, error, message};

/// Role of a character in the cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CharacterRole {
    /// Not in the table: the crate cuts its word.
    Other,
    /// Separates words and is dropped.
    Space,
    /// A word by itself, with this id.
    Alone(u32),
    /// Part of a word, as this character of the same length in bytes.
    Part(char),
}

/// Characters of the table; ideographs are known beforehand to be all alike.
const ASKED: [RangeInclusive<u32>; 9] = [
    0x09..=0x0D,
    0x20..=0x7E,
    0xA0..=0xFF,
    0x2000..=0x206F,
    0x20A0..=0x22FF,
    0x2460..=0x257F,
    0x25A0..=0x26FF,
    0x3000..=0x303F,
    0xFF00..=0xFFEF,
];
const IDEOGRAPHS: [RangeInclusive<u32>; 2] = [0x3400..=0x4DBF, 0x4E00..=0x9FFF];

/// The cutter of one vocabulary.
pub(super) struct Fast {
    table: Vec<CharacterRole>,
    /// Pieces that begin a word.
    first: FxHashMap<Box<str>, u32>,
    /// Pieces that go on with one, without their mark.
    next: FxHashMap<Box<str>, u32>,
    /// Bytes of the longest piece.
    longest: usize,
    unknown: u32,
    max_chars: usize,
    /// Tokens that are found in a text before it is cut.
    marks: Option<AhoCorasick>,
}

impl Fast {
    /// The cutter for a definition, if it is one of BERT's word pieces.
    pub(super) fn new(json: &Value, tokenizer: &Tokenizer) -> Result<Option<Fast>> {
        let model = &json["model"];
        let added = json["added_tokens"].as_array().map_or(&[][..], Vec::as_slice);
        let bert = json["normalizer"]["type"] == "BertNormalizer"
            && json["pre_tokenizer"]["type"] == "BertPreTokenizer"
            && model["type"] == "WordPiece"
            // Others may change where pieces lie.
            && matches!(json["post_processor"]["type"].as_str(), None | Some("BertProcessing" | "TemplateProcessing"))
            // Such tokens are looked for in the normalised text.
            && added.iter().all(|token| token["normalized"] == false);
        let (true, Some(vocabulary)) = (bert, model["vocab"].as_object()) else { return Ok(None) };
        let Some(unknown) = model["unk_token"].as_str().and_then(|name| vocabulary.get(name)?.as_u64()) else {
            return Ok(None);
        };
        let mark = model["continuing_subword_prefix"].as_str().unwrap_or("##");
        let max_chars = model["max_input_chars_per_word"].as_u64().unwrap_or(100) as usize;
        let mut fast = Fast {
            table: vec![CharacterRole::Other; 0x1_0000],
            first: FxHashMap::default(),
            next: FxHashMap::default(),
            longest: 0,
            unknown: unknown as u32,
            max_chars,
            marks: None,
        };
        for (token, id) in vocabulary {
            let id = id.as_u64().and_then(|id| u32::try_from(id).ok());
            let id = id.with_context(|| {
                message!("其词表中 {token:?} 的编号无效", "the number of {token:?} in its vocabulary is none")
            })?;
            fast.first.insert(token.as_str().into(), id);
            if let Some(rest) = token.strip_prefix(mark) {
                fast.next.insert(rest.into(), id);
            }
            fast.longest = fast.longest.max(token.len());
        }
        for code in ASKED.into_iter().flatten() {
            fast.table[code as usize] = fast.ask(tokenizer, code)?;
        }
        for range in IDEOGRAPHS {
            let alone = match fast.ask(tokenizer, *range.start())? {
                CharacterRole::Alone(_) => true,
                CharacterRole::Part(_) => false,
                _ => continue,
            };
            for code in range {
                let c = char::from_u32(code).expect("no surrogate is an ideograph");
                fast.table[code as usize] =
                    if alone { CharacterRole::Alone(fast.alone(c)) } else { CharacterRole::Part(c) };
            }
        }
        let contents: Vec<&str> = added.iter().filter_map(|token| token["content"].as_str()).collect();
        if !contents.is_empty() {
            fast.marks = Some(AhoCorasick::builder().match_kind(MatchKind::LeftmostFirst).build(contents)?);
        }
        Ok(Some(fast))
    }

    /// True if a text holds a token that is found before the text is cut.
    pub(super) fn marked(&self, text: &str) -> bool {
        self.marks.as_ref().is_some_and(|marks| marks.is_match(text))
    }

    /// True if words end before and after a character, whatever its neighbours.
    pub(super) fn separates(&self, c: char) -> bool {
        matches!(self.kind(c), CharacterRole::Space | CharacterRole::Alone(_))
    }

    /// Cuts a text without marks. `slow` cuts a part of it that begins at a byte.
    pub(super) fn encode(
        &self,
        text: &str,
        pieces: &mut Pieces,
        slow: impl Fn(&str, u32, &mut Pieces) -> Result<()>,
    ) -> Result<()> {
        pieces.ids.reserve(text.len() / 3);
        pieces.offsets.reserve(text.len() / 3);
        let mut word = String::new();
        let mut start = 0;
        let mut other = false;
        for (at, c) in text.char_indices() {
            let kind = self.kind(c);
            match kind {
                CharacterRole::Part(as_written) => word.push(as_written),
                CharacterRole::Other => {
                    other = true;
                    // Keeps the place of what began the word; the crate reads the text itself.
                    word.push(c);
                }
                CharacterRole::Space | CharacterRole::Alone(_) => {
                    if !word.is_empty() {
                        self.end_word(text, start..at, &mut word, &mut other, pieces, &slow)?;
                    }
                    start = at + c.len_utf8();
                    if let CharacterRole::Alone(id) = kind {
                        pieces.push(id, at as u32..start as u32);
                    }
                }
            }
        }
        if !word.is_empty() {
            self.end_word(text, start..text.len(), &mut word, &mut other, pieces, &slow)?;
        }
        Ok(())
    }

    fn end_word(
        &self,
        text: &str,
        place: std::ops::Range<usize>,
        word: &mut String,
        other: &mut bool,
        pieces: &mut Pieces,
        slow: &impl Fn(&str, u32, &mut Pieces) -> Result<()>,
    ) -> Result<()> {
        let at = place.start as u32;
        if *other {
            slow(&text[place], at, pieces)?;
        } else {
            self.cut(word, at, pieces);
        }
        word.clear();
        *other = false;
        Ok(())
    }

    /// Cuts a word, the longest piece first. A word that pieces do not cover is unknown as a whole.
    fn cut(&self, word: &str, at: u32, pieces: &mut Pieces) {
        let before = pieces.ids.len();
        let mut start = 0;
        let mut known = word.len() <= self.max_chars || word.chars().count() <= self.max_chars;
        while known && start < word.len() {
            let pieces_of = if start == 0 { &self.first } else { &self.next };
            let mut end = word.floor_char_boundary(word.len().min(start + self.longest));
            known = false;
            while end > start {
                if let Some(id) = pieces_of.get(&word[start..end]) {
                    pieces.push(*id, at + start as u32..at + end as u32);
                    start = end;
                    known = true;
                    break;
                }
                end = word.floor_char_boundary(end - 1);
            }
        }
        if !known {
            pieces.keep_first(before);
            pieces.push(self.unknown, at..at + word.len() as u32);
        }
    }

    fn kind(&self, c: char) -> CharacterRole {
        self.table.get(c as usize).copied().unwrap_or(CharacterRole::Other)
    }

    fn alone(&self, c: char) -> u32 {
        let mut bytes = [0; 4];
        self.first.get(&*c.encode_utf8(&mut bytes)).copied().unwrap_or(self.unknown)
    }

    /// The role that the tokenizer's own normaliser and splitter give a character inside a word.
    fn ask(&self, tokenizer: &Tokenizer, code: u32) -> Result<CharacterRole> {
        let Some(c) = char::from_u32(code) else { return Ok(CharacterRole::Other) };
        let (Some(normalizer), Some(splitter)) = (tokenizer.get_normalizer(), tokenizer.get_pre_tokenizer()) else {
            return Ok(CharacterRole::Other);
        };
        let failed =
            |e: tokenizers::Error| error!("它的规范化在 {c:?} 上失败：“{e}”", "its normaliser fails on {c:?}: {e}");
        let mut normalized = NormalizedString::from(format!("a{c}a"));
        normalizer.normalize(&mut normalized).map_err(failed)?;
        let mut split = PreTokenizedString::from(normalized);
        splitter.pre_tokenize(&mut split).map_err(failed)?;
        let splits = split.get_splits(OffsetReferential::Original, OffsetType::Byte);
        let words: Vec<(&str, (usize, usize))> = splits.into_iter().map(|(word, place, _)| (word, place)).collect();
        let end = 1 + c.len_utf8();
        ensure!(!words.is_empty(), "它的规范化使 a{c}a 什么也不剩", "its normaliser leaves nothing of a{c}a");
        Ok(match words[..] {
            [("a", (0, 1)), ("a", place)] if place == (end, end + 1) => CharacterRole::Space,
            [("a", (0, 1)), (word, place), ("a", _)] if place == (1, end) => {
                let mut chars = word.chars();
                match (chars.next(), chars.next()) {
                    (Some(only), None) => CharacterRole::Alone(self.alone(only)),
                    _ => CharacterRole::Other,
                }
            }
            [(word, _)] => match word.chars().collect::<Vec<_>>()[..] {
                ['a', part, 'a'] if part.len_utf8() == c.len_utf8() => CharacterRole::Part(part),
                _ => CharacterRole::Other,
            },
            _ => CharacterRole::Other,
        })
    }
}
