//! Commands on plain files, no project needed: `tokenize` and `backtest --factor`.

use std::collections::BTreeMap;
use std::io::{BufWriter, ErrorKind, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result};
use chrono::Utc;
use serde_json::json;

use super::project::factor_json;
use super::staged::counted;
use crate::cli::{Backtest, Global, Tokenize, Tokenizer, WordCut};
use crate::headless::Summary;
use crate::pipeline::{self, FactorResult};
use inkstone_base::disk::{self, Room};
use inkstone_base::job::Ctx;
use inkstone_base::language::Word;
use inkstone_base::width::Screened;
use inkstone_base::{ensure, message};
use inkstone_lab::backtest::{self, Params, events};
use inkstone_lab::export::{self, ExportFactor, Extra, Provenance};
use inkstone_lab::factor::Factor;
use inkstone_lab::ledger::{self, Trial};
use inkstone_lab::lint::{self, Masked, Subject};
use inkstone_market::Market;
use inkstone_report::{FactorReport, factor_html, verdicts_json};
use inkstone_tables::project::Project;
use inkstone_text::subword::Subword;
use inkstone_text::{
    Counter, Cutting, Labeller, Mode, PieceCutter, Segmenter, Stopwords, TokenizeParams, TokenizerParams,
    VocabularyParams, tokenize_stream,
};

/// Puts the flags of `backtest` over the parameters.
pub(super) fn apply(args: &Backtest, params: &mut Params) -> Result<()> {
    if let Some(preset) = args.preset {
        params.preset = preset;
    }
    if let Some(horizons) = &args.horizons {
        params.horizons.clone_from(horizons);
    }
    params.quantiles = args.quantiles.unwrap_or(params.quantiles);
    params.delay = args.delay.or(params.delay);
    params.price = args.price.or(params.price);
    params.weights = args.weights.unwrap_or(params.weights);
    params.within_industry |= args.within_industry;
    if let Some(benchmark) = &args.benchmark {
        params.benchmark.clone_from(benchmark);
    }
    params.top = args.top.unwrap_or(params.top);
    params.drop = args.drop.unwrap_or(params.drop);
    params.slippage_bps = args.slippage_bps.unwrap_or(params.slippage_bps);
    params.capital = args.capital.unwrap_or(params.capital);
    params.delisting_return = args.delisting_return.unwrap_or(params.delisting_return);
    params.min_listed_days = args.min_listed_days.unwrap_or(params.min_listed_days);
    params.max_loss = args.max_loss.unwrap_or(params.max_loss);
    params.allow_lookahead |= args.allow_lookahead;
    params.validate()
}

/// Tests a factor table against a price table: returns, events, look-ahead, and the statistics of the ledger.
pub(super) fn backtest(args: &Backtest, ctx: &Ctx) -> Result<Summary> {
    let (Some(table), Some(prices)) = (&args.factor, &args.prices) else {
        unreachable!("clap lets --factor through only with --prices");
    };
    if let Some(out) = &args.out {
        // Before the test is noted in the ledger.
        disk::is_ours(out, Room::Exports)?;
    }
    let mut params = Params::default();
    apply(args, &mut params)?;
    let market = Market::read(prices, &[])?;
    let (factor, read) = Factor::read(table, &market)?;
    let times_assumed = read.facts.get("known_at").is_some_and(|known| known != "given");
    let mut reports = vec![read];
    let dates = market.dates().len() as u64;
    let (outcome, report) =
        counted(ctx, ("backtest", "dates", Some(dates)), || backtest::run(&factor, &market, &params, ctx))?;
    reports.push(report);
    let inputs = BTreeMap::from([
        ("factor".to_owned(), disk::hash_file(table)?),
        ("prices".to_owned(), disk::hash_file(prices)?),
    ]);
    let trial = Trial::backtest(&outcome, json!({"backtest": params}), inputs.clone());
    let looks = ledger::record(&ledger_of(args)?, &trial, Utc::now())?;
    let (of_events, of_lint) = (events::Params::default(), lint::Params::default());
    let (study, report) =
        counted(ctx, ("events", "events", None), || pipeline::study(&[], &factor, &market, &of_events, ctx))?;
    reports.push(report);
    let subject = Subject {
        factor: &factor,
        market: &market,
        backtest: &params,
        times_assumed,
        texts: None,
        factors: None,
        masked: Masked::Unknown,
        rewire: None,
    };
    let (verdicts, report) = counted(ctx, ("lint", "checks", Some(10)), || lint::run(&subject, &of_lint, ctx))?;
    reports.push(report);
    let result = FactorResult { outcome, events: study, verdicts, looks: Some(looks) };
    let mut summary = Summary::default();
    if let Some(out) = &args.out {
        let provenance = Provenance {
            parameters: json!({"backtest": params, "events": of_events, "lint": of_lint}),
            inputs,
            seed: ctx.seed(),
            known_at: "the known_at column of the factor table; without one, the close of each value's date".to_owned(),
            ..Provenance::default()
        };
        let tables = [ExportFactor { name: &factor.name, values: &factor.values }];
        let extras = extras(&result, &provenance)?;
        let outcomes = std::slice::from_ref(&result.outcome);
        let (_, report) = counted(ctx, ("export", "files", None), || {
            export::run(&tables, outcomes, &extras, out, &tables_of(args), &provenance, ctx)
        })?;
        reports.push(report);
        summary.set("out", out.display().to_string());
        summary.set("report", out.join("report.html").display().to_string());
    }
    summary.set("stages", reports);
    summary.set("factors", [factor_json(&result)]);
    Ok(summary)
}

/// The flags of the tables to be written as parameters.
fn tables_of(args: &Backtest) -> export::Params {
    let default = export::Params::default();
    export::Params {
        formats: args.formats.clone().unwrap_or(default.formats),
        shapes: args.shapes.clone().unwrap_or(default.shapes),
        bom: args.bom,
        csv_formulas: args.csv_formulas,
        code_style: default.code_style,
    }
}

/// Folder of the ledger that notes tests of plain tables.
fn ledger_of(args: &Backtest) -> Result<PathBuf> {
    if let Some(ledger) = &args.ledger {
        return Ok(ledger.clone());
    }
    let project = Project::standalone();
    project.own()?;
    Ok(project.ledger())
}

/// The files beside the tables: the page, the event study, the verdicts.
fn extras(result: &FactorResult, provenance: &Provenance) -> Result<Vec<Extra>> {
    let page = FactorReport {
        outcome: &result.outcome,
        events: result.events.as_ref(),
        verdicts: &result.verdicts,
        looks: result.looks.as_ref(),
        beside: None,
        newest: None,
        experiments: &[],
        manifest: &serde_json::to_value(provenance)?,
        note: "",
    };
    let name = &result.outcome.factor;
    Ok(vec![
        Extra { path: "report.html".to_owned(), bytes: factor_html(&page)?.into_bytes() },
        Extra { path: format!("backtest/{name}/events.json"), bytes: serde_json::to_vec_pretty(&result.events)? },
        Extra {
            path: format!("backtest/{name}/lint.json"),
            bytes: serde_json::to_vec_pretty(&verdicts_json(&result.verdicts))?,
        },
    ])
}

/// Cuts stdin to stdout, a line a document.
pub(super) fn tokenize(args: &Tokenize, global: &Global) -> Result<ExitCode> {
    let params = args.cut.params("none");
    let (segmenter, pieces) = match params.mode {
        Mode::Wordpiece => (None, Some(pieces(&params)?)),
        Mode::Char | Mode::Jieba | Mode::Crf => (Some(Segmenter::new(&params, Path::new(""))?), None),
    };
    let labeller = args.names.as_deref().map(Labeller::open).transpose()?;
    if let (Some(labeller), Some(path)) = (&labeller, &args.names) {
        ensure!(
            !labeller.cuts_words(),
            "{} 切词，不找名称：--names 须为 train crf --learn entities 的模型",
            "{} cuts words and finds no names: --names takes a model of train crf --learn entities",
            path.display()
        );
    }
    let cutting = match (&segmenter, &labeller, &pieces) {
        (Some(segmenter), Some(labeller), _) => Cutting::Names(segmenter, labeller),
        (Some(segmenter), None, _) => Cutting::Words(segmenter),
        (None, _, pieces) => Cutting::Pieces(
            pieces
                .as_ref()
                .context(Word("该行既不切成词，也不切成子词", "the line is cut neither into words nor into pieces"))?,
        ),
    };
    let output = TokenizeParams {
        separator: args.separator.clone(),
        truncation: args.truncate.unwrap_or_default(),
        specials: args.specials.unwrap_or_else(|| cutting.specials()),
        terms: params.stopwords != Stopwords::None,
        tags: params.tags,
    };
    let dictionaries = segmenter.iter().flat_map(|segmenter| segmenter.dictionaries());
    for (line, word) in dictionaries.flat_map(|read| &read.unreachable) {
        let _ = writeln!(
            std::io::stderr(),
            "{}",
            message!(
                "词典第 {line} 行：jieba 在标点处切开 {word:?}，永远找不到它",
                "dictionary line {line}: jieba cuts {word:?} at a punctuation mark and never finds it"
            )
        );
    }
    let ctx = Ctx::new(global.threads.unwrap_or(0), 1)?;
    let stdin = std::io::stdin();
    if stdin.is_terminal() {
        let _ = writeln!(
            std::io::stderr(),
            "{}",
            message!(
                "从键盘读取文本，每行一篇文档；Ctrl-D 结束输入",
                "reading text from the keyboard, one document per line; Ctrl-D ends the input"
            )
        );
    }
    let stdout = std::io::stdout();
    // A pipe gets every byte; a terminal nothing that it would obey.
    let out: Box<dyn Write> =
        if stdout.is_terminal() { Box::new(Screened::new(stdout.lock())) } else { Box::new(stdout.lock()) };
    let out = BufWriter::new(out);
    let mut counter = args.vocabulary.is_some().then(Counter::default);
    let report = match tokenize_stream(stdin.lock(), out, cutting, &output, counter.as_mut(), &ctx) {
        // Who reads no further wants no more; but a vocabulary was asked for of all.
        Err(error) if is_closed_pipe(&error) && counter.is_none() => return Ok(ExitCode::SUCCESS),
        streamed => streamed?,
    };
    if let (Some(path), Some(counter)) = (&args.vocabulary, counter) {
        let written = counter.build(&VocabularyParams::ALL).and_then(|vocabulary| vocabulary.save(path));
        written.with_context(|| message!("无法写入词表 {}", "cannot write the vocabulary {}", path.display()))?;
    }
    for (reason, n) in &report.dropped {
        let _ = writeln!(std::io::stderr(), "{n} lines: {reason}");
    }
    Ok(ExitCode::from(u8::from(report.dropped_rows() > 0)))
}

pub(super) fn is_closed_pipe(error: &anyhow::Error) -> bool {
    let closed = |cause: &std::io::Error| cause.kind() == ErrorKind::BrokenPipe;
    error.downcast_ref::<std::io::Error>().is_some_and(closed)
}

/// The tokenizer of a contextual model; flags for words are refused.
fn pieces(params: &TokenizerParams) -> Result<PieceCutter> {
    let (mode, path) = (params.mode, params.pieces.clone());
    let plain = Tokenizer { mode, pieces: path.clone(), labeller: None, words: WordCut::default() };
    ensure!(
        *params == plain.params("none"),
        "--cut、--no-hmm、--dict、--tags 和 --stopwords 用于词；--mode wordpiece 由模型的分词器决定",
        "--cut, --no-hmm, --dict, --tags and --stopwords are for words; with --mode wordpiece the tokenizer of the model decides"
    );
    let path = path.context(Word("wordpiece 模式需要 --pieces", "the mode wordpiece needs --pieces"))?;
    Ok(PieceCutter::new(Subword::open(&path)?))
}
