//! Seams: places where a text may be cut without changing the pieces on either side. With them the head of a long text costs no more than
//! its own length.
//!
//! - **BERT**: beside white space, punctuation and Chinese characters, which separate words.
//! - **Bytes** (GPT-2, RoBERTa): where a Chinese character is followed by Chinese punctuation; the expressions that split
//!   text there never match across this.
//! - **SentencePiece**: where Chinese character and punctuation meet and no piece of the vocabulary holds both. Then no path of
//!   a unigram model and no merge crosses the place. The head of a best path does not depend on what follows; its tail may, in the
//!   last bit of a sum, and gets a mark of white space before it. So the end of a text is read with all before it.

use anyhow::Result;
use rustc_hash::FxHashSet;
use serde_json::Value;
use tokenizers::{Normalizer, Tokenizer, tokenizer::NormalizedString};

use super::fast::Fast;

use inkstone_base::error;

/// Punctuation that Chinese text is full of, and that no normaliser joins to its neighbours.
const PUNCTUATION: [char; 13] = ['，', '。', '！', '？', '；', '：', '、', '）', '》', '」', '】', '”', '（'];

/// Expressions that split text into words before its bytes. GPT-2's is the crate's own; these stand in definitions (Qwen's, with a
/// digit at a time, and Llama's, with three).
const SPLITS: [&str; 2] = [
    "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+",
    "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+",
];

/// The seams of texts under a tokenizer.
pub(super) enum Seams {
    Nowhere,
    /// Beside characters that separate words, by the table of [`Fast`].
    Words,
    /// Between a Chinese character and punctuation.
    Punctuation {
        /// Punctuation that may follow a Chinese character across a cut.
        opens: FxHashSet<char>,
        /// Punctuation that a Chinese character may follow across a cut.
        closes: FxHashSet<char>,
        /// True if the text after a cut has the same pieces by itself.
        tails: bool,
    },
}

impl Seams {
    /// The seams of a definition; `fast` is true if there is a [`Fast`] for it.
    pub(super) fn new(json: &Value, tokenizer: &Tokenizer, fast: bool) -> Result<Seams> {
        if fast {
            return Ok(Seams::Words);
        }
        let added = json["added_tokens"].as_array().map_or(&[][..], Vec::as_slice);
        let plain = added.iter().all(|token| {
            !token["content"].as_str().unwrap_or("").chars().any(|c| c as u32 > 0x2FFF || PUNCTUATION.contains(&c))
        });
        if !plain || !normalizer_allows(&json["normalizer"]) {
            return Ok(Seams::Nowhere);
        }
        let splitter = &json["pre_tokenizer"];
        if let Some(tails) = bytes(splitter) {
            let opens = PUNCTUATION.into_iter().collect();
            return Ok(Seams::Punctuation { opens, closes: FxHashSet::default(), tails });
        }
        if metaspace(splitter) {
            return sentencepiece(json, tokenizer);
        }
        Ok(Seams::Nowhere)
    }

    /// True if there are seams.
    pub(super) fn any(&self) -> bool {
        !matches!(self, Seams::Nowhere)
    }

    /// True if the end of a text may be read by itself.
    pub(super) fn tails(&self) -> bool {
        match self {
            Seams::Nowhere => false,
            Seams::Words => true,
            Seams::Punctuation { tails, .. } => *tails,
        }
    }

    /// True if a text may be cut between two characters.
    pub(super) fn between(&self, before: char, after: char, fast: Option<&Fast>) -> bool {
        match self {
            Seams::Nowhere => false,
            Seams::Words => fast.is_some_and(|fast| fast.separates(before) || fast.separates(after)),
            Seams::Punctuation { opens, closes, .. } => {
                ideograph(before) && opens.contains(&after) || ideograph(after) && closes.contains(&before)
            }
        }
    }
}

fn ideograph(c: char) -> bool {
    ('\u{4e00}'..='\u{9fff}').contains(&c)
}

/// True if a normaliser changes nothing across a place between a Chinese character and punctuation.
fn normalizer_allows(normalizer: &Value) -> bool {
    match normalizer["type"].as_str() {
        None => normalizer.is_null(),
        Some("NFC" | "NFD" | "NFKC" | "NFKD" | "Lowercase" | "StripAccents" | "Precompiled" | "Strip" | "Prepend") => {
            true
        }
        Some("Replace") => {
            let pattern = &normalizer["pattern"];
            let spaces = [" {2,}", "^ +| +$"];
            pattern["Regex"]
                .as_str()
                .map_or_else(|| pattern["String"].as_str().is_some_and(str::is_ascii), |p| spaces.contains(&p))
        }
        Some("Sequence") => normalizer["normalizers"].as_array().is_some_and(|all| all.iter().all(normalizer_allows)),
        Some(_) => false,
    }
}

/// None for a splitter that is not one of the known ones before bytes; else true if it leaves the start of a text as it is.
fn bytes(splitter: &Value) -> Option<bool> {
    let byte_level = |part: &Value| part["type"] == "ByteLevel";
    if byte_level(splitter) && splitter["use_regex"] != false {
        return Some(splitter["add_prefix_space"] == false);
    }
    let [split, bytes] = splitter["pretokenizers"].as_array()?.as_slice() else { return None };
    let known = split["type"] == "Split"
        && split["behavior"] == "Isolated"
        && split["invert"] == false
        && split["pattern"]["Regex"].as_str().is_some_and(|pattern| SPLITS.contains(&pattern));
    (known && byte_level(bytes) && bytes["use_regex"] == false).then(|| bytes["add_prefix_space"] == false)
}

fn metaspace(splitter: &Value) -> bool {
    let parts = splitter["pretokenizers"].as_array();
    let known = |part: &Value| part["type"] == "Metaspace" || part["type"] == "WhitespaceSplit";
    splitter.is_null() || known(splitter) || parts.is_some_and(|parts| parts.iter().all(known))
}

/// Punctuation that no piece joins to a Chinese character.
fn sentencepiece(json: &Value, tokenizer: &Tokenizer) -> Result<Seams> {
    let model = &json["model"];
    let chance = !model["dropout"].is_null() || !model["alpha"].is_null();
    if chance || model["ignore_merges"] == true || !(model["type"] == "Unigram" || model["type"] == "BPE") {
        return Ok(Seams::Nowhere);
    }
    let mut after_ideograph = FxHashSet::default();
    let mut before_ideograph = FxHashSet::default();
    let vocabulary = tokenizer.get_vocab(true);
    for piece in vocabulary.keys() {
        for (before, after) in piece.chars().zip(piece.chars().skip(1)) {
            if ideograph(before) {
                after_ideograph.insert(after);
            }
            if ideograph(after) {
                before_ideograph.insert(before);
            }
        }
    }
    // An unknown piece joins with unknown neighbours.
    let known = |c: char| vocabulary.contains_key(c.encode_utf8(&mut [0; 4]) as &str);
    let (mut opens, mut closes) = (FxHashSet::default(), FxHashSet::default());
    for c in PUNCTUATION {
        let mut text = NormalizedString::from(format!("中{c}中"));
        if let Some(normalizer) = tokenizer.get_normalizer() {
            normalizer
                .normalize(&mut text)
                .map_err(|e| error!("它的规范化在 {c:?} 上失败：“{e}”", "its normaliser fails on {c:?}: {e}"))?;
        }
        let Some(written) =
            text.get().trim_start_matches('▁').strip_prefix('中').and_then(|rest| rest.strip_suffix('中'))
        else {
            continue;
        };
        if written.chars().next().is_some_and(|first| known(first) && !after_ideograph.contains(&first)) {
            opens.insert(c);
        }
        if written.chars().next_back().is_some_and(|last| known(last) && !before_ideograph.contains(&last)) {
            closes.insert(c);
        }
    }
    if opens.is_empty() && closes.is_empty() {
        return Ok(Seams::Nowhere);
    }
    Ok(Seams::Punctuation { opens, closes, tails: false })
}
