//! The weights of a network as plain numbers, their steps by Adam, and what a graph reads of them.
//!
//! candle's gradient of a lookup is as large as the whole table. So the weights lie here, `[rows, dim] f32` each, and a graph is
//! given a [`Leaf`] of those rows alone that a batch speaks of: gradients and steps then cost what the batch costs.
//! A row that a batch does not read keeps its moments (the lazy form of Adam).

use anyhow::{Result, ensure};
use candle_core::{DType, Device, Tensor, Var};
use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;

use crate::ModelFile;

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
    moments: [Vec<f32>; 2],
}

impl Weight {
    /// Takes numbers, `[rows, dim]` row by row.
    pub(crate) fn new(name: &'static str, dim: usize, values: Vec<f32>) -> Weight {
        Weight { name, dim, values, fixed: false, decay: 0.0, moments: [Vec::new(), Vec::new()] }
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

    pub(crate) fn rows(&self) -> usize {
        self.values.len() / self.dim
    }

    /// Reads a section of a model file.
    pub(crate) fn read(name: &'static str, rows: usize, dim: usize, file: &ModelFile) -> Result<Weight> {
        let values = file.numbers::<f32>(name)?;
        ensure!(
            values.len() == rows * dim,
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
}

impl Weights {
    pub(crate) fn new(all: Vec<Weight>) -> Weights {
        Weights { all, steps: 0 }
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

    /// For a graph that gradients are wanted of: by weight the ascending rows that it reads, or none for all.
    pub(crate) fn leaves(&self, rows: &[Option<Vec<u32>>]) -> Result<Leaves> {
        let leaf = |(weight, rows): (&Weight, &Option<Vec<u32>>)| -> Result<Leaf> {
            let values = match rows {
                None => weight.values.clone(),
                Some(rows) => {
                    let row = |&row: &u32| &weight.values[row as usize * weight.dim..][..weight.dim];
                    rows.iter().flat_map(row).copied().collect()
                }
            };
            let shape = (values.len() / weight.dim, weight.dim);
            let tensor = match weight.fixed {
                true => Tensor::from_vec(values, shape, &Device::Cpu)?,
                false => Var::from_vec(values, shape, &Device::Cpu)?.into_inner(),
            };
            Ok(Leaf { tensor, rows: rows.clone() })
        };
        Ok(Leaves(self.all.iter().zip(rows).map(leaf).collect::<Result<_>>()?))
    }

    /// For graphs that only compute.
    pub(crate) fn constants(&self) -> Result<Leaves> {
        let leaf = |weight: &Weight| -> Result<Leaf> {
            let tensor = Tensor::from_slice(&weight.values, (weight.rows(), weight.dim), &Device::Cpu)?;
            Ok(Leaf { tensor, rows: None })
        };
        Ok(Leaves(self.all.iter().map(leaf).collect::<Result<_>>()?))
    }

    /// One step of Adam down these gradients, which are by weight of these ascending rows, or of all; those of nothing are left out.
    pub(crate) fn step(&mut self, rows: &[Option<Vec<u32>>], gradients: &[Vec<f32>], rate: f32) {
        self.steps += 1;
        let [first, second] = BETA;
        // The corrections for moments that began at zero.
        let size = rate * (1.0 - second.powi(self.steps)).sqrt() / (1.0 - first.powi(self.steps));
        let read = self.all.iter_mut().zip(rows).zip(gradients);
        for ((weight, rows), gradient) in read.filter(|((weight, _), gradient)| !weight.fixed && !gradient.is_empty()) {
            let Weight { dim, values, moments, decay, .. } = weight;
            moments.iter_mut().for_each(|moment| moment.resize(values.len(), 0.0));
            let [means, squares] = moments;
            let numbers = |x: &mut f32, m: &mut f32, v: &mut f32, g: f32| {
                let g = g + *decay * *x;
                *m += (1.0 - first) * (g - *m);
                *v += (1.0 - second) * (g * g - *v);
                *x -= size * *m / (v.sqrt() + EPSILON);
            };
            let row = |((x, m), v): ((&mut [f32], &mut [f32]), &mut [f32]), g: &[f32]| {
                x.iter_mut().zip(m).zip(v).zip(g).for_each(|(((x, m), v), &g)| numbers(x, m, v, g));
            };
            match rows {
                None => {
                    let length = ROWS * *dim;
                    let parts = values.par_chunks_mut(length).zip(means.par_chunks_mut(length));
                    let parts = parts.zip(squares.par_chunks_mut(length)).zip(gradient.par_chunks(length));
                    parts.for_each(|(part, gradient)| row(part, gradient));
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
        ensure!(moments.len() == needed, "there are {} moments, and {needed} are needed", moments.len());
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

/// The part of one weight that a graph reads.
pub(crate) struct Leaf {
    tensor: Tensor,
    /// The rows of the weight that it has, ascending; none for all.
    rows: Option<Vec<u32>>,
}

/// The parts of all weights that a graph reads.
pub(crate) struct Leaves(Vec<Leaf>);

impl Leaves {
    /// Leaves that are whole weights.
    #[cfg(test)]
    pub(crate) fn whole_of(tensors: &[Tensor]) -> Leaves {
        Leaves(tensors.iter().map(|tensor| Leaf { tensor: tensor.clone(), rows: None }).collect())
    }

    /// The matrix of a weight, as far as it is there.
    pub(crate) fn matrix(&self, weight: usize) -> &Tensor {
        &self.0[weight].tensor
    }

    /// Rows of a weight by their numbers in it, `[numbers, dim]`.
    pub(crate) fn rows(&self, weight: usize, numbers: &[u32]) -> Result<Tensor> {
        let Leaf { tensor, rows } = &self.0[weight];
        let here: Vec<u32> = match rows {
            None => numbers.to_vec(),
            Some(rows) => numbers.iter().map(|number| rows.partition_point(|row| row < number) as u32).collect(),
        };
        let length = here.len();
        Ok(tensor.index_select(&Tensor::from_vec(here, length, &Device::Cpu)?, 0)?)
    }

    /// Numbers that are no weights, in the type of the weights.
    pub(crate) fn constant(&self, values: &[f32], shape: impl Into<candle_core::Shape>) -> Result<Tensor> {
        Ok(Tensor::from_slice(values, shape, &Device::Cpu)?.to_dtype(self.dtype())?)
    }

    /// A column of ones at the end of `[rows, features]`, which a bias is multiplied by.
    pub(crate) fn with_one(&self, features: &Tensor) -> Result<Tensor> {
        let rows = features.dim(0)?;
        Ok(Tensor::cat(&[features, &self.constant(&vec![1.0; rows], (rows, 1))?], 1)?)
    }

    fn dtype(&self) -> DType {
        self.0[0].tensor.dtype()
    }

    /// The gradients of a number by leaf; nothing where it does not depend on one.
    pub(crate) fn gradients(&self, loss: &Tensor) -> Result<Vec<Vec<f32>>> {
        let mut found = loss.backward()?;
        let gradient = |leaf: &Leaf| match found.remove(&leaf.tensor) {
            None => Ok(Vec::new()),
            Some(gradient) => Ok(gradient.flatten_all()?.to_vec1::<f32>()?),
        };
        self.0.iter().map(gradient).collect()
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
        let leaves = weights.leaves(&read).unwrap();
        let rows = leaves.rows(0, &[2, 2]).unwrap();
        let loss = (rows.sum_all().unwrap() + leaves.matrix(1).sum_all().unwrap()).unwrap();
        let gradients = leaves.gradients(&loss).unwrap();
        assert_eq!(gradients, [vec![0.0, 0.0, 2.0, 2.0], vec![1.0]]);
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
