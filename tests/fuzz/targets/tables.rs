//! Tables: every byte belongs to a row that is read or set aside, however the bytes arrive.

use std::io::{self, Read};
use std::path::Path;

use inkstone_corpus::ingest::{Format, Params, RawFile, Source, Table, cut_rows, preview, read_raw};

use super::{ctx, with_file};

/// A reader that gives a byte at a time, and is now and then interrupted.
struct Dripping<'b>(&'b [u8], bool);

impl Read for Dripping<'_> {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        self.1 = !self.1;
        if self.1 && self.0.len().is_multiple_of(7) {
            return Err(io::ErrorKind::Interrupted.into());
        }
        self.0.read(&mut to[..1])
    }
}

pub(super) fn csv(bytes: &[u8]) {
    let [choice, width, bytes @ ..] = bytes else { return };
    let delimiter = [b',', b'\t', b';', b'|'][usize::from(choice % 4)];
    let encoding = ["utf-8", "gb18030", "big5"][usize::from(choice / 4 % 3)];
    let width = usize::from(width % 8);
    let cut_at_once = cut_rows(bytes, delimiter, encoding, width).expect("bytes in memory");
    assert_eq!(cut_rows(Dripping(bytes, false), delimiter, encoding, width).expect("bytes in memory"), cut_at_once);
    let mut rest = bytes;
    for (row, _) in &cut_at_once {
        while !rest.starts_with(row) {
            assert!(rest.starts_with(b"\r") || rest.starts_with(b"\n"), "bytes are lost before {row:?}: {rest:?}");
            rest = &rest[1..];
        }
        rest = &rest[row.len()..];
    }
    assert!(rest.iter().all(|byte| matches!(byte, b'\r' | b'\n')), "bytes are lost at the end: {rest:?}");
    table("t.csv", bytes);
}

pub(super) fn json(bytes: &[u8]) {
    let [choice, bytes @ ..] = bytes else { return };
    table(["t.json", "t.jsonl"][usize::from(choice % 2)], bytes);
}

/// Reads a text table in all ways in which it is read.
fn table(name: &str, bytes: &[u8]) {
    with_file(name, bytes, |path| {
        let Ok(RawFile { columns, rows, .. }) = read_raw(path, &Source::default(), ctx()) else { return };
        let mut rest = bytes;
        for (row, number) in rows.iter().zip(1..) {
            assert_eq!(row.number, number);
            assert!(row.cells.as_ref().map_or_else(|reason| !reason.is_empty(), |cells| cells.len() == columns.len()));
            // In order, and with the bytes of the file.
            let at = rest.windows(row.bytes.len().max(1)).position(|window| window == row.bytes);
            let at = if row.bytes.is_empty() { 0 } else { at.expect("a row has the bytes of its file") };
            rest = &rest[at + row.bytes.len()..];
        }
        previewed(path);
    });
}

/// Tries the rows as documents, prices and securities: each is taken or set aside.
pub(super) fn previewed(path: &Path) {
    for table in [Table::Documents, Table::Prices, Table::Securities, Table::Relations, Table::Events] {
        let source = Source { name: "s".into(), path: path.display().to_string(), table, ..Source::default() };
        if let Ok(seen) = preview(&source, &Params::default(), Path::new("."), ctx()) {
            assert_eq!(seen.accepted + seen.rejected.values().sum::<usize>(), seen.tried);
        }
    }
}

pub(super) fn parquet(bytes: &[u8]) {
    with_file("t.parquet", bytes, |path| {
        let source = Source { format: Format::Parquet, ..Source::default() };
        if let Ok(file) = read_raw(path, &source, ctx()) {
            assert!(file.rows.iter().flat_map(|row| &row.cells).all(|cells| cells.len() == file.columns.len()));
        }
    });
}
