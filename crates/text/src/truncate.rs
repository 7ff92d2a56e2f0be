//! Which tokens of a long text a model sees: pure functions on numbers of tokens.
//!
//! A strategy is written `none`, `head:512`, `tail:512`, `head+tail:512@0.25` or `head+tail:128+382`. A single limit counts
//! the special tokens of the model (`[CLS]`, `[SEP]`): with two of them `head:512` keeps 510 tokens of text, and
//! `head+tail:512@0.25` keeps the first 128 and the last 382, as Sun et al. (2019, How to Fine-Tune BERT for Text
//! Classification) do. Two numbers count tokens of text; the special tokens come on top, so `head+tail:128+382` fills
//! the same 512. A text that fits is kept whole.

use std::fmt;
use std::ops::Range;
use std::str::FromStr;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

use super::{Segmenter, Token};

use inkstone_base::language::Word;
use inkstone_base::{bail, ensure, message};

/// A strategy of truncation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Truncation {
    #[default]
    None,
    /// The first tokens, up to this limit with special tokens.
    Head(usize),
    /// The last tokens, up to this limit with special tokens.
    Tail(usize),
    /// This many first and last tokens, without special tokens.
    HeadTail { head: usize, tail: usize },
    /// First and last tokens up to `limit` with special tokens.
    Share {
        /// Tokens in all, with special tokens.
        limit: usize,
        /// The share of the kept text that is its head, 0 to 1; the head is rounded to the nearest token.
        head: f64,
    },
}

impl Truncation {
    /// The tokens kept of `len`: a head and a tail in order, either of which may be empty. `specials` = special tokens that
    /// the model adds to each text.
    pub fn apply(&self, len: usize, specials: usize) -> [Range<usize>; 2] {
        let (head, tail) = match *self {
            Truncation::None => (len, 0),
            Truncation::Head(limit) => (limit.saturating_sub(specials), 0),
            Truncation::Tail(limit) => (0, limit.saturating_sub(specials)),
            Truncation::HeadTail { head, tail } => (head, tail),
            Truncation::Share { limit, head } => {
                let room = limit.saturating_sub(specials);
                let head = ((room as f64 * head).round() as usize).min(room);
                (head, room - head)
            }
        };
        if head.saturating_add(tail) >= len { [0..len, len..len] } else { [0..head, len - tail..len] }
    }

    /// The most tokens a model sees, special tokens included; `None` when there is no limit.
    pub fn limit(&self, specials: usize) -> Option<usize> {
        match *self {
            Truncation::None => None,
            Truncation::Head(limit) | Truncation::Tail(limit) | Truncation::Share { limit, .. } => Some(limit),
            Truncation::HeadTail { head, tail } => Some(head + tail + specials),
        }
    }
}

impl FromStr for Truncation {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> Result<Truncation> {
        parse(text).with_context(|| {
            message!(
                "{text:?} 不是截断方式：可用 none、head:512、tail:512、head+tail:128+382 或 head+tail:512@0.25",
                "{text:?} is no truncation: none, head:512, tail:512, head+tail:128+382 or head+tail:512@0.25"
            )
        })
    }
}

fn parse(text: &str) -> Result<Truncation> {
    let number = |field: &str| -> Result<usize> {
        let number =
            field.trim().parse().with_context(|| message!("{field:?} 不是整数", "{field:?} is not a whole number"))?;
        ensure!(
            (1..=u32::MAX as usize).contains(&number),
            "{number} 个词元超出范围",
            "{number} tokens is out of range"
        );
        Ok(number)
    };
    let text = text.trim();
    if text == "none" {
        return Ok(Truncation::None);
    }
    let (strategy, limits) = text.split_once(':').context(Word("缺少长度上限", "a limit is missing"))?;
    match strategy.trim() {
        "head" => Ok(Truncation::Head(number(limits)?)),
        "tail" => Ok(Truncation::Tail(number(limits)?)),
        "head+tail" => match (limits.split_once('+'), limits.split_once('@')) {
            (Some((head, tail)), None) => Ok(Truncation::HeadTail { head: number(head)?, tail: number(tail)? }),
            (None, Some((limit, share))) => {
                let head: f64 =
                    share.trim().parse().with_context(|| message!("{share:?} 不是比例", "{share:?} is not a share"))?;
                ensure!(
                    (0.0..=1.0).contains(&head),
                    "文首所占比例须在 0 到 1 之间，不能是 {head}",
                    "the share of the head is between 0 and 1, not {head}"
                );
                Ok(Truncation::Share { limit: number(limit)?, head })
            }
            _ => bail!("head+tail 须写成 文首+文末 或 上限@比例", "head+tail takes HEAD+TAIL or LIMIT@SHARE"),
        },
        other => bail!("没有策略 {other:?}", "there is no strategy {other:?}"),
    }
}

impl fmt::Display for Truncation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Truncation::None => f.write_str("none"),
            Truncation::Head(limit) => write!(f, "head:{limit}"),
            Truncation::Tail(limit) => write!(f, "tail:{limit}"),
            Truncation::HeadTail { head, tail } => write!(f, "head+tail:{head}+{tail}"),
            Truncation::Share { limit, head } => write!(f, "head+tail:{limit}@{head}"),
        }
    }
}

inkstone_base::as_text!(Truncation);

/// The parts of `text` that hold the tokens kept, as byte ranges in order; the whole text when it fits.
///
/// Overlapping tokens (the full and search cuts) count one by one, and the parts never overlap.
pub fn truncate_text(text: &str, segmenter: &Segmenter, truncation: &Truncation, specials: usize) -> Vec<Range<usize>> {
    let all = || Vec::from_iter((!text.is_empty()).then_some(0..text.len()));
    if *truncation == Truncation::None {
        return all();
    }
    let tokens = segmenter.tokens(text);
    let kept = truncation.apply(tokens.len(), specials);
    if kept[0].len() == tokens.len() {
        return all();
    }
    let mut parts: Vec<Range<usize>> = Vec::new();
    for tokens in kept.into_iter().map(|range| &tokens[range]).filter(|tokens| !tokens.is_empty()) {
        let part = span(tokens);
        match parts.last_mut() {
            Some(last) if part.start <= last.end => last.end = last.end.max(part.end),
            _ => parts.push(part),
        }
    }
    parts
}

/// From the first byte to the last of some tokens; in the search cut a word follows the parts of it, so neither end belongs to
/// a fixed place in the list.
fn span(tokens: &[Token<'_>]) -> Range<usize> {
    let start = tokens.iter().map(|t| t.start).min().unwrap_or(0);
    let end = tokens.iter().map(|t| t.end).max().unwrap_or(0);
    start..end
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use proptest::prelude::*;

    use super::super::{Cut, Mode, TokenizerParams};
    use super::*;

    fn characters() -> Segmenter {
        Segmenter::new(&TokenizerParams { mode: Mode::Char, ..TokenizerParams::default() }, Path::new(".")).unwrap()
    }

    #[test]
    fn limits_count_the_special_tokens_and_pairs_do_not() {
        assert_eq!(Truncation::Head(512).apply(600, 2), [0..510, 600..600]);
        assert_eq!(Truncation::Tail(512).apply(600, 2), [0..0, 90..600]);
        let pair = Truncation::HeadTail { head: 128, tail: 382 };
        assert_eq!(pair.apply(600, 2), [0..128, 218..600]);
        assert_eq!(pair.limit(2), Some(512));
        assert_eq!(Truncation::Share { limit: 512, head: 0.25 }.apply(600, 2), pair.apply(600, 2));
        assert_eq!(Truncation::Head(512).apply(510, 2), [0..510, 510..510]);
        assert_eq!(Truncation::Head(1).apply(5, 2), [0..0, 5..5]);
        assert_eq!(Truncation::None.apply(9, 2), [0..9, 9..9]);
    }

    #[test]
    fn a_strategy_that_cannot_be_read_is_refused_with_the_ones_there_are() {
        for text in ["head", "head:0", "head:-1", "middle:5", "head+tail:512", "head+tail:512@1.5", "head+tail:1+2@0.5"]
        {
            let error = format!("{:#}", text.parse::<Truncation>().unwrap_err());
            assert!(error.contains(text) && error.contains("head+tail:512@0.25"), "{error}");
        }
        assert_eq!(" head+tail: 3 + 4 ".parse::<Truncation>().unwrap(), Truncation::HeadTail { head: 3, tail: 4 });
    }

    #[test]
    fn the_parts_of_a_text_hold_whole_words() {
        let words = Segmenter::new(&TokenizerParams::default(), Path::new(".")).unwrap();
        let text = "公司上半年净利润同比增长三成，董事会拟派发现金红利。";
        let parts = truncate_text(text, &words, &"head+tail:3+3".parse().unwrap(), 2);
        let tokens = words.tokens(text);
        assert_eq!(parts, [0..tokens[2].end, tokens[tokens.len() - 3].start..text.len()]);
        let search = words.recut(Mode::Jieba, Cut::Search);
        for n in 1..20 {
            let parts = truncate_text(text, &search, &Truncation::HeadTail { head: n, tail: n }, 0);
            assert!(parts.windows(2).all(|pair| pair[0].end < pair[1].start), "{n}: {parts:?}");
        }
    }

    fn strategies() -> impl Strategy<Value = Truncation> {
        prop_oneof![
            Just(Truncation::None),
            (1usize..600).prop_map(Truncation::Head),
            (1usize..600).prop_map(Truncation::Tail),
            (1usize..300, 1usize..300).prop_map(|(head, tail)| Truncation::HeadTail { head, tail }),
            (1usize..600, 0.0..=1.0).prop_map(|(limit, head)| Truncation::Share { limit, head }),
        ]
    }

    proptest! {
        #[test]
        fn no_more_than_the_limit_in_order_and_nothing_lost_that_fits(
            truncation in strategies(), len in 0usize..1200, specials in 0usize..4
        ) {
            let [head, tail] = truncation.apply(len, specials);
            prop_assert!(head.start == 0 && head.end <= tail.start && tail.end == len);
            let kept = head.len() + tail.len();
            match truncation.limit(specials) {
                None => prop_assert_eq!(kept, len),
                Some(limit) => prop_assert_eq!(kept, len.min(limit.saturating_sub(specials))),
            }
        }

        #[test]
        fn a_strategy_reads_back_what_it_shows(truncation in strategies()) {
            prop_assert_eq!(truncation.to_string().parse::<Truncation>().unwrap(), truncation);
        }

        #[test]
        fn the_tokens_of_the_parts_are_the_tokens_kept(
            text in "[一丁净利润，。 \\n%.a-c0-9𠮷e\u{301}]{0,80}", truncation in strategies()
        ) {
            let segmenter = characters();
            let tokens = segmenter.tokens(&text);
            let parts = truncate_text(&text, &segmenter, &truncation, 2);
            let seen: Vec<&str> = parts.iter().flat_map(|p| segmenter.tokens(&text[p.clone()])).map(|t| t.text).collect();
            let kept = truncation.apply(tokens.len(), 2);
            let kept: Vec<&str> = kept.into_iter().flat_map(|range| &tokens[range]).map(|t| t.text).collect();
            prop_assert_eq!(seen, kept);
        }
    }
}
