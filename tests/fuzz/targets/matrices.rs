//! Sparse matrices in SciPy's archives: what is read is written and read again as the same matrix.

use inkstone_models::{read_npz, write_npz};

use super::with_file;

pub(super) fn check(bytes: &[u8]) {
    with_file("m.npz", bytes, |path| {
        let Ok(matrix) = read_npz(path) else { return };
        if write_npz(path, &matrix).is_ok() {
            assert_eq!(read_npz(path).expect("a matrix that was written can be read"), matrix);
        }
    });
}
