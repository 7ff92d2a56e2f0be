//! The matrices of a fastText model as they are read: numbers, or codes of a product quantiser.
//!
//! `[rows, dim] f32`. Sums run in fastText's order, one value after the other, so that probabilities agree to the last digits.

use super::quantiser::Quantiser;

#[derive(Clone, Debug)]
pub(super) enum Matrix {
    Dense {
        rows: usize,
        dim: usize,
        values: Vec<f32>,
    },
    /// Codes `[rows, parts]`, and codes of the rows' lengths if these are apart.
    Quantised {
        rows: usize,
        codes: Vec<u8>,
        quantiser: Quantiser,
        norms: Option<(Vec<u8>, Quantiser)>,
    },
}

impl Matrix {
    pub(super) fn rows(&self) -> usize {
        match self {
            Matrix::Dense { rows, .. } | Matrix::Quantised { rows, .. } => *rows,
        }
    }

    pub(super) fn dim(&self) -> usize {
        match self {
            Matrix::Dense { dim, .. } => *dim,
            Matrix::Quantised { quantiser, .. } => quantiser.dim(),
        }
    }

    pub(super) fn is_quantised(&self) -> bool {
        matches!(self, Matrix::Quantised { .. })
    }

    /// Gives each value of a row in order.
    fn each(&self, row: u32, mut take: impl FnMut(usize, f32)) {
        let row = row as usize;
        match self {
            Matrix::Dense { dim, values, .. } => {
                values[row * dim..][..*dim].iter().enumerate().for_each(|(i, &v)| take(i, v));
            }
            Matrix::Quantised { codes, quantiser, norms, .. } => {
                let norm = norms.as_ref().map_or(1.0, |(codes, norms)| norms.centroid(0, codes[row])[0]);
                let parts = quantiser.parts();
                let mut i = 0;
                for (part, &code) in codes[row * parts..][..parts].iter().enumerate() {
                    for &value in quantiser.centroid(part, code) {
                        take(i, norm * value);
                        i += 1;
                    }
                }
            }
        }
    }

    /// Adds a row to a vector.
    pub(super) fn add_row(&self, row: u32, to: &mut [f32]) {
        self.each(row, |i, value| to[i] += value);
    }

    /// The product of a row and a vector.
    pub(super) fn dot_row(&self, row: u32, vector: &[f32]) -> f32 {
        let mut sum = 0.0;
        self.each(row, |i, value| sum += value * vector[i]);
        sum
    }

    pub(super) fn row(&self, row: u32) -> Vec<f32> {
        let mut values = vec![0.0; self.dim()];
        self.add_row(row, &mut values);
        values
    }
}
