//! Batches of rows.

use anyhow::Result;
use rand::RngExt;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;

use super::net::{Net, PieceRows};
use super::targets::Targets;
use super::{MlpParams, MlpShape};
use crate::design::Design;
use crate::neural::fit::{Network, PieceGradients};
use crate::neural::kernel::Real;
use crate::neural::weights::Weights;
use crate::validation::Split;
use inkstone_base::job::Ctx;

/// Rows of a piece.
pub(super) const PIECE: usize = 64;

/// A perceptron in training.
pub(super) struct Batches<'a> {
    x: &'a Design,
    pub(super) shape: &'a MlpShape,
    params: &'a MlpParams,
    targets: Targets<'a>,
    split: &'a Split,
}

/// Rows that are computed at once, and the factors of dropout of their hidden units, `[rows, units]` layer after layer.
pub(super) struct Piece {
    rows: Vec<u32>,
    dropout: Vec<f32>,
}

/// A network of these weights, and the sparse columns that gradients are wanted of.
pub(super) struct ReadyNet<'w, T> {
    pub(super) net: Net<T>,
    pub(super) sparse: &'w [T],
    /// By sparse column its place among those that the batch stores.
    places: Vec<u32>,
    touched: usize,
}

impl<'a> Batches<'a> {
    pub(super) fn new(
        x: &'a Design,
        shape: &'a MlpShape,
        params: &'a MlpParams,
        targets: Targets<'a>,
        split: &'a Split,
    ) -> Batches<'a> {
        Batches { x, shape, params, targets, split }
    }

    /// `touched` are the sparse columns that the batch stores, ascending.
    pub(super) fn ready_of<'w, T: Real>(&self, weights: &[&'w [T]], touched: &[u32]) -> ReadyNet<'w, T> {
        let mut places = vec![0; self.shape.sparse];
        (0..).zip(touched).for_each(|(place, &column)| places[column as usize] = place);
        ReadyNet { net: Net::new(self.shape, weights), sparse: weights[0], places, touched: touched.len() }
    }

    pub(super) fn rows<T: Real>(&self, piece: &Piece) -> PieceRows<'_, T> {
        PieceRows::new(self.x, piece.rows.iter().map(|&i| i as usize))
    }

    /// The sum of the losses of a piece, and its gradients by weight.
    pub(super) fn differentiated<T: Real>(&self, ready: &ReadyNet<'_, T>, piece: &Piece) -> (f64, Vec<Vec<T>>) {
        let ReadyNet { net, sparse, places, touched } = ready;
        let rows = self.rows(piece);
        let pass = net.forward(sparse, &rows, &piece.dropout);
        let mut by_scores = vec![T::default(); pass.scores.len()];
        let outputs = self.shape.outputs;
        let scores = pass.scores.chunks(outputs).zip(by_scores.chunks_mut(outputs)).zip(&piece.rows);
        let losses = scores.map(|((scores, by_scores), &i)| self.targets.loss(i as usize, scores, by_scores));
        let loss = losses.sum();
        (loss, net.backward(&rows, &pass, &piece.dropout, by_scores, places, *touched))
    }
}

impl Network for Batches<'_> {
    type Piece = Piece;
    type Ready<'w>
        = ReadyNet<'w, f32>
    where
        Self: 'w;

    fn batches(&self) -> usize {
        self.split.train.len().div_ceil(self.params.batch)
    }

    fn examples(&self) -> (u64, &'static str) {
        (self.split.train.len() as u64, "rows")
    }

    fn order(&self, rng: &mut ChaCha8Rng) -> Vec<u32> {
        let mut order: Vec<u32> = self.split.train.iter().map(|&i| i as u32).collect();
        order.shuffle(rng);
        order
    }

    fn batch(&self, order: &[u32], number: usize, _: Vec<Vec<f32>>, rng: &mut ChaCha8Rng) -> Vec<Piece> {
        let batch = self.params.batch;
        let mut rows = order[number * batch..order.len().min((number + 1) * batch)].to_vec();
        // Rows may lie in a mapped file.
        rows.sort_unstable();
        let kept = 1.0 - self.params.dropout as f32;
        let units: usize = self.shape.hidden.iter().sum();
        let piece = |rows: &[u32]| {
            let factors = if kept < 1.0 { rows.len() * units } else { 0 };
            let draw = |_| if rng.random::<f32>() < kept { 1.0 / kept } else { 0.0 };
            Piece { rows: rows.to_vec(), dropout: (0..factors).map(draw).collect() }
        };
        rows.chunks(PIECE).map(piece).collect()
    }

    fn reads(&self, pieces: &[Piece]) -> Vec<Option<Vec<u32>>> {
        let mut stored = vec![false; self.shape.sparse];
        for &i in pieces.iter().flat_map(|piece| &piece.rows) {
            self.x.row(i as usize).sparse().indices.iter().for_each(|&column| stored[column as usize] = true);
        }
        let touched = (0..).zip(stored).filter(|(_, stored)| *stored).map(|(column, _)| column).collect();
        let others = self.shape.weights().count() - 1;
        std::iter::once(Some(touched)).chain(std::iter::repeat_n(None, others)).collect()
    }

    fn ready<'w>(&'w self, weights: &'w Weights, rows: &'w [Option<Vec<u32>>]) -> ReadyNet<'w, f32> {
        self.ready_of(&weights.values(), rows[0].as_deref().unwrap_or_default())
    }

    fn gradients(&self, ready: &ReadyNet<'_, f32>, piece: &Piece) -> PieceGradients {
        let (loss, by_weight) = self.differentiated(ready, piece);
        PieceGradients { loss, by_weight, carried: Vec::new() }
    }

    fn size(&self, piece: &Piece) -> usize {
        piece.rows.len()
    }

    fn held_out(&self, weights: &Weights, ctx: &Ctx) -> Result<Option<f64>> {
        let rows = &self.split.test;
        if rows.is_empty() {
            return Ok(None);
        }
        let (values, outputs) = (weights.values(), self.shape.outputs);
        let net = Net::new(self.shape, &values);
        let losses = ctx.install(|| {
            let parts = rows.par_chunks(PIECE).map(|numbers| {
                ctx.check()?;
                let pass = net.forward(values[0], &PieceRows::new(self.x, numbers.iter().copied()), &[]);
                let mut unused = vec![0.0; outputs];
                let rows = pass.scores.chunks(outputs).zip(numbers);
                Ok(rows.map(|(scores, &i)| self.targets.loss(i, scores, &mut unused)).sum())
            });
            parts.collect::<Result<Vec<f64>>>()
        })?;
        Ok(Some(losses.iter().sum::<f64>() / rows.len() as f64))
    }
}
