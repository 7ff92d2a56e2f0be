//! Texts written by a model, a JSON line a document, with the other fields of the line: they can be read as documents again. Entities as a
//! table.

use std::io::Write;
use std::ops::Range;
use std::path::Path;

use anyhow::Result;
use polars_core::prelude::{IntoColumn, NamedFrom, Series};
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::BLOCK;
use super::Contextual;
use crate::fitted::Figures;
use crate::fitted::figures;
use crate::lines::{Line, Lines};
use inkstone_base::bail;
use inkstone_base::data::Report;
use inkstone_base::disk::{self, Formulas};
use inkstone_base::job::Ctx;
use inkstone_corpus::link::EntityFinder;
use inkstone_onnx::{Entity, Generator, Likelihood, PromptFields, Written, numbers_kept};
use inkstone_tables::corpus::join_codes;
use inkstone_tables::frames;

/// Documents given to the model at once, which makes batches of them.
const TOGETHER: usize = 64;
/// The field of the share of numbers that stand in the document.
const NUMBERS_KEPT: &str = "numbers_kept";
/// The field of a value that was written under a schema.
const JSON: &str = "json";

/// Writes the texts that a model makes of each document to `output`; or, where there are labels, how likely it finds each behind a document.
/// Documents without text are dropped.
pub fn generate(
    generator: &mut Generator,
    lines: &mut Lines,
    labels: &[String],
    output: &Path,
    ctx: &Ctx,
) -> Result<Report> {
    let (mut empty, mut unfinished, mut documents_before) = (0, 0, 0);
    let (mut shares, mut with_numbers) = (0.0, 0u64);
    let mut report = None;
    let together = if generator.steps_together() || !labels.is_empty() { TOGETHER } else { 1 };
    disk::write_atomic(output, |out| {
        lines.for_each_block(BLOCK, |documents| {
            for documents in documents.chunks(together) {
                ctx.advance(0)?;
                let prompts =
                    documents.iter().map(|line| prompt_of(generator, line)).collect::<Result<Vec<String>>>()?;
                let prompts: Vec<&str> = prompts.iter().map(String::as_str).collect();
                let rows = match labels {
                    [] => written_rows(generator, &prompts, documents_before, ctx)?,
                    _ => label_rows(generator, &prompts, labels, ctx)?,
                };
                documents_before += documents.len() as u64;
                for (line, rows) in documents.iter().zip(rows) {
                    empty += u64::from(rows.is_empty());
                    for mut row in rows {
                        if let Some(text) = row.get("text").and_then(Value::as_str) {
                            let share = numbers_kept(&line.whole(), text);
                            shares += share.unwrap_or(0.0);
                            with_numbers += u64::from(share.is_some());
                            row.insert(NUMBERS_KEPT.into(), json!(share));
                        }
                        unfinished += u64::from(row.get(JSON).is_some_and(Value::is_null));
                        let mut object = fields_beside_text(line);
                        object.extend(row);
                        serde_json::to_writer(&mut *out, &object)?;
                        out.write_all(b"\n")?;
                    }
                }
                ctx.advance(documents.len() as u64)?;
            }
            Ok(())
        })?;
        report = Some(lines.finish()?);
        Ok(())
    })?;
    let mut report = report.unwrap_or_default();
    report.rows_out -= empty;
    report.drop_rows("without text", empty);
    if with_numbers > 0 {
        report.fact(NUMBERS_KEPT, shares / with_numbers as f64);
    }
    if generator.writes_json() {
        report.fact("unfinished_json", unfinished);
    }
    Ok(report)
}

/// The prompt for a document; empty for one without text.
fn prompt_of(generator: &Generator, line: &Line<'_>) -> Result<String> {
    let text = line.whole();
    if text.trim().is_empty() {
        return Ok(String::new());
    }
    generator.prompt_of(PromptFields { title: &line.title, body: &line.text, whole: &text })
}

/// A row for the best text of each prompt, or for each that was drawn.
fn written_rows(
    generator: &mut Generator,
    prompts: &[&str],
    first: u64,
    ctx: &Ctx,
) -> Result<Vec<Vec<Map<String, Value>>>> {
    let (draws, json) = (generator.draws(), generator.writes_json());
    let rows = generator.write_all(prompts, first, ctx)?.into_iter().map(|found| {
        let kept = if draws { found.len() } else { 1 };
        let row = |(number, written): (usize, Written)| {
            let mut row = Map::new();
            if json {
                row.insert(JSON.into(), serde_json::from_str(&written.text).unwrap_or(Value::Null));
            }
            row.insert("text".into(), written.text.into());
            row.insert("score".into(), json!(written.score));
            if draws {
                row.insert("sample".into(), number.into());
            }
            row
        };
        found.into_iter().take(kept).enumerate().map(row).collect()
    });
    Ok(rows.collect())
}

/// A row for each prompt: the likeliest label and, for each, its share among all by the sums and by the means of the logarithms of its
/// tokens' probabilities, and these.
fn label_rows(
    generator: &mut Generator,
    prompts: &[&str],
    labels: &[String],
    ctx: &Ctx,
) -> Result<Vec<Vec<Map<String, Value>>>> {
    let rows = generator.label(prompts, labels, ctx)?.into_iter().map(|found| {
        let row = |found: Vec<Likelihood>| {
            let best = found.iter().zip(labels).max_by(|a, b| a.0.sum.total_cmp(&b.0.sum).then(b.1.cmp(a.1)));
            let mut row = Map::new();
            row.insert("answer".into(), best.map_or(Value::Null, |(_, label)| label.as_str().into()));
            for (likelihood, label) in found.iter().zip(labels) {
                row.insert(label.clone(), json!(likelihood.by_sum));
                row.insert(format!("{label}.by_mean"), json!(likelihood.by_mean));
                row.insert(format!("{label}.sum"), json!(likelihood.sum));
                row.insert(format!("{label}.mean"), json!(likelihood.mean));
            }
            row
        };
        found.map(row).into_iter().collect()
    });
    Ok(rows.collect())
}

/// A name that a model found in a text.
pub(crate) struct NamedPart {
    pub(crate) kind: String,
    /// Bytes of the text.
    pub(crate) range: Range<usize>,
    pub(crate) score: f32,
}

impl From<Entity> for NamedPart {
    fn from(entity: Entity) -> NamedPart {
        NamedPart { kind: entity.label, range: entity.range, score: entity.score }
    }
}

/// What finds the names in some texts.
pub(crate) type NameFinder<'f> = dyn FnMut(&[&str]) -> Result<Vec<Vec<NamedPart>>> + 'f;

/// A list of names.
pub(crate) struct ListedNames<'a> {
    /// For the codes of the securities that each text names.
    pub(crate) names: Option<&'a EntityFinder>,
    /// A file .csv, .parquet or .jsonl.
    pub(crate) output: &'a Path,
    pub(crate) formulas: Formulas,
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
    /// Codes that the text names on the document's day, joined by commas; none where no names are looked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    codes: Option<String>,
}

/// Writes the entities that the model at `path` finds, a row each (document, kind, text, start, end, score), to a file .csv, .parquet or
/// .jsonl; with `names` also the codes of the securities that each text names.
pub fn list_entities(
    path: &Path,
    using: &Contextual,
    lines: &mut Lines,
    names: Option<&EntityFinder>,
    output: &Path,
    formulas: Formulas,
    ctx: &Ctx,
) -> Result<(Figures, Report)> {
    let mut encoder = using.encoder(path, super::LineFormat::Text, ctx)?;
    let mut find = |texts: &[&str]| {
        let found = encoder.entities(texts, ctx)?;
        Ok(found.into_iter().map(|names| names.into_iter().map(NamedPart::from).collect()).collect())
    };
    let (mut found, report) = list_names(&mut find, lines, &ListedNames { names, output, formulas }, ctx)?;
    found.insert("ran".to_owned(), serde_json::to_value(encoder.ran())?);
    Ok((found, report))
}

/// Writes the names that `find` finds, a row each (document, kind, text, start, end, score).
pub(crate) fn list_names(
    find: &mut NameFinder<'_>,
    lines: &mut Lines,
    listed: &ListedNames<'_>,
    ctx: &Ctx,
) -> Result<(Figures, Report)> {
    let ListedNames { names, output, formulas } = *listed;
    let (mut count, mut linked) = (0u64, 0u64);
    let mut read = |take: &mut dyn FnMut(ListedEntity) -> Result<()>| -> Result<()> {
        super::eval::each_block(lines, |lines, texts| {
            let found = find(texts)?;
            ctx.advance(texts.len() as u64)?;
            for ((line, text), found) in lines.iter().zip(texts).zip(found) {
                for entity in found {
                    count += 1;
                    let codes = match (names, line.time) {
                        (None, _) => None,
                        (Some(names), Some(time)) => Some(join_codes(&names.codes(&text[entity.range.clone()], time))),
                        (Some(_), None) => bail!(
                            "第 {} 行没有时间，而名称随日期对应证券：请给出带 time 字段的 jsonl",
                            "line {} has no time, and a name is that of a security on a day: give jsonl with a field time",
                            line.number
                        ),
                    };
                    linked += u64::from(codes.as_ref().is_some_and(|codes| !codes.is_empty()));
                    take(ListedEntity {
                        codes,
                        id: line.name().into_owned(),
                        kind: entity.kind,
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
            let columns = ["id", "kind", "text", "start", "end", "score"];
            table.write_record(columns.into_iter().chain(names.map(|_| "codes")))?;
            read(&mut |one| {
                let [id, kind, text] = [&one.id, &one.kind, &one.text].map(|field| formulas.field(field));
                let [start, end] = [one.start, one.end].map(|place| place.to_string());
                let score = one.score.to_string();
                let fields = [&*id, &*kind, &*text, &start, &end, &score];
                Ok(table.write_record(fields.into_iter().chain(one.codes.as_deref()))?)
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
            let mut columns = vec![
                texts("id", |one| &one.id),
                texts("kind", |one| &one.kind),
                texts("text", |one| &one.text),
                places("start", |one| one.start),
                places("end", |one| one.end),
                Series::new("score".into(), all.iter().map(|one| one.score).collect::<Vec<_>>()).into_column(),
            ];
            if names.is_some() {
                columns.push(texts("codes", |one| one.codes.as_deref().unwrap_or_default()));
            }
            frames::write_parquet(output, &mut frames::frame(columns)?)?;
        }
        _ => bail!(
            "{}：输出文件名决定格式；请写成 .csv、.parquet 或 .jsonl",
            "{}: the name of the output says its format; write .csv, .parquet or .jsonl",
            output.display()
        ),
    }
    let mut found = figures(json!({"entities": count}));
    if names.is_some() {
        found.insert("entities_linked".to_owned(), linked.into());
    }
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
