//! Origin of a value, ready for a screen or a batch: the names of a date, and the documents behind one of them.

use chrono::{NaiveDate, NaiveDateTime};
use serde::Serialize;

use crate::nan::{null_number, null_numbers};

use inkstone_base::data::Kind;

/// The names that a factor has a value for on one date.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct TracedDate {
    pub factor: String,
    pub date: NaiveDate,
    /// The day on which its values are traded; none where the calendar ends before.
    pub entry: Option<NaiveDate>,
    /// The price that returns begin and end at: `open`, `close` or `vwap`.
    pub price: String,
    /// Trading days from the date to the entry.
    pub delay: i64,
    /// Holding periods in trading days.
    pub horizons: Vec<usize>,
    /// Quantiles that the date is cut into.
    pub quantiles: usize,
    /// Reason for which the date has no quantiles, if it has none.
    pub without_quantiles: Option<String>,
    /// The names, the highest value first.
    pub names: Vec<TracedName>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct TracedName {
    pub code: String,
    /// Name of the company on that date; empty if no table has it.
    pub name: String,
    /// The value that is tested.
    #[serde(serialize_with = "null_number")]
    pub value: f64,
    /// The value as aggregated, before processing; NaN where it was filled in.
    #[serde(serialize_with = "null_number")]
    pub raw: f64,
    /// Place among the names of the date, 1 for the highest value; equal values share the first place among them.
    pub rank: usize,
    /// Quantile from 1 (lowest); 0 for none.
    pub quantile: u16,
    /// Number of documents behind the value.
    pub documents: usize,
    /// Number of these documents that are first of their story.
    pub first_mentions: usize,
    pub known_at: Option<NaiveDateTime>,
    /// Return from the entry on at each horizon; NaN where it could not be bought, or the end is not there yet.
    #[serde(serialize_with = "null_numbers")]
    pub returns: Vec<f64>,
    /// Reason for which the test could not use the value or not trade on it; none if it could.
    pub blocked: Option<String>,
    /// Title of the document that gave most to the value, by size, or else its first words; empty without a document.
    pub title: String,
}

/// The names of one quantile on one date, taken together.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct TracedDay {
    pub date: NaiveDate,
    /// Number of names in the quantile.
    pub names: usize,
    /// Mean value of the names.
    #[serde(serialize_with = "null_number")]
    pub value: f64,
    /// Mean of their returns at each horizon, equally weighted, not demeaned; NaN where none has one.
    #[serde(serialize_with = "null_numbers")]
    pub returns: Vec<f64>,
    /// Share of those returns that are above zero, at each horizon.
    #[serde(serialize_with = "null_numbers")]
    pub hits: Vec<f64>,
    /// Documents of these names that count for this date itself, not for one that is looked back to.
    pub documents: usize,
}

/// A reading behind a value, with its documents.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct TracedCell {
    /// Number of the reading in the expression, from 1.
    pub reading: usize,
    /// The features that it reads, `feature` or `feature.column`.
    pub reads: Vec<String>,
    /// `mean`, `sum`, `count`, `max`, `min`, `last` or `std`.
    pub aggregate: String,
    pub date: NaiveDate,
    /// The security whose reading it is, where `spread` took its number; none for the security of the value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub neighbour: Option<TracedNeighbour>,
    /// True if the reading is only regressed out.
    pub control: bool,
    /// Number of the reading; NaN without a document.
    #[serde(serialize_with = "null_number")]
    pub value: f64,
    /// True if the contributions of the documents sum to the number.
    pub adds_up: bool,
    /// Documents, the largest contribution first.
    pub documents: Vec<TracedDocument>,
}

/// A neighbour that has a share in a value.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct TracedNeighbour {
    pub code: String,
    /// Name of the company on the date of the value; empty if no table has it.
    pub name: String,
    /// Share in the mean that `spread` takes, over the neighbours with documents.
    pub share: f64,
}

/// A document behind a value.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct TracedDocument {
    /// Number of the document in the corpus, from 0.
    pub number: u32,
    pub doc_id: String,
    pub title: String,
    /// The first words of its body, where it has no title.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub words: String,
    /// News, report, announcement or post.
    pub kind: Kind,
    /// The source that it came from.
    pub source: String,
    pub published_at: NaiveDateTime,
    /// The trading date that it counts for.
    pub trade_date: NaiveDate,
    pub known_at: NaiveDateTime,
    /// Days between that date and the reading's, in the unit of the look-back.
    pub age: usize,
    /// True if the document is the first of its story.
    pub first: bool,
    /// The id of the first of its story, where it repeats one.
    pub repeats: Option<String>,
    #[serde(serialize_with = "null_number")]
    pub value: f64,
    /// Weight of the document times the weight of its age.
    pub weight: f64,
    /// Part of the number of the reading; NaN if the aggregate has no parts.
    #[serde(serialize_with = "null_number")]
    pub contribution: f64,
}

impl TracedDocument {
    /// The title, or else the first words.
    pub fn heading(&self) -> &str {
        if self.title.is_empty() { &self.words } else { &self.title }
    }
}
