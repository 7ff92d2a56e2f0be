//! Cues in sentences for the section that they are in, whatever heading stands above.
//!
//! One pass over the text finds all cues; those that begin in a sentence decide its section.

use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};

use super::Section;

/// Kinds of cues, as bits.
mod cue {
    /// To give, keep or change a rating.
    pub(super) const GIVES: u16 = 1;
    pub(super) const GRADE: u16 = 1 << 1;
    /// The word for it.
    pub(super) const RATING: u16 = 1 << 2;
    pub(super) const TARGET: u16 = 1 << 3;
    /// Words of law that no sentence on a company has.
    pub(super) const LEGAL: u16 = 1 << 4;
    /// A note that points to the legal notes: the name of one, and the request to read it.
    pub(super) const NOTES: u16 = 1 << 5;
    pub(super) const READ: u16 = 1 << 6;
    /// Definitions of ratings: over how many months, against which index.
    pub(super) const MONTHS: u16 = 1 << 7;
    pub(super) const AGAINST: u16 = 1 << 8;
    /// Contact details, surely and perhaps.
    pub(super) const CONTACT: u16 = 1 << 9;
    pub(super) const WIRE: u16 = 1 << 10;
    pub(super) const SOURCE: u16 = 1 << 11;
}

const CUES: [(u16, &[&str]); 13] = [
    // Phrases that only look like a cue.
    (0, &["信用评级", "主体评级", "债项评级", "债券评级", "评级机构", "评级公司", "评级展望"]),
    (
        cue::GIVES,
        &[
            "维持",
            "给予",
            "上调",
            "下调",
            "调升",
            "调低",
            "调高",
            "调降",
            "重申",
            "首次",
            "首予",
            "授予",
            "提升至",
            "评级为",
            "予以",
            "保持",
            "建议",
        ],
    ),
    (
        cue::GRADE,
        &[
            "买入",
            "增持",
            "强烈推荐",
            "谨慎推荐",
            "审慎推荐",
            "推荐",
            "中性",
            "减持",
            "卖出",
            "回避",
            "优于大市",
            "强于大市",
            "同步大市",
            "弱于大市",
            "落后大市",
            "大市同步",
            "跑赢大市",
            "跑赢行业",
            "跑输行业",
            "领先大市",
            "持有",
        ],
    ),
    (cue::RATING, &["评级"]),
    (cue::TARGET, &["目标价", "目标价格", "目标价位", "合理价值", "合理价位", "合理估值", "合理股价"]),
    (
        cue::LEGAL,
        &[
            "本报告仅供",
            "本报告所载",
            "本报告由",
            "本报告的版权",
            "本报告版权",
            "本报告中的信息",
            "报告所载信息",
            "引用本报告",
            "不构成任何",
            "不构成对",
            "不构成投资",
            "不构成所述",
            "投资者据此",
            "据此操作",
            "据此投资",
            "风险自担",
            "后果自负",
            "翻版、复制",
            "翻版和复制",
            "复制和发布",
            "复制、发表",
            "版权归",
            "版权所有",
            "书面许可",
            "书面授权",
            "准确性、完整性",
            "准确性和完整性",
            "准确性及完整性",
            "准确性或完整性",
            "不作任何保证",
            "不做任何保证",
            "勤勉的职业态度",
            "直接或间接收到",
            "间接收到任何",
            "过往表现",
            "投资需谨慎",
            "投资须谨慎",
            "入市需谨慎",
            "不存在任何虚假记载",
            "不存在虚假记载",
            "没有虚假记载",
            "投资咨询业务资格",
            "投资咨询资格",
            "咨询执业资格",
            "此报告所载",
            "此报告旨为",
            "使用此报告",
            "此报告而",
            "书面明文批准",
            "恕不另行通知",
            "概不负责",
            "概不承担",
            "不承担任何",
            "不承担法律",
            "未曾因",
            "头寸并进行交易",
            "评级分为",
            "评级说明",
            "评级标准",
            "评级定义",
            "评级体系",
            "出价或征价",
            "出价或询价",
            "公司客户使用",
        ],
    ),
    (
        cue::NOTES,
        &["免责声明", "免责申明", "免责条款", "重要声明", "重要申明", "法律声明", "信息披露", "评级标准", "特别声明"],
    ),
    (cue::READ, &["请务必", "请参阅", "请阅读", "谨请", "敬请参阅", "请仔细阅读", "请见"]),
    (cue::MONTHS, &["个月"]),
    (
        cue::AGAINST,
        &[
            "相对沪深",
            "相对大盘",
            "相对市场",
            "相对指数",
            "相对同期",
            "相对于",
            "超越市场",
            "超过市场",
            "低于市场",
            "优于市场",
            "弱于市场",
            "与市场平均",
            "与大盘",
            "强于基准",
            "弱于基准",
            "沪深300指数",
            "涨跌幅",
            "涨幅",
        ],
    ),
    (
        cue::CONTACT,
        &[
            "执业证书",
            "证书编号",
            "证书号",
            "SAC",
            "研究员：",
            "研究员:",
            "分析师：",
            "分析师:",
            "联系人：",
            "联系人:",
            "证券代码：",
            "证券代码:",
            "证券简称：",
            "证券简称:",
            "公告编号",
            "机构：",
            "类别：",
            "作者：",
            "邮编",
            "查看本报告",
            "股票代码：",
            "报告日期",
            "发布日期：",
            "研究助理：",
        ],
    ),
    (
        cue::WIRE,
        &["@", "电话", "传真", "邮箱", "TEL", "Tel", "FAX", "Fax", "Email", "E-mail", "EMAIL", "http", "www.", "总机"],
    ),
    (cue::SOURCE, &["资料来源", "数据来源", "图表来源", "来源：", "来源:"]),
];

static FINDER: LazyLock<(AhoCorasick, Vec<u16>)> = LazyLock::new(|| {
    let (words, bits): (Vec<&str>, Vec<u16>) =
        CUES.iter().flat_map(|(bit, words)| words.iter().map(|&word| (word, *bit))).unzip();
    let finder =
        AhoCorasick::builder().kind(Some(AhoCorasickKind::DFA)).match_kind(MatchKind::LeftmostLongest).build(words);
    (finder.expect("the cues are constants of few bytes"), bits)
});

/// The cues of a text: where each begins, ascending, and its kind.
pub(super) fn cues(text: &str) -> Vec<(usize, u16)> {
    let (finder, bits) = &*FINDER;
    finder.find_iter(text).map(|found| (found.start(), bits[found.pattern().as_usize()])).collect()
}

/// True if there are words of law among the cues of a sentence, not only a note that points to where they are.
pub(super) fn says_law(bits: u16) -> bool {
    bits & cue::LEGAL != 0
}

/// True if a request to read the legal notes is all that a sentence says: layout may join such a note to the text below it.
fn is_note(sentence: &str) -> bool {
    let (_, notes) = CUES.iter().find(|(bit, _)| *bit == cue::NOTES).expect("the table has a row for notes");
    let end = notes.iter().filter_map(|note| Some(sentence.rfind(note)? + note.len())).max();
    end.is_some_and(|end| sentence[end..].chars().count() <= BEHIND_A_NOTE && sentence.chars().count() <= LONGEST_NOTE)
}

/// Characters of the longest note that points to the legal notes, and of what follows their name in it: 条款部分。
const LONGEST_NOTE: usize = 60;
const BEHIND_A_NOTE: usize = 6;

/// The section that a sentence belongs to by itself; `bits` are all cues in it, `whole_line` is true if it is all of its line.
pub(super) fn section_of(sentence: &str, bits: u16, whole_line: bool) -> Option<Section> {
    let has = |all: u16| bits & all == all;
    // Most sentences are none of this, and need not be looked at in detail.
    let plain = !sentence.bytes().any(|b| b.is_ascii_digit()) && !sentence.starts_with(['图', '表']);
    if bits == 0 && plain {
        return None;
    }
    let shape = SentenceShape::new(sentence);
    let prose = sentence.ends_with(['。', '！', '？', '；']);
    let law = has(cue::LEGAL) || (has(cue::NOTES | cue::READ) && is_note(sentence));
    let meaning = has(cue::MONTHS | cue::AGAINST) && (has(cue::GRADE) || has(cue::RATING));
    if has(cue::CONTACT) && (!prose || shape.characters <= 80) && !law {
        return Some(Section::Header);
    }
    if has(cue::WIRE) && shape.digits + shape.latin >= 6 && (!prose || sentence.contains('@')) && !law {
        return Some(Section::Header);
    }
    if has(cue::SOURCE) && !prose && shape.characters <= 60 {
        return Some(Section::Header);
    }
    if law || meaning {
        return Some(Section::Disclaimer);
    }
    if shape.is_row(prose) || (whole_line && shape.is_caption(sentence, prose)) {
        return Some(Section::Header);
    }
    let rates = has(cue::GIVES | cue::GRADE) && (has(cue::RATING) || quotes_a_grade(sentence) || !prose);
    let graded = has(cue::GRADE | cue::RATING);
    (rates || graded || has(cue::TARGET) || has(cue::GIVES | cue::RATING)).then_some(Section::Rating)
}

/// True if a short word stands in quotation marks, as ratings do.
fn quotes_a_grade(sentence: &str) -> bool {
    let quoted = sentence.split(['“', '「', '"', '"']).skip(1);
    quoted.filter_map(|rest| rest.split(['”', '」', '"']).next()).any(|word| {
        let (_, grades) = &CUES[2];
        grades.iter().any(|grade| word.starts_with(grade)) && word.chars().count() <= 6
    })
}

/// Numbers of characters of a sentence, by class.
#[derive(Clone, Copy, Debug, Default)]
struct SentenceShape {
    characters: usize,
    digits: usize,
    /// Marks that stand in numbers.
    marks: usize,
    latin: usize,
    /// Runs of digits and such marks.
    numbers: usize,
}

impl SentenceShape {
    fn new(sentence: &str) -> SentenceShape {
        let mut shape = SentenceShape::default();
        let mut in_number = false;
        for c in sentence.chars() {
            shape.characters += 1;
            let digit = c.is_ascii_digit();
            let mark = matches!(c, '.' | ',' | '%' | '-' | '+' | '/' | '(' | ')' | ':');
            shape.digits += usize::from(digit);
            shape.marks += usize::from(mark);
            shape.latin += usize::from(c.is_ascii_alphabetic());
            shape.numbers += usize::from(digit && !in_number);
            in_number = digit || (mark && in_number);
        }
        shape
    }

    /// A row of a table, or many that layout has joined.
    fn is_row(self, prose: bool) -> bool {
        let figures = self.digits + self.marks;
        !prose && self.digits >= 4 && self.numbers >= 3 && 5 * figures >= 2 * self.characters
    }

    /// The caption of a figure or table, or the date and code of a report on a line of their own.
    fn is_caption(self, sentence: &str, prose: bool) -> bool {
        let behind = ["图表", "表格", "图", "表"].iter().find_map(|word| sentence.strip_prefix(word));
        let caption = behind.is_some_and(|rest| {
            rest.trim_start().starts_with(|c: char| c.is_ascii_digit() || "一二三四五六七八九十：:".contains(c))
        });
        !prose && ((caption && self.characters <= 60) || (2 * self.digits >= self.characters && self.digits >= 4))
    }
}
