//! Products of sparse rows with dense weights.

use rayon::prelude::*;

use super::Csr;

/// Rows that one task scores at the least.
const ROWS_PER_TASK: usize = 256;
/// Rows of a part that has sums of its own, at the least, and such parts at the most.
const ROWS_PER_PART: usize = 4096;
const PARTS: usize = 16;

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

/// Writes to `out`, `[columns]`, the sum over rows of `b_i x_i`, where `b_i = weigh(i, x_i w)` and w are the weights. Returns the sum of the
/// b_i. Each row is read once; a product with the rows and another with their transpose would read them twice.
pub(crate) fn weighed_sum(x: &Csr, weights: &[f64], weigh: impl Fn(usize, f64) -> f64 + Sync, out: &mut [f64]) -> f64 {
    let rows = x.rows().div_ceil(PARTS).max(ROWS_PER_PART);
    let part = |first: usize| {
        let mut sums = vec![0.0; x.cols()];
        let mut total = 0.0;
        for i in first..x.rows().min(first + rows) {
            let row = x.row(i);
            let by = weigh(i, row.dot(weights));
            total += by;
            row.iter().for_each(|(j, value)| sums[j as usize] += by * f64::from(value));
        }
        (sums, total)
    };
    let firsts: Vec<usize> = (0..x.rows()).step_by(rows).collect();
    let parts: Vec<(Vec<f64>, f64)> = firsts.into_par_iter().map(part).collect();
    out.fill(0.0);
    for (sums, _) in &parts {
        out.iter_mut().zip(sums).for_each(|(out, sum)| *out += sum);
    }
    parts.iter().map(|part| part.1).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weighed_sums_are_those_of_both_products_for_any_number_of_parts() {
        for rows in [0, 3, 5000, 70_001] {
            let mut x = Csr::new(7);
            (0..rows).for_each(|i| x.push_row([((i % 5) as u32, 0.5 + (i % 3) as f32), (6, (i % 7) as f32)]));
            let weights: Vec<f64> = (0..7).map(|j| 0.25 * f64::from(j) - 0.5).collect();
            let weigh = |i: usize, product: f64| product * (1 + i % 2) as f64 - 0.125;
            let mut out = vec![f64::NAN; 7];
            let total = weighed_sum(&x, &weights, weigh, &mut out);
            let by: Vec<f64> = x.dot(&weights).into_iter().enumerate().map(|(i, product)| weigh(i, product)).collect();
            let expected = x.transpose().dot(&by);
            let near = |a: f64, b: f64| (a - b).abs() <= 1e-12 * b.abs().max(1.0);
            assert!(out.iter().zip(&expected).all(|(a, b)| near(*a, *b)), "{rows}: {out:?} {expected:?}");
            assert!(near(total, by.iter().sum()));
        }
    }
}
