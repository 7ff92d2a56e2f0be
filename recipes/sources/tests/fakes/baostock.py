"""Answers of the shape of BaoStock's, made up. Like the library it prints on stdout."""

import os


class Result:
    def __init__(self, fields, rows, error=("0", "success")):
        self.fields, self.rows, (self.error_code, self.error_msg) = fields, rows, error
        self.at = -1

    def next(self):
        self.at += 1
        return self.at < len(self.rows)

    def get_row_data(self):
        return self.rows[self.at]


def login():
    print("login success!")
    return Result([], [], ("10001011", "用户黑名单") if os.environ.get("FAKE_REFUSED") else ("0", "success"))


def logout():
    print("logout success!")


def query_all_stock(day):
    return Result(["code", "tradeStatus", "code_name"], [["sh.000001", "1", "上证综合指数"], ["sh.600001", "1", "岚石新能"], ["sz.300001", "1", "霁川药业"]])


def query_history_k_data_plus(code, fields, start_date, end_date, frequency, adjustflag):
    assert (frequency, adjustflag) == ("d", "1")
    if os.environ.get("FAKE_BROKEN") == code:
        return Result([], [], ("10002007", "网络接收错误"))
    rows = [["2026-03-04", code, "10.0", "10.6", "9.9", "10.5", "123400", "1290000.5"], ["2026-03-05", code, "10.5", "10.5", "10.5", "10.5", "", ""]]
    return Result(fields.split(","), [row for row in rows if start_date <= row[0] <= end_date])
