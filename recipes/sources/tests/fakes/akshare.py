"""Answers of the shape of akshare's, made up. Like the library it prints, which must not reach stdout."""

import datetime
import os

from frames import Frame

print("akshare: a banner")
failures = int(os.environ.get("FAKE_FAILURES", "0"))


def stock_info_global_cls(symbol):
    print("a progress bar")
    assert symbol == "全部"
    rows = [
        ["", "岚石新能公告，中标储能项目。", datetime.date(2026, 3, 5), datetime.time(9, 31, 5)],
        ["霁川药业一审败诉", "霁川药业公告，一审败诉，将上诉。", datetime.date(2026, 3, 5), datetime.time(9, 30, 0)],
    ]
    if os.environ.get("FAKE_RENAMED"):
        return Frame(["title", "内容", "发布日期", "发布时间"], *rows)
    return Frame(["标题", "内容", "发布日期", "发布时间"], *rows)


def stock_news_em(symbol):
    return Frame(
        ["关键词", "新闻标题", "新闻内容", "发布时间", "文章来源", "新闻链接"],
        [symbol, "订单饱满", "公司表示订单饱满。", "2026-03-04 20:15:00", "砚池财讯", f"http://example.com/{symbol}"],
    )


def stock_zh_a_hist(symbol, period, start_date, end_date, adjust):
    global failures
    assert (period, adjust) == ("daily", "hfq") and len(start_date) == len(end_date) == 8
    if failures > 0:
        failures -= 1
        raise ConnectionError("the server closed the connection")
    rows = [
        [datetime.date(2026, 3, 4), symbol, 10.0, 10.5, 10.6, 9.9, 1234, 1290000.0],
        [datetime.date(2026, 3, 5), symbol, 10.5, 10.4, 10.8, 10.3, 0, float("nan")],
    ]
    kept = [row for row in rows if start_date <= f"{row[0]:%Y%m%d}" <= end_date]
    return Frame(["日期", "股票代码", "开盘", "收盘", "最高", "最低", "成交量", "成交额"], *kept)
