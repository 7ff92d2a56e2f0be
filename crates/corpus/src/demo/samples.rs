//! The files of `datasets/samples` say the same in every format and encoding.

use std::path::{Path, PathBuf};

use encoding_rs::{BIG5, Encoding, GB18030, UTF_8, UTF_16LE};
use serde_json::Value;

use inkstone_base::disk;
use inkstone_tables::frames;

const FIELDS: [&str; 6] = ["id", "title", "body", "codes", "published_at", "org"];

type SampleRows = Vec<Vec<String>>;

fn sample(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../datasets/samples").join(name)
}

fn text(name: &str, encoding: &'static Encoding) -> String {
    let bytes = std::fs::read(sample(name)).unwrap();
    let (text, _, broken) = encoding.decode(&bytes);
    assert!(!broken, "{name} is not {}", encoding.name());
    text.into_owned()
}

fn json_rows(rows: &[Value]) -> SampleRows {
    rows.iter().map(|r| FIELDS.iter().map(|f| r[f].as_str().unwrap().to_owned()).collect()).collect()
}

fn lines(name: &str) -> SampleRows {
    let rows: Vec<Value> = text(name, UTF_8).lines().map(|l| serde_json::from_str(l).unwrap()).collect();
    json_rows(&rows)
}

fn delimited(name: &str, encoding: &'static Encoding, delimiter: u8) -> SampleRows {
    let text = text(name, encoding);
    let mut reader = csv::ReaderBuilder::new().delimiter(delimiter).from_reader(text.as_bytes());
    assert_eq!(reader.headers().unwrap(), FIELDS.as_slice());
    reader.records().map(|r| r.unwrap().iter().map(str::to_owned).collect()).collect()
}

#[test]
fn every_format_holds_the_same_rows() {
    let rows = lines("news.jsonl");
    assert_eq!(rows.len(), 10);
    assert_eq!(delimited("news_utf8.csv", UTF_8, b','), rows);
    assert!(std::fs::read(sample("news_utf8_bom.csv")).unwrap().starts_with(&[0xef, 0xbb, 0xbf]));
    assert_eq!(delimited("news_utf8_bom.csv", UTF_8, b','), rows);
    assert_eq!(delimited("news_gb18030.csv", GB18030, b','), rows);
    assert_eq!(delimited("news_utf16le.tsv", UTF_16LE, b'\t'), rows);
    assert_eq!(delimited("news_big5.csv", BIG5, b','), lines("news_traditional.jsonl"));
    let objects: Vec<Value> = disk::read_unsealed_json(&sample("news_objects.json")).unwrap();
    assert_eq!(json_rows(&objects), rows);
    assert_eq!(disk::read_unsealed_json::<SampleRows>(&sample("news_arrays.json")).unwrap(), rows);
    let frame = frames::read_foreign_parquet(&sample("news.parquet"), None).unwrap();
    for (i, field) in FIELDS.iter().enumerate() {
        let column: Vec<&str> = frame.column(field).unwrap().str().unwrap().iter().flatten().collect();
        assert_eq!(column, rows.iter().map(|r| r[i].as_str()).collect::<Vec<_>>());
    }
    for (i, row) in rows.iter().enumerate() {
        let file = text(&format!("txt/{}.txt", row[0]), if i % 2 == 0 { UTF_8 } else { GB18030 });
        assert!(file.starts_with(&format!("标题：{}\n", row[1])) && file.trim_end().ends_with(&row[2]));
    }
}
