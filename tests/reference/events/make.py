"""Reference figures of an event study by numpy, scipy and statsmodels on a small seeded panel: python make.py, in this folder.

pip install numpy==2.4.6 scipy==1.17.1 statsmodels==0.15.0 pandas==3.1.1. 30 names x 220 days with a market and two sectors, days
without trade, one name listed late and one delisted; 64 documents on 14 dates, near each other in time and on the same names.
`prices.csv` is wide (a column a name); `study.json` holds the events, the abnormal returns and the tests by model.

Everything is written out from the papers, pair by pair and event by event, and shares no way of computing with the program:
regressions and forecasts by statsmodels, clustered errors by its sandwich of a regression on dummies of days.
"""
import json

import numpy as np
import pandas as pd
import statsmodels.api as sm
from scipy import stats
from statsmodels.stats.sandwich_covariance import cov_cluster

DAYS, NAMES, WINDOW, ESTIMATION, LEAST = 220, 30, (-3, 5), (-100, -11), 50
PARTS = [(-3, -1), (0, 0), (1, 3), (1, 5)]
rng = np.random.default_rng(20240701)

# Prices.
market = rng.normal(0, 0.01, DAYS)
sectors = rng.normal(0, 0.008, (DAYS, 2))
beta = rng.uniform(0.5, 1.5, NAMES)
returns = market[:, None] * beta + sectors[:, np.arange(NAMES) % 2] + rng.normal(0, 0.015, (DAYS, NAMES))
prices = pd.DataFrame(20 * np.exp(np.cumsum(returns, axis=0))).round(2)
prices = prices.mask(rng.random(prices.shape) < 0.02)
prices.iloc[:120, 7] = np.nan     # listed late
prices.iloc[150:162, 4] = np.nan  # suspended for long
prices.iloc[199:, 9] = np.nan     # delisted
prices.columns = [f"{600101 + i}.SH" for i in range(NAMES)]
prices.index = pd.Index(pd.bdate_range("2023-01-03", periods=DAYS).strftime("%Y-%m-%d"), name="date")
prices.to_csv("prices.csv")
P = prices.to_numpy()

# Documents; two of one name on one day are one event.
dates = np.sort(rng.choice(np.arange(112, 214), 14, replace=False))
documents = [(int(rng.choice([0, 2, 4, 6, 8, 10, 12, 14, 16, 7, 9, 11])), int(d), round(float(rng.normal()), 3))
             for d in rng.choice(dates, 62)]
documents += [(3, 218, 0.5), (5, 40, 0.25)]  # too near to either end
value = pd.DataFrame(documents, columns=["code", "date", "value"]).groupby(["date", "code"])["value"].mean()

traded = ~np.isnan(P)
both = traded[1:] & traded[:-1]
universe = [np.mean(P[t, both[t - 1]] / P[t - 1, both[t - 1]] - 1) for t in range(1, DAYS)]
level = np.concatenate([[1.0], np.cumprod(1 + np.array(universe))])


def one(t, i):
    """Own return, benchmark's return and days of the return that ended on day t."""
    if t < 0 or not traded[t, i] or not traded[:t, i].any():
        return None
    since = np.flatnonzero(traded[:t, i])[-1]
    return P[t, i] / P[since, i] - 1, level[t] / level[since] - 1, int(t - since)


def fit(model, i, d):
    sample = [(t, one(t, i)) for t in range(d + ESTIMATION[0], d + ESTIMATION[1] + 1)]
    sample = [(t, *r[:2]) for t, r in sample if r and r[2] == 1]
    if len(sample) < LEAST:
        return None
    t, y, m = map(np.array, zip(*sample))
    if model == "market-adjusted":
        residuals, s, expected, forecast = y - m, np.std(y - m, ddof=1), lambda r: r[1], lambda x: x[0]
    else:
        x = sm.add_constant(m) if model == "market-model" else np.ones((len(y), 1))
        ols = sm.OLS(y, x).fit()
        residuals, s = ols.resid, np.sqrt(ols.mse_resid)
        design = (lambda r: np.array([r[2], r[1]])) if model == "market-model" else (lambda r: np.array([r[2]]))
        expected = lambda r: float(design(r) @ ols.params)
        # Variance of a sum of forecasts in units of s2: its days, and what the estimates err.
        forecast = lambda x: x[0] + x[:len(ols.params)] @ ols.normalized_cov_params @ x[:len(ols.params)]
    return dict(t=t, residuals=residuals, s=s, expected=expected, forecast=forecast)


def study(model):
    events, excluded = [], {}
    for (d, i), v in value.items():
        days = range(d + WINDOW[0], d + WINDOW[1] + 1)
        if days[0] < 1 or days[-1] >= DAYS:
            reason = "window reaches beyond the price table"
        elif not any(one(t, i) for t in days):
            reason = "no return in the window"
        elif (f := fit(model, i, d)) is None:
            reason = "too few returns in the estimation window"
        else:
            window = [one(t, i) for t in days]
            ar = np.array([r[0] - f["expected"](r) if r else np.nan for r in window])
            events.append(dict(f, code=i, date=d, value=v, window=window, ar=ar))
            continue
        excluded[reason] = excluded.get(reason, 0) + 1
    merged = len(documents) - len(value)
    if merged:
        excluded["one event with another document of its code and day"] = merged
    labels = pd.qcut([e["value"] for e in events], 3, labels=False)
    groups = [[e for e, g in zip(events, labels) if g == k] for k in range(3)]
    out = {"model": model, "excluded": excluded, "groups": [group(g) for g in groups]}
    if model == "market-model":
        out["events"] = [{"code": e["code"], "date": e["date"],
                          "ar": [None if np.isnan(x) else x for x in e["ar"].tolist()],
                          "scar": [scar(e, *cut(p)) for p in PARTS]} for e in events]
    spans = PARTS + [(WINDOW[0], k) for k in range(WINDOW[0], WINDOW[1] + 1)]
    difference = []
    for k, part in enumerate(spans):
        top, bottom = counted(groups[2], part), counted(groups[0], part)
        mean = np.mean(cars(top, part)) - np.mean(cars(bottom, part))
        error, freedom = cluster([(top, 1), (bottom, -1)], part)
        welch = stats.ttest_ind(cars(top, part), cars(bottom, part), equal_var=False)
        difference.append({"mean": mean, "margin": stats.t.ppf(0.975, freedom) * error, "tests": {
            "cross_section": [welch.statistic, welch.pvalue], "clustered": student(mean / error, freedom)}})
    out["difference"] = difference
    return out


def cut(part):
    return part[0] - WINDOW[0], part[1] - WINDOW[0] + 1


def counted(events, part):
    a, b = cut(part)
    return [e for e in events if not np.isnan(e["ar"][a:b]).all()]


def cars(events, part):
    a, b = cut(part)
    return np.array([np.nansum(e["ar"][a:b]) for e in events])


def scar(e, a, b):
    there = [r for r in e["window"][a:b] if r]
    if not there:
        return None
    x = np.array([sum(r[2] for r in there), sum(r[1] for r in there)])
    return float(np.nansum(e["ar"][a:b]) / (e["s"] * np.sqrt(e["forecast"](x))))


def student(t, freedom):
    return [t, 2 * stats.t.sf(abs(t), freedom)]


def normal(z):
    return [z, 2 * stats.norm.sf(abs(z))]


def correlation(events, length):
    """Mean over all pairs; the pairs of two dates have the mean of their products over all common days."""
    for e in events:
        r = e["residuals"]
        e["z"] = dict(zip(e["t"].tolist(), (r - r.mean()) / np.sqrt(np.mean((r - r.mean()) ** 2))))
    pairs = {}
    for k, a in enumerate(events):
        for b in events[k + 1:]:
            products = [a["z"][t] * b["z"][t] for t in a["z"] if t in b["z"]]
            entry = pairs.setdefault(tuple(sorted((a["date"], b["date"]))), [0.0, 0, 0])
            entry[0] += sum(products)
            entry[1] += len(products)
            entry[2] += 1
    total = sum(n * (products / days) * max(0, length - (later - first)) / length
                for (first, later), (products, days, n) in pairs.items() if days)
    return total / (len(events) * (len(events) - 1) / 2)


def cluster(contrast, part):
    """Error of the sum of means: a regression of all abnormal returns on dummies of group and day, by statsmodels."""
    a, b = cut(part)
    y, x, code, day, date = [], [], [], [], []
    width = b - a
    weights = np.zeros(width * len(contrast))
    for g, (events, sign) in enumerate(contrast):
        weights[g * width:(g + 1) * width] = sign
        for e in events:
            for k in range(a, b):
                row = np.zeros(width * len(contrast))
                row[g * width + k - a] = 1
                y.append(0.0 if np.isnan(e["ar"][k]) else e["ar"][k])
                x.append(row)
                code.append(e["code"])
                day.append(e["date"] + k)
                date.append(e["date"])
    fitted = sm.OLS(np.array(y), np.array(x)).fit()
    code, day = np.array(code), np.array(day)
    variance = lambda by: weights @ cov_cluster(fitted, by, use_correction=False) @ weights
    scaled = lambda v, n: v * n / (n - 1)
    dates, codes = len(set(date)), len(set(code.tolist()))
    by_day, by_code = scaled(variance(day), dates), scaled(variance(code), codes)
    cells = scaled(variance(code * 1000 + day), len(y) // width)
    both = by_day + by_code - cells
    return float(np.sqrt(both if both > 0 else max(by_day, by_code))), min(dates, codes) - 1


def group(events):
    # Ranks of all days of estimation and window, a return over k days at the scale of one.
    days = list(range(ESTIMATION[0], ESTIMATION[1] + 1)) + list(range(WINDOW[0], WINDOW[1] + 1))
    u = pd.DataFrame(index=range(len(events)), columns=days, dtype=float)
    for k, e in enumerate(events):
        row = {t - e["date"]: r for t, r in zip(e["t"].tolist(), e["residuals"])}
        row |= {WINDOW[0] + j: x / np.sqrt(r[2]) for j, (x, r) in enumerate(zip(e["ar"], e["window"])) if r}
        u.loc[k, list(row)] = stats.rankdata(list(row.values())) / (len(row) + 1) - 0.5
    mean_rank = u.sum() / np.sqrt(u.count())
    scatter = np.sqrt(np.mean(mean_rank ** 2))
    out = {"events": len(events), "values": [min(e["value"] for e in events), max(e["value"] for e in events)],
           "abnormal": np.nanmean([e["ar"] for e in events], axis=0).tolist(), "parts": [], "cumulative": [], "margin": []}
    for part in PARTS:
        there = counted(events, part)
        car, n, length = cars(there, part), len(there), part[1] - part[0] + 1
        standardised = np.array([scar(e, *cut(part)) for e in there])
        bmp, r = stats.ttest_1samp(standardised, 0), correlation(events, length)
        error, freedom = cluster([(there, 1)], part)
        rank = mean_rank[list(range(part[0], part[1] + 1))]
        share = np.mean([np.mean(e["residuals"] > 0) for e in there])
        t = stats.ttest_1samp(car, 0)
        out["parts"].append({"days": part, "mean": car.mean(), "correlation": r, "tests": {
            "cross_section": [t.statistic, t.pvalue], "bmp": [bmp.statistic, bmp.pvalue],
            "kolari_pynnonen": student(bmp.statistic * np.sqrt((1 - max(r, 0)) / (1 + (n - 1) * max(r, 0))), n - 1),
            "clustered": student(car.mean() / error, freedom),
            "corrado": normal(rank.sum() / scatter / np.sqrt(length)),
            "sign": normal(((car > 0).sum() - n * share) / np.sqrt(n * share * (1 - share)))}})
    for k in range(WINDOW[0], WINDOW[1] + 1):
        there = counted(events, (WINDOW[0], k))
        error, freedom = cluster([(there, 1)], (WINDOW[0], k))
        out["cumulative"].append(cars(there, (WINDOW[0], k)).mean())
        out["margin"].append(stats.t.ppf(0.975, freedom) * error)
    return out


def plain(x):
    return x.item() if hasattr(x, "item") else x


json.dump({"documents": documents, "studies": [study(m) for m in ("market-adjusted", "market-model", "mean-adjusted")]},
          open("study.json", "w"), default=plain)
