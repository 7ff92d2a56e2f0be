//! Models that turn tokens into numbers: TF-IDF rows, a lexicon's tone, and linear models fitted walk-forward.
//!
//! Takes tokens (`&[&str]`) or rows of token counts ([`Csr`]); gives sparse rows, a tone, or one score a document.
//! Whatever is fitted carries `fitted_until`, the last moment of the data it saw. Not for: cutting text (that is
//! `text`), or turning documents into a factor by date and code (that is `factor`).

mod explain;
mod file;
mod lexicon;
mod linear;
mod npz;
mod sparse;
mod vectorize;
mod walk_forward;

pub use explain::{Explanation, Part};
pub use file::{ModelFile, ModelHeader, pack_strings, write_model};
pub use lexicon::{Hit, Lexicon, LexiconParams, Tone, ToneScale};
pub use linear::{Convergence, Linear, LinearParams, logistic, ridge};
pub(crate) use npz::npy_header;
pub use npz::{NpzWriter, read_npz, write_npz};
pub use sparse::{Csr, Row};
pub use vectorize::{
    Analyzer, Fields, Formula, Norm, Preset, TermCounts, Unit, Vectorizer, VectorizerParams, Weighting,
};
pub use walk_forward::{
    Fold, FoldReport, LabelForm, Predictions, Sample, Target, TextModel, TextRegression, WalkForward, fit_predict,
};
