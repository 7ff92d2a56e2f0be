"""Makes the reference numbers of this folder: SESTM by the formulas of Ke, Kelly and Xiu, in numpy and scipy.

pip install numpy==2.4.6 scipy==1.17.1; python make.py
"""

import json
from pathlib import Path

import numpy as np
import scipy
from scipy.optimize import brentq
from scipy.stats import rankdata

HERE = Path(__file__).parent


def market(rng, n, words):
    """Word counts of n documents over some words: the first ten lean up, the next ten down, one is in every document."""
    tilt = np.zeros(words)
    tilt[:10], tilt[10:20] = 1.0, -1.0
    tone = rng.uniform(-1, 1, n)
    counts = np.zeros((n, words), dtype=int)
    for i in range(n):
        weights = np.exp(0.9 * tone[i] * tilt) / (1 + np.arange(words) % 7)
        counts[i] = rng.multinomial(rng.integers(5, 40), weights / weights.sum())
    counts[:, words - 1] += 1
    returns = np.round(0.02 * tone + rng.normal(scale=0.02, size=n) + 0.004, 3)  # rounded: some returns tie
    return counts, returns


def screen(counts, y, kappa, words=None, alpha=None):
    has = counts > 0
    base = (y > 0).mean()
    documents = has.sum(axis=0)
    share = (has & (y > 0)[:, None]).sum(axis=0) / np.maximum(documents, 1)
    fit = documents >= kappa
    if alpha is not None:
        keep = fit & ((share >= base + alpha[0]) & (share > base) | (share <= base - alpha[1]) & (share < base))
    else:
        keep = np.zeros(len(share), dtype=bool)
        for side in (1, -1):
            distance = side * (share - base)
            able = [j for j in np.flatnonzero(fit) if distance[j] > 0]
            able.sort(key=lambda j: (-distance[j], -documents[j]))
            last = able[min(words, len(able)) - 1]
            keep[[j for j in able if (-distance[j], -documents[j]) <= (-distance[last], -documents[last])]] = True
    return np.flatnonzero(keep), share, base


def topics(counts, y, kept):
    p = rankdata(y) / len(y)
    d = counts[:, kept].astype(float)
    s = d.sum(axis=1)
    some = s > 0
    h = (d[some] / s[some][:, None]).T
    w = np.vstack([p[some], 1 - p[some]])
    o = h @ w.T @ np.linalg.inv(w @ w.T)
    o[o < 0] = 0
    return o / o.sum(axis=0)


def score(row, o, lam):
    s = row.sum()
    if s == 0:
        return 0.5
    used = row > 0
    d, plus, minus = row[used] / s, o[used, 0], o[used, 1]
    slope = lambda p: (d * (plus - minus) / (p * plus + (1 - p) * minus)).sum() + lam * (1 / p - 1 / (1 - p))
    return brentq(slope, 1e-9, 1 - 1e-9, xtol=1e-15, rtol=1e-15, maxiter=1000)


rng = np.random.default_rng(5)
counts, y = market(rng, 240, 60)
fresh, _ = market(rng, 25, 60)
fresh[0] = 0
cases = []
for params in (
    {"words": 12, "kappa": 30, "lambda": 1.0},
    {"words": 5, "kappa": 60, "lambda": 0.1},
    {"words": 0, "alpha_plus": 0.03, "alpha_minus": 0.05, "kappa": 40, "lambda": 5.0},
):
    alpha = (params["alpha_plus"], params["alpha_minus"]) if params["words"] == 0 else None
    kept, share, base = screen(counts, y, params["kappa"], params["words"], alpha)
    o = topics(counts, y, kept)
    cases.append({
        "params": params,
        "base_rate": base,
        "columns": kept.tolist(),
        "share": share[kept].tolist(),
        "positive": o[:, 0].tolist(),
        "negative": o[:, 1].tolist(),
        "p": [score(row[kept], o, params["lambda"]) for row in fresh],
    })
out = {
    "numpy": np.__version__,
    "scipy": scipy.__version__,
    "counts": counts.tolist(),
    "returns": y.tolist(),
    "fresh": fresh.tolist(),
    "cases": cases,
}
(HERE / "sestm.json").write_text(json.dumps(out, separators=(",", ":")) + "\n")
