//! Rows become the dated table of relations between securities, sorted by both codes, kind and time.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::Result;
use chrono::{NaiveDate, NaiveDateTime};

use crate::ingest::mapped_row::MappedRow;
use crate::ingest::row::RowFault;
use inkstone_base::code::Code;
use inkstone_market::{Relation, relations_to_frame};
use inkstone_tables::frames;

/// Makes a relation of a row; without a weight it weighs 1.
pub(super) fn relation(fields: &MappedRow<'_>) -> Result<Relation, RowFault> {
    let text = |field: &str| fields.value(field).map(|t| t.into_owned());
    let code = |field: &str| -> Result<Code, RowFault> {
        let written = text(field).ok_or_else(|| fields.fault(field, "no code", ""))?;
        Code::parse(&written).ok_or_else(|| fields.fault(field, "not a security code", &written))
    };
    let (from, to) = (code("from")?, code("to")?);
    if from == to {
        return Err(fields.fault("to", "relation of a security to itself", to.as_str()));
    }
    let known_at = fields.time("known_at")?.ok_or_else(|| fields.fault("known_at", "no time", ""))?.time;
    if fields.is_sealed(known_at.date()) {
        return Err(RowFault::sealed());
    }
    let day = |field: &str| -> Result<Option<NaiveDate>, RowFault> {
        Ok(fields.any_time(field)?.map(|moment| moment.time.date()))
    };
    let (valid_from, valid_to) = (day("valid_from")?, day("valid_to")?);
    if valid_from.zip(valid_to).is_some_and(|(from, to)| from >= to) {
        return Err(fields.fault("valid_to", "ends before it begins", &text("valid_to").unwrap_or_default()));
    }
    let weight = fields.number("weight")?.unwrap_or(1.0);
    if weight <= 0.0 {
        return Err(fields.fault("weight", "weight that is not above 0", &text("weight").unwrap_or_default()));
    }
    Ok(Relation { from, to, kind: text("kind").unwrap_or_default(), weight, valid_from, valid_to, known_at })
}

/// Both codes, the kind, the time at which a row was known, and the day from which it holds.
type RelationKey = (Code, Code, String, NaiveDateTime, Option<NaiveDate>);

/// All relations read so far.
#[derive(Default)]
pub(super) struct Relations(BTreeMap<RelationKey, Relation>);

impl Relations {
    /// Takes a row. Gives back its codes, kind and time if an earlier row has the same ones and the same first day.
    pub(super) fn take(&mut self, relation: Relation) -> Result<(), String> {
        let Relation { from, to, kind, known_at, valid_from, .. } = &relation;
        let key = (from.clone(), to.clone(), kind.clone(), *known_at, *valid_from);
        if self.0.contains_key(&key) {
            return Err(format!("{from} {to} {kind} {known_at}"));
        }
        self.0.insert(key, relation);
        Ok(())
    }

    pub(super) fn write(self, path: &Path) -> Result<()> {
        let rows: Vec<Relation> = self.0.into_values().collect();
        frames::write_parquet(path, &mut relations_to_frame(&rows)?)
    }
}
