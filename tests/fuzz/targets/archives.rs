//! Packed documents: Word files and Excel's tables. Bytes that are no archive become the main part of one, so that the parts are
//! reached as well as their wrapping.

use std::io::{Cursor, Write};

use inkstone_corpus::ingest::{Source, read_raw};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

use super::papers::paper;
use super::tables::previewed;
use super::{ctx, with_file};

pub(super) fn docx(bytes: &[u8]) {
    paper("20240301.docx", &archive(bytes, &[("docProps/core.xml", bytes)], "word/document.xml"));
}

pub(super) fn sheets(bytes: &[u8]) {
    let parts: [(&str, &[u8]); 5] = [
        ("[Content_Types].xml", include_bytes!("../parts/content_types.xml")),
        ("_rels/.rels", include_bytes!("../parts/rels.xml")),
        ("xl/workbook.xml", include_bytes!("../parts/workbook.xml")),
        ("xl/_rels/workbook.xml.rels", include_bytes!("../parts/workbook_rels.xml")),
        ("xl/styles.xml", include_bytes!("../parts/styles.xml")),
    ];
    let name = if bytes.starts_with(b"\xd0\xcf\x11\xe0") { "t.xls" } else { "t.xlsx" };
    with_file(name, &archive(bytes, &parts, "xl/worksheets/sheet1.xml"), |path| {
        if let Ok(file) = read_raw(path, &Source::default(), ctx()) {
            assert!(
                file.rows.iter().all(|row| row.cells.as_ref().is_ok_and(|cells| cells.len() == file.columns.len()))
            );
            previewed(path);
        }
    });
}

/// The bytes themselves where they are packed, else an archive of which they are a part.
fn archive(bytes: &[u8], beside: &[(&str, &[u8])], name: &str) -> Vec<u8> {
    if bytes.starts_with(b"PK") || bytes.starts_with(b"\xd0\xcf\x11\xe0") {
        return bytes.to_vec();
    }
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    let options = SimpleFileOptions::default().compression_method(CompressionMethod::Stored);
    for (name, bytes) in beside.iter().copied().chain([(name, bytes)]) {
        zip.start_file(name, options).and_then(|()| Ok(zip.write_all(bytes)?)).expect("an archive in memory");
    }
    zip.finish().expect("an archive in memory").into_inner()
}
