//! The texts of the page of experiments, in Chinese and English.

use inkstone_base::words;

pub(super) use crate::words::SECONDS;

words! {
    SCORED_APART: "得分差", "scores apart";
    FROM: "对", "from";
    LIST: "列表", "list";
    GRID: "网格", "grid";
    FRONTIER: "前沿", "frontier";
    EFFECTS: "效应", "effects";
    CELL: "单元", "cell";
    VALUE: "设置的取值", "value of a setting";
    MAY_BE_BEST: "可能最优", "may be the best";
    EFFECT_OVER: "对其余设置取平均 · 每个取值的单元数", "means over the others · cells a value";
    UP_AXIS: "纵", "up";
    ACROSS_AXIS: "横 词元/篇（对数）", "across: tokens/document (log)";
    CELLS: "个单元", "cells";
    CELLS_DONE: "已完成", "done";
    CELLS_SKIPPED: "已跳过", "skipped";
    CELLS_LEFT: "等待", "waiting";
    READ_NOW: "正在读", "reading";
    SKIPPED: "✗ 已跳过", "✗ skipped";
    PROVISIONAL: "各单元先按自身的日期或文档计分，全部读完后再按共有的比较", "Each cell is judged on its own dates or documents for now; when all are read, cells are compared on those that all have";
    NOT_COMPARED: "还没有比较：单元全部读完之后，这里列出它们的差别。按 v 看网格。", "Nothing is compared yet: when all cells were read, their differences are listed here. Press v for the grid.";
    NO_FRONTIER: "没有可画的单元：都没有数值，或窗口太小。", "There is nothing to draw: no cell has a figure, or the window is too small.";
    KEEPS: "保留", "kept";
    LOW: "区间下限", "interval low";
    HIGH: "区间上限", "interval high";
    FEATURE: "特征", "feature";
}
