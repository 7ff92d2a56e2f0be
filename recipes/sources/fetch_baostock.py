"""Daily bars by BaoStock (pip install baostock), without an account, adjusted backward.

    python3 fetch_baostock.py sh.600519 sz.000001      from 2015-01-01 at first; FIRST=2020-01-01 in the environment changes that
    python3 fetch_baostock.py                          all stocks that were listed on the last trading day, and so survivors at first

CSV: date, code, open, high, low, close, volume in shares, amount in CNY. Suspended days have a volume of 0.
"""

import datetime
import os

import common

FIELDS = ["date", "code", "open", "high", "low", "close", "volume", "amount"]
STOCKS = ("sh.60", "sh.68", "sz.00", "sz.30", "bj.")


def records(what, call):
    """The rows of a query, as dicts."""
    def read():
        result = call()
        if result.error_code != "0":
            raise RuntimeError(f"{result.error_code} {result.error_msg}")
        made = []
        while result.next():
            made.append(dict(zip(result.fields, result.get_row_data())))
        if result.error_code != "0":
            raise RuntimeError(f"{result.error_code} {result.error_msg}")
        return made

    return common.tried(what, read)


def listed(bs, day):
    """The stocks of the last trading day until `day`."""
    for back in range(15):
        date = f"{day - datetime.timedelta(days=back):%Y-%m-%d}"
        rows = records(f"query_all_stock {date}", lambda: bs.query_all_stock(day=date))
        if rows:
            return [row["code"] for row in rows if row["code"].startswith(STOCKS)]
    raise common.Failed(f"query_all_stock gave no stock for the 15 days until {day}")


def fetch(codes):
    first, last = common.days(os.environ.get("FIRST", "2015-01-01"))
    if first > last:
        return common.print_bars([])
    bs = common.module("baostock")
    with common.library():
        login = bs.login()
    if login.error_code != "0":
        raise common.Failed(f"login: {login.error_code} {login.error_msg}")
    try:
        codes = codes or listed(bs, last)
        bars = []
        for number, code in enumerate(codes, 1):
            call = lambda: bs.query_history_k_data_plus(code, ",".join(FIELDS), start_date=str(first), end_date=str(last), frequency="d", adjustflag="1")
            for row in records(f"query_history_k_data_plus {code}", call):
                bars.append({"date": row["date"], "code": row["code"], **{field: common.number(row[field]) for field in FIELDS[2:]}})
            if number % 100 == 0 or number == len(codes):
                common.note(f"{number} of {len(codes)}: {code}")
    finally:
        with common.library():
            bs.logout()
    common.print_bars(bars)


if __name__ == "__main__":
    raise SystemExit(common.main(fetch))
