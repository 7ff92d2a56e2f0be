"""Where scikit-learn's PCA and TSNE put invented rows of length 1: python projection.py > projection.json (scikit-learn 1.9).

Rows of six clusters in eight dimensions; trustworthiness and the share of ten neighbours kept are those of TSNE's points.
"""

import json

import numpy as np
from sklearn.decomposition import PCA
from sklearn.manifold import TSNE, trustworthiness
from sklearn.neighbors import NearestNeighbors

rng = np.random.default_rng(7)
centres = rng.normal(size=(6, 8))
rows = np.round(centres[np.arange(120) % 6] + 0.45 * rng.normal(size=(120, 8)), 3).astype(np.float32)
unit = rows / np.linalg.norm(rows, axis=1, keepdims=True)

pca = PCA(2).fit(unit)
signs = np.sign(pca.components_[np.arange(2), np.abs(pca.components_).argmax(axis=1)])
points = TSNE(perplexity=12, init="pca", random_state=0).fit_transform(unit)


def among(x):
    return NearestNeighbors(n_neighbors=10).fit(x).kneighbors(return_distance=False)


kept = np.mean([len(set(a) & set(b)) / 10 for a, b in zip(among(unit), among(points))])
print(json.dumps({
    "rows": [[float(f"{v:.3f}") for v in row] for row in rows],
    "explained": pca.explained_variance_ratio_.tolist(),
    "pca": np.round(pca.transform(unit) * signs, 7).tolist(),
    "tsne_trustworthiness": float(trustworthiness(unit, points, n_neighbors=5)),
    "tsne_kept": float(kept),
}))
