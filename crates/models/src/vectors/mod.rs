//! Vectors under their words, whatever trained them: PPMI, word2vec, GloVe, ...
//!
//! [`WordVectors`] is what all of them give and what all that uses word vectors takes: documents, neighbours, analogies,
//! alignment. `file` is its model file, `formats` are those of the C tool word2vec, `open` finds out which, `align`
//! brings those of different trainings into one space.

mod align;
mod file;
mod formats;
mod open;

use anyhow::Result;
use rustc_hash::FxHashMap;

use super::{Explanation, Part};

pub use file::Training;
pub use formats::{VectorFormat, is_vectors, read_vectors};

use inkstone_base::{ensure, message};

#[derive(Clone, Debug)]
pub struct WordVectors {
    /// The most frequent first.
    words: Vec<Box<str>>,
    numbers: FxHashMap<Box<str>, u32>,
    /// Occurrences in what they were trained on; empty where a file did not say.
    counts: Vec<u64>,
    dim: usize,
    /// `[words, dim]`, row by row.
    values: Vec<f32>,
    training: Training,
}

impl WordVectors {
    /// Puts vectors, `[words, dim]` row by row, under their words, which are different from each other.
    pub fn new(
        words: Vec<Box<str>>,
        counts: Vec<u64>,
        dim: usize,
        values: Vec<f32>,
        training: Training,
    ) -> Result<WordVectors> {
        ensure!(
            !words.is_empty() && dim > 0,
            "没有词向量：{} 个 {dim} 维的词",
            "there are no word vectors: {} words of {dim} values",
            words.len()
        );
        ensure!(
            values.len() == words.len() * dim,
            "{} 个值不能组成 {} 个 {dim} 维向量",
            "{} values do not make {} vectors of {dim}",
            values.len(),
            words.len()
        );
        ensure!(
            counts.is_empty() || counts.len() == words.len(),
            "{1} 个词，却有 {0} 个计数",
            "{} counts of {} words",
            counts.len(),
            words.len()
        );
        let numbers: FxHashMap<Box<str>, u32> = words.iter().cloned().zip(0..).collect();
        ensure!(
            numbers.len() == words.len(),
            "{} 个词有多个向量",
            "{} words have more than one vector",
            words.len() - numbers.len()
        );
        Ok(WordVectors { words, numbers, counts, dim, values, training })
    }

    /// The words, the most frequent first.
    pub fn words(&self) -> &[Box<str>] {
        &self.words
    }

    /// Occurrences of each word in what they were trained on; empty where that is not known.
    pub fn counts(&self) -> &[u64] {
        &self.counts
    }

    /// Values of a vector.
    pub fn dim(&self) -> usize {
        self.dim
    }

    /// `[words, dim]`, row by row.
    pub fn values(&self) -> &[f32] {
        &self.values
    }

    pub fn training(&self) -> &Training {
        &self.training
    }

    /// The place of a word.
    pub fn number(&self, word: &str) -> Option<u32> {
        self.numbers.get(word).copied()
    }

    /// The vector at a place.
    pub fn row(&self, number: u32) -> &[f32] {
        &self.values[number as usize * self.dim..][..self.dim]
    }

    /// The vector of a word.
    pub fn vector(&self, word: &str) -> Option<&[f32]> {
        self.number(word).map(|number| self.row(number))
    }

    /// How many of some words have a vector.
    pub fn known(&self, words: &[Box<str>]) -> usize {
        words.iter().filter(|word| self.number(word).is_some()).count()
    }

    /// The mean of the vectors of a document's known words, `[dim]`; zeros when it has none.
    pub fn mean(&self, tokens: &[&str]) -> Vec<f32> {
        let mut sum = vec![0.0f64; self.dim];
        let mut known = 0;
        for vector in tokens.iter().filter_map(|token| self.vector(token)) {
            sum.iter_mut().zip(vector).for_each(|(sum, &v)| *sum += f64::from(v));
            known += 1;
        }
        sum.into_iter().map(|sum| (sum / f64::from(known.max(1))) as f32).collect()
    }

    /// The part of each different word in [`WordVectors::mean`], `[dim]`: they sum to it.
    pub fn parts(&self, tokens: &[&str]) -> Vec<(&str, Vec<f32>)> {
        let numbers = self.sorted(tokens);
        let part = |run: &[u32]| {
            let share = run.len() as f64 / numbers.len() as f64;
            let row = self.row(run[0]).iter().map(|&v| (share * f64::from(v)) as f32);
            (&*self.words[run[0] as usize], row.collect())
        };
        numbers.chunk_by(|a, b| a == b).map(part).collect()
    }

    /// The numbers of the known words, ascending.
    fn sorted(&self, tokens: &[&str]) -> Vec<u32> {
        let mut numbers: Vec<u32> = tokens.iter().filter_map(|token| self.number(token)).collect();
        numbers.sort_unstable();
        numbers
    }

    /// The contribution of each word to a component (from 0; default: the one that the document lies farthest out on) of
    /// [`WordVectors::mean`], the largest first.
    pub fn explain(&self, tokens: &[&str], of: Option<usize>) -> Explanation {
        let numbers = self.sorted(tokens);
        let mean = self.mean(tokens);
        let farthest = || (0..self.dim).rev().max_by(|&a, &b| mean[a].abs().total_cmp(&mean[b].abs())).unwrap_or(0);
        let component = of.unwrap_or_else(farthest);
        let n = numbers.len().max(1) as f64;
        let part = |run: &[u32]| {
            let (count, coordinate) = (run.len() as f64, f64::from(self.row(run[0])[component]));
            Part {
                token: self.words[run[0] as usize].to_string(),
                value: count * coordinate / n,
                detail: vec![("count", count), ("coordinate", coordinate)],
            }
        };
        let terms: Vec<Part> = numbers.chunk_by(|a, b| a == b).map(part).collect();
        let explanation = Explanation {
            of: Some(format!("c{}", component + 1)),
            formula: message!(
                "各词 count x coordinate / {} 个已知词之和",
                "sum of count x coordinate / {} known tokens",
                numbers.len()
            ),
            score: terms.iter().map(|part| part.value).sum(),
            terms,
            ..Explanation::default()
        };
        explanation.largest_first()
    }
}
