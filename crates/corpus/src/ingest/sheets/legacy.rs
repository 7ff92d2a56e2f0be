//! A look at a workbook of before 2007 (.xls) before it is read: its reader believes what a file says of its own size, and makes
//! a table of every sheet from the first cell to the last.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::Read;

use anyhow::{Context, Result};
use calamine::Data;

use super::{CSV, Held};
use inkstone_base::ensure;
use inkstone_base::language::Word;
use inkstone_base::limits;

/// Rows and columns of a sheet at the most, as the format has them.
const ROWS: u32 = 1 << 16;
const COLUMNS: u16 = 256;
/// Kinds of records: where a sheet begins in the stream, the end of a sheet, its size, several cells of one row.
const SHEET: u16 = 0x0085;
const END: u16 = 0x000a;
const DIMENSIONS: u16 = 0x0200;
const MANY: u16 = 0x00bd;
/// Cells of all kinds, which begin with their row and column.
const CELLS: [u16; 9] = [0x0006, 0x0203, 0x0204, 0x0205, 0x0207, 0x00d6, 0x00fd, 0x027e, MANY];
const DAMAGED: Word = Word("不是 .xls 工作簿，或已损坏", "no .xls workbook, or a damaged one");

/// Refuses a file whose streams go round in circles or whose sheets are larger than any, and counts in `held` what its reader keeps.
pub(super) fn check(file: &File, held: &mut Held) -> Result<()> {
    let size = file.metadata()?.len();
    ensure!(
        size <= limits::FILE,
        "工作簿大于 {} MB；{CSV}",
        "a workbook of more than {} MB; {CSV}",
        limits::FILE >> 20
    );
    // Strictly: no sector stands in two streams, or twice in one.
    let mut compound = cfb::CompoundFile::open_strict(file.try_clone()?).context(DAMAGED)?;
    ensure!(compound.walk().all(|entry| entry.len() <= size), DAMAGED);
    // The reader names an encrypted file, or one of another kind, as such.
    let Some(name) = ["/Workbook", "/Book"].into_iter().find(|name| compound.is_stream(name)) else { return Ok(()) };
    let mut stream = Vec::new();
    compound.open_stream(name)?.take(size).read_to_end(&mut stream).context(DAMAGED)?;
    // The reader's table, and the rows that are made of it.
    held.take(2 * (check_stream(&stream)? * size_of::<Data>()) as u64)
}

/// Records by kind and content, up to where they end or break off.
fn records(mut stream: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    std::iter::from_fn(move || {
        let (head, rest) = stream.split_at_checked(4)?;
        let (record, rest) = rest.split_at_checked(usize::from(short(head, 2)))?;
        stream = rest;
        Some((short(head, 0), record))
    })
}

/// The cells of all sheets, from the first to the last of each.
fn check_stream(stream: &[u8]) -> Result<usize> {
    let (mut places, mut cells) = (BTreeSet::new(), 0);
    for (_, sheet) in records(stream).take_while(|(kind, _)| *kind != END).filter(|(kind, _)| *kind == SHEET) {
        let place = long(sheet, 0) as usize;
        ensure!(places.insert(place) && places.len() <= limits::COLUMNS, DAMAGED);
        let (mut top, mut bottom, mut left, mut right) = (u16::MAX, 0, u16::MAX, 0);
        for (kind, record) in records(stream.get(place..).unwrap_or_default()) {
            if kind == DIMENSIONS {
                ensure!(
                    plausible(record),
                    "工作表声明的行数或列数超出 .xls 的上限：{DAMAGED}",
                    "a sheet that claims more rows or columns than .xls has: {DAMAGED}"
                );
            }
            if !CELLS.contains(&kind) {
                continue;
            }
            let (row, column) = (short(record, 0), short(record, 2));
            let last = if kind == MANY { short(record, record.len().saturating_sub(2)) } else { column };
            ensure!(
                column < COLUMNS && last < COLUMNS,
                "有单元格超出 .xls 的列数：{DAMAGED}",
                "a cell beyond the columns of .xls: {DAMAGED}"
            );
            (top, bottom) = (top.min(row), bottom.max(row));
            (left, right) = (left.min(column), right.max(column).max(last));
        }
        if top <= bottom && left <= right {
            cells += (usize::from(bottom - top) + 1) * (usize::from(right - left) + 1);
        }
        ensure!(cells <= limits::CELLS, "超过 {} 个单元格；{CSV}", "more than {} cells; {CSV}", limits::CELLS);
    }
    Ok(cells)
}

/// True if the size that a sheet claims can be; of the last row and column it says the number behind.
fn plausible(record: &[u8]) -> bool {
    match record.len() {
        10 => short(record, 0) <= short(record, 2).max(1) && short(record, 6) <= COLUMNS,
        _ => long(record, 0) <= long(record, 4).max(1) && long(record, 4) <= ROWS && short(record, 10) <= COLUMNS,
    }
}

fn short(record: &[u8], at: usize) -> u16 {
    record.get(at..at + 2).map_or(0, |bytes| u16::from_le_bytes([bytes[0], bytes[1]]))
}

fn long(record: &[u8], at: usize) -> u32 {
    u32::from(short(record, at)) | u32::from(short(record, at + 2)) << 16
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(kind: u16, content: &[u8]) -> Vec<u8> {
        [&kind.to_le_bytes(), &(content.len() as u16).to_le_bytes(), content].concat()
    }

    /// A workbook of one sheet behind its globals.
    fn stream(sheet: &[Vec<u8>]) -> Vec<u8> {
        let place = 4 + 8 + 4_u32;
        let globals = [record(SHEET, &[place.to_le_bytes(), [0; 4]].concat()), record(END, &[])].concat();
        assert_eq!(globals.len(), place as usize);
        [globals, sheet.concat(), record(END, &[])].concat()
    }

    fn cell(row: u16, column: u16) -> Vec<u8> {
        record(0x0203, &[row.to_le_bytes().as_slice(), &column.to_le_bytes(), &[0; 10]].concat())
    }

    fn dimensions(rows: u32, columns: u16) -> Vec<u8> {
        let ends = [&0u32.to_le_bytes()[..], &rows.to_le_bytes(), &0u16.to_le_bytes(), &columns.to_le_bytes(), &[0; 2]];
        record(DIMENSIONS, &ends.concat())
    }

    #[test]
    fn sheets_as_the_format_has_them_pass() {
        assert_eq!(
            check_stream(&stream(&[dimensions(65_536, 256), cell(0, 0), cell(60_000, 250)])).unwrap(),
            60_001 * 251
        );
        assert_eq!(check_stream(&stream(&[dimensions(0, 0)])).unwrap(), 0);
        assert_eq!(check_stream(b"").unwrap(), 0);
    }

    #[test]
    fn sheets_that_claim_more_than_there_can_be_are_refused() {
        let refused = |sheet: &[Vec<u8>]| check_stream(&stream(sheet)).unwrap_err().to_string();
        assert!(refused(&[dimensions(u32::MAX, 4)]).contains("claims more rows"));
        assert!(refused(&[dimensions(4, u16::MAX)]).contains("claims more rows"));
        assert!(refused(&[cell(0, 0), cell(65_535, 65_535)]).contains("beyond the columns"));
        assert!(refused(&[cell(0, 0), cell(65_535, 255)]).contains("more than 16000000 cells; save the sheet as CSV"));
        let twice = record(SHEET, &[0; 8]).repeat(2);
        assert!(check_stream(&twice).is_err(), "one place is not two sheets");
    }
}
