//! Models that turn tokens into numbers: TF-IDF rows, a lexicon's tone, and linear models fitted walk-forward.
//!
//! Takes tokens (`&[&str]`) or rows of token counts ([`Csr`]); gives sparse rows, a tone, or one score a document.
//! Whatever is fitted carries `fitted_until`, the last moment of the data it saw. Not for: cutting text (that is
//! `text`), or turning documents into a factor by date and code (that is `factor`).

mod cooccurrence;
mod explain;
mod file;
mod lexicon;
mod linear;
mod lsa;
mod nearest;
mod npz;
mod sparse;
mod svd;
mod vectorize;
mod walk_forward;

pub(crate) use cooccurrence::PairWords;
pub use cooccurrence::{Cooccurrence, CooccurrenceParams, PairCounter, PairWeighting, Ppmi, PpmiModel, PpmiParams};
pub use explain::{Explanation, Part};
pub use file::{ModelFile, ModelHeader, pack_strings, write_model};
pub use lexicon::{Hit, Lexicon, LexiconParams, Tone, ToneScale};
pub use linear::{Convergence, Linear, LinearParams, logistic, ridge};
pub use lsa::Lsa;
pub(crate) use lsa::component_names;
pub use nearest::{Nearest, Neighbour};
pub(crate) use npz::npy_header;
pub use npz::{NpzWriter, read_npz, write_npz};
pub use sparse::{Csr, Row};
pub use svd::SvdParams;
pub(crate) use svd::{RowsWriter, SparseRows};
pub use vectorize::{
    Analyzer, Fields, Formula, Norm, Preset, TermCounts, Unit, Vectorizer, VectorizerParams, Weighting,
};
pub use walk_forward::{
    Fold, FoldReport, LabelForm, Predictions, Sample, Target, TextModel, TextRegression, WalkForward, fit_predict,
};
