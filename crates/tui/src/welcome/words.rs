//! The texts of the first screen, in Chinese and English.

use inkstone_base::language::Word;
use inkstone_base::words;

pub(super) use crate::words::{CHOOSE, MOVE};

words! {
    WHAT: "中文金融文本研究工作台：从原始新闻与研报到经过检验的因子", "A workbench for research on Chinese finance text: from raw news and reports to a tested factor";
    NO_PROJECT: "这个文件夹里还没有项目（workbench.toml）：", "There is no project (workbench.toml) in this folder yet:";
    DEMO: "看演示", "See the demo";
    OF_DEMO: "在 ./inkstone-demo 生成一个合成市场，运行全部阶段：约一两分钟", "A synthetic market in ./inkstone-demo with every stage run: a minute or two";
    OPEN: "打开数据文件", "Open a file of data";
    OF_OPEN: "选一个 CSV、JSON、Parquet、Excel 文件或文档文件夹，写出 workbench.toml", "Choose a CSV, JSON, Parquet or Excel file, or a folder of documents; writes workbench.toml";
    READ: "读指南", "Read the guide";
    OF_READ: "几屏文字：这是什么、数据怎么走、第一步做什么、怎样不用到未来信息", "A few screens: what this is, the way of the data, first steps, rules against look-ahead";
    OPENING: "打开中…（Esc 放弃）", "opening… (Esc gives up)";
    FAILED: "没有打开：", "Not opened:";
    GUIDE: "指南", "Guide";
    GUIDE_KEYS: "j/k 滚动 · L English · Esc 返回", "j/k scroll · Esc back";
    LEAVE: "退出", "leave";
}

pub(super) const NAME: &str = "砚 Inkstone";

/// The name of the other language, in that language.
pub(super) const LANGUAGE: Word = Word("English", "中文");
