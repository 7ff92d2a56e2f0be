//! A daily table turned round: the values of one name over all dates, at once and without the table in memory.
//!
//! The columns are written once into a file without a name, `[names, dates]` f64, NaN where the table has nothing; a name is then read from
//! there. For looking at one name after another: a stage takes a [`Market`].

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::Result;
use polars_core::prelude::{Column, IntoColumn, NamedFrom, Series};
use rustc_hash::FxHashMap;

use crate::table::DailyTable;
use crate::{Calendar, Market, Security, dates_column};
use inkstone_base::code::Code;
use inkstone_base::disk::Scratch;
use inkstone_base::job::Ctx;
use inkstone_tables::frames;

/// Bytes of a number in the file.
const NUMBER: usize = 8;

/// Columns of a daily table by name.
pub struct TableByName {
    calendar: Calendar,
    codes: Arc<[Code]>,
    /// The columns that the table has, in the order of the file.
    columns: Vec<String>,
    file: Mutex<File>,
}

impl TableByName {
    /// Turns round the named columns of a table with one row for a date and code; columns that it lacks are left out. The file lies in
    /// `folder`, or where that may not be written in the folder for temporary files.
    pub fn new(table: &DailyTable, columns: &[&str], folder: &Path, ctx: &Ctx) -> Result<TableByName> {
        let row_dates = table.dates()?;
        let row_codes = table.codes()?;
        ctx.check()?;
        let calendar = Calendar::new(row_dates.distinct.clone())?;
        let codes: Arc<[Code]> = row_codes.distinct.iter().collect::<BTreeSet<_>>().into_iter().cloned().collect();
        let places: FxHashMap<&Code, usize> = codes.iter().zip(0..).collect();
        let of_date: Vec<usize> = row_dates.distinct.iter().map(|date| calendar.on_or_after(*date)).collect();
        let of_code: Vec<usize> = row_codes.distinct.iter().map(|code| places[code]).collect();
        let days = calendar.dates().len();
        let rows = row_dates.rows.iter().zip(&row_codes.rows);
        let cells: Vec<u32> =
            rows.map(|(date, code)| (of_code[*code as usize] * days + of_date[*date as usize]) as u32).collect();
        drop((row_dates, row_codes));
        let mut scratch = Scratch::within(folder).or_else(|_| Scratch::within(&std::env::temp_dir()))?;
        let mut found = Vec::new();
        for name in columns {
            ctx.check()?;
            let mut values = vec![f64::NAN; days * codes.len()];
            if !table.each_number(&[name], |row, value| values[cells[row] as usize] = value)? {
                continue;
            }
            for name in values.chunks(days) {
                scratch.write(&name.iter().flat_map(|value| value.to_le_bytes()).collect::<Vec<u8>>())?;
            }
            found.push((*name).to_owned());
        }
        Ok(TableByName { calendar, codes, columns: found, file: Mutex::new(scratch.into_file()?) })
    }

    pub fn calendar(&self) -> &Calendar {
        &self.calendar
    }

    /// The codes, ascending.
    pub fn codes(&self) -> &[Code] {
        &self.codes
    }

    /// The number of a code, however it is written.
    pub fn index_of(&self, code: &str) -> Option<usize> {
        let place = |code: &str| self.codes.binary_search_by(|other| other.as_str().cmp(code)).ok();
        place(code).or_else(|| place(Code::parse(code)?.as_str()))
    }

    /// A column of the code of this number, by date; all NaN where the table has no such column.
    pub fn column(&self, name: &str, code: usize) -> Result<Vec<f64>> {
        let days = self.calendar.dates().len();
        let Some(at) = self.columns.iter().position(|column| column == name) else { return Ok(vec![f64::NAN; days]) };
        let mut bytes = vec![0; days * NUMBER];
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        file.seek(SeekFrom::Start(((at * self.codes.len() + code) * days * NUMBER) as u64))?;
        file.read_exact(&mut bytes)?;
        Ok(bytes.as_chunks::<NUMBER>().0.iter().map(|number| f64::from_le_bytes(*number)).collect())
    }

    /// The market of one code alone, on all dates, with what the table of securities says of it.
    pub fn market(&self, code: usize, securities: &[Security]) -> Result<Market> {
        let dates = self.calendar.dates();
        let mut columns: Vec<Column> = vec![
            dates_column("date", dates.iter().map(|date| Some(*date)))?,
            Series::new("code".into(), vec![self.codes[code].as_str(); dates.len()]).into_column(),
        ];
        for name in &self.columns {
            columns.push(Series::new(name.as_str().into(), self.column(name, code)?).into_column());
        }
        Market::from_table(&DailyTable::Whole(frames::frame(columns)?), securities)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::read_delimited;
    use crate::{LimitRule, Price, Tradability};

    #[test]
    fn a_name_turned_round_is_the_name_of_the_market() {
        let text = "date,code,open,close,volume\n2024-01-03,000002.SZ,9.5,11,100\n2024-01-02,600001.SH,1,2,3\n\
                    2024-01-02,000002.SZ,10,10,100\n2024-01-05,000002.SZ,9.8,9.9,100\n2024-01-04,600001.SH,1,2,0\n";
        let table = DailyTable::Whole(read_delimited(text.as_bytes(), b',').unwrap());
        let dir = tempfile::tempdir().unwrap();
        let ctx = Ctx::new(1, 1).unwrap();
        let turned = TableByName::new(&table, &["open", "close", "vwap", "volume"], dir.path(), &ctx).unwrap();
        let whole = Market::from_table(&table, &[]).unwrap();
        assert_eq!((turned.codes(), turned.calendar().dates()), (&whole.codes()[..], whole.dates()));
        assert_eq!(turned.index_of("2"), whole.index_of("000002.SZ"));
        for i in 0..2 {
            let one = turned.market(i, &[]).unwrap();
            let gates = |market: &Market| Tradability::new(market, Price::Close, &LimitRule::defaults()).unwrap();
            let (alone, among) = (gates(&one), gates(&whole));
            for t in 0..4 {
                let [own, other] = [(&one, 0), (&whole, i)].map(|(m, i)| m.price(Price::Close).unwrap().at(t, i));
                assert_eq!(own.to_bits(), other.to_bits());
                assert_eq!((one.traded(t, 0), alone.gate(t, 0)), (whole.traded(t, i), among.gate(t, i)));
            }
        }
        assert!(turned.column("vwap", 0).unwrap().iter().all(|value| value.is_nan()));
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0, "the file has no name");
    }
}
