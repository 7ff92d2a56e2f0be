//! Contextual models through ONNX Runtime: any exported encoder or language model gives rows of numbers, entities or text.
//!
//! | file | content |
//! |---|---|
//! | `runtime/` | the library: found, installed, checked, loaded; needs of CUDA; the node on which each operator ran |
//! | `session.rs` | a graph on a device, one run after the other, ended at once when cancelled |
//! | `graph.rs`, `family.rs` | roles of inputs and outputs; facts of a model's family that its graph does not give |
//! | `windows.rs`, `batch.rs` | texts to windows of tokens, windows to batches within a budget |
//! | `embedding.rs`, `pooling.rs`, `task.rs`, `heads.rs` | vectors of tokens to a vector; logits to probabilities, entities, surprise |
//! | `entailment.rs`, `answers.rs`, `amounts.rs` | two texts in one input: labels by hypotheses, answers to a question, the number in one |
//! | `files.rs` | the files of a model, in every layout that is published |
//! | `architecture/` | graphs written for folders that hold weights in safetensors and no graph |
//! | `convert/` | models written as folders of their own, in half precision or whole numbers of 8 bits |
//! | `published.rs`, `layer.rs` | what a folder of sentence-transformers says of its vectors; layers behind the pooling |
//! | `settled.rs` | settings and what the folder says, as they are used |
//! | `model.rs` | a graph with its tokenizer |
//! | `encoder.rs` | [`Encoder`]: texts in, one row for each out |
//! | `header.rs`, `describe.rs` | description of a model, read from its file without the library; the models of a project |
//! | `probe.rs`, `meter.rs` | a model asked about one text; its speed and memory |
//! | `drift.rs` | distance of a smaller form of a model from the first |
//! | `mix.rs` | weights of layers learned for a task |
//! | `decode/`, `generator.rs`, `prompt.rs`, `chat.rs` | text out: prompts, chats; greedy and beam search, drawn texts, likelihoods of labels |
//! | `steps.rs`, `kept.rs` | the steps of a model that writes, and the keys and values that it keeps from step to step |
//!
//! ```no_run
//! use std::path::Path;
//!
//! use inkstone_base::job::Ctx;
//! use inkstone_onnx::{Device, Encoder, OnnxParams, Opening, Runtime, WordCutter};
//! use inkstone_text::Truncation;
//!
//! # fn main() -> anyhow::Result<()> {
//! let params = OnnxParams { model: "models/bert".into(), ..OnnxParams::default() };
//! let opening = Opening { runtime: Runtime::load(None)?, device: Device::default(), threads: 4, base: Path::new(".") };
//! let mut encoder = Encoder::open(&params, Truncation::Head(512), &|| Ok(WordCutter::Spaces), &opening)?;
//! let (rows, counts) = encoder.rows(&["公司净利润同比增长。"], &Ctx::new(4, 0)?, |_| Ok(()))?;
//! assert_eq!(rows.len(), encoder.columns().len());
//! println!("{} tokens", counts.tokens);
//! # Ok(())
//! # }
//! ```
//!
//! The crate `ort` is used nowhere else.

mod amounts;
mod answers;
mod architecture;
mod batch;
mod chat;
mod convert;
mod decode;
mod describe;
mod drift;
mod embedding;
mod encoder;
mod entailment;
mod family;
mod files;
mod generator;
mod graph;
mod header;
mod heads;
mod kept;
mod layer;
mod masked;
mod meter;
mod mix;
mod model;
mod params;
mod pooling;
mod probe;
mod prompt;
mod published;
pub mod runtime;
mod session;
mod settled;
mod steps;
mod task;
mod windows;

#[doc(hidden)]
pub mod testing;
#[cfg(test)]
mod tests;

pub use amounts::numbers_kept;
pub use answers::Answer;
pub use convert::{ConvertedGraph, Precision, convert};
pub use decode::{Drawing, EarlyStopping, Likelihood, SearchParams};
pub use describe::{Description, Head, Listed, Vocabulary, models};
pub use drift::{Drift, DriftFigures};
pub use encoder::{Encoder, TokenWeights, largest_weights};
pub use files::is_model_file;
pub use generator::{Generator, Written};
pub use header::{Header, Size, TensorInfo};
pub use heads::Entity;
pub use masked::{Guess, MaskedModel};
pub use meter::{Metered, Round, Sample, Until, meter};
pub use mix::{Layered, Mix, MixParams, learn_mix};
pub use model::Opening;
pub use params::{Activation, OnnxParams, Output, Over};
pub use pooling::{Layers, Pooling};
pub use probe::{Answered, Probe, Question, Reply};
pub use prompt::{PromptFields, PromptTemplate};
pub use runtime::{Device, LibraryRefused, NoRuntime, Runtime, RuntimeParams};
pub use session::Ran;
pub use settled::Settled;
pub use windows::{OpenWordCutter, WindowCounts, WordCutter};
