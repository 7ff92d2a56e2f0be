//! Matrices of low rank beside those of queries and values (Hu and others 2022): W + 2 B A, of which A and B alone are trained.

use anyhow::Result;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use super::block::{BlockKind, BlockWeights};
use super::encoder::EncoderShape;
use crate::neural::kernel::{Left, Packed, Real, add_product};
use crate::neural::weights::Weight;

use inkstone_base::ensure;

/// Factor of the product: alpha / rank, with an alpha of twice the rank.
const SCALE: f64 = 2.0;
/// The weights of a block that have matrices beside them.
const ADAPTED: [BlockWeights; 2] = [BlockWeights::Query, BlockWeights::Value];

/// The matrices A `[rank, width]` and B `[width, rank]` of each adapted weight, behind all other weights, block by block.
pub(super) struct LowRank {
    rank: usize,
    shape: EncoderShape,
}

impl LowRank {
    pub(super) fn new(rank: usize, shape: EncoderShape) -> Result<LowRank> {
        let width = shape.block.width;
        ensure!(
            shape.block.kind == BlockKind::Transformer,
            "LSTM 没有可附加低秩矩阵的查询与值：请用 all、head 或 top:N",
            "an LSTM has no queries and values beside which matrices of low rank could stand: give all, head or top:N"
        );
        ensure!(
            (1..=width).contains(&rank),
            "秩 {rank} 不适合宽度 {width}：请写 1 到 {width}",
            "a rank of {rank} does not suit a width of {width}: give 1 to {width}"
        );
        Ok(LowRank { rank, shape })
    }

    /// Number of matrices.
    pub(super) fn count(&self) -> usize {
        2 * ADAPTED.len() * self.shape.blocks
    }

    /// The weights of a block whose gradients are wanted.
    pub(super) fn wanted() -> [bool; BlockWeights::COUNT] {
        let mut wanted = [false; BlockWeights::COUNT];
        ADAPTED.iter().for_each(|weight| wanted[*weight as usize] = true);
        wanted
    }

    /// The matrices at the beginning: A drawn, B zero.
    pub(super) fn weights(&self, seed: u64) -> Vec<Weight> {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        rng.set_stream(2);
        let width = self.shape.block.width;
        let pair = |_| {
            let bound = 1.0 / (width as f32).sqrt();
            [Weight::uniform("", self.rank, width, bound, &mut rng), Weight::zeros("", width, self.rank)]
        };
        (0..self.count() / 2).flat_map(pair).collect()
    }

    /// The adapted weights with the number of their A.
    fn pairs(&self, first: usize) -> impl Iterator<Item = (usize, usize)> {
        let numbers =
            (0..self.shape.blocks).flat_map(|block| ADAPTED.map(|weight| EncoderShape::of_block(block, weight)));
        numbers.zip((first..).step_by(2))
    }

    /// The first matrix among so many weights.
    fn first_of(&self, weights: usize) -> usize {
        weights - self.count()
    }

    /// The values of a weight with its matrices; none for a weight that has none.
    pub(super) fn adapted<T: Real>(&self, number: usize, values: &[&[T]]) -> Option<Vec<T>> {
        let (_, a) = self.pairs(self.first_of(values.len())).find(|(adapted, _)| *adapted == number)?;
        let mut merged = values[number].to_vec();
        self.add_product(values[a], values[a + 1], &mut merged);
        Some(merged)
    }

    /// Adds 2 B A.
    fn add_product<T: Real>(&self, a: &[T], b: &[T], to: &mut [T]) {
        let scale = T::from_f64(SCALE);
        let scaled: Vec<T> = b.iter().map(|&b| b * scale).collect();
        let left = Left { values: &scaled, rows: self.shape.block.width, at: |row| row * self.rank, step: 1 };
        add_product(&left, &Packed::of(a, self.shape.block.width), to, self.shape.block.width);
    }

    /// Adds the matrices to the weights that they stand beside, and takes them away.
    pub(super) fn merge(&self, all: &mut Vec<Weight>) {
        let first = self.first_of(all.len());
        for (number, a) in self.pairs(first) {
            let mut merged = std::mem::take(&mut all[number].values);
            self.add_product(&all[a].values, &all[a + 1].values, &mut merged);
            all[number].values = merged;
        }
        all.truncate(first);
    }

    /// Makes the gradients by adapted weights those by their matrices, at the end.
    pub(super) fn take_gradients<T: Real>(&self, gradients: &mut Vec<Vec<T>>, values: &[&[T]]) {
        let (width, rank, scale) = (self.shape.block.width, self.rank, T::from_f64(SCALE));
        for (number, a) in self.pairs(self.first_of(values.len())) {
            let by: Vec<T> = std::mem::take(&mut gradients[number]).into_iter().map(|by| by * scale).collect();
            gradients[number + 1] = Vec::new();
            let [mut by_a, mut by_b] = [(); 2].map(|()| vec![T::default(); rank * width]);
            // B transposed times the gradient, and the gradient times A transposed.
            let left = Left { values: values[a + 1], rows: rank, at: |row| row, step: rank };
            add_product(&left, &Packed::of(&by, width), &mut by_a, width);
            let left = Left { values: &by, rows: width, at: |row| row * width, step: 1 };
            add_product(&left, &Packed::transposed(values[a], width), &mut by_b, rank);
            gradients.extend([by_a, by_b]);
        }
    }
}
