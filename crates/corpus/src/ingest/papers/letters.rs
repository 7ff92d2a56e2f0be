//! Which characters a Chinese text is made of, for joining lines and for telling sound text from broken text.

/// True if a character takes the place of a Han character: such text knows no spaces.
pub(super) fn is_wide(c: char) -> bool {
    is_han(c)
        || matches!(c, '\u{3000}'..='\u{30ff}' | '\u{fe30}'..='\u{fe4f}' | '\u{ff00}'..='\u{ffef}' | '“' | '”' | '‘' | '’' | '…' | '—')
}

/// True if a character is a Han character.
pub(super) fn is_han(c: char) -> bool {
    matches!(c, '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{323af}' | '〇')
}

/// True if a character says that a glyph or byte has no known character.
pub(super) fn is_unmapped(c: char) -> bool {
    matches!(c, '\u{fffd}' | '\u{e000}'..='\u{f8ff}' | '\u{f0000}'..='\u{10ffff}') && !is_symbol_font(c)
}

/// True if a character is of the place where Symbol and Wingdings keep their signs: bullets, arrows and ticks.
pub(super) fn is_symbol_font(c: char) -> bool {
    matches!(c, '\u{f020}'..='\u{f0ff}')
}

/// True if a character is one that sound Chinese finance text has: Han, ASCII, marks, figures, Greek, signs of shapes and
/// units, kana. Letters with accents, Cyrillic and control characters in number show text in a wrong encoding.
pub(super) fn is_usual(c: char) -> bool {
    is_han(c)
        || is_wide(c)
        || is_symbol_font(c)
        || matches!(
            c,
            ' '..='~'
                | '\n'
                | '\t'
                | '\u{a0}'
                | '·'
                | '×'
                | '÷'
                | '±'
                | '°'
                | '§'
                | '®'
                | '©'
                | '²'
                | '³'
                | '¥'
                | '£'
                | '«'
                | '»'
                | 'µ'
        )
        || matches!(c, '\u{0391}'..='\u{03c9}' | '\u{2000}'..='\u{2bff}' | '\u{3000}'..='\u{33ff}')
}
