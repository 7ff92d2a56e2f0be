//! Excel workbooks as tables: the rows of one sheet below its header row, each cell as the text it would have in a CSV.
//!
//! The first row that is not empty is the header. Rows are numbered by their place below it, so that row `n` stands `n` rows below
//! the header in Excel too; empty rows are passed over. Dates are written as `2024-03-01` or `2024-03-01 15:00:00`, whole
//! numbers without a decimal point; errors (`#N/A`) are absent values. A sheet is held in memory whole, within the limits of [`limits`].

mod legacy;

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufReader, Read, Seek, SeekFrom};
use std::path::Path;
use std::vec::IntoIter;

use anyhow::{Context, Result, bail, ensure};
use calamine::{Data, DataRef, ExcelDateTime, Reader, Xls, Xlsx};
use chrono::{Duration, NaiveDate};

use crate::ingest::limits;
use crate::ingest::reader::{Cells, Row};
use crate::job;

/// Rows of a batch.
const BATCH_ROWS: usize = 2048;
/// The way out for what is too large for a workbook.
const CSV: &str = "save the sheet as CSV (UTF-8)";
/// How compound files begin: workbooks of before 2007, and encrypted ones.
const COMPOUND: [u8; 4] = [0xd0, 0xcf, 0x11, 0xe0];

/// The rows of a sheet.
pub(super) struct SheetRows {
    columns: Vec<String>,
    /// The rows below the header that have cells, with their place below it.
    rows: IntoIter<(u64, Vec<Data>)>,
}

impl SheetRows {
    /// Opens a sheet by its name, or the first one.
    pub(super) fn open(path: &Path, sheet: Option<&str>) -> Result<SheetRows> {
        let grid = job::contained(|| grid_of(path, sheet))
            .unwrap_or_else(|panic| bail!("damaged or unsupported workbook ({})", job::panic_text(panic.as_ref())))
            .with_context(|| format!("cannot read {}", path.display()))?;
        let mut rows = grid.rows.into_iter();
        let Some((top, header)) = rows.next() else {
            bail!("{}: the sheet is empty", path.display());
        };
        // What stands to the left of all cells is no column.
        let left = grid.left as usize;
        let columns: Vec<String> =
            (left..grid.width).map(|i| header.get(i).and_then(text_of).unwrap_or_default().trim().to_owned()).collect();
        let below = |(row, mut cells): (u32, Vec<Data>)| {
            cells.drain(..left.min(cells.len()));
            (u64::from(row - top), cells)
        };
        Ok(SheetRows { columns, rows: rows.map(below).collect::<Vec<_>>().into_iter() })
    }

    pub(super) fn columns(&self) -> Vec<String> {
        self.columns.clone()
    }

    /// The next rows, empty at the end; only the cells in `used` are written out.
    pub(super) fn next_batch(&mut self, used: &[bool]) -> Vec<Row> {
        let row = |(number, cells): (u64, Vec<Data>)| {
            let text = |(i, used): (usize, &bool)| if *used { cells.get(i).and_then(text_of) } else { None };
            let cells: Cells = used.iter().enumerate().map(text).collect();
            Row { number, cells: Ok(cells), bytes: Vec::new() }
        };
        self.rows.by_ref().take(BATCH_ROWS).map(row).collect()
    }
}

/// The cells of a sheet by row, as far to the right as each row goes.
#[derive(Default)]
struct Grid {
    rows: BTreeMap<u32, Vec<Data>>,
    /// The first column with a cell, and the number of columns up to the last.
    left: u32,
    width: usize,
    cells: usize,
    text: u64,
}

impl Grid {
    /// Puts a cell in its place, as long as no limit is passed.
    fn put(&mut self, (row, column): (u32, u32), cell: Data) -> Result<()> {
        let (at, old) = (column as usize, self.width);
        ensure!(at < limits::COLUMNS, "more than {} columns; {CSV}", limits::COLUMNS);
        self.left = if old == 0 { column } else { self.left.min(column) };
        self.width = old.max(at + 1);
        self.text += match &cell {
            Data::String(text) | Data::DateTimeIso(text) | Data::DurationIso(text) => text.len() as u64,
            _ => 0,
        };
        ensure!(self.text <= limits::WORKBOOK, "more than {} MB of text; {CSV}", limits::WORKBOOK >> 20);
        let cells = self.rows.entry(row).or_default();
        if at >= cells.len() {
            self.cells += at + 1 - cells.len();
            ensure!(self.cells <= limits::CELLS, "more than {} cells; {CSV}", limits::CELLS);
            cells.resize(at + 1, Data::Empty);
        }
        cells[at] = cell;
        Ok(())
    }
}

fn grid_of(path: &Path, sheet: Option<&str>) -> Result<Grid> {
    let mut file = File::open(path)?;
    let mut mark = [0; 4];
    let marked = file.read_exact(&mut mark).is_ok();
    ensure!(marked, "the file is empty");
    file.seek(SeekFrom::Start(0))?;
    let mut grid = Grid::default();
    if mark == COMPOUND {
        legacy::check(&file)?;
        file.seek(SeekFrom::Start(0))?;
        let old = Xls::new(BufReader::new(file));
        let mut workbook = old.context("a workbook that is encrypted (save it without a password) or no .xls")?;
        let name = name_of(&workbook.sheet_names(), sheet)?;
        let range = workbook.worksheet_range(&name)?;
        let (top, left) = range.start().unwrap_or_default();
        for (row, column, cell) in range.used_cells() {
            grid.put((top + row as u32, left + column as u32), cell.clone())?;
        }
        return Ok(grid);
    }
    check_unpacked(&file)?;
    file.seek(SeekFrom::Start(0))?;
    let mut workbook: Xlsx<_> = Xlsx::new(BufReader::new(file)).context("no .xlsx workbook")?;
    let name = name_of(&workbook.sheet_names(), sheet)?;
    let mut cells = workbook.worksheet_cells_reader(&name)?;
    while let Some(cell) = cells.next_cell()? {
        if !matches!(cell.get_value(), DataRef::Empty) {
            // What many cells share is counted for each, as each has its own.
            grid.put(cell.get_position(), cell.get_value().clone().into())?;
        }
    }
    Ok(grid)
}

/// The name of the sheet that is asked for, or of the first.
fn name_of(names: &[String], sheet: Option<&str>) -> Result<String> {
    match sheet {
        Some(name) if names.iter().any(|n| n == name) => Ok(name.to_owned()),
        Some(name) => {
            bail!("there is no sheet {name:?} (sheets: {}); mend `sheet` of its [[source]]", names.join(", "))
        }
        None => names.first().context("the workbook has no sheets").cloned(),
    }
}

/// Unpacks every part of a workbook once and forgets it, so that what the reader will hold is known, whatever headers say.
fn check_unpacked(file: &File) -> Result<()> {
    limits::check_archive(BufReader::new(file.try_clone()?))?;
    let mut archive = zip::ZipArchive::new(BufReader::new(file.try_clone()?)).context("no Excel workbook")?;
    let (mut buffer, mut unpacked) = (vec![0; 1 << 16], 0);
    for i in 0..archive.len() {
        // A part that cannot be unpacked is the reader's to judge, which may not need it.
        let Ok(mut part) = archive.by_index(i) else { continue };
        let texts = part.name().is_ok_and(|name| name.to_ascii_lowercase().ends_with("sharedstrings.xml"));
        let mut tags = 0;
        while let Ok(n @ 1..) = part.read(&mut buffer) {
            unpacked += n as u64;
            ensure!(unpacked <= limits::WORKBOOK, "it unpacks to more than {} MB; {CSV}", limits::WORKBOOK >> 20);
            if texts {
                tags += buffer[..n].iter().filter(|b| **b == b'<').count() as u64;
                ensure!(tags <= limits::SHARED_TAGS, "more than {} texts; {CSV}", limits::SHARED_TAGS / 4);
            }
        }
    }
    Ok(())
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

#[cfg(test)]
mod tests {
    use std::io::Write;

    use zip::ZipWriter;
    use zip::write::SimpleFileOptions;

    use super::*;

    const HEAD: &str = r#"<?xml version="1.0"?><worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetData>"#;

    /// A workbook of one sheet, which `sheet` writes piece by piece, with these texts.
    fn workbook(path: &Path, texts: &str, sheet: impl Fn(&mut dyn Write)) {
        let mut zip = ZipWriter::new(File::create(path).unwrap());
        let (office, package) = (
            "http://schemas.openxmlformats.org/officeDocument/2006/relationships",
            "http://schemas.openxmlformats.org/package/2006/relationships",
        );
        let main = "http://schemas.openxmlformats.org/spreadsheetml/2006/main";
        let parts = [
            (
                "_rels/.rels",
                format!(
                    r#"<Relationships xmlns="{package}"><Relationship Id="r1" Type="{office}/officeDocument" Target="xl/workbook.xml"/></Relationships>"#
                ),
            ),
            (
                "xl/workbook.xml",
                format!(
                    r#"<workbook xmlns="{main}" xmlns:r="{office}"><sheets><sheet name="a" sheetId="1" r:id="r1"/></sheets></workbook>"#
                ),
            ),
            (
                "xl/_rels/workbook.xml.rels",
                format!(
                    r#"<Relationships xmlns="{package}"><Relationship Id="r1" Type="{office}/worksheet" Target="worksheets/sheet1.xml"/></Relationships>"#
                ),
            ),
            ("xl/sharedStrings.xml", format!(r#"<sst xmlns="{main}">{texts}</sst>"#)),
        ];
        for (name, text) in parts {
            zip.start_file(name, SimpleFileOptions::default()).unwrap();
            zip.write_all(text.as_bytes()).unwrap();
        }
        zip.start_file("xl/worksheets/sheet1.xml", SimpleFileOptions::default()).unwrap();
        zip.write_all(HEAD.as_bytes()).unwrap();
        sheet(&mut zip);
        zip.write_all(b"</sheetData></worksheet>").unwrap();
        zip.finish().unwrap();
    }

    fn opened(texts: &str, sheet: impl Fn(&mut dyn Write)) -> Result<SheetRows> {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.xlsx");
        workbook(&path, texts, sheet);
        assert!(path.metadata().unwrap().len() < 8 << 20, "a bomb is small");
        SheetRows::open(&path, None)
    }

    fn refusal(texts: &str, sheet: impl Fn(&mut dyn Write)) -> String {
        format!("{:#}", opened(texts, sheet).err().unwrap())
    }

    #[test]
    fn rows_may_be_of_any_length_and_stand_anywhere() {
        let texts = "<si><t>标题</t></si><si><t>正文</t></si>";
        let rows = r#"<row r="3"><c r="B3" t="s"><v>0</v></c><c r="C3" t="s"><v>1</v></c><c r="D3" t="s"><v>1</v></c></row>
            <row r="900000"><c r="C900000"><v>600517</v></c></row><row r="4"><c r="B4" t="s"><v>0</v></c></row>"#;
        let mut sheet = opened(texts, |out| out.write_all(rows.as_bytes()).unwrap()).unwrap();
        assert_eq!(sheet.columns(), ["标题", "正文", "正文"]);
        let shown: Vec<_> =
            sheet.next_batch(&[true, true, false]).into_iter().map(|r| (r.number, r.cells.unwrap())).collect();
        let text = |text: &str| Some(text.to_owned());
        assert_eq!(shown, [(1, vec![text("标题"), None, None]), (899_997, vec![None, text("600517"), None])]);
    }

    #[test]
    fn a_small_file_cannot_fill_the_memory() {
        let far = r#"<row r="1"><c r="A1"><v>1</v></c></row><row r="1048576"><c r="XFD1048576"><v>1</v></c></row>"#;
        assert!(
            refusal("", |out| out.write_all(far.as_bytes()).unwrap())
                .contains("more than 10000 columns; save the sheet as CSV")
        );
        let wide = refusal("", |out| {
            (1..=1700).for_each(|row| write!(out, r#"<row r="{row}"><c r="NTP{row}"><v>1</v></c></row>"#).unwrap());
        });
        assert!(wide.contains("more than 16000000 cells"), "{wide}");
        let blank = vec![b' '; 1 << 20];
        let unpacked = refusal("", |out| (0..1025).for_each(|_| out.write_all(&blank).unwrap()));
        assert!(unpacked.contains("unpacks to more than 1024 MB"), "{unpacked}");
        // One text of a megabyte in 1,100 cells.
        let text = format!("<si><t>{}</t></si>", "x".repeat(1 << 20));
        let shared = refusal(&text, |out| {
            (1..=1100).for_each(|row| write!(out, r#"<row r="{row}"><c r="A{row}" t="s"><v>0</v></c></row>"#).unwrap());
        });
        assert!(shared.contains("more than 1024 MB of text"), "{shared}");
    }
}
