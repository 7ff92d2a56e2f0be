//! Models of ONNX: their header, and the config.json beside them.

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
        let folder = path.parent().expect("a temporary folder");
        let listed = models(folder, &[], ctx()).expect("a folder can be looked into");
        assert_eq!(listed.len(), 1);
    });
}
