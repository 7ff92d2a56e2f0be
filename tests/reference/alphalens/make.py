"""Reference figures of alphalens-reloaded 0.5.1 on a small seeded panel: python make.py, in this folder.

pip install alphalens-reloaded==0.5.1 (made with pandas 3.1.1). 12 names x 40 days; values with ties and gaps, prices with
gaps, one name listed late, one date whose values are too alike to be cut.
"""
import warnings

import numpy as np
import pandas as pd

warnings.filterwarnings("ignore")
import alphalens.performance as perf
import alphalens.utils as utils

PERIODS, QUANTILES = (1, 3, 5), 4
rng = np.random.default_rng(20240102)
dates = pd.bdate_range("2024-01-02", periods=40)
names = [f"{600101 + i}.SH" for i in range(12)]
price = pd.DataFrame(10 * np.exp(np.cumsum(rng.normal(0, 0.03, (40, 12)), axis=0)), dates, names).round(2)
price.iloc[:9, 3] = np.nan                      # listed late
price = price.mask(rng.random(price.shape) < 0.03)  # suspended
factor = pd.DataFrame(rng.normal(size=price.shape), dates, names).round(1)
factor = factor.mask(rng.random(factor.shape) < 0.08)
factor.iloc[17] = 0.5                           # no distinct edges

factor.index.name = price.index.name = "date"
factor.columns.name = price.columns.name = "asset"
long_factor = factor.stack().dropna().rename("factor")
long_price = price.stack().dropna().rename("close")
long_factor.to_csv("factor.csv")
long_price.to_csv("prices.csv")

clean = utils.get_clean_factor_and_forward_returns(
    long_factor, price, quantiles=QUANTILES, periods=PERIODS, max_loss=0.5)
clean.columns = [c if isinstance(c, str) else str(c) for c in clean.columns]
clean.to_csv("clean.csv", float_format="%.17g")
perf.factor_information_coefficient(clean).to_csv("rank_ic.csv", float_format="%.17g")
for name, demeaned in (("demeaned", True), ("raw", False)):
    mean, err = perf.mean_return_by_quantile(clean, demeaned=demeaned)
    mean.join(err, rsuffix="_stderr").to_csv(f"mean_return_{name}.csv", float_format="%.17g")
by_date, _ = perf.mean_return_by_quantile(clean, by_date=True, demeaned=True)
spread, _ = perf.compute_mean_returns_spread(by_date, QUANTILES, 1)
spread.to_csv("spread.csv", float_format="%.17g")
turnover = {f"q{q}_{p}": perf.quantile_turnover(clean["factor_quantile"], q, p).mean()
            for q in range(1, QUANTILES + 1) for p in PERIODS}
rank = {f"rank_{p}": perf.factor_rank_autocorrelation(clean, p).mean() for p in PERIODS}
pd.Series({**turnover, **rank}, name="value").to_csv("stability.csv", float_format="%.17g", index_label="figure")
weights = perf.factor_weights(clean)  # demeaned by date, absolute weights sum to 1
weights.rename("weight").to_csv("weights.csv", float_format="%.17g")
returns = perf.factor_returns(clean)[["1D"]].rename(columns={"1D": "return"})
returns["growth"] = perf.cumulative_returns(returns["return"])
returns.to_csv("factor_returns.csv", float_format="%.17g")
