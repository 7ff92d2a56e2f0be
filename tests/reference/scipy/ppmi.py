"""PPMI of a few invented documents and its decomposition by SciPy: python ppmi.py > ppmi.json (SciPy 1.17, NumPy 2)."""

import json
from collections import Counter

import numpy as np
from scipy.linalg import svd

DOCS = [
    "净利润 增长 订单 增长 超 预期",
    "净利润 下滑 订单 减少",
    "股东 减持 股份 公告",
    "公司 回购 股份 公告 股东",
    "订单 增长 产能 扩张",
    "净利润 增长 公司 公告",
]
WINDOW, NEG, CDS, EIG, DIM = 2, 1.5, 0.75, 0.5, 4

words = sorted(Counter(w for d in DOCS for w in d.split()).items(), key=lambda w: (-w[1], w[0].encode()))
at = {w: i for i, (w, _) in enumerate(words)}
counts = {}
for weighting in ("uniform", "harmonic"):
    m = np.zeros((len(at), len(at)))
    for d in DOCS:
        ids = [at[w] for w in d.split()]
        for i, w in enumerate(ids):
            for j in range(max(0, i - WINDOW), min(len(ids), i + WINDOW + 1)):
                if j != i:
                    m[w, ids[j]] += 1 if weighting == "uniform" else 1 / abs(i - j)
    counts[weighting] = m
m = counts["uniform"]
smoothed = m.sum(0) ** CDS
with np.errstate(divide="ignore"):
    pmi = np.log(m * smoothed.sum() / np.outer(m.sum(1), smoothed)) - np.log(NEG)
ppmi = np.maximum(pmi, 0)
u, s, _ = svd(ppmi)
vectors = u[:, :DIM] * s[:DIM] ** EIG
print(json.dumps({
    "docs": DOCS,
    "words": [w for w, _ in words],
    "counts": {name: m.tolist() for name, m in counts.items()},
    "ppmi": ppmi.tolist(),
    "singular_values": s[:DIM].tolist(),
    # Signs are free: products between the words' vectors are not.
    "products": (vectors @ vectors.T).tolist(),
}, ensure_ascii=False))
