//! Helpers for tests of models: the library, and the reference graphs.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use super::runtime::{Runtime, RuntimeParams, install};
use super::{Encoder, OnnxParams, Opening, WordCutter};
use inkstone_base::job::Ctx;
use inkstone_text::Truncation;

pub use inkstone_testing::not_tried;

/// The library: one that is on this machine, else one that is installed beside the build as `doctor --fix` installs it; or why there is
/// none.
fn library() -> Result<&'static Runtime, &'static str> {
    static LIBRARY: OnceLock<Result<&'static Runtime, String>> = OnceLock::new();
    let found = LIBRARY.get_or_init(|| {
        let beside = std::env::current_exe().unwrap().ancestors().nth(3).unwrap().join("onnxruntime");
        if Runtime::load(None).is_err() && !beside.exists() {
            install(&beside, false, &Ctx::new(1, 1).unwrap()).map_err(|error| format!("{error:#}"))?;
        }
        Ok(Runtime::load(Some(&beside).filter(|folder| folder.exists()).map(PathBuf::as_path)).unwrap())
    });
    found.as_ref().copied().map_err(String::as_str)
}

/// True if there is a library; otherwise the test of this thread is listed as not tried.
pub fn has_library() -> bool {
    library().map_err(not_tried).is_ok()
}

/// The library, in tests that have asked whether there is one.
pub fn runtime() -> &'static Runtime {
    library().unwrap()
}

pub fn graph(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/reference/onnx").join(name)
}

/// A model that reads two texts, or another file of its reference.
pub fn pair_model(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/reference/pairs").join(name)
}

pub fn opening() -> Opening<'static> {
    Opening { runtime: runtime(), device: super::Device::Cpu, threads: 2, base: Path::new("") }
}

pub fn encoder(params: &OnnxParams) -> anyhow::Result<Encoder> {
    Encoder::open(params, Truncation::None, &|| Ok(WordCutter::Spaces), &opening())
}

pub fn params(name: &str) -> OnnxParams {
    OnnxParams { model: graph(name), ..OnnxParams::default() }
}

/// The defaults with a library, where there is one.
pub fn section() -> RuntimeParams {
    let library = library().ok().map(|runtime| runtime.library.clone());
    RuntimeParams { library, trusted: true, ..RuntimeParams::default() }
}

/// A field of bytes, as protocol buffers write it.
pub fn field(number: u64, bytes: &[u8]) -> Vec<u8> {
    [varint((number << 3) | 2), varint(bytes.len() as u64), bytes.to_vec()].concat()
}

fn varint(mut value: u64) -> Vec<u8> {
    let mut written = Vec::new();
    while value > 0x7f {
        written.push(value as u8 | 0x80);
        value >>= 7;
    }
    written.push(value as u8);
    written
}

/// The fields of a message: number, all bytes of the field, and those of its value where it is of bytes.
fn fields(message: &[u8]) -> Vec<(u64, &[u8], Option<&[u8]>)> {
    let mut at = 0;
    let number = |at: &mut usize| {
        let (mut value, mut shift) = (0u64, 0);
        loop {
            let byte = message[*at];
            *at += 1;
            value |= u64::from(byte & 0x7f) << shift;
            shift += 7;
            if byte & 0x80 == 0 {
                return value;
            }
        }
    };
    let mut found = Vec::new();
    while at < message.len() {
        let begin = at;
        let tag = number(&mut at);
        let mut value = None;
        match tag & 7 {
            0 => {
                number(&mut at);
            }
            1 => at += 8,
            2 => {
                let length = number(&mut at) as usize;
                value = Some(&message[at..at + length]);
                at += length;
            }
            _ => at += 4,
        }
        found.push((tag >> 3, &message[begin..at], value));
    }
    found
}

/// Copies the reference graph `bert` with its tokenizer to a folder, a file for each weight below `weights/`, and gives their number.
pub fn with_weights_in_files(folder: &Path) -> usize {
    for file in ["config.json", "tokenizer.json"] {
        std::fs::copy(graph("bert").join(file), folder.join(file)).unwrap();
    }
    std::fs::create_dir_all(folder.join("weights")).unwrap();
    let graph_bytes = std::fs::read(graph("bert").join("model.onnx")).unwrap();
    let (mut model, mut count) = (Vec::new(), 0);
    for (number, bytes, value) in fields(&graph_bytes) {
        let Some(value) = value.filter(|_| number == 7) else {
            model.extend_from_slice(bytes);
            continue;
        };
        let mut graph = Vec::new();
        for (number, bytes, value) in fields(value) {
            let raw = |tensor| fields(tensor).into_iter().find(|(number, ..)| *number == 9).and_then(|(.., raw)| raw);
            // Weights of a hundred bytes and more; shapes and the like stay where they are.
            let found = value.filter(|_| number == 5).and_then(|tensor| Some((tensor, raw(tensor)?)));
            let Some((tensor, raw)) = found.filter(|(_, raw)| raw.len() >= 100) else {
                graph.extend_from_slice(bytes);
                continue;
            };
            let location = format!("weights/{count}");
            std::fs::write(folder.join(&location), raw).unwrap();
            let kept = fields(tensor).into_iter().filter(|(number, ..)| *number != 9);
            let mut tensor: Vec<u8> = kept.flat_map(|(_, bytes, _)| bytes.to_vec()).collect();
            tensor.extend(field(13, &[field(1, b"location"), field(2, location.as_bytes())].concat()));
            tensor.extend([14 << 3, 1]);
            graph.extend(field(5, &tensor));
            count += 1;
        }
        model.extend(field(7, &graph));
    }
    std::fs::write(folder.join("model.onnx"), model).unwrap();
    count
}
