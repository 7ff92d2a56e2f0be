//! `keywords`.

use std::path::Path;

use anyhow::{Context, Result};

use crate::cli::{KeywordPreset, Keywords};
use crate::headless::Summary;
use inkstone_base::job::Ctx;
use inkstone_base::language::Word;
use inkstone_base::{ensure, message};
use inkstone_features::standalone::keywords::{self, Extractor, KeywordParams, Method};
use inkstone_features::standalone::{CutSpec, LineFormat, Lines, Source};
use inkstone_models::{Idf, ModelFile, Vectorizer};

/// Finds keywords and key sentences.
pub(super) fn run(args: &Keywords, ctx: &Ctx) -> Result<Summary> {
    let corpus = &args.corpus;
    let format = corpus.format.or_else(|| LineFormat::by_name(&corpus.input)).unwrap_or_default();
    let (cut, idf) = cut_and_idf(args, format)?;
    let mut extractor = Extractor::new(&cut, params(args, format), idf, Path::new(""))?;
    let mut reports = Vec::new();
    let mut lines;
    if extractor.wants_counts() {
        let source = Source::open(&corpus.input, format, ctx)?;
        reports.push(ctx.stage("count", "docs", None, || {
            let mut counted = source.lines()?.until(corpus.until)?;
            extractor.count(&mut counted, ctx)?;
            counted.finish()
        })?);
        lines = source.lines()?.until(corpus.until)?;
    } else {
        lines = Lines::open(&corpus.input, format)?.until(corpus.until)?;
    }
    reports.push(ctx.stage("keywords", "docs", None, || {
        keywords::run(&mut lines, &extractor, &args.output, args.csv.csv_formulas, ctx)
    })?);
    let mut summary = Summary::default();
    let last = reports.last().context(Word("完成的运行应有报告", "a finished run has a report"))?;
    summary.partial = last.dropped_rows() > 0;
    summary.set("output", args.output.display().to_string());
    for name in ["documents", "without_keywords", "keywords", "sentences"] {
        summary.set(name, &last.facts[name]);
    }
    summary.set("stages", reports);
    Ok(summary)
}

fn params(args: &Keywords, format: LineFormat) -> KeywordParams {
    let mut params = match args.preset {
        KeywordPreset::Default => KeywordParams { method: args.method, ..KeywordParams::default() },
        KeywordPreset::Jieba => KeywordParams::jieba(args.method),
    };
    match &args.pos {
        Some(tags) if *tags == ["all"] => params.pos.clear(),
        Some(tags) => params.pos.clone_from(tags),
        None if format == LineFormat::Tokens => params.pos.clear(),
        None => {}
    }
    params.top = args.top;
    params.min_chars = args.min_chars;
    params.sentences = args.sentences;
    params.textrank.window = args.window;
    params.textrank.damping = args.damping;
    params.explain = args.explain;
    params
}

/// The cut of the text, and the idf of words if a file gives it.
fn cut_and_idf(args: &Keywords, format: LineFormat) -> Result<(CutSpec, Option<Idf>)> {
    ensure!(
        args.method == Method::Tfidf || (args.model.is_none() && args.idf.is_none()),
        "--model 与 --idf 给出词的 idf，只有 --method tfidf 使用",
        "--model and --idf give the idf of words, which only --method tfidf uses"
    );
    let tokenizer = &args.corpus.tokenizer;
    if let Some(path) = &args.model {
        ensure!(
            tokenizer.words.dict.is_empty() && tokenizer.words.stopwords.is_none(),
            "模型按训练时的方式切词；请去掉 --dict 与 --stopwords，或去掉 --model",
            "the model cuts text as it was trained; leave out --dict and --stopwords, or --model"
        );
        let file = ModelFile::open(path)?;
        let mut cut: CutSpec = file.param("cut")?;
        let model = Vectorizer::read(&file)?;
        cut.format = format;
        return Ok((cut, Some(Idf::of_model(&model)?)));
    }
    let mut params = tokenizer.params("builtin");
    if args.preset == KeywordPreset::Jieba {
        params = tokenizer.params("none");
        params.lowercase = false;
        params.keep_punctuation = true;
        params.keep_numbers = true;
    }
    let idf = args.idf.as_ref().map(|path| -> Result<Idf> {
        let text = std::fs::read_to_string(path)
            .with_context(|| message!("无法读取 {}（--idf）", "cannot read {} (--idf)", path.display()))?;
        Idf::of_table(&text, path)
    });
    Ok((CutSpec::new(format, params), idf.transpose()?))
}
