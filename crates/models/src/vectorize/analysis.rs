//! From a document to its units: the words or characters that terms are made of.

use std::borrow::Cow;
use std::collections::VecDeque;

use anyhow::Result;
use rustc_hash::FxHashSet;

use super::{Unit, VectorizerParams};
use inkstone_text::Segmenter;

use inkstone_base::{bail, ensure};

/// Units of the longest n-gram.
pub(super) const LONGEST: usize = 8;

/// The two texts of a document.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Fields<'t> {
    /// Title; empty when there is none.
    pub title: &'t str,
    /// All the rest.
    pub body: &'t str,
}

impl<'t> Fields<'t> {
    /// A document without a title.
    pub fn body(body: &'t str) -> Fields<'t> {
        Fields { title: "", body }
    }
}

/// Finds the units of documents. No n-gram reaches from the title into the body.
///
/// - Words are the terms of the segmenter, if need be those of some parts of speech alone; without a segmenter what stands
///   between white space, as written.
/// - Characters are all characters of the text, marks and spaces included, as scikit-learn's `analyzer="char"` has them: in
///   lower case (with a segmenter, as its settings say), runs of white space as one space.
#[derive(Clone)]
pub struct Analyzer {
    unit: Unit,
    segmenter: Option<Segmenter>,
    /// Parts of speech that count; none: all.
    pos: FxHashSet<Box<str>>,
}

impl Analyzer {
    /// Units as the parameters say, cut by `segmenter`; `None` for text whose words stand between spaces.
    pub fn new(params: &VectorizerParams, segmenter: Option<Segmenter>) -> Result<Analyzer> {
        if !params.pos.is_empty() {
            ensure!(
                params.analyzer == Unit::Word,
                "pos：字没有词性；请用 analyzer = \"word\"",
                "pos: characters have no parts of speech; use analyzer = \"word\""
            );
            if segmenter.is_none() {
                bail!(
                    "pos：按词元给出的行没有词性；请给出文本本身（--format text 或 jsonl）",
                    "pos: lines of tokens have no parts of speech; give the text itself (--format text or jsonl)"
                );
            }
        }
        let pos = params.pos.iter().map(|tag| tag.as_str().into()).collect();
        Ok(Analyzer { unit: params.analyzer, segmenter, pos })
    }

    /// Gives each unit of `text` in order.
    #[inline]
    pub(super) fn for_each(&self, text: &str, mut give: impl FnMut(&str)) {
        match (self.unit, &self.segmenter) {
            (Unit::Word, None) => text.split_ascii_whitespace().for_each(give),
            (Unit::Word, Some(segmenter)) if self.pos.is_empty() => segmenter.for_each_term(text, |term| give(&term)),
            (Unit::Word, Some(segmenter)) => {
                for word in segmenter.tagged(text) {
                    if self.pos.contains(word.tag)
                        && let Some(term) = segmenter.tagged_term(word)
                    {
                        give(&term);
                    }
                }
            }
            (Unit::Char, segmenter) => {
                let lower = segmenter.as_ref().is_none_or(Segmenter::lowercases);
                for_each_char(&if lower { lowercase(text) } else { text.into() }, give);
            }
        }
    }
}

impl Analyzer {
    /// Gives each term of a document as it is written, and whether it is one of titles that are counted apart.
    pub fn for_each_term(&self, fields: Fields<'_>, params: &VectorizerParams, mut give: impl FnMut(&str, bool)) {
        let (shortest, longest) = params.ngram_range;
        for (text, title) in [(fields.title, params.title_features > 0), (fields.body, false)] {
            // The last units one after another, and where each of them begins.
            let (mut units, mut starts) = (String::new(), VecDeque::with_capacity(LONGEST + 1));
            self.for_each(text, |unit| {
                if starts.len() == longest {
                    starts.pop_front();
                    let begin = starts.front().copied().unwrap_or(units.len());
                    // Units that are no longer needed are dropped now and then, not one by one.
                    if begin > 1 << 12 {
                        units.drain(..begin);
                        starts.iter_mut().for_each(|start| *start -= begin);
                    }
                }
                if !units.is_empty() {
                    units.push_str(params.joint());
                }
                starts.push_back(units.len());
                units.push_str(unit);
                for k in shortest..=longest.min(starts.len()) {
                    give(&units[starts[starts.len() - k]..], title);
                }
            });
        }
    }
}

fn lowercase(text: &str) -> Cow<'_, str> {
    // Chinese letters have no case; looking for one is cheaper than writing the text anew.
    let cased = |c: char| !('\u{2e80}'..='\u{d7ff}').contains(&c) && !c.is_ascii_lowercase() && c.is_alphabetic();
    if text.contains(cased) { text.to_lowercase().into() } else { text.into() }
}

/// Each character, runs of two and more white spaces as one space: scikit-learn's `\s\s+`.
fn for_each_char(text: &str, mut give: impl FnMut(&str)) {
    let mut characters = text.char_indices().peekable();
    while let Some((start, c)) = characters.next() {
        let mut run = false;
        if c.is_whitespace() {
            while characters.next_if(|(_, c)| c.is_whitespace()).is_some() {
                run = true;
            }
        }
        give(if run { " " } else { &text[start..start + c.len_utf8()] });
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use inkstone_text::TokenizerParams;

    fn units(params: &VectorizerParams, segmenter: Option<Segmenter>, text: &str) -> Vec<String> {
        let mut units = Vec::new();
        let analyzer = Analyzer::new(params, segmenter).unwrap();
        analyzer.for_each(text, |unit| units.push(unit.to_owned()));
        units
    }

    fn segmenter() -> Segmenter {
        Segmenter::new(&TokenizerParams::default(), Path::new("")).unwrap()
    }

    #[test]
    fn characters_are_those_of_scikit_learn() {
        let params = VectorizerParams { analyzer: Unit::Char, ..VectorizerParams::default() };
        assert_eq!(units(&params, None, "ETF\t涨 \u{3000} 了。").concat(), "etf\t涨 了。");
        assert_eq!(units(&params, Some(segmenter()), "Ab").concat(), "ab");
    }

    #[test]
    fn words_are_kept_by_their_part_of_speech() {
        let params = VectorizerParams { pos: vec!["v".into(), "vn".into()], ..VectorizerParams::default() };
        assert_eq!(units(&params, Some(segmenter()), "公司回购股份"), ["回购"]);
        let all_words = VectorizerParams::default();
        assert_eq!(units(&all_words, Some(segmenter()), "公司回购股份，"), ["公司", "回购", "股份"]);
        assert_eq!(units(&all_words, None, " 公司回购\t股份 ， "), ["公司回购", "股份", "，"]);
    }

    #[test]
    fn parts_of_speech_need_words_of_a_text() {
        let message =
            |params: &VectorizerParams, segmenter| Analyzer::new(params, segmenter).err().unwrap().to_string();
        let params = VectorizerParams { pos: vec!["n".into()], ..VectorizerParams::default() };
        assert!(message(&params, None).contains("--format text"));
        let params = VectorizerParams { analyzer: Unit::Char, ..params };
        assert!(message(&params, Some(segmenter())).contains("analyzer = \"word\""));
    }
}
