//! The normal form of a text: one width, one way to write a space, no markup, no invisible characters.
//!
//! - Full-width letters, digits and symbols (`Ａ９％＋～．`) become ASCII; the Chinese punctuation `，：；？！（）` stays
//!   Chinese and ASCII punctuation stays ASCII, for both carry meaning to a tokenizer. Characters that are one sign of
//!   their own (`①㎡½‰`) stay as well, which is why this is NFC with a table of its own and not NFKC.
//! - Radicals and ligatures that PDF files put in place of characters (`⼈⻛ﬁ`) become those characters.
//! - Zero-width characters, soft hyphens, byte order marks, control characters and variation selectors vanish; signs of
//!   symbol fonts (bullets of the private area U+F000 to U+F0FF) become spaces.
//! - A run of white space is one space, and none beside a Chinese character: spaces inside Chinese are residue of
//!   layout. Line ends are `\n`, one between paragraphs, none at the ends.
//! - Marks of report templates (`[Table_Summary]`) end a line, nothing more. [`super::markup`] describes markup.
//!
//! Normalising twice is normalising once, and the text never has more characters than before, but for the few that NFC
//! writes as two.

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::{Captures, Regex};
use unicode_normalization::{IsNormalized, UnicodeNormalization, is_nfc_quick};

use super::{Params, markup};

/// Markup inside escaped markup inside escaped markup ... is taken off this many times; deeper nesting is not text.
const MAX_PASSES: usize = 16;

static TEMPLATE_MARK: LazyLock<Regex> = LazyLock::new(|| {
    // Layout puts spaces inside the word now and then: `[Tabl e_Title]`.
    Regex::new(r"(?i)\[ ?t ?a ?b ?l ?e ?_[a-z0-9_ ]{0,32}\]").expect("the pattern is a constant and valid")
});

static NUMBER: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"[0-9][0-9,，.]*[0-9]").expect("the pattern is a constant and valid"));

static GROUPED_NUMBER: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^[0-9]{1,3}([,，][0-9]{3})+(\.[0-9]+)?$").expect("the pattern is a constant and valid")
});

/// Characters of simplified writing that PDF files give as radicals and for which Unicode has no mapping.
const RADICALS: [(char, char); 26] = [
    ('⺠', '民'),
    ('⻄', '西'),
    ('⻅', '见'),
    ('⻆', '角'),
    ('⻉', '贝'),
    ('⻋', '车'),
    ('⻓', '长'),
    ('⻔', '门'),
    ('⻘', '青'),
    ('⻙', '韦'),
    ('⻚', '页'),
    ('⻛', '风'),
    ('⻜', '飞'),
    ('⻝', '食'),
    ('⻢', '马'),
    ('⻣', '骨'),
    ('⻤', '鬼'),
    ('⻥', '鱼'),
    ('⻦', '鸟'),
    ('⻧', '卤'),
    ('⻨', '麦'),
    ('⻩', '黄'),
    ('⻪', '黾'),
    ('⻬', '齐'),
    ('⻮', '齿'),
    ('⻰', '龙'),
];

/// The normal form of a text of several lines.
pub fn normalise(text: &str, params: &Params) -> String {
    fixed_point(text, |text| pass(text, params, '\n'))
}

/// The normal form of a text of one line: as [`normalise`], with line ends read as spaces.
pub(crate) fn normalise_line(text: &str, params: &Params) -> String {
    fixed_point(text, |text| pass(text, params, ' '))
}

/// One step may uncover work for another (`&amp;lt;br&amp;gt;` is a line break in the end), so the passes
/// are repeated until nothing changes; most texts need one that changes and one that does not.
fn fixed_point(text: &str, pass: impl Fn(&str) -> String) -> String {
    let mut clean = pass(text);
    if clean == text {
        return clean;
    }
    for n in 0.. {
        let next = pass(&clean);
        if next == clean {
            break;
        }
        clean = next;
        if n == MAX_PASSES {
            // Without these two there is no markup left to uncover, and what is left only shrinks until it stands.
            clean.retain(|c| c != '<' && c != '&');
        }
    }
    clean
}

fn pass(text: &str, params: &Params, line_end: char) -> String {
    let (mut text, plain) = fold(text);
    if !plain && is_nfc_quick(text.chars()) != IsNormalized::Yes {
        text = text.nfc().collect();
    }
    if params.markup
        && let Cow::Owned(stripped) = markup::strip(&text)
    {
        text = stripped;
    }
    if let Cow::Owned(unmarked) = TEMPLATE_MARK.replace_all(&text, "\n") {
        text = unmarked;
    }
    text = respace(&text, line_end);
    if params.unify_numbers
        && let Cow::Owned(unified) = NUMBER.replace_all(&text, unify_number)
    {
        text = unified;
    }
    text
}

/// Character by character: width, radicals, invisible characters, kinds of spaces and line ends. Tells as well whether
/// all that is left is plain, and so in NFC already.
fn fold(text: &str) -> (String, bool) {
    let mut folded = String::with_capacity(text.len());
    let mut plain = true;
    for c in text.chars() {
        match c {
            _ if is_plain(c) => folded.push(c),
            '\r' | '\u{B}' | '\u{C}' | '\u{85}' | '\u{2028}' | '\u{2029}' => folded.push('\n'),
            _ if c.is_whitespace() || ('\u{F000}'..='\u{F0FF}').contains(&c) => folded.push(' '),
            _ if is_invisible(c) => {}
            '\u{2F00}'..='\u{2FD5}' | '⺟' | '⻳' | '\u{FB00}'..='\u{FB06}' => {
                folded.extend(c.nfkc());
                plain = false;
            }
            _ => {
                let narrow = narrow(c);
                plain &= is_plain(narrow);
                folded.push(narrow);
            }
        }
    }
    (folded, plain)
}

/// Most of Chinese text: characters that are in normal form and combine with nothing.
fn is_plain(c: char) -> bool {
    matches!(c, ' '..='~' | '\n' | '\u{4E00}'..='\u{9FFF}' | '，' | '。' | '、' | '：' | '；' | '？' | '！' | '（' | '）'
        | '“' | '”' | '《' | '》' | '【' | '】')
}

fn is_invisible(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{AD}' | '\u{34F}' | '\u{61C}' | '\u{180E}' | '\u{200B}'..='\u{200F}' | '\u{202A}'..='\u{202E}'
            | '\u{2060}'..='\u{206F}' | '\u{FE00}'..='\u{FE0F}' | '\u{FEFF}' | '\u{FFF9}'..='\u{FFFC}'
            | '\u{E0000}'..='\u{E01EF}')
}

/// The usual character for a width or presentation variant.
fn narrow(c: char) -> char {
    match c {
        '！' | '（' | '）' | '，' | '：' | '；' | '？' => c,
        '！'..='～' => char::from_u32(c as u32 - 0xFEE0).unwrap_or(c),
        '〜' => '~',
        '−' | '﹣' => '-',
        '￠' => '¢',
        '￡' => '£',
        '￥' => '¥',
        '｡' => '。',
        '｢' => '「',
        '｣' => '」',
        '､' => '、',
        '･' => '·',
        '﹐' => '，',
        '﹑' => '、',
        '﹒' => '.',
        '﹔' => '；',
        '﹕' => '：',
        '﹖' => '？',
        '﹗' => '！',
        '﹙' => '（',
        '﹚' => '）',
        '﹟' => '#',
        '﹠' => '&',
        '﹡' => '*',
        '﹢' => '+',
        '﹤' => '<',
        '﹥' => '>',
        '﹦' => '=',
        '﹩' => '$',
        '﹪' => '%',
        '⺀'..='⻳' => RADICALS.binary_search_by_key(&c, |r| r.0).map_or(c, |i| RADICALS[i].1),
        _ => c,
    }
}

/// Normalises spaces and line ends as described above; `line_end` replaces a line end.
fn respace(text: &str, line_end: char) -> String {
    let mut spaced = String::with_capacity(text.len());
    let mut gap = None;
    let mut last = '\n';
    for c in text.chars() {
        if c == '\n' {
            gap = if line_end == '\n' { Some('\n') } else { gap.or(Some(' ')) };
        } else if c == ' ' {
            gap = gap.or(Some(' '));
        } else {
            match gap.take() {
                _ if spaced.is_empty() => {}
                Some('\n') => spaced.push('\n'),
                Some(_) if !is_chinese(last) && !is_chinese(c) => spaced.push(' '),
                _ => {}
            }
            spaced.push(c);
            last = c;
        }
    }
    spaced
}

/// Chinese characters and their punctuation, beside which no space is written.
fn is_chinese(c: char) -> bool {
    matches!(c, '\u{2E80}'..='\u{33FF}' | '\u{3400}'..='\u{4DBF}' | '\u{4E00}'..='\u{9FFF}' | '\u{F900}'..='\u{FAFF}'
        | '\u{FE30}'..='\u{FE4F}' | '\u{FF00}'..='\u{FF65}' | '\u{20000}'..='\u{3FFFF}')
}

fn unify_number(number: &Captures<'_>) -> String {
    let number = &number[0];
    if GROUPED_NUMBER.is_match(number) { number.replace('，', ",") } else { number.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn clean(text: &str) -> String {
        normalise(text, &Params::default())
    }

    #[test]
    fn width_is_unified_and_chinese_punctuation_stays() {
        assert_eq!(clean("ＰＥ＜２０倍，同比＋３．５％～４％（预计）！"), "PE<20倍，同比+3.5%~4%（预计）！");
        assert_eq!(clean("①面积100㎡，占½，5‰；￥３－１"), "①面积100㎡，占½，5‰；¥3-1");
        assert_eq!(clean("﹪﹤−5｡"), "%<-5。");
    }

    #[test]
    fn residue_of_pdf_files_becomes_text() {
        assert_eq!(clean("⻓期⻛险：⼈⼯成本，proﬁt"), "长期风险：人工成本，profit");
        assert_eq!(clean("\u{F06C} 投资 要点\u{AD}\u{200B}：\u{FEFF}增\u{0}长"), "投资要点：增长");
        // A letter and its accent apart, and a compatibility character.
        assert_eq!(clean("e\u{301} \u{F900}"), "é豈");
    }

    #[test]
    fn spaces_stay_between_latin_words_and_lines_stay_apart() {
        assert_eq!(
            clean("\u{3000}\u{3000}公司 发布 Apple Vision  Pro 竞品 \r\n\r\n \t第二 段\r末"),
            "公司发布Apple Vision Pro竞品\n第二段\n末"
        );
        assert_eq!(clean("1,234 5,678"), "1,234 5,678");
        assert_eq!(normalise_line("标题\n续行 of two\nlines", &Params::default()), "标题续行of two lines");
    }

    #[test]
    fn template_marks_end_a_line() {
        assert_eq!(clean("[Table_Summary]事件：增长[Tabl e_Title] 点评"), "事件：增长\n点评");
        assert_eq!(clean("[摘要]保留"), "[摘要]保留");
    }

    #[test]
    fn numbers_are_unified_only_when_asked_and_only_in_groups_of_three() {
        let params = Params { unify_numbers: true, ..Params::default() };
        assert_eq!(clean("１，２３４"), "1，234");
        assert_eq!(normalise("１，２３４，５６７．８元", &params), "1,234,567.8元");
        assert_eq!(normalise("分别为2019，2020和0.5，600", &params), "分别为2019，2020和0.5，600");
    }

    #[test]
    fn markup_escaped_twice_is_uncovered_and_deeper_nesting_ends() {
        assert_eq!(clean("增长&amp;lt;br/&amp;gt;点评 R&amp;amp;D"), "增长\n点评R&D");
        let deep = format!("&{}lt;b&gt;文", "amp;".repeat(500));
        let once = clean(&deep);
        assert!(once.len() < deep.len());
        assert_eq!(clean(&once), once);
    }

    proptest! {
        #[test]
        fn normalising_twice_is_normalising_once(
            pieces in proptest::collection::vec(
                prop_oneof![
                    any::<char>().prop_map(String::from),
                    Just("<p>".into()), Just("</p".into()), Just("<b ".into()), Just(">".into()), Just("<".into()),
                    Just("&amp;".into()), Just("&lt;".into()), Just("&gt;".into()), Just("&#x3c;".into()), Just("&".into()),
                    Just("amp;".into()), Just("lt;".into()), Just("<!--".into()), Just("-->".into()), Just("<script>".into()),
                    Just("</script>".into()), Just("[Table_".into()), Just("]".into()), Just("１，".into()), Just("234".into()),
                    Just(" ".into()), Just("\u{200B}".into()), Just("\u{301}".into()), Just("e".into()), Just("中".into()),
                    Just("<![CDATA[".into()), Just("]]>".into()), Just("x='".into()), Just("<xx>".into()), Just("</xx>".into()),
                ],
                0..40,
            ),
            unify_numbers: bool,
        ) {
            let params = Params { unify_numbers, ..Params::default() };
            let text: String = pieces.concat();
            let once = normalise(&text, &params);
            prop_assert_eq!(&normalise(&once, &params), &once);
            prop_assert!(once.chars().count() <= 3 * text.chars().count());
            let line = normalise_line(&text, &params);
            prop_assert_eq!(&normalise_line(&line, &params), &line);
            prop_assert!(!line.contains('\n'));
        }
    }
}
