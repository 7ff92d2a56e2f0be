//! Rows become the dated table of securities, sorted by code and first day.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::path::Path;

use anyhow::Result;
use chrono::NaiveDate;

use crate::ingest::mapped_row::MappedRow;
use crate::ingest::row::RowFault;
use inkstone_base::code::Code;
use inkstone_market::{Security, securities_to_frame};
use inkstone_tables::frames;

/// Makes a security of a row. Without a column `st`, the name's mark tells (`*ST`, `ST`, `S*ST`, `SST`).
pub(super) fn security(fields: &MappedRow<'_>) -> Result<Security, RowFault> {
    let text = |field: &str| fields.value(field).map(|t| t.into_owned());
    let written = text("code").ok_or_else(|| fields.fault("code", "no code", ""))?;
    let code = Code::parse(&written).ok_or_else(|| fields.fault("code", "not a security code", &written))?;
    let name = text("name").ok_or_else(|| fields.fault("name", "no name", ""))?;
    let day = |field: &str| -> Result<Option<NaiveDate>, RowFault> { Ok(fields.time(field)?.map(|m| m.time.date())) };
    let before_seal = |day: Option<NaiveDate>| day.filter(|day| !fields.is_sealed(*day));
    let (from, to, listed) = (day("from")?, day("to")?, day("listed")?);
    if from != before_seal(from) || listed != before_seal(listed) {
        return Err(RowFault::sealed());
    }
    if from.zip(to).is_some_and(|(from, to)| from >= to) {
        return Err(fields.fault("to", "ends before it begins", &text("to").unwrap_or_default()));
    }
    let st = match text("st") {
        None => ["ST", "*ST", "S*ST", "SST"].iter().any(|mark| name.starts_with(mark)),
        Some(word) => match word.to_lowercase().as_str() {
            "1" | "1.0" | "true" | "yes" | "y" | "t" | "是" => true,
            "0" | "0.0" | "false" | "no" | "n" | "f" | "否" => false,
            _ => return Err(fields.fault("st", "neither true nor false", &word)),
        },
    };
    let aliases = text("aliases").unwrap_or_default();
    let aliases = aliases.split(['|', ',', '，', ';', '；', '、']).map(str::trim).filter(|a| !a.is_empty());
    Ok(Security {
        code,
        name,
        from,
        to: before_seal(to),
        industry: text("industry"),
        board: text("board"),
        listed,
        delisted: before_seal(day("delisted")?),
        st,
        aliases: aliases.map(str::to_owned).collect(),
    })
}

/// All securities read so far.
#[derive(Default)]
pub(super) struct Securities(BTreeMap<(Code, Option<NaiveDate>), Security>);

impl Securities {
    /// Takes a row; gives its code and first day back when that code has one that begins on the same day.
    pub(super) fn take(&mut self, security: Security) -> Result<(), String> {
        match self.0.entry((security.code.clone(), security.from)) {
            Entry::Occupied(_) => Err(format!(
                "{} {}",
                security.code,
                security.from.map_or("from the beginning".into(), |d| d.to_string())
            )),
            Entry::Vacant(free) => {
                free.insert(security);
                Ok(())
            }
        }
    }

    pub(super) fn write(self, path: &Path) -> Result<()> {
        let rows: Vec<Security> = self.0.into_values().collect();
        frames::write_parquet(path, &mut securities_to_frame(&rows)?)
    }
}
