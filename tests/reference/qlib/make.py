"""Reference figures of Qlib on the panel of ../alphalens: python make.py, in this folder.

pip install pyqlib==0.9.7 pandas==3.1.1: `qlib.contrib.eva.alpha.calc_long_short_return` and `calc_ic`, on Qlib's default label
Ref($close, -2) / Ref($close, -1) - 1 (the close of the next day to the close of the day after), rows without it left out.
Groups as in `qlib.contrib.report.analysis_model`: sorted by score, `len // N` rows each.
"""
import pandas as pd
from qlib.contrib.eva.alpha import calc_ic, calc_long_short_return

N = 4
factor = pd.read_csv("../alphalens/factor.csv", parse_dates=["date"]).set_index(["date", "asset"])["factor"]
price = pd.read_csv("../alphalens/prices.csv", parse_dates=["date"]).pivot(index="date", columns="asset", values="close")
label = (price.shift(-2) / price.shift(-1) - 1).stack().dropna().rename("label")
both = pd.concat([factor.rename("score"), label], axis=1).dropna()
both.index.names = ["datetime", "instrument"]
both = both.sort_index()

long_short, _ = calc_long_short_return(both["score"], both["label"], quantile=1 / N)
ic, rank_ic = calc_ic(both["score"], both["label"])
pd.DataFrame({"long_short": long_short, "ic": ic, "rank_ic": rank_ic}).to_csv("daily.csv", float_format="%.17g")

ordered = both.sort_values("score", ascending=False, kind="stable")  # ties in the order of the table
groups = {
    f"group{i + 1}": ordered.groupby(level="datetime")["label"].apply(
        lambda x: x.iloc[len(x) // N * i: len(x) // N * (i + 1)].mean())
    for i in range(N)
}
pd.DataFrame(groups).mean().rename("mean").to_csv("groups.csv", float_format="%.17g", index_label="group")
