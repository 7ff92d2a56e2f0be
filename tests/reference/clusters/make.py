"""Makes clusters.json with scikit-learn and SciPy (pip install scikit-learn==1.9.1 scipy==1.17.1 numpy==2.4.6; python make.py)."""

import json
from pathlib import Path

import numpy as np
import scipy
import sklearn
from scipy.cluster.hierarchy import fcluster, linkage
from sklearn.cluster import KMeans

HERE = Path(__file__).parent
random = np.random.default_rng(7)


def blobs(n, dim, centres, spread):
    middle = random.normal(size=(centres, dim))
    return (middle[random.integers(centres, size=n)] + spread * random.normal(size=(n, dim))).astype(np.float32)


def rounded(rows):
    # What is written is what is read.
    return np.array([[float(f"{value:.4f}") for value in row] for row in rows], dtype=np.float32)


kmeans = []
for n, dim, k, spread in [(60, 2, 4, 0.3), (150, 5, 8, 0.7), (40, 3, 12, 1.0)]:
    rows = rounded(blobs(n, dim, k, spread))
    start = rows[:k].astype(np.float64)
    given = KMeans(k, init=start, n_init=1, algorithm="lloyd").fit(rows.astype(np.float64))
    best = KMeans(k, n_init=100, random_state=1).fit(rows.astype(np.float64))
    kmeans.append({
        "rows": [[float(f"{value:.4f}") for value in row] for row in rows],
        "k": k,
        "labels": given.labels_.tolist(),
        "inertia": given.inertia_,
        "rounds": given.n_iter_,
        "centres": given.cluster_centers_.tolist(),
        "best_inertia": best.inertia_,
    })
# Two seeds in one place and one far from all rows leave a cluster without rows.
rows = rounded(blobs(30, 2, 3, 0.4))
start = np.array([rows[0], rows[0], [50, 50], rows[3]], dtype=np.float64)
given = KMeans(4, init=start, n_init=1, algorithm="lloyd").fit(rows.astype(np.float64))
empty = {
    "rows": [[float(f"{value:.4f}") for value in row] for row in rows],
    "start": start.tolist(),
    "labels": given.labels_.tolist(),
    "inertia": given.inertia_,
}
rows = np.array([[float(f"{value:.4f}") for value in row] for row in blobs(40, 3, 5, 0.8)])
trees = []
for method in ["ward", "average", "complete", "single"]:
    merges = linkage(rows, method)
    trees.append({
        "method": method,
        "merges": merges.tolist(),
        "clusters": [fcluster(merges, k, "maxclust").tolist() for k in [1, 2, 5, 9]],
    })
value = {
    "scikit-learn": sklearn.__version__,
    "scipy": scipy.__version__,
    "kmeans": kmeans,
    "empty": empty,
    "trees": {"rows": [[float(f"{value:.4f}") for value in row] for row in rows], "cases": trees},
}
(HERE / "clusters.json").write_text(json.dumps(value, separators=(",", ":")) + "\n", encoding="utf-8")
