//! Rows become the table of events of vendors, sorted by code, kind and time.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::Result;
use chrono::{NaiveDate, NaiveDateTime};

use crate::ingest::mapped_row::MappedRow;
use crate::ingest::row::RowFault;
use inkstone_base::code::Code;
use inkstone_market::{CompanyEvent, EventArguments, events_to_frame};
use inkstone_tables::frames;

pub(super) fn event(fields: &MappedRow<'_>) -> Result<CompanyEvent, RowFault> {
    let text = |field: &str| fields.value(field).map(|t| t.into_owned());
    let written = text("code").ok_or_else(|| fields.fault("code", "no code", ""))?;
    let code = Code::parse(&written).ok_or_else(|| fields.fault("code", "not a security code", &written))?;
    let kind = text("kind").ok_or_else(|| fields.fault("kind", "no kind", ""))?;
    let known_at = fields.time("known_at")?.ok_or_else(|| fields.fault("known_at", "no time", ""))?.time;
    if fields.is_sealed(known_at.date()) {
        return Err(RowFault::sealed());
    }
    let number = |field: &str| match fields.number(field)? {
        Some(number) if number < 0.0 => Err(fields.fault(field, "number below zero", &text(field).unwrap_or_default())),
        number => Ok(number),
    };
    let date: Option<NaiveDate> = fields.any_time("date")?.map(|moment| moment.time.date());
    let arguments = EventArguments {
        amount: number("amount")?,
        price: number("price")?,
        percent: number("percent")?,
        shares: number("shares")?,
        date,
    };
    Ok(CompanyEvent { code, kind, known_at, arguments })
}

/// Code, kind, the time at which a row was known, the day of the event, and the bits of its numbers, none of which is below zero.
type EventKey = (Code, String, NaiveDateTime, Option<NaiveDate>, [Option<u64>; 4]);

/// All events read so far.
#[derive(Default)]
pub(super) struct Events(BTreeMap<EventKey, CompanyEvent>);

impl Events {
    /// Takes a row. Gives back its code, kind and time if an earlier row is the same in all columns; two holders may sell on one day.
    pub(super) fn take(&mut self, event: CompanyEvent) -> Result<(), String> {
        let CompanyEvent { code, kind, known_at, arguments } = &event;
        let numbers = [arguments.amount, arguments.price, arguments.percent, arguments.shares];
        let numbers = numbers.map(|number| number.map(f64::to_bits));
        let key = (code.clone(), kind.clone(), *known_at, arguments.date, numbers);
        if self.0.contains_key(&key) {
            return Err(format!("{code} {kind} {known_at}"));
        }
        self.0.insert(key, event);
        Ok(())
    }

    pub(super) fn write(self, path: &Path) -> Result<()> {
        let rows: Vec<CompanyEvent> = self.0.into_values().collect();
        frames::write_parquet(path, &mut events_to_frame(&rows)?)
    }
}
