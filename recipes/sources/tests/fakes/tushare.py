"""Answers of the shape of Tushare Pro's, made up."""

from frames import Frame

ADJUST = {"20260304": 2.0, "20260305": 2.2}


class Pro:
    def trade_cal(self, exchange, is_open, start_date, end_date):
        assert (exchange, is_open) == ("SSE", "1")
        open_days = [day for day in ("20260305", "20260304") if start_date <= day <= end_date]
        return Frame(["exchange", "cal_date", "is_open", "pretrade_date"], *[["SSE", day, 1, ""] for day in open_days])

    def daily(self, trade_date):
        columns = ["ts_code", "trade_date", "open", "high", "low", "close", "pre_close", "change", "pct_chg", "vol", "amount"]
        return Frame(columns, ["600001.SH", trade_date, 10.0, 11.0, 9.0, 10.5, 10.0, 0.5, 5.0, 12.5, 13.0])

    def adj_factor(self, trade_date):
        return Frame(["ts_code", "trade_date", "adj_factor"], ["600001.SH", trade_date, ADJUST[trade_date]])

    def news(self, src, start_date, end_date):
        """More news than one call gives: the latest 1,500 of 2,000, one a second, both ends included."""
        every = [f"2026-03-05 {9 + second // 3600:02}:{second // 60 % 60:02}:{second % 60:02}" for second in range(2000)]
        wanted = [time for time in every if start_date <= time <= end_date][-1500:]
        return Frame(["datetime", "content", "title", "channels"], *[[time, f"第 {time} 条", "", ""] for time in reversed(wanted)])


def pro_api(token):
    assert token == "secret"
    return Pro()
