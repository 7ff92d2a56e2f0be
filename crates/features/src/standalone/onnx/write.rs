//! Texts written by a model, a JSON line a document, with what the line said of itself: they can be read as documents again.

use std::io::Write;
use std::path::Path;

use anyhow::Result;
use serde_json::{Map, Value, json};

use super::super::{Block, Line, Lines};
use inkstone_base::data::Report;
use inkstone_base::disk;
use inkstone_base::job::Ctx;
use inkstone_onnx::Generator;

/// Bytes of lines read at once.
const BLOCK: usize = 1 << 20;

/// Writes what a model makes of each document to `output`. Documents without text have none written.
pub fn generate(generator: &mut Generator, lines: &mut Lines, output: &Path, ctx: &Ctx) -> Result<Report> {
    let mut empty = 0;
    let mut report = None;
    disk::write_atomic(output, |out| {
        let mut block = Block::default();
        while lines.next_block(&mut block, BLOCK)? {
            for line in lines.documents(&block) {
                ctx.advance(1)?;
                let Some(best) = generator.write(&line.whole(), ctx)?.into_iter().next() else {
                    empty += 1;
                    continue;
                };
                let mut object = said(&line);
                object.insert("text".into(), best.text.into());
                object.insert("score".into(), json!(best.score));
                serde_json::to_writer(&mut *out, &object)?;
                out.write_all(b"\n")?;
            }
        }
        report = Some(lines.finish()?);
        Ok(())
    })?;
    let mut report = report.unwrap_or_default();
    report.rows_out -= empty;
    report.drop_rows("without text", empty);
    Ok(report)
}

/// What a line says of itself besides its text.
fn said(line: &Line<'_>) -> Map<String, Value> {
    let mut object = Map::new();
    object.insert("id".into(), line.name().into());
    let texts = [("label", line.label.as_deref()), ("group", line.group.as_deref())];
    object.extend(texts.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?.into()))));
    if let Some(time) = line.time {
        object.insert("time".into(), time.to_string().into());
    }
    if let Some(value) = line.value {
        object.insert("value".into(), json!(value));
    }
    object
}
