//! Models on plain files, without a project: lines in, a fitted model or a table of rows out.
//!
//! A line is a document. [`Lines`] reads them in blocks, so that no corpus has to fit in memory; [`Cutter`]
//! makes tokens of them. Each model's file here joins reader, cutter and the model itself (`inkstone_models`). [`Fitted`] is a model of any
//! kind in use. Not for: documents of a project, which come with codes and clean text (that is `extract`).

pub mod classify;
mod coverage;
pub mod doc2vec;
mod document_rows;
mod embed;
pub mod fasttext;
pub mod glove;
pub mod head;
mod judged;
pub mod keywords;
pub mod lexicon;
pub mod lsa;
mod nearest;
pub mod neural;
pub mod newwords;
mod ngram;
pub(crate) mod ngram_eval;
mod numbered;
pub mod onnx;
pub(crate) mod open;
mod output;
pub mod pooling;
pub mod ppmi;
mod projection;
mod returns;
pub mod sestm;
mod shift;
mod similarity;
mod spill;
pub(crate) mod static_encoder;
mod summaries;
pub mod textnet;
pub mod tone;
pub mod vectorize;
pub(crate) mod vectors;
pub mod vintages;
pub mod windows;
pub mod word2vec;
mod words;

pub use embed::embed;
pub use judged::{Judgements, evaluate_words};
pub use nearest::{Named, Near, Sought, nearest_documents, nearest_to_sum, nearest_words};
pub use ngram::{HeldOut, train_ngram};
pub use ngram_eval::open_language_model;
pub use numbered::PhraseParams;
pub use open::{open_encoder, open_model, open_with};
pub(crate) use output::write_rows;
pub use projection::{Projection, ProjectionMethod, ProjectionParams, Shown, project};
pub use shift::{Shift, shifts, write_shifts};
pub use similarity::similarity;
pub use summaries::{SummaryTokens, evaluate_summaries};
pub use words::{Known, look_up};

pub use crate::fitted::{Columns, EvalParams, Figures, Fitted, Per, Rows, WordRows};
pub use crate::lines::{Block, CutSpec, Cutter, LATER, Line, LineFormat, Lines, Refused, Source};
