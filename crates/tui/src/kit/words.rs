//! The texts of tables, in Chinese and English.

use inkstone_base::words;

words! {
    COLUMNS: "列", "columns";
    COLUMNS_HINT: "空格 显示或隐藏 · ←/→ 移动 · s 按此列排序 · Esc 返回", "Space show or hide · ←/→ move · s sort by it · Esc back";
    FREQUENCIES: "频次", "frequencies";
    FREQUENCIES_HINT: "Enter 只列这一组 · Esc 返回", "Enter lists that group · Esc back";
    SUMMARY: "概况", "summary";
    SUMMARY_HINT: "F 频次 · Esc 返回", "F frequencies · Esc back";
    VALUE: "值", "value";
    SHARE: "占比 %", "share %";
    BAR: "条形", "bar";
    NONE: "（缺失）", "(missing)";
    VALUES: "个值", "values";
    OTHERS: "其余各值", "other values";
    ROWS: "行数", "rows";
    MISSING: "缺失", "missing";
    DISTINCT: "不同的值", "distinct values";
    MOST_FREQUENT: "最常见", "most frequent";
    LEAST: "最小", "minimum";
    GREATEST: "最大", "maximum";
    MEAN: "均值", "mean";
    DEVIATION: "标准差", "standard deviation";
    MEDIAN: "中位数", "median";
    QUANTILE: "分位", "quantile";
    ONLY: "仅", "only";
    MARKED: "标记", "marked";
    ONLY_MARKED: "仅标记", "marked only";
    COUNTING: "统计中…", "counting…";
    NOTHING_LISTED: "没有符合条件的行：按 Esc 返回。", "No row passes: Esc goes back.";
}
