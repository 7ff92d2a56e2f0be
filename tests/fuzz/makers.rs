//! Small sound files of random structure, so that changes to them get past the first look of their readers: PDF with every kind of
//! filter, reference table and packed object, Parquet of all types and codecs, workbooks with all kinds of cells.

use std::io::{Cursor, Write};

use flate2::Compression;
use flate2::write::{DeflateEncoder, ZlibEncoder};
use polars_core::prelude::{Column, DataFrame, DataType, IntoColumn, IntoSeries, NamedFrom, Series, TimeUnit};
use polars_io::prelude::{ParquetCompression, ParquetWriter};
use rand::{Rng, RngExt};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

/// The text on the page of a generated PDF.
pub(crate) const SAID: &str = "Orders rose and margins recovered";

pub(crate) fn zlib(data: &[u8]) -> Vec<u8> {
    let mut out = ZlibEncoder::new(Vec::new(), Compression::best());
    out.write_all(data).and_then(|()| out.finish()).expect("bytes in memory")
}

/// Without a head.
pub(crate) fn deflate(data: &[u8]) -> Vec<u8> {
    let mut out = DeflateEncoder::new(Vec::new(), Compression::best());
    out.write_all(data).and_then(|()| out.finish()).expect("bytes in memory")
}

/// LZW without any compression: codes of nine bits, and the table begun anew before they grow.
fn lzw(data: &[u8]) -> Vec<u8> {
    let codes =
        data.chunks(200).flat_map(|chunk| std::iter::once(256).chain(chunk.iter().map(|byte| u32::from(*byte))));
    let bits: Vec<u8> = codes.chain([257]).flat_map(|code| (0..9).rev().map(move |i| (code >> i & 1) as u8)).collect();
    bits.chunks(8).map(|bits| bits.iter().enumerate().fold(0, |byte, (i, bit)| byte | bit << (7 - i))).collect()
}

fn run_length(data: &[u8]) -> Vec<u8> {
    let pieces = data.chunks(100).flat_map(|piece| [&[piece.len() as u8 - 1], piece].concat());
    pieces.chain([128]).collect()
}

fn ascii_85(data: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    for piece in data.chunks(4) {
        let mut word = [0; 4];
        word[..piece.len()].copy_from_slice(piece);
        let value = u32::from_be_bytes(word);
        let digits = (0..5).rev().map(|i| b'!' + (value / 85u32.pow(i) % 85) as u8);
        out.extend(digits.take(piece.len() + 1));
    }
    [out, b"~>".to_vec()].concat()
}

fn ascii_hex(data: &[u8]) -> Vec<u8> {
    data.iter().map(|byte| format!("{byte:02X}")).chain([">".to_owned()]).collect::<String>().into_bytes()
}

/// The data packed by up to three filters, and the entries of the dictionary that name them.
fn packed(data: &[u8], rng: &mut impl Rng) -> (Vec<u8>, String) {
    let kinds: [(&str, fn(&[u8]) -> Vec<u8>); 6] = [
        ("/FlateDecode", zlib),
        ("/FlateDecode", deflate),
        ("/LZWDecode", lzw),
        ("/RunLengthDecode", run_length),
        ("/ASCII85Decode", ascii_85),
        ("/ASCIIHexDecode", ascii_hex),
    ];
    let (mut data, mut names) = (data.to_vec(), Vec::new());
    for _ in 0..rng.random_range(0..=3) {
        let (name, pack) = kinds[rng.random_range(0..kinds.len())];
        data = pack(&data);
        names.insert(0, name);
    }
    let filters = match names[..] {
        [] => String::new(),
        [name] if rng.random() => format!("/Filter{name}"),
        _ => format!("/Filter[{}]", names.concat()),
    };
    (data, filters)
}

fn stream(head: &str, data: &[u8], rng: &mut impl Rng) -> Vec<u8> {
    let (data, filters) = packed(data, rng);
    [format!("<<{head}{filters}/Length {}>>stream\n", data.len()).as_bytes(), &data, b"\nendstream"].concat()
}

/// A PDF of one to three pages, each of which says [`SAID`].
pub(crate) fn pdf(rng: &mut impl Rng) -> Vec<u8> {
    let pages = rng.random_range(1..=3u32);
    // Number 1 is the catalogue, 2 the tree of pages, 3 the font; then a page, its content in two streams, and a form each.
    let mut objects: Vec<(u32, Vec<u8>)> = vec![
        (1, b"<</Type/Catalog/Pages 2 0 R>>".to_vec()),
        (3, b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>".to_vec()),
    ];
    let mut kids = String::new();
    for page in 0..pages {
        let [number, first, second, form] = [0, 1, 2, 3].map(|i| 4 + 4 * page + i);
        kids += &format!("{number} 0 R ");
        let resources = format!("/Resources<</Font<</F 3 0 R>>/XObject<</X {form} 0 R>>>>");
        let contents = format!("/Contents[{first} 0 R {second} 0 R]");
        objects.push((
            number,
            format!("<</Type/Page/Parent 2 0 R/MediaBox[0 0 595 842]{resources}{contents}>>").into_bytes(),
        ));
        let size = rng.random_range(6..20);
        let shown = match rng.random_range(0..3) {
            0 => format!("({SAID}) Tj"),
            1 => format!("[({SAID})] TJ"),
            _ => format!("<{}> Tj", SAID.bytes().map(|byte| format!("{byte:02x}")).collect::<String>()),
        };
        let text = format!("q BT /F {size} Tf 72 700 Td {shown} ET Q");
        objects.push((first, stream("", text.as_bytes(), rng)));
        objects.push((second, stream("", b"q 1 0 0 1 0 0 cm /X Do Q 10 10 50 50 re f", rng)));
        objects.push((form, stream("/Type/XObject/Subtype/Form/BBox[0 0 595 842]", b"0 0 m 9 9 l S", rng)));
    }
    objects.push((2, format!("<</Type/Pages/Count {pages}/Kids[{kids}]>>").into_bytes()));
    written(objects, rng)
}

/// A file of these objects, the first of which is the catalogue, with one kind of reference table or none.
fn written(objects: Vec<(u32, Vec<u8>)>, rng: &mut impl Rng) -> Vec<u8> {
    let mut out = b"%PDF-1.5\n%\xe2\xe3\n".to_vec();
    let count = objects.len() as u32 + 3;
    let (holder, table) = (count - 2, count - 1);
    let kind = rng.random_range(0..4);
    let within = |object: &[u8]| kind == 2 && !object.ends_with(b"endstream");
    let (inner, outer): (Vec<_>, Vec<_>) = objects.into_iter().partition(|(_, object)| within(object));
    // Kind, place and number of each object; of packed ones the holder and the place in it.
    let mut entries = vec![[0u32; 3]; count as usize];
    let mut add = |out: &mut Vec<u8>, number: u32, object: &[u8]| {
        entries[number as usize] = [1, out.len() as u32, 0];
        out.extend([format!("{number} 0 obj\n").as_bytes(), object, b"\nendobj\n"].concat());
    };
    outer.iter().for_each(|(number, object)| add(&mut out, *number, object));
    if kind == 2 {
        let (mut index, mut bodies) = (String::new(), Vec::new());
        for (number, object) in &inner {
            index += &format!("{number} {} ", bodies.len());
            bodies.extend([object.as_slice(), b" "].concat());
        }
        let head = format!("/Type/ObjStm/N {}/First {}", inner.len(), index.len());
        let object = stream(&head, &[index.into_bytes(), bodies].concat(), rng);
        add(&mut out, holder, &object);
        for (place, (number, _)) in inner.iter().enumerate() {
            entries[*number as usize] = [2, holder, place as u32];
        }
    }
    let start = out.len();
    let end = format!("startxref\n{start}\n%%EOF\n");
    match kind {
        0 => {
            out.extend(format!("xref\n0 {count}\n").bytes());
            for [kind, place, _] in &entries {
                out.extend(format!("{place:010} 00000 {} \n", if *kind == 1 { 'n' } else { 'f' }).bytes());
            }
            out.extend(format!("trailer\n<</Size {count}/Root 1 0 R>>\n{end}").bytes());
        }
        1 | 2 => {
            entries[table as usize] = [1, start as u32, 0];
            let rows: Vec<u8> = entries
                .iter()
                .flat_map(|[kind, place, index]| [&[*kind as u8], &place.to_be_bytes()[..], &[*index as u8]].concat())
                .collect();
            let object = stream(&format!("/Type/XRef/Size {count}/W[1 4 1]/Root 1 0 R"), &rows, rng);
            out.extend([format!("{table} 0 obj\n").as_bytes(), &object, b"\nendobj\n", end.as_bytes()].concat());
        }
        // The reader must find its objects by itself.
        _ => out.extend(b"trailer\n<</Root 1 0 R>>\n"),
    }
    out
}

/// A table of texts, numbers, days and lists, with rows in one group or several.
pub(crate) fn parquet(rng: &mut impl Rng) -> Vec<u8> {
    let rows = rng.random_range(1..40usize);
    let mut columns: Vec<Column> = Vec::new();
    for i in 0..rng.random_range(1..7) {
        let name = format!("c{i}");
        let mut numbers = || -> Vec<Option<i64>> {
            (0..rows).map(|_| rng.random_ratio(5, 6).then(|| rng.random_range(-5..20_000))).collect()
        };
        let numbers = Series::new(name.as_str().into(), numbers());
        let kind = rng.random_range(0..10);
        let cast = |to: &DataType| numbers.cast(to).expect("numbers can be other numbers");
        let series = match kind {
            0 => cast(&DataType::String),
            1 => cast(&DataType::Int32),
            2 => cast(&DataType::Float64),
            3 => cast(&DataType::Float32),
            4 => cast(&DataType::Int32).cast(&DataType::Date).expect("days"),
            5 => cast(&DataType::Datetime(TimeUnit::Microseconds, None)),
            6 => cast(&DataType::String).cast(&DataType::Binary).expect("texts are bytes"),
            7 => cast(&DataType::Int16),
            8 => {
                let texts: Vec<&str> = (0..rows).map(|_| ["增长", "下滑", ""][rng.random_range(0..3)]).collect();
                Series::new(name.as_str().into(), texts)
            }
            _ => cast(&DataType::Boolean).into_series(),
        };
        columns.push(series.into_column());
    }
    let codec = match rng.random_range(0..6) {
        0 => ParquetCompression::Uncompressed,
        1 => ParquetCompression::Snappy,
        2 => ParquetCompression::Gzip(None),
        3 => ParquetCompression::Brotli(None),
        4 => ParquetCompression::Lz4Raw,
        _ => ParquetCompression::Zstd(None),
    };
    let mut frame = DataFrame::new(rows, columns).expect("columns of one height");
    let mut bytes = Vec::new();
    let writer = ParquetWriter::new(&mut bytes).set_parallel(false).with_compression(codec);
    let writer = writer.with_row_group_size(Some(rng.random_range(1..50)));
    writer.with_data_page_size(Some(rng.random_range(16..4000))).finish(&mut frame).expect("bytes in memory");
    bytes
}

/// A workbook of one sheet below a header, cells of all kinds with gaps between them.
pub(crate) fn workbook(rng: &mut impl Rng) -> Vec<u8> {
    let texts = rng.random_range(1..5u32);
    let shared: String = (0..texts).map(|i| format!("<si><t>文{i}</t></si>")).collect();
    let mut rows = String::new();
    for row in 1..rng.random_range(3..12) {
        rows += &format!("<row r=\"{row}\">");
        for column in ["A", "B", "C", "D"] {
            let number = rng.random_range(0..50_000);
            rows += &match rng.random_range(0..7) {
                0 if row > 1 => continue,
                1 => format!("<c r=\"{column}{row}\" t=\"inlineStr\"><is><t>行{number}</t></is></c>"),
                2 => format!("<c r=\"{column}{row}\"><v>{number}.5</v></c>"),
                3 => format!("<c r=\"{column}{row}\" s=\"1\"><v>{number}</v></c>"),
                4 => format!("<c r=\"{column}{row}\" t=\"b\"><v>{}</v></c>", number % 2),
                5 if row > 1 => format!("<c r=\"{column}{row}\" t=\"e\"><v>#N/A</v></c>"),
                _ => format!("<c r=\"{column}{row}\" t=\"s\"><v>{}</v></c>", number % texts),
            };
        }
        rows += "</row>";
    }
    let main = "http://schemas.openxmlformats.org/spreadsheetml/2006/main";
    let sheet = format!("<worksheet xmlns=\"{main}\"><sheetData>{rows}</sheetData></worksheet>");
    let table = format!("<sst xmlns=\"{main}\" uniqueCount=\"{texts}\">{shared}</sst>");
    let parts: [(&str, &[u8]); 7] = [
        ("[Content_Types].xml", include_bytes!("parts/content_types.xml")),
        ("_rels/.rels", include_bytes!("parts/rels.xml")),
        ("xl/workbook.xml", include_bytes!("parts/workbook.xml")),
        ("xl/_rels/workbook.xml.rels", include_bytes!("parts/workbook_rels.xml")),
        ("xl/styles.xml", include_bytes!("parts/styles.xml")),
        ("xl/sharedStrings.xml", table.as_bytes()),
        ("xl/worksheets/sheet1.xml", sheet.as_bytes()),
    ];
    let method = if rng.random() { CompressionMethod::Stored } else { CompressionMethod::Deflated };
    archive(&parts, method)
}

/// An archive of these parts.
pub(crate) fn archive(parts: &[(&str, &[u8])], method: CompressionMethod) -> Vec<u8> {
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    let options = SimpleFileOptions::default().compression_method(method);
    for (name, bytes) in parts {
        zip.start_file(*name, options).and_then(|()| Ok(zip.write_all(bytes)?)).expect("an archive in memory");
    }
    zip.finish().expect("an archive in memory").into_inner()
}
