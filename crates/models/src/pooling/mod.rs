//! Documents from the vectors of their words: mean, maximum, mean weighted by inverse document frequency, and SIF.
//!
//! A document is the multiset of its known words. SIF (Arora, Liang and Ma 2017, "A simple but tough-to-beat baseline for sentence
//! embeddings") weighs a word by `a / (a + p)`, where p is its share of the words of the text that the pooling was fitted on, and takes
//! off what all documents have in common: their projection on the leading right singular vectors of the fitted documents, not
//! centred. Weights and common part are fitted, so a pooling has a last time like every fitted model.

mod file;
mod fit;

use anyhow::Result;
use nalgebra::{DMatrix, SymmetricEigen};
use serde::{Deserialize, Serialize};

use super::{Explanation, Part, WordVectors};

pub use fit::PooledText;

use inkstone_base::language::Word;
use inkstone_base::{ensure, message};

/// How the vectors of words become one of a document.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
#[serde(rename_all = "lowercase")]
pub enum PoolingForm {
    /// The mean.
    Mean,
    /// The largest value in each dimension.
    Max,
    /// The mean weighted by `ln((1 + documents) / (1 + document frequency)) + 1`, as scikit-learn's TF-IDF.
    Tfidf,
    /// Smooth inverse frequency, less the common part.
    #[default]
    Sif,
}

params! {
    /// Parameters of a pooling.
    pub struct PoolingParams {
        /// How the vectors of words become one of a document.
        ///
        /// 词向量合成文档向量的方法。
        form: PoolingForm = PoolingForm::Sif, choice(long = "pooling", value_name = "FORM");
        /// SIF weighs a word by a / (a + its share of the text).
        ///
        /// SIF 以 a / (a + 词在文本中的占比) 给词加权。
        a: f64 = 1e-3, number("X", "feature.pooling.a");
        /// Directions common to all documents that SIF takes off.
        ///
        /// SIF 去掉的、全部文档共有的方向数。
        components: usize = 1, number("N", "feature.pooling.components");
    }
}

impl PoolingParams {
    /// Fails when they cannot be used with vectors of so many values.
    pub fn check(&self, dim: usize) -> Result<()> {
        ensure!(
            self.a > 0.0 && self.a.is_finite(),
            "a = {} 须为大于 0 的数（--a）",
            "a = {} must be a number above 0 (--a)",
            self.a
        );
        ensure!(
            self.components < dim,
            "去掉 {} 个公共方向后 {dim} 维不剩什么；请选小于 {dim} 的 --components",
            "{} common directions leave nothing of {dim} dimensions; choose --components below {dim}",
            self.components
        );
        Ok(())
    }

    /// True if anything is learned from a text.
    pub fn learns(&self) -> bool {
        matches!(self.form, PoolingForm::Tfidf | PoolingForm::Sif)
    }
}

/// Counts of words in the documents that a pooling is fitted on.
struct WordCounts {
    /// Occurrences, by the word's place among the vectors.
    counts: Vec<u64>,
    /// Documents with the word.
    documents_with: Vec<u64>,
    /// Occurrences of all words, those without a vector included.
    tokens: u64,
    documents: u64,
}

/// A fitted pooling with the vectors that it pools.
#[derive(Clone, Debug)]
pub struct Pooling {
    vectors: WordVectors,
    params: PoolingParams,
    /// A word's weight, by its place.
    weights: Vec<f32>,
    /// Directions that are taken off, `[components, dim]`, each of length 1.
    common: Vec<f32>,
    documents: u64,
    fitted_until: Option<chrono::NaiveDateTime>,
}

impl Pooling {
    /// Weighs the words; SIF's common part is learned by [`Pooling::learn_common`].
    fn new(
        vectors: WordVectors,
        counts: &WordCounts,
        fitted_until: Option<chrono::NaiveDateTime>,
        params: &PoolingParams,
    ) -> Result<Pooling> {
        params.check(vectors.dim())?;
        let weight = |word: usize| match params.form {
            PoolingForm::Mean | PoolingForm::Max => 1.0,
            PoolingForm::Tfidf => ((1 + counts.documents) as f64 / (1 + counts.documents_with[word]) as f64).ln() + 1.0,
            PoolingForm::Sif => params.a / (params.a + counts.counts[word] as f64 / counts.tokens.max(1) as f64),
        };
        Ok(Pooling {
            weights: (0..vectors.words().len()).map(|word| weight(word) as f32).collect(),
            common: Vec::new(),
            documents: counts.documents,
            fitted_until,
            params: params.clone(),
            vectors,
        })
    }

    /// True if there is a common part to learn.
    fn has_common(&self) -> bool {
        self.params.form == PoolingForm::Sif && self.params.components > 0
    }

    /// Learns the common directions from the sum of the products of all documents' rows with themselves, `[dim, dim]`.
    fn learn_common(&mut self, products: &[f64]) {
        let dim = self.vectors.dim();
        let SymmetricEigen { eigenvalues, eigenvectors } =
            DMatrix::from_row_slice(dim, dim, products).symmetric_eigen();
        let mut order: Vec<usize> = (0..dim).collect();
        order.sort_by(|&i, &j| eigenvalues[j].total_cmp(&eigenvalues[i]).then(i.cmp(&j)));
        let columns = order.into_iter().take(self.params.components);
        self.common =
            columns.flat_map(|j| eigenvectors.column(j).iter().map(|&v| v as f32).collect::<Vec<f32>>()).collect();
    }

    /// The vectors that are pooled.
    pub fn vectors(&self) -> &WordVectors {
        &self.vectors
    }

    /// A document of these words' places, `[dim]`; zeros when it has none.
    pub fn row_of(&self, words: impl Iterator<Item = u32>) -> Vec<f32> {
        let dim = self.vectors.dim();
        if self.params.form == PoolingForm::Max {
            let larger = |most: Option<Vec<f32>>, word: u32| {
                let row = self.vectors.row(word);
                let most = most.unwrap_or_else(|| row.to_vec());
                Some(most.iter().zip(row).map(|(a, b)| a.max(*b)).collect())
            };
            return words.fold(None, larger).unwrap_or_else(|| vec![0.0; dim]);
        }
        let (mut sum, mut total) = (vec![0.0f64; dim], 0.0);
        for word in words {
            let weight = f64::from(self.weights[word as usize]);
            sum.iter_mut().zip(self.vectors.row(word)).for_each(|(sum, &v)| *sum += weight * f64::from(v));
            // SIF divides by the number of words, TF-IDF by its weights.
            total += if self.params.form == PoolingForm::Sif { 1.0 } else { weight };
        }
        let mut row: Vec<f64> = sum.into_iter().map(|sum| if total > 0.0 { sum / total } else { 0.0 }).collect();
        self.take_off(&mut row);
        row.into_iter().map(|v| v as f32).collect()
    }

    fn take_off(&self, row: &mut [f64]) {
        for direction in self.common.chunks(row.len()) {
            let length: f64 = row.iter().zip(direction).map(|(v, &u)| v * f64::from(u)).sum();
            row.iter_mut().zip(direction).for_each(|(v, &u)| *v -= length * f64::from(u));
        }
    }

    /// A document's row, `[dim]`.
    pub fn row(&self, tokens: &[&str]) -> Vec<f32> {
        self.row_of(tokens.iter().filter_map(|token| self.vectors.number(token)))
    }

    /// The part of each different word in a document's row, `[dim]`: they sum to the row. None where the largest values are taken, which
    /// are no sum.
    pub fn parts(&self, tokens: &[&str]) -> Option<Vec<(&str, Vec<f32>)>> {
        if self.params.form == PoolingForm::Max {
            return None;
        }
        let words = self.sorted(tokens);
        let total = self.total(&words);
        let part = |run: &[u32]| {
            let share = run.len() as f64 * f64::from(self.weights[run[0] as usize]) / total;
            let mut part: Vec<f64> = self.vectors.row(run[0]).iter().map(|&v| share * f64::from(v)).collect();
            self.take_off(&mut part);
            (&*self.vectors.words()[run[0] as usize], part.into_iter().map(|v| v as f32).collect())
        };
        Some(words.chunk_by(|a, b| a == b).map(part).collect())
    }

    /// The places of the known words, ascending.
    fn sorted(&self, tokens: &[&str]) -> Vec<u32> {
        let mut words: Vec<u32> = tokens.iter().filter_map(|token| self.vectors.number(token)).collect();
        words.sort_unstable();
        words
    }

    /// Divisor of a sum over these words: SIF divides by their number, the others by their weights.
    fn total(&self, words: &[u32]) -> f64 {
        match self.params.form {
            PoolingForm::Sif => words.len() as f64,
            _ => words.iter().map(|&word| f64::from(self.weights[word as usize])).sum(),
        }
    }

    /// The contribution of each word to a component (from 0; default: the one that the document lies farthest out on), the largest first.
    /// The common part that is taken off is the intercept.
    pub fn explain(&self, tokens: &[&str], of: Option<usize>) -> Explanation {
        let row = self.row(tokens);
        let farthest = || (0..row.len()).rev().max_by(|&a, &b| row[a].abs().total_cmp(&row[b].abs())).unwrap_or(0);
        let component = of.unwrap_or_else(farthest);
        let words = self.sorted(tokens);
        let (form, total) = (self.params.form, self.total(&words));
        let part = |run: &[u32]| {
            let coordinate = f64::from(self.vectors.row(run[0])[component]);
            let (count, weight) = (run.len() as f64, f64::from(self.weights[run[0] as usize]));
            let value = match form {
                // One word has the largest value; of several the first in the vocabulary stands for it.
                PoolingForm::Max => coordinate,
                _ => count * weight * coordinate / total,
            };
            let detail = vec![("count", count), ("weight", weight), ("coordinate", coordinate)];
            Part { token: self.vectors.words()[run[0] as usize].to_string(), value, detail }
        };
        let mut terms: Vec<Part> = words.chunk_by(|a, b| a == b).map(part).collect();
        if form == PoolingForm::Max {
            let most = terms.iter().map(|part| part.value).fold(f64::NEG_INFINITY, f64::max);
            let first = terms.iter().position(|part| part.value == most);
            terms.iter_mut().enumerate().filter(|(i, _)| Some(*i) != first).for_each(|(_, part)| part.value = 0.0);
        }
        let score = f64::from(row[component]);
        let formula = match form {
            PoolingForm::Max => Word("最大的坐标", "the largest coordinate").into(),
            _ => message!(
                "各词 count x weight x coordinate / {total:.4} 之和，减去共同部分",
                "sum of count x weight x coordinate / {total:.4}, less the common part"
            ),
        };
        let intercept = score - terms.iter().map(|part| part.value).sum::<f64>();
        Explanation {
            of: Some(format!("c{}", component + 1)),
            formula,
            score,
            intercept,
            terms,
            ..Explanation::default()
        }
        .largest_first()
    }
}
