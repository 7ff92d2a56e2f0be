//! `train ngram` and `newwords`.

use std::path::Path;

use anyhow::{Result, ensure};

use super::{format, lines, open, trained};
use crate::cli::{Newwords, Ngram};
use crate::command::{files, staged};
use crate::headless::Summary;
use inkstone_base::disk;
use inkstone_base::job::Ctx;
use inkstone_features::standalone::{HeldOut, LineFormat, Source, newwords, train_ngram};
use inkstone_models::ngram::{LanguageModel, NgramParams, Pruning, Room};

pub(super) fn ngram(args: &Ngram, ctx: &Ctx) -> Result<Summary> {
    let params = NgramParams { prune: Pruning(args.prune.clone()), ..args.params.clone() };
    // The system's folder for temporary files often lies in memory, which is what runs are there to spare.
    let folder = args.temp.as_deref().unwrap_or_else(|| disk::folder_of(&args.output));
    let room = Room { memory_mb: args.memory, folder: folder.to_owned() };
    let (mut read, cutter) = open(&args.corpus)?;
    let held_out = match &args.held_out {
        Some(path) => HeldOut::Lines(lines(path, &args.corpus)?),
        None => HeldOut::Share,
    };
    let (model, report) = staged(ctx, "train", || train_ngram(&mut read, held_out, &cutter, &params, &room, ctx))?;
    if args.output.extension().is_some_and(|extension| extension == "arpa") {
        model.write_arpa(&args.output, ctx)?;
    } else {
        LanguageModel::new(&model, ctx)?.save(&args.output, cutter.spec(), &params)?;
    }
    Ok(trained("ngram", &args.output, report, &[]))
}

pub(super) fn newwords(args: &Newwords, ctx: &Ctx) -> Result<Summary> {
    let corpus = &args.corpus;
    let format = format(&corpus.input, corpus);
    ensure!(
        format != LineFormat::Tokens,
        "new words are found in text that has not been cut; give --format text or jsonl"
    );
    let source = Source::open(&corpus.input, format, ctx)?;
    let tokenizer = files::tokenizer(&corpus.tokenizer, "builtin");
    let (found, report) = staged(ctx, "train", || {
        newwords::find(|| source.lines(), &args.params, corpus.until, &tokenizer, Path::new(""), ctx)
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
