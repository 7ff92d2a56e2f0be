//! Models of SentencePiece, read from their protocol buffer into unigram pieces or merges of pairs.
//!
//! Fields as in `sentencepiece_model.proto`: pieces (1) with text, score and type; trainer (2) with the kind of model (3), bytes for what
//! is unknown (35) and the number of the unknown piece (40); normaliser (3) with its map of characters (2) and what it does to white space
//! (3, 4, 5). Kudo and Richardson, "SentencePiece" (2018). What a family of models puts on top of the file (numbers,
//! tokens around a text, quotes) follows the converters of the transformers library.

use std::collections::HashMap;
use std::path::Path;

use anyhow::Result;
use base64::Engine;
use serde_json::{Map, Value, json};

use super::beside::SideFiles;
use super::vocabulary::{added, second_text, special, text};

use inkstone_base::{bail, ensure, error};

/// A mark for white space in pieces.
const SPACE: char = '▁';

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sort {
    Normal,
    Unknown,
    Control,
    UserDefined,
}

#[derive(Clone, Debug)]
struct VocabularyPiece {
    text: String,
    score: f64,
    sort: Sort,
}

#[derive(Clone, Debug)]
struct PieceModel {
    pieces: Vec<VocabularyPiece>,
    /// 1 unigram, 2 pairs, 3 words, 4 characters.
    kind: u64,
    bytes: bool,
    suffix: bool,
    charsmap: Vec<u8>,
    dummy_prefix: bool,
    fewer_spaces: bool,
    escape: bool,
}

/// Family of models, each with its own additions to the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Family {
    Albert,
    Deberta,
    Llama,
    Plain,
    T5,
    XlmRoberta,
    Xlnet,
}

/// The definition in the form of `tokenizer.json`.
pub(super) fn definition(bytes: &[u8], file: &Path, beside: &SideFiles) -> Result<Value> {
    let model = read(bytes)?;
    ensure!(
        model.kind == 1 || model.kind == 2,
        "不支持它的模型种类：只支持 unigram 和 BPE，而这个切成{}",
        "its kind of model is not read: only unigram and BPE are, this one cuts into {}",
        if model.kind == 3 { "words" } else { "characters" }
    );
    ensure!(
        !model.suffix && model.escape,
        "它把空白标在词后或不标，不予支持；请导出 tokenizer.json",
        "it marks white space after words or not at all, which is not read; export tokenizer.json"
    );
    let family = family(&model, file, beside)?;
    let pieces = family_pieces(&model, family, beside);
    let Some(unknown) = pieces.iter().position(|piece| piece.sort == Sort::Unknown) else {
        bail!(
            "它没有未知词元：没有子词标为未知。它不完整，或被人手改过",
            "it has no unknown token: no piece is marked as such. It was cut off, or changed by hand"
        );
    };
    let number = |name: &str| pieces.iter().position(|piece| piece.text == name);
    let tokens: Vec<Value> = pieces
        .iter()
        .enumerate()
        .filter(|(_, piece)| matches!(piece.sort, Sort::Control | Sort::UserDefined))
        .map(|(id, piece)| {
            let mut token = added(&piece.text, id.into(), piece.sort == Sort::Control);
            // As in the library, a guessed word takes the white space before it.
            token["lstrip"] = matches!(piece.text.as_str(), "[MASK]" | "<mask>").into();
            token
        })
        .collect();
    // Where white space is kept, the mark comes before it too, which the normaliser does.
    let prepend = if model.dummy_prefix && model.fewer_spaces { "always" } else { "never" };
    // Pieces may hold white space within where the trainer was allowed to look across it.
    let split =
        !pieces.iter().any(|piece| piece.sort == Sort::Normal && piece.text.chars().skip(1).any(|c| c == SPACE));
    let metaspace = json!({"type": "Metaspace", "replacement": SPACE, "prepend_scheme": prepend, "split": split});
    let decoder = if model.bytes {
        json!({"type": "Sequence", "decoders": [
            {"type": "Replace", "pattern": {"String": SPACE}, "content": " "},
            {"type": "ByteFallback"},
            {"type": "Fuse"},
            {"type": "Strip", "content": " ", "start": u8::from(model.dummy_prefix), "stop": 0},
        ]})
    } else {
        metaspace.clone()
    };
    let core = if model.kind == 1 { unigram(&pieces, unknown, &model) } else { pairs(&pieces, unknown, &model) };
    Ok(json!({
        "version": "1.0",
        "truncation": null,
        "padding": null,
        "added_tokens": tokens,
        "normalizer": normalizer(&model, family, beside),
        "pre_tokenizer": metaspace,
        "post_processor": around(family, number)?,
        "decoder": decoder,
        "model": core,
    }))
}

fn family(model: &PieceModel, file: &Path, beside: &SideFiles) -> Result<Family> {
    let has = |name: &str| model.pieces.iter().any(|piece| piece.text == name);
    let known = match beside.family().as_deref() {
        Some("albert") => Some(Family::Albert),
        Some("deberta-v2" | "big_bird") => Some(Family::Deberta),
        Some("llama") => Some(Family::Llama),
        Some("t5" | "mt5" | "umt5" | "longt5") => Some(Family::T5),
        Some("xlm-roberta" | "xlmroberta") => Some(Family::XlmRoberta),
        Some("xlnet") => Some(Family::Xlnet),
        Some(other @ ("mbart" | "mbart50" | "camembert" | "barthez" | "pegasus" | "nllb" | "m2m_100" | "xglm")) => {
            bail!(
                "{other} 类模型的子词编号方式不同；请导出 tokenizer.json：在 Python 中运行 AutoTokenizer.from_pretrained(MODEL).save_pretrained(FOLDER)",
                "models of the kind {other} number the pieces in a way of their own; export tokenizer.json: AutoTokenizer.from_pretrained(MODEL).save_pretrained(FOLDER) in Python"
            )
        }
        _ => None,
    };
    Ok(known.unwrap_or_else(|| {
        if file.file_name().is_some_and(|name| name == "sentencepiece.bpe.model") {
            Family::XlmRoberta
        } else if has("<cls>") && has("<sep>") {
            Family::Xlnet
        } else if has("[CLS]") && has("[SEP]") {
            Family::Albert
        } else if has("</s>") && has("<pad>") && !has("<s>") {
            Family::T5
        } else {
            Family::Plain
        }
    }))
}

/// Pieces in the numbering of the family.
fn family_pieces(model: &PieceModel, family: Family, beside: &SideFiles) -> Vec<VocabularyPiece> {
    let control = |name: &str| VocabularyPiece { text: name.to_owned(), score: 0.0, sort: Sort::Control };
    let mut pieces = model.pieces.clone();
    match family {
        Family::XlmRoberta => {
            let unknown = VocabularyPiece { sort: Sort::Unknown, ..control("<unk>") };
            let first = [control("<s>"), control("<pad>"), control("</s>"), unknown];
            pieces = first.into_iter().chain(pieces.into_iter().skip(3)).chain([control("<mask>")]).collect();
        }
        Family::T5 if !pieces.iter().any(|piece| piece.text.contains("<extra_id_0>")) => {
            let extra = beside.number("extra_ids").unwrap_or(100);
            pieces.extend((0..extra).rev().map(|i| control(&format!("<extra_id_{i}>"))));
        }
        Family::Deberta if !pieces.iter().any(|piece| piece.text == "[MASK]") => pieces.push(control("[MASK]")),
        Family::Albert | Family::Xlnet => {
            for piece in &mut pieces {
                let mut last = piece.text.chars().rev();
                // Their own tokenizers take such pieces apart again, which is as good as not choosing them.
                if last.next() == Some(',') && last.next().is_some_and(|c| c.is_numeric()) {
                    piece.score -= 100.0;
                }
            }
        }
        _ => {}
    }
    pieces
}

fn normalizer(model: &PieceModel, family: Family, beside: &SideFiles) -> Value {
    let replace = |pattern: Value, content: &str| json!({"type": "Replace", "pattern": pattern, "content": content});
    let mut steps = Vec::new();
    if matches!(family, Family::Albert | Family::Xlnet) {
        steps.push(replace(json!({"String": "``"}), "\""));
        steps.push(replace(json!({"String": "''"}), "\""));
        if !beside.flag("keep_accents").unwrap_or(false) {
            steps.push(json!({"type": "NFKD"}));
            steps.push(json!({"type": "StripAccents"}));
        }
    }
    if beside.flag("do_lower_case").unwrap_or(family == Family::Albert) {
        steps.push(json!({"type": "Lowercase"}));
    }
    if !model.charsmap.is_empty() {
        let map = base64::engine::general_purpose::STANDARD.encode(&model.charsmap);
        steps.push(json!({"type": "Precompiled", "precompiled_charsmap": map}));
    }
    if model.fewer_spaces {
        steps.push(replace(json!({"Regex": "^ +| +$"}), ""));
        steps.push(replace(json!({"Regex": " {2,}"}), " "));
    } else if model.dummy_prefix {
        steps.push(json!({"type": "Prepend", "prepend": SPACE}));
    }
    if steps.is_empty() { Value::Null } else { json!({"type": "Sequence", "normalizers": steps}) }
}

fn around(family: Family, number: impl Fn(&str) -> Option<usize>) -> Result<Value> {
    /// Names with segments.
    type Tokens = &'static [(&'static str, u32)];
    let (before, after): (Tokens, Tokens) = match family {
        Family::T5 => (&[], &[("</s>", 0)]),
        Family::Xlnet => (&[], &[("<sep>", 0), ("<cls>", 2)]),
        Family::Albert | Family::Deberta => (&[("[CLS]", 0)], &[("[SEP]", 0)]),
        Family::XlmRoberta => (&[("<s>", 0)], &[("</s>", 0)]),
        Family::Llama => (&[("<s>", 0)], &[]),
        Family::Plain => return Ok(Value::Null),
    };
    // Between two texts and behind them, with the segment of the second.
    let (between, segment, end): (Tokens, u32, Tokens) = match family {
        Family::T5 => (after, 0, after),
        Family::Xlnet => (&[("<sep>", 0)], 1, &[("<sep>", 1), ("<cls>", 2)]),
        Family::Albert | Family::Deberta => (after, 1, &[("[SEP]", 1)]),
        Family::XlmRoberta => (&[("</s>", 0), ("</s>", 0)], 0, after),
        Family::Llama => (&[("<s>", 1)], 1, &[]),
        Family::Plain => (&[], 1, &[]),
    };
    let mut tokens = Map::new();
    for (name, _) in before.iter().chain(after) {
        let id = number(name).ok_or_else(|| {
            error!(
                "它没有该类模型放在文本两端的子词 {name}；它是另一模型的分词器吗？",
                "it has no piece {name}, which its kind of model puts around a text; is it another model's tokenizer?"
            )
        })?;
        tokens.insert((*name).to_owned(), json!({"id": name, "ids": [id], "tokens": [name]}));
    }
    let specials = |tokens: Tokens| tokens.iter().map(|(name, segment)| special(name, *segment));
    let single: Vec<Value> = specials(before).chain([text()]).chain(specials(after)).collect();
    let pair = specials(before).chain([text()]).chain(specials(between)).chain([second_text(segment)]);
    let pair: Vec<Value> = pair.chain(specials(end)).collect();
    Ok(json!({"type": "TemplateProcessing", "single": single, "pair": pair, "special_tokens": tokens}))
}

fn unigram(pieces: &[VocabularyPiece], unknown: usize, model: &PieceModel) -> Value {
    let vocabulary: Vec<Value> = pieces.iter().map(|piece| json!([piece.text, piece.score])).collect();
    json!({"type": "Unigram", "unk_id": unknown, "vocab": vocabulary, "byte_fallback": model.bytes})
}

/// Merges are not in the file: every way to put a piece together from two is one, the better piece first.
fn pairs(pieces: &[VocabularyPiece], unknown: usize, model: &PieceModel) -> Value {
    let numbers: HashMap<&str, usize> =
        pieces.iter().enumerate().map(|(id, piece)| (piece.text.as_str(), id)).collect();
    let mut merges: Vec<(f64, usize, usize, &str, &str)> = Vec::new();
    for piece in pieces.iter().filter(|piece| piece.sort == Sort::Normal) {
        for (at, _) in piece.text.char_indices().skip(1) {
            let (left, right) = piece.text.split_at(at);
            if let (Some(l), Some(r)) = (numbers.get(left), numbers.get(right)) {
                merges.push((piece.score, *l, *r, left, right));
            }
        }
    }
    merges.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| (a.1, a.2).cmp(&(b.1, b.2))));
    let merges: Vec<Value> = merges.into_iter().map(|(_, _, _, left, right)| json!([left, right])).collect();
    let vocabulary: Map<String, Value> =
        pieces.iter().enumerate().map(|(id, piece)| (piece.text.clone(), id.into())).collect();
    json!({
        "type": "BPE",
        "dropout": null,
        "unk_token": pieces[unknown].text,
        "continuing_subword_prefix": null,
        "end_of_word_suffix": null,
        "fuse_unk": true,
        "byte_fallback": model.bytes,
        "ignore_merges": false,
        "vocab": vocabulary,
        "merges": merges,
    })
}

/// A field of a message: a number, or bytes.
enum MessageField<'a> {
    Number(u64),
    Bytes(&'a [u8]),
    Float(f32),
}

/// Calls back for every field of a message of protocol buffers.
fn fields<'a>(mut bytes: &'a [u8], mut found: impl FnMut(u64, MessageField<'a>) -> Result<()>) -> Result<()> {
    let cut = || {
        error!(
            "它不是 SentencePiece 模型，或不完整：请重新复制或下载",
            "it is not a SentencePiece model, or was cut off: copy or download it again"
        )
    };
    while !bytes.is_empty() {
        let tag = varint(&mut bytes).ok_or_else(cut)?;
        let field = match tag & 7 {
            0 => MessageField::Number(varint(&mut bytes).ok_or_else(cut)?),
            1 => {
                let (_, rest) = bytes.split_at_checked(8).ok_or_else(cut)?;
                bytes = rest;
                continue;
            }
            2 => {
                let length = varint(&mut bytes).and_then(|length| usize::try_from(length).ok()).ok_or_else(cut)?;
                let (value, rest) = bytes.split_at_checked(length).ok_or_else(cut)?;
                bytes = rest;
                MessageField::Bytes(value)
            }
            5 => {
                let (value, rest) = bytes.split_first_chunk::<4>().ok_or_else(cut)?;
                bytes = rest;
                MessageField::Float(f32::from_le_bytes(*value))
            }
            _ => return Err(cut()),
        };
        found(tag >> 3, field)?;
    }
    Ok(())
}

fn varint(bytes: &mut &[u8]) -> Option<u64> {
    let mut value = 0u64;
    for shift in (0..64).step_by(7) {
        let (byte, rest) = bytes.split_first()?;
        *bytes = rest;
        value |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some(value);
        }
    }
    None
}

fn read(bytes: &[u8]) -> Result<PieceModel> {
    let mut model = PieceModel {
        pieces: Vec::new(),
        kind: 1,
        bytes: false,
        suffix: false,
        charsmap: Vec::new(),
        dummy_prefix: true,
        fewer_spaces: true,
        escape: true,
    };
    fields(bytes, |number, field| {
        match (number, field) {
            (1, MessageField::Bytes(piece)) => model.pieces.push(read_piece(piece)?),
            (2, MessageField::Bytes(trainer)) => fields(trainer, |number, field| {
                match (number, field) {
                    (3, MessageField::Number(kind)) => model.kind = kind,
                    (24, MessageField::Number(suffix)) => model.suffix = suffix != 0,
                    (35, MessageField::Number(bytes)) => model.bytes = bytes != 0,
                    _ => {}
                }
                Ok(())
            })?,
            (3, MessageField::Bytes(normalizer)) => fields(normalizer, |number, field| {
                match (number, field) {
                    (2, MessageField::Bytes(map)) => model.charsmap = map.to_vec(),
                    (3, MessageField::Number(yes)) => model.dummy_prefix = yes != 0,
                    (4, MessageField::Number(yes)) => model.fewer_spaces = yes != 0,
                    (5, MessageField::Number(yes)) => model.escape = yes != 0,
                    _ => {}
                }
                Ok(())
            })?,
            _ => {}
        }
        Ok(())
    })?;
    ensure!(
        !model.pieces.is_empty(),
        "它的词表为空：不是 SentencePiece 模型，或不完整",
        "its vocabulary is empty: it is not a SentencePiece model, or was cut off"
    );
    Ok(model)
}

fn read_piece(bytes: &[u8]) -> Result<VocabularyPiece> {
    let mut piece = VocabularyPiece { text: String::new(), score: 0.0, sort: Sort::Normal };
    fields(bytes, |number, field| {
        match (number, field) {
            (1, MessageField::Bytes(text)) => {
                piece.text = std::str::from_utf8(text)
                    .map_err(|_| {
                        error!(
                            "它不是 SentencePiece 模型：有子词不是 UTF-8",
                            "it is not a SentencePiece model: a piece is not UTF-8"
                        )
                    })?
                    .to_owned();
            }
            (2, MessageField::Float(score)) => piece.score = f64::from(score),
            (3, MessageField::Number(sort)) => {
                piece.sort = match sort {
                    2 => Sort::Unknown,
                    3 => Sort::Control,
                    4 => Sort::UserDefined,
                    _ => Sort::Normal,
                }
            }
            _ => {}
        }
        Ok(())
    })?;
    Ok(piece)
}
