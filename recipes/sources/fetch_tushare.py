"""Daily bars of all A shares, or news, by Tushare Pro (pip install tushare); the token stands in TUSHARE_TOKEN.

    python3 fetch_tushare.py bars              from 2015-01-01 at first; FIRST=2020-01-01 in the environment changes that
    python3 fetch_tushare.py news cls          sina, wallstreetcn, 10jqka, eastmoney, yuncaijing, fenghuang, jinrongjie, cls, yicai

Bars are adjusted backward, by the factor of their own day. CSV: date, code, open, high, low, close, volume in shares, amount in CNY.
News: JSON lines of id, published_at, title, body, org.
"""

import datetime
import hashlib
import os

import common

LIMIT = 1500  # news that one call gives at the most


def client():
    token = os.environ.get("TUSHARE_TOKEN", "").strip()
    if not token:
        raise common.Failed("TUSHARE_TOKEN is not set: it is the token of your account at tushare.pro")
    with common.library():
        return common.module("tushare").pro_api(token)


def bars(pro):
    first, last = common.days(os.environ.get("FIRST", "2015-01-01"))
    made = []
    if first <= last:
        span = {"start_date": f"{first:%Y%m%d}", "end_date": f"{last:%Y%m%d}"}
        calendar = common.tried("trade_cal", lambda: pro.trade_cal(exchange="SSE", is_open="1", **span))
        for day in sorted(str(row["cal_date"]) for row in common.rows(calendar, ["cal_date"], "trade_cal")):
            made += bars_of(pro, day)
            common.note(f"{day}: {len(made)} bars")
    common.print_bars(made)


def bars_of(pro, day):
    adjust = common.rows(common.tried(f"adj_factor {day}", lambda: pro.adj_factor(trade_date=day)), ["ts_code", "adj_factor"], "adj_factor")
    factor = {row["ts_code"]: float(row["adj_factor"]) for row in adjust}
    need = ["ts_code", "trade_date", "open", "high", "low", "close", "vol", "amount"]
    rows = common.rows(common.tried(f"daily {day}", lambda: pro.daily(trade_date=day)), need, "daily")
    if not rows:
        raise common.Failed(f"daily {day}: a trading day without bars; they appear between 15:00 and 17:00 of the day")
    lacking = [row["ts_code"] for row in rows if row["ts_code"] not in factor]
    if lacking:
        raise common.Failed(f"adj_factor {day}: {len(lacking)} securities have no factor, such as {lacking[0]}; fetch again later")
    return [{
        "date": f"{common.moment(str(row['trade_date'])):%Y-%m-%d}",
        "code": row["ts_code"],
        **{price: common.number(row[price] * factor[row["ts_code"]]) for price in ("open", "high", "low", "close")},
        "volume": common.number(row["vol"] * 100),      # lots
        "amount": common.number(row["amount"] * 1000),  # thousands of CNY
    } for row in rows]


def news(pro, source):
    begin, end = common.since() or common.now() - datetime.timedelta(days=1), common.now()
    documents = []
    while begin < end:
        call = lambda: pro.news(src=source, start_date=str(begin)[:19], end_date=str(end)[:19])
        rows = common.rows(common.tried(f"news {source}", call), ["datetime", "content"], "news")
        for row in rows:
            title, body = str(row.get("title") or ""), str(row["content"] or "").strip()
            identity = hashlib.sha256(f"{row['datetime']}\n{title}\n{body}".encode()).hexdigest()[:16]
            documents.append({"id": f"{source}-{identity}", "published_at": str(common.moment(row["datetime"])), "title": title, "body": body, "org": source})
        if len(rows) < LIMIT:
            break
        # The call gives the latest ones: those before are still to come.
        earliest = min(common.moment(row["datetime"]) for row in rows)
        if earliest >= end:
            raise common.Failed(f"news {source}: {LIMIT} news of one second, so that others cannot be reached")
        end = earliest
    common.print_documents(list({d["id"]: d for d in documents}.values()))


def fetch(arguments):
    if arguments == ["bars"]:
        return bars(client())
    if len(arguments) == 2 and arguments[0] == "news":
        return news(client(), arguments[1])
    raise common.Failed("say `bars`, or `news` and a source such as cls")


if __name__ == "__main__":
    raise SystemExit(common.main(fetch))
