//! fastText: classifiers of texts, and word vectors that know the characters of words.
//!
//! Joulin, Grave, Bojanowski, Mikolov (2017), Bag of Tricks for Efficient Text Classification; Bojanowski and others (2017),
//! Enriching Word Vectors with Subword Information; Joulin and others (2016), FastText.zip. A text or a word is the mean of
//! the vectors of its features (`dictionary`); labels or neighbouring words are predicted from that. `file` reads and writes the
//! `.bin` and `.ftz` files of fastText 0.9, and what is predicted here and there agrees in the last digits of an f32.
//!
//! Training goes text by text in one order, so its bytes never depend on threads. It is quick since features are found once, not
//! once an epoch, and since only buckets that occur have rows in memory.

mod dictionary;
mod explain;
mod file;
mod kernels;
mod loss;
mod matrix;
mod params;
mod predict;
mod quantise;
mod quantiser;
mod supervised;
#[cfg(test)]
mod tests;
mod tree;
mod words;

pub use dictionary::{Dictionary, END_OF_LINE};
pub use file::is_fasttext;
pub use params::{FastTextParams, Form, Loss};
pub use quantise::QuantiseParams;
pub use supervised::Samples;
pub use supervised::train_supervised;
pub use words::train_words;

use anyhow::Result;

use crate::{Training, WordVectors};

use matrix::Matrix;
use tree::Tree;

use inkstone_base::ensure;

/// A fastText model of any kind.
#[derive(Clone, Debug)]
pub struct FastText {
    params: FastTextParams,
    dictionary: Dictionary,
    /// `[features, dim]`.
    input: Matrix,
    /// `[outputs, dim]`: labels or words, or inner nodes of the tree.
    output: Matrix,
    tree: Option<Tree>,
}

/// fastText's logarithm, kept away from that of 0. Base e.
fn log(x: f32) -> f32 {
    (f64::from(x) + 1e-5).ln() as f32
}

impl FastText {
    /// The vectors of its words, without those of its n-grams; `training` says how they came about.
    pub fn vectors(&self, training: Training) -> Result<WordVectors> {
        let (words, counts) = (self.dictionary.words().to_vec(), self.dictionary.word_counts().to_vec());
        WordVectors::new(words, counts, self.params.dim, self.word_vectors(), training)
    }

    fn from_parts(params: FastTextParams, dictionary: Dictionary, input: Matrix, output: Matrix) -> Result<FastText> {
        let supervised = params.form == Form::Supervised;
        let (counts, what) = match supervised {
            true => (dictionary.label_counts(), "labels"),
            false => (dictionary.word_counts(), "words"),
        };
        ensure!(!counts.is_empty(), "没有{what}", "there are no {what}");
        for (name, matrix, rows) in [("input", &input, dictionary.rows()), ("output", &output, counts.len())] {
            ensure!(
                matrix.rows() == rows && matrix.dim() == params.dim,
                "矩阵 {name} 为 {} x {}，而词典与参数要求 {rows} x {}",
                "the {name} matrix is {} x {}, but the dictionary and the parameters ask for {rows} x {}",
                matrix.rows(),
                matrix.dim(),
                params.dim
            );
        }
        let tree = if params.loss == Loss::Hs { Some(Tree::of_file(counts)?) } else { None };
        Ok(FastText { params, dictionary, input, output, tree })
    }

    pub fn params(&self) -> &FastTextParams {
        &self.params
    }

    pub fn dictionary(&self) -> &Dictionary {
        &self.dictionary
    }

    /// True if it predicts labels.
    pub fn is_supervised(&self) -> bool {
        self.dictionary.is_supervised()
    }

    /// Words and n-grams with a vector.
    pub fn rows(&self) -> usize {
        self.dictionary.trained_rows()
    }

    /// True if its matrices are codes of a product quantiser.
    pub(crate) fn is_quantised(&self) -> bool {
        self.input.is_quantised()
    }

    /// The names of the labels, without what fastText puts before them.
    pub fn label_names(&self) -> Vec<&str> {
        let labels = self.dictionary.labels().iter();
        labels.map(|label| label.strip_prefix(&*self.params.label).unwrap_or(label)).collect()
    }
}
