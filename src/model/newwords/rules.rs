//! What is no new word though its figures say so: numerals, and what begins or ends with a function word.

use crate::text::TaggedToken;

/// Characters of numerals, units and dates.
const NUMERALS: &str = "〇零一二两三四五六七八九十百千万亿兆半几多余第年月日号时分秒周季度天个元角股手倍成点只次位名家";

/// Characters that a word does not begin with; those that words do begin with (以太坊, 对冲, 和解) are told by their part of
/// speech.
const NOT_FIRST: &str = "的了着们吗呢吧啊呀么嘛哦哈是也都就还又很被把这那此该您我你他她它";

/// Characters that a word does not end with.
const NOT_LAST: &str = "的了着吗呢吧啊呀嘛哦是也都就还又很被把这那此该和与及或在于为将从对而但不";

/// First letters of the tags of function words in jieba: particles, prepositions, conjunctions, adverbs, pronouns, modal
/// particles and interjections.
const FUNCTION_TAGS: &str = "upcdrye";

/// Why a string is no new word, if it is none by its characters.
pub(super) fn refuse_text(word: &str) -> Option<&'static str> {
    let (first, last) = (word.chars().next()?, word.chars().next_back()?);
    if word.chars().all(|c| NUMERALS.contains(c)) {
        Some("numerals")
    } else if !word.chars().any(|c| !c.is_ascii()) {
        Some("letters alone")
    } else if NOT_FIRST.contains(first) || NOT_LAST.contains(last) {
        Some(FUNCTION_WORD)
    } else {
        None
    }
}

const FUNCTION_WORD: &str = "function word at an edge";

/// Why a string is no new word, if it is none by the words that it is cut into now.
pub(super) fn refuse_parts(
    parts: &[TaggedToken<'_>],
    known: impl Fn(&str) -> bool,
    compounds: bool,
) -> Option<&'static str> {
    let single = |part: &TaggedToken<'_>| part.token.text.chars().nth(1).is_none();
    let function = |part: &TaggedToken<'_>| {
        part.tag.chars().next().is_some_and(|tag| FUNCTION_TAGS.contains(tag)) && (single(part) || part.tag == "r")
    };
    let (first, last) = (parts.first()?, parts.last()?);
    if parts.len() == 1 && known(first.token.text) {
        Some("known")
    } else if parts.len() > 1 && (function(first) || function(last)) {
        Some(FUNCTION_WORD)
    } else if parts.len() > 1 && first.tag == "m" && parts[1].tag == "q" {
        Some("numerals")
    } else if !compounds && parts.len() > 1 && parts.iter().all(|part| !single(part) && known(part.token.text)) {
        Some("compound of known words")
    } else {
        None
    }
}
