//! L-BFGS (Nocedal 1980; Liu and Nocedal 1989) with a search along the line for the weak conditions of Wolfe.

use std::collections::VecDeque;

use anyhow::Result;
use inkstone_base::ensure;
use inkstone_base::job::Ctx;
use serde_json::json;

use super::objective::dot;
use crate::ModelFile;
use crate::checkpoint::Checkpoint;

/// Pairs of steps and changes of the gradient that are remembered.
const REMEMBERED: usize = 6;
/// Steps over which the loss must have settled.
const PERIOD: usize = 10;
/// Share of the decrease that the slope promises, at the least (Armijo).
const DECREASE: f64 = 1e-4;
/// Share of the slope that may be left behind a step, at the most (Wolfe).
const SLOPE: f64 = 0.9;
/// Trials along one line at the most.
const TRIALS: usize = 40;

/// A function of weights, which writes its gradient.
pub(super) type Function<'f> = dyn FnMut(&[f64], &mut [f64]) -> Result<f64> + 'f;

/// A minimisation under way.
pub(super) struct Lbfgs {
    weights: Vec<f64>,
    gradient: Vec<f64>,
    /// Steps and changes of the gradient, the newest last.
    steps: VecDeque<(Vec<f64>, Vec<f64>)>,
    /// The value at the weights; none before the first evaluation.
    value: Option<f64>,
    losses: Vec<f64>,
}

impl Lbfgs {
    /// Starts at weights of 0.
    pub(super) fn new(count: usize) -> Lbfgs {
        let zeros = vec![0.0; count];
        Lbfgs { weights: zeros.clone(), gradient: zeros, steps: VecDeque::new(), value: None, losses: Vec::new() }
    }

    pub(super) fn weights(&self) -> &[f64] {
        &self.weights
    }

    /// The value after each step.
    pub(super) fn losses(&self) -> &[f64] {
        &self.losses
    }

    /// True if the last steps made the value smaller by the share `tolerance` or less.
    pub(super) fn is_settled(&self, tolerance: f64) -> bool {
        let Some(&[before, .., now]) = self.losses.len().checked_sub(PERIOD + 1).map(|first| &self.losses[first..])
        else {
            return false;
        };
        before - now <= tolerance * now.abs()
    }

    /// Takes a step; false at the minimum, where no step makes the value smaller.
    pub(super) fn step(&mut self, function: &mut Function<'_>, ctx: &Ctx) -> Result<bool> {
        let value = match self.value {
            Some(value) => value,
            None => function(&self.weights, &mut self.gradient)?,
        };
        self.value = Some(value);
        let mut direction = self.direction(ctx);
        let mut slope = dot(&direction, &self.gradient, ctx);
        if slope >= 0.0 {
            // Rounding has spoilt the memory: along the gradient the value falls.
            self.steps.clear();
            direction = self.gradient.iter().map(|value| -value).collect();
            slope = dot(&direction, &self.gradient, ctx);
        }
        let first = if self.steps.is_empty() { 1.0 / dot(&direction, &direction, ctx).sqrt() } else { 1.0 };
        if slope.abs() <= f64::EPSILON * value.abs() || !first.is_finite() {
            return Ok(false);
        }
        let (mut least, mut most, mut length) = (0.0, f64::INFINITY, first);
        let mut weights = self.weights.clone();
        let mut gradient = vec![0.0; weights.len()];
        for _ in 0..TRIALS {
            let moved = weights.iter_mut().zip(&self.weights).zip(&direction);
            moved.for_each(|((new, old), along)| *new = old + length * along);
            let found = function(&weights, &mut gradient)?;
            if !found.is_finite() || found > value + DECREASE * length * slope {
                most = length;
            } else if dot(&gradient, &direction, ctx) < SLOPE * slope {
                least = length;
            } else {
                let change = gradient.iter().zip(&self.gradient).map(|(new, old)| new - old).collect();
                direction.iter_mut().for_each(|along| *along *= length);
                if self.steps.len() == REMEMBERED {
                    self.steps.pop_front();
                }
                self.steps.push_back((direction, change));
                (self.weights, self.gradient, self.value) = (weights, gradient, Some(found));
                self.losses.push(found);
                return Ok(true);
            }
            length = if most.is_finite() { (least + most) / 2.0 } else { 2.0 * length };
        }
        Ok(false)
    }

    /// The direction of the next step: minus the gradient, times the inverse of the curvature as the remembered steps tell it.
    fn direction(&self, ctx: &Ctx) -> Vec<f64> {
        let mut direction: Vec<f64> = self.gradient.iter().map(|value| -value).collect();
        let curvatures: Vec<f64> = self.steps.iter().map(|(step, change)| dot(step, change, ctx)).collect();
        let mut shares = Vec::new();
        for ((step, change), curvature) in self.steps.iter().zip(&curvatures).rev() {
            let share = dot(step, &direction, ctx) / curvature;
            direction.iter_mut().zip(change).for_each(|(value, change)| *value -= share * change);
            shares.push(share);
        }
        if let (Some((_, change)), Some(curvature)) = (self.steps.back(), curvatures.last()) {
            let scale = curvature / dot(change, change, ctx);
            direction.iter_mut().for_each(|value| *value *= scale);
        }
        for (((step, change), curvature), share) in self.steps.iter().zip(&curvatures).zip(shares.iter().rev()) {
            let other = dot(change, &direction, ctx) / curvature;
            direction.iter_mut().zip(step).for_each(|(value, step)| *value += (share - other) * step);
        }
        direction
    }

    /// Keeps the state in a checkpoint.
    pub(super) fn keep(&self, checkpoint: &Checkpoint) -> Result<()> {
        let steps: Vec<f64> = self.steps.iter().flat_map(|(step, change)| step.iter().chain(change)).copied().collect();
        let sections: [(&str, &[u8]); 4] = [
            ("weights", bytemuck::cast_slice(&self.weights)),
            ("gradient", bytemuck::cast_slice(&self.gradient)),
            ("steps", bytemuck::cast_slice(&steps)),
            ("losses", bytemuck::cast_slice(&self.losses)),
        ];
        checkpoint.write(json!({"steps": self.steps.len()}), &sections)
    }

    /// Restores the state from a checkpoint.
    pub(super) fn restore(&mut self, file: &ModelFile) -> Result<()> {
        let count = self.weights.len();
        let (weights, gradient) = (file.numbers::<f64>("weights")?, file.numbers::<f64>("gradient")?);
        let (steps, losses) = (file.numbers::<f64>("steps")?, file.numbers::<f64>("losses")?);
        ensure!(
            weights.len() == count && gradient.len() == count && steps.len() % (2 * count) == 0 && !losses.is_empty(),
            "训练状态已损坏；删除 .checkpoint 文件即可从头训练",
            "the state of the training is damaged; remove the file .checkpoint to train from the beginning"
        );
        self.weights.copy_from_slice(weights);
        self.gradient.copy_from_slice(gradient);
        let pairs = steps.chunks_exact(2 * count).map(|both| (both[..count].to_vec(), both[count..].to_vec()));
        self.steps = pairs.collect();
        self.losses = losses.to_vec();
        self.value = losses.last().copied();
        Ok(())
    }
}
