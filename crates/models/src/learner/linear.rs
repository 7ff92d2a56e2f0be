//! Linear scores as a scorer.

use anyhow::Result;

use super::Scorer;
use crate::design::{Design, DesignRow};
use crate::linear::LinearMap;

impl Scorer for LinearMap {
    fn outputs(&self) -> usize {
        self.outputs
    }

    fn scores(&self, x: &Design) -> Vec<f64> {
        let mut out = vec![0.0; x.rows() * self.outputs];
        x.product(&self.weights, self.outputs, &mut out);
        out.chunks_mut(self.outputs).for_each(|row| row.iter_mut().zip(&self.intercepts).for_each(|(s, b)| *s += b));
        out
    }

    fn explain(&self, row: DesignRow<'_>, output: usize, against: Option<usize>) -> (f64, Vec<(u32, f64)>) {
        let lead = |value: &dyn Fn(usize) -> f64| value(output) - against.map_or(0.0, value);
        let part = |(j, value): (u32, f64)| (j, value * lead(&|k| self.weight(j, k)));
        (lead(&|k| self.intercepts[k]), row.iter().map(part).collect())
    }

    /// `weights` `[columns, outputs]` and `intercepts`, f64.
    fn sections(&self) -> Result<Vec<(&'static str, Vec<u8>)>> {
        Ok(vec![
            ("weights", bytemuck::cast_slice(&self.weights).to_vec()),
            ("intercepts", bytemuck::cast_slice(&self.intercepts).to_vec()),
        ])
    }

    fn linear(&self) -> Option<&LinearMap> {
        Some(self)
    }
}
