//! `train newwords`.

use std::path::Path;

use anyhow::{Context, Result, ensure};

use super::trained;
use crate::cli::Newwords;
use crate::headless::Summary;
use crate::job::Ctx;
use crate::model::NewWordParams;
use crate::plain::{LineFormat, Lines, newwords};

pub(super) fn run(args: &Newwords, ctx: &Ctx) -> Result<Summary> {
    let corpus = &args.corpus;
    let format = corpus.format.or_else(|| LineFormat::by_name(&corpus.input)).unwrap_or_default();
    ensure!(
        format != LineFormat::Tokens,
        "new words are found in text that has not been cut; give --format text or jsonl"
    );
    ensure!(
        corpus.input.as_os_str() != "-",
        "new words take two passes over the text, and the standard input can be read once; give a file"
    );
    let params = NewWordParams {
        max_len: args.max_len,
        min_count: args.min_count,
        min_documents: args.min_documents,
        min_pmi: args.min_pmi,
        min_entropy: args.min_entropy,
        compounds: args.compounds,
        top: args.top,
        memory_mb: args.memory,
    };
    let tokenizer = crate::command::files::tokenizer(&corpus.tokenizer, "builtin");
    let mut found = None;
    let report = ctx.stage("train", "docs", None, || {
        let open = || Lines::open(&corpus.input, format);
        let (words, report) = newwords::find(open, &params, args.until, &tokenizer, Path::new(""), ctx)?;
        found = Some(words);
        Ok(report)
    })?;
    let found = found.context("a finished training has words")?;
    found.save_dictionary(&args.output)?;
    if let Some(table) = &args.table {
        found.save_table(table)?;
    }
    let words = report.facts["words"].clone();
    let mut summary = trained("newwords", &args.output, report);
    summary.set("words", words);
    if let Some(table) = &args.table {
        summary.set("table", table.display().to_string());
    }
    Ok(summary)
}
