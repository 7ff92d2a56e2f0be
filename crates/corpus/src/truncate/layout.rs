//! A document as strategies see it: its tokens in passages, one a sentence.

use std::ops::Range;

use crate::structure::{Salience, Section, Sentence};

/// The tokens of one sentence.
#[derive(Clone, Debug, PartialEq)]
pub struct Passage {
    /// Numbers of its tokens.
    pub tokens: Range<usize>,
    /// What part of the document it stands in.
    pub section: Section,
    /// Whether it was known to be boilerplate.
    pub boilerplate: bool,
    /// How much it says.
    pub salience: Salience,
}

/// The passages of a document, in order; together they hold each token once.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Layout {
    passages: Vec<Passage>,
}

impl Layout {
    /// Lays tokens out in sentences. Both are in the order of the text, by their bytes in it; a token belongs to the sentence that it
    /// begins in, or to the one before.
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
                None => passages.push(Passage::body(token..token + 1)),
            }
        }
        passages.retain(|passage| !passage.tokens.is_empty());
        Layout { passages }
    }

    /// A text of which nothing but the number of its tokens is known.
    pub fn plain(tokens: usize) -> Layout {
        Layout { passages: Vec::from_iter((tokens > 0).then(|| Passage::body(0..tokens))) }
    }

    /// The passages.
    pub fn passages(&self) -> &[Passage] {
        &self.passages
    }

    /// Tokens in all.
    pub fn tokens(&self) -> usize {
        self.passages.last().map_or(0, |passage| passage.tokens.end)
    }
}

impl Passage {
    fn body(tokens: Range<usize>) -> Passage {
        Passage { tokens, section: Section::Body, boilerplate: false, salience: Salience::NONE }
    }

    /// Whether `-boilerplate` drops it.
    pub(super) fn is_boilerplate(&self) -> bool {
        self.boilerplate || self.section == Section::Disclaimer
    }
}
