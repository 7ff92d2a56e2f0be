//! A language model trained on from a base to write what belongs to a text: its summary, or its title.

use std::path::Path;

use anyhow::{Result, ensure};
use chrono::NaiveDateTime;
use serde::Deserialize;
use serde_json::json;

use super::finetune::FinetuneParams;
use super::texts::{LEAST, TextWriter, pair_room, wrap_halves};
use super::tuning::Tuning;
use super::{seen_by, seen_by_new, tokenizer_of};
use crate::lines::{BLOCK, Line, Lines, Refused};
use inkstone_base::data::Report;
use inkstone_base::disk::{self, Room};
use inkstone_base::job::Ctx;
use inkstone_models::transformer::{EncoderFolder, Goals};
use inkstone_text::subword::Subword;

/// Fewest tokens of a text that are read before its summary; a longer summary is cut.
const SOURCE: usize = 8;

/// A text and its summary as one input.
struct SummarisedInput {
    time: Option<NaiveDateTime>,
    tokens: Vec<u32>,
}

/// The field of a line that only this training reads.
#[derive(Deserialize)]
struct SummaryField {
    summary: Option<String>,
}

/// Trains a base that reads from left to right to write the summary of each line's text behind it; of lines without a `summary`, the title behind the
/// text alone. Writes the folder of the new model. Lines with times are put in their order, and the last ones are held out. An interrupted training
/// leaves a checkpoint beside the folder, from which the same training goes on. The report has `documents`, `fitted_until`, `parameters`,
/// `epochs` and the `perplexity` of the tokens of held-out summaries.
pub fn train_writer(lines: &mut Lines, params: &FinetuneParams, output: &Path, ctx: &Ctx) -> Result<Report> {
    let base = EncoderFolder::open(&params.base)?;
    ensure!(
        base.is_causal(),
        "{} reads in both directions and writes nothing: take a language model (train gpt, or a GPT-2)",
        base.path().display()
    );
    let seen = seen_by(&base, params.fitted_until)?;
    disk::is_ours(output, Room::Converted)?;
    let subword = tokenizer_of(&base)?;
    let room = pair_room(&subword, params.max_tokens, base.most_tokens(), SOURCE + LEAST)?;
    let inputs = read_inputs(lines, &subword, room, ctx)?;
    ensure!(
        !inputs.is_empty(),
        "no line has a text and what is to be written: give each line \"text\" and \"summary\", or \"title\", as JSON lines (--format jsonl)"
    );

    let mut writer = TextWriter::new(output)?;
    inputs.iter().try_for_each(|input| writer.push(&input.tokens))?;
    let texts = writer.finish()?;
    let tuning = Tuning { base: &base, heads: base.words()?.into(), texts: &texts, params: &params.training, output };
    let tuned = tuning.train(Goals::Summaries, &json!("summaries"), ctx)?;
    let epochs = tuned.model.epochs();
    let last = inputs.iter().filter_map(|input| input.time).max();
    let fitted_until = seen_by_new(Some(seen), last, params.fitted_until);
    let training = json!({
        "base": params.base, "documents": inputs.len(), "epochs": epochs, "program": env!("CARGO_PKG_VERSION"),
    });
    tuning.write(&tuned, &[], fitted_until, &training)?;
    let mut report = lines.report();
    report.fact("documents", inputs.len());
    report.fact("fitted_until", fitted_until);
    report.fact("parameters", tuned.model.values().iter().map(|values| values.len()).sum::<usize>());
    report.fact("epochs", epochs);
    let best = epochs.iter().filter_map(|epoch| epoch.held_out).min_by(f64::total_cmp);
    report.fact("perplexity", best.map(f64::exp));
    Ok(report)
}

/// The inputs of lines, of at most `room` tokens without special ones, by time; in the order of the lines where one has no time. Other lines are
/// set aside.
fn read_inputs(lines: &mut Lines, subword: &Subword, room: usize, ctx: &Ctx) -> Result<Vec<SummarisedInput>> {
    let (mut inputs, mut left_out) = (Vec::new(), Vec::new());
    lines.for_each_block(BLOCK, |read| {
        for line in &read {
            ctx.check()?;
            match input(line, subword, room)? {
                Some(tokens) => inputs.push(SummarisedInput { time: line.time, tokens }),
                None => {
                    left_out.push(Refused { number: line.number, reason: "without a text and its summary or title" })
                }
            }
        }
        Ok(ctx.advance(read.len() as u64)?)
    })?;
    lines.finish()?;
    lines.refuse(left_out);
    if inputs.iter().all(|input: &SummarisedInput| input.time.is_some()) {
        inputs.sort_by_key(|input| input.time);
    }
    Ok(inputs)
}

/// The tokens of a line; none without a text or without a summary.
fn input(line: &Line<'_>, subword: &Subword, room: usize) -> Result<Option<Vec<u32>>> {
    let field = line.json.and_then(|json| serde_json::from_str::<SummaryField>(json).ok());
    let (text, summary) = match field.and_then(|field| field.summary) {
        Some(summary) => (line.whole(), summary),
        None => (line.text.clone(), line.title.to_string()),
    };
    let (text, mut summary) = (subword.encode(&text)?.ids, subword.encode(&summary)?.ids);
    if text.len() < LEAST || summary.is_empty() {
        return Ok(None);
    }
    summary.truncate(room - SOURCE);
    let text = &text[..text.len().min(room - summary.len())];
    wrap_halves(subword, text, &summary).map(Some)
}
