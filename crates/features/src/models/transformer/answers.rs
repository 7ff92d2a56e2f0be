//! An encoder trained on from a base to find the answer to a question in a text: its first and its last token.

use std::ops::Range;
use std::path::Path;

use anyhow::{Context, Result};
use chrono::{Days, NaiveDateTime};
use serde::Deserialize;
use serde_json::{Value, json};

use super::finetune::FinetuneParams;
use super::texts::{LEAST, TextWriter, pair_room, wrap_halves};
use super::tuning::Tuning;
use super::{seen_by, seen_by_new, tokenizer_of};
use crate::lines::{BLOCK, Line, Lines, Refused};
use inkstone_base::data::{Key, Report};
use inkstone_base::disk::{self, Room};
use inkstone_base::ensure;
use inkstone_base::job::Ctx;
use inkstone_base::language::Word;
use inkstone_models::transformer::{EncoderFolder, Goals};
use inkstone_text::subword::{Pieces, Subword};

/// The place of a window without the answer: the first token.
const NO_ANSWER: [u32; 2] = [0, 0];
/// Tokens of an answer at most, where the best one of a held-out window is looked for.
const LONGEST: usize = 30;

/// The fields of a line that only this training reads.
#[derive(Deserialize)]
struct QuestionFields {
    question: Option<String>,
    answers: Option<Vec<String>>,
}

/// A question and a part of a text as one input.
struct AskedInput {
    time: Option<NaiveDateTime>,
    tokens: Vec<u32>,
    /// Tokens of the text among them.
    text: Range<usize>,
    /// First and last token of the answer.
    span: [u32; 2],
}

/// Trains on all lines with the fields `question` and `answers` and writes the folder of the new model. The first answer that stands in the text is
/// learned, at its first place; without any answer, that there is none. A long text is several windows. Lines with times are put in their order,
/// and the last ones are held out. An interrupted training leaves a checkpoint beside the folder, from which the same training goes on. The report
/// has `documents`, `inputs`, `fitted_until`, `parameters`, `epochs`, and of `held_out` windows the shares of exact answers and F1 over tokens.
pub fn train_answers(lines: &mut Lines, params: &FinetuneParams, output: &Path, ctx: &Ctx) -> Result<Report> {
    let base = EncoderFolder::open(&params.base)?;
    let heads = base.of_spans()?.into();
    let seen = seen_by(&base.files, params.fitted_until)?;
    disk::is_ours(output, Room::Converted)?;
    let subword = tokenizer_of(&base.files, base.shape.vocabulary)?;
    let room = pair_room(&subword, params.max_tokens, base.most_tokens(), 2 * LEAST)?;
    let (documents, inputs) = read_inputs(lines, &subword, room, ctx)?;
    ensure!(
        inputs.iter().any(|input| input.span != NO_ANSWER),
        "没有一行有可学的答案：请给每行 \"text\"、\"question\" 和 \"answers\"（文本片段的列表），写成 JSON 行（--format jsonl）",
        "no line has an answer to learn: give each line \"text\", \"question\" and \"answers\", a list of parts of the text, as JSON lines (--format jsonl)"
    );

    let mut writer = TextWriter::new(output)?;
    inputs.iter().try_for_each(|input| writer.push(&input.tokens))?;
    let texts = writer.finish()?;
    let spans: Vec<[u32; 2]> = inputs.iter().map(|input| input.span).collect();
    let known_by = json!(Key::of(bytemuck::cast_slice(&spans)));
    let tuning = Tuning { base: &base, heads, texts: &texts, params: &params.training, output };
    let tuned = tuning.train(Goals::Spans(spans), &known_by, ctx)?;
    let scores = tuning.held_out_scores(&tuned, ctx)?;
    let figures = held_out_figures(&scores, &inputs[tuning.first_held_out()..]);
    let last = inputs.iter().filter_map(|input| input.time).max();
    let last = last.and_then(|last| last.checked_add_days(Days::new(params.label_days.into())));
    let fitted_until = seen_by_new(Some(seen), last, params.fitted_until);
    let training = json!({
        "base": params.base, "documents": documents, "epochs": tuned.model.epochs(), "held_out": figures,
        "program": env!("CARGO_PKG_VERSION"),
    });
    tuning.write(&tuned, &[], fitted_until, &training)?;
    let mut report = lines.report();
    report.fact("documents", documents);
    report.fact("inputs", inputs.len());
    report.fact("fitted_until", fitted_until);
    report.fact("parameters", tuned.model.values().iter().map(|values| values.len()).sum::<usize>());
    report.fact("epochs", tuned.model.epochs());
    report.fact("held_out", figures);
    Ok(report)
}

/// The number of lines, and their windows of at most `room` tokens without special ones, by time; in the order of the lines where one has no time.
/// Lines that ask nothing, or whose answers do not stand in their text, are set aside.
fn read_inputs(lines: &mut Lines, subword: &Subword, room: usize, ctx: &Ctx) -> Result<(usize, Vec<AskedInput>)> {
    let (mut inputs, mut left_out, mut documents) = (Vec::new(), Vec::new(), 0);
    lines.for_each_block(BLOCK, |read| {
        for line in &read {
            ctx.check()?;
            match windows(line, subword, room)? {
                Ok(windows) => {
                    documents += 1;
                    inputs.extend(windows);
                }
                Err(reason) => left_out.push(Refused { number: line.number, reason }),
            }
        }
        Ok(ctx.advance(read.len() as u64)?)
    })?;
    lines.finish()?;
    lines.refuse(left_out);
    if inputs.iter().all(|input: &AskedInput| input.time.is_some()) {
        inputs.sort_by_key(|input| input.time);
    }
    Ok((documents, inputs))
}

/// The windows of a line, or the reason why it has none.
fn windows(line: &Line<'_>, subword: &Subword, room: usize) -> Result<Result<Vec<AskedInput>, &'static str>> {
    let fields = line.json.and_then(|json| serde_json::from_str::<QuestionFields>(json).ok());
    let Some(QuestionFields { question: Some(question), answers: Some(answers) }) = fields else {
        return Ok(Err("without a question and a list of answers"));
    };
    let text = line.whole();
    let place = answers.iter().filter(|answer| !answer.is_empty()).find_map(|answer| {
        let begin = text.find(answer.as_str())?;
        Some(begin..begin + answer.len())
    });
    if place.is_none() && !answers.is_empty() {
        return Ok(Err("with answers that do not stand in its text"));
    }
    let question = subword.encode(&question)?.ids;
    let Pieces { ids, offsets } = subword.encode(&text)?;
    let room = room.saturating_sub(question.len());
    if room < 2 * LEAST || ids.len() < LEAST {
        return Ok(Err("without text, or with a question that leaves no room for one"));
    }
    let answer = place.map(|place| {
        let within = |offset: &Range<u32>| (offset.end as usize) > place.start && (offset.start as usize) < place.end;
        let first = offsets.iter().position(within);
        (first, offsets.iter().rposition(within))
    });
    let answer = match answer {
        Some((Some(first), Some(last))) => Some(first..=last),
        Some(_) => return Ok(Err("with answers that the tokenizer drops")),
        None => None,
    };
    // Windows overlap by half, so that an answer at the end of one stands within the next.
    let step = if ids.len() <= room { ids.len() } else { room.div_ceil(2) };
    let begins = (0..ids.len()).step_by(step).take_while(|begin| *begin == 0 || begin + room < ids.len() + step);
    let window = |begin: usize| {
        let part = begin..ids.len().min(begin + room);
        let wrapped = subword
            .wrap_pair(&question, &ids[part.clone()])
            .context(Word("应为文本对的分词器", "a tokenizer of pairs"))?;
        let first = wrapped.texts[1].start;
        let inside = answer.as_ref().filter(|answer| part.contains(answer.start()) && part.contains(answer.end()));
        let place = |token: usize| (first + token - begin) as u32;
        Ok(AskedInput {
            time: line.time,
            tokens: wrap_halves(subword, &question, &ids[part.clone()])?,
            text: wrapped.texts[1].clone(),
            span: inside.map_or(NO_ANSWER, |answer| [place(*answer.start()), place(*answer.end())]),
        })
    };
    begins.map(window).collect::<Result<Vec<AskedInput>>>().map(Ok)
}

/// The figures of windows, of the scores of their tokens as first and last ones; null where there are none.
fn held_out_figures(scores: &[f32], inputs: &[AskedInput]) -> Value {
    if inputs.is_empty() {
        return Value::Null;
    }
    let (mut rest, mut exact, mut f1) = (scores, 0.0, 0.0);
    for input in inputs {
        let (here, others) = rest.split_at(2 * input.tokens.len());
        rest = others;
        let score = |first: usize, last: usize| here[2 * first] + here[2 * last + 1];
        let mut best = (NO_ANSWER, score(0, 0));
        for first in input.text.clone() {
            for last in first..input.text.end.min(first + LONGEST) {
                if score(first, last) > best.1 {
                    best = ([first as u32, last as u32], score(first, last));
                }
            }
        }
        let [found, right] = [best.0, input.span];
        exact += f64::from(u8::from(found == right));
        let common = (f64::from(found[1].min(right[1])) - f64::from(found[0].max(right[0])) + 1.0).max(0.0);
        let length = |span: [u32; 2]| f64::from(span[1] - span[0] + 1);
        f1 += 2.0 * common / (length(found) + length(right));
    }
    let count = inputs.len() as f64;
    json!({"windows": inputs.len(), "exact": exact / count, "f1": f1 / count})
}
