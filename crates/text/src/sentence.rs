//! Sentences of a text, as byte ranges.
//!
//! A sentence ends with its line, and at `。！？……` with the closing marks after them. It does not end
//!
//! - inside a quotation or a pair of brackets of up to 200 characters: 他说：“一切正常。请放心。” is one sentence;
//! - behind a closing mark that a comma or the like follows (“好。”，他说), or behind a bracket in mid-sentence;
//! - at a point in a number (3.5), a name (U.S. Steel), an abbreviation (Co.) or after the number of a list (1. 营业收入).
//!
//! Items of a list on one line stand apart: `；` ends a sentence where （二）, 2、 or ② follows. Ranges are half-open, in the
//! order of the text, without white space at their ends; no character but white space is left out.

use std::ops::Range;

/// Characters of the longest quotation that stays whole. A mark that is opened and never closed must not hold up the rest of
/// the line.
const LONGEST_QUOTATION: usize = 200;

/// Words that end with a point in mid-sentence.
const ABBREVIATIONS: [&str; 14] =
    ["co", "corp", "dr", "etc", "fig", "inc", "jr", "ltd", "mr", "mrs", "ms", "no", "st", "vs"];

/// The sentences of a text.
pub fn sentences(text: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut line = Vec::new();
    let mut marks = Marks::default();
    for (at, c) in text.char_indices().chain([(text.len(), '\n')]) {
        if matches!(c, '\n' | '\r' | '\u{85}' | '\u{2028}' | '\u{2029}') {
            cut_line(&line, at, &mut marks, &mut |range| found.push(range));
            line.clear();
        } else {
            line.push((at, c));
        }
    }
    found
}

/// Gives the sentences of the characters of one line, which ends at byte `end`.
fn cut_line(line: &[(usize, char)], end: usize, marks: &mut Marks, give: &mut impl FnMut(Range<usize>)) {
    marks.pair(line);
    let closings = &marks.closings;
    let byte = |i: usize| line.get(i).map_or(end, |&(at, _)| at);
    let mut give = |from: usize, to: usize| {
        let blank = |&(_, c): &(usize, char)| c.is_whitespace();
        let from = from + line[from..to].iter().take_while(|c| blank(c)).count();
        let to = to - line[from..to].iter().rev().take_while(|c| blank(c)).count();
        if from < to {
            give(byte(from)..byte(to));
        }
    };
    // The first character of the sentence under way, and the outermost pair of marks that it is or was last inside of.
    let (mut start, mut pair) = (0, 0..0);
    let mut straight_quotes = 0;
    let mut i = 0;
    while i < line.len() {
        if i >= pair.end
            && let Some(closing) = closings[i]
        {
            pair = i..closing;
        }
        straight_quotes += usize::from(line[i].1 == '"');
        if !ends(line, start, i) {
            i += 1;
            continue;
        }
        let mut next = i + 1;
        while let Some(&(_, c)) = line.get(next)
            && (is_end(c) || is_closing(c) || (c == '"' && straight_quotes % 2 == 1))
        {
            straight_quotes += usize::from(c == '"');
            next += 1;
        }
        let inside = i < pair.end && next <= pair.end;
        let bracket = i < pair.end && !is_quote(line[pair.start].1);
        let in_mid_sentence = bracket && line[start..pair.start].iter().any(|(_, c)| !c.is_whitespace());
        if !inside && !in_mid_sentence && !goes_on(&line[next..]) {
            give(start, next);
            start = next;
        }
        i = next;
    }
    give(start, line.len());
}

/// Pairs of marks in a line. Reused from line to line for its memory.
#[derive(Default)]
struct Marks {
    /// For each opening mark the place of its closing mark, if that stands near enough.
    closings: Vec<Option<usize>>,
    /// Opening marks without their closing mark so far, each with that mark.
    open: Vec<(usize, char)>,
    /// Number of them for each closing mark.
    waiting: [usize; CLOSINGS.len()],
}

impl Marks {
    fn pair(&mut self, line: &[(usize, char)]) {
        let Marks { closings, open, waiting } = self;
        closings.clear();
        closings.resize(line.len(), None);
        open.clear();
        waiting.fill(0);
        let index_of = |closing: char| CLOSINGS.iter().position(|&c| c == closing).unwrap_or(0);
        for (i, &(_, c)) in line.iter().enumerate() {
            if let Some(closing) = closing_of(c) {
                open.push((i, closing));
                waiting[index_of(closing)] += 1;
            } else if is_closing(c) && waiting[index_of(c)] > 0 {
                // Marks that were opened inside and not closed are dropped. Each mark is taken off once, however long the line.
                while let Some((at, closing)) = open.pop() {
                    waiting[index_of(closing)] -= 1;
                    if closing == c {
                        if i - at <= LONGEST_QUOTATION {
                            closings[at] = Some(i);
                        }
                        break;
                    }
                }
            }
        }
    }
}

/// All closing marks.
const CLOSINGS: [char; 11] = ['”', '’', '」', '』', '）', ')', '】', '》', '〉', '〕', ']'];

fn closing_of(c: char) -> Option<char> {
    Some(match c {
        '“' => '”',
        '‘' => '’',
        '「' => '」',
        '『' => '』',
        '（' => '）',
        '(' => ')',
        '【' => '】',
        '《' => '》',
        '〈' => '〉',
        '〔' => '〕',
        '[' => ']',
        _ => return None,
    })
}

fn is_quote(c: char) -> bool {
    matches!(c, '“' | '‘' | '「' | '『')
}

fn is_closing(c: char) -> bool {
    CLOSINGS.contains(&c)
}

/// Marks that end a sentence wherever they stand in Chinese text.
fn is_end(c: char) -> bool {
    matches!(c, '。' | '！' | '？' | '｡' | '…' | '!' | '?')
}

/// True if the mark at `i` ends the sentence that began at `start`, pairs of marks apart.
fn ends(line: &[(usize, char)], start: usize, i: usize) -> bool {
    let at = |k: usize| line.get(k).map(|&(_, c)| c);
    let before = i.checked_sub(1).and_then(at);
    let next = at(i + 1);
    match line[i].1 {
        '。' | '！' | '？' | '｡' => true,
        // A single one stands for what was left out.
        '…' => next == Some('…') || before == Some('…') || next.is_none(),
        // In addresses they are followed by letters and digits.
        '!' | '?' => next.is_none_or(|c| !c.is_ascii_alphanumeric() && !matches!(c, '/' | '=' | '&')),
        '.' | '．' => point_ends(&line[start..i], next),
        '；' | ';' => list_item_follows(&line[i + 1..]),
        _ => false,
    }
}

/// True if a point behind `sentence`, with `next` after it, is a full stop.
fn point_ends(sentence: &[(usize, char)], next: Option<char>) -> bool {
    let word: String = sentence.iter().rev().map(|&(_, c)| c).take_while(char::is_ascii_alphanumeric).collect();
    let before = sentence.len() - word.len();
    match next {
        None => true,
        Some(c) if c.is_whitespace() || is_closing(c) || c == '"' => {
            let number_of_a_list = sentence[..before].iter().all(|(_, c)| c.is_whitespace());
            let lower: String = word.chars().rev().collect::<String>().to_ascii_lowercase();
            let name = word.len() == 1 && word.as_bytes()[0].is_ascii_alphabetic();
            !number_of_a_list && !name && !ABBREVIATIONS.contains(&lower.as_str())
        }
        // A full stop of Latin text between Chinese characters.
        Some(c) => word.is_empty() && is_chinese(c) && sentence.last().is_some_and(|&(_, c)| is_chinese(c)),
    }
}

fn is_chinese(c: char) -> bool {
    matches!(c, '\u{4E00}'..='\u{9FFF}' | '\u{3400}'..='\u{4DBF}')
}

/// True if what follows a closing mark belongs to the same sentence.
fn goes_on(rest: &[(usize, char)]) -> bool {
    let next = rest.iter().map(|&(_, c)| c).find(|c| !c.is_whitespace());
    next.is_some_and(|c| matches!(c, '，' | '、' | '；' | '：' | ',' | ';' | ':'))
}

/// True if `rest` begins with the mark of a list's item: （二） (2) 2、 2. ② 二、 第二，.
fn list_item_follows(rest: &[(usize, char)]) -> bool {
    let mut rest = rest.iter().map(|&(_, c)| c).skip_while(|c| c.is_whitespace()).peekable();
    if rest.next_if(|c| ('①'..='⑳').contains(c)).is_some() {
        return true;
    }
    let bracket = rest.next_if(|c| matches!(c, '（' | '(')).is_some();
    let ordinal = !bracket && rest.next_if_eq(&'第').is_some();
    let mut digits = 0;
    while rest.next_if(|c| c.is_ascii_digit() || "一二三四五六七八九十".contains(*c)).is_some() {
        digits += 1;
    }
    let mark = rest.next().unwrap_or(' ');
    let after = rest.next().unwrap_or(' ');
    let marked = match mark {
        '）' | ')' => true,
        '、' => !bracket,
        '.' | '．' => !bracket && !ordinal && !after.is_ascii_digit(),
        '，' | ',' => ordinal,
        _ => false,
    };
    (1..=3).contains(&digits) && marked
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn cut(text: &str) -> Vec<&str> {
        sentences(text).into_iter().map(|range| &text[range]).collect()
    }

    #[test]
    fn sentences_end_at_their_marks_and_with_their_line() {
        assert_eq!(
            cut("公司拟回购股份。 净利润增长！！真的吗？！后续……\n标题没有句号\r\n\n　　正文。"),
            ["公司拟回购股份。", "净利润增长！！", "真的吗？！", "后续……", "标题没有句号", "正文。"]
        );
        assert_eq!(cut("  \n"), [""; 0]);
        assert_eq!(cut("从…到…都好"), ["从…到…都好"]);
    }

    #[test]
    fn quotations_stay_whole() {
        assert_eq!(
            cut("他说：“一切正常。请放心。”随后离开。“好！”，众人答。"),
            ["他说：“一切正常。请放心。”", "随后离开。", "“好！”，众人答。"]
        );
        assert_eq!(cut("“外层‘内层。’仍在。”完。"), ["“外层‘内层。’仍在。”", "完。"]);
        assert_eq!(cut("他说\"好。\"然后走了。"), ["他说\"好。\"", "然后走了。"]);
        // Nothing closes the first mark; the sentences after it are still found.
        assert_eq!(cut("“稳增长。促改革。"), ["“稳增长。", "促改革。"]);
        let long = format!("“{}。{}。”", "长".repeat(150), "句".repeat(150));
        assert_eq!(cut(&long).len(), 2);
    }

    #[test]
    fn brackets_end_a_sentence_only_when_they_are_all_of_it() {
        assert_eq!(cut("公司回购（详见公告。）并注销。"), ["公司回购（详见公告。）并注销。"]);
        assert_eq!(cut("订单增加。（记者 王某。）另讯"), ["订单增加。", "（记者 王某。）", "另讯"]);
        assert_eq!(cut("增长（见附注）。下滑"), ["增长（见附注）。", "下滑"]);
    }

    #[test]
    fn points_in_numbers_names_and_addresses_end_nothing() {
        for whole in [
            "增长3.5倍，见 www.example.com/a?b=1.5",
            "1. 营业收入12.5亿元",
            "A. 品牌 B.C. 两部",
            "Example Co. Ltd 与 U.S. Steel 合作",
            "毛利率为３５．２％",
        ] {
            assert_eq!(cut(whole), [whole]);
        }
        assert_eq!(cut("Profit rose. Sales fell 3.5%. 好"), ["Profit rose.", "Sales fell 3.5%.", "好"]);
        assert_eq!(cut("利润增长.收入下降."), ["利润增长.", "收入下降."]);
    }

    #[test]
    fn items_of_a_list_stand_apart() {
        assert_eq!(cut("（一）增持；（二）回购；不减持。"), ["（一）增持；", "（二）回购；不减持。"]);
        assert_eq!(cut("1、增持；2、回购；②分红; 第三，注销"), ["1、增持；", "2、回购；", "②分红;", "第三，注销"]);
        assert_eq!(cut("上涨；3.5倍；2024年"), ["上涨；3.5倍；2024年"]);
    }

    #[test]
    fn a_line_of_marks_takes_no_longer_than_one_of_words() {
        let line =
            "（".repeat(200_000) + &"】".repeat(200_000) + "完。" + &"“".repeat(100_000) + &"”。".repeat(100_000);
        let began = std::time::Instant::now();
        assert!(cut(&line).len() > 1);
        assert!(began.elapsed().as_secs() < 5, "{:?}", began.elapsed());
    }

    proptest! {
        #[test]
        fn every_character_is_in_one_sentence_in_order(text in "[公司。！？…；，“”‘’（）()\"1２.．、 \n\ra②一]{0,60}|\\PC{0,40}") {
            let mut end = 0;
            for range in sentences(&text) {
                prop_assert!(text[end..range.start].chars().all(char::is_whitespace));
                let piece = &text[range.clone()];
                prop_assert!(!piece.is_empty() && piece.trim() == piece);
                end = range.end;
            }
            prop_assert!(text[end..].chars().all(char::is_whitespace));
        }
    }
}
