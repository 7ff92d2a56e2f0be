//! Lexicon induction: tone words found in a corpus, from the returns that went with its texts or from a few seed words.
//!
//! **Returns** ([`induce`]): each word is tested for whether the labels of the documents with it differ from those of the others, by
//! Welch's t of the means or by the log-odds of a label above 0 (the slope of a logistic regression on the word's presence). **Seeds** ([`Seeds`]): the
//! difference of a word's pointwise mutual information with good and with bad seed words near it (SO-PMI, Turney and Littman 2003,
//! with the seeds of a side taken together). Thousands of words are tested at once, so those are kept that hold a false discovery
//! rate (Benjamini and Hochberg 1995).
//!
//! The words and their weights are written as a list that `[feature.lexicon]` reads, with the last time of what was seen
//! ([`InducedLexicon::save`]). Not for: phrases and negation; a document's tone by the list is the lexicon's business.

mod fdr;
mod list;
mod returns;
mod seeds;
mod walk;

use serde::{Deserialize, Serialize};

pub use list::{InducedLexicon, InducedWord};
pub use returns::induce;
pub use seeds::{SeedParams, Seeds};
pub use walk::{InduceWalk, InducedFold, InducedTone, induce_walk};

use inkstone_text::DfLimit;

/// The test of a word.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
#[serde(rename_all = "lowercase")]
pub enum Statistic {
    /// Welch's t: mean label of the documents with the word against that of the others. The weight is the difference in
    /// standard deviations of the label.
    #[default]
    Mean,
    /// Odds of a label above 0, with the word against without it. The weight is the logarithm of their ratio (natural).
    Odds,
}

defaults! {
    /// The rules for words that enter a lexicon induced from returns.
    pub struct InduceParams {
        /// `mean` (default) or `odds`.
        statistic: Statistic = Statistic::Mean,
        /// Documents that a word must be in: a whole number counts them, a number with a point is their share.
        min_df: DfLimit = DfLimit::Share(0.005),
        /// Share of the kept words that may be there by chance.
        fdr: f64 = 0.1,
        /// Words kept on each side at the most, the most certain; 0 (default) keeps all that pass.
        max_words: usize = 0,
    }
}
