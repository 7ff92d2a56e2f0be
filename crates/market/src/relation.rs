//! Dated relations between securities: supplier and customer, parent and subsidiary, competitors, as vendors list them.

use anyhow::{Context, Result};
use chrono::{NaiveDate, NaiveDateTime};
use polars_core::prelude::{DataFrame, IntoColumn, NamedFrom, Series};
use serde::{Deserialize, Serialize};

use crate::{dates_column, dates_of};
use inkstone_base::code::Code;
use inkstone_base::language::Word;
use inkstone_tables::corpus::{column, texts_column, texts_of, times_column, times_of};
use inkstone_tables::frames;

/// A relation of one security to another, for the days that it holds and from the time at which it was known.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Relation {
    pub from: Code,
    pub to: Code,
    /// Kind of the relation, as its source calls it; empty if the source has one kind alone.
    pub kind: String,
    /// Weight above 0, for instance a share of sales.
    pub weight: f64,
    /// First day it holds; `None`: from the beginning.
    pub valid_from: Option<NaiveDate>,
    /// First day it no longer holds (half-open); `None`: still holds.
    pub valid_to: Option<NaiveDate>,
    pub known_at: NaiveDateTime,
}

/// Relations as a frame: `from to kind weight valid_from valid_to known_at`.
pub fn relations_to_frame(rows: &[Relation]) -> Result<DataFrame> {
    frames::frame(vec![
        texts_column("from", rows.iter().map(|r| Some(r.from.as_str()))),
        texts_column("to", rows.iter().map(|r| Some(r.to.as_str()))),
        texts_column("kind", rows.iter().map(|r| Some(r.kind.as_str()))),
        Series::new("weight".into(), rows.iter().map(|r| r.weight).collect::<Vec<f64>>()).into_column(),
        dates_column("valid_from", rows.iter().map(|r| r.valid_from))?,
        dates_column("valid_to", rows.iter().map(|r| r.valid_to))?,
        times_column("known_at", rows.iter().map(|r| Some(r.known_at)))?,
    ])
}

pub fn relations_from_frame(frame: &DataFrame) -> Result<Vec<Relation>> {
    let [from, to, kind] = [texts_of(frame, "from")?, texts_of(frame, "to")?, texts_of(frame, "kind")?];
    let weight = column(frame, "weight")?.f64()?;
    let (valid_from, valid_to) = (dates_of(frame, "valid_from")?, dates_of(frame, "valid_to")?);
    let known_at = times_of(frame, "known_at")?;
    let row = |i: usize| {
        Some(Relation {
            from: Code::canonical(from.get(i)?),
            to: Code::canonical(to.get(i)?),
            kind: kind.get(i)?.to_owned(),
            weight: weight.get(i)?,
            valid_from: valid_from[i],
            valid_to: valid_to[i],
            known_at: known_at[i]?,
        })
    };
    let incomplete = Word("关系表有不完整的行", "the table of relations has an incomplete row");
    (0..frame.height()).map(|i| row(i).context(incomplete)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn relations_survive_the_way_to_a_frame_and_back() {
        let row = Relation {
            from: Code::canonical("600001.SH"),
            to: Code::canonical("000002.SZ"),
            kind: "供应".into(),
            weight: 0.35,
            valid_from: "2023-01-01".parse().ok(),
            valid_to: None,
            known_at: "2023-04-20T23:59:59".parse().unwrap(),
        };
        let rows = vec![row.clone(), Relation { kind: String::new(), valid_to: "2024-01-01".parse().ok(), ..row }];
        assert_eq!(relations_from_frame(&relations_to_frame(&rows).unwrap()).unwrap(), rows);
    }
}
