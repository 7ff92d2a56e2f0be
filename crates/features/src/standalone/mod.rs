//! Work on plain files, without a project, that any model can do or that none is needed for: rows of documents, near words and documents,
//! similarity of pairs, projection, keywords, new words, vintages; and what the models share to read files.
//!
//! A line is a document. [`Lines`] reads them in blocks, so that no corpus has to fit in memory; [`Cutter`] makes tokens of them. [`Fitted`]
//! is a model of any kind in use. Not for: documents of a project, which come with codes and clean text (that is `extract`).

mod association;
pub(crate) mod coverage;
pub(crate) mod document_rows;
pub(crate) mod embed;
pub(crate) mod judged;
pub mod keywords;
pub(crate) mod mapper;
pub(crate) mod nearest;
pub mod newwords;
pub(crate) mod numbered;
pub(crate) mod output;
pub(crate) mod projection;
pub(crate) mod ratio;
mod retrieval;
pub(crate) mod returns;
pub(crate) mod shift;
pub(crate) mod similarity;
pub(crate) mod summaries;
pub mod vintages;
pub mod windows;
pub(crate) mod words;

pub use embed::embed;
pub use judged::{Judgements, evaluate_words};
pub use mapper::{
    FrameDocuments, FrameMapper, NightWatch, StreamColumns, map_arrow, map_tsv, model_columns, shanghai_times,
};
pub use nearest::{
    Named, Near, Sought, WordDistance, nearest_documents, nearest_to_sum, nearest_words, senses, words_by_distance,
};
pub use numbered::PhraseParams;
pub(crate) use output::write_rows;
pub use projection::{Projection, ProjectionMethod, ProjectionParams, Shown, project};
pub use ratio::{CooccurrenceRatio, cooccurrence_ratios};
pub use retrieval::retrieval;
pub use shift::{Shift, shifts, write_shifts};
pub use similarity::similarity;
pub use summaries::{SummaryTokens, evaluate_summaries};
pub use words::{Known, look_up};

pub use crate::fitted::{Columns, EvalParams, Figures, Fitted, Per, Rows, WordRows};
pub use crate::lines::{Block, CutSpec, Cutter, LATER, Line, LineFormat, Lines, Refused, Source};
