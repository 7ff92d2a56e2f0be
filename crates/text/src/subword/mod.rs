//! From text to the pieces of words that an exported model reads, and back: the one door of the crate `tokenizers`.
//!
//! A tokenizer is opened from a folder of an export: `tokenizer.json`, the word pieces of BERT (`vocab.txt`) or a model of
//! SentencePiece. Whatever it was, it becomes one definition in the form of `tokenizer.json`, whose hash is the [`Subword::key`].
//!
//! Offsets are bytes into the text given, half-open, on character boundaries. Characters that a piece has a part of alone (a byte of a
//! character) are covered whole, so neighbours may overlap then. Pieces come without the tokens that a model wants around a text;
//! [`Subword::wrap`] adds these. Truncation and padding are the caller's: what the definition says of them is dropped.
//!
//! Speed: the crate keeps for each character where it came from, and for each piece its text, at 2 to 4 MB/s of Chinese. The word pieces
//! of BERT are therefore cut here, character by character through a table that is read off the crate's own normaliser when a tokenizer
//! is opened; what the table does not know (accents, control characters, other scripts) is left to the crate, word by word.
//! Tests hold both to the same pieces. [`Subword::encode_head`] and [`Subword::encode_tail`] read no more of a long
//! text than they keep, wherever the tokenizer provably does not look across a place in it.

mod beside;
mod fast;
mod open;
mod seam;
mod sentencepiece;
#[cfg(test)]
mod tests;
mod train;
mod vocabulary;

use std::ops::Range;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde_json::Value;
use tokenizers::Tokenizer;

use beside::{SideFiles, SpecialRole};
use fast::Fast;
use inkstone_base::data::Key;
use inkstone_base::{ensure, error, message};
use open::{Definition, Sides};
use seam::Seams;
pub use train::WordCounts;

/// The pieces of a text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pieces {
    /// Ids in the vocabulary.
    pub ids: Vec<u32>,
    /// Place of each in the text: bytes, half-open.
    pub offsets: Vec<Range<u32>>,
}

impl Pieces {
    fn push(&mut self, id: u32, place: Range<u32>) {
        self.ids.push(id);
        self.offsets.push(place);
    }

    /// Keeps the first `max` pieces.
    fn keep_first(&mut self, max: usize) {
        self.ids.truncate(max);
        self.offsets.truncate(max);
    }

    /// Keeps the last `max` pieces.
    fn keep_last(&mut self, max: usize) {
        let surplus = self.ids.len().saturating_sub(max);
        self.ids.drain(..surplus);
        self.offsets.drain(..surplus);
    }
}

/// A text with the tokens around it that its model was trained with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wrapped {
    /// Numbers of all tokens.
    pub ids: Vec<u32>,
    /// The segment of each token: 0 for a single text, but for the last token of XLNet, which has its own.
    pub types: Vec<u32>,
    /// Range of the text's own tokens.
    pub text: Range<usize>,
}

/// Tokens around a text, with their segments.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Around {
    before: Vec<(u32, u32)>,
    after: Vec<(u32, u32)>,
    /// Segment of the text itself.
    segment: u32,
}

/// Two texts with the tokens around them that their model was trained with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrappedPair {
    /// Numbers of all tokens.
    pub ids: Vec<u32>,
    /// The segment of each token.
    pub types: Vec<u32>,
    /// Ranges of the texts' own tokens.
    pub texts: [Range<usize>; 2],
}

/// Tokens before, between and behind two texts, with their segments.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct AroundPair {
    before: Vec<(u32, u32)>,
    between: Vec<(u32, u32)>,
    after: Vec<(u32, u32)>,
    /// Segments of the texts themselves.
    segments: [u32; 2],
}

/// The tokenizer of a model; any number of threads may share one.
pub struct Subword {
    tokenizer: Tokenizer,
    fast: Option<Fast>,
    seams: Seams,
    around: Around,
    around_pair: Option<AroundPair>,
    size: usize,
    unknown: Option<u32>,
    pad: Option<u32>,
    mask: Option<u32>,
    end: Option<u32>,
    /// True for BERT's word pieces: decoding drops the blanks between Chinese characters.
    close_gaps: bool,
    sides: Sides,
    key: Key,
}

/// Refuses merges of byte-pair encoding whose result is not in the vocabulary: the crate tokenizers panics on some of them.
fn check_merges(model: &Value) -> Result<()> {
    let (Some(vocabulary), Some(merges)) = (model["vocab"].as_object(), model["merges"].as_array()) else {
        return Ok(());
    };
    let prefix = model["continuing_subword_prefix"].as_str().unwrap_or_default();
    for merge in merges {
        let pair = match merge {
            Value::String(line) if !line.starts_with("#version") => line.split_once(' '),
            Value::Array(pair) => pair.first().and_then(Value::as_str).zip(pair.get(1).and_then(Value::as_str)),
            _ => None,
        };
        let Some((first, second)) = pair else { continue };
        let merged = second.get(prefix.len()..).map(|second| format!("{first}{second}"));
        ensure!(
            merged.is_some_and(|merged| vocabulary.contains_key(&merged)),
            "{first:?} 与 {second:?} 合并后的子词不在其词表中；请重新导出分词器",
            "the merge of {first:?} and {second:?} gives a piece that its vocabulary lacks; export the tokenizer again"
        );
    }
    Ok(())
}

impl Subword {
    /// Opens the tokenizer of an export: a folder with `tokenizer.json`, `vocab.txt` or a SentencePiece model (looked for in this
    /// order), or one of these files. What stands beside it (`tokenizer_config.json`, `special_tokens_map.json`,
    /// `config.json`) says what the file leaves open.
    pub fn open(path: &Path) -> Result<Subword> {
        Subword::open_cased(path, false)
    }

    /// The file of the tokenizer that is opened at this path, which may be a folder.
    pub fn file_at(path: &Path) -> Result<PathBuf> {
        open::file_at(path)
    }

    /// The definition of the tokenizer at this path in the form of `tokenizer.json`, whatever its files are.
    pub fn definition(path: &Path, lower_case: bool) -> Result<Value> {
        Ok(open::open(path, lower_case)?.json)
    }

    /// Reads a definition; `lower_case` reads all text in lower case, whatever the definition does.
    pub fn open_cased(path: &Path, lower_case: bool) -> Result<Subword> {
        let definition = open::open(path, lower_case)?;
        Subword::build(&definition)
            .with_context(|| message!("无法使用分词器 {}", "cannot use the tokenizer {}", definition.file.display()))
    }

    /// Whole words by a vocabulary with a word a line; text is cut at white space, and what is not in the vocabulary is its `<unk>`
    /// (`<UNK>`, `[UNK]`). So do ELMo's and other models with words as inputs.
    pub fn words(vocabulary: &Path) -> Result<Subword> {
        let definition = vocabulary::words(vocabulary)?;
        Subword::build(&definition)
            .with_context(|| message!("无法使用词表 {}", "cannot use the vocabulary {}", definition.file.display()))
    }

    /// The tokenizer of a definition in the form of `tokenizer.json`.
    pub fn of_definition(json: Value) -> Result<Subword> {
        let (file, beside, sides) = (PathBuf::from("tokenizer.json"), SideFiles::default(), Sides::default());
        Subword::build(&Definition { file, json, made_here: false, beside, sides })
    }

    fn build(definition: &Definition) -> Result<Subword> {
        check_merges(&definition.json["model"])?;
        let mut keyed = definition.json.clone();
        if definition.made_here && !keyed["post_processor"].is_null() {
            // The template of two texts came later than such keys, which stay as they were.
            keyed["post_processor"]["pair"] = keyed["post_processor"]["single"].clone();
        }
        let key = Key::of(keyed.to_string().as_bytes());
        let tokenizer: Tokenizer = definition.json.to_string().parse().map_err(|e| {
            error!(
                "它不是这里所认识的 tokenizer.json 形式：{e}",
                "it is not in the form of tokenizer.json that is known here: {e}"
            )
        })?;
        let unknown = open::unknown(&definition.json, &tokenizer)?;
        let fast = Fast::new(&definition.json, &tokenizer)?;
        let seams = Seams::new(&definition.json, &tokenizer, fast.is_some())?;
        let size = tokenizer.get_vocab(true).values().max().map_or(0, |id| *id as usize + 1);
        ensure!(size > 0, "它的词表为空；请重新导出分词器", "its vocabulary is empty; export the tokenizer again");
        let token = |role: SpecialRole| definition.beside.token(role, |name| tokenizer.token_to_id(name));
        let mut subword = Subword {
            unknown,
            pad: token(SpecialRole::Pad),
            mask: token(SpecialRole::Mask),
            end: token(SpecialRole::End),
            close_gaps: definition.json["decoder"]["type"] == "WordPiece",
            sides: definition.sides,
            key,
            around: Around::default(),
            around_pair: None,
            tokenizer,
            fast,
            seams,
            size,
        };
        subword.around = subword.find_around()?;
        subword.around_pair = subword.find_around_pair()?;
        Ok(subword)
    }

    /// The pieces of a text.
    pub fn encode(&self, text: &str) -> Result<Pieces> {
        ensure!(
            text.len() < u32::MAX as usize,
            "{} 字节的文本对模型来说太长",
            "a text of {} bytes is too long for a model",
            text.len()
        );
        let mut pieces = Pieces::default();
        match &self.fast {
            Some(fast) if !fast.marked(text) => {
                fast.encode(text, &mut pieces, |part, at, pieces| self.encode_slow(part, at, pieces))?;
            }
            _ => self.encode_slow(text, 0, &mut pieces)?,
        }
        Ok(pieces)
    }

    /// The first `max` pieces of a text, the same as of [`Subword::encode`].
    pub fn encode_head(&self, text: &str, max: usize) -> Result<Pieces> {
        let mut guess = first_guess(text, max);
        loop {
            let end = if self.reads_all(text, guess) { text.len() } else { self.seam_from(text, guess) };
            let mut pieces = self.encode(&text[..end])?;
            if pieces.ids.len() >= max || end == text.len() {
                pieces.keep_first(max);
                return Ok(pieces);
            }
            guess = further(guess, end, max, pieces.ids.len());
        }
    }

    /// The last `max` pieces of a text, the same as of [`Subword::encode`].
    pub fn encode_tail(&self, text: &str, max: usize) -> Result<Pieces> {
        let mut guess = first_guess(text, max);
        loop {
            let reads_all = self.reads_all(text, guess) || !self.seams.tails();
            let start = if reads_all { 0 } else { self.seam_before(text, text.len() - guess) };
            let mut pieces = self.encode(&text[start..])?;
            if pieces.ids.len() >= max || start == 0 {
                pieces.keep_last(max);
                for place in &mut pieces.offsets {
                    *place = place.start + start as u32..place.end + start as u32;
                }
                return Ok(pieces);
            }
            guess = further(guess, text.len() - start, max, pieces.ids.len());
        }
    }

    /// Puts the tokens around a text that its model was trained with.
    pub fn wrap(&self, ids: &[u32]) -> Wrapped {
        let Around { before, after, segment } = &self.around;
        let all = before.iter().copied().chain(ids.iter().map(|id| (*id, *segment))).chain(after.iter().copied());
        let (ids, types) = all.unzip::<u32, u32, Vec<_>, Vec<_>>();
        Wrapped { text: before.len()..ids.len() - after.len(), ids, types }
    }

    /// Number of tokens that [`Subword::wrap`] adds.
    pub fn specials(&self) -> usize {
        self.around.before.len() + self.around.after.len()
    }

    /// Puts two texts into one input, with the tokens around them that their model was trained with; none for a tokenizer whose
    /// template takes one text alone.
    pub fn wrap_pair(&self, first: &[u32], second: &[u32]) -> Option<WrappedPair> {
        let AroundPair { before, between, after, segments } = self.around_pair.as_ref()?;
        let text = |ids: &[u32], segment: u32| ids.iter().map(|id| (*id, segment)).collect::<Vec<_>>();
        let all = [before, &text(first, segments[0]), between, &text(second, segments[1]), after];
        let (ids, types) = all.into_iter().flatten().copied().unzip::<u32, u32, Vec<_>, Vec<_>>();
        let begin = [before.len(), before.len() + first.len() + between.len()];
        Some(WrappedPair { ids, types, texts: [begin[0]..begin[0] + first.len(), begin[1]..begin[1] + second.len()] })
    }

    /// Number of tokens that [`Subword::wrap_pair`] adds; none where it takes no pair.
    pub fn pair_specials(&self) -> Option<usize> {
        let AroundPair { before, between, after, .. } = self.around_pair.as_ref()?;
        Some(before.len() + between.len() + after.len())
    }

    /// The largest id and one: the rows that a table of embeddings needs.
    pub fn size(&self) -> usize {
        self.size
    }

    /// The number of a token as the vocabulary writes it (`##ing`, `▁the`).
    pub fn id(&self, token: &str) -> Option<u32> {
        self.tokenizer.token_to_id(token)
    }

    /// A token as the vocabulary writes it.
    pub fn token(&self, id: u32) -> Option<String> {
        self.tokenizer.id_to_token(id)
    }

    /// The text of some pieces, without special tokens. Word pieces do not know where white space was: between Chinese
    /// characters there is none. A decoder that fails leaves the pieces as the vocabulary writes them.
    pub fn decode(&self, ids: &[u32]) -> String {
        match self.tokenizer.decode(ids, true) {
            Ok(text) if self.close_gaps => vocabulary::close_gaps(&text),
            Ok(text) => text,
            Err(_) => ids.iter().filter_map(|id| self.token(*id)).collect::<Vec<_>>().join(" "),
        }
    }

    /// Id of the padding token.
    pub fn pad_id(&self) -> Option<u32> {
        self.pad
    }

    /// Id of the mask token.
    pub fn mask_id(&self) -> Option<u32> {
        self.mask
    }

    /// Id of the unknown token; none where every byte has a piece.
    pub fn unk_id(&self) -> Option<u32> {
        self.unknown
    }

    /// Id of the token that ends a generated text; BERT's separator where there is no other.
    pub fn end_id(&self) -> Option<u32> {
        self.end
    }

    /// True if the tokenizer's authors fill up rows of several texts at the left.
    pub fn pads_left(&self) -> bool {
        self.sides.pads_left
    }

    /// True if the tokenizer's authors cut a long text at its left.
    pub fn cuts_left(&self) -> bool {
        self.sides.cuts_left
    }

    /// Hash of the definition: equal keys cut equally.
    pub fn key(&self) -> Key {
        self.key
    }

    /// Encodes by the crate, for a part of a text that begins at byte `at`.
    fn encode_slow(&self, part: &str, at: u32, pieces: &mut Pieces) -> Result<()> {
        let encoding = self
            .tokenizer
            .encode(part, false)
            .map_err(|e| error!("无法把文本切成子词：{e}", "cannot cut a text into pieces: {e}"))?;
        for (id, (start, end)) in encoding.get_ids().iter().zip(encoding.get_offsets()) {
            let start = part.floor_char_boundary(*start);
            let end = part.ceil_char_boundary(*end);
            pieces.push(*id, at + start as u32..at + end as u32);
        }
        Ok(())
    }

    /// The tokens that the definition puts around a text, found by an example.
    fn find_around(&self) -> Result<Around> {
        for example in ["中", "a", "1", "的"] {
            let encoding = self
                .tokenizer
                .encode(example, true)
                .map_err(|e| error!("无法把 {example:?} 切成子词：{e}", "cannot cut {example:?} into pieces: {e}"))?;
            let text: Vec<bool> = encoding.get_special_tokens_mask().iter().map(|special| *special == 0).collect();
            let (Some(first), Some(last)) = (text.iter().position(|t| *t), text.iter().rposition(|t| *t)) else {
                continue;
            };
            let tokens: Vec<(u32, u32)> =
                encoding.get_ids().iter().copied().zip(encoding.get_type_ids().iter().copied()).collect();
            return Ok(Around {
                before: tokens[..first].to_vec(),
                after: tokens[last + 1..].to_vec(),
                segment: tokens[first].1,
            });
        }
        Err(error!(
            "它在任何文本中都找不到子词；它的词表或规范化有误",
            "it finds no piece in any text; its vocabulary or its normaliser is broken"
        ))
    }

    /// The tokens that the definition puts around two texts, found by an example; none where its template takes one text alone.
    fn find_around_pair(&self) -> Result<Option<AroundPair>> {
        for example in ["中", "a", "1", "的"] {
            let encoding = self.tokenizer.encode((example, example), true).map_err(|e| {
                error!("无法把 {example:?} 两次切成子词：{e}", "cannot cut {example:?} twice into pieces: {e}")
            })?;
            if encoding.n_sequences() < 2 {
                continue;
            }
            let texts = encoding.get_sequence_ids();
            let range = |text: usize| {
                let first = texts.iter().position(|&of_text| of_text == Some(text))?;
                texts.iter().rposition(|&of_text| of_text == Some(text)).map(|last| first..last + 1)
            };
            let (Some(first), Some(second)) = (range(0), range(1)) else { continue };
            if first.end > second.start {
                continue;
            }
            let ids = encoding.get_ids().iter().copied();
            let tokens: Vec<(u32, u32)> = ids.zip(encoding.get_type_ids().iter().copied()).collect();
            return Ok(Some(AroundPair {
                before: tokens[..first.start].to_vec(),
                between: tokens[first.end..second.start].to_vec(),
                after: tokens[second.end..].to_vec(),
                segments: [tokens[first.start].1, tokens[second.start].1],
            }));
        }
        Ok(None)
    }

    /// True if a text is encoded as a whole: it is hardly longer than `guess`, or has no seams.
    fn reads_all(&self, text: &str, guess: usize) -> bool {
        text.len() <= guess + guess / 4 || !self.seams.any() || self.fast.as_ref().is_some_and(|fast| fast.marked(text))
    }

    /// The first place at or after `from` where a text may be cut; its end if there is none.
    fn seam_from(&self, text: &str, from: usize) -> usize {
        let from = text.ceil_char_boundary(from);
        let mut before = text[..from].chars().next_back();
        for (at, after) in text[from..].char_indices() {
            if before.is_some_and(|before| self.seams.between(before, after, self.fast.as_ref())) {
                return from + at;
            }
            before = Some(after);
        }
        text.len()
    }

    /// The last place at or before `from` where a text may be cut; its start if there is none.
    fn seam_before(&self, text: &str, from: usize) -> usize {
        let from = text.floor_char_boundary(from);
        let mut after = text[from..].chars().next();
        for (at, before) in text[..from].char_indices().rev() {
            if after.is_some_and(|after| self.seams.between(before, after, self.fast.as_ref())) {
                return at + before.len_utf8();
            }
            after = Some(before);
        }
        0
    }
}

/// Bytes to read first for `max` pieces: a piece of Chinese is 3 to 6 bytes long. `max` may be any number, since the files of models
/// state limits without meaning (`18446744073709551615`).
fn first_guess(text: &str, max: usize) -> usize {
    max.min(text.len()) * 4 + 16
}

/// Tokens kept of two texts of these lengths that share `room`: the longer one is cut first, and where both are, halves are kept, the
/// longer text one more (`longest_first` of the crate tokenizers, which transformers runs).
pub fn longest_first([first, second]: [usize; 2], room: usize) -> [usize; 2] {
    if first + second <= room {
        return [first, second];
    }
    let (short, swapped) = if first > second { (second, true) } else { (first, false) };
    let (short, long) = if 2 * short >= room { (room / 2, room - room / 2) } else { (short, room - short) };
    if swapped { [long, short] } else { [short, long] }
}

/// Bytes to read next, after `read` bytes gave `found` pieces of `max`.
fn further(guess: usize, read: usize, max: usize, found: usize) -> usize {
    (2 * guess).max(read + read / 8).max(read * max / found.max(1) * 9 / 8).min(16 * guess)
}
