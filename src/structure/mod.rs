//! Structure: the sentences of every document, the section that each is in, whether it is boilerplate, and how much it has to say.
//!
//! Stands between linking and extraction; part `i` tells of the documents of part `i` of the clean corpus. Offsets are bytes into the
//! clean title, a line break and the clean body, half-open, on character boundaries: the text that features read and truncation cuts.
//!
//! Useful for: choosing what of a long document a model reads. Not for: the meaning of a sentence.

mod cues;
mod headings;
mod outline;
mod section;
mod table;

pub use outline::outline;
pub use section::Section;
pub use table::{Salience, Sentence, sentences_of_part};
