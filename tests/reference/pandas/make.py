"""Reference values of pandas and statsmodels for expressions of factors on seeded documents: python make.py, in this folder.

pip install pandas==2.2.3 numpy==1.26.4 statsmodels==0.14.4. `signals.csv`: what 12 codes' documents said on 45 weekdays; `prices.csv`:
their market; `expressions.json`: by expression the values of each date and code, null where there is none.
"""
import json

import numpy as np
import pandas as pd
import statsmodels.api as sm

rng = np.random.default_rng(7)
dates = pd.bdate_range("2024-01-02", periods=45)
codes = [f"{600001 + i}.SH" for i in range(12)]
close = pd.DataFrame(20 * np.exp(np.cumsum(rng.normal(0, 0.02, (45, 12)), axis=0)), dates, codes).round(3)
cap = (close * rng.uniform(1e8, 1e9, 12)).round(0)
rows = []
for t, date in enumerate(dates):
    for i, code in enumerate(codes):
        for k in range(rng.poisson(0.4)):
            rows.append((t, code, round(float(rng.normal()), 4), k))
signals = pd.DataFrame(rows, columns=["date", "code", "value", "order"])
signals.to_csv("signals.csv", index=False)
prices = pd.DataFrame({"close": close.stack(), "market_cap": cap.stack()}).reset_index()
prices.columns = ["date", "code", "close", "market_cap"]
prices.to_csv("prices.csv", index=False, date_format="%Y-%m-%d")


def documents(make, days=None, natural=None):
    """Of each date and code `make(values, ages in days, ages in the window's unit)` of the documents in the look-back."""
    out = pd.DataFrame(np.nan, dates, codes)
    for t, date in enumerate(dates):
        for code in codes:
            of = signals[(signals["code"] == code) & (signals["date"] <= t)]
            age = (t - of["date"]) if days else pd.Series([(date - dates[s]).days for s in of["date"]], of.index, dtype=float)
            seen = age < (days or natural)
            if seen.any():
                out.loc[date, code] = make(of["value"][seen].to_numpy(), age[seen].to_numpy())
    return out


mean5 = documents(lambda v, a: v.mean(), days=5)
count3 = documents(lambda v, a: len(v), days=3)
decayed = documents(lambda v, a: np.average(v, weights=0.9 ** a), natural=7)
std10 = documents(lambda v, a: v.std(ddof=1) if len(v) > 1 else np.nan, days=10)
momentum = close / close.shift(10) - 1


def residual(y, *xs):
    out = pd.DataFrame(np.nan, dates, codes)
    for date in dates:
        there = y.loc[date].notna() & np.logical_and.reduce([x.loc[date].notna() for x in xs])
        if there.sum():
            design = sm.add_constant(np.column_stack([x.loc[date][there] for x in xs]), has_constant="add")
            out.loc[date, there] = sm.OLS(y.loc[date][there].to_numpy(), design).fit().resid
    return out


zscore = lambda x: x.sub(x.mean(axis=1), axis=0).div(x.std(axis=1, ddof=1), axis=0)
rank = lambda x: x.rank(axis=1).mul(2).sub(x.count(axis=1) + 1, axis=0).div(x.count(axis=1) - 1, axis=0)
expressions = {
    "mean(tone)": mean5,
    "mean(tone, natural_days = 7, decay = 0.9)": decayed,
    "std(tone, days = 10)": std10,
    "mean(tone) - lag(mean(tone), 5)": mean5 - mean5.shift(5),
    "fill(count(days = 3), 0) + log1p(fill(count(days = 3), 0))": count3.fillna(0) + np.log1p(count3.fillna(0)),
    "std(market.close / lag(market.close, 1) - 1, days = 10)": close.pct_change().rolling(10, min_periods=2).std(),
    "mean(mean(tone), days = 8)": mean5.rolling(8, min_periods=1).mean(),
    "zscore(mean(tone)) + rank(market.close / lag(market.close, 10) - 1)": zscore(mean5) + rank(momentum),
    "residual(mean(tone), log(market.cap), market.close / lag(market.close, 10) - 1)": residual(mean5, np.log(cap), momentum),
}
table = lambda frame: [[None if np.isnan(v) or np.isinf(v) else float(v) for v in row] for row in frame.to_numpy()]
json.dump({text: table(frame) for text, frame in expressions.items()}, open("expressions.json", "w"))
