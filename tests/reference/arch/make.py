"""Writes confidence_set.json: p-values of the model confidence set (Hansen, Lunde and Nason 2011) of the Python package arch,
with the draws of its own moving-block bootstrap.

    pip install arch==8.0.0 numpy
    python make.py
"""

import json
from pathlib import Path

import numpy as np
from arch.bootstrap import MCS

rng = np.random.default_rng(7)
days, reps = 60, 150
common = rng.normal(size=days)
# Six cells on the same days: two close to the best, two that chance could explain, two that are worse.
shifts = [0.0, 0.02, 0.15, 0.25, 0.5, 0.9]
losses = np.round(np.array([common + s + 0.8 * rng.normal(size=days) for s in shifts]).T, 6)
found = MCS(losses, size=0.05, reps=reps, block_size=4, method="max", bootstrap="moving block", seed=11)
found.compute()
times = [np.bincount(drawn, minlength=days).tolist() for drawn in found._bootstrap_indices]
p = found.pvalues.sort_index()["Pvalue"].tolist()
out = {"losses": losses.tolist(), "times": times, "p": p}
Path(__file__).with_name("confidence_set.json").write_text(json.dumps(out, separators=(",", ":")) + "\n")
print(p)
