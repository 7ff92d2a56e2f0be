//! Commands on plain files, no project needed: `tokenize` and `backtest --factor`.

use std::io::{BufWriter, IsTerminal, Write};
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, Result, ensure};

use super::project::figures;
use crate::backtest::{self, Params};
use crate::cli::{Backtest, Global, LineMode, Tokenize, Tokenizer, WordCut};
use crate::export::{self, ExportFactor, Provenance};
use crate::factor::Factor;
use crate::headless::Summary;
use crate::job::Ctx;
use crate::market::Market;
use crate::text::subword::Subword;
use crate::text::{
    Counter, Cutting, Mode, PieceCutter, Segmenter, Stopwords, TokenizeParams, TokenizerParams, VocabularyParams,
    tokenize_stream,
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

/// Tests a factor table against a price table.
pub(super) fn backtest(args: &Backtest, ctx: &Ctx) -> Result<Summary> {
    let (Some(factor), Some(prices)) = (&args.factor, &args.prices) else {
        unreachable!("clap lets --factor through only with --prices");
    };
    let mut params = Params::default();
    apply(args, &mut params)?;
    let market = Market::read(prices, &[])?;
    let (factor, read) = Factor::read(factor, &market)?;
    let mut outcome = None;
    let dates = market.dates().len() as u64;
    let report = ctx.stage("backtest", "dates", Some(dates), || {
        let (tested, report) = backtest::run(&factor, &market, &params, ctx)?;
        outcome = Some(tested);
        Ok(report)
    })?;
    let outcome = outcome.context("a finished backtest has an outcome")?;
    let mut summary = Summary::default();
    let mut reports = vec![read, report];
    if let Some(out) = &args.out {
        let provenance = Provenance {
            parameters: serde_json::to_value(&params)?,
            inputs: [("prices".to_owned(), crate::disk::hash_file(prices)?)].into(),
            seed: ctx.seed(),
            known_at: "the known_at column of the factor table; without one, the close of each value's date".to_owned(),
            ..Provenance::default()
        };
        let tables = [ExportFactor { name: &factor.name, values: &factor.values }];
        let outcomes = std::slice::from_ref(&outcome);
        reports.push(ctx.stage("export", "files", None, || {
            Ok(export::run(&tables, outcomes, out, &export::Params::default(), &provenance, ctx)?.1)
        })?);
        summary.set("out", out.display().to_string());
    }
    summary.set("stages", reports);
    summary.set("factors", [figures(&outcome)]);
    Ok(summary)
}

/// The flags of cutting as parameters; without a flag, `stopwords` says which are left out.
pub(super) fn tokenizer(args: &Tokenizer, stopwords: &str) -> TokenizerParams {
    words(args.mode, &args.words, stopwords)
}

fn words(mode: Mode, args: &WordCut, stopwords: &str) -> TokenizerParams {
    TokenizerParams {
        mode,
        cut: args.cut,
        hmm: !args.no_hmm,
        tags: args.tags,
        dictionaries: args.dict.clone(),
        stopwords: args.stopwords.clone().unwrap_or_else(|| stopwords.to_owned()).into(),
        ..TokenizerParams::default()
    }
}

/// Cuts stdin to stdout, a line a document.
pub(super) fn tokenize(args: &Tokenize, global: &Global) -> Result<ExitCode> {
    let mode = if args.mode == LineMode::Char { Mode::Char } else { Mode::Jieba };
    let params = words(mode, &args.words, "none");
    let (segmenter, pieces) = match &args.tokenizer {
        Some(path) => (None, Some(pieces(args, path, &params)?)),
        None => (Some(Segmenter::new(&params, Path::new(""))?), None),
    };
    let cutting = match (&segmenter, &pieces) {
        (Some(segmenter), _) => Cutting::Words(segmenter),
        (None, pieces) => Cutting::Pieces(pieces.as_ref().context("a line is cut by words or by pieces")?),
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
        let _ =
            writeln!(std::io::stderr(), "dictionary line {line}: jieba cuts at a mark in {word:?} and never finds it");
    }
    let ctx = Ctx::new(global.threads.unwrap_or(0), 1)?;
    let stdin = std::io::stdin();
    if stdin.is_terminal() {
        let _ = writeln!(std::io::stderr(), "reading text from the keyboard, a line a document; Ctrl-D ends");
    }
    let out = BufWriter::new(std::io::stdout().lock());
    let mut counter = args.vocabulary.is_some().then(Counter::default);
    let report = tokenize_stream(stdin.lock(), out, cutting, &output, counter.as_mut(), &ctx)?;
    if let (Some(path), Some(counter)) = (&args.vocabulary, counter) {
        let written = counter.build(&VocabularyParams::ALL).and_then(|vocabulary| vocabulary.save(path));
        written.with_context(|| format!("cannot write the vocabulary {}", path.display()))?;
    }
    for (reason, n) in &report.dropped {
        let _ = writeln!(std::io::stderr(), "{n} lines: {reason}");
    }
    Ok(ExitCode::from(u8::from(report.dropped_rows() > 0)))
}

/// The tokenizer of a contextual model; what speaks of words does not go with it.
fn pieces(args: &Tokenize, path: &Path, params: &TokenizerParams) -> Result<PieceCutter> {
    ensure!(args.mode == LineMode::Wordpiece, "--tokenizer names the tokenizer of a model: add --mode wordpiece");
    let plain = words(params.mode, &WordCut::default(), "none");
    ensure!(
        *params == plain,
        "--cut, --no-hmm, --dict, --tags and --stopwords are of words; a model's pieces are what its tokenizer says"
    );
    Ok(PieceCutter::new(Subword::open(path)?))
}
