//! Finding a tokenizer in a folder, and reading it into one definition in the form of `tokenizer.json`.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde_json::{Value, json};
use tokenizers::Tokenizer;

use super::beside::SideFiles;
use super::{sentencepiece, vocabulary};

use inkstone_base::language::Word;
use inkstone_base::{bail, error, message};

/// A tokenizer as `tokenizer.json` writes it, whatever it was read from.
pub(super) struct Definition {
    pub file: PathBuf,
    /// The definition, without truncation and padding.
    pub json: Value,
    /// True if the definition is made here, of a file in another form.
    pub made_here: bool,
    /// Settings in the files beside it.
    pub beside: SideFiles,
    /// Sides that the definition itself names.
    pub sides: Sides,
}

/// Sides at which rows are filled up and texts are cut, as the tokenizer's authors do it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Sides {
    pub pads_left: bool,
    pub cuts_left: bool,
}

/// Files that a folder is searched for, in order; any other `.model` comes last.
const NAMES: [&str; 6] =
    ["tokenizer.json", "vocab.txt", "spiece.model", "sentencepiece.bpe.model", "tokenizer.model", "spm.model"];

/// The way to a tokenizer that can be read, for errors.
const WAY_OUT: Word = Word(
    "在 Python 中运行 AutoTokenizer.from_pretrained(MODEL).save_pretrained(FOLDER)（transformers）可写出 tokenizer.json",
    "In Python, transformers' AutoTokenizer.from_pretrained(MODEL).save_pretrained(FOLDER) writes tokenizer.json",
);

/// Opens a folder or a file; `lower_case` reads all text in lower case, whatever the definition does.
pub(super) fn open(path: &Path, lower_case: bool) -> Result<Definition> {
    let file = file_at(path)?;
    let bytes = std::fs::read(&file)
        .with_context(|| message!("无法读取分词器 {}", "cannot read the tokenizer {}", file.display()))?;
    let beside = SideFiles::read(file.parent().unwrap_or(Path::new(".")))?;
    let json = match file.extension().and_then(|e| e.to_str()) {
        Some("json") => json(&bytes),
        Some("txt") => vocabulary::word_pieces(&bytes, &beside),
        Some("model") => sentencepiece::definition(&bytes, &file, &beside),
        _ => bail!(
            "{} 从名称看不是分词器：可用 tokenizer.json、vocab.txt 和 SentencePiece 的 .model。{WAY_OUT}",
            "{} is not a tokenizer by its name: known names are tokenizer.json, vocab.txt and SentencePiece's .model. {WAY_OUT}",
            file.display()
        ),
    };
    let mut json =
        json.with_context(|| message!("无法读取分词器 {}", "cannot read the tokenizer {}", file.display()))?;
    let left = |setting: &str, side: &str| match beside.text(side) {
        Some(side) => side == "left",
        None => json[setting]["direction"] == "Left",
    };
    let sides = Sides { pads_left: left("padding", "padding_side"), cuts_left: left("truncation", "truncation_side") };
    let made_here = file.extension().is_some_and(|extension| extension != "json");
    if !made_here {
        // The batch sets both; left in, they would cut texts unseen.
        (json["truncation"], json["padding"]) = (Value::Null, Value::Null);
    }
    if lower_case {
        read_in_lower_case(&mut json);
    }
    Ok(Definition { json, made_here, beside, file, sides })
}

pub(super) fn file_at(path: &Path) -> Result<PathBuf> {
    if path.is_dir() { find(path) } else { Ok(path.to_owned()) }
}

fn find(folder: &Path) -> Result<PathBuf> {
    if let Some(file) = NAMES.iter().map(|name| folder.join(name)).find(|file| file.is_file()) {
        return Ok(file);
    }
    let entries = std::fs::read_dir(folder)
        .with_context(|| message!("无法读取文件夹 {}", "cannot read the folder {}", folder.display()))?;
    let mut models: Vec<PathBuf> = entries
        .filter_map(|entry| entry.ok().map(|entry| entry.path()))
        .filter(|file| file.is_file() && file.extension().is_some_and(|extension| extension == "model"))
        .collect();
    models.sort();
    if let Some(model) = models.into_iter().next() {
        return Ok(model);
    }
    let pairs = if folder.join("vocab.json").is_file() {
        Word("；其中的 vocab.json 与 merges.txt 不予读取", "; vocab.json with merges.txt, which is there, is not read")
    } else {
        Word("", "")
    };
    bail!(
        "{} 中没有分词器：没有 tokenizer.json、vocab.txt 或 SentencePiece 的 .model{pairs}。{WAY_OUT}",
        "there is no tokenizer in {}: neither tokenizer.json nor vocab.txt nor SentencePiece's .model{pairs}. {WAY_OUT}",
        folder.display()
    )
}

fn json(bytes: &[u8]) -> Result<Value> {
    let json: Value = serde_json::from_slice(bytes).map_err(|e| {
        error!(
            "它不是 JSON：“{e}”。请重新复制或导出；它可能不完整",
            "it is not JSON: {e}. Copy or export it again; it may have been cut off"
        )
    })?;
    let Some(fields) = json.as_object() else {
        bail!(
            "它是 JSON，但不是分词器：须为含 `model` 的对象。{WAY_OUT}",
            "it is JSON, but not a tokenizer: an object with a `model` is wanted. {WAY_OUT}"
        )
    };
    if !fields.contains_key("model") {
        bail!(
            "它没有 `model`：不是 tokenizers 库的 tokenizer.json。{WAY_OUT}",
            "it has no `model`: that is not a tokenizer.json of the crate tokenizers. {WAY_OUT}"
        );
    }
    Ok(json)
}

/// Reads text in lower case before the definition's own normaliser, where that does not do so itself.
fn read_in_lower_case(json: &mut Value) {
    let normaliser = json["normalizer"].take();
    json["normalizer"] = match normaliser["type"].as_str() {
        None => json!({"type": "Lowercase"}),
        Some("Lowercase") => normaliser,
        Some("BertNormalizer") => {
            let mut bert = normaliser;
            // Left open, accents would be taken off with capitals.
            bert["strip_accents"] = (bert["strip_accents"].as_bool().unwrap_or(bert["lowercase"] == true)).into();
            bert["lowercase"] = true.into();
            bert
        }
        Some(_) => json!({"type": "Sequence", "normalizers": [{"type": "Lowercase"}, normaliser]}),
    };
}

/// The number of the unknown token; none where every byte has a piece.
pub(super) fn unknown(json: &Value, tokenizer: &Tokenizer) -> Result<Option<u32>> {
    let model = &json["model"];
    let entries = model["vocab"].as_object().map(|v| v.len()).or_else(|| model["vocab"].as_array().map(Vec::len));
    if entries.unwrap_or(0) == 0 {
        bail!("它的词表为空。{WAY_OUT}", "its vocabulary is empty. {WAY_OUT}");
    }
    if let Some(pieces) = model["vocab"].as_array() {
        // A byte for every character would do without, but the model still asks for its number.
        let id = model["unk_id"].as_u64().filter(|id| (*id as usize) < pieces.len());
        let id = id.ok_or_else(|| {
            error!(
                "它没有未知词元：`unk_id` 须为其某个子词的编号",
                "it has no unknown token: `unk_id` must be the number of one of its pieces"
            )
        })?;
        return Ok(Some(id as u32));
    }
    let name = model["unk_token"].as_str();
    let id = name.and_then(|name| tokenizer.token_to_id(name));
    match (id, name) {
        (Some(id), _) => Ok(Some(id)),
        // Bytes are complete.
        (None, None) if model["merges"].is_array() => Ok(None),
        (None, name) => bail!(
            "它没有未知词元：{} 不在其词表中。请添加，或用属于该模型的分词器",
            "it has no unknown token: {} is not in its vocabulary. Add it, or take the tokenizer that belongs to the model",
            name.unwrap_or("`unk_token`")
        ),
    }
}
