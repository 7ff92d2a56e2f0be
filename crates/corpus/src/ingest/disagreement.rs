//! Prices that several sources give of the same date and code, and how they differ.

use std::collections::BTreeMap;

use anyhow::Result;
use chrono::NaiveDate;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::ingest::runs::{PriceRow, date_and_code, key_of};
use inkstone_market::PRICE_COLUMNS;

/// Differences that are told one by one.
const TOLD: usize = 5;
/// Prices differ if they are further apart than this share and half a cent; amounts, than the other share: vendors round.
const PRICE_SHARE: f64 = 1e-3;
const HALF_CENT: f64 = 0.005;
const AMOUNT_SHARE: f64 = 1e-2;

/// Prices that several sources give.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PricesTwice {
    /// Rows of a date and code that an earlier source has.
    rows: u64,
    /// Rows among them with a value that differs.
    differing: u64,
    fields: BTreeMap<String, u64>,
    largest: Option<Difference>,
    /// The first differences, by date and code.
    first: Vec<Difference>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Difference {
    date: NaiveDate,
    code: String,
    field: String,
    taken: f64,
    source: String,
    other: f64,
    other_source: String,
}

impl Difference {
    /// Distance of the values as a share of the larger.
    fn share(&self) -> f64 {
        (self.taken - self.other).abs() / self.taken.abs().max(self.other.abs())
    }

    fn sentence(&self) -> String {
        let Difference { date, code, field, taken, source, other, other_source } = self;
        format!("{date} {code} {field}: {taken} ({source}), {other} ({other_source})")
    }
}

impl PricesTwice {
    /// Compares the row that was taken with one of another source; rows come by date and code.
    pub(super) fn add(&mut self, taken: &PriceRow, other: &PriceRow, sources: &[String]) -> Result<()> {
        self.rows += 1;
        let mut largest: Option<Difference> = None;
        for (name, (a, b)) in PRICE_COLUMNS[2..].iter().zip(taken[3..].iter().zip(&other[3..])) {
            let (a, b) = (f64::from_bits(*a), f64::from_bits(*b));
            if !differ(name, a, b) {
                continue;
            }
            *self.fields.entry((*name).to_owned()).or_default() += 1;
            let (date, code) = date_and_code(key_of(taken))?;
            let source = |row: &PriceRow| sources[row[2] as usize].clone();
            let difference = Difference {
                date,
                code: code.to_string(),
                field: (*name).to_owned(),
                taken: a,
                source: source(taken),
                other: b,
                other_source: source(other),
            };
            if largest.as_ref().is_none_or(|largest| largest.share() < difference.share()) {
                largest = Some(difference);
            }
        }
        if let Some(difference) = largest {
            self.differing += 1;
            self.note(difference);
        }
        Ok(())
    }

    fn note(&mut self, difference: Difference) {
        if self.largest.as_ref().is_none_or(|largest| largest.share() < difference.share()) {
            self.largest = Some(difference.clone());
        }
        if self.first.len() < TOLD {
            self.first.push(difference);
        }
    }

    /// The findings on a table to which rows were appended, whose findings `later` are.
    pub(super) fn and(mut self, later: PricesTwice) -> PricesTwice {
        self.rows += later.rows;
        self.differing += later.differing;
        later.fields.into_iter().for_each(|(field, n)| *self.fields.entry(field).or_default() += n);
        later.first.into_iter().for_each(|difference| self.note(difference));
        let shares = |difference: &Option<Difference>| difference.as_ref().map_or(0.0, Difference::share);
        if shares(&later.largest) > shares(&self.largest) {
            self.largest = later.largest;
        }
        self
    }

    pub(super) fn is_empty(&self) -> bool {
        self.rows == 0
    }

    /// The findings for the report of the stage.
    pub(super) fn facts(&self) -> Map<String, Value> {
        let first: Vec<String> = self.first.iter().map(Difference::sentence).collect();
        let facts = json!({
            "rows": self.rows,
            "rows_that_differ": self.differing,
            "fields_that_differ": self.fields,
            "largest": self.largest.as_ref().map(Difference::sentence),
            "first": first,
        });
        facts.as_object().cloned().unwrap_or_default()
    }
}

/// True if two values of a field are not the same but for rounding. A value that one source lacks is no difference.
fn differ(field: &str, a: f64, b: f64) -> bool {
    let apart = (a - b).abs();
    match field {
        "volume" | "amount" | "market_cap" => apart > AMOUNT_SHARE * a.abs().max(b.abs()),
        _ => apart > HALF_CENT && apart > PRICE_SHARE * a.abs().max(b.abs()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounding_and_missing_values_are_no_difference() {
        for (field, a, b, expected) in [
            ("close", 10.0, 10.004, false),
            ("close", 10.0, 10.02, true),
            ("close", 1500.0, 1500.5, false),
            ("close", 0.5, 0.504, false),
            ("close", f64::NAN, 10.0, false),
            ("volume", 1000.0, 1005.0, false),
            ("volume", 1000.0, 100_000.0, true),
        ] {
            assert_eq!(differ(field, a, b), expected, "{field} {a} {b}");
        }
    }
}
