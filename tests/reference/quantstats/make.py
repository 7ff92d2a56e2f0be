"""Monthly returns, drawdowns and rolling Sharpe ratios of a made series, by quantstats.

    pip install quantstats
    python make.py
"""

import json

import numpy as np
import pandas as pd
import quantstats as qs

random = np.random.default_rng(7)
dates = pd.bdate_range("2021-11-15", periods=420)
returns = pd.Series(np.round(random.normal(0.0015, 0.012, len(dates)), 6), index=dates)

months = qs.stats.monthly_returns(returns, eoy=True, compounded=True)
falls = qs.stats.drawdown_details(qs.stats.to_drawdown_series(returns))
falls = falls.sort_values("max drawdown").head(6)
rolling = qs.stats.rolling_sharpe(returns, rf=0, rolling_period=126, annualize=True, periods_per_year=252)

json.dump(
    {
        "quantstats": qs.__version__,
        "returns": [[date.strftime("%Y-%m-%d"), value] for date, value in returns.items()],
        "months": {str(year): [float(value) for value in row] for year, row in zip(months.index, months.to_numpy())},
        "drawdowns": [
            [str(row["start"])[:10], str(row["valley"])[:10], str(row["end"])[:10], float(row["max drawdown"]) / 100]
            for _, row in falls.iterrows()
        ],
        "rolling_sharpe": [None if np.isnan(value) else float(value) for value in rolling],
    },
    open("reference.json", "w"),
    indent=None,
)
