//! Co-occurrence of words: counts, positive pointwise mutual information, vectors.
//!
//! Two words of a document co-occur when at most `window` kept words lie from one to the other; words outside the vocabulary
//! are taken out first, as word2vec and GloVe do. The matrix is symmetric and its diagonal counts each pair twice, as if every
//! word looked both ways. Counts are whole multiples of a unit, so that no order of adding changes them.

mod count;
mod ppmi;

use std::path::Path;

use anyhow::Result;
use serde::{Deserialize, Serialize};

pub use count::PairCounter;
pub use ppmi::{Ppmi, PpmiParams};

use super::SparseRows;
use super::svd::BLOCK;
use super::{Csr, NpzWriter};
use inkstone_base::job::Ctx;

/// The count of a pair at a distance of `d` words.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
#[serde(rename_all = "lowercase")]
pub enum PairWeighting {
    /// 1, as Levy and Goldberg count.
    #[default]
    Uniform,
    /// 1 / d, as GloVe counts.
    Harmonic,
}

params! {
    /// Parameters of the counting of pairs of words.
    #[derive(Eq)]
    pub struct CooccurrenceParams {
        /// Words from one of a pair to the other at the most.
        ///
        /// 词对两词之间的最大距离（词数）。
        window: usize = 5, number("N", "--window");
        /// Weight of a pair: uniform (1) or harmonic (1 / distance, as GloVe).
        ///
        /// 词对的权重：uniform（1）或 harmonic（1 / 距离，同 GloVe）。
        weighting: PairWeighting = PairWeighting::Uniform, choice();
        /// Leave out words that occur less often.
        ///
        /// 舍弃出现次数更少的词。
        min_count: u64 = 5, number("N", "feature.words.min_count");
        /// Keep at the most this many words, the most frequent; 0 keeps all.
        ///
        /// 最多保留这么多词，取最常见者；0 为全部。
        max_words: usize = 0, number("N", "feature.words.max_words");
        /// Memory for pairs that are not yet sorted, in MB; more goes to scratch files beside the output.
        ///
        /// 未排序的词对所用的内存（MB）；超出的写到旁边的临时文件。
        memory: usize = 1024, number("MB", "--memory");
    }
}

/// The counted pairs, `[words, words]`.
pub struct Cooccurrence {
    /// Row `i` has the count of word `i` with each word that it met.
    rows: SparseRows,
    sums: Vec<f64>,
}

impl Cooccurrence {
    /// Pairs that occurred, each of both orders.
    pub fn pairs(&self) -> u64 {
        self.rows.entries()
    }

    /// The counts, a row a word.
    pub fn rows(&self) -> &SparseRows {
        &self.rows
    }

    /// Writes the counts as `.npz`, rows and columns under their words.
    pub fn write_npz(&self, path: &Path, words: &[Box<str>], ctx: &Ctx) -> Result<()> {
        write_words(&self.rows, path, words, ctx)
    }

    pub fn total(&self) -> f64 {
        self.sums.iter().sum()
    }
}

/// Writes a matrix of words by words as `.npz`, rows and columns under their words.
fn write_words(matrix: &SparseRows, path: &Path, words: &[Box<str>], ctx: &Ctx) -> Result<()> {
    let mut out = NpzWriter::create(path, matrix.cols())?;
    for block in 0..matrix.blocks() {
        ctx.check()?;
        let mut rows = Csr::new(matrix.cols());
        matrix.block(block).for_each(|row| rows.push_row(row.iter()));
        let first = block * BLOCK;
        out.push(&rows, words[first..first + rows.rows()].iter().map(AsRef::as_ref))?;
    }
    out.finish(Some(words.iter().map(AsRef::as_ref)))
}
