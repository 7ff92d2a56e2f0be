//! A document as strategies see it: its tokens in passages, one for each sentence.

use std::ops::Range;

use crate::structure::{Salience, Section, Sentence};

/// The tokens of one sentence.
#[derive(Clone, Debug, PartialEq)]
pub struct Passage {
    /// Numbers of the tokens.
    pub tokens: Range<usize>,
    pub section: Section,
    /// True if it was known to be boilerplate when it was published.
    pub boilerplate: bool,
    pub salience: Salience,
}

/// The passages of a document, in order; together they hold each token once.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Layout {
    passages: Vec<Passage>,
}

impl Layout {
    /// Lays tokens, given by their first bytes, out in sentences. Both are in the order of the text; a token belongs to the sentence
    /// that it begins in, or to the one before. Without sentences all tokens are one passage of the body.
    pub fn new(tokens: impl IntoIterator<Item = usize>, sentences: &[Sentence]) -> Layout {
        let mut passages: Vec<Passage> = Vec::with_capacity(sentences.len());
        let mut next = 0;
        for (token, start) in tokens.into_iter().enumerate() {
            while sentences.get(next).is_some_and(|s| s.range.start as usize <= start) {
                let Sentence { section, boilerplate, salience, .. } = sentences[next];
                passages.push(Passage { tokens: token..token, section, boilerplate, salience });
                next += 1;
            }
            match passages.last_mut() {
                Some(last) => last.tokens.end = token + 1,
                None => passages.push(Passage {
                    tokens: token..token + 1,
                    section: Section::Body,
                    boilerplate: false,
                    salience: Salience::NONE,
                }),
            }
        }
        passages.retain(|passage| !passage.tokens.is_empty());
        Layout { passages }
    }

    pub fn passages(&self) -> &[Passage] {
        &self.passages
    }

    pub fn tokens(&self) -> usize {
        self.passages.last().map_or(0, |passage| passage.tokens.end)
    }
}

impl Passage {
    /// True if `-boilerplate` drops the passage.
    pub(super) fn is_boilerplate(&self) -> bool {
        self.boilerplate || self.section == Section::Disclaimer
    }
}
