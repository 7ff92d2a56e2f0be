//! Makes the other formats of `datasets/samples` from its two JSON-lines files. Run it after changing them:
//! `cargo run --example make_samples`.

use std::fs;
use std::path::Path;

use anyhow::Result;
use encoding_rs::{BIG5, Encoding, GB18030, UTF_8};
use inkstone_tables::frames;
use polars_core::prelude::{IntoColumn, NamedFrom, Series};
use serde_json::Value;

const FIELDS: [&str; 6] = ["id", "title", "body", "codes", "published_at", "org"];

fn main() -> Result<()> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("datasets/samples");
    let read = |name: &str| -> Result<Vec<Value>> {
        fs::read_to_string(dir.join(name))?.lines().map(|l| Ok(serde_json::from_str(l)?)).collect()
    };
    let (news, traditional) = (read("news.jsonl")?, read("news_traditional.jsonl")?);
    let encoded = |text: &str, encoding: &'static Encoding| encoding.encode(text).0.into_owned();
    let csv = delimited(&news, b',')?;
    fs::write(dir.join("news_utf8.csv"), encoded(&csv, UTF_8))?;
    fs::write(dir.join("news_utf8_bom.csv"), encoded(&format!("\u{feff}{csv}"), UTF_8))?;
    fs::write(dir.join("news_gb18030.csv"), encoded(&csv, GB18030))?;
    fs::write(dir.join("news_big5.csv"), encoded(&delimited(&traditional, b',')?, BIG5))?;
    let tsv = format!("\u{feff}{}", delimited(&news, b'\t')?);
    fs::write(dir.join("news_utf16le.tsv"), tsv.encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<u8>>())?;
    fs::write(dir.join("news_objects.json"), format!("{}\n", serde_json::to_string_pretty(&news)?))?;
    let arrays: Vec<Vec<&str>> = news.iter().map(fields).collect();
    fs::write(dir.join("news_arrays.json"), format!("{}\n", serde_json::to_string_pretty(&arrays)?))?;
    let column =
        |i: usize| Series::new(FIELDS[i].into(), arrays.iter().map(|a| a[i]).collect::<Vec<_>>()).into_column();
    frames::write_parquet(&dir.join("news.parquet"), &mut frames::frame((0..FIELDS.len()).map(column).collect())?)?;
    fs::create_dir_all(dir.join("txt"))?;
    for (i, row) in news.iter().enumerate() {
        let [id, title, body, codes, time, org] = fields(row)[..] else { continue };
        let text = format!("标题：{title}\n机构：{org}\n证券代码：{codes}\n发布时间：{time}\n\n{body}\n");
        let encoding = if i % 2 == 0 { UTF_8 } else { GB18030 };
        fs::write(dir.join(format!("txt/{id}.txt")), encoded(&text, encoding))?;
    }
    Ok(())
}

fn fields(row: &Value) -> Vec<&str> {
    FIELDS.iter().map(|f| row[f].as_str().unwrap_or_default()).collect()
}

fn delimited(rows: &[Value], delimiter: u8) -> Result<String> {
    let mut writer = csv::WriterBuilder::new().delimiter(delimiter).from_writer(Vec::new());
    writer.write_record(FIELDS)?;
    for row in rows {
        writer.write_record(fields(row))?;
    }
    Ok(String::from_utf8(writer.into_inner()?)?)
}
