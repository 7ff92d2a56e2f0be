//! The texts of the first screen, in Chinese and English.

use inkstone_base::language::Word;
use inkstone_base::words;

pub(super) use crate::words::{CHOOSE, MOVE};

words! {
    WHAT: "中文金融文本研究工作台：从原始新闻与研报到经过检验的因子", "A workbench for research on Chinese finance text: from raw news and reports to a tested factor";
    NO_PROJECT: "这个文件夹里还没有项目（workbench.toml）：", "There is no project (workbench.toml) in this folder yet:";
    DEMO: "看演示", "See the demo";
    OF_DEMO: "在 ./inkstone-demo 生成一个合成市场，运行全部阶段：约半分钟", "A synthetic market in ./inkstone-demo with every stage run: about half a minute";
    OPEN: "打开数据文件", "Open a file of data";
    OF_OPEN: "选一个 CSV、JSON、Parquet、Excel 文件或文档文件夹，写出 workbench.toml", "Choose a CSV, JSON, Parquet or Excel file, or a folder of documents; writes workbench.toml";
    READ: "读指南", "Read the guide";
    OF_READ: "几屏文字：这是什么、数据怎么走、第一步做什么、怎样不用到未来信息", "A few screens: what this is, the way of the data, first steps, rules against look-ahead";
    PROJECT: "打开项目", "Open the project";
    OPENING: "打开中…（Esc 放弃）", "opening… (Esc gives up)";
    FAILED: "没有打开：", "Not opened:";
    GUIDE: "指南", "Guide";
    GUIDE_KEYS: "j/k 滚动 · L English · Esc 返回", "j/k scroll · Esc back";
    LEAVE: "退出", "leave";

    NEXT: "还需要什么", "What is still needed";
    DOCUMENTS: "文档", "documents";
    PRICES: "价格", "prices";
    SECURITIES: "证券表", "securities";
    WITHOUT_DOCUMENTS: "没有文档就没有特征，也没有因子", "without documents there are no features and no factor";
    WITHOUT_PRICES: "没有日线价格就没有因子、回测与检验", "without daily prices there is no factor and no test";
    WITHOUT_SECURITIES: "没有证券表只能按代码关联；有了它还能按公司名关联，并按行业中性化", "without a table of securities texts are linked by code alone; with it by name too, and industries are known";
    ASK_DOCUMENTS: "选择文档（新闻、研报、公告）？", "Choose documents (news, reports, announcements)?";
    ASK_PRICES: "选择日线价格表（日期、代码、开盘价、收盘价、成交量）？", "Choose the table of daily prices (date, code, open, close, volume)?";
    ASK_SECURITIES: "选择证券表（代码、名称、行业、上市日期）？", "Choose the table of securities (code, name, industry, day of listing)?";
    ASK_FACTOR: "加一个情感词典特征与它的因子 tone，并运行全部阶段？", "Add a feature of tone by a lexicon with its factor, and run every stage?";
    CHOOSE_FILE: "选文件", "choose a file";
    SKIP: "跳过", "skip";
    YES_RUN: "添加并运行", "add and run";
    NO_OPEN: "只打开", "open only";
    GIVE_UP: "放弃", "give up";
}

pub(super) const NAME: &str = "砚 Inkstone";

/// The name of the other language, in that language.
pub(super) const LANGUAGE: Word = Word("English", "中文");
