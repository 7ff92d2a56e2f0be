//! Decompositions of the small matrices that are products of tall ones, in f64.

use nalgebra::{DMatrix, SymmetricEigen};

use super::slice::{LANES, Tile};

/// The matrix that makes sixteen columns with this Gram matrix orthonormal when they are multiplied with it: the inverse of
/// the Cholesky factor, upper triangular. A column whose part beyond those before it has a squared length of `least` or
/// less becomes zero.
pub(super) fn orthonormaliser(gram: &Tile, least: &[f64; LANES]) -> Tile {
    // The Gram matrix is the factor's transpose times the factor.
    let mut factor = [[0.0; LANES]; LANES];
    let mut inverse = [[0.0; LANES]; LANES];
    for j in 0..LANES {
        for i in 0..j {
            if factor[i][i] > 0.0 {
                let known: f64 = (0..i).map(|k| factor[k][i] * factor[k][j]).sum();
                factor[i][j] = (gram[i][j] - known) / factor[i][i];
            }
        }
        let rest = gram[j][j] - (0..j).map(|k| factor[k][j].powi(2)).sum::<f64>();
        if rest > least[j] {
            factor[j][j] = rest.sqrt();
            inverse[j][j] = 1.0 / factor[j][j];
            for i in 0..j {
                inverse[i][j] = -(i..j).map(|k| inverse[i][k] * factor[k][j]).sum::<f64>() / factor[j][j];
            }
        }
    }
    inverse
}

/// A symmetric matrix that grows by sixteen rows and columns at a time.
#[derive(Default)]
pub(super) struct Projected {
    /// Row `j` of tiles holds those from column 0 to the diagonal, as the products of the earlier columns with the later.
    tiles: Vec<Vec<Tile>>,
}

impl Projected {
    /// Adds the products of all columns so far, the new ones included, with the new ones.
    pub(super) fn grow(&mut self, tiles: Vec<Tile>) {
        debug_assert_eq!(tiles.len(), self.tiles.len() + 1);
        self.tiles.push(tiles);
    }

    /// Rows, and columns.
    pub(super) fn size(&self) -> usize {
        self.tiles.len() * LANES
    }

    fn matrix(&self) -> DMatrix<f64> {
        let mut matrix = DMatrix::zeros(self.size(), self.size());
        for (b, column) in self.tiles.iter().enumerate() {
            for (a, tile) in column.iter().enumerate() {
                for (i, row) in tile.iter().enumerate() {
                    for (j, &value) in row.iter().enumerate() {
                        let (i, j) = (a * LANES + i, b * LANES + j);
                        // On the diagonal both halves come from the products; their mean is symmetric.
                        if a < b {
                            matrix[(i, j)] = value;
                            matrix[(j, i)] = value;
                        } else {
                            matrix[(i, j)] += 0.5 * value;
                            matrix[(j, i)] += 0.5 * value;
                        }
                    }
                }
            }
        }
        matrix
    }

    /// The `count` largest eigenvalues, the largest first.
    pub(super) fn values(&self, count: usize) -> Vec<f64> {
        let mut values: Vec<f64> = self.matrix().symmetric_eigenvalues().iter().copied().collect();
        values.sort_by(|a, b| b.total_cmp(a));
        values.truncate(count);
        values
    }

    /// The matrix on its eigenvectors of the `count` largest eigenvalues: these on the diagonal. `count` is a multiple of 16.
    pub(super) fn leading(&self, count: usize) -> Projected {
        let values = self.values(count);
        let tile = |a: usize, b: usize| -> Tile {
            let value = |i: usize, j: usize| if (a, i) == (b, j) { values[a * LANES + i] } else { 0.0 };
            std::array::from_fn(|i| std::array::from_fn(|j| value(i, j)))
        };
        Projected { tiles: (0..count / LANES).map(|b| (0..=b).map(|a| tile(a, b)).collect()).collect() }
    }

    /// The eigenvectors of the `count` largest eigenvalues as columns: tiles, row of tiles by row, each row filled up with
    /// zeros to whole tiles.
    pub(super) fn vectors(&self, count: usize) -> Vec<Vec<Tile>> {
        let SymmetricEigen { eigenvalues, eigenvectors } = self.matrix().symmetric_eigen();
        let mut order: Vec<usize> = (0..self.size()).collect();
        order.sort_by(|&a, &b| eigenvalues[b].total_cmp(&eigenvalues[a]).then(a.cmp(&b)));
        order.truncate(count);
        let value = |i: usize, j: usize| order.get(j).map_or(0.0, |&j| eigenvectors[(i, j)]);
        let tile = |a: usize, b: usize| -> Tile {
            std::array::from_fn(|i| std::array::from_fn(|j| value(a * LANES + i, b * LANES + j)))
        };
        let across = count.div_ceil(LANES);
        (0..self.tiles.len()).map(|a| (0..across).map(|b| tile(a, b)).collect()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A matrix that is the identity but for its upper left corner.
    fn tile<const N: usize>(corner: [[f64; N]; N]) -> Tile {
        let mut tile = std::array::from_fn(|i| std::array::from_fn(|j| f64::from(i == j)));
        for (i, row) in corner.iter().enumerate() {
            tile[i][..N].copy_from_slice(row);
        }
        tile
    }

    #[test]
    fn columns_become_orthonormal_and_repeated_ones_zero() {
        // Columns a = (1, 1), b = (0, 2), c = a + b.
        let by = orthonormaliser(&tile([[2.0, 2.0, 4.0], [2.0, 4.0, 6.0], [4.0, 6.0, 10.0]]), &[1e-9; LANES]);
        let made = [[1.0, 0.0, 1.0], [1.0, 2.0, 3.0]]
            .map(|row| -> [f64; 3] { std::array::from_fn(|j| (0..3).map(|i| row[i] * by[i][j]).sum()) });
        let half = 0.5f64.sqrt();
        for (row, expected) in made.iter().zip([[half, -half, 0.0], [half, half, 0.0]]) {
            assert!(row.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-15), "{made:?}");
        }
        assert_eq!(by[5][5], 1.0);
    }

    #[test]
    fn eigenvalues_come_largest_first_with_their_vectors() {
        let mut projected = Projected::default();
        projected.grow(vec![tile([[2.0, 1.0], [1.0, 2.0]])]);
        let mut apart = [[0.0; LANES]; LANES];
        apart[15][0] = 3.0;
        projected.grow(vec![apart, tile([[5.0]])]);
        // The blocks (2 1; 1 2) with 3 and 1, and (1 3; 3 5) with 3 +- the root of 13; the rest are ones.
        let root = 13f64.sqrt();
        let values = projected.values(3);
        assert!(values.iter().zip([3.0 + root, 3.0, 1.0]).all(|(a, b)| (a - b).abs() < 1e-12), "{values:?}");
        let vectors = projected.vectors(2);
        assert_eq!((vectors.len(), vectors[0].len()), (2, 1));
        let (x, y) = (vectors[0][0][15][0], vectors[1][0][0][0]);
        assert!((3.0 * x + 5.0 * y - (3.0 + root) * y).abs() < 1e-12 && (x * x + y * y - 1.0).abs() < 1e-12);
        assert!((vectors[0][0][0][1] - vectors[0][0][1][1]).abs() < 1e-12);
        assert_eq!(vectors[0][0][0][2], 0.0);
    }
}
