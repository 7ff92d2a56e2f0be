//! The models of texts, a folder or a file each.
//!
//! In a folder, `project` computes the model's feature for the corpus of a project (a `[[feature]]`), and `plain` trains, reads and applies
//! the same model on plain files (`train`, `embed`, `eval`, `explain`). Two registries name all: `registry` the models of features, `open` the
//! kinds of model files.

pub mod clusters;
pub mod crf;
pub mod doc2vec;
pub mod estimators;
pub mod fasttext;
pub mod file;
pub mod glove;
pub mod head;
pub mod induced;
pub mod lexicon;
pub mod lsa;
pub mod neural;
pub mod ngram;
pub mod onnx;
pub(crate) mod open;
pub mod pooling;
pub mod ppmi;
mod registry;
pub mod sentences;
pub mod sestm;
pub mod static_encoder;
pub mod textnet;
pub mod tfidf;
pub mod transformer;
pub mod word2vec;
pub(crate) mod word_vectors;

pub use open::{open_cluster_rows, open_encoder, open_model, open_with};
