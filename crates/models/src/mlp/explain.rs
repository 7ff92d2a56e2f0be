//! Contribution of each column of a row to a score: integrated gradients (Sundararajan, Taly and Yan 2017), exactly.
//!
//! On the straight way from a row of zeros (no words, dense columns at their mean) to the row, t x with t from 0 to 1, column j gives
//! x_j times the mean over the way of the derivative of the score by it. A network of rectified units is linear between the points at which
//! a unit turns on or off; those are found layer by layer, so that the mean is a sum over a few stretches, and the contributions sum to
//! the score less the score of a row of zeros, up to rounding. Computed in f64.

use super::Mlp;
use crate::design::DesignRow;
use crate::neural::kernel::add_scaled;

/// The score of a row of zeros, and the contribution of each column.
pub(super) fn contributions(
    mlp: &Mlp,
    row: DesignRow<'_>,
    output: usize,
    against: Option<usize>,
) -> (f64, Vec<(u32, f64)>) {
    let first = mlp.shape.hidden[0];
    let weights_of = |column: u32| {
        let column = column as usize;
        let dense = column.checked_sub(mlp.shape.sparse);
        let (weights, row) = dense.map_or((&mlp.weights[0], column), |row| (&mlp.weights[1], row));
        &weights[row * first..][..first]
    };
    let mut entering = vec![0.0; first];
    for (column, value) in row.iter() {
        entering.iter_mut().zip(weights_of(column)).for_each(|(sum, &w)| *sum += value * f64::from(w));
    }
    let way = Way::new(mlp, entering, output, against);
    let mut by_first = vec![0.0; first];
    for stretch in way.turns().windows(2) {
        let by = way.gradient((stretch[0] + stretch[1]) / 2.0);
        add_scaled(&mut by_first, &by, stretch[1] - stretch[0]);
    }
    let part = |(column, value): (u32, f64)| {
        let by: f64 = weights_of(column).iter().zip(&by_first).map(|(&w, by)| f64::from(w) * by).sum();
        (column, value * by)
    };
    (way.score(0.0), row.iter().map(part).collect())
}

/// A layer `[inputs, outputs]` with its bias.
struct ExplainedLayer {
    outputs: usize,
    weights: Vec<f64>,
    bias: Vec<f64>,
}

impl ExplainedLayer {
    /// Input of each unit, for the values `below` of the units of the layer before.
    fn enter(&self, below: &[f64]) -> Vec<f64> {
        let mut out = self.bias.clone();
        for (weights, &unit) in self.weights.chunks(self.outputs).zip(below) {
            add_scaled(&mut out, weights, unit);
        }
        out
    }
}

/// The way from a row of zeros to a row, as the network above the first layer's columns sees it.
struct Way {
    /// Inputs of the first layer at t = 0, and their increase up to t = 1.
    bias: Vec<f64>,
    entering: Vec<f64>,
    /// The other layers; the last one has the one score alone.
    above: Vec<ExplainedLayer>,
}

impl Way {
    fn new(mlp: &Mlp, entering: Vec<f64>, output: usize, against: Option<usize>) -> Way {
        let exact = |weights: &[f32]| weights.iter().map(|&w| f64::from(w)).collect::<Vec<f64>>();
        let lead = |row: &[f64]| row[output] - against.map_or(0.0, |against| row[against]);
        let parts = mlp.shape.layers().zip(mlp.weights[1..].chunks(2)).skip(1);
        let mut above: Vec<ExplainedLayer> = parts
            .map(|((_, outputs), parts)| ExplainedLayer { outputs, weights: exact(&parts[0]), bias: exact(&parts[1]) })
            .collect();
        if let Some(last) = above.last_mut() {
            last.weights = last.weights.chunks(last.outputs).map(lead).collect();
            (last.bias, last.outputs) = (vec![lead(&last.bias)], 1);
        }
        Way { bias: exact(&mlp.weights[2]), entering, above }
    }

    /// Inputs of the layers up to `depth` at `t`, from the first one up.
    fn entered(&self, t: f64, depth: usize) -> Vec<Vec<f64>> {
        let mut all = vec![self.bias.iter().zip(&self.entering).map(|(b, x)| b + t * x).collect::<Vec<f64>>()];
        for layer in &self.above[..depth] {
            let units: Vec<f64> = all.last().into_iter().flatten().map(|z| z.max(0.0)).collect();
            all.push(layer.enter(&units));
        }
        all
    }

    fn score(&self, t: f64) -> f64 {
        self.entered(t, self.above.len()).last().map_or(0.0, |scores| scores[0])
    }

    /// 0, the points at which a unit turns on or off, and 1, ascending.
    fn turns(&self) -> Vec<f64> {
        let mut turns = vec![0.0, 1.0];
        for depth in 0..self.above.len() {
            // Between two of the turns below, what enters this layer is linear.
            let entered: Vec<Vec<f64>> = turns.iter().map(|&t| self.entered(t, depth).swap_remove(depth)).collect();
            let mut found = Vec::new();
            for (stretch, ends) in turns.windows(2).zip(entered.windows(2)) {
                for (a, b) in ends[0].iter().zip(&ends[1]).filter(|(a, b)| (**a < 0.0) != (**b < 0.0)) {
                    found.push(stretch[0] + (stretch[1] - stretch[0]) * (a / (a - b)));
                }
            }
            turns.extend(found);
            turns.sort_by(f64::total_cmp);
            turns.dedup();
        }
        turns
    }

    /// The derivative of the score by what enters the first layer, at `t`.
    fn gradient(&self, t: f64) -> Vec<f64> {
        let entered = self.entered(t, self.above.len());
        let mut by = vec![1.0];
        for (layer, units) in self.above.iter().zip(&entered).rev() {
            let rows = layer.weights.chunks(layer.outputs).zip(units);
            let down = |(weights, unit): (&[f64], &f64)| match *unit > 0.0 {
                true => weights.iter().zip(&by).map(|(w, by)| w * by).sum(),
                false => 0.0,
            };
            by = rows.map(down).collect();
        }
        by
    }
}
