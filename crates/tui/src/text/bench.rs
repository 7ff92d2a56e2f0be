//! What the text page is handed: tokenisers, what is known of a text, and strategies to try on it.
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
pub type CutText = Arc<dyn Fn(&str, &Ctx) -> Result<Tokens> + Send + Sync>;

/// What a tokeniser knows of a single token: the token as written, and its number where it has one. Must be quick.
pub type DescribeToken = Arc<dyn Fn(&str, Option<u32>) -> Described + Send + Sync>;

/// What is known of a text beside its characters.
pub type AboutText = Arc<dyn Fn(&TextSubject) -> Result<About> + Send + Sync>;

/// What models said of the document at this part and row when they read what each strategy keeps, where they were asked.
pub type ScoresOf = Arc<dyn Fn((usize, usize), &[Strategy]) -> Result<Vec<Option<Score>>> + Send + Sync>;

/// What the text page works with. Every function is called on a thread of its own, but for [`TextCut::describe`].
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

/// A tokeniser of the page.
#[derive(Clone)]
pub struct TextCut {
    /// What it is called: a word or two.
    pub name: String,
    /// The flags with which `inkstone tokenize` cuts the same way.
    pub flags: String,
    /// Cuts a text.
    pub cut: CutText,
    /// Tells of a token.
    pub describe: DescribeToken,
}

/// The tokens of a text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tokens {
    /// Where each lies. Neither beginnings nor ends descend; the bytes of one character may be several tokens, which then lie in one
    /// place.
    pub ranges: Vec<Range<usize>>,
    /// The number of each in the vocabulary; empty where tokens have none.
    pub ids: Vec<u32>,
    /// Special tokens that the model adds, which count towards limits.
    pub specials: usize,
}

/// What a tokeniser knows of a token.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Described {
    /// As the vocabulary writes it, where that is not what the text says (`##ing`).
    pub written: Option<String>,
    /// Its part of speech in jieba's tags.
    pub tag: Option<String>,
    /// Whether the dictionary has it; none where there is no dictionary.
    pub known: Option<bool>,
}

/// A strategy of the configuration.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TextStrategy {
    /// As the configuration has it, with or without a limit of its own.
    pub text: String,
    /// Whether a limit that it is given counts characters.
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

/// What is known of a text.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct About {
    /// Its sentences, or longer stretches of one section, in order.
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

/// What a model said of what a strategy keeps.
#[derive(Clone, Debug, PartialEq)]
pub struct Score {
    /// The value.
    pub value: f64,
    /// The feature that it is of.
    pub feature: String,
}
