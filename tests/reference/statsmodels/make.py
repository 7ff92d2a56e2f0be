"""Reference figures of statsmodels, scipy and numpy on seeded data: python make.py, in this folder.

pip install statsmodels==0.15.0 scipy==1.17.1 numpy==2.4.6. `summary.json`: moments of a series of correlations and the
t and p of its mean under overlap (HAC, Bartlett weights, n / (n - 1)). `factor.json`: one date's cross-section, pulled in
to median +- 3 x 1.4826 x MAD, regressed on industry dummies and ln market cap, and put on z-scores (ddof 1).
"""
import json

import numpy as np
import statsmodels.api as sm
from scipy import stats

rng = np.random.default_rng(20240301)
noise = rng.standard_t(5, 130) * 0.05
series = 0.02 + np.convolve(noise, np.ones(6) / 3, mode="valid")[:120]
rows = []
for horizon in (1, 5, 20):
    fit = sm.OLS(series, np.ones(len(series))).fit(
        cov_type="HAC", cov_kwds={"maxlags": horizon - 1, "use_correction": True}, use_t=True)
    rows.append({"horizon": horizon, "t_nw": float(fit.tvalues[0]), "p": float(fit.pvalues[0])})
json.dump({"series": series.tolist(), "mean": float(series.mean()), "std": float(series.std(ddof=1)),
           "t": float(stats.ttest_1samp(series, 0).statistic), "skew": float(stats.skew(series)),
           "kurtosis": float(stats.kurtosis(series)), "horizons": rows}, open("summary.json", "w"), indent=1)

raw = rng.normal(size=40).round(6)
raw[[3, 17]] = [9.0, -7.5]
industry = [None if i % 11 == 0 else "甲乙丙丁"[int(k)] for i, k in enumerate(rng.integers(0, 4, 40))]
cap = np.exp(rng.normal(23, 1, 40)).round(0)
median = np.median(raw)
mad = 1.4826 * np.median(np.abs(raw - median))
x = raw.clip(median - 3 * mad, median + 3 * mad)
groups = sorted({str(name) for name in industry})
design = np.column_stack([[float(str(name) == g) for name in industry] for g in groups] + [np.log(cap)])
residual = x - design @ np.linalg.lstsq(design, x, rcond=None)[0]
value = (residual - residual.mean()) / residual.std(ddof=1)
json.dump({"raw": raw.tolist(), "industry": industry, "market_cap": cap.tolist(), "value": value.tolist()},
          open("factor.json", "w"), indent=1, ensure_ascii=False)
