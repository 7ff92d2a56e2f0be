//! The product of sparse rows with dense weights.

use rayon::prelude::*;

use super::Csr;

/// Rows that one task scores at the least.
const ROWS_PER_TASK: usize = 256;

/// The product of rows with weights `[columns, outputs]`, into `[rows, outputs]`; each element is summed by one thread in
/// column order.
pub(crate) fn product(x: &Csr, weights: &[f64], outputs: usize, out: &mut [f64]) {
    assert!(weights.len() >= x.cols() * outputs, "{} weights for {} columns", weights.len(), x.cols());
    out.par_chunks_mut(outputs).with_min_len(ROWS_PER_TASK).enumerate().for_each(|(i, out)| {
        out.fill(0.0);
        for (j, value) in x.row(i).iter() {
            let at = j as usize * outputs;
            for (out, w) in out.iter_mut().zip(&weights[at..at + outputs]) {
                *out += f64::from(value) * w;
            }
        }
    });
}
