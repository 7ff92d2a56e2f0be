//! Contextual models through ONNX Runtime: any exported encoder or language model as rows of numbers.
//!
//! | file | what |
//! |---|---|
//! | `runtime/` | the library: found, installed, checked, loaded; what CUDA needs; which node ran where |
//! | `session.rs` | a graph on a device, one run after the other, ended at once when cancelled |
//! | `graph.rs`, `family.rs` | what inputs and outputs are for, and what a graph does not say of its family |
//! | `windows.rs`, `batch.rs` | texts to windows of tokens, windows to batches within a budget |
//! | `pooling.rs`, `task.rs`, `heads.rs` | vectors of tokens to a vector; logits to probabilities, entities, surprise |
//! | `model.rs` | a graph with its tokenizer |
//! | `encoder.rs` | all of it: texts in, a row each out |
//! | `header.rs`, `describe.rs` | what a model is, read off its file without the library; the models of a project |
//! | `probe.rs`, `meter.rs` | a model asked about one text; how fast it reads, and in what memory |
//! | `drift.rs` | how far a smaller form of a model is from the first |
//! | `mix.rs` | weights of layers learned for a task |
//! | `decode/`, `generator.rs` | text out: greedy and beam search |
//!
//! The crate `ort` is used nowhere else.

mod batch;
mod decode;
mod describe;
mod drift;
mod encoder;
mod family;
mod generator;
mod graph;
mod header;
mod heads;
mod masked;
mod meter;
mod mix;
mod model;
mod params;
mod pooling;
mod probe;
pub mod runtime;
mod session;
mod task;
mod windows;

#[cfg(any(test, feature = "testing"))]
pub mod testing;
#[cfg(test)]
mod tests;

pub use decode::{EarlyStopping, SearchParams};
pub use describe::{Description, Head, Listed, Vocabulary, models};
pub use drift::{Drift, DriftFigures};
pub use encoder::Encoder;
pub use generator::{Generator, Written};
pub use header::{Header, Size, TensorInfo};
pub use heads::Entity;
pub use masked::{Guess, MaskedModel};
pub use meter::{Metered, Round, Sample, Until, meter};
pub use mix::{Layered, Mix, MixParams, learn_mix};
pub use model::Opening;
pub use params::{Activation, OnnxParams, Output, Over};
pub use pooling::{Layers, Taken};
pub use probe::{Answered, Probe, Question, Reply};
pub use runtime::{Device, Runtime, RuntimeParams};
pub use session::Ran;
pub use windows::{Cutter, Seen, Words};
