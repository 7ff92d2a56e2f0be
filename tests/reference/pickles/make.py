"""Writes the same scores of two names on three dates as pickles of pandas.

    python3 make.py pandas3

The word names the files: <kind>.<word>.p<protocol>.pkl. The files here were made with pandas 1.5.3, 2.2.3 and 3.1.1.
"""

import sys

import numpy as np
import pandas as pd

dates = pd.to_datetime(["2025-01-02", "2025-01-03", "2025-01-06"])
index = pd.MultiIndex.from_product([dates, ["SH600000", "SZ000001"]], names=["datetime", "instrument"])
scores = [0.5, -1.0, 2.0, 0.25, -0.125, 3.0]
frame = pd.DataFrame({"score": np.array(scores)}, index=index)
two = pd.DataFrame({"other": np.arange(6, dtype=np.int64), "score": np.array(scores, dtype=np.float32)}, index=index)
two["third"] = two["score"] * 2
plain = frame.reset_index()
for protocol in (2, 4, 5):
    for kind, value in (("frame", frame), ("series", frame["score"]), ("two", two)):
        if (kind, protocol) != ("two", 2):
            value.to_pickle(f"{kind}.{sys.argv[1]}.p{protocol}.pkl", protocol=protocol)
