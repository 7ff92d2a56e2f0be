"""Reference figures of the research ledger on seeded returns: python make.py, in this folder.

pip install statsmodels==0.15.0 scipy==1.17.1 numpy==2.4.6. `significance.json`: daily returns of eight trials; their Sharpe
ratios, moments, probabilistic and deflated Sharpe ratios and minimum track records (Bailey and Lopez de Prado 2012, 2014);
the probability of backtest overfitting over all 12,870 splits, each computed from the returns themselves (Bailey, Borwein,
Lopez de Prado, Zhu 2015); false discovery rates of statsmodels.
"""
import itertools
import json

import numpy as np
from scipy import stats
from statsmodels.stats.multitest import multipletests

rng = np.random.default_rng(20240615)
days, trials = 131, 8
common = rng.standard_t(5, days) * 0.004
returns = np.column_stack([
    drift + common * share + rng.standard_t(4, days) * 0.006
    for drift, share in zip([0, 0.0015, -0.001, 0.0004, 0, 0.0008, 0, -0.0003], [0.2, 1, 0.5, 0, 1, 0.8, 0, 0.3])
]).round(7)


def psr(x, benchmark):
    sr = x.mean() / x.std(ddof=1)
    spread = 1 - stats.skew(x) * sr + (stats.kurtosis(x, fisher=False) - 1) / 4 * sr**2
    return stats.norm.cdf((sr - benchmark) * np.sqrt(len(x) - 1) / np.sqrt(spread))


def min_trl(x, benchmark, confidence):
    sr = x.mean() / x.std(ddof=1)
    if sr <= benchmark:
        return None
    spread = 1 - stats.skew(x) * sr + (stats.kurtosis(x, fisher=False) - 1) / 4 * sr**2
    return float(1 + spread * (stats.norm.ppf(confidence) / (sr - benchmark)) ** 2)


sharpes = returns.mean(axis=0) / returns.std(axis=0, ddof=1)
variance = sharpes.var(ddof=1)
gamma = np.euler_gamma
best = np.sqrt(variance) * ((1 - gamma) * stats.norm.ppf(1 - 1 / trials) + gamma * stats.norm.ppf(1 - 1 / (trials * np.e)))
moments = [
    {"sharpe": float(sharpes[k]), "skew": float(stats.skew(x)), "kurtosis": float(stats.kurtosis(x, fisher=False)),
     "probabilistic": float(psr(x, 0)), "deflated": float(psr(x, best)), "days_needed": min_trl(x, 0, 0.95)}
    for k, x in enumerate(returns.T)
]

blocks = 16
length = days // blocks
kept = returns[days - length * blocks:]
parts = np.split(kept, blocks)
logits, own, other = [], [], []
for taken in itertools.combinations(range(blocks), blocks // 2):
    left = [b for b in range(blocks) if b not in taken]
    inside, outside = (np.concatenate([parts[b] for b in half]) for half in (taken, left))
    r = inside.mean(axis=0) / inside.std(axis=0, ddof=1)
    r_out = outside.mean(axis=0) / outside.std(axis=0, ddof=1)
    n = r.argmax()
    omega = stats.rankdata(r_out)[n] / (trials + 1)
    logits.append(np.log(omega / (1 - omega)))
    own.append(r[n])
    other.append(r_out[n])
logits, own, other = map(np.array, (logits, own, other))

p = np.concatenate([rng.uniform(0, 1, 14), rng.uniform(0, 0.01, 5), [0.2, 0.2]]).round(6)
json.dump({
    "returns": returns.T.tolist(), "variance": float(variance), "expected_maximum": float(best), "moments": moments,
    "overfitting": {"probability": float((logits <= 0).mean()), "slope": float(stats.linregress(own, other).slope),
                    "loss": float((other < 0).mean())},
    "p": p.tolist(), "fdr_bh": multipletests(p, method="fdr_bh")[1].tolist(),
    "fdr_by": multipletests(p, method="fdr_by")[1].tolist(),
}, open("significance.json", "w"), indent=1)
