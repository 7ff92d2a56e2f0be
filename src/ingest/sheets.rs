//! Excel workbooks as tables: the rows of one sheet below its header row, each cell as the text it would have in a CSV.
//!
//! The first row that is not empty is the header. Rows are numbered by their place below it, so that row `n` stands `n` rows below
//! the header in Excel too; empty rows are passed over. Dates are written as `2024-03-01` or `2024-03-01 15:00:00`, whole
//! numbers without a decimal point; errors (`#N/A`) are absent values. A sheet is held in memory whole.

use std::fs::File;
use std::io::{BufReader, Read, Seek, SeekFrom};
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use calamine::{Data, ExcelDateTime, Range, Reader, Sheets, Xls, Xlsx};
use chrono::{Duration, NaiveDate};

use crate::ingest::reader::{Cells, Row};
use crate::job;

/// Bytes that the parts of a workbook may unpack to.
const UNPACKED_LIMIT: u64 = 4 << 30;
/// Rows of a batch.
const BATCH_ROWS: usize = 2048;
/// How compound files begin: workbooks of before 2007, and encrypted ones.
const COMPOUND: [u8; 4] = [0xd0, 0xcf, 0x11, 0xe0];

/// The rows of a sheet.
pub(super) struct SheetRows {
    columns: Vec<String>,
    range: Range<Data>,
    /// Rows given so far, the header included.
    given: usize,
}

impl SheetRows {
    /// Opens a sheet by its name, or the first one.
    pub(super) fn open(path: &Path, sheet: Option<&str>) -> Result<SheetRows> {
        let range = job::contained(|| range_of(path, sheet))
            .unwrap_or_else(|panic| bail!("damaged or unsupported workbook ({})", job::panic_text(panic.as_ref())))
            .with_context(|| format!("cannot read {}", path.display()))?;
        let Some(header) = range.rows().next() else {
            bail!("{}: the sheet is empty", path.display());
        };
        let columns = header.iter().map(|cell| text_of(cell).unwrap_or_default().trim().to_owned()).collect();
        Ok(SheetRows { columns, range, given: 1 })
    }

    pub(super) fn columns(&self) -> Vec<String> {
        self.columns.clone()
    }

    /// The next rows, empty at the end; only the cells in `used` are written out.
    pub(super) fn next_batch(&mut self, used: &[bool]) -> Vec<Row> {
        let mut batch = Vec::new();
        for row in self.range.rows().skip(self.given) {
            if batch.len() == BATCH_ROWS {
                break;
            }
            self.given += 1;
            if row.iter().all(|cell| matches!(cell, Data::Empty)) {
                continue;
            }
            let cells: Cells =
                row.iter().zip(used).map(|(cell, used)| if *used { text_of(cell) } else { None }).collect();
            batch.push(Row { number: self.given as u64 - 1, cells: Ok(cells), bytes: Vec::new() });
        }
        batch
    }
}

fn range_of(path: &Path, sheet: Option<&str>) -> Result<Range<Data>> {
    let mut file = File::open(path)?;
    let mut mark = [0; 4];
    let marked = file.read_exact(&mut mark).is_ok();
    ensure!(marked, "the file is empty");
    file.seek(SeekFrom::Start(0))?;
    let mut workbook = if mark == COMPOUND {
        let old = Xls::new(BufReader::new(file));
        Sheets::Xls(old.context("a workbook that is encrypted (save it without a password) or no .xls")?)
    } else {
        let mut archive = zip::ZipArchive::new(BufReader::new(file.try_clone()?)).context("no Excel workbook")?;
        let unpacked: u64 =
            (0..archive.len()).filter_map(|i| archive.by_index_raw(i).ok().map(|part| part.size())).sum();
        ensure!(unpacked <= UNPACKED_LIMIT, "it unpacks to {unpacked} bytes; save the sheet as CSV (UTF-8)");
        file.seek(SeekFrom::Start(0))?;
        Sheets::Xlsx(Xlsx::new(BufReader::new(file)).context("no .xlsx workbook")?)
    };
    let names = workbook.sheet_names();
    let name = match sheet {
        Some(name) if names.iter().any(|n| n == name) => name.to_owned(),
        Some(name) => {
            bail!("there is no sheet {name:?} (sheets: {}); mend `sheet` of its [[source]]", names.join(", "))
        }
        None => names.first().context("the workbook has no sheets")?.clone(),
    };
    Ok(workbook.worksheet_range(&name)?)
}

/// A cell as text; `None` when it is empty.
fn text_of(cell: &Data) -> Option<String> {
    Some(match cell {
        Data::Empty | Data::Error(_) => return None,
        Data::String(text) if text.is_empty() => return None,
        Data::String(text) | Data::DateTimeIso(text) | Data::DurationIso(text) => text.clone(),
        Data::Int(value) => value.to_string(),
        // Whole numbers up to 2^53 are exact, and codes and dates are among them.
        Data::Float(value) => value.to_string(),
        Data::Bool(value) => value.to_string(),
        Data::DateTime(time) => text_of_time(time),
    })
}

fn text_of_time(time: &ExcelDateTime) -> String {
    if time.is_duration() {
        return time.as_f64().to_string();
    }
    let (year, month, day, hour, minute, second, milli) = time.to_ymd_hms_milli();
    let date = NaiveDate::from_ymd_opt(year.into(), month.into(), day.into());
    let Some(written) = date.and_then(|d| d.and_hms_opt(hour.into(), minute.into(), second.into())) else {
        return time.as_f64().to_string();
    };
    // A time that lost its last digits would be a second early.
    let written = written + Duration::seconds(i64::from(milli >= 500));
    match (time.as_f64() < 1.0, time.as_f64().fract() == 0.0) {
        (true, _) => written.format("%H:%M:%S").to_string(),
        (false, true) => written.format("%Y-%m-%d").to_string(),
        (false, false) => written.format("%Y-%m-%d %H:%M:%S").to_string(),
    }
}
