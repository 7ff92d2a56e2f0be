//! Contextual models in the ONNX format.

pub(crate) mod pieces;
pub(crate) mod plain;
pub(crate) mod project;
mod weights;

pub use plain::{
    Contextual, Examination, ExplainUnit, FittedOnnx, LearnedMix, Reranker, fill_masks, generate, is_onnx,
    list_entities, train_mix,
};
pub(crate) use plain::{ListedNames, NamedPart, evaluate_names, list_names, right_entities};
