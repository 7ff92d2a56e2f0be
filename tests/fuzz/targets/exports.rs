//! Models of ONNX: their header, and the config.json beside them.

use std::path::Path;

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
    });
}

/// The files of a folder of sentence-transformers, in the order in which the bytes of [`APART`] keep them apart.
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
        for (name, bytes) in PUBLISHED.iter().zip(bytes.splitn(PUBLISHED.len(), |&byte| byte == APART)) {
            let file = path.with_file_name(name);
            let folder = file.parent().expect("a file lies in a folder");
            std::fs::create_dir_all(folder).and_then(|()| std::fs::write(&file, bytes)).expect("a temporary folder");
        }
        listed(path);
    });
}

/// Lists the one model of a folder, which may be refused.
fn listed(file: &Path) {
    let folder = file.parent().expect("a temporary folder");
    let listed = models(folder, &[], ctx()).expect("a folder can be looked into");
    assert!(listed.len() <= 1);
}
