//! Rules for what is no new word though its figures say so: numerals, and what begins or ends with a function word.

use inkstone_text::TaggedToken;

/// Characters of numerals, units and dates.
const NUMERALS: &str = "〇零一二两三四五六七八九十百千万亿兆半几多余第年月日号时分秒周季度天个元角股手倍成点只次位名家";

/// Characters that a word does not begin with; those that words do begin with (以太坊, 对冲, 和解) are told by their part of
/// speech.
const NOT_FIRST: &str = "的了着们吗呢吧啊呀么嘛哦哈是也都就还又很被把这那此该您我你他她它";

/// Characters that a word does not end with.
const NOT_LAST: &str = "的了着吗呢吧啊呀嘛哦是也都就还又很被把这那此该和与及或在于为将从对而但不";

/// Single characters that, cut off as words of their own, do not begin or end a word: verbs that only lead over, and places and times
/// behind a noun (报告期内).
const NOT_FIRST_PART: &str = "拟遭称据因由经按让给使令说想要会能可应须达至约超仅有";
const NOT_LAST_PART: &str = "拟遭称到达至约超仅据因由让给使令说想要会能可应须等后前中上下里内外时间起出入以元有";

/// First letters of the tags of function words in jieba: particles, prepositions, conjunctions, adverbs, pronouns, modal
/// particles and interjections.
const FUNCTION_TAGS: &str = "upcdrye";

/// Why a string is no new word, if it is none by its characters.
pub(super) fn refuse_text(word: &str) -> Option<&'static str> {
    let (first, last) = (word.chars().next()?, word.chars().next_back()?);
    if word.chars().all(|c| NUMERALS.contains(c)) {
        Some("numerals")
    } else if word.is_ascii() {
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
    let function = |part: &TaggedToken<'_>, edge: &str| {
        let tagged = part.tag.chars().next().is_some_and(|tag| FUNCTION_TAGS.contains(tag));
        part.tag == "r" || single(part) && (tagged || edge.contains(part.token.text))
    };
    let (first, last) = (parts.first()?, parts.last()?);
    if parts.len() == 1 && known(first.token.text) {
        Some("known")
    } else if parts.len() > 1 && (function(first, NOT_FIRST_PART) || function(last, NOT_LAST_PART)) {
        Some(FUNCTION_WORD)
    } else if parts.iter().any(|part| part.tag.starts_with('u')) {
        Some("function word inside")
    } else if parts.len() > 1 && (first.tag == "q" || first.tag == "m" && parts[1].tag == "q") {
        Some("numerals")
    } else if !compounds && parts.len() > 1 && parts.iter().all(|part| !single(part) && known(part.token.text)) {
        Some("compound of known words")
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use inkstone_text::{Segmenter, TokenizerParams};

    #[test]
    fn what_is_no_word_is_told_why() {
        let segmenter = Segmenter::new(&TokenizerParams::default(), Path::new("")).unwrap();
        let judge = |word: &str| {
            let parts = segmenter.tagged(word);
            refuse_text(word).or_else(|| refuse_parts(&parts, |part| segmenter.knows(part), false))
        };
        assert_eq!(judge("三百万"), Some("numerals"));
        assert_eq!(judge("ETF"), Some("letters alone"));
        assert_eq!(judge("云启的"), Some(FUNCTION_WORD));
        assert_eq!(judge("公告称"), Some(FUNCTION_WORD));
        assert_eq!(judge("拟减持"), Some(FUNCTION_WORD));
        assert!(judge("报告期内").is_some());
        assert_eq!(judge("我公司"), Some(FUNCTION_WORD));
        assert_eq!(judge("签了协议"), Some("function word inside"));
        assert_eq!(judge("个名字"), Some("numerals"));
        assert_eq!(judge("公司"), Some("known"));
        assert_eq!(judge("董事会公告"), Some("compound of known words"));
        for word in ["云启智联", "以太坊", "中芯国际", "CXO概念", "跑路"] {
            assert_eq!(judge(word), None, "{word}");
        }
    }
}
