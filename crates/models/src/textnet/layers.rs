//! From the words of texts to scores of classes: the graphs of both networks.

use anyhow::Result;
use candle_core::{D, Tensor};
use candle_nn::ops::sigmoid;

use super::batches::TextPiece;
use super::{CLASSES, INNER, Pool, TextNetKind, TextNetParams, VECTORS, steps};
use crate::neural::relu;
use crate::neural::weights::Leaves;

/// The vectors of the words, `[texts, length, dim]`; zeros beyond the end of a text.
pub(super) fn embed(leaves: &Leaves, piece: &TextPiece) -> Result<Tensor> {
    let (texts, length) = (piece.lengths.len(), piece.length);
    let x = leaves.rows(VECTORS, &piece.tokens)?.reshape((texts, length, ()))?;
    Ok(x.broadcast_mul(&within(leaves, piece, length, |at| at)?)?)
}

/// 1 where a window that begins at a place ends within its text, else 0: `[texts, length, 1]`.
fn within(leaves: &Leaves, piece: &TextPiece, length: usize, last: impl Fn(usize) -> usize) -> Result<Tensor> {
    let inside = |text: &usize| (0..length).map(|at| if last(at) < *text { 1.0 } else { 0.0 }).collect::<Vec<f32>>();
    let values: Vec<f32> = piece.lengths.iter().flat_map(inside).collect();
    leaves.constant(&values, (piece.lengths.len(), length, 1))
}

/// The scores of the classes, `[texts, classes]`, of texts with these vectors.
pub(super) fn scores(params: &TextNetParams, leaves: &Leaves, piece: &TextPiece, x: &Tensor) -> Result<Tensor> {
    let mut features = match params.kind {
        TextNetKind::TextCnn => convolved(params, leaves, piece, x)?,
        TextNetKind::TextRnn => recurred(params, leaves, piece, x)?,
    };
    if !piece.dropout.is_empty() {
        features = (&features * leaves.constant(&piece.dropout, features.dims())?)?;
    }
    Ok(leaves.with_one(&features)?.matmul(&leaves.matrix(CLASSES).t()?)?)
}

/// `[texts, widths x maps]`.
fn convolved(params: &TextNetParams, leaves: &Leaves, piece: &TextPiece, x: &Tensor) -> Result<Tensor> {
    let (texts, length, dim) = x.dims3()?;
    let mut pooled = Vec::with_capacity(params.widths.len());
    for (i, &width) in params.widths.iter().enumerate() {
        let places = length - width + 1;
        let shifted = (0..width).map(|shift| x.narrow(1, shift, places)).collect::<Result<Vec<_>, _>>()?;
        let windows = Tensor::cat(&shifted, 2)?.reshape((texts * places, width * dim))?;
        let maps = windows.matmul(&leaves.matrix(INNER + i).t()?)?;
        let bias = leaves.rows(INNER + params.widths.len(), &[i as u32])?;
        let maps = relu(&maps.broadcast_add(&bias)?)?.reshape((texts, places, params.maps))?;
        // A text that is shorter than the window has one, at its beginning. Nothing is below 0, so 0 is out of the question.
        let inside = within(leaves, piece, places, |at| if at == 0 { 0 } else { at + width - 1 })?;
        pooled.push(maps.broadcast_mul(&inside)?.max(1)?);
    }
    Ok(Tensor::cat(&pooled, 1)?)
}

/// `[texts, 2 x hidden]`.
fn recurred(params: &TextNetParams, leaves: &Leaves, piece: &TextPiece, x: &Tensor) -> Result<Tensor> {
    let (texts, length, dim) = x.dims3()?;
    let by_step = x.transpose(0, 1)?.contiguous()?.reshape((length * texts, dim))?;
    let mut inside = Vec::with_capacity(length);
    steps(&within(leaves, piece, length, |at| at)?.transpose(0, 1)?.contiguous()?, &mut inside)?;
    let directions = [INNER, INNER + 3].map(|first| -> Result<Tensor> {
        let entered = by_step.matmul(&leaves.matrix(first).t()?)?.broadcast_add(leaves.matrix(first + 2))?;
        let mut entered_at = Vec::with_capacity(length);
        steps(&entered.reshape((length, texts, 4 * params.hidden))?, &mut entered_at)?;
        let back = leaves.matrix(first + 1).t()?;
        let zeros = leaves.constant(&vec![0.0; texts * params.hidden], (texts, params.hidden))?;
        let (mut state, mut cell) = (zeros.clone(), zeros);
        let mut states = Vec::with_capacity(length);
        let backward = first != INNER;
        for step in 0..length {
            let at = if backward { length - 1 - step } else { step };
            let gates = (&entered_at[at] + state.matmul(&back)?)?.chunk(4, D::Minus1)?;
            let (enter, keep, show) = (sigmoid(&gates[0])?, sigmoid(&gates[1])?, sigmoid(&gates[3])?);
            let next_cell = ((keep * &cell)? + (enter * gates[2].tanh()?)?)?;
            let next_state = (show * next_cell.tanh()?)?;
            if piece.lengths.iter().all(|&text| at < text) {
                (state, cell) = (next_state, next_cell);
            } else {
                // Beyond its end, a text keeps its state.
                let held = |new: Tensor, old: &Tensor| old + (new - old)?.broadcast_mul(&inside[at])?;
                (state, cell) = (held(next_state, &state)?, held(next_cell, &cell)?);
            }
            states.push((at, state.clone()));
        }
        if params.pool == Pool::Last {
            return Ok(state);
        }
        // States lie above -1: beyond the end of a text they become -1, and never are the largest.
        let masked = states.iter().map(|(at, state)| {
            let inside = &inside[*at];
            state.broadcast_mul(inside)?.broadcast_add(&(inside - 1.0)?)
        });
        Ok(Tensor::stack(&masked.collect::<Result<Vec<_>, _>>()?, 0)?.max(0)?)
    });
    let [forward, backward] = directions;
    Ok(Tensor::cat(&[&forward?, &backward?], 1)?)
}
