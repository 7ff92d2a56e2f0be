//! What is said of a value's origin, ready for a screen or a batch: the names of a date, and the documents behind one of them.

use chrono::{NaiveDate, NaiveDateTime};
use serde::{Serialize, Serializer};

use inkstone_base::data::Kind;

/// The names that a factor has a value for on one date.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct TracedDate {
    /// The factor.
    pub factor: String,
    /// The date.
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
    /// Why the date has no quantiles, where it has none.
    pub without_quantiles: Option<String>,
    /// The names, the highest value first.
    pub names: Vec<TracedName>,
}

/// A name on a date.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct TracedName {
    /// Its code.
    pub code: String,
    /// What it was called on that date; empty where no table says.
    pub name: String,
    /// The value that is tested.
    #[serde(serialize_with = "number")]
    pub value: f64,
    /// The value as aggregated, before processing; NaN where it was filled in.
    #[serde(serialize_with = "number")]
    pub raw: f64,
    /// Its place among the names of the date, 1 for the highest value; equal values share the first place among them.
    pub rank: usize,
    /// Its quantile from 1 (lowest); 0 for none.
    pub quantile: u16,
    /// Documents behind the value.
    pub documents: usize,
    /// Those of them that are first of their story.
    pub first_mentions: usize,
    /// When the value was known.
    pub known_at: Option<NaiveDateTime>,
    /// Return from the entry on at each horizon; NaN where it could not be bought, or the end is not there yet.
    #[serde(serialize_with = "numbers")]
    pub returns: Vec<f64>,
    /// Why the test could not use the value or not trade on it; none where it could.
    pub blocked: Option<String>,
    /// Title of the document that gave most to the value, by size; empty without one.
    pub title: String,
}

/// The names of one quantile on one date, taken together.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct TracedDay {
    /// The date.
    pub date: NaiveDate,
    /// Names in the quantile.
    pub names: usize,
    /// Mean of their values.
    #[serde(serialize_with = "number")]
    pub value: f64,
    /// Mean of their returns at each horizon, each name alike, not demeaned; NaN where none has one.
    #[serde(serialize_with = "numbers")]
    pub returns: Vec<f64>,
    /// Share of those returns that are above zero, at each horizon.
    #[serde(serialize_with = "numbers")]
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
    /// The date that it is of.
    pub date: NaiveDate,
    /// Whether it is only regressed out.
    pub control: bool,
    /// Its number; NaN without a document.
    #[serde(serialize_with = "number")]
    pub value: f64,
    /// Whether the documents' contributions sum to the number.
    pub adds_up: bool,
    /// Its documents, the largest contribution first.
    pub documents: Vec<TracedDocument>,
}

/// A document behind a value.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct TracedDocument {
    /// Its number in the corpus, from 0.
    pub number: u32,
    /// Its id.
    pub doc_id: String,
    /// Its title.
    pub title: String,
    /// News, report, announcement or post.
    pub kind: Kind,
    /// The source that it came from.
    pub source: String,
    /// When it became public.
    pub published_at: NaiveDateTime,
    /// The trading date that it counts for.
    pub trade_date: NaiveDate,
    /// When its value was known.
    pub known_at: NaiveDateTime,
    /// Days between that date and the reading's, in the unit of the look-back.
    pub age: usize,
    /// Whether it is the first of its story.
    pub first: bool,
    /// The id of the first of its story, where it repeats one.
    pub repeats: Option<String>,
    /// Its value.
    #[serde(serialize_with = "number")]
    pub value: f64,
    /// What it weighs, its age included.
    pub weight: f64,
    /// What it gave to the reading's number; NaN where that cannot be said.
    #[serde(serialize_with = "number")]
    pub contribution: f64,
}

/// Null where there is no number.
fn number<S: Serializer>(value: &f64, serializer: S) -> Result<S::Ok, S::Error> {
    value.is_finite().then_some(*value).serialize(serializer)
}

fn numbers<S: Serializer>(values: &[f64], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(values.iter().map(|value| value.is_finite().then_some(*value)))
}
