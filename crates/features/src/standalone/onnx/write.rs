//! Texts written by a model, a JSON line a document, with the other fields of the line: they can be read as documents again.

use std::io::Write;
use std::path::Path;

use anyhow::Result;
use serde_json::{Map, Value, json};

use super::super::{Line, Lines};
use super::BLOCK;
use inkstone_base::data::Report;
use inkstone_base::disk;
use inkstone_base::job::Ctx;
use inkstone_onnx::Generator;

/// Writes the text that a model makes of each document to `output`. Documents without text are dropped.
pub fn generate(generator: &mut Generator, lines: &mut Lines, output: &Path, ctx: &Ctx) -> Result<Report> {
    let mut empty = 0;
    let mut report = None;
    disk::write_atomic(output, |out| {
        lines.for_each_block(BLOCK, |documents| {
            for line in &documents {
                ctx.advance(1)?;
                let Some(best) = generator.write(&line.whole(), ctx)?.into_iter().next() else {
                    empty += 1;
                    continue;
                };
                let mut object = fields_beside_text(line);
                object.insert("text".into(), best.text.into());
                object.insert("score".into(), json!(best.score));
                serde_json::to_writer(&mut *out, &object)?;
                out.write_all(b"\n")?;
            }
            Ok(())
        })?;
        report = Some(lines.finish()?);
        Ok(())
    })?;
    let mut report = report.unwrap_or_default();
    report.rows_out -= empty;
    report.drop_rows("without text", empty);
    Ok(report)
}

/// The fields of a line besides title and text.
fn fields_beside_text(line: &Line<'_>) -> Map<String, Value> {
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
