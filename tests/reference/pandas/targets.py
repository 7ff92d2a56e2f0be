"""Reference values of pandas for the targets of walked models: python targets.py, in this folder.

pip install pandas==3.1.1 numpy==2.4.6. `targets.csv`: prices and volumes of 7 codes on 40 weekdays, volume 0 on days without trade;
the first three codes are of industry a until day 25 and of b from then on, the next three of b, and the last has none. `targets.json`:
by target the values of each date and code, null where there is none. A row names of, delay, price, horizon, excess and ranked_by_day:
rank(pct=True) among the codes of the date, moved by half a rank so that the mean of a date is 0.
"""
import json

import numpy as np
import pandas as pd

rng = np.random.default_rng(23)
dates = pd.bdate_range("2024-01-02", periods=40)
codes = [f"{600001 + i}.SH" for i in range(7)]
close = pd.DataFrame(20 * np.exp(np.cumsum(rng.normal(0, 0.02, (40, 7)), axis=0)), dates, codes).round(2)
open_ = (close * rng.uniform(0.98, 1.02, close.shape)).round(2)
volume = pd.DataFrame(rng.lognormal(10, 0.5, close.shape), dates, codes).round(0)
volume = volume.mask(rng.uniform(size=close.shape) < 0.03, 0)
industry = pd.DataFrame([["a" if t < 25 else "b"] * 3 + ["b"] * 3 + [None] for t in range(40)], dates, codes)
table = pd.DataFrame({"open": open_.stack(), "close": close.stack(), "volume": volume.stack()}).reset_index()
table.columns = ["date", "code", "open", "close", "volume"]
table.to_csv("targets.csv", index=False, date_format="%Y-%m-%d")

traded = volume > 0
prices = {"open": open_.where(traded), "close": close.where(traded)}


def measure(of, delay, price, horizon):
    """The value of each day; `shift(-n)` looks n days ahead."""
    p = prices[price]
    if of == "return":
        return p.shift(-delay - horizon) / p.shift(-delay) - 1
    if of == "volatility":
        # A rolling window that ends `delay + horizon` days ahead; a day without trade leaves it incomplete.
        return np.log(p / p.shift(1)).rolling(horizon).std(ddof=1).shift(-delay - horizon)
    there = volume.where(traded)
    usual = there.rolling(20, min_periods=10).mean()
    usual.iloc[:19] = np.nan
    usual = usual.shift(1 - min(delay, 0))
    return np.log(there.rolling(horizon).mean().shift(-delay - horizon + 1) / usual)


def less(values, excess):
    if excess == "none":
        return values
    if excess == "market":
        return values.sub(values.mean(axis=1), axis=0)
    if excess in codes:
        return values.sub(values[excess], axis=0)
    long = pd.DataFrame({"value": values.stack(future_stack=True), "industry": industry.stack(future_stack=True)})
    groups = long["value"].groupby([long.index.get_level_values(0), long["industry"]])
    means = groups.transform("mean").where(groups.transform("count") > 1)
    return (long["value"] - means).unstack()[codes]


rows = []
for of, delay, price, horizon in [
    ("return", 1, "open", 5), ("return", -1, "close", 2), ("return", 0, "close", 1),
    ("volatility", 1, "close", 5), ("volatility", -2, "open", 3),
    ("volume", 1, "open", 1), ("volume", 0, "open", 3), ("volume", -2, "open", 2),
]:
    for excess in ["none", "market", "industry", codes[1]]:
        plain = less(measure(of, delay, price, horizon), excess)
        there = plain.count(axis=1)
        ranks = plain.rank(axis=1, pct=True, method="average").sub(0.5 / there, axis=0) - 0.5
        # What is the same for all codes of a date changes no rank.
        forms = [(False, plain), (True, ranks)] if excess in ["none", "industry"] else [(False, plain)]
        for ranked, values in forms:
            values = [[None if not np.isfinite(v) else float(v) for v in row] for row in values.to_numpy()]
            rows.append(dict(of=of, delay=delay, price=price, horizon=horizon, excess=excess, ranked_by_day=ranked, values=values))
json.dump(rows, open("targets.json", "w"))
