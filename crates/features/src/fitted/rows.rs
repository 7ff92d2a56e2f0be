//! Rows that models give, a row a document, and the names of their columns.

use std::borrow::Cow;

use inkstone_models::Csr;

/// The columns of a model's rows.
#[derive(Clone, Debug, PartialEq)]
pub enum Columns {
    /// Few values in many columns.
    Sparse {
        /// Empty when columns have no names (hashing).
        names: Vec<String>,
        width: usize,
    },
    /// A vector, a value a column under these names.
    Dense(Vec<String>),
    /// Figures under these names, after a text (such as a class) if there is one.
    Table { text: Option<String>, numbers: Vec<String> },
}

/// Some documents' rows, in order, of the kind that [`Columns`] says.
#[derive(Clone, Debug, PartialEq)]
pub enum Rows {
    /// A row a document.
    Sparse(Csr),
    /// `[documents, columns]`, row after row.
    Dense(Vec<f32>),
    /// Texts (none when there is no text column), and figures `[documents, columns]`, row after row; NaN is no value.
    Table { texts: Vec<String>, numbers: Vec<f64> },
}

/// Vectors under their words.
pub struct WordRows<'m> {
    pub words: &'m [Box<str>],
    /// `[words, dim]`, row by row.
    pub vectors: Cow<'m, [f32]>,
    pub dim: usize,
}
