//! The texts of the corpus page, in Chinese and English.

use super::columns;
use super::filter::{Complaint, FilterFault};
use inkstone_base::language::Language;
use inkstone_base::words;

pub(super) use crate::words::{BOILERPLATE, FILTER, NO_TITLE};

words! {
    TO_COMPARE: "已标记：到另一篇上再按 =，两篇并排", "marked: press = on another document to see both";
    BESIDE: "两篇并排", "Two documents";
    ALIKE: "相同", "alike";
    BESIDE_KEYS: "着色并加下划线的只在一篇中 · j/k 滚动 · Esc 返回", "coloured and underlined: in one of them alone · j/k scroll · Esc back";
    READ: "已读", "read";
    REPEATED: "重复", "dup";
    ORG: "机构", "organisation";
    AUTHOR: "作者", "author";
    RATING: "评级", "rating";
    LENGTH: "字数", "length";
    CODES: "代码数", "codes";
    NOTE: "笔记", "note";
    PLACE: "文件序号", "in files";
    NOTE_HINT: "Enter 保存 · 留空即删除", "Enter saves · empty removes it";
    NOTED: "笔记已存入项目", "the note is kept in the project";
    MARKED: "标记", "marked";
    ONLY_MARKED: "仅标记", "marked only";
    COUNTING: "统计中…", "counting…";
    NO_SUCH_FILTER: "筛选表达不了这一组", "a filter cannot say this group";
    OUTGROWN: "特征集生成后语料有变：请运行流水线", "the corpus has changed since the set was made: run the pipeline";
    FILTER_HINT: "类型:研报 代码:600517 2024-01.. 字数>500 机构:中信 -重复 词 hggf", "kind:report code:600517 2024-01.. length>500 -repeats word";
    BY_RELEVANCE: "按相关程度", "by relevance";
    SEARCH_HINT: "标题、代码与正文；re: 开头为正则表达式，~ 开头按词排序", "titles, codes and bodies; re: begins an expression, ~ words that rank";
    HITS: "篇", "found";
    PARTS: "个分片", "parts";
    FOLDED: "重复已折叠", "repeats folded";
    DAMAGED: "个分片损坏", "damaged";
    NOTHING_PASSES: "没有符合条件的文档：按 Esc 取消搜索或筛选，按 f 改筛选。", "No document passes: Esc ends the search or the filter, f changes the filter.";
    GOOD_TONE: "利好", "good";
    BAD_TONE: "利空", "bad";
    INGESTED: "入库", "ingested";
    SECONDS: "秒", "s";
    MINUTES: "分钟", "min";
    HOURS: "小时", "h";
    DAYS: "天", "d";
    A_HIT: "命中", "hit";
    NO_HIT: "正文里没有命中", "nothing was found in the body";
    TABLE_CUT: "表格只含从可见首行起的前 1000 行", "the table has the first 1,000 rows from the first in sight on";
}

/// The place of a fault in what was typed, the first character as 1, and what is wrong there.
pub(super) fn at(language: Language, at: usize, what: &str) -> String {
    match language {
        Language::Zh => format!("第 {at} 字：{what}"),
        Language::En => format!("character {at}: {what}"),
    }
}

pub(crate) fn complaint(language: Language, fault: &FilterFault) -> String {
    let what = match (&fault.what, language) {
        (Complaint::NoCondition(name, features), Language::Zh) => {
            format!("没有列“{name}”；可用 {}；含 : = > < 的词请加引号", columns::listed(language, features))
        }
        (Complaint::NoCondition(name, features), Language::En) => {
            format!("no column {name:?}; use {}; quote a word with : = > <", columns::listed(language, features))
        }
        (Complaint::NoNumber(text), Language::Zh) => format!("“{text}”不是数；写 3、-0.5 或 起..止"),
        (Complaint::NoNumber(text), Language::En) => format!("{text:?} is no number; write 3, -0.5 or from..to"),
        (Complaint::NoOrder(name), Language::Zh) => format!("“{name}”是文字，只能用 : 或 ="),
        (Complaint::NoOrder(name), Language::En) => format!("{name:?} holds texts; use : or ="),
        (Complaint::NoValue(name), Language::Zh) => format!("“{name}:”后面没有值"),
        (Complaint::NoValue(name), Language::En) => format!("no value after {name}:"),
        (Complaint::NoKind(name), Language::Zh) => format!("没有类型“{name}”；可用 研报 新闻 公告 帖子"),
        (Complaint::NoKind(name), Language::En) => format!("no kind {name:?}; use news report announcement post"),
        (Complaint::NoTime(text), Language::Zh) => format!("“{text}”不是日期；写 2024、2024-03、2024-03-08 或 起..止"),
        (Complaint::NoTime(text), Language::En) => {
            format!("{text:?} is no date; write 2024, 2024-03, 2024-03-08 or from..to")
        }
        (Complaint::EmptyTime(text), Language::Zh) => format!("“{text}”的止日早于起日"),
        (Complaint::EmptyTime(text), Language::En) => format!("{text:?} ends before it begins"),
    };
    at(language, fault.at, &what)
}
