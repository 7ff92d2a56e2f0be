//! An encoder trained on from a base to find names in text: each token has a tag, `B-KIND` where a name begins, `I-KIND` where it goes on, and `O`.

use std::collections::BTreeSet;
use std::ops::Range;
use std::path::Path;

use anyhow::{Context, Result};
use chrono::{Days, NaiveDateTime};
use serde_json::{Value, json};

use super::finetune::FinetuneParams;
use super::texts::{LEAST, TextWriter, room};
use super::tuning::Tuning;
use super::{seen_by, seen_by_new, tokenizer_of};
use crate::lines::{BLOCK, Lines, Refused};
use crate::models::onnx::right_entities;
use inkstone_base::data::{Key, Report};
use inkstone_base::disk::{self, Room};
use inkstone_base::ensure;
use inkstone_base::job::Ctx;
use inkstone_base::language::Word;
use inkstone_models::transformer::{EncoderFolder, Goals, UNTAGGED};
use inkstone_models::{Entities, EntityReport, largest};
use inkstone_text::subword::{Pieces, Subword};

/// The tag of a token outside all names.
const OUTSIDE: &str = "O";

/// A document with the right names.
struct NamedDocument {
    text: String,
    entities: Entities,
    time: Option<NaiveDateTime>,
}

/// A document's part that is one input.
struct NamedInput {
    document: usize,
    ids: Vec<u32>,
    offsets: Vec<Range<u32>>,
}

/// Trains on all lines with the field `entities` (kind, start and end in bytes) and writes the folder of the new model. A long document is several
/// inputs. Lines with times are put in their order, and the last ones are held out. An interrupted training leaves a checkpoint beside the
/// folder, from which the same training goes on. The report has `documents`, `fitted_until`, `kinds` (names of each), `parameters`, `epochs`, and
/// the figures of the `held_out` documents as `eval --task entities` has them.
pub fn train_entities(lines: &mut Lines, params: &FinetuneParams, output: &Path, ctx: &Ctx) -> Result<Report> {
    let base = EncoderFolder::open(&params.base)?;
    let seen = seen_by(&base.files, params.fitted_until)?;
    disk::is_ours(output, Room::Converted)?;
    let subword = tokenizer_of(&base.files, base.shape.vocabulary)?;
    let room = room(&subword, params.max_tokens, base.most_tokens())?;
    let (documents, mut report) = read_documents(lines, ctx)?;
    let kinds: BTreeSet<&str> =
        documents.iter().flat_map(|document| &document.entities).map(|(kind, _)| kind.as_str()).collect();
    ensure!(
        !kinds.is_empty(),
        "没有一行有可学的名称：请给每行 \"entities\"，即类别、起、止（文本字节）的列表，写成 JSON 行（--format jsonl）",
        "no line has a name to learn: give each line \"entities\", a list of kind, start and end (bytes of the text), as JSON lines (--format jsonl)"
    );
    let tags: Vec<String> = std::iter::once(OUTSIDE.to_owned())
        .chain(kinds.iter().flat_map(|kind| ["B", "I"].map(|place| format!("{place}-{kind}"))))
        .collect();

    let read = inputs_of(&documents, &subword, room, ctx)?;
    let mut writer = TextWriter::new(output)?;
    let mut tag_of = Vec::new();
    for input in &read {
        let wrapped = subword.wrap(&input.ids);
        writer.push(&wrapped.ids)?;
        let tagged = tags_of(input, &documents[input.document].entities, &tags);
        tag_of.extend(std::iter::repeat_n(UNTAGGED, wrapped.text.start));
        tag_of.extend(tagged);
        tag_of.extend(std::iter::repeat_n(UNTAGGED, wrapped.ids.len() - wrapped.text.end));
    }
    let texts = writer.finish()?;
    let heads = base.of_tokens(tags.len())?.into();
    let tuning = Tuning { base: &base, heads, texts: &texts, params: &params.training, output };
    let known_by = json!([Key::of(bytemuck::cast_slice(&tag_of)), tags]);
    let tuned = tuning.train(Goals::Tags(tag_of), &known_by, ctx)?;
    let scores = tuning.held_out_scores(&tuned, ctx)?;
    let figures = held_out_figures(&scores, &documents, &read[tuning.first_held_out()..], &subword, &tags)?;
    let last = documents.iter().filter_map(|document| document.time).max();
    let last = last.and_then(|last| last.checked_add_days(Days::new(params.label_days.into())));
    let fitted_until = seen_by_new(Some(seen), last, params.fitted_until);
    let training = json!({
        "base": params.base, "documents": documents.len(), "epochs": tuned.model.epochs(), "held_out": figures,
        "program": env!("CARGO_PKG_VERSION"),
    });
    tuning.write(&tuned, &tags, fitted_until, &training)?;
    let names = |kind: &&str| {
        let count = documents.iter().flat_map(|document| &document.entities).filter(|(other, _)| other == kind).count();
        ((*kind).to_owned(), Value::from(count))
    };
    report.fact("documents", documents.len());
    report.fact("fitted_until", fitted_until);
    report.fact("kinds", kinds.iter().map(names).collect::<serde_json::Map<String, Value>>());
    report.fact("parameters", tuned.model.values().iter().map(|values| values.len()).sum::<usize>());
    report.fact("epochs", tuned.model.epochs());
    report.fact("held_out", figures);
    Ok(report)
}

/// The documents of lines with entities, by time; in the order of the lines where one has no time. Other lines are set aside.
fn read_documents(lines: &mut Lines, ctx: &Ctx) -> Result<(Vec<NamedDocument>, Report)> {
    let (mut documents, mut left_out) = (Vec::new(), Vec::new());
    lines.for_each_block(BLOCK, |read| {
        let count = read.len() as u64;
        for line in read {
            let text = line.whole().into_owned();
            let reason = match right_entities(&line, &text) {
                Ok(Some(entities)) => {
                    documents.push(NamedDocument { text, entities, time: line.time });
                    continue;
                }
                Ok(None) => "without entities",
                Err(_) => "with entities that are not kind, start and end of a part of its text, in bytes",
            };
            left_out.push(Refused { number: line.number, reason });
        }
        Ok(ctx.advance(count)?)
    })?;
    lines.finish()?;
    lines.refuse(left_out);
    if documents.iter().all(|document| document.time.is_some()) {
        documents.sort_by_key(|document| document.time);
    }
    Ok((documents, lines.report()))
}

fn inputs_of(documents: &[NamedDocument], subword: &Subword, room: usize, ctx: &Ctx) -> Result<Vec<NamedInput>> {
    let mut inputs = Vec::new();
    for (document, NamedDocument { text, .. }) in documents.iter().enumerate() {
        ctx.check()?;
        let Pieces { ids, offsets } = subword.encode(text)?;
        for (ids, offsets) in ids.chunks(room).zip(offsets.chunks(room)).filter(|(ids, _)| ids.len() >= LEAST) {
            inputs.push(NamedInput { document, ids: ids.to_vec(), offsets: offsets.to_vec() });
        }
    }
    ensure!(!inputs.is_empty(), "没有文档有可训练的文本", "no document has text that can be trained on");
    Ok(inputs)
}

/// The number of the tag of each token of an input.
fn tags_of<'a>(
    input: &'a NamedInput,
    entities: &'a [(String, Range<usize>)],
    tags: &'a [String],
) -> impl Iterator<Item = u32> + 'a {
    input.offsets.iter().map(move |place| {
        let begins = place.start as usize;
        let Some((kind, range)) = entities.iter().find(|(_, range)| range.contains(&begins)) else { return 0 };
        let place = if begins == range.start { "B" } else { "I" };
        tags.iter()
            .position(|tag| tag.strip_prefix(place).and_then(|rest| rest.strip_prefix('-')) == Some(kind))
            .unwrap_or(0) as u32
    })
}

/// The names that tags of tokens mark: a name begins with `B`, or with `I` behind another kind.
fn names_of(tags: &[u32], names: &[String], offsets: &[Range<u32>]) -> Entities {
    let mut found: Entities = Vec::new();
    let mut open: Option<&str> = None;
    for (&tag, place) in tags.iter().zip(offsets) {
        let Some((begins, kind)) = names[tag as usize].split_once('-').map(|(place, kind)| (place == "B", kind)) else {
            open = None;
            continue;
        };
        let range = place.start as usize..place.end as usize;
        match found.last_mut().filter(|_| open == Some(kind) && !begins) {
            Some((_, name)) => name.end = range.end,
            None => found.push((kind.to_owned(), range)),
        }
        open = Some(kind);
    }
    found
}

/// The figures of inputs, of the scores of their tokens' tags; null where there are none.
fn held_out_figures(
    scores: &[f32],
    documents: &[NamedDocument],
    inputs: &[NamedInput],
    subword: &Subword,
    tags: &[String],
) -> Result<Value> {
    if inputs.is_empty() {
        return Ok(Value::Null);
    }
    let mut rows = scores.chunks(tags.len());
    let (mut right, mut found) = (Vec::new(), Vec::new());
    for NamedInput { document, ids, offsets } in inputs {
        let wrapped = subword.wrap(ids);
        let called: Vec<u32> = rows.by_ref().take(wrapped.ids.len()).map(|row| largest(row) as u32).collect();
        found.push(names_of(&called[wrapped.text], tags, offsets));
        let (first, last) = (offsets.first(), offsets.last());
        let part = first.map_or(0, |place| place.start as usize)..last.map_or(0, |place| place.end as usize);
        let within = |(_, range): &&(String, Range<usize>)| range.start < part.end && range.end > part.start;
        right.push(documents[*document].entities.iter().filter(within).cloned().collect());
    }
    serde_json::to_value(EntityReport::new(&right, &found)).context(Word("实体的指标", "figures of entities"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_back_from_the_tags_of_their_tokens() {
        let tags: Vec<String> = ["O", "B-公司", "I-公司", "B-人", "I-人"].map(str::to_owned).into();
        let offsets: Vec<Range<u32>> = (0..8).map(|i| 3 * i..3 * i + 3).collect();
        let entities: Entities = vec![("公司".into(), 0..6), ("公司".into(), 6..9), ("人".into(), 15..24)];
        let input = NamedInput { document: 0, ids: vec![0; 8], offsets: offsets.clone() };
        let numbers: Vec<u32> = tags_of(&input, &entities, &tags).collect();
        assert_eq!(numbers, [1, 2, 1, 0, 0, 3, 4, 4]);
        assert_eq!(names_of(&numbers, &tags, &offsets), entities);
        // A name that goes on where none began begins there.
        assert_eq!(names_of(&[2, 4], &tags, &offsets), [("公司".into(), 0..3), ("人".into(), 3..6)]);
    }
}
