//! What bge-m3 gives beside the vector of a text (Chen et al. 2024): a weight of each token, for lexical matching, and a vector of each
//! token, for late interaction (ColBERT).

use std::collections::BTreeMap;

use anyhow::{Context, Result};

use super::{Encoder, Task};
use crate::batch::Batch;
use crate::graph::output;
use crate::session::no_output;
use crate::windows::{Windows, places};
use inkstone_base::job::Ctx;
use inkstone_base::language::Word;
use inkstone_base::{bail, ensure};

/// The output that holds vectors of tokens for late interaction, `[texts, tokens, values]`; the first token has none.
const TOKEN_VECTORS: &str = "colbert_vecs";

/// Tokens by number with their weights, ascending.
pub type TokenWeights = Vec<(u32, f32)>;

/// The vectors of the tokens of a text, each of length 1.
struct TokenVectors {
    /// `[tokens, dim]`.
    values: Vec<f32>,
    dim: usize,
}

impl TokenVectors {
    /// The mean over these tokens of the largest product with one of the other text.
    fn score(&self, other: &TokenVectors) -> f32 {
        let tokens = self.values.chunks_exact(self.dim);
        let (count, dot) = (tokens.len(), |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f32>());
        let largest = tokens.map(|token| {
            let products = other.values.chunks_exact(self.dim).map(|one| dot(token, one));
            products.fold(f32::NEG_INFINITY, f32::max)
        });
        if count == 0 || other.values.is_empty() { f32::NAN } else { largest.sum::<f32>() / count as f32 }
    }
}

/// The largest weight of each token among some windows of a text.
pub fn largest_weights<'w>(windows: impl IntoIterator<Item = &'w TokenWeights>) -> TokenWeights {
    let mut largest: BTreeMap<u32, f32> = BTreeMap::new();
    for &(token, weight) in windows.into_iter().flatten() {
        let known = largest.entry(token).or_insert(weight);
        *known = known.max(weight);
    }
    largest.into_iter().collect()
}

impl Encoder {
    /// True if its rows are weights of tokens, which are sparse.
    pub fn is_sparse(&self) -> bool {
        matches!(self.task, Task::Weights { .. })
    }

    /// The weights of the tokens of each window of a batch; special and unknown tokens have none.
    pub fn window_weights(&mut self, windows: &Windows, batch: &Batch, ctx: &Ctx) -> Result<Vec<TokenWeights>> {
        let Task::Weights { weights } = &self.task else { return Ok(Vec::new()) };
        let unknown = self.model.tokenizer.subword().and_then(|subword| subword.unk_id());
        let (name, family, shape) = (weights.clone(), self.model.family.clone(), [batch.rows, batch.width]);
        self.model.run(windows, &batch.windows, shape, &[], &[&name], ctx, |outputs| {
            let given = outputs.get(&name)?;
            ensure!(
                given.shape.get(1) == Some(&batch.width) && given.values.len() >= batch.windows.len() * batch.width,
                "{name} 的形状为 {:?}，而不是 [文本, {}, 1]",
                "{name} has the shape {:?}, not [texts, {}, 1]",
                given.shape,
                batch.width
            );
            let of_window = |(row, &window): (usize, &usize)| {
                let window = &windows.windows[window];
                let text = places(window, batch.width, family.left, family.cls_last).text;
                let numbers = &windows.numbers(window)[window.inner.clone()];
                let weight = |(place, &token): (usize, &u32)| (token, given.values[row * batch.width + place]);
                let mut weights = largest_weights([&text.zip(numbers).map(weight).collect()]);
                weights.retain(|(token, weight)| *weight > 0.0 && Some(*token) != unknown);
                weights
            };
            Ok(batch.windows.iter().enumerate().map(of_window).collect())
        })
    }

    /// The weights of the tokens of each text.
    pub fn weights(&mut self, texts: &[&str], ctx: &Ctx) -> Result<Vec<TokenWeights>> {
        let windows = self.windows(texts, ctx)?;
        let mut of_windows = vec![TokenWeights::new(); windows.windows.len()];
        for batch in self.batches(&windows) {
            for (&window, weights) in batch.windows.iter().zip(self.window_weights(&windows, &batch, ctx)?) {
                of_windows[window] = weights;
            }
        }
        Ok(windows.of_texts().into_iter().map(|text| largest_weights(&of_windows[text])).collect())
    }

    /// True if it gives vectors of tokens for late interaction.
    pub fn interacts_late(&self) -> bool {
        output(self.model.session.outputs(), &[TOKEN_VECTORS], 3).is_some()
    }

    /// How well each document fits its query by late interaction: pairs of query and document; NaN where either has no token.
    pub fn late_scores(&mut self, pairs: &[[&str; 2]], ctx: &Ctx) -> Result<Vec<f32>> {
        let mut numbers: BTreeMap<&str, usize> = BTreeMap::new();
        for text in pairs.iter().flatten() {
            let next = numbers.len();
            numbers.entry(text).or_insert(next);
        }
        let mut texts = vec![""; numbers.len()];
        numbers.iter().for_each(|(text, &number)| texts[number] = text);
        let vectors = self.token_vectors(&texts, ctx)?;
        let score = |[query, document]: &[&str; 2]| vectors[numbers[query]].score(&vectors[numbers[document]]);
        Ok(pairs.iter().map(score).collect())
    }

    fn token_vectors(&mut self, texts: &[&str], ctx: &Ctx) -> Result<Vec<TokenVectors>> {
        let port = output(self.model.session.outputs(), &[TOKEN_VECTORS], 3);
        let port = port.with_context(|| {
            no_output(&self.model.session, Word("词元的向量（colbert_vecs）", "vectors of tokens (colbert_vecs)"))
        })?;
        let name = port.name.clone();
        let (windows, family) = (self.windows(texts, ctx)?, self.model.family.clone());
        let mut vectors: Vec<TokenVectors> =
            texts.iter().map(|_| TokenVectors { values: Vec::new(), dim: 1 }).collect();
        for batch in self.batches(&windows) {
            let (shape, width) = ([batch.rows, batch.width], batch.width);
            self.model.run(&windows, &batch.windows, shape, &[], &[&name], ctx, |outputs| {
                let given = outputs.get(&name)?;
                let shape = given.shape.clone();
                let [_, tokens, dim] = shape[..] else {
                    bail!("{name} 的形状为 {shape:?}", "{name} has the shape {shape:?}")
                };
                ensure!(
                    dim > 0 && (tokens + 1 == width || tokens == width),
                    "{name} 的形状为 {shape:?}，而不是 [文本, {width} 或少一, 值]",
                    "{name} has the shape {shape:?}, not [texts, {width} or one less, values]"
                );
                for (row, &window) in batch.windows.iter().enumerate() {
                    let window = &windows.windows[window];
                    // The first token of a text is left out; the graph leaves out the first of each row.
                    let real = places(window, width, family.left, family.cls_last).real;
                    let first = row * tokens + real.start + 1 - (width - tokens);
                    let of_text = &mut vectors[window.text];
                    of_text.dim = dim;
                    of_text.values.extend_from_slice(&given.values[first * dim..][..(real.len() - 1) * dim]);
                }
                Ok(())
            })?;
        }
        Ok(vectors)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{encoder, has_library, params};
    use crate::tests::{close, expected, refused, row, rows, texts};
    use crate::{OnnxParams, Output};

    #[test]
    fn weights_and_vectors_of_tokens_are_those_of_pytorch() {
        if !has_library() {
            return;
        }
        let (expected, ctx) = (expected("bge-m3"), Ctx::new(2, 1).unwrap());
        let texts = texts(&expected);

        let dense = rows(&params("bge-m3"), &texts);
        let mut sparse = encoder(&OnnxParams { output: Output::Weights, ..params("bge-m3") }).unwrap();
        let weights = sparse.weights(&texts, &ctx).unwrap();
        assert!(sparse.columns().contains(&"净".to_owned()), "columns are the tokens");
        let filled: Vec<usize> = (0..texts.len()).filter(|&text| !texts[text].is_empty()).collect();
        for &text in &filled {
            close(&dense[text], &row(&expected["dense"][text]), 1e-5, texts[text]);
            let wanted: Vec<(u32, f32)> = serde_json::from_value(expected["weights"][text].clone()).unwrap();
            let tokens = |weights: &[(u32, f32)]| weights.iter().map(|(token, _)| *token).collect::<Vec<_>>();
            assert_eq!(tokens(&weights[text]), tokens(&wanted), "{}", texts[text]);
            for ((_, found), (_, wanted)) in weights[text].iter().zip(&wanted) {
                assert!((found - wanted).abs() < 1e-5, "{}: {found} {wanted}", texts[text]);
            }
        }
        assert!(weights[4].is_empty(), "a text without a token has no weights");
        // Windows that overlap give a token the largest of its weights.
        let windowed = OnnxParams { output: Output::Weights, max_tokens: 16, stride: 8, ..params("bge-m3") };
        let long = encoder(&windowed).unwrap().weights(&[texts[3]], &ctx).unwrap();
        assert!(long[0].len() >= weights[3].len() && long[0].is_sorted_by(|a, b| a.0 < b.0));
        let pairs: Vec<[&str; 2]> = filled
            .iter()
            .flat_map(|&query| filled.iter().map(move |&text| (query, text)))
            .map(|(a, b)| [texts[a], texts[b]])
            .collect();
        let scores = sparse.late_scores(&pairs, &ctx).unwrap();
        let wanted = filled.iter().flat_map(|&query| filled.iter().map(move |&text| (query, text)));
        for ((query, text), score) in wanted.zip(scores) {
            let wanted = expected["late"][query][text].as_f64().unwrap() as f32;
            assert!((score - wanted).abs() < 1e-5, "{query} {text}: {score} {wanted}");
        }
        assert!(sparse.late_scores(&[["", texts[0]]], &ctx).unwrap()[0].is_nan());
        let error = refused(&OnnxParams { output: Output::Weights, ..params("bert") });
        assert!(error.contains("sparse_vecs"), "{error}");
    }
}
