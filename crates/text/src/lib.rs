//! From cleaned text to tokens: characters or jieba words with byte offsets, parts of speech, sentences, vocabularies, and
//! truncation.
//!
//! Two views of one text, both from a [`Segmenter`]:
//!
//! - **tokens**: every token of the cut except white space, as written, with its place in the text. Readers, truncation and
//!   anything that counts distance (a negation three tokens before a tone word) works on tokens.
//! - **terms**: the tokens that say something about content, in lower case, without punctuation, numbers and stopwords
//!   as the parameters have it. Models that count words (vocabularies, TF-IDF, linear models) work on terms.
//!
//! Offsets are bytes into the text given, half-open, on character boundaries: `&text[token.start..token.end] ==
//! token.text` in every mode, also in the full and search cuts, whose tokens overlap.
//!
//! ```
//! use inkstone_text::{Segmenter, TokenizerParams};
//!
//! let segmenter = Segmenter::new(&TokenizerParams::default(), ".".as_ref())?;
//! let text = "公司净利润大幅增长。";
//! let tokens = segmenter.tokens(text);
//! assert!(tokens.iter().all(|token| &text[token.start..token.end] == token.text));
//! assert_eq!(tokens.last().map(|token| token.text), Some("。"));
//! # anyhow::Ok(())
//! ```

mod characters;
mod chunk;
mod dictionary;
mod filter;
pub mod labeller;
mod params;
mod quantity;
pub mod rank;
mod segment;
mod sentence;
pub mod subword;
mod tokenize;
mod truncate;
mod vocab;

pub use chunk::Chunk;
pub use dictionary::{DictionaryEntry, DictionaryReport, read_dictionary};
pub use labeller::Labeller;
pub use params::{Cut, Mode, Stopwords, TokenizerParams};
pub use quantity::{Quantity, QuantityKind, WrittenNumber, dates, half_width, numbers, quantities};
pub use segment::{CODE_VERSION, JIEBA_VERSION, Segmenter};
pub use sentence::sentences;
pub use tokenize::{Cutting, PieceCutter, TokenizeParams, tokenize_stream};
pub use truncate::{Truncation, truncate_text};
pub use vocab::{Counter, DfLimit, Frequency, Vocabulary, VocabularyParams};

/// Openings of warnings, one on each line; the words of a phrase are apart.
pub const WARNINGS: &str = include_str!("../../../assets/lexicon/boilerplate.txt");
/// Openings of disclaimers, one on each line; the words of a phrase are apart.
pub const DISCLAIMERS: &str = include_str!("../../../assets/lexicon/disclaimers.txt");

/// A token and its place in the text that was given.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Token<'t> {
    pub text: &'t str,
    /// Byte offset of its first character.
    pub start: usize,
    /// Byte offset just after its last character.
    pub end: usize,
}

/// A word and its part of speech.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TaggedToken<'t> {
    /// The word in its place.
    pub token: Token<'t>,
    /// Part of speech in jieba's tags (`n`, `vn`, `nr`, ...; `x` if unknown).
    pub tag: &'t str,
}
