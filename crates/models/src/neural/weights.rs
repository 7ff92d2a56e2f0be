//! The weights of a network, `[rows, dim] f32` each, and their steps by Adam.
//!
//! Gradients have the rows alone that a batch reads, so that they and the steps cost what the batch costs. A row that a batch does not
//! read keeps its moments (the lazy form of Adam), unless its weight is `dense`.

use anyhow::Result;
use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;

use super::kernel::Real;
use crate::ModelFile;
use inkstone_base::ensure;
use inkstone_base::simd::wide;

/// Decay of the mean of gradients and of that of their squares, and what keeps the quotient finite (Kingma and Ba 2015).
const BETA: [f32; 2] = [0.9, 0.999];
const EPSILON: f32 = 1e-8;
/// Rows that a thread steps at once.
const ROWS: usize = 64;

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Weight {
    /// Name of the section in files.
    pub name: &'static str,
    pub dim: usize,
    /// `[rows, dim]`, row by row.
    pub values: Vec<f32>,
    /// True if training leaves it as it is.
    pub fixed: bool,
    /// Share of the values that is added to their gradient: an L2 penalty.
    pub decay: f32,
    /// Share of the values that a step at a rate of 1 takes off them (Loshchilov and Hutter 2019).
    pub shrink: f32,
    /// Factor of the rate of learning.
    pub rate: f32,
    /// True if a step also moves the rows that a batch does not read, as their moments say.
    pub dense: bool,
    moments: [Vec<f32>; 2],
}

impl Weight {
    /// Takes numbers, `[rows, dim]` row by row.
    pub(crate) fn new(name: &'static str, dim: usize, values: Vec<f32>) -> Weight {
        Weight {
            name,
            dim,
            values,
            fixed: false,
            decay: 0.0,
            shrink: 0.0,
            rate: 1.0,
            dense: false,
            moments: [Vec::new(), Vec::new()],
        }
    }

    pub(crate) fn zeros(name: &'static str, rows: usize, dim: usize) -> Weight {
        Weight::new(name, dim, vec![0.0; rows * dim])
    }

    /// Evenly drawn from -bound to bound.
    pub(crate) fn uniform(name: &'static str, rows: usize, dim: usize, bound: f32, rng: &mut ChaCha8Rng) -> Weight {
        Weight::new(name, dim, (0..rows * dim).map(|_| rng.random_range(-bound..bound)).collect())
    }

    /// Evenly drawn so that sums over `inputs` and gradients over `rows` keep their size (Glorot and Bengio 2010).
    pub(crate) fn glorot(name: &'static str, rows: usize, inputs: usize, rng: &mut ChaCha8Rng) -> Weight {
        Weight::uniform(name, rows, inputs, (6.0 / (rows + inputs) as f32).sqrt(), rng)
    }

    /// Reads a section of a model file.
    pub(crate) fn read(name: &'static str, rows: usize, dim: usize, file: &ModelFile) -> Result<Weight> {
        let values = file.numbers::<f32>(name)?;
        ensure!(
            values.len() == rows * dim,
            "{name} 一节有 {} 个数，须有 {rows} x {dim} 个；请重新训练",
            "section {name} has {} numbers, and {rows} x {dim} are needed; train the model again",
            values.len()
        );
        Ok(Weight::new(name, dim, values.to_vec()))
    }
}

/// All weights of a network, by number.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Weights {
    pub all: Vec<Weight>,
    /// Steps so far.
    steps: i32,
    /// True if what keeps the quotient finite is added behind the corrections of the moments, as PyTorch's AdamW does; else before them, as in the
    /// paper's shorter form and scikit-learn.
    corrected: bool,
}

impl Weights {
    pub(crate) fn new(all: Vec<Weight>) -> Weights {
        Weights { all, steps: 0, corrected: false }
    }

    /// Weights whose steps are those of PyTorch's AdamW.
    pub(crate) fn of_adamw(all: Vec<Weight>) -> Weights {
        Weights { corrected: true, ..Weights::new(all) }
    }

    /// Number of parameters to learn.
    pub(crate) fn count(&self) -> usize {
        self.all.iter().filter(|weight| !weight.fixed).map(|weight| weight.values.len()).sum()
    }

    /// The values by number.
    pub(crate) fn values(&self) -> Vec<&[f32]> {
        self.all.iter().map(|weight| &weight.values[..]).collect()
    }

    /// The sections of a model file.
    pub(crate) fn sections(&self) -> Vec<(&'static str, &[u8])> {
        self.all.iter().map(|weight| (weight.name, bytemuck::cast_slice(&weight.values))).collect()
    }

    /// One step of Adam down these gradients, which are by weight of these ascending rows, or of all; those of nothing are left out.
    pub(crate) fn step(&mut self, rows: &[Option<Vec<u32>>], gradients: &[Vec<f32>], rate: f32) {
        self.steps += 1;
        let [first, second] = BETA;
        // The corrections for moments that began at zero.
        let correction = (1.0 - second.powi(self.steps)).sqrt();
        let size = rate * correction / (1.0 - first.powi(self.steps));
        let epsilon = if self.corrected { EPSILON * correction } else { EPSILON };
        let read = self.all.iter_mut().zip(rows).zip(gradients);
        for ((weight, rows), gradient) in read.filter(|((weight, _), gradient)| !weight.fixed && !gradient.is_empty()) {
            let Weight { dim, values, moments, decay, .. } = weight;
            let (size, kept) = (size * weight.rate, 1.0 - rate * weight.rate * weight.shrink);
            moments.iter_mut().for_each(|moment| moment.resize(values.len(), 0.0));
            let [means, squares] = moments;
            let row = |((x, m), v): ((&mut [f32], &mut [f32]), &mut [f32]), g: &[f32]| {
                wide(
                    #[inline(always)]
                    || {
                        for (((x, m), v), g) in x.iter_mut().zip(m).zip(v).zip(g) {
                            *x *= kept;
                            let g = g + *decay * *x;
                            *m += (1.0 - first) * (g - *m);
                            *v += (1.0 - second) * (g * g - *v);
                            *x -= size * *m / (v.sqrt() + epsilon);
                        }
                    },
                );
            };
            match rows {
                None => {
                    let length = ROWS * *dim;
                    let parts = values.par_chunks_mut(length).zip(means.par_chunks_mut(length));
                    let parts = parts.zip(squares.par_chunks_mut(length)).zip(gradient.par_chunks(length));
                    parts.for_each(|(part, gradient)| row(part, gradient));
                }
                Some(rows) if weight.dense => {
                    let zeros = vec![0.0; *dim];
                    let parts = values.par_chunks_mut(*dim).zip(means.par_chunks_mut(*dim));
                    let parts = parts.zip(squares.par_chunks_mut(*dim)).enumerate().with_min_len(ROWS);
                    parts.for_each(|(number, part)| {
                        let place = rows.binary_search(&(number as u32));
                        row(part, place.map_or(&zeros, |place| &gradient[place * *dim..][..*dim]));
                    });
                }
                Some(rows) => {
                    for (&at, gradient) in rows.iter().zip(gradient.chunks(*dim)) {
                        let place = at as usize * *dim..(at as usize + 1) * *dim;
                        let part = (&mut values[place.clone()], &mut means[place.clone()]);
                        row((part, &mut squares[place]), gradient);
                    }
                }
            }
        }
    }

    /// The state of a checkpoint besides the values: the moments by weight, and the steps.
    pub(crate) fn memory(&self) -> (Vec<f32>, i32) {
        let moments = self.all.iter().flat_map(|weight| {
            let zeros = if weight.moments[0].is_empty() { 2 * weight.values.len() } else { 0 };
            weight.moments.iter().flatten().copied().chain(std::iter::repeat_n(0.0, zeros))
        });
        (moments.collect(), self.steps)
    }

    /// Takes back what [`Weights::memory`] gave.
    pub(crate) fn remember(&mut self, mut moments: &[f32], steps: i32) -> Result<()> {
        let needed: usize = self.all.iter().map(|weight| 2 * weight.values.len()).sum();
        ensure!(
            moments.len() == needed,
            "矩有 {} 个，须有 {needed} 个",
            "there are {} moments, and {needed} are needed",
            moments.len()
        );
        for weight in &mut self.all {
            for moment in &mut weight.moments {
                let (here, rest) = moments.split_at(weight.values.len());
                *moment = here.to_vec();
                moments = rest;
            }
        }
        self.steps = steps;
        Ok(())
    }
}

/// The gradient by a weight, as far as a batch reads it.
pub(crate) struct RowGradient<'r, T> {
    /// The rows that are read, ascending; none for all.
    rows: Option<&'r [u32]>,
    dim: usize,
    pub values: Vec<T>,
}

impl<'r, T: Real> RowGradient<'r, T> {
    /// A gradient of zeros; `all` is the number of rows of the weight.
    pub(crate) fn new(rows: Option<&'r [u32]>, all: usize, dim: usize) -> RowGradient<'r, T> {
        let values = vec![T::default(); rows.map_or(all, <[u32]>::len) * dim];
        RowGradient { rows, dim, values }
    }

    /// The gradient by a row that is read.
    pub(crate) fn row(&mut self, number: u32) -> &mut [T] {
        let place = self.rows.map_or(number as usize, |rows| rows.partition_point(|&row| row < number));
        &mut self.values[place * self.dim..][..self.dim]
    }

    /// Adds gradients by these rows, one after the other.
    pub(crate) fn add(&mut self, numbers: &[u32], by: &[T]) {
        for (&number, by) in numbers.iter().zip(by.chunks(self.dim)) {
            self.row(number).iter_mut().zip(by).for_each(|(to, &by)| *to += by);
        }
    }
}

/// Ascending numbers, each once.
pub(crate) fn distinct(numbers: impl Iterator<Item = u32>) -> Vec<u32> {
    let mut numbers: Vec<u32> = numbers.collect();
    numbers.sort_unstable();
    numbers.dedup();
    numbers
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_touches_the_rows_that_were_read_and_goes_down_by_the_rate() {
        let mut weights = Weights::new(vec![Weight::new("w", 2, vec![1.0; 6]), Weight::new("b", 1, vec![0.5])]);
        let read = [Some(vec![0, 2]), None];
        let mut rows = RowGradient::new(read[0].as_deref(), 3, 2);
        rows.add(&[2, 2], &[1.0; 4]);
        let gradients = [rows.values, vec![1.0]];
        assert_eq!(gradients[0], [0.0, 0.0, 2.0, 2.0]);
        weights.step(&read, &gradients, 0.1);
        // The first step of Adam is the rate, whatever the size of the gradient.
        let expected = [1.0, 1.0, 1.0, 1.0, 0.9, 0.9];
        assert!(weights.all[0].values.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-5), "{weights:?}");
        assert!((weights.all[1].values[0] - 0.4).abs() < 1e-5);
        let (moments, steps) = weights.memory();
        let mut other = Weights::new(weights.all.clone());
        other.remember(&moments, steps).unwrap();
        assert_eq!(other, weights);
        assert!(other.remember(&moments[1..], 1).unwrap_err().to_string().contains("14 are needed"));
    }
}
