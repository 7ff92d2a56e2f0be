//! From files of vendors to a corpus of Chinese finance text, and the demo market.
//!
//! | module | gives |
//! |---|---|
//! | [`ingest`] | documents, prices and securities of files of any common format, and the rows that cannot be read |
//! | [`clean`] | text in normal form, with the first mention of each story |
//! | [`link`] | securities that a document names, with the places of the names |
//! | [`structure`] | sentences with their section, boilerplate and salience |
//! | [`truncate`] | the tokens of a long text that a model sees |
//! | [`demo`] | files of a synthetic market whose truth is known |
//!
//! The first four are stages: a function `run` reads and writes tables in numbered parts
//! ([`Parts`](inkstone_tables::corpus::Parts)) and returns a report. Truncation works on one text:
//!
//! ```
//! use std::path::Path;
//!
//! use inkstone_corpus::truncate::Strategy;
//! use inkstone_text::{Mode, Segmenter, TokenizerParams};
//!
//! # fn main() -> anyhow::Result<()> {
//! let params = TokenizerParams { mode: Mode::Char, ..TokenizerParams::default() };
//! let segmenter = Segmenter::new(&params, Path::new("."))?;
//! let strategy: Strategy = "head+tail:2+3".parse()?;
//! let text = "公司净利润同比增长";
//! let kept = strategy.keep(text, &segmenter, &[], 0);
//! let parts: Vec<&str> = kept[0].bytes.iter().map(|bytes| &text[bytes.clone()]).collect();
//! assert_eq!(parts, ["公司", "比增长"]);
//! # Ok(())
//! # }
//! ```

pub mod clean;
pub mod demo;
pub mod event;
pub mod ingest;
pub mod link;
pub mod structure;
pub mod truncate;
