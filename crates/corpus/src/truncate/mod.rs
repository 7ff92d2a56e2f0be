//! Strategies of truncation: which tokens of a long text a model sees, by small pure functions on its tokens and sentences.
//! [`Strategy::keep`] applies a strategy to a text, [`Strategy::views`] to tokens that a model has cut itself.
//!
//! A strategy is written as a word with its limit, then changes to it:
//!
//! | written | what is kept |
//! |---|---|
//! | `none` | everything |
//! | `head:512`, `tail:512`, `middle:512` | the first, last or middle tokens |
//! | `head+tail:512@0.25`, `head+tail:128+382` | first and last tokens, by share or by number ([`Truncation`]) |
//! | `random:512` | a stretch of tokens drawn by seed and document: a control |
//! | `sections:512@rating,summary` | sentences of these sections, then of the others |
//! | `tfidf:512`, `textrank:512`, `novelty:512` | the most salient sentences |
//! | `windows:512/256@mean` | all of it, in windows of 512 tokens every 256, whose rows become one |
//! | `sentences:512@max` | all of it, in windows of whole sentences |
//! | `head:500c`, `windows:500/300c@max` | the same with limits in characters, special tokens not counted |
//! | `... +title` | the title comes first, whatever else is kept; of windows in each |
//! | `... -title` | without the title |
//! | `... -boilerplate` | without boilerplate and disclaimers, before anything else |
//!
//! A limit counts the special tokens that the model adds. What is kept stands in the order of the text and consists of whole
//! tokens. Where a limit falls within a sentence, the sentence is cut, so that strategies see equally much: only so are they
//! compared by what they choose.

mod keep;
mod layout;
mod over;
mod pick;
mod sections;
mod spec;

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::structure::{Measure, Section};
use inkstone_text::Truncation;

pub use keep::KeptText;
pub use layout::{Layout, Passage};
pub use over::combine;
pub use pick::TokenView;
pub use sections::{SectionCounts, SectionShare};

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Strategy {
    pub pick: Pick,
    /// True if the title comes first, whatever else is kept.
    pub title: bool,
    /// True if the title is dropped before anything is kept.
    pub drop_title: bool,
    /// True if boilerplate and disclaimers are dropped before anything is kept.
    pub drop_boilerplate: bool,
    /// True if limits count characters instead of the model's tokens. A run of letters or digits counts as one.
    pub characters: bool,
}

/// Which tokens of a text are kept. Limits count special tokens.
#[derive(Clone, Debug, PartialEq)]
pub enum Pick {
    /// Tokens by place: all, the first, the last, or both ends.
    Place(Truncation),
    Middle(usize),
    /// A stretch of tokens at a drawn place.
    Random(usize),
    /// Sentences by their section, those named first; the others follow in the order of the text.
    Sections {
        /// Tokens in all.
        limit: usize,
        /// Sections, the most wanted first.
        order: Vec<Section>,
    },
    /// Sentences by salience, the highest first.
    Salient {
        /// Tokens in all.
        limit: usize,
        by: Measure,
    },
    /// Windows that together hold everything.
    Windows {
        /// Tokens of a window.
        limit: usize,
        /// Tokens from the beginning of a window to the beginning of the next.
        stride: usize,
        over: Over,
    },
    /// Windows of whole sentences.
    Sentences {
        /// Tokens of a window.
        limit: usize,
        over: Over,
    },
}

impl Default for Pick {
    fn default() -> Pick {
        Pick::Place(Truncation::None)
    }
}

/// Rule by which the rows of a document's windows become one. Of a model whose rows are scores, the mean is the mean score.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Over {
    /// The mean of their rows.
    #[default]
    Mean,
    /// The largest of each value.
    Max,
    /// The first window alone.
    First,
    /// The mean of their rows, each weighing as much as its sentences are salient by TF-IDF: attention without training.
    Salience,
}

/// Data that a strategy needs of a document beside its tokens.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Needs {
    /// True if it needs sentences with their sections and boilerplate.
    pub sentences: bool,
    /// Measures of the salience of sentences that it needs.
    pub salience: BTreeSet<Measure>,
}

impl Needs {
    /// The needs of both.
    pub fn and(mut self, other: Needs) -> Needs {
        self.salience.extend(other.salience);
        Needs { sentences: self.sentences || other.sentences, salience: self.salience }
    }
}

impl Strategy {
    /// The truncation by places of tokens, if the strategy is nothing else.
    pub fn place(&self) -> Option<Truncation> {
        match self.pick {
            Pick::Place(truncation) if !(self.title || self.drop_title || self.drop_boilerplate || self.characters) => {
                Some(truncation)
            }
            _ => None,
        }
    }

    /// The same strategy with limits in characters: for a contextual model whose own tokens, mostly characters, are not at hand.
    pub fn in_characters(&self) -> Strategy {
        Strategy { characters: true, ..self.clone() }
    }

    /// Rule by which the rows of windows become one; none where the strategy has no windows.
    pub fn over(&self) -> Option<Over> {
        match self.pick {
            Pick::Windows { over, .. } | Pick::Sentences { over, .. } => Some(over),
            _ => None,
        }
    }

    /// The most tokens of a window, special ones included; none when there is no limit.
    pub fn limit(&self, specials: usize) -> Option<usize> {
        match self.pick {
            Pick::Place(truncation) => truncation.limit(specials),
            Pick::Middle(limit)
            | Pick::Random(limit)
            | Pick::Sections { limit, .. }
            | Pick::Salient { limit, .. }
            | Pick::Windows { limit, .. }
            | Pick::Sentences { limit, .. } => Some(limit),
        }
    }

    pub fn needs(&self) -> Needs {
        let salient = match self.pick {
            Pick::Salient { by, .. } => Some(by),
            _ if self.over() == Some(Over::Salience) => Some(Measure::Tfidf),
            _ => None,
        };
        Needs {
            sentences: self.title
                || self.drop_title
                || self.drop_boilerplate
                || salient.is_some()
                || matches!(self.pick, Pick::Sections { .. } | Pick::Sentences { .. }),
            salience: salient.into_iter().collect(),
        }
    }
}

#[cfg(test)]
mod tests;
