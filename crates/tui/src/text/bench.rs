//! The functions and values behind the text page: tokenisers, descriptions of texts, and strategies.
//!
//! All offsets are bytes of [`TextSubject::text`], half-open, on character boundaries.

use std::ops::Range;
use std::sync::Arc;

use anyhow::Result;
use chrono::NaiveDate;

use inkstone_base::data::Document;
use inkstone_base::job::Ctx;
use inkstone_corpus::structure::Sentence;
use inkstone_corpus::truncate::Strategy;
use inkstone_market::OffCalendar;

/// Cuts a text into tokens. May take long; the context says when nobody waits any more.
pub(crate) type CutText = Arc<dyn Fn(&str, &Ctx) -> Result<Tokens> + Send + Sync>;

/// Describes a single token, given as written and by its number where it has one. Must be quick.
pub(crate) type DescribeToken = Arc<dyn Fn(&str, Option<u32>) -> Described + Send + Sync>;

/// Describes a text: sections, boilerplate, trading day.
pub(crate) type AboutText = Arc<dyn Fn(&TextSubject) -> Result<About> + Send + Sync>;

/// The scores that models gave the document at this part and row, by strategy.
pub(crate) type ScoresOf = Arc<dyn Fn((usize, usize), &[Strategy]) -> Result<Vec<Option<Score>>> + Send + Sync>;

/// The functions behind the text page. Every function is called on a thread of its own, but for [`TextCut::describe`].
#[derive(Clone)]
pub struct TextBench {
    /// Tokenisers in the order in which they are shown. The first one cuts into characters: limits in characters count its tokens.
    pub tokenisers: Vec<TextCut>,
    /// Strategies of features and experiments, in the order of the configuration.
    pub strategies: Vec<TextStrategy>,
    /// Sections, boilerplate, trading day.
    pub about: AboutText,
    /// Scores that features and experiments have left.
    pub scores: ScoresOf,
}

#[derive(Clone)]
pub struct TextCut {
    /// A word or two.
    pub name: String,
    /// The flags with which `inkstone tokenize` cuts the same way.
    pub flags: String,
    pub cut: CutText,
    pub describe: DescribeToken,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tokens {
    /// The bytes of each token. Neither beginnings nor ends descend; several tokens of one
    /// character have equal ranges.
    pub ranges: Vec<Range<usize>>,
    /// The number of each in the vocabulary; empty where tokens have none.
    pub ids: Vec<u32>,
    /// Special tokens that the model adds, which count towards limits.
    pub specials: usize,
}

/// A token as its tokeniser describes it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Described {
    /// Entry of the vocabulary, where it differs from the text (`##ing`).
    pub written: Option<String>,
    /// Part of speech in the tags of jieba.
    pub tag: Option<String>,
    /// True if the dictionary has it; none where there is no dictionary.
    pub known: Option<bool>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TextStrategy {
    /// The strategy as the configuration writes it, with or without a limit of its own.
    pub text: String,
    /// True if a limit that it is given counts characters.
    pub characters: bool,
}

/// A text to be looked at.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TextSubject {
    /// Part and row in the cleaned corpus; none for text from elsewhere.
    pub place: Option<(usize, usize)>,
    /// The document; of the user's own text the body alone.
    pub document: Document,
    /// Title, a line break, body; of the user's own text what he typed.
    pub text: String,
    /// Bytes of it that are the title.
    pub title: usize,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct About {
    /// Sentences, or longer stretches of one section, in order.
    pub sentences: Vec<Sentence>,
    /// Boilerplate of the list that the corpus taught: where, and how many documents have it. Ascending.
    pub boilerplate: Vec<(Range<usize>, u32)>,
    /// The number that chance hangs on in strategies.
    pub draw: u64,
    /// The first day whose trading could know of it.
    pub tradable: Tradable,
}

/// The first day on which a document can be traded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Tradable {
    /// There is no calendar, or no time of publication.
    #[default]
    Unknown,
    /// This trading day.
    From(NaiveDate),
    /// It lies off the calendar.
    Never(OffCalendar),
}

/// A model's score of the part that a strategy keeps.
#[derive(Clone, Debug, PartialEq)]
pub struct Score {
    pub value: f64,
    pub feature: String,
}
