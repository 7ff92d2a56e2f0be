//! The decomposition against the dense one, on matrices of every awkward kind.

use std::path::Path;

use nalgebra::DMatrix;
use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;

use super::*;

fn ctx(threads: usize) -> Ctx {
    Ctx::new(threads, 1).unwrap()
}

fn sparse(matrix: &DMatrix<f32>) -> SparseRows {
    let mut rows = RowsWriter::new(matrix.ncols(), Path::new(""));
    for row in matrix.row_iter() {
        let entries = (0..).zip(row.iter().copied()).filter(|(_, value): &(u32, f32)| *value != 0.0);
        let (indices, values): (Vec<u32>, Vec<f32>) = entries.unzip();
        rows.push(Row { indices: &indices, values: &values }).unwrap();
    }
    rows.finish().unwrap()
}

/// A matrix of which one cell in four is filled, scaled down from column to column.
fn made(rows: usize, cols: usize, decay: f64) -> DMatrix<f32> {
    let mut random = ChaCha8Rng::seed_from_u64(5);
    DMatrix::from_fn(rows, cols, |_, j| {
        if random.random::<f32>() < 0.25 { random.random::<f32>() * decay.powi(j as i32) as f32 } else { 0.0 }
    })
}

fn singular(matrix: &DMatrix<f32>) -> Vec<f64> {
    let mut values: Vec<f64> = matrix.map(f64::from).singular_values().iter().copied().collect();
    values.sort_by(|a, b| b.total_cmp(a));
    values
}

fn decomposed(matrix: &DMatrix<f32>, dim: usize) -> Result<Svd> {
    truncated(&sparse(matrix), &SvdParams { dim }, &ctx(2))
}

/// The lengths of the rows' projections are the singular values, and the vectors are orthonormal.
fn check(matrix: &DMatrix<f32>, dim: usize, tolerance: f64) {
    let svd = decomposed(matrix, dim).unwrap();
    for (i, (found, truth)) in svd.singular_values.iter().zip(singular(matrix)).enumerate() {
        assert!((found / truth - 1.0).abs() < tolerance, "{dim} of {:?}, value {i}: {found}, {truth}", matrix.shape());
    }
    let right = DMatrix::from_row_slice(matrix.ncols(), dim, &svd.right);
    let error = (right.transpose() * &right - DMatrix::identity(dim, dim)).abs().max();
    assert!(error < 1e-4, "{dim} of {:?}: {error}", matrix.shape());
    let projected = (matrix * &right).map(f64::from);
    let total: f64 = matrix.map(f64::from).column_iter().map(|column| column.variance()).sum();
    for j in 0..dim {
        let column = projected.column(j);
        assert!((column.norm() / svd.singular_values[j] - 1.0).abs() < 1e-5);
        assert!((svd.explained[j] - column.variance() / total).abs() < 1e-6, "{j}");
        let largest = right.column(j).iter().copied().max_by(|a, b| a.abs().total_cmp(&b.abs())).unwrap();
        assert!(largest > 0.0);
    }
}

#[test]
fn singular_values_are_those_of_the_dense_decomposition() {
    check(&made(300, 120, 1.0), 20, 1e-3);
    check(&made(120, 300, 1.0), 20, 1e-3);
    check(&made(1500, 60, 0.9), 30, 1e-3);
    check(&made(5, 90, 1.0), 5, 1e-5);
    check(&made(90, 3, 1.0), 2, 1e-5);
    check(&DMatrix::from_row_slice(2, 2, &[3.0, 0.0, 0.0, 0.5]), 1, 1e-6);
}

#[test]
fn values_that_come_more_often_than_a_block_is_wide_are_all_found() {
    let mut matrix = DMatrix::zeros(80, 70);
    (0..70).for_each(|i| matrix[(i, i)] = if i < 50 { 2.0 } else { 1.0 });
    check(&matrix, 60, 1e-5);
}

#[test]
fn a_flat_spectrum_is_found_by_a_basis_that_shrinks_and_grows_again() {
    // A basis of 176 columns is full long before values this close are apart.
    let (n, dim) = (1500, 2);
    let mut rows = RowsWriter::new(n, Path::new(""));
    let value = |i: usize| 1.0 + i as f32 / n as f32;
    for i in 0..n {
        rows.push(Row { indices: &[i as u32], values: &[value(i)] }).unwrap();
    }
    let svd = decompose(&rows.finish().unwrap(), dim, 1e-5, &ctx(2)).unwrap();
    assert!(svd.error <= 1e-5, "{}", svd.error);
    for (j, found) in svd.singular_values.iter().enumerate() {
        assert!((found / f64::from(value(n - 1 - j)) - 1.0).abs() < 1e-4, "{:?}", svd.singular_values);
    }
}

#[test]
fn more_dimensions_than_the_matrix_has_are_refused_with_its_rank() {
    // Ten rows, each four times: rank 10.
    let few = made(10, 50, 1.0);
    let matrix = DMatrix::from_fn(40, 50, |i, j| few[(i % 10, j)]);
    check(&matrix, 10, 1e-5);
    let error = decomposed(&matrix, 11).unwrap_err().to_string();
    assert!(error.contains("11 dimensions") && error.contains("rank 10") && error.contains("1 to 10"), "{error}");
    let error = decomposed(&DMatrix::zeros(3, 3), 1).unwrap_err().to_string();
    assert!(error.contains("nothing but zeros"), "{error}");
    let error = sparse(&matrix).check(41, "documents", "terms").unwrap_err().to_string();
    assert!(error.contains("41 dimensions") && error.contains("40 documents with 50 terms"), "{error}");
}

#[test]
fn threads_change_no_bit_and_seeds_little() {
    for matrix in [made(2500, 90, 1.0), made(90, 2500, 1.0)] {
        let rows = sparse(&matrix);
        let params = SvdParams { dim: 10 };
        let one = truncated(&rows, &params, &ctx(1)).unwrap();
        for threads in [2, 8] {
            assert_eq!(truncated(&rows, &params, &ctx(threads)).unwrap(), one);
        }
        let other = truncated(&rows, &params, &Ctx::new(2, 9).unwrap()).unwrap();
        assert_ne!(other, one);
        let pairs = other.singular_values.iter().zip(&one.singular_values);
        pairs.for_each(|(a, b)| assert!((a / b - 1.0).abs() < 1e-3));
    }
}

#[test]
fn a_cancelled_decomposition_stops() {
    let ctx = ctx(1);
    ctx.cancel();
    let error = truncated(&sparse(&made(30, 30, 1.0)), &SvdParams { dim: 3 }, &ctx).unwrap_err();
    assert!(error.is::<Cancelled>());
}
