//! Texts written by a model, a JSON line a document, with the other fields of the line: they can be read as documents again. Entities as a
//! table.

use std::io::Write;
use std::path::Path;

use anyhow::{Result, bail};
use polars_core::prelude::{IntoColumn, NamedFrom, Series};
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::super::{Line, Lines};
use super::{BLOCK, Contextual};
use crate::fitted::figures;
use crate::standalone::Figures;
use inkstone_base::data::Report;
use inkstone_base::disk::{self, Formulas};
use inkstone_base::job::Ctx;
use inkstone_onnx::Generator;
use inkstone_tables::frames;

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

/// An entity of a document.
#[derive(Serialize)]
struct ListedEntity {
    id: String,
    kind: String,
    text: String,
    /// Bytes of the document's text, behind its title and a line break where it has one.
    start: u64,
    end: u64,
    score: f32,
}

/// Writes the entities that the model at `path` finds, a row each (document, kind, text, start, end, score), to a file .csv, .parquet or
/// .jsonl.
pub fn list_entities(
    path: &Path,
    using: &Contextual,
    lines: &mut Lines,
    output: &Path,
    formulas: Formulas,
    ctx: &Ctx,
) -> Result<(Figures, Report)> {
    let mut encoder = using.encoder(path, super::LineFormat::Text, ctx)?;
    let mut count = 0u64;
    let mut read = |take: &mut dyn FnMut(ListedEntity) -> Result<()>| -> Result<()> {
        super::eval::each_block(lines, |lines, texts| {
            let found = encoder.entities(texts, ctx)?;
            ctx.advance(texts.len() as u64)?;
            for ((line, text), found) in lines.iter().zip(texts).zip(found) {
                for entity in found {
                    count += 1;
                    take(ListedEntity {
                        id: line.name().into_owned(),
                        kind: entity.label,
                        text: text[entity.range.clone()].to_owned(),
                        start: entity.range.start as u64,
                        end: entity.range.end as u64,
                        score: entity.score,
                    })?;
                }
            }
            Ok(())
        })
    };
    match output.extension().and_then(|end| end.to_str()) {
        Some("csv") => disk::write_atomic(output, |out| {
            let mut table = csv::Writer::from_writer(out);
            table.write_record(["id", "kind", "text", "start", "end", "score"])?;
            read(&mut |one| {
                let [id, kind, text] = [&one.id, &one.kind, &one.text].map(|field| formulas.field(field));
                let [start, end] = [one.start, one.end].map(|place| place.to_string());
                Ok(table.write_record([&*id, &*kind, &*text, &start, &end, &one.score.to_string()])?)
            })?;
            Ok(table.flush()?)
        })?,
        Some("jsonl") => disk::write_atomic(output, |out| {
            read(&mut |one| {
                serde_json::to_writer(&mut *out, &one)?;
                Ok(out.write_all(b"\n")?)
            })
        })?,
        Some("parquet") => {
            let mut all: Vec<ListedEntity> = Vec::new();
            read(&mut |one| {
                all.push(one);
                Ok(())
            })?;
            let texts = |name: &str, field: fn(&ListedEntity) -> &str| {
                Series::new(name.into(), all.iter().map(field).collect::<Vec<_>>()).into_column()
            };
            let places = |name: &str, field: fn(&ListedEntity) -> u64| {
                Series::new(name.into(), all.iter().map(field).collect::<Vec<_>>()).into_column()
            };
            let mut frame = frames::frame(vec![
                texts("id", |one| &one.id),
                texts("kind", |one| &one.kind),
                texts("text", |one| &one.text),
                places("start", |one| one.start),
                places("end", |one| one.end),
                Series::new("score".into(), all.iter().map(|one| one.score).collect::<Vec<_>>()).into_column(),
            ])?;
            frames::write_parquet(output, &mut frame)?;
        }
        _ => bail!("{}: the name of the output says its format; write .csv, .parquet or .jsonl", output.display()),
    }
    let found = figures(json!({"entities": count, "ran": encoder.ran()}));
    Ok((found, lines.finish()?))
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
