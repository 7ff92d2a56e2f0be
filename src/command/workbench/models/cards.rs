//! The model files of a project, as their headers describe them; no model is loaded.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use anyhow::{Context, Result};
use serde_json::Value;
use walkdir::{DirEntry, WalkDir};

use super::shown;
use inkstone_base::job::Ctx;
use inkstone_base::language::{Message, Word};
use inkstone_models::neural::LanguageKind;
use inkstone_models::ngram::LanguageModel;
use inkstone_models::{FastText, Lsa, ModelFile, Vectorizer, VectorizerParams, WordVectors, is_fasttext, is_vectors};
use inkstone_tui::{ModelCard, Tool};

/// The first bytes of a model file of this program.
const MAGIC: &[u8] = b"INKSTONE";
/// Folders below `models` that are looked through.
const DEEP: usize = 5;
/// Bytes of an ARPA file's head, which counts its n-grams.
const HEAD: u64 = 1 << 12;
/// Parameters that a card lists at the most.
const LISTED: usize = 40;

/// Questions to word vectors.
const WORD_TOOLS: [Tool; 3] = [Tool::Nearest, Tool::Analogy, Tool::Plane];

/// The models beside a configuration, in the folder `models` there and in `models` of the project, by their names.
pub(super) fn list(base: &Path, kept: &Path, ctx: &Ctx) -> Result<Vec<ModelCard>> {
    let mut cards = Vec::new();
    for (folder, deep) in [(base.to_owned(), 1), (base.join("models"), DEEP), (kept.join("models"), DEEP)] {
        // A folder that is not there holds no models.
        let visible = |entry: &DirEntry| entry.depth() == 0 || !entry.file_name().to_string_lossy().starts_with('.');
        let entries = WalkDir::new(&folder).min_depth(1).max_depth(deep).into_iter().filter_entry(visible);
        for entry in entries.filter_map(Result::ok).filter(|entry| entry.file_type().is_file()) {
            ctx.check()?;
            cards.extend(card(entry.path(), base));
        }
    }
    cards.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(cards)
}

/// The card of a file; none if it is not a model.
fn card(path: &Path, base: &Path) -> Option<ModelCard> {
    let mut start = Vec::new();
    File::open(path).ok()?.take(MAGIC.len() as u64).read_to_end(&mut start).ok()?;
    let extension = path.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
    let mut card = ModelCard {
        path: shown(path).into(),
        name: path.strip_prefix(base).map_or_else(|_| shown(path), shown),
        bytes: path.metadata().map(|about| about.len()).unwrap_or_default(),
        ..ModelCard::default()
    };
    let read = match extension {
        _ if start == MAGIC => ours(path, &mut card),
        "arpa" => arpa(path, &mut card),
        "bin" | "ftz" if is_fasttext(path).unwrap_or_default() => {
            card.kind = "fasttext".to_owned();
            card.tools = WORD_TOOLS.to_vec();
            sizes_of_fasttext(path, &mut card)
        }
        "vec" | "bin" if is_vectors(path).unwrap_or_default() => {
            card.kind = "vectors".to_owned();
            card.tools = WORD_TOOLS.to_vec();
            sizes_of_vectors(path, &mut card)
        }
        _ => return None,
    };
    if card.kind.ends_with("-checkpoint") {
        // The file of an interrupted training cannot be asked.
        return None;
    }
    if let Err(error) = read {
        card.fault = Some(Message::of_error(&error));
        card.tools.clear();
    }
    Some(card)
}

/// A model file of this program.
fn ours(path: &Path, card: &mut ModelCard) -> Result<()> {
    let file = ModelFile::open(path)?;
    let header = file.header();
    let params = &header.params;
    let method = params["method"].as_str().filter(|method| !method.is_empty());
    card.kind = method.unwrap_or(&header.kind).to_owned();
    card.fitted_until = header.fitted_until;
    card.documents = (header.documents > 0).then_some(header.documents);
    let strings = |section: &str| -> Option<u64> {
        Some(u64::from_le_bytes(file.bytes(section).ok()?.get(..8)?.try_into().ok()?))
    };
    let counted = || file.numbers::<u64>("counts").ok().map(|counts| counts.iter().sum()).filter(|sum| *sum > 0);
    match header.kind.as_str() {
        WordVectors::KIND => {
            (card.dim, card.words, card.tokens) = (params["dim"].as_u64(), strings("words"), counted());
            card.tools = WORD_TOOLS.to_vec();
        }
        FastText::KIND => {
            let sizes = sizes_within(file.bytes("model")?);
            (card.dim, card.words, card.tokens) =
                sizes.context(Word("其中的词典不完整", "the dictionary in it is cut short"))?;
            card.tools = WORD_TOOLS.to_vec();
        }
        LanguageModel::KIND => {
            let sizes = params["ngrams"].as_array().map_or(&[][..], Vec::as_slice);
            (card.dim, card.words) = (Some(sizes.len() as u64), sizes.first().and_then(Value::as_u64));
            card.tools = vec![Tool::Following, Tool::Surprise];
        }
        Lsa::KIND => {
            (card.dim, card.words) = (params["svd"]["dim"].as_u64(), strings("terms"));
            card.tools = WORD_TOOLS.to_vec();
        }
        Vectorizer::KIND => {
            card.words = strings("terms");
            let read = serde_json::from_value::<VectorizerParams>(params["vectorizer"].clone());
            card.kind = read.map_or(card.kind.clone(), |params| params.name().to_owned());
        }
        "doc2vec" => {
            let training = &params["training"];
            (card.dim, card.words, card.tokens) = (training["dim"].as_u64(), strings("words"), counted());
            card.tools = WORD_TOOLS.to_vec();
        }
        kind if LanguageKind::of_file(kind).is_some() => {
            let network = &params["network"];
            let dim = if kind == "rnnlm" { &network["hidden"] } else { &network["dim"] };
            (card.dim, card.words) = (dim.as_u64(), strings("words"));
            card.tools = WORD_TOOLS.into_iter().chain([Tool::Surprise]).collect();
        }
        _ => {}
    }
    card.spaced = params["cut"]["format"] == "tokens";
    leaves("", params, &mut card.params);
    card.params.truncate(LISTED);
    card.losses = losses(params).unwrap_or_default();
    Ok(())
}

/// Single values among the parameters, by name; of how text was cut only what changes from model to model.
fn leaves(name: &str, value: &Value, into: &mut Vec<(String, String)>) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields.iter().filter(|(name, _)| !matches!(name.as_str(), "key" | "losses" | "loss")) {
                leaves(name, value, into);
            }
        }
        Value::Array(values) if values.len() > 6 || values.iter().any(Value::is_object) => {}
        Value::Null => {}
        Value::Array(values) => {
            let texts: Vec<String> = values.iter().map(written).collect();
            if !texts.is_empty() {
                into.push((name.to_owned(), texts.join(",")));
            }
        }
        single => into.push((name.to_owned(), written(single))),
    }
}

fn written(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// The mean loss of each pass, wherever the parameters keep it.
fn losses(params: &Value) -> Option<Vec<f64>> {
    let fields = params.as_object()?;
    let own = ["losses", "loss"].iter().find_map(|name| fields.get(*name)?.as_array());
    let passes = || fields.get("epochs")?.as_array();
    let number = |value: &Value| value.as_f64().or_else(|| value["loss"].as_f64());
    let losses_here = own.or_else(passes).map(|values| values.iter().filter_map(number).collect::<Vec<f64>>());
    losses_here.filter(|losses| !losses.is_empty()).or_else(|| fields.values().find_map(losses))
}

/// The head of an ARPA file: `ngram 1=1234`, a line an order.
fn arpa(path: &Path, card: &mut ModelCard) -> Result<()> {
    card.kind = "ngram".to_owned();
    card.says_text = true;
    let mut sizes: Vec<u64> = Vec::new();
    for line in BufReader::new(File::open(path)?.take(HEAD)).split(b'\n') {
        let line = line?;
        let line = String::from_utf8_lossy(&line);
        match line.trim().strip_prefix("ngram ").and_then(|sizes| sizes.split_once('=')) {
            Some((_, size)) => sizes.push(
                size.trim().parse().context(Word("有一阶的大小不是数字", "the size of an order is not a number"))?,
            ),
            None if !sizes.is_empty() => break,
            None => {}
        }
    }
    card.dim = Some(sizes.len() as u64);
    card.words = Some(*sizes.first().context(Word(
        "它的头部没有 n 元组：没有 `ngram 1=1234` 这样的行",
        "its header names no n-grams: it has no line such as `ngram 1=1234`",
    ))?);
    card.tools = vec![Tool::Following, Tool::Surprise];
    Ok(())
}

/// The first line of word2vec's formats.
fn sizes_of_vectors(path: &Path, card: &mut ModelCard) -> Result<()> {
    let mut line = Vec::new();
    BufReader::new(File::open(path)?.take(HEAD)).read_until(b'\n', &mut line)?;
    let text = String::from_utf8_lossy(&line);
    let sizes: Option<Vec<u64>> = text.split_whitespace().map(|number| number.parse().ok()).collect();
    if let Some(&[words, dim]) = sizes.as_deref() {
        (card.words, card.dim) = (Some(words), Some(dim));
    }
    Ok(())
}

fn sizes_of_fasttext(path: &Path, card: &mut ModelCard) -> Result<()> {
    let mut start = Vec::new();
    File::open(path)?.take(HEAD).read_to_end(&mut start)?;
    (card.dim, card.words, card.tokens) =
        sizes_within(&start).context(Word("其中的词典不完整", "the dictionary in it is cut short"))?;
    Ok(())
}

/// Dimensions, words and tokens of fastText's format: its parameters are twelve numbers of four bytes, the first of them the
/// dimensions, and one of eight; then come the sizes of the dictionary.
fn sizes_within(bytes: &[u8]) -> Option<(Option<u64>, Option<u64>, Option<u64>)> {
    const DIM: usize = 8;
    const DICTIONARY: usize = DIM + 12 * 4 + 8;
    let four = |at: usize| Some(u64::from(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?)));
    let tokens = u64::from_le_bytes(bytes.get(DICTIONARY + 12..DICTIONARY + 20)?.try_into().ok()?);
    Some((four(DIM), four(DICTIONARY + 4), Some(tokens)))
}
