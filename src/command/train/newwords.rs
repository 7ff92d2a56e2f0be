//! `train newwords`.

use std::path::Path;

use anyhow::{Result, ensure};

use super::trained;
use crate::cli::Newwords;
use crate::command::staged;
use crate::headless::Summary;
use inkstone_base::job::Ctx;
use inkstone_features::standalone::{LineFormat, Source, newwords};
use inkstone_models::NewWordParams;

pub(super) fn run(args: &Newwords, ctx: &Ctx) -> Result<Summary> {
    let corpus = &args.corpus;
    let format = corpus.format.or_else(|| LineFormat::by_name(&corpus.input)).unwrap_or_default();
    ensure!(
        format != LineFormat::Tokens,
        "new words are found in text that has not been cut; give --format text or jsonl"
    );
    let source = Source::open(&corpus.input, format, ctx)?;
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
    let (found, report) = staged(ctx, "train", || {
        newwords::find(|| source.lines(), &params, corpus.until, &tokenizer, Path::new(""), ctx)
    })?;
    found.save_dictionary(&args.output)?;
    if let Some(table) = &args.table {
        found.save_table(table, args.csv.csv_formulas)?;
    }
    let words = report.facts["words"].clone();
    let mut summary = trained("newwords", &args.output, report, &[]);
    summary.set("words", words);
    if let Some(table) = &args.table {
        summary.set("table", table.display().to_string());
    }
    Ok(summary)
}
