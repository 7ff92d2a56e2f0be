//! Rows become the dated table of securities, sorted by code and first day.

use std::collections::BTreeMap;
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

/// All securities read so far. A table with a row a day is taken as one with a row for each change.
#[derive(Default)]
pub(super) struct Securities(BTreeMap<(Code, Option<NaiveDate>), DatedRow>);

struct DatedRow {
    security: Security,
    /// Last first day of the rows that say the same and were taken for one.
    until: Option<NaiveDate>,
}

impl Securities {
    /// Takes a row; gives its code and first day back when that code has another row that begins on the same day, or when the rows of a code
    /// are in no order, so that what they say between is not known.
    pub(super) fn take(&mut self, security: Security) -> Result<(), String> {
        let (code, from) = (security.code.clone(), security.from);
        let code_and_day = || format!("{code} {}", from.map_or("from the beginning".into(), |d| d.to_string()));
        let says_the_same = |row: &DatedRow| row.security == Security { from: row.security.from, ..security.clone() };
        let before = self.0.range_mut((code.clone(), None)..=(code.clone(), from)).next_back();
        if let Some((_, row)) = before {
            if says_the_same(row) && row.security.to.is_none() {
                row.until = row.until.max(from);
                return Ok(());
            }
            if row.security.from == from || row.until >= from && row.until.is_some() {
                return Err(code_and_day());
            }
        }
        let until = from;
        let key = (code.clone(), from);
        self.0.insert(key, DatedRow { security, until });
        Ok(())
    }

    /// Writes the table. A row without an end ends where the next name of its code begins.
    pub(super) fn write(self, path: &Path) -> Result<()> {
        let mut rows: Vec<Security> = self.0.into_values().map(|row| row.security).collect();
        for i in 1..rows.len() {
            let next = (rows[i].code == rows[i - 1].code && rows[i].name != rows[i - 1].name).then_some(rows[i].from);
            rows[i - 1].to = rows[i - 1].to.or(next.flatten());
        }
        frames::write_parquet(path, &mut securities_to_frame(&rows)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_with_a_row_a_day_is_one_with_a_row_for_each_change() {
        let row = |name: &str, from: Option<&str>| Security {
            name: name.into(),
            from: from.map(|day| day.parse().unwrap()),
            ..Security::unnamed(Code::canonical("600001.SH"))
        };
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("securities.parquet");
        let mut all = Securities::default();
        for (name, day) in
            [("远山", "2024-01-02"), ("远山", "2024-01-03"), ("岚石", "2024-01-05"), ("岚石", "2024-01-08")]
        {
            all.take(row(name, Some(day))).unwrap();
        }
        // The same row twice is one; another one of the same day, or between days that were taken for one, is refused.
        all.take(row("岚石", Some("2024-01-05"))).unwrap();
        assert_eq!(all.take(row("霁川", Some("2024-01-05"))).unwrap_err(), "600001.SH 2024-01-05");
        assert_eq!(all.take(row("霁川", Some("2024-01-06"))).unwrap_err(), "600001.SH 2024-01-06");
        all.write(&path).unwrap();
        let read = inkstone_market::securities_from_frame(&frames::read_parquet(&path, None).unwrap()).unwrap();
        let first = Security { to: Some("2024-01-05".parse().unwrap()), ..row("远山", Some("2024-01-02")) };
        assert_eq!(read, [first, row("岚石", Some("2024-01-05"))]);
    }
}
