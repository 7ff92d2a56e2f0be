//! The texts of the page of one stock.

use inkstone_base::words;

words! {
    FIND: "代码、简称或拼音首字母：", "code, name or pinyin initials: ";
    FIND_HINT: "Enter 打开第一只 · Esc 返回", "Enter opens the first one · Esc goes back";
    NONE_FOUND: "没有这样的股票", "no such stock";
    NOT_LINKED: "这篇文档没有关联到任何股票", "this document is linked to no stock";
    NO_STOCK: "按 / 输入代码、简称或拼音首字母。", "Press / and type a code, a name or pinyin initials.";
    NO_DOCUMENTS: "没有关于这只股票的文档。", "There are no documents on this stock.";
    NO_PRICES: "行情表中没有它的收盘价。", "The price table has no close of it.";
    DAYS: "日", "days";
    CLOSE: "收盘", "close";
    ADJUSTED: "价格的复权同行情表", "prices are adjusted as in their table";
    VOLUME: "成交量", "volume";
    SUSPENDED: "停牌", "suspended";
    UP_LIMIT: "涨停", "limit up";
    DOWN_LIMIT: "跌停", "limit down";
    LAYER: "分层", "layer";
    NO_VALUES: "这段时间没有值", "no values in this time";
    NOT_BUILT: "尚未计算", "not built yet";
    SEVERAL: "数字：同日多篇", "digit: several in a place";
    ON_DAY: "当日", "day 0";
    AFTER: "{}日后", "+{}d";
    TRADABLE: "可交易", "tradable";
    NOT_TRADABLE: "行情表到此为止，尚不可交易", "the price table ends before it could be traded";
    BEFORE_TABLE: "早于行情表", "before the price table";
    ABNORMAL: "超额收益 %，基准同事件研究", "abnormal returns in %, against the benchmark of the event study";
    BEFORE: "文档前", "before";
    THEN: "当日", "that day";
    REPEATED: "重复", "repeat";
    ID: "编号", "id";
    TRADE_DATE: "归属交易日", "trading day";
    FACTOR_BEFORE: "因子（前一日）", "factor the day before";
    FACTOR_AFTER: "因子（当日）", "factor that day";
}
