//! Models of other tools: files of ONNX, and folders of transformers, sentence-transformers and model2vec.

use std::path::Path;

use inkstone_models::StaticEncoder;
use inkstone_models::transformer::{EncoderFolder, Seq2SeqFolder, TextGoal, TokenTexts};
use inkstone_onnx::{Header, models};

use super::{ctx, with_file};

pub(super) fn header(bytes: &[u8]) {
    with_file("model.onnx", bytes, |path| {
        let Ok(header) = Header::read(path) else { return };
        assert!(!header.outputs.is_empty());
        header.precision();
        assert_eq!(Header::read(path).expect("what was read can be read again"), header);
    });
}

pub(super) fn config(bytes: &[u8]) {
    with_file("config.json", bytes, |path| {
        let model = path.with_file_name("model.onnx");
        std::fs::write(&model, include_bytes!("../../reference/onnx/bert-classifier/model.onnx"))
            .expect("a file in a temporary folder");
        listed(path);
    });
}

/// config.json and, behind the first zero byte, model.safetensors: a graph is written for them, or the folder is refused.
pub(super) fn weights(bytes: &[u8]) {
    let (config, weights) = bytes.split_at(bytes.iter().position(|&byte| byte == 0).unwrap_or(bytes.len()));
    with_file("config.json", config, |path| {
        let written = std::fs::write(path.with_file_name("model.safetensors"), weights.get(1..).unwrap_or_default());
        written.expect("a file in a temporary folder");
        listed(path);
        read_to_train_on(path.parent().expect("a temporary folder"));
    });
}

/// Reads an encoder to be trained on, which may be refused.
fn read_to_train_on(folder: &Path) {
    if let Ok(folder) = Seq2SeqFolder::open(folder) {
        folder.read().ok();
    }
    let Ok(folder) = EncoderFolder::open(folder) else { return };
    folder.files.fitted_until().ok();
    let Ok(encoder) = folder.read(folder.of_texts(TextGoal::Classes(2)), 1) else { return };
    if folder.most_tokens() > 1 {
        let texts = TokenTexts { tokens: &[0, 0], frozen: None };
        assert_eq!(encoder.scores(texts, &[0..2], ctx()).expect("a text of known tokens").len(), 2);
    }
}

/// The files of a folder of sentence-transformers, which lie behind each other with [`APART`] between them.
const PUBLISHED: [&str; 6] = [
    "modules.json",
    "1_Pooling/config.json",
    "config_sentence_transformers.json",
    "sentence_bert_config.json",
    "2_Dense/config.json",
    "2_Dense/model.safetensors",
];
/// A byte that JSON does not have.
const APART: u8 = 0xff;

pub(super) fn published(bytes: &[u8]) {
    with_file("config.json", include_bytes!("../../reference/onnx/bert/config.json"), |path| {
        let graph = include_bytes!("../../reference/onnx/bert/model.onnx");
        std::fs::write(path.with_file_name("model.onnx"), graph).expect("a file in a temporary folder");
        write_apart(path, &PUBLISHED, bytes);
        listed(path);
    });
}

/// The files of a folder of model2vec; in one of sentence-transformers `modules.json` stands in place of `config.json`.
const STATIC: [&str; 4] = ["config.json", "modules.json", "tokenizer.json", "model.safetensors"];

pub(super) fn static_encoder(bytes: &[u8]) {
    with_file("README.md", b"", |path| {
        write_apart(path, &STATIC, bytes);
        let folder = path.parent().expect("a temporary folder");
        let Ok(encoder) = StaticEncoder::open(folder) else { return };
        for text in ["公司净利润同比增长 12%", ""] {
            let Ok(row) = encoder.row(text) else { continue };
            assert_eq!(row.len(), encoder.dim());
            encoder.parts(text).expect("the tokens of a text that has a vector");
            encoder.explain(text, Some(0)).expect("a vector has a first component");
        }
    });
}

/// Writes the files of a folder, beside a file in it.
fn write_apart(beside: &Path, names: &[&str], bytes: &[u8]) {
    for (name, bytes) in names.iter().zip(bytes.splitn(names.len(), |&byte| byte == APART)) {
        let file = beside.with_file_name(name);
        let folder = file.parent().expect("a file lies in a folder");
        std::fs::create_dir_all(folder).and_then(|()| std::fs::write(&file, bytes)).expect("a temporary folder");
    }
}

/// Lists the one model of a folder, which may be refused.
fn listed(file: &Path) {
    let folder = file.parent().expect("a temporary folder");
    let listed = models(folder, &[], ctx()).expect("a folder can be looked into");
    assert!(listed.len() <= 1);
}
