//! The texts of the text page, in Chinese and English.

use inkstone_base::words;

pub(super) use crate::words::{BOILERPLATE, TOKEN, WINDOWS};

words! {
    ORIGINAL: "原文", "Text";
    OWN: "自己的文本", "text of your own";
    CUTS: "切词", "Tokens";
    TRUNCATION: "截断", "Truncation";
    NO_TEXT: "还没有语料：在语料页（1）按 r 运行流水线；或按 / 直接输入、粘贴一段文本。", "There are no documents yet: press r on the corpus page (1) to run the pipeline, or press / to type or paste a text.";
    NO_WAY: "文本页没有可用的分词器。", "There are no tokenisers for this page.";
    BLANK: "这篇文档没有文字。按 ] 看下一篇，按 / 输入文本。", "This document has no text. Press ] for the next one, or / to type a text.";
    CUTTING: "切分中…", "cutting…";
    LAYING_OUT: "排版中…", "laying out…";
    NOT_CUT: "切不了，见切词一栏", "cannot be cut; see the tokens";
    NO_TOKENS: "没有词元", "no tokens";
    TRADABLE: "可交易", "tradable";
    TOO_EARLY: "早于行情，不可交易", "before the prices begin";
    TOO_LATE: "晚于行情，尚无交易日", "after the prices end";
    BYTES: "字节", "bytes";
    CHARACTERS_AT: "字", "chars";
    TAG: "词性", "POS";
    IN_DICTIONARY: "词典有", "in the dictionary";
    NOT_IN_DICTIONARY: "词典无", "not in the dictionary";
    TIMES_HERE: "本文 {} 次", "{} × in this text";
    WRITTEN: "词表写作", "written";
    APPEARS: "篇", "documents";
    BUDGET: "预算", "budget";
    WHERE: "首 ▓ 保留 ░ 尾", "▓ kept ░ dropped";
    SHARE: "保留", "kept";
    SECTIONS: "覆盖章节", "sections";
    NOT_MEASURED: "没有显著度：[structure] salience 未开启，或不是语料中的文档", "no salience: [structure] salience is off, or this is no document of the corpus";
    OWN_PROMPT: "文本> ", "text> ";
    OWN_HINT: "输入或粘贴一段文本，Enter 切分", "type or paste a text; Enter cuts it";
    STRATEGY_PROMPT: "策略> ", "strategy> ";
    STRATEGY_HINT: "如 head:128、head+tail:128+382、tail:500c -boilerplate；不写长度则用预算", "as head:128, head+tail:128+382, tail:500c -boilerplate; without a limit the budget is taken";
    ALREADY: "已经列出", "is listed already";
    ID: "编号", "id";
    START_BYTE: "起始字节", "start byte";
    END_BYTE: "结束字节", "end byte";
    START_CHARACTER: "起始字", "start char";
    END_CHARACTER: "结束字", "end char";
    ALL_TOKENS: "全部词元", "tokens";
    KEPT_TOKENS: "保留词元", "tokens kept";
    SCORE_OF: "得分来自", "score of";
}
