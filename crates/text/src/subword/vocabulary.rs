//! Vocabularies with a token a line: the word pieces of BERT, and whole words.

use std::path::Path;

use anyhow::{Context, Result};
use serde_json::{Map, Value, json};

use super::beside::{SideFiles, SpecialRole};
use super::open::{Definition, Sides};

use inkstone_base::language::Word;
use inkstone_base::{bail, ensure, message};

/// The definition of BERT's word pieces by its `vocab.txt`: control characters dropped, Chinese characters apart, lower case and no
/// accents unless the files beside say otherwise, `[CLS]` before and `[SEP]` after the text where the vocabulary has both.
pub(super) fn word_pieces(bytes: &[u8], beside: &SideFiles) -> Result<Value> {
    let vocabulary = lines(bytes)?;
    let has = |name: &str| vocabulary.contains_key(name);
    let Some(unknown) = beside.token_name(SpecialRole::Unknown, has) else {
        bail!(
            "它没有未知词元：没有一行是 [UNK]。它不是 BERT 的词表，或不完整",
            "it has no unknown token: [UNK] is on no line. It is no vocabulary of BERT, or was cut off"
        );
    };
    let lower = beside.flag("do_lower_case").unwrap_or(true);
    let around = match (beside.token_name(SpecialRole::Classify, has), beside.token_name(SpecialRole::Separate, has)) {
        (Some(first), Some(last)) => {
            let mut around = around(&vocabulary, first, last);
            around["pair"] = json!([special(first, 0), text(), special(last, 0), second_text(1), special(last, 1)]);
            around
        }
        _ => Value::Null,
    };
    let mut names: Vec<&str> =
        [SpecialRole::Unknown, SpecialRole::Separate, SpecialRole::Pad, SpecialRole::Classify, SpecialRole::Mask]
            .into_iter()
            .filter_map(|role| beside.token_name(role, has))
            .collect();
    names.sort_by_key(|name| vocabulary[*name].as_u64());
    names.dedup();
    let added: Vec<Value> = names.into_iter().map(|name| added(name, vocabulary[name].clone(), true)).collect();
    Ok(json!({
        "version": "1.0",
        "truncation": null,
        "padding": null,
        "added_tokens": added,
        "normalizer": {
            "type": "BertNormalizer",
            "clean_text": true,
            "handle_chinese_chars": beside.flag("tokenize_chinese_chars").unwrap_or(true),
            "strip_accents": beside.flag("strip_accents"),
            "lowercase": lower,
        },
        "pre_tokenizer": {"type": "BertPreTokenizer"},
        "post_processor": around,
        "decoder": {"type": "WordPiece", "prefix": "##", "cleanup": true},
        "model": {
            "type": "WordPiece",
            "unk_token": unknown,
            "continuing_subword_prefix": "##",
            "max_input_chars_per_word": 100,
            "vocab": vocabulary,
        },
    }))
}

/// A token before and one after a text.
fn around(vocabulary: &Map<String, Value>, first: &str, last: &str) -> Value {
    let template = json!([special(first, 0), text(), special(last, 0)]);
    let token = |name: &str| json!({"id": name, "ids": [vocabulary[name]], "tokens": [name]});
    json!({
        "type": "TemplateProcessing",
        "single": template,
        "pair": template,
        "special_tokens": {first: token(first), last: token(last)},
    })
}

/// The definition of whole words between white space, between `<S>` and `</S>` where the vocabulary has both.
pub(super) fn words(path: &Path) -> Result<Definition> {
    let say = || message!("无法读取词表 {}", "cannot read the vocabulary {}", path.display());
    let vocabulary = lines(&std::fs::read(path).with_context(say)?).with_context(say)?;
    let Some(unknown) =
        ["<unk>", "<UNK>", "[UNK]", "unk", "UNK"].into_iter().find(|name| vocabulary.contains_key(*name))
    else {
        bail!(
            "词表 {} 没有未知词元：请在其模型所放的位置加一行 <unk>",
            "the vocabulary {} has no unknown token: add a line <unk> where its model has one",
            path.display()
        );
    };
    let sentence = ["<S>", "</S>"].iter().all(|name| vocabulary.contains_key(*name));
    let around = if sentence { around(&vocabulary, "<S>", "</S>") } else { Value::Null };
    let json = json!({
        "version": "1.0",
        "truncation": null,
        "padding": null,
        "added_tokens": [],
        "normalizer": null,
        "pre_tokenizer": {"type": "WhitespaceSplit"},
        "post_processor": around,
        "decoder": null,
        "model": {"type": "WordLevel", "unk_token": unknown, "vocab": vocabulary},
    });
    Ok(Definition {
        file: path.to_owned(),
        json,
        beside: SideFiles::default(),
        sides: Sides::default(),
        made_here: true,
    })
}

/// A special token of a template.
pub(super) fn special(name: &str, segment: u32) -> Value {
    json!({"SpecialToken": {"id": name, "type_id": segment}})
}

/// The text of a template.
pub(super) fn text() -> Value {
    json!({"Sequence": {"id": "A", "type_id": 0}})
}

/// The second text of a template of two.
pub(super) fn second_text(segment: u32) -> Value {
    json!({"Sequence": {"id": "B", "type_id": segment}})
}

/// A token that is found in a text before anything else.
pub(super) fn added(name: &str, id: Value, special: bool) -> Value {
    json!({
        "id": id,
        "content": name,
        "single_word": false,
        "lstrip": false,
        "rstrip": false,
        "normalized": false,
        "special": special,
    })
}

/// Numbers by token, in the order of the lines; the last of equal lines counts, as in BERT's own reader.
fn lines(bytes: &[u8]) -> Result<Map<String, Value>> {
    let text = std::str::from_utf8(bytes)
        .context(Word("它不是 UTF-8；词表须为 UTF-8", "it is not UTF-8; vocabularies are"))?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut vocabulary = Map::new();
    for (id, line) in text.lines().enumerate() {
        let token = line.trim_end();
        if !token.is_empty() {
            vocabulary.insert(token.to_owned(), id.into());
        }
    }
    ensure!(
        !vocabulary.is_empty(),
        "它的词表为空：每行须有一个词元",
        "its vocabulary is empty: a token a line is wanted"
    );
    Ok(vocabulary)
}

/// Drops the white space beside Chinese characters and punctuation, which word pieces put between all words.
pub(super) fn close_gaps(text: &str) -> String {
    let close = |c: Option<char>| {
        c.is_some_and(|c| matches!(c as u32, 0x2E80..=0x9FFF | 0xF900..=0xFAFF | 0xFF00..=0xFFEF | 0x2010..=0x203A | 0x20000..=0x3FFFF))
    };
    let mut out = String::with_capacity(text.len());
    for (at, c) in text.char_indices() {
        if c == ' ' && (close(out.chars().next_back()) || close(text[at + 1..].chars().next())) {
            continue;
        }
        out.push(c);
    }
    out
}
