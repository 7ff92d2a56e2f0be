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
//! | `drift.rs` | how far a smaller form of a model is from the first |
//! | `mix.rs` | weights of layers learned for a task |
//! | `decode/`, `generator.rs` | text out: greedy and beam search |
//!
//! The crate `ort` is used nowhere else.

mod batch;
mod decode;
mod drift;
mod encoder;
mod family;
mod generator;
mod graph;
mod heads;
mod masked;
mod mix;
mod model;
mod params;
mod pooling;
pub mod runtime;
mod session;
mod task;
mod windows;

#[cfg(test)]
pub(crate) mod testing;
#[cfg(test)]
mod tests;

pub use decode::{EarlyStopping, SearchParams};
pub(crate) use drift::{Drift, DriftFigures};
pub use encoder::Encoder;
pub use generator::{Generator, Written};
pub use heads::Entity;
pub use masked::MaskedModel;
pub use mix::{Layered, Mix, MixParams, learn_mix};
pub use model::Opening;
pub use params::{Activation, OnnxParams, Output, Over};
pub use pooling::{Layers, Taken};
pub use runtime::{Device, Runtime, RuntimeParams};
pub use session::Ran;
pub use windows::{Cutter, Seen, Words};
