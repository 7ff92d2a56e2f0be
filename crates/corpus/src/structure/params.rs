//! Parameters of the stage (`[structure]`).

use std::path::PathBuf;

use anyhow::Result;
use serde::{Deserialize, Serialize};

use inkstone_base::bounds;
use inkstone_base::data::Kind;

/// Parameters of sections, boilerplate and salience.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Params {
    /// Find the structure of all documents even where no feature needs it. Default false.
    pub enabled: bool,
    /// Kinds of documents whose boilerplate is learned and marked; empty: all. Default reports and announcements: news tells its
    /// stories in phrases that recur because the events do.
    pub kinds: Vec<Kind>,
    /// Documents of a publisher, first mentions of their stories, that a sentence must recur in to be its boilerplate. Default 5.
    pub min_documents: u32,
    /// Least share of the publisher's documents since the sentence first stood in one, by two standard errors; asked of what rules take
    /// for text, not of legal notes, warnings and what stands around the text. Default 0.25: a house's notes stand in half or all of
    /// its reports, a phrase that its analysts like in a tenth or a fifth.
    pub min_share: f64,
    /// Publishers at which a sentence must recur to be boilerplate of all publishers. Default 5.
    pub min_publishers: u32,
    /// Documents that it must recur in for that. Default 20; `min_share` is then of the documents of all publishers.
    pub min_documents_across: u32,
    /// Characters of the shortest sentence that can be boilerplate; letters and digits count, marks do not. Default 12.
    pub min_chars: usize,
    /// The user's decisions, a file beside the configuration. Default none.
    pub decisions: Option<PathBuf>,
    /// Measures of salience that are computed of each sentence. Default none.
    pub salience: Vec<Measure>,
    /// Natural days that a document's shingles count as known. Default 90.
    pub novelty_days: u16,
}

impl Default for Params {
    fn default() -> Params {
        Params {
            enabled: false,
            kinds: vec![Kind::Report, Kind::Announcement],
            min_documents: 5,
            min_share: 0.25,
            min_publishers: 5,
            min_documents_across: 20,
            min_chars: 12,
            decisions: None,
            salience: Vec::new(),
            novelty_days: 90,
        }
    }
}

impl Params {
    /// Fails, naming the setting, when a value is out of its range.
    pub fn check(&self) -> Result<()> {
        bounds::check("structure", self)
    }

    /// True if boilerplate is learned from documents of this kind.
    pub(super) fn learns(&self, kind: Kind) -> bool {
        self.kinds.is_empty() || self.kinds.contains(&kind)
    }

    /// True if a measure that is asked for depends on the segmenter.
    pub fn cuts_words(&self) -> bool {
        self.measures(Measure::Tfidf) || self.measures(Measure::Textrank)
    }

    /// True if this measure is asked for.
    pub(super) fn measures(&self, measure: Measure) -> bool {
        self.salience.contains(&measure)
    }
}

/// A measure of the salience of a sentence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Measure {
    /// Rarity of its terms in the documents before.
    Tfidf,
    /// Likeness to the other sentences of its document.
    Textrank,
    /// Share of it that was not read in the days before.
    Novelty,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_out_of_range_are_named() {
        Params::default().check().unwrap();
        for (params, name) in [
            (Params { min_documents: 1, ..Params::default() }, "structure.min_documents: 1 is out of bounds"),
            (
                Params { min_documents_across: 0, ..Params::default() },
                "structure.min_documents_across: 0 is out of bounds",
            ),
            (Params { min_share: 1.5, ..Params::default() }, "structure.min_share: 1.5 is out of bounds"),
            (Params { min_publishers: 1, ..Params::default() }, "structure.min_publishers: 1 is out of bounds"),
            (Params { min_chars: 0, ..Params::default() }, "structure.min_chars: 0 is out of bounds"),
            (Params { novelty_days: 0, ..Params::default() }, "structure.novelty_days: 0 is out of bounds"),
        ] {
            let error = params.check().unwrap_err().to_string();
            assert!(error.contains(name), "{error}");
        }
    }
}
