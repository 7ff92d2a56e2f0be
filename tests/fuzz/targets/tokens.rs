//! Tokens and sentences: they lie on character boundaries, in order, and hold everything but white space.

use std::ops::Range;
use std::path::Path;
use std::sync::LazyLock;

use inkstone_text::{Cut, Mode, Segmenter, TokenizerParams, sentences, truncate_text};

/// Characters and words in their precise cut.
static SEGMENTERS: LazyLock<[Segmenter; 2]> = LazyLock::new(|| {
    [Mode::Char, Mode::Jieba].map(|mode| {
        Segmenter::new(&TokenizerParams { mode, ..TokenizerParams::default() }, Path::new(".")).expect("the defaults")
    })
});

pub(super) fn check(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let text: &str = &text;
    for segmenter in SEGMENTERS.iter() {
        let tokens = segmenter.tokens(text);
        tiles(text, tokens.iter().map(|token| token.start..token.end), invisible);
        assert!(tokens.iter().all(|token| &text[token.start..token.end] == token.text && !token.text.is_empty()));
        assert!(segmenter.terms(text).len() <= tokens.len());
        let parts = truncate_text(text, segmenter, &"head+tail:2+3".parse().expect("a strategy"), 2);
        assert!(parts.windows(2).all(|pair| pair[0].end < pair[1].start));
        let seen: usize = parts.iter().map(|part| segmenter.tokens(&text[part.clone()]).len()).sum();
        assert!(tokens.len() <= 5 || seen >= 2 && parts.iter().all(|part| part.end <= text.len()));
    }
    for cut in [Cut::Full, Cut::Search] {
        // Words of these overlap.
        for token in SEGMENTERS[1].recut(Mode::Jieba, cut).tokens(text) {
            assert_eq!(&text[token.start..token.end], token.text);
        }
    }
    let tagged = SEGMENTERS[1].tagged(text);
    assert_eq!(tagged.iter().map(|word| word.token).collect::<Vec<_>>(), SEGMENTERS[1].tokens(text));
    tiles(text, sentences(text).into_iter(), char::is_whitespace);
}

/// Ranges in order, that do not overlap, with nothing but blanks between them.
fn tiles(text: &str, ranges: impl Iterator<Item = Range<usize>>, blank: fn(char) -> bool) {
    let mut end = 0;
    for range in ranges {
        assert!(end <= range.start && range.start < range.end, "{range:?} after {end} in {text:?}");
        assert!(text[end..range.start].chars().all(blank), "{:?} is lost of {text:?}", &text[end..range.start]);
        end = range.end;
    }
    assert!(text[end..].chars().all(blank), "{:?} is lost of {text:?}", &text[end..]);
}

/// Characters that are no part of any token: white space, control and format characters without a width.
fn invisible(c: char) -> bool {
    let zero_width = matches!(c, '\u{AD}' | '\u{200B}'..='\u{200F}' | '\u{202A}'..='\u{202E}' | '\u{2060}'..='\u{2064}' | '\u{FEFF}');
    c.is_whitespace() || c.is_control() || zero_width
}
