//! Commands that use a trained model, whatever its kind: `eval`, `embed`, `explain`, ...

use std::path::Path;

use anyhow::{Context, Result};
use serde::Serialize;

use super::staged::staged;
use crate::cli::{Convert, Embed, Eval, Explain, Generate, Nearest, Projection, Reading, SampleFlags, Shift};
use crate::headless::Summary;
use inkstone_base::data::Report;
use inkstone_base::job::Ctx;
use inkstone_base::language::Word;
use inkstone_base::limits;
use inkstone_base::{bail, ensure, message};
use inkstone_corpus::link::{self, EntityFinder};
use inkstone_features::models::onnx::{self, Contextual, Examination, Reranker, is_onnx};
use inkstone_features::models::{self, crf};
use inkstone_features::standalone::{
    self, Block, EvalParams, Figures, Fitted, Line, LineFormat, Lines, ProjectionParams, Shown, Sought, WordDistance,
};
use inkstone_market::securities_from_frame;
use inkstone_models::ngram::SampleParams;
use inkstone_models::{Explanation, ModelFile, WordVectors};
use inkstone_onnx::{Generator, OnnxParams, Opening, Output, PromptTemplate};
use inkstone_tables::frames;
use inkstone_text::Labeller;

/// Bytes of lines read at once when documents are picked out.
const BLOCK: usize = 1 << 20;

/// Default number of words that `sample --after` lists.
const LISTED: usize = 10;

/// The kind of `eval` that needs no model.
const SUMMARIES: &str = "summaries";

/// Measures a model, or summaries.
pub(super) fn eval(args: &Eval, ctx: &Ctx) -> Result<Summary> {
    let is_of_summaries = args.kind.as_deref() == Some(SUMMARIES);
    let Some(path) = &args.model else {
        let way_out = Word(
            "eval 需要 --model，`eval summaries` 需要 --references",
            "eval needs --model, and `eval summaries` needs --references",
        );
        let references = args.references.as_deref().context(way_out)?;
        let other = args.kind.as_deref().unwrap_or(SUMMARIES);
        ensure!(
            other == SUMMARIES,
            "--references 用于 `eval summaries`；评估 {other} 类模型请给 --model",
            "--references is for `eval summaries`; to evaluate a model of kind {other}, give --model"
        );
        return summaries(args, references, ctx);
    };
    ensure!(
        !is_of_summaries,
        "`eval summaries` 比较 --input 与 --references 两个文件，不用 --model",
        "`eval summaries` compares two files, --input and --references, and takes no --model"
    );
    let contextual = Contextual {
        examination: args.task,
        against: args.against.clone(),
        encoder: args.encoder.clone(),
        ..args.onnx.contextual()
    };
    if args.task == Some(Examination::FillMask) && is_onnx(path) {
        return fill_masks(args, path, &contextual, ctx);
    }
    let (model, format) = opened(path, args.format, Some(&args.input), &contextual, ctx)?;
    let name = model.name();
    let asked = args.kind.as_deref().unwrap_or(name);
    ensure!(
        asked == name,
        "{} 是 {name} 类模型，不是 {asked}",
        "{} is a model of kind {name}, not {asked}",
        path.display()
    );
    let params = EvalParams { table: args.per.zip(args.output.clone()), csv_formulas: args.csv.csv_formulas };
    let is_similarity = args.task == Some(Examination::Similarity);
    let is_retrieval = args.task == Some(Examination::Retrieval);
    ensure!(
        args.task.is_none()
            || is_similarity
            || is_retrieval
            || is_onnx(path)
            || (args.task == Some(Examination::Entities) && name == crf::METHOD),
        "{name} 模型没有这样的 --task：请写 --task similarity 或 retrieval，或不写以按该类模型评估",
        "a {name} model has no such --task: name --task similarity or retrieval, or no task to evaluate it as models of its kind are"
    );
    ensure!(
        args.beside.is_empty() || args.input != Path::new("-"),
        "--beside 要再次读取 --input，而标准输入只能读一次：请给文件",
        "--beside reads --input again, and the standard input is read once: give a file"
    );
    let measure = || measure(model.as_ref(), path, args, format, &params, ctx);
    let (figures, report) = staged(ctx, "eval", measure)?;
    let mut summary = used(model.as_ref(), path);
    let beside = args.beside.iter().map(|path| {
        let (model, format) = opened(path, args.format, Some(&args.input), &contextual, ctx)?;
        let measure = || self::measure(model.as_ref(), path, args, format, &EvalParams::default(), ctx);
        let mut other = used(model.as_ref(), path);
        other.fields.extend(staged(ctx, "eval", measure)?.0);
        Ok(other.fields)
    });
    let beside = beside.collect::<Result<Vec<_>>>()?;
    if !beside.is_empty() {
        summary.set("beside", beside);
    }
    if let Some((_, path)) = &params.table {
        summary.set("output", path.display().to_string());
    }
    summary.fields.extend(figures);
    ended(&mut summary, report);
    Ok(summary)
}

/// Measures a model on the documents of `eval`.
fn measure(
    model: &dyn Fitted,
    path: &Path,
    args: &Eval,
    format: LineFormat,
    params: &EvalParams,
    ctx: &Ctx,
) -> Result<(Figures, Report)> {
    if let Some(judgements) = args.words {
        return standalone::evaluate_words(model, &args.input, judgements, ctx);
    }
    let mut lines = Lines::open(&args.input, format)?;
    match args.task.filter(|_| !is_onnx(path)) {
        Some(Examination::Retrieval) => standalone::retrieval(model, &mut lines, ctx),
        Some(Examination::Similarity) => standalone::similarity(model, &mut lines, ctx),
        _ => model.evaluate(&mut lines, params, ctx),
    }
}

/// Measures what was written by its references.
fn summaries(args: &Eval, references: &Path, ctx: &Ctx) -> Result<Summary> {
    let lines = |path: &Path| Lines::open(path, format_of(args.format, Some(path)));
    let (written, wanted) = (lines(&args.input)?, lines(references)?);
    let tokens = args.tokens.unwrap_or_default();
    let (figures, report) = staged(ctx, "eval", || standalone::evaluate_summaries(written, wanted, tokens, ctx))?;
    let mut summary = Summary::default();
    summary.fields.extend(figures);
    ended(&mut summary, report);
    Ok(summary)
}

/// Shows what a masked language model, which need give nothing else, puts behind its masks.
fn fill_masks(args: &Eval, path: &Path, contextual: &Contextual, ctx: &Ctx) -> Result<Summary> {
    let mut lines = Lines::open(&args.input, format_of(args.format, Some(&args.input)))?;
    let (figures, report) = staged(ctx, "eval", || onnx::fill_masks(path, contextual, &mut lines, ctx))?;
    let mut summary = Summary::default();
    summary.set("model", "onnx");
    summary.set("file", path.display().to_string());
    summary.fields.extend(figures);
    ended(&mut summary, report);
    Ok(summary)
}

/// Writes a model's row of each document.
pub(super) fn embed(args: &Embed, ctx: &Ctx) -> Result<Summary> {
    if args.list {
        return list_entities(args, ctx);
    }
    let (model, mut lines) = open(&args.reading, ctx)?;
    let embed = || Ok(((), standalone::embed(model.as_ref(), &mut lines, &args.output, args.csv.csv_formulas, ctx)?));
    let ((), report) = staged(ctx, "embed", embed)?;
    let mut summary = used(model.as_ref(), &args.reading.model);
    summary.set("output", args.output.display().to_string());
    summary.set("documents", report.rows_out);
    ended(&mut summary, report);
    Ok(summary)
}

/// Writes a contextual model as a folder of ONNX, in a smaller precision if asked.
pub(super) fn convert(args: &Convert, ctx: &Ctx) -> Result<Summary> {
    let (graphs, report) = inkstone_onnx::convert(&args.model, args.precision, args.words, &args.output, ctx)?;
    let mut summary = Summary::default();
    summary.set("model", args.model.display().to_string());
    summary.set("output", args.output.display().to_string());
    summary.set("graphs", graphs);
    ended(&mut summary, report);
    Ok(summary)
}

/// Writes the entities of documents, a row each.
fn list_entities(args: &Embed, ctx: &Ctx) -> Result<Summary> {
    let reading = &args.reading;
    let names = args.securities.as_deref().map(|path| securities_from_frame(&frames::read_parquet(path, None)?));
    let names = names.transpose()?.map(|table| EntityFinder::new(&table, &link::Params::default())).transpose()?;
    let formulas = args.csv.csv_formulas;
    if let Some(labeller) = labeller_at(&reading.model)? {
        let mut lines = Lines::open(&reading.input, format_of(reading.format, Some(&reading.input)))?;
        let list = || crf::list(&labeller, &mut lines, names.as_ref(), &args.output, formulas, ctx);
        let (figures, report) = staged(ctx, "embed", list)?;
        return Ok(listed(crf::METHOD, args, figures, report));
    }
    ensure!(
        reading.onnx.read == Output::Entities && is_onnx(&reading.model),
        "--list 用于实体：请指定 train crf --learn entities 的模型，或上下文模型并写 --read entities",
        "--list is for entities: name a model of train crf --learn entities, or a contextual model and --read entities"
    );
    let mut lines = Lines::open(&reading.input, format_of(reading.format, Some(&reading.input)))?;
    let contextual = reading.onnx.contextual();
    let list =
        || onnx::list_entities(&reading.model, &contextual, &mut lines, names.as_ref(), &args.output, formulas, ctx);
    let (figures, report) = staged(ctx, "embed", list)?;
    Ok(listed("onnx", args, figures, report))
}

/// The labeller of a file that is one.
fn labeller_at(path: &Path) -> Result<Option<Labeller>> {
    if is_onnx(path) || path.is_dir() {
        return Ok(None);
    }
    match ModelFile::open(path) {
        Ok(file) if file.header().kind == crf::METHOD => Ok(Some(Labeller::read(&file)?)),
        _ => Ok(None),
    }
}

fn listed(kind: &str, args: &Embed, figures: Figures, report: Report) -> Summary {
    let mut summary = Summary::default();
    summary.set("model", kind);
    summary.set("file", args.reading.model.display().to_string());
    summary.set("output", args.output.display().to_string());
    summary.set("documents", report.rows_out);
    summary.fields.extend(figures);
    ended(&mut summary, report);
    summary
}

/// An explanation and whose it is.
#[derive(Serialize)]
struct Explained {
    id: String,
    #[serde(flatten)]
    explanation: Explanation,
}

/// Takes the scores of documents apart.
pub(super) fn explain(args: &Explain, ctx: &Ctx) -> Result<Summary> {
    let contextual = Contextual { unit: args.unit, encoder: args.encoder.clone(), ..args.onnx.contextual() };
    let (model, format) = opened(&args.model, args.format, args.input.as_deref(), &contextual, ctx)?;
    let one = |line: &Line<'_>| -> Result<Explained> {
        let explanation = model.explain(line, args.of.as_deref())?.keep(args.top);
        Ok(Explained { id: line.name().into_owned(), explanation })
    };
    let Some(input) = &args.input else {
        let text =
            args.text.as_deref().context(Word("clap 应要求 --input 或 --text", "clap asks for --input or --text"))?;
        let line = Line { number: 1, text: text.into(), ..Line::default() };
        let mut summary = used(model.as_ref(), &args.model);
        summary.set("explanations", [one(&line)?]);
        return Ok(summary);
    };
    let mut lines = Lines::open(input, format)?;
    let (explained, report) = staged(ctx, "explain", || {
        let mut explained: Vec<Explained> = Vec::new();
        let mut block = Block::default();
        while lines.next_block(&mut block, BLOCK)? {
            for line in lines.documents(&block) {
                ctx.advance(1)?;
                if args.ids.is_empty() || args.ids.iter().any(|id| *id == line.name()) {
                    explained.push(one(&line)?);
                }
            }
        }
        Ok((explained, lines.finish()?))
    })?;
    let missing: Vec<&String> = args.ids.iter().filter(|&id| explained.iter().all(|e| e.id != *id)).collect();
    ensure!(
        missing.is_empty(),
        "没有编号为 {missing:?} 的文档；文档编号取字段 id，否则为行号，从 1 起",
        "no document has the id {missing:?}; the id of a document is its field id, or else the number of its line, from 1"
    );
    let mut summary = used(model.as_ref(), &args.model);
    summary.set("documents", explained.len());
    summary.set("explanations", explained);
    ended(&mut summary, report);
    Ok(summary)
}

/// Writes text by a contextual model.
pub(super) fn generate(args: &Generate, ctx: &Ctx) -> Result<Summary> {
    let place = args.place.params();
    let runtime = place.load(Path::new(""))?;
    let opening = Opening { runtime, device: place.device, threads: ctx.threads(), base: Path::new("") };
    let tokenizer = args.tokenizer.clone().unwrap_or_default();
    let (model, batch_tokens) = (args.model.clone(), args.batch_tokens);
    let params = OnnxParams { model, tokenizer, batch_tokens, ..OnnxParams::default() };
    let mut generator = Generator::open(&params, args.truncation, args.search(), &opening)?;
    if !args.choices.is_empty() {
        generator.choose(&args.choices)?;
    }
    if let Some(file) = &args.json_schema {
        let in_file = || message!("schema {}", "the schema {}", file.display());
        let text = limits::settings_file(file).with_context(in_file)?;
        let schema = serde_json::from_slice(&text).with_context(in_file)?;
        generator.keep_to_schema(&schema).with_context(in_file)?;
    }
    if let Some(file) = &args.prompt_file {
        let text = std::fs::read_to_string(file)
            .with_context(|| message!("无法读取提示词 {}", "cannot read the prompt {}", file.display()))?;
        generator
            .ask(PromptTemplate::parse(&text).with_context(|| message!("提示词 {}", "the prompt {}", file.display()))?);
    }
    if args.chat {
        generator.chat(args.system.clone())?;
    }
    let mut lines = Lines::open(&args.input, format_of(args.format, Some(&args.input)))?;
    let write = || Ok(((), onnx::generate(&mut generator, &mut lines, &args.labels, &args.output, ctx)?));
    let ((), report) = staged(ctx, "generate", write)?;
    let mut summary = Summary::default();
    summary.set("file", args.model.display().to_string());
    summary.set("ran", generator.ran());
    summary.set("output", args.output.display().to_string());
    summary.set("documents", report.rows_out);
    ended(&mut summary, report);
    Ok(summary)
}

/// Draws text from a language model.
pub(super) fn sample(args: &SampleFlags, ctx: &Ctx) -> Result<Summary> {
    let (model, _) = models::open_model(&args.model, args.format, None, Path::new(""), ctx)?;
    let mut summary = used(model.as_ref(), &args.model);
    let cannot = || {
        message!(
            "{} 模型不能预测下一个词；请给语言模型（inkstone train ngram、nnlm、lbl、rnnlm）",
            "a {} model cannot predict the next word; give a language model (inkstone train ngram, nnlm, lbl, rnnlm)",
            model.name()
        )
    };
    if let Some(after) = &args.after {
        let listed = if args.top_k == 0 { LISTED } else { args.top_k };
        summary.set("following", model.following(after, listed, ctx).with_context(cannot)??);
        return Ok(summary);
    }
    let params = SampleParams {
        documents: args.n,
        temperature: args.temperature,
        top_k: args.top_k,
        max_length: args.max_length,
    };
    summary.set("samples", model.sample(&params, ctx).with_context(cannot)??);
    Ok(summary)
}

/// Finds what lies nearest to words or documents.
pub(super) fn nearest(args: &Nearest, ctx: &Ctx) -> Result<Summary> {
    if !args.ratio.is_empty() {
        return ratios(args);
    }
    let (model, format) = opened(&args.model, args.format, args.input.as_deref(), &args.onnx.contextual(), ctx)?;
    let mut summary = used(model.as_ref(), &args.model);
    let Some(input) = &args.input else {
        let words = match args.senses {
            true => {
                let senses = args.words.iter().map(|word| standalone::senses(model.as_ref(), word, ctx));
                senses.collect::<Result<Vec<_>>>()?.concat()
            }
            false => args.words.clone(),
        };
        let found = match (args.minus.is_empty(), args.by) {
            (true, WordDistance::Cosine) => standalone::nearest_words(model.as_ref(), &words, args.k, ctx)?,
            (true, WordDistance::Euclidean) => standalone::words_by_distance(model.as_ref(), &words, args.k, ctx)?,
            (false, _) => vec![standalone::nearest_to_sum(model.as_ref(), &args.words, &args.minus, args.k, ctx)?],
        };
        summary.set("nearest", found);
        return Ok(summary);
    };
    let mut lines = Lines::open(input, format)?;
    let sought = args.text.as_deref().map_or(Sought::Ids(&args.ids), Sought::Text);
    let runtime = args.onnx.place.params();
    let reranker = args.rerank.as_deref().map(|path| Reranker::open(path, &runtime, ctx)).transpose()?;
    let search = || standalone::nearest_documents(model.as_ref(), &mut lines, &sought, args.k, reranker.as_ref(), ctx);
    let (found, report) = staged(ctx, "nearest", search)?;
    summary.set("documents", report.rows_out);
    if let Some(reranker) = &reranker {
        summary.set("reranked", reranker.ran());
    }
    summary.set("nearest", found);
    ended(&mut summary, report);
    Ok(summary)
}

/// Shows the words that go with one word rather than with another.
fn ratios(args: &Nearest) -> Result<Summary> {
    let [first, second] = args.ratio.as_slice() else {
        bail!(
            "--ratio 比较两个词，而给出了 {} 个：请写如 --ratio 冰,蒸汽",
            "--ratio compares two words, and {} are given: write --ratio ice,steam",
            args.ratio.len()
        )
    };
    let ratios = standalone::cooccurrence_ratios(&args.model, [first, second], &args.words, args.k)?;
    let mut summary = Summary::default();
    summary.set("file", args.model.display().to_string());
    summary.set("ratio", [first, second]);
    summary.set("words", ratios);
    Ok(summary)
}

/// Shows words in the plane.
pub(super) fn projection(args: &Projection, ctx: &Ctx) -> Result<Summary> {
    standalone::Projection::check_output(&args.output)?;
    let (model, _) = models::open_model(&args.model, None, None, Path::new(""), ctx)?;
    let params = ProjectionParams {
        method: args.method,
        perplexity: args.perplexity,
        epochs: args.epochs,
        clusters: args.clusters,
    };
    let shown = match &args.groups {
        Some(path) => Shown::Groups(path),
        None if args.words.is_empty() => Shown::Top(args.top),
        None => Shown::Words(&args.words),
    };
    let (projection, report) = staged(ctx, "projection", || standalone::project(model.as_ref(), shown, &params, ctx))?;
    projection.write(&args.output, args.csv.csv_formulas)?;
    let mut summary = used(model.as_ref(), &args.model);
    summary.set("output", args.output.display().to_string());
    summary.set("method", args.method);
    summary.fields.extend(report.facts.clone());
    ended(&mut summary, report);
    Ok(summary)
}

/// Follows words through models of different times.
pub(super) fn shift(args: &Shift, ctx: &Ctx) -> Result<Summary> {
    let (shifts, report) = staged(ctx, "shift", || {
        let models = args.models.iter().map(|path| WordVectors::open(path)).collect::<Result<Vec<_>>>()?;
        Ok((standalone::shifts(models, &args.words, ctx)?, Report::new("shift")))
    })?;
    standalone::write_shifts(&shifts, &args.output, args.csv.csv_formulas)?;
    let mut summary = Summary::default();
    summary.set("output", args.output.display().to_string());
    summary.set("models", args.models.len());
    summary.set("rows", shifts.len());
    ended(&mut summary, report);
    Ok(summary)
}

fn open(reading: &Reading, ctx: &Ctx) -> Result<(Box<dyn Fitted>, Lines)> {
    let contextual = Contextual { encoder: reading.encoder.clone(), ..reading.onnx.contextual() };
    let (model, format) = opened(&reading.model, reading.format, Some(&reading.input), &contextual, ctx)?;
    Ok((model, Lines::open(&reading.input, format)?))
}

/// A model of any kind, and the format of the lines that it reads.
fn opened(
    path: &Path,
    given: Option<LineFormat>,
    input: Option<&Path>,
    contextual: &Contextual,
    ctx: &Ctx,
) -> Result<(Box<dyn Fitted>, LineFormat)> {
    models::open_with(path, given, input, Path::new(""), contextual, ctx)
}

/// The format that was given, else the format of the input's ending.
pub(super) fn format_of(given: Option<LineFormat>, input: Option<&Path>) -> LineFormat {
    given.or_else(|| input.and_then(LineFormat::by_name)).unwrap_or_default()
}

/// A summary that begins with the model, its file, and the last time of the data that it was fitted on.
fn used(model: &dyn Fitted, path: &Path) -> Summary {
    let mut summary = Summary::default();
    let header = model.header();
    summary.set("model", model.name());
    summary.set("file", path.display().to_string());
    summary.set("fitted_until", header.fitted_until);
    if let Some(ran) = header.params.get("ran") {
        summary.set("ran", ran);
    }
    summary
}

/// Ends a summary with the report; rejected lines make it a partial success.
fn ended(summary: &mut Summary, report: Report) {
    summary.partial = report.dropped_rows() > 0;
    summary.set("stages", [report]);
}
