//! Conjugate gradients with a preconditioner, for symmetric positive definite systems given as a product.

use anyhow::Result;

/// Solves `A x = b` from x = 0. `apply(v, out)` writes A v; `condition(r, z)` writes to z what solves a matrix near A for r.
///
/// Stops when the residual's length is `tolerance` of b's, or after `max_iterations` products. Returns x, the products
/// made and the relative residual.
pub(super) fn solve(
    mut apply: impl FnMut(&[f64], &mut [f64]) -> Result<()>,
    condition: impl Fn(&[f64], &mut [f64]),
    b: &[f64],
    tolerance: f64,
    max_iterations: usize,
) -> Result<(Vec<f64>, usize, f64)> {
    let mut x = vec![0.0; b.len()];
    let size = norm(b);
    if size == 0.0 {
        return Ok((x, 0, 0.0));
    }
    let mut residual = b.to_vec();
    let mut z = vec![0.0; b.len()];
    condition(&residual, &mut z);
    let mut direction = z.clone();
    let mut product = vec![0.0; b.len()];
    let mut rz = dot(&residual, &z);
    let mut iterations = 0;
    while norm(&residual) > tolerance * size && iterations < max_iterations {
        apply(&direction, &mut product)?;
        iterations += 1;
        let step = rz / dot(&direction, &product);
        add_scaled(&mut x, step, &direction);
        add_scaled(&mut residual, -step, &product);
        condition(&residual, &mut z);
        let next = dot(&residual, &z);
        let beta = next / rz;
        rz = next;
        for (p, z) in direction.iter_mut().zip(&z) {
            *p = z + beta * *p;
        }
    }
    let relative = norm(&residual) / size;
    Ok((x, iterations, relative))
}

pub(super) fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

pub(super) fn norm(a: &[f64]) -> f64 {
    dot(a, a).sqrt()
}

fn add_scaled(a: &mut [f64], by: f64, b: &[f64]) {
    for (a, b) in a.iter_mut().zip(b) {
        *a += by * b;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_small_system_is_solved_in_as_many_steps_as_it_has_unknowns() {
        // [4 1; 1 3] x = [1; 2] has the solution [1/11; 7/11].
        let apply = |v: &[f64], out: &mut [f64]| {
            out[0] = 4.0 * v[0] + v[1];
            out[1] = v[0] + 3.0 * v[1];
            Ok(())
        };
        let condition = |r: &[f64], z: &mut [f64]| z.copy_from_slice(&[r[0] / 4.0, r[1] / 3.0]);
        let (x, iterations, relative) = solve(apply, condition, &[1.0, 2.0], 1e-12, 10).unwrap();
        assert!((x[0] - 1.0 / 11.0).abs() < 1e-12 && (x[1] - 7.0 / 11.0).abs() < 1e-12, "{x:?}");
        assert!(iterations <= 2 && relative <= 1e-12);
    }
}
