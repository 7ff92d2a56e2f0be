//! Characters as tokens, as BERT's basic tokenisation sees them.
//!
//! A Chinese character is a token; so is a run of other letters and digits (`ETF`, `2024`, `Δt`), and so is each mark or
//! symbol (`12.5%` is `12` `.` `5` `%`). White space, control and zero-width format characters are no tokens. Unlike
//! BERT's, case and accents stay, and a combining mark or variation selector stays with the character before it.

use unicode_normalization::char::is_combining_mark;

use super::Token;

/// Gives each token of `text` in order.
pub(super) fn for_each<'t>(text: &'t str, mut f: impl FnMut(Token<'t>)) {
    // The token under way, and whether it is a run that more letters may join.
    let mut open: Option<(usize, bool)> = None;
    let mut close = |open: &mut Option<(usize, bool)>, end: usize| {
        if let Some((start, _)) = open.take() {
            f(Token { text: &text[start..end], start, end });
        }
    };
    for (at, c) in text.char_indices() {
        match class(c) {
            Class::Blank => close(&mut open, at),
            Class::Mark if open.is_some() => {}
            Class::Letter if matches!(open, Some((_, true))) => {}
            Class::Letter => {
                close(&mut open, at);
                open = Some((at, true));
            }
            Class::Single | Class::Mark => {
                close(&mut open, at);
                open = Some((at, false));
            }
        }
    }
    close(&mut open, text.len());
}

enum Class {
    /// No part of any token.
    Blank,
    /// Belongs to the character before it.
    Mark,
    /// Joins its like into a run.
    Letter,
    /// A token of its own.
    Single,
}

fn class(c: char) -> Class {
    if is_chinese(c) {
        Class::Single
    } else if c.is_ascii() {
        match c {
            'a'..='z' | 'A'..='Z' | '0'..='9' => Class::Letter,
            '!'..='~' => Class::Single,
            _ => Class::Blank,
        }
    } else if c.is_whitespace() || c.is_control() || is_zero_width(c) {
        Class::Blank
    } else if is_combining_mark(c) {
        Class::Mark
    } else if c.is_alphanumeric() {
        Class::Letter
    } else {
        Class::Single
    }
}

/// The blocks of Chinese characters that BERT surrounds with spaces, with the later extensions and 〇.
fn is_chinese(c: char) -> bool {
    matches!(c,
        '\u{4E00}'..='\u{9FFF}' | '\u{3400}'..='\u{4DBF}' | '\u{F900}'..='\u{FAFF}' | '\u{20000}'..='\u{2FA1F}'
        | '\u{30000}'..='\u{323AF}' | '\u{3007}')
}

/// Format characters that take no room: zero-width spaces and joiners, direction marks, soft hyphen, byte order mark.
pub(super) fn is_zero_width(c: char) -> bool {
    matches!(c, '\u{AD}' | '\u{200B}'..='\u{200F}' | '\u{202A}'..='\u{202E}' | '\u{2060}'..='\u{2064}' | '\u{FEFF}')
}

/// True if jieba looks words up across this character; every other character is a token of its own.
pub(crate) fn in_dictionary_block(c: char) -> bool {
    matches!(c,
        '\u{4E00}'..='\u{9FFF}' | 'a'..='z' | 'A'..='Z' | '0'..='9' | '+' | '#' | '&' | '.' | '_' | '%' | '-'
        | '\u{3400}'..='\u{4DBF}' | '\u{F900}'..='\u{FAFF}' | '\u{20000}'..='\u{2A6DF}' | '\u{2A700}'..='\u{2EBEF}'
        | '\u{2F800}'..='\u{2FA1F}')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(text: &str) -> Vec<&str> {
        let mut tokens = Vec::new();
        for_each(text, |token| {
            assert_eq!(&text[token.start..token.end], token.text);
            tokens.push(token.text);
        });
        tokens
    }

    #[test]
    fn chinese_characters_stand_alone_and_letters_run_together() {
        assert_eq!(
            cut("ETF净流入12.5%，创新高"),
            ["ETF", "净", "流", "入", "12", ".", "5", "%", "，", "创", "新", "高"]
        );
        assert_eq!(cut(" 5G\t概念\u{3000}A股\n"), ["5G", "概", "念", "A", "股"]);
        assert_eq!(cut("𠮷利和二〇二四"), ["𠮷", "利", "和", "二", "〇", "二", "四"]);
        assert_eq!(cut(""), [""; 0]);
    }

    #[test]
    fn marks_stay_with_their_character_and_joiners_are_no_tokens() {
        assert_eq!(cut("cafe\u{301}好"), ["cafe\u{301}", "好"]);
        assert_eq!(cut("葛\u{E0100}氏\u{200B}集团"), ["葛\u{E0100}", "氏", "集", "团"]);
        assert_eq!(cut("\u{FEFF}利好\u{7}"), ["利", "好"]);
    }
}
