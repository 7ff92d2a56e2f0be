//! Files that are made to take memory: each is refused in words, and takes no more than 256 MB and four times its size on the way.

use std::io::Write;

use flate2::Compression;
use flate2::write::{DeflateEncoder, ZlibEncoder};
use inkstone_corpus::ingest::papers::{Limits, Paper, Refused, read_file};
use inkstone_corpus::ingest::{Source, read_raw, reason};
use polars_core::prelude::{DataFrame, IntoColumn, NamedFrom, Series};
use polars_io::prelude::{ParquetCompression, ParquetWriter};
use zip::CompressionMethod;

use crate::makers::{archive, zlib};
use crate::targets::{ALL, alone, counted_as, ctx, with_file};

const MB: usize = 1 << 20;

/// Fails when some work on a file takes too much memory.
fn within<T>(name: &str, bytes: &[u8], work: impl FnOnce(&std::path::Path) -> T) -> T {
    let (done, taken) = with_file(name, bytes, |path| counted_as(ALL.len(), || work(path)));
    let limit = 256 * MB + 4 * bytes.len();
    assert!(taken.peak <= limit, "{name} of {} bytes takes {}; {limit} are the most", bytes.len(), taken.peak);
    done
}

fn read(bytes: &[u8], name: &str) -> Result<Paper, Refused> {
    let limits = Limits { max_pages: 2000, max_garbled: 0.5 };
    within(name, bytes, |path| read_file(path, &limits, None, ctx())).expect("no one cancels")
}

/// Why a document is refused, and what that is about.
fn refused(bytes: &[u8], name: &str) -> (String, String) {
    let refused = read(bytes, name).expect_err("it is refused");
    (refused.reason, refused.value)
}

/// A document that is read says something.
pub(crate) fn reads(bytes: &[u8], name: &str, message: &str) {
    let paper = read(bytes, name).unwrap_or_else(|refused| panic!("{name}: {refused:?}: {}", bytes.escape_ascii()));
    assert!(paper.title.contains(message) || paper.body.contains(message), "{paper:?}");
}

/// A table that is read has rows.
pub(crate) fn rows(bytes: &[u8], name: &str) {
    let file = within(name, bytes, |path| read_raw(path, &Source::default(), ctx())).expect(name);
    assert!(file.rows.iter().all(|row| row.cells.is_ok()));
    assert!(name.ends_with(".xlsx") || !file.rows.is_empty());
}

/// Why a table is not read.
fn unread(bytes: &[u8], name: &str) -> String {
    let error = within(name, bytes, |path| read_raw(path, &Source::default(), ctx())).expect_err("it is refused");
    format!("{error:#}")
}

/// So many megabytes of spaces, packed.
fn spaces(megabytes: usize, head: bool) -> Vec<u8> {
    let blank = vec![b' '; MB];
    if head {
        let mut out = ZlibEncoder::new(Vec::new(), Compression::best());
        (0..megabytes).for_each(|_| out.write_all(&blank).unwrap());
        return out.finish().unwrap();
    }
    let mut out = DeflateEncoder::new(Vec::new(), Compression::best());
    (0..megabytes).for_each(|_| out.write_all(&blank).unwrap());
    out.finish().unwrap()
}

/// LZW of pieces of spaces that grow by one each: seven megabytes a table.
fn lzw(tables: usize) -> Vec<u8> {
    let mut bits = Vec::new();
    let mut put = |code: usize, width: u32| bits.extend((0..width).rev().map(|i| (code >> i & 1) as u8));
    for table in 0..tables {
        put(256, if table == 0 { 9 } else { 12 });
        put(32, 9);
        (258..4095).for_each(|code| put(code, 9 + [511, 1023, 2047].iter().filter(|at| code >= **at).count() as u32));
    }
    bits.chunks(8).map(|bits| bits.iter().enumerate().fold(0, |byte, (i, bit)| byte | bit << (7 - i))).collect()
}

/// A PDF of so many pages that share their content, object 4; `more` are further objects.
fn pdf(pages: usize, content: &[u8], more: &[Vec<u8>]) -> Vec<u8> {
    let kids: String = (0..pages).map(|i| format!("{} 0 R ", 100 + i)).collect();
    let page = "<</Type/Page/Parent 2 0 R/MediaBox[0 0 595 842]/Contents 4 0 R/Resources 3 0 R>>";
    let head = [
        b"%PDF-1.5\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n".to_vec(),
        format!("2 0 obj<</Type/Pages/Count {pages}/Kids[{kids}]>>endobj\n").into_bytes(),
        b"3 0 obj<</XObject<</X 5 0 R>>/Font<</F 6 0 R>>/ExtGState<</G 7 0 R>>>>endobj\n".to_vec(),
    ];
    let pages = (0..pages).map(|i| format!("{} 0 obj{page}endobj\n", 100 + i).into_bytes());
    let content = object(4, "", content);
    let all: Vec<Vec<u8>> = head.into_iter().chain(pages).chain([content]).chain(more.iter().cloned()).collect();
    [all.concat(), b"trailer<</Root 1 0 R>>\n%%EOF\n".to_vec()].concat()
}

/// A stream as an object.
fn object(number: usize, entries: &str, data: &[u8]) -> Vec<u8> {
    let head = format!("{number} 0 obj<</Length {}{entries}>>stream\n", data.len());
    [head.as_bytes(), data, b"\nendstream endobj\n"].concat()
}

/// A PDF of one page whose content is packed by these filters.
fn packed(filters: &str, content: &[u8]) -> Vec<u8> {
    let bytes = pdf(1, b"", &[]);
    let empty = object(4, "", b"");
    let at = bytes.windows(empty.len()).position(|window| window == empty).unwrap();
    let content = object(4, &format!("/Filter{filters}"), content);
    [&bytes[..at], &content, &bytes[at + empty.len()..]].concat()
}

#[test]
fn a_pdf_that_unpacks_without_measure_is_refused_whatever_packs_it() {
    let _alone = alone();
    let bombs = [
        packed("/FlateDecode", &spaces(130, true)),
        packed("/FlateDecode", &spaces(130, false)),
        // A sum that is wrong at the end, and a fault at the beginning.
        packed("/FlateDecode", &{
            let mut broken = spaces(130, true);
            broken.truncate(broken.len() - 4);
            broken
        }),
        packed("/FlateDecode", &[&[0, 3, 0, 9, 9], b"   ".as_slice(), &spaces(130, false)].concat()),
        packed("/LZWDecode", &lzw(15)),
        packed("/RunLengthDecode", &[129, b' '].repeat(MB)),
        packed("[/FlateDecode/FlateDecode]", &zlib(&spaces(130, false))),
        packed(
            "[/ASCIIHexDecode/LZWDecode]",
            &lzw(15).iter().map(|b| format!("{b:02x}")).collect::<String>().into_bytes(),
        ),
        packed("/Fl#61teDecode", &spaces(130, true)),
        // Many of a megabyte each.
        pdf(1, b"", &(0..130).map(|i| object(200 + i, "/Filter/FlateDecode", &spaces(1, false))).collect::<Vec<_>>()),
        // What the reader unpacks to find the objects.
        pdf(1, b"", &[object(9, "/Type/ObjStm/N 1/First 4/Filter/FlateDecode", &spaces(130, true))]),
        // One content for all pages, which are held together.
        pdf(1000, &vec![b' '; MB], &[]),
    ];
    for (i, bomb) in bombs.iter().enumerate() {
        assert!(bomb.len() < 5 * MB, "a bomb is small");
        assert_eq!(refused(bomb, "bomb.pdf").0, reason::UNPACKS_TOO_LARGE, "bomb {i}");
    }
    // A picture is not unpacked, also where it is drawn as something else.
    let picture = packed("/FlateDecode/Subtype/Image", &spaces(130, true));
    assert_eq!(refused(&picture, "bomb.pdf").0, reason::NEEDS_OCR);
}

#[test]
fn a_pdf_that_draws_without_measure_is_refused() {
    let _alone = alone();
    let damaged = |bytes: &[u8]| {
        let (reason, value) = refused(bytes, "bomb.pdf");
        assert_eq!(reason, reason::DAMAGED_PDF);
        value
    };
    // 5,000 squares on each of 1,000 pages.
    assert_eq!(damaged(&pdf(1000, &b"0 0 1 1 re f\n".repeat(5000), &[])), "it draws without end");
    assert_eq!(damaged(&pdf(1, &b"q ".repeat(MB), &[])), "states that are saved without end");
    assert_eq!(damaged(&pdf(1, &b"0 0 m ".repeat(MB), &[])), "a path or a text without end");
    let long = [b"BT /F 9 Tf (".as_slice(), &b"a".repeat(8 * MB), b") Tj ET"].concat();
    assert_eq!(damaged(&pdf(1, &long, &[])), "a path or a text without end");
    let form = |content: &[u8]| object(5, "/Subtype/Form/BBox[0 0 9 9]/Resources 3 0 R", content);
    assert_eq!(damaged(&pdf(1, b"/X Do", &[form(b"/X Do /X Do")])), "a form that draws itself");
    assert_eq!(
        refused(&pdf(1, &b"/X Do ".repeat(500), &[form(&vec![b' '; MB])]), "a.pdf").0,
        reason::UNPACKS_TOO_LARGE
    );
    // A form as the mask of each of many states.
    let state = b"7 0 obj<</SMask<</S/Alpha/G 5 0 R>>>>endobj\n".to_vec();
    let masked = pdf(1, &b"/G gs q ".repeat(500), &[form(&vec![b' '; MB]), state]);
    assert_eq!(refused(&masked, "a.pdf").0, reason::UNPACKS_TOO_LARGE);
    // Widths of all numbers of 32 bits.
    let font = b"6 0 obj<</Type/Font/Subtype/Type0/BaseFont/A/Encoding/Identity-H/DescendantFonts[8 0 R]>>endobj\n\
        8 0 obj<</Type/Font/Subtype/CIDFontType2/BaseFont/A/W[0 4294967295 500]>>endobj\n";
    let wide = pdf(1, b"BT /F 9 Tf <00410042> Tj ET", &[font.to_vec()]);
    assert_eq!(damaged(&wide), "a font of more glyphs than there can be");
    let rows = "/Filter/FlateDecode/DecodeParms<</Predictor 2/BitsPerComponent 16/Columns 99999999999>>";
    assert_eq!(damaged(&pdf(1, b"", &[object(9, rows, &zlib(b"abcd"))])), "a predictor of rows without end");
}

#[test]
fn a_pdf_of_much_text_is_read_within_its_memory() {
    let _alone = alone();
    // 300 pages of 4,000 letters, each a piece of its own in a grid.
    let page: String = (0..4000)
        .map(|i| {
            format!(
                "BT /F 5 Tf {} {} Td ({}) Tj ET\n",
                20 + i % 50 * 11,
                20 + i / 50 * 10,
                char::from(b'a' + (i % 26) as u8)
            )
        })
        .collect();
    let font = b"6 0 obj<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>endobj\n".to_vec();
    reads(&pdf(100, page.as_bytes(), &[font]), "a.pdf", "a b c d");
}

/// A table of texts, so many in a group of rows.
fn parquet(texts: &[String], group: usize) -> Vec<u8> {
    let ids: Vec<u32> = (0..texts.len() as u32).collect();
    let columns = vec![Series::new("id".into(), ids).into_column(), Series::new("content".into(), texts).into_column()];
    let mut frame = DataFrame::new(texts.len(), columns).unwrap();
    let mut bytes = Vec::new();
    let writer = ParquetWriter::new(&mut bytes).set_parallel(false).with_compression(ParquetCompression::Zstd(None));
    writer.with_row_group_size(Some(group)).finish(&mut frame).unwrap();
    bytes
}

#[test]
fn a_parquet_file_unpacks_as_much_as_the_memory_holds() {
    let _alone = alone();
    let texts: Vec<String> = (0..4).map(|i| format!("{i}{}", " ".repeat(43 * MB))).collect();
    // Pages for each text: they are read one after the other, and set aside.
    let apart = parquet(&texts, 1);
    let file = within("a.parquet", &apart, |path| read_raw(path, &Source::default(), ctx())).unwrap();
    assert_eq!(file.rows.len(), 4);
    assert!(file.rows.iter().all(|row| row.cells == Err(reason::RECORD_TOO_LONG.to_owned())));
    // Pages that hold all of them.
    let together = parquet(&texts, 4);
    assert!(together.len() < MB);
    let message = unread(&together, "bomb.parquet");
    assert!(message.contains("bomb.parquet: row 1 lies in pages of 172 MB"), "{message}");
}

#[test]
fn a_packed_document_is_refused_before_it_is_unpacked() {
    let _alone = alone();
    let docx = |body: &[u8]| archive(&[("word/document.xml", body)], CompressionMethod::Deflated);
    let document =
        |inner: &str| format!("<w:document xmlns:w=\"w\"><w:body>{inner}</w:body></w:document>").into_bytes();
    assert_eq!(refused(&docx(&vec![b' '; 120 * MB]), "bomb.docx").0, reason::UNPACKS_TOO_LARGE);
    // What is within is read within the memory, also where each of its lines is short.
    let lines = docx(&document(&"<w:p><w:t>x</w:t></w:p>".repeat(3 * MB)));
    assert!(read(&lines, "a.docx").unwrap().body.len() > 3 * MB);

    let workbook = |texts: &[u8], sheet: &[u8]| {
        let parts: [(&str, &[u8]); 6] = [
            ("_rels/.rels", include_bytes!("parts/rels.xml")),
            ("xl/workbook.xml", include_bytes!("parts/workbook.xml")),
            ("xl/_rels/workbook.xml.rels", include_bytes!("parts/workbook_rels.xml")),
            ("xl/styles.xml", include_bytes!("parts/styles.xml")),
            ("xl/sharedStrings.xml", texts),
            ("xl/worksheets/sheet1.xml", sheet),
        ];
        archive(&parts, CompressionMethod::Deflated)
    };
    let cells = |count: usize| {
        let rows: String =
            (1..=count).map(|row| format!("<row r=\"{row}\"><c r=\"J{row}\"><v>1</v></c></row>")).collect();
        format!("<worksheet><sheetData>{rows}</sheetData></worksheet>").into_bytes()
    };
    rows(&workbook(b"<sst></sst>", &cells(100_000)), "a.xlsx");
    let message = unread(&workbook(b"<sst></sst>", &cells(1_000_000)), "bomb.xlsx");
    assert!(message.contains("bomb.xlsx") && message.contains("MB of memory; save the sheet as CSV"), "{message}");
    let texts = [b"<sst>".as_slice(), &b"<si><t>x</t></si>".repeat(4 * MB), b"</sst>"].concat();
    assert!(unread(&workbook(&texts, &cells(1)), "bomb.xlsx").contains("MB of memory"));
    let claim = unread(&workbook(b"<sst uniqueCount='9000000000'></sst>", &cells(1)), "bomb.xlsx");
    assert!(claim.contains("MB of memory"), "{claim}");
    let text = unread(&workbook(b"<sst></sst>", &vec![b' '; 200 * MB]), "bomb.xlsx");
    assert!(text.contains("a text of more than 8 MB; save the sheet as CSV"), "{text}");
}
