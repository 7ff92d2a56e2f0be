//! Words of the audit's page, in Chinese and English.

use inkstone_base::words;

words! {
    AUDIT: "审计", "Audit";
    FINDING: "结论", "Finding";
    SIDE_BY_SIDE: "宣称与诚实", "Claimed and honest";
    CHECKS: "逐项检查", "Checks";
    LAGS: "与单日收益的 RankIC", "RankIC with returns of single days";
    METHOD: "如何阅读", "How to read this";

    KIND: "结果的种类", "kind of result";
    FACTOR_TABLE: "因子表", "factor table";
    PREDICTIONS: "预测", "predictions";
    ALPHALENS_FRAME: "alphalens 表", "frame of alphalens";
    QLIB_RECORDER: "Qlib 记录", "recorder of Qlib";
    COLUMN: "列", "column";
    VALUES: "数值", "values";
    NAMES: "股票", "names";
    DATES: "日期", "dates";

    FIGURE: "指标", "figure";
    CLAIMED: "宣称", "claimed";
    ALIGNED: "原对齐", "as aligned";
    HONEST: "诚实", "honest";
    IC: "IC", "IC";
    RANK_IC: "RankIC", "RankIC";
    ICIR: "ICIR", "ICIR";
    RANK_ICIR: "RankICIR", "RankICIR";
    T: "IC 的 t 值", "t of the IC";
    ANNUAL_RETURN: "多空年化收益", "annual return, long-short";
    SHARPE: "多空夏普比率", "Sharpe ratio, long-short";
    MAX_DRAWDOWN: "最大回撤", "maximum drawdown";
    TURNOVER: "日换手", "turnover a day";
    EXCESS: "多头超额年化", "annual excess, best names";
    INFORMATION_RATIO: "多头信息比率", "information ratio, same";
    NO_FIGURES: "没有数值。", "There are no figures.";

    CHECK: "检查", "check";
    VERDICT: "判定", "verdict";
    EVIDENCE: "证据与出路", "evidence and way out";
    LAG: "距数值日期的交易日", "trading days from the value's date";
    LAGS_TEXT: "0 为数值所在日期（前收至当收），正数为其后。0 及以前描述已发生的涨跌；1 以后才是预测。", "0 is the date of the value (close before to close), positive days come after it. Days up to 0 are moves that had happened; prediction begins at 1.";
    METHOD_TEXT: "“原对齐”用结果自己的交易时点和这些行情，不管当时是否已知，且不计成本。“诚实”只用交易之前已知的数值和能够成交的股票，计入买卖成本，t 为 Newey-West。数值若含有其后若干日的收益，诚实的交易也推迟同样的天数。✗ 为点名的作弊，! 为留意，– 为未能检查。", "“As aligned” takes the trade of the result itself with these prices, whatever was known, and before costs. “Honest” takes values that were known before the trade and names that could be traded, after costs; its t is that of Newey and West. Where values hold returns of days after their date, the honest trade is as many days later. ✗ names a fraud, ! is a warning, – could not be tested.";
}
