//! What tests of models need: the library, and the reference graphs.

use std::path::{Path, PathBuf};
use std::sync::Once;

use super::runtime::{Runtime, RuntimeParams, install};
use super::{Encoder, OnnxParams, Opening, Words};
use crate::job::Ctx;
use crate::text::Truncation;

/// The library: one that is on this machine, else one that is installed beside the build.
pub(crate) fn runtime() -> &'static Runtime {
    static INSTALLED: Once = Once::new();
    let beside = std::env::current_exe().unwrap().ancestors().nth(3).unwrap().join("onnxruntime");
    INSTALLED.call_once(|| {
        if Runtime::load(None).is_err() && !beside.exists() {
            install(&beside, false, &Ctx::new(1, 1).unwrap()).unwrap();
        }
    });
    Runtime::load(Some(&beside).filter(|folder| folder.exists()).map(PathBuf::as_path)).unwrap()
}

/// The folder of a reference graph.
pub(crate) fn graph(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/reference/onnx").join(name)
}

/// The library on the processor.
pub(crate) fn opening() -> Opening<'static> {
    Opening { runtime: runtime(), device: super::Device::Cpu, threads: 2, base: Path::new("") }
}

/// A reference graph, opened.
pub(crate) fn encoder(params: &OnnxParams) -> anyhow::Result<Encoder> {
    Encoder::open(params, Truncation::None, &|| Ok(Words::Spaces), &opening())
}

/// Settings for a reference graph.
pub(crate) fn params(name: &str) -> OnnxParams {
    OnnxParams { model: graph(name), ..OnnxParams::default() }
}

/// The defaults with a library that is there.
pub(crate) fn section() -> RuntimeParams {
    RuntimeParams { library: Some(runtime().library.clone()), ..RuntimeParams::default() }
}
