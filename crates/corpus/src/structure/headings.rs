//! Headings and the sections that they open.
//!
//! Warnings and disclaimers are those of the lexicon: sentences that it passes over are Risk or Disclaimer here.

use std::sync::LazyLock;

use rustc_hash::{FxHashMap, FxHashSet};

use super::Section;
use inkstone_text::{DISCLAIMERS, WARNINGS};

const HEADINGS: &str = include_str!("../../../../assets/structure/headings.txt");

/// Bytes of the longest heading that is looked for.
const LONGEST: usize = 60;

static OPENED: LazyLock<FxHashMap<String, Section>> = LazyLock::new(|| {
    let lines = |text: &'static str| text.lines().map(str::trim).filter(|l| !l.is_empty() && !l.starts_with('#'));
    let own = lines(HEADINGS).map(|line| {
        let (section, heading) = line.split_once('\t').expect("a line of the list is a section, a tab and a heading");
        (heading.to_owned(), Section::parse(section).expect("the list names sections that there are"))
    });
    let joined = |text: &'static str, section| {
        let word = |line: &str| line.split('\t').next().unwrap_or_default().split_whitespace().collect::<String>();
        lines(text).map(move |line| (word(line), section))
    };
    // The lists of the lexicon come last: what it passes over is no summary.
    own.chain(joined(WARNINGS, Section::Risk)).chain(joined(DISCLAIMERS, Section::Disclaimer)).collect()
});

/// The characters that headings begin with.
static FIRST: LazyLock<FxHashSet<char>> =
    LazyLock::new(|| OPENED.keys().filter_map(|key| key.chars().next()).collect());

/// Position of a heading in its line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stands {
    /// It is all of the line.
    Alone,
    /// Text follows behind a colon, a bracket or, at the beginning of a line, a full stop.
    Before,
}

/// The heading that a text opens with, and how it stands. `line` says that the text is at the beginning of a line.
pub(super) fn heading(text: &str, line: bool) -> Option<(Section, Stands)> {
    let numbered = unnumbered(text.trim_start_matches(is_bullet));
    let bare = numbered.trim_start_matches(is_bracket).trim_start();
    let bracketed = bare.len() < numbered.len();
    if !bare.chars().next().is_some_and(|c| FIRST.contains(&c)) {
        return None;
    }
    let mut found = None;
    for end in bare.char_indices().map(|(i, c)| i + c.len_utf8()).take_while(|&end| end <= LONGEST) {
        if let Some(&section) = OPENED.get(&bare[..end])
            && let Some(stands) = stands(&bare[end..], bracketed, line)
        {
            found = Some((section, stands));
        }
    }
    found
}

/// Position of a heading that `rest` follows; `None` when it begins a sentence about something else.
fn stands(rest: &str, bracketed: bool, line: bool) -> Option<Stands> {
    let mut chars = rest.chars();
    let stands = match chars.next() {
        None => return line.then_some(Stands::Alone),
        Some('：' | ':') => Stands::Before,
        Some(c) if bracketed && is_bracket(c) => Stands::Before,
        Some('。' | '！' | '.') if line => Stands::Before,
        Some('（' | '(' | '-' | '—' | '|') if line && rest.chars().count() <= 12 => Stands::Before,
        _ => return None,
    };
    let alone = line && chars.all(|c| matches!(c, '：' | ':' | '。') || is_bracket(c) || c.is_whitespace());
    Some(if alone { Stands::Alone } else { stands })
}

/// True if a line is the heading of a chapter that no list has: numbered in Chinese or bracketed, short, not a sentence.
pub(super) fn is_chapter(line: &str) -> bool {
    let core = unnumbered(line);
    let numbered = core.len() < line.len() && !line.starts_with(|c: char| c.is_ascii_digit());
    let bracketed = line.starts_with('【') && line.ends_with('】');
    let short = line.chars().take(31).count() <= 30;
    (numbered || bracketed) && short && !line.ends_with(['。', '；', ';', '！', '？', '，', '、'])
}

/// The text behind the number of a chapter or an item: 一、 （二） 3. 4、 第五章.
fn unnumbered(text: &str) -> &str {
    let open = text.strip_prefix(['（', '(']);
    let rest = open.or_else(|| text.strip_prefix('第')).unwrap_or(text);
    let behind = rest.trim_start_matches(|c: char| c.is_ascii_digit() || "一二三四五六七八九十".contains(c));
    let digits = rest.len() - behind.len();
    if digits == 0 || digits > 9 {
        return text;
    }
    let marks: &[char] = if open.is_some() { &['）', ')'] } else { &['、', '.', '．', ' ', '章', '节', '部'] };
    match behind.strip_prefix(marks) {
        // A point in a number is none behind the number of an item.
        Some(core) if !core.starts_with(|c: char| c.is_ascii_digit()) => core.trim_start_matches([' ', '、', '分']),
        _ => text,
    }
}

fn is_bullet(c: char) -> bool {
    c.is_whitespace()
        || matches!(c, '●' | '■' | '◆' | '►' | '▶' | '•' | '·' | '*' | '#' | '★' | '□' | '◇' | '○' | '➢' | '-')
}

fn is_bracket(c: char) -> bool {
    matches!(c, '【' | '】' | '[' | ']' | '〖' | '〗' | '<' | '>' | '《' | '》' | '「' | '」' | '『' | '』')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headings_stand_alone_in_brackets_behind_numbers_and_before_text() {
        use Section::*;
        for (text, section, stands) in [
            ("核心观点", Summary, Stands::Alone),
            ("【投资要点】", Summary, Stands::Alone),
            ("四、盈利预测与投资建议", Forecast, Stands::Alone),
            ("（三）风险提示：", Risk, Stands::Alone),
            ("5. 风险因素", Risk, Stands::Alone),
            ("风险提示：需求下滑。", Risk, Stands::Before),
            ("【风险提示】需求下滑。", Risk, Stands::Before),
            ("投资风险。新店的培育期可能延长。", Risk, Stands::Before),
            ("■投资建议：维持“买入”评级。", Rating, Stands::Before),
            ("分析师承诺：本人独立出具本报告。", Disclaimer, Stands::Before),
            ("利润表（百万元）", Header, Stands::Before),
        ] {
            assert_eq!(heading(text, true), Some((section, stands)), "{text}");
        }
        for text in ["摘要显示公司增长。", "风险可控", "投资建议书", "3.5%的增长", "事件驱动策略占优。"]
        {
            assert_eq!(heading(text, true), None, "{text}");
        }
        assert_eq!(heading("风险提示：需求下滑。", false), Some((Risk, Stands::Before)));
        assert_eq!(heading("投资风险。", false), None, "in mid-line only a colon or a bracket opens a section");
    }

    #[test]
    fn chapters_are_short_and_no_sentences() {
        for chapter in ["一、公司概况与沿革", "（二）产能布局", "【经营分析】", "第三章 行业格局"]
        {
            assert!(is_chapter(chapter), "{chapter}");
        }
        for other in ["一、公司增长较快。", "公司概况", "1、原料涨价", "二季度收入增长"] {
            assert!(!is_chapter(other), "{other}");
        }
    }
}
