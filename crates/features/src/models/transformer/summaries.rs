//! A model trained to write what belongs to a text, its summary or its title: on from a base, or a recurrent one from nothing.

use std::path::{Path, PathBuf};

use anyhow::Result;
use chrono::NaiveDateTime;
use serde::Deserialize;
use serde_json::{Value, json};

use super::base::OpenedBase;
use super::pretrain::{count_words, write_tokenizer};
use super::texts::{LEAST, TextWriter, pair_room, room, wrap_halves};
use super::tuning::Tuning;
use super::{begin_folder, seen_by, seen_by_new, tokenizer_of};
use crate::lines::{BLOCK, Line, Lines, Refused};
use crate::stage_result;
use inkstone_base::data::{Key, Report};
use inkstone_base::disk::{self, Room};
use inkstone_base::ensure;
use inkstone_base::job::Ctx;
use inkstone_models::checkpoint::Checkpoint;
use inkstone_models::neural::EpochFigures;
use inkstone_models::textnet::Cell;
use inkstone_models::transformer::{
    AttentionScore, Goals, RnnFolder, RnnSeq2Seq, RnnShape, SECOND, TokenTexts, TransformerParams,
};
use inkstone_text::subword::Subword;

/// Fewest tokens of a text that are read before its summary; a longer summary is cut.
const SOURCE: usize = 8;

/// Tokens of a text at most that a new model reads where nothing is said, special tokens included.
const PLACES: usize = 256;

/// Settings of `train writer`.
#[derive(Clone, Debug)]
pub struct WriterParams {
    /// The folder of a base; none for a new recurrent encoder with its decoder.
    pub base: Option<PathBuf>,
    pub new: NewWriter,
    /// Tokens of an input at most, special tokens included; 0: as many as the base has places.
    pub max_tokens: usize,
    /// The last time of the base's text, where its folder does not say it, and of lines without a time.
    pub fitted_until: Option<NaiveDateTime>,
    /// Share of the tokens that a recurrent decoder writes behind the right token before, in the last epoch.
    pub forced: f64,
    pub training: TransformerParams,
}

/// Sizes of a recurrent encoder and its decoder.
#[derive(Clone, Copy, Debug)]
pub struct NewWriter {
    pub cell: Cell,
    pub score: AttentionScore,
    pub width: usize,
    /// Tokens of the vocabulary at most.
    pub vocabulary: usize,
    /// Occurrences of a character or a merge at least.
    pub min_count: u64,
}

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

/// Opens a base that writes: a language model, or an encoder with its decoder.
fn open_base(folder: &Path) -> Result<OpenedBase> {
    let base = OpenedBase::open(folder)?;
    if let OpenedBase::Encoder(encoder) = &base {
        ensure!(
            encoder.is_causal(),
            "{} 双向阅读，不能写作：请用语言模型（train gpt 或 lstm，或 GPT-2），或带解码器的编码器（train bart，或 BART）",
            "{} reads in both directions and writes nothing: take a language model (train gpt or lstm, or a GPT-2) or an encoder with a decoder (train bart, or a BART)",
            folder.display()
        );
    }
    Ok(base)
}

/// Tokens that a base reads and writes at most, special tokens not included.
#[derive(Clone, Copy)]
enum WriterRoom {
    /// Of a text with its summary.
    Together(usize),
    /// Of a text, and of a summary.
    Each(usize),
}

impl WriterRoom {
    /// Fails where the base has fewer places than `most`.
    fn new(base: &OpenedBase, subword: &Subword, most: usize) -> Result<WriterRoom> {
        let places = base.most_tokens();
        Ok(match base {
            OpenedBase::Encoder(_) => WriterRoom::Together(pair_room(subword, most, places, SOURCE + LEAST)?),
            OpenedBase::Seq2Seq(_) | OpenedBase::Rnn(_) => WriterRoom::Each(room(subword, most, places)?),
        })
    }

    /// A text and its summary as one input; the tokens of the summary are of the second segment.
    fn input(self, subword: &Subword, text: &[u32], mut summary: Vec<u32>) -> Result<Vec<u32>> {
        match self {
            WriterRoom::Together(room) => {
                summary.truncate(room - SOURCE);
                wrap_halves(subword, &text[..text.len().min(room - summary.len())], &summary)
            }
            WriterRoom::Each(room) => {
                summary.truncate(room);
                let mut ids = subword.wrap(&text[..text.len().min(room)]).ids;
                ids.extend(subword.wrap(&summary).ids.into_iter().map(|id| id | SECOND));
                Ok(ids)
            }
        }
    }
}

/// A base, its tokenizer, and that tokenizer's definition where both are new.
struct BegunWriter {
    base: OpenedBase,
    subword: Subword,
    definition: Option<Value>,
}

impl BegunWriter {
    fn of_base(folder: &Path) -> Result<BegunWriter> {
        let base = open_base(folder)?;
        let subword = tokenizer_of(base.files(), base.vocabulary())?;
        Ok(BegunWriter { base, subword, definition: None })
    }

    /// A recurrent encoder with its decoder over the words of all lines.
    fn new(open: &dyn Fn() -> Result<Lines>, params: &WriterParams, output: &Path, ctx: &Ctx) -> Result<BegunWriter> {
        let counted = stage_result(ctx, "count words", "docs", None, || {
            let mut lines = open()?;
            let text = |line: &Line<'_>| format!("{}\n{}", line.whole(), summary_of(line).unwrap_or_default());
            let counted = count_words(&mut lines, &text, ctx)?;
            Ok((counted, lines.finish()?))
        })?;
        let NewWriter { cell, score, width, vocabulary, min_count } = params.new;
        let definition = counted.word_pieces(vocabulary, min_count)?;
        let subword = Subword::of_definition(definition.clone())?;
        let [pad, begin, end] = ["[PAD]", "[CLS]", "[SEP]"].map(|name| subword.id(name).unwrap_or_default());
        let places = if params.max_tokens == 0 { PLACES } else { params.max_tokens };
        let shape = RnnShape { cell, score, vocabulary: subword.size(), width, places, ends: [begin, end] };
        let base = OpenedBase::Rnn(RnnFolder::create(output, shape, pad)?);
        Ok(BegunWriter { base, subword, definition: Some(definition) })
    }

    fn write_tokenizer(&self, output: &Path) -> Result<()> {
        match &self.definition {
            Some(definition) => write_tokenizer(definition, self.base.most_tokens(), output),
            None => self.base.files().copy_tokenizer(output),
        }
    }
}

/// Trains a base to write the summary of each line's text; of lines without a `summary`, the title of the text alone. A base that reads from left to
/// right learns to write it behind the text, a decoder from what its encoder has read. Without a base the lines are read twice, first for the words of a
/// recurrent encoder and decoder. Writes the folder of the new model. Lines with times are put
/// in their order, and the last ones are held out. An interrupted training leaves a checkpoint beside the folder, from which the same training goes
/// on. The report has `documents`, `fitted_until`, `parameters`, `epochs` and the `perplexity` of the tokens of held-out summaries.
pub fn train_writer(
    open: &dyn Fn() -> Result<Lines>,
    params: &WriterParams,
    output: &Path,
    ctx: &Ctx,
) -> Result<Report> {
    disk::is_ours(output, Room::Converted)?;
    let begun = match &params.base {
        Some(folder) => BegunWriter::of_base(folder)?,
        None => BegunWriter::new(open, params, output, ctx)?,
    };
    let BegunWriter { base, subword, definition } = &begun;
    ensure!(
        params.forced == 1.0 || matches!(base, OpenedBase::Rnn(_)),
        "--teacher-forcing 用于循环解码器（--net）：请去掉",
        "--teacher-forcing is for recurrent decoders (--net): leave it out"
    );
    let seen = if definition.is_some() { None } else { Some(seen_by(base.files(), params.fitted_until)?) };
    let mut lines = open()?;
    let inputs = read_inputs(&mut lines, subword, WriterRoom::new(base, subword, params.max_tokens)?, ctx)?;
    ensure!(
        !inputs.is_empty(),
        "没有一行既有文本又有要写的内容：请给每行 \"text\" 和 \"summary\" 或 \"title\"，写成 JSON 行（--format jsonl）",
        "no line has a text and what is to be written: give each line \"text\" and \"summary\", or \"title\", as JSON lines (--format jsonl)"
    );

    let mut writer = TextWriter::new(output)?;
    inputs.iter().try_for_each(|input| writer.push(&input.tokens))?;
    let texts = writer.finish()?;
    let last = inputs.iter().filter_map(|input| input.time).max();
    let fitted_until = seen_by_new(seen, last, params.fitted_until);
    let record = |epochs: &[EpochFigures]| json!({"base": params.base, "documents": inputs.len(), "epochs": epochs, "program": env!("CARGO_PKG_VERSION")});
    // What a training that goes on must have in common with the one that was interrupted.
    let checkpoint = |values: Vec<&[f32]>, more: Value| {
        let weights = values.into_iter().map(|values| Key::of(bytemuck::cast_slice(values)));
        Checkpoint::new(
            output,
            &json!({
                "training": params.training, "seed": ctx.seed(), "text": Key::of(bytemuck::cast_slice(texts.tokens())),
                "weights": weights.collect::<Vec<Key>>(), "more": more,
            }),
        )
    };
    let tokens = TokenTexts { tokens: texts.tokens(), frozen: None };
    let (parameters, epochs) = match base {
        OpenedBase::Encoder(base) => {
            let (heads, params) = (base.words()?.into(), &params.training);
            let tuning = Tuning { base, heads, texts: &texts, params, output };
            let tuned = tuning.train(Goals::Summaries, &json!("summaries"), ctx)?;
            let epochs = tuned.model.epochs().to_vec();
            tuning.write(&tuned, &[], fitted_until, &record(&epochs))?;
            (count(&tuned.model.values()), epochs)
        }
        OpenedBase::Seq2Seq(base) => {
            let model = base.read()?;
            let checkpoint = checkpoint(model.values(), Value::Null)?;
            let trained = model.train(tokens, &texts.places, None, &params.training, Some(&checkpoint), ctx)?;
            begin_folder(output)?;
            begun.write_tokenizer(output)?;
            base.write(output, &trained, fitted_until, &record(trained.epochs()))?;
            checkpoint.remove()?;
            (count(&trained.values()), trained.epochs().to_vec())
        }
        OpenedBase::Rnn(base) => {
            let model = match definition {
                Some(_) => RnnSeq2Seq::random(base.shape, ctx.seed())?,
                None => base.read()?,
            };
            let checkpoint = checkpoint(model.values(), json!([base.shape.cell, base.shape.score, params.forced]))?;
            let trained =
                model.train(tokens, &texts.places, params.forced, &params.training, Some(&checkpoint), ctx)?;
            begin_folder(output)?;
            begun.write_tokenizer(output)?;
            base.write(output, &trained, fitted_until, &record(trained.epochs()))?;
            checkpoint.remove()?;
            (count(&trained.values()), trained.epochs().to_vec())
        }
    };
    let mut report = lines.report();
    report.fact("documents", inputs.len());
    report.fact("fitted_until", fitted_until);
    report.fact("parameters", parameters);
    report.fact("epochs", &epochs);
    let best = epochs.iter().filter_map(|epoch| epoch.held_out).min_by(f64::total_cmp);
    report.fact("perplexity", best.map(f64::exp));
    Ok(report)
}

/// Number of weights.
fn count(values: &[&[f32]]) -> usize {
    values.iter().map(|values| values.len()).sum()
}

/// The inputs of lines, by time; in the order of the lines where one has no time. Other lines are set aside.
fn read_inputs(lines: &mut Lines, subword: &Subword, room: WriterRoom, ctx: &Ctx) -> Result<Vec<SummarisedInput>> {
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

/// The summary that a line has.
fn summary_of(line: &Line<'_>) -> Option<String> {
    line.json.and_then(|json| serde_json::from_str::<SummaryField>(json).ok())?.summary
}

/// The tokens of a line; none without a text or without a summary.
fn input(line: &Line<'_>, subword: &Subword, room: WriterRoom) -> Result<Option<Vec<u32>>> {
    let (text, summary) = match summary_of(line) {
        Some(summary) => (line.whole(), summary),
        None => (line.text.clone(), line.title.to_string()),
    };
    let (text, summary) = (subword.encode(&text)?.ids, subword.encode(&summary)?.ids);
    if text.len() < LEAST || summary.is_empty() {
        return Ok(None);
    }
    room.input(subword, &text, summary).map(Some)
}
