"""TopkDropoutStrategy and risk_analysis of Qlib on the prices of ../alphalens: python topk.py, in this folder.

pip install pyqlib==0.9.7 (made with pandas 3.1.1). The real backtest of Qlib, on a provider folder that is written here: scores
without ties that last for some days, with gaps; closes with gaps (suspended names); no costs, no limits, no lots, all cash
spent (risk_degree 1), so that what is compared are the rules of the strategy and not the bookkeeping of an account.
"""
import tempfile
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import qlib
from qlib.backtest import backtest
from qlib.backtest.exchange import Exchange
from qlib.backtest.executor import SimulatorExecutor
from qlib.contrib.evaluate import risk_analysis
from qlib.contrib.strategy.signal_strategy import TopkDropoutStrategy

warnings.filterwarnings("ignore")
TOP, DROP = 4, 2
price = pd.read_csv("../alphalens/prices.csv", parse_dates=["date"]).pivot(index="date", columns="asset", values="close")
rng = np.random.default_rng(20240103)
score = rng.normal(size=price.shape)
for t in range(1, len(score)):
    score[t] = 0.7 * score[t - 1] + 0.7 * score[t]
score = pd.DataFrame(score, price.index, price.columns).round(6).mask(rng.random(price.shape) < 0.08)
assert score.stack().dropna().groupby(level=0).apply(lambda day: day.is_unique).all()
score.stack().dropna().rename("value").to_csv("scores.csv")

folder = Path(tempfile.mkdtemp())
qlib_code = {code: code[-2:] + code[:6] for code in price.columns}
(folder / "calendars").mkdir()
days = [str(day.date()) for day in price.index]
(folder / "calendars/day.txt").write_text("\n".join(days) + "\n")
(folder / "instruments").mkdir()
(folder / "instruments/all.txt").write_text("".join(f"{c}\t{days[0]}\t{days[-1]}\n" for c in qlib_code.values()))
for code, name in qlib_code.items():
    features = folder / "features" / name.lower()
    features.mkdir(parents=True)
    close = price[code]
    fields = {"close": close, "factor": close * 0 + 1, "volume": close * 0 + 1e9, "change": close.pct_change(fill_method=None)}
    for field, values in fields.items():
        np.hstack([[0], values]).astype("<f4").tofile(features / f"{field}.day.bin")

qlib.init(provider_uri=str(folder), region="cn", kernels=1)
signal = score.rename(columns=qlib_code).stack().dropna().rename("score")
signal.index.names = ["datetime", "instrument"]
strategy = TopkDropoutStrategy(topk=TOP, n_drop=DROP, signal=signal.to_frame(), risk_degree=1.0)
executor = SimulatorExecutor(time_per_step="day", generate_portfolio_metrics=True)


class DoublePrecision(Exchange):
    """Provider files are of single precision; prices are put back as they were."""

    def get_quote_from_qlib(self):
        super().get_quote_from_qlib()
        self.quote_df = self.quote_df.astype("float64")
        exact = price.rename(columns=qlib_code).T.stack().reindex(self.quote_df.index)
        assert np.allclose(self.quote_df["$close"], exact, rtol=1e-6, equal_nan=True)
        self.quote_df["$close"] = exact


exchange = DoublePrecision(
    freq="day", start_time=days[1], end_time=days[-2], codes=list(qlib_code.values()), limit_threshold=None, deal_price="close",
    open_cost=0, close_cost=0, min_cost=0, trade_unit=None)
metrics, _ = backtest(
    start_time=days[1], end_time=days[-2], strategy=strategy, executor=executor, account=1e8,
    benchmark=pd.Series(0.0, index=price.index), exchange_kwargs=dict(exchange=exchange))
report, positions = metrics["1day"]
ours = {name: code for code, name in qlib_code.items()}
held = {day: " ".join(sorted(ours[s] for s in position.get_stock_list())) for day, position in positions.items()}
table = pd.DataFrame({"held": pd.Series(held), "return": report["return"]})
table.to_csv("topk.csv", float_format="%.17g", index_label="date")

returns = table["return"].iloc[1:]
risk = {f"{name}_{n}": risk_analysis(returns, N=n)["risk"][name] for n in (238, 252)
        for name in ("mean", "std", "annualized_return", "information_ratio", "max_drawdown")}
pd.Series(risk, name="value").to_csv("risk.csv", float_format="%.17g", index_label="figure")
