//! Word vectors by PPMI as a fitted model: the vectors under their words, its file, and what it makes of a document.

use std::io::Write;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use chrono::NaiveDateTime;
use rustc_hash::FxHashMap;
use serde::Serialize;
use serde_json::json;

use super::{CooccurrenceParams, Ppmi, PpmiParams};
use crate::disk;
use crate::job::Ctx;
use crate::model::{Explanation, ModelFile, ModelHeader, Part, pack_strings, write_model};

/// Word vectors by PPMI.
#[derive(Clone, Debug)]
pub struct PpmiModel {
    /// The most frequent first.
    words: Vec<Box<str>>,
    numbers: FxHashMap<Box<str>, u32>,
    counting: CooccurrenceParams,
    params: PpmiParams,
    documents: u64,
    fitted_until: Option<NaiveDateTime>,
    /// `[words, dim]`, row by row.
    vectors: Vec<f32>,
    singular_values: Vec<f64>,
    error: f64,
}

/// The words whose pairs are counted.
#[derive(Clone, Debug)]
pub(crate) struct PairWords {
    pub(crate) words: Vec<Box<str>>,
    pub(crate) documents: u64,
    pub(crate) fitted_until: Option<NaiveDateTime>,
}

impl PpmiModel {
    /// Kind of its model files.
    pub const KIND: &str = "ppmi";
    const VERSION: u32 = 1;

    /// Decomposes the matrix of counted pairs.
    pub(crate) fn fit(
        words: PairWords,
        matrix: &Ppmi,
        counting: &CooccurrenceParams,
        params: &PpmiParams,
        ctx: &Ctx,
    ) -> Result<PpmiModel> {
        let found = matrix.vectors(params, ctx)?;
        let numbers = words.words.iter().cloned().zip(0..).collect();
        Ok(PpmiModel {
            numbers,
            words: words.words,
            counting: counting.clone(),
            params: params.clone(),
            documents: words.documents,
            fitted_until: words.fitted_until,
            vectors: found.rows,
            singular_values: found.singular_values,
            error: found.error,
        })
    }

    /// The words, the most frequent first.
    pub fn words(&self) -> &[Box<str>] {
        &self.words
    }

    /// Number of dimensions.
    pub fn dim(&self) -> usize {
        self.params.svd.dim
    }

    /// `[words, dim]`, row by row.
    pub fn vectors(&self) -> &[f32] {
        &self.vectors
    }

    /// Singular values of the matrix, the largest first.
    pub fn singular_values(&self) -> &[f64] {
        &self.singular_values
    }

    /// By how much, as a share, the singular values may be too small.
    pub fn error(&self) -> f64 {
        self.error
    }

    /// The vector of a word.
    pub fn vector(&self, word: &str) -> Option<&[f32]> {
        let number = *self.numbers.get(word)? as usize;
        Some(&self.vectors[number * self.dim()..][..self.dim()])
    }

    /// The mean of the vectors of a document's known words, `[dim]`; zeros when it has none.
    pub fn mean(&self, tokens: &[&str]) -> Vec<f32> {
        let mut sum = vec![0.0f64; self.dim()];
        let mut known = 0;
        for vector in tokens.iter().filter_map(|token| self.vector(token)) {
            sum.iter_mut().zip(vector).for_each(|(sum, &v)| *sum += f64::from(v));
            known += 1;
        }
        sum.into_iter().map(|sum| (sum / f64::from(known.max(1))) as f32).collect()
    }

    /// What each word gave to a component (from 0; default: the one that the document lies farthest out on) of
    /// [`PpmiModel::mean`], the largest first.
    pub fn explain(&self, tokens: &[&str], of: Option<usize>) -> Explanation {
        let known: Vec<&str> = tokens.iter().copied().filter(|token| self.numbers.contains_key(*token)).collect();
        let mean = self.mean(&known);
        let farthest = || (0..self.dim()).rev().max_by(|&a, &b| mean[a].abs().total_cmp(&mean[b].abs())).unwrap_or(0);
        let component = of.unwrap_or_else(farthest);
        let mut counts: Vec<(u32, u32)> = Vec::new();
        let mut numbers: Vec<u32> = known.iter().filter_map(|token| self.numbers.get(*token)).copied().collect();
        numbers.sort_unstable();
        counts.extend(numbers.chunk_by(|a, b| a == b).map(|run| (run[0], run.len() as u32)));
        let n = known.len().max(1) as f64;
        let part = |&(number, count): &(u32, u32)| {
            let coordinate = f64::from(self.vectors[number as usize * self.dim() + component]);
            let count = f64::from(count);
            Part {
                token: self.words[number as usize].to_string(),
                value: count * coordinate / n,
                detail: vec![("count", count), ("coordinate", coordinate)],
            }
        };
        let terms: Vec<Part> = counts.iter().map(part).collect();
        let explanation = Explanation {
            of: Some(format!("c{}", component + 1)),
            formula: format!("sum of count x coordinate / {} known tokens", known.len()),
            score: terms.iter().map(|part| part.value).sum(),
            terms,
            ..Explanation::default()
        };
        explanation.largest_first()
    }

    /// Writes the vectors as word2vec's text format: a line with the number of words and of dimensions, then a line a word.
    pub fn write_vec(&self, path: &Path) -> Result<()> {
        disk::write_atomic(path, |out| {
            writeln!(out, "{} {}", self.words.len(), self.dim())?;
            for (word, vector) in self.words.iter().zip(self.vectors.chunks(self.dim())) {
                out.write_all(word.as_bytes())?;
                vector.iter().try_for_each(|value| write!(out, " {value}"))?;
                out.write_all(b"\n")?;
            }
            Ok(())
        })
    }

    /// Writes the model file; `cut` says how its documents were cut.
    pub fn save(&self, path: &Path, cut: &impl Serialize) -> Result<()> {
        let header = ModelHeader {
            kind: PpmiModel::KIND.to_owned(),
            version: PpmiModel::VERSION,
            fitted_until: self.fitted_until,
            documents: self.documents,
            params: json!({"cut": cut, "cooccurrence": self.counting, "ppmi": self.params, "error": self.error}),
        };
        let words = pack_strings(self.words.iter().map(AsRef::as_ref));
        write_model(
            path,
            &header,
            &[
                ("words", &words),
                ("vectors", bytemuck::cast_slice(&self.vectors)),
                ("singular", bytemuck::cast_slice(&self.singular_values)),
            ],
        )
    }

    /// Reads a model.
    pub fn read(file: &ModelFile) -> Result<PpmiModel> {
        file.expect(PpmiModel::KIND, PpmiModel::VERSION)?;
        file.verify()?;
        let words: Vec<Box<str>> = file.strings("words")?.into_iter().map(Box::from).collect();
        let params: PpmiParams = file.param("ppmi")?;
        let vectors = file.numbers::<f32>("vectors")?.to_vec();
        let singular_values = file.numbers::<f64>("singular")?.to_vec();
        let dim = params.svd.dim;
        let whole = words.len().checked_mul(dim).context("the model's sizes are damaged; train it again")?;
        ensure!(
            vectors.len() == whole && singular_values.len() == dim,
            "the model has {} values for {} words of {dim} dimensions; train it again",
            vectors.len(),
            words.len()
        );
        let header = file.header();
        Ok(PpmiModel {
            numbers: words.iter().cloned().zip(0..).collect(),
            words,
            counting: file.param("cooccurrence")?,
            params,
            documents: header.documents,
            fitted_until: header.fitted_until,
            vectors,
            singular_values,
            error: file.param("error")?,
        })
    }
}
