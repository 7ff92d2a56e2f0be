"""Daily bars by akshare (pip install akshare), adjusted backward: a later dividend does not change earlier prices, so that new bars go
on from those that the project has.

    python3 fetch_akshare_bars.py 600519 000001        from 2015-01-01 at first; FIRST=2020-01-01 in the environment changes that

CSV: date, code, open, high, low, close, volume in shares, amount in CNY.
"""

import os

import common

NEED = ["日期", "开盘", "最高", "最低", "收盘", "成交量", "成交额"]


def fetch(codes):
    if not codes:
        raise common.Failed("name the securities: python3 fetch_akshare_bars.py 600519 000001")
    first, last = common.days(os.environ.get("FIRST", "2015-01-01"))
    if first > last:
        return common.print_bars([])
    ak = common.module("akshare")
    bars = []
    for number, code in enumerate(codes, 1):
        call = lambda: ak.stock_zh_a_hist(symbol=code, period="daily", start_date=f"{first:%Y%m%d}", end_date=f"{last:%Y%m%d}", adjust="hfq")
        for row in common.rows(common.tried(f"stock_zh_a_hist {code}", call), NEED, f"stock_zh_a_hist {code}"):
            prices = {to: common.number(row[of]) for to, of in (("open", "开盘"), ("high", "最高"), ("low", "最低"), ("close", "收盘"))}
            lots = row["成交量"]
            bars.append({"date": f"{common.moment(row['日期']):%Y-%m-%d}", "code": code, **prices,
                         "volume": common.number(lots if lots is None else lots * 100), "amount": common.number(row["成交额"])})
        common.note(f"{number} of {len(codes)}: {code}")
    common.print_bars(bars)


if __name__ == "__main__":
    raise SystemExit(common.main(fetch))
