//! Excel workbooks as tables: the rows of one sheet below its header row, each cell as the text it would have in a CSV.
//!
//! The first row that is not empty is the header. Rows are numbered by their place below it, so that row `n` stands `n` rows below
//! the header in Excel too; empty rows are passed over. Dates are written as `2024-03-01` or `2024-03-01 15:00:00`, whole
//! numbers without a decimal point; errors (`#N/A`) are absent values. A sheet is held in memory whole, within the limits of [`limits`].

mod legacy;
mod packed;

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufReader, Read, Seek, SeekFrom};
use std::path::Path;
use std::vec::IntoIter;

use anyhow::{Context, Result};
use calamine::{Data, DataRef, ExcelDateTime, Reader, Xls, Xlsx};
use chrono::{Duration, NaiveDate};

use crate::ingest::row::{Cells, SourceRow};
use inkstone_base::job;
use inkstone_base::language::Word;
use inkstone_base::limits;
use inkstone_base::{bail, ensure, message};

/// Rows of a batch.
const BATCH_ROWS: usize = 2048;
/// Bytes that a text takes beside its letters, and a row beside its cells.
const TEXT: usize = 16;
const ROW: usize = 96;
/// The way out for tables that are too large for a workbook.
const CSV: Word = Word("请把工作表存为 CSV（UTF-8）", "save the sheet as CSV (UTF-8)");
/// First bytes of compound files: workbooks of before 2007, and encrypted ones.
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
            .unwrap_or_else(|panic| {
                bail!(
                    "工作簿损坏或不受支持（{}）",
                    "damaged or unsupported workbook ({})",
                    job::panic_text(panic.as_ref())
                )
            })
            .with_context(|| message!("无法读取 {}", "cannot read {}", path.display()))?;
        let mut rows = grid.rows.into_iter();
        let Some((top, header)) = rows.next() else {
            bail!("{}：工作表为空", "{}: the sheet is empty", path.display());
        };
        // Space to the left of all cells is no column.
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
    pub(super) fn next_batch(&mut self, used: &[bool]) -> Vec<SourceRow> {
        let row = |(number, cells): (u64, Vec<Data>)| {
            let text = |(i, used): (usize, &bool)| if *used { cells.get(i).and_then(text_of) } else { None };
            let cells: Cells = used.iter().enumerate().map(text).collect();
            SourceRow { number, cells: Ok(cells), bytes: Vec::new() }
        };
        self.rows.by_ref().take(BATCH_ROWS).map(row).collect()
    }
}

/// Bytes of memory that a workbook takes.
struct Held {
    taken: u64,
    limit: u64,
}

impl Held {
    /// None yet, of a workbook of so many bytes.
    fn new(size: u64) -> Held {
        Held { taken: 0, limit: limits::HELD + 3 * size }
    }

    fn take(&mut self, bytes: u64) -> Result<()> {
        self.taken += bytes;
        self.check(0)
    }

    /// Fails when so many bytes more are too many.
    fn check(&self, more: u64) -> Result<()> {
        let limit = self.limit >> 20;
        ensure!(
            self.taken.saturating_add(more) <= self.limit,
            "单元格与文本占用内存超过 {limit} MB；{CSV}",
            "its cells and texts take more than {limit} MB of memory; {CSV}"
        );
        Ok(())
    }
}

/// The cells of a sheet by row, as far to the right as each row goes.
struct SheetGrid {
    rows: BTreeMap<u32, Vec<Data>>,
    /// The first column with a cell, and the number of columns up to the last.
    left: u32,
    width: usize,
    cells: usize,
    held: Held,
    /// The row of the last cell.
    last: u32,
}

impl SheetGrid {
    fn new(held: Held) -> SheetGrid {
        SheetGrid { rows: BTreeMap::new(), left: 0, width: 0, cells: 0, held, last: 0 }
    }

    /// Puts a cell in its place, as long as no limit is passed.
    fn put(&mut self, (row, column): (u32, u32), cell: Data) -> Result<()> {
        let (at, old) = (column as usize, self.width);
        ensure!(at < limits::COLUMNS, "超过 {} 列；{CSV}", "more than {} columns; {CSV}", limits::COLUMNS);
        self.left = if old == 0 { column } else { self.left.min(column) };
        self.width = old.max(at + 1);
        self.held.take(match &cell {
            Data::String(text) | Data::DateTimeIso(text) | Data::DurationIso(text) => (text.len() + TEXT) as u64,
            _ => 0,
        })?;
        if self.last != row {
            // Most rows are complete when the next one begins.
            self.rows.get_mut(&self.last).into_iter().for_each(Vec::shrink_to_fit);
            self.last = row;
        }
        let known = self.rows.len();
        let cells = self.rows.entry(row).or_default();
        if at >= cells.len() {
            let added = at + 1 - cells.len();
            self.cells += added;
            ensure!(self.cells <= limits::CELLS, "超过 {} 个单元格；{CSV}", "more than {} cells; {CSV}", limits::CELLS);
            self.held.take((added * size_of::<Data>()) as u64)?;
            cells.resize(at + 1, Data::Empty);
        }
        cells[at] = cell;
        self.held.take(((self.rows.len() - known) * ROW) as u64)
    }
}

fn grid_of(path: &Path, sheet: Option<&str>) -> Result<SheetGrid> {
    let mut file = File::open(path)?;
    let mut mark = [0; 4];
    let marked = file.read_exact(&mut mark).is_ok();
    ensure!(marked, "文件为空", "the file is empty");
    file.seek(SeekFrom::Start(0))?;
    let mut held = Held::new(file.metadata()?.len());
    if mark == COMPOUND {
        legacy::check(&file, &mut held)?;
        let mut grid = SheetGrid::new(Held::new(held.limit));
        file.seek(SeekFrom::Start(0))?;
        let old = Xls::new(BufReader::new(file));
        let mut workbook = old.context(Word(
            "工作簿已加密（请去掉密码后保存），或不是 .xls",
            "a workbook that is encrypted (save it without a password) or no .xls",
        ))?;
        let name = name_of(&workbook.sheet_names(), sheet)?;
        let range = workbook.worksheet_range(&name)?;
        let (top, left) = range.start().unwrap_or_default();
        for (row, column, cell) in range.used_cells() {
            grid.put((top + row as u32, left + column as u32), cell.clone())?;
        }
        return Ok(grid);
    }
    packed::check(&file, &mut held)?;
    let mut grid = SheetGrid::new(held);
    file.seek(SeekFrom::Start(0))?;
    let mut workbook: Xlsx<_> =
        Xlsx::new(BufReader::new(file)).context(Word("不是 .xlsx 工作簿", "no .xlsx workbook"))?;
    let name = name_of(&workbook.sheet_names(), sheet)?;
    let mut cells = workbook.worksheet_cells_reader(&name)?;
    while let Some(cell) = cells.next_cell()? {
        if !matches!(cell.get_value(), DataRef::Empty) {
            // A string that many cells share is counted for each of them, since each gets a copy.
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
            bail!(
                "没有工作表 {name:?}（现有：{}）；请改正其 [[source]] 的 `sheet`",
                "there is no sheet {name:?} (sheets: {}); fix `sheet` of its [[source]]",
                names.join(", ")
            )
        }
        None => names.first().context(Word("工作簿没有工作表", "the workbook has no sheets")).cloned(),
    }
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
        let main = "http://schemas.openxmlformats.org/spreadsheetml/2006/main";
        workbook_of(path, &format!(r#"<sst xmlns="{main}">{texts}</sst>"#), sheet);
    }

    /// The same with a table of texts that is written as it is given.
    fn workbook_of(path: &Path, table: &str, sheet: impl Fn(&mut dyn Write)) {
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
            ("xl/sharedStrings.xml", table.to_owned()),
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
        let expected = [(1, [Some("标题"), None, None]), (899_997, [None, Some("600517"), None])];
        assert_eq!(shown, expected.map(|(number, cells)| (number, cells.into_iter().collect())));
    }

    #[test]
    fn numbers_keep_their_fifteen_digits() {
        let numbers = ["123456789012345", "123456789012346", "0.123456789012345", "1000"];
        let mut sheet = opened("<si><t>编号</t></si>", |out| {
            write!(out, r#"<row r="1"><c r="A1" t="s"><v>0</v></c></row>"#).unwrap();
            for (row, number) in (2..).zip(numbers) {
                write!(out, r#"<row r="{row}"><c r="A{row}"><v>{number}</v></c></row>"#).unwrap();
            }
        })
        .unwrap();
        let read: Vec<_> = sheet.next_batch(&[true]).into_iter().map(|row| row.cells.unwrap()).collect();
        assert_eq!(read, numbers.map(|number| [Some(number)].into_iter().collect()));
    }

    #[test]
    fn a_small_file_cannot_fill_the_memory() {
        let far = r#"<row r="1"><c r="A1"><v>1</v></c></row><row r="1048576"><c r="XFD1048576"><v>1</v></c></row>"#;
        assert!(
            refusal("", |out| out.write_all(far.as_bytes()).unwrap())
                .contains("more than 10000 columns; save the sheet as CSV")
        );
        let memory = format!("take more than {} MB of memory; save the sheet as CSV", limits::HELD >> 20);
        let wide = refusal("", |out| {
            (1..=1700).for_each(|row| write!(out, r#"<row r="{row}"><c r="NTP{row}"><v>1</v></c></row>"#).unwrap());
        });
        assert!(wide.contains(&memory), "{wide}");
        let blank = b"<!---->".repeat(1 << 17);
        let unpacked = refusal("", |out| (0..1200).for_each(|_| out.write_all(&blank).unwrap()));
        assert!(unpacked.contains("unpacks to more than 1024 MB"), "{unpacked}");
        // One text of a megabyte in 1,100 cells.
        let text = format!("<si><t>{}</t></si>", "x".repeat(1 << 20));
        let shared = refusal(&text, |out| {
            (1..=1100).for_each(|row| write!(out, r#"<row r="{row}"><c r="A{row}" t="s"><v>0</v></c></row>"#).unwrap());
        });
        assert!(shared.contains(&memory), "{shared}");
        let texts = refusal(&"<si><t>x</t></si>".repeat(3 << 20), |_| ());
        assert!(texts.contains(&memory), "{texts}");
        let long = refusal("", |out| (0..9).for_each(|_| out.write_all(&vec![b' '; 1 << 20]).unwrap()));
        assert!(long.contains("a text of more than 8 MB; save the sheet as CSV"), "{long}");
    }

    /// The reader takes memory for as many texts as there are said to be.
    #[test]
    fn a_table_of_texts_cannot_claim_more_than_memory_has() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.xlsx");
        let claiming = |claim: &str| {
            workbook_of(&path, &format!("<sst {claim}><si><t>标题</t></si></sst>"), |out| {
                out.write_all(br#"<row r="1"><c r="A1" t="s"><v>0</v></c></row>"#).unwrap();
            });
            SheetRows::open(&path, None)
        };
        assert_eq!(claiming(r#"uniqueCount="3""#).unwrap().columns(), ["标题"]);
        for claim in ["uniqueCount='20000000000'", "uniqueCount = \"99999999999999999999\""] {
            let error = format!("{:#}", claiming(claim).err().unwrap());
            assert!(error.contains("MB of memory; save the sheet as CSV"), "{error}");
        }
    }
}
