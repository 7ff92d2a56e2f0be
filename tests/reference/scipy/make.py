"""Makes the sparse matrices of this folder with SciPy (pip install numpy==2.4.6 scipy==1.17.1; python make.py)."""

from pathlib import Path

import numpy as np
import scipy.sparse as sparse

HERE = Path(__file__).parent

dense = np.array([[0, 1.5, 0, -2], [0, 0, 0, 0], [0.25, 0, 3, 0]])
matrix = sparse.csr_matrix(dense)

# As SciPy writes it by default: deflated, float64, int32.
sparse.save_npz(HERE / "deflated_f64.npz", matrix)

# Not compressed, float32, int64, columns of a row out of order, a value in two pieces.
indptr, indices = np.array([0, 2, 2, 5], np.int64), np.array([3, 1, 2, 0, 2], np.int64)
values = np.array([-2, 1.5, 1, 0.25, 2], np.float32)
untidy = sparse.csr_matrix(dense.shape, dtype=np.float32)
untidy.indptr, untidy.indices, untidy.data = indptr, indices, values
sparse.save_npz(HERE / "stored_f32_untidy.npz", untidy, compressed=False)

sparse.save_npz(HERE / "csc.npz", sparse.csc_matrix(dense))
broken = matrix.copy()
broken.data[2] = np.nan
sparse.save_npz(HERE / "nan.npz", broken)
