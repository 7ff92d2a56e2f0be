//! `train ngram`.

use std::path::Path;

use anyhow::Result;

use super::{lines, open, trained};
use crate::cli::Ngram;
use crate::command::staged;
use crate::headless::Summary;
use inkstone_base::job::Ctx;
use inkstone_features::standalone::{HeldOut, train_ngram};
use inkstone_models::ngram::{LanguageModel, NgramParams, Pruning, Room};

pub(super) fn run(args: &Ngram, ctx: &Ctx) -> Result<Summary> {
    let params = NgramParams {
        order: args.order,
        smoothing: args.smoothing,
        prune: Pruning(args.prune.clone()),
        k: args.k,
        held_out_share: args.held_out_share,
    };
    // The system's folder for temporary files often lies in memory, which is what runs are there to spare.
    let beside = args.output.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let folder = args.temp.as_deref().unwrap_or(beside);
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
