//! `train ppmi`.

use anyhow::Result;

use super::{exported, open, trained};
use crate::cli::Ppmi;
use crate::command::staged;
use crate::headless::Summary;
use inkstone_base::job::Ctx;
use inkstone_features::standalone::ppmi;
use inkstone_models::{CooccurrenceParams, PpmiParams, SvdParams};

pub(super) fn run(args: &Ppmi, ctx: &Ctx) -> Result<Summary> {
    let counting = CooccurrenceParams {
        window: args.window,
        weighting: args.weighting,
        min_count: args.min_count,
        max_words: args.max_words,
        memory: args.memory,
    };
    let svd = SvdParams { dim: args.dim, tolerance: args.tolerance };
    let params = PpmiParams { neg: args.neg, cds: args.cds, eig: args.eig, svd };
    let (mut lines, cutter) = open(&args.corpus)?;
    let matrix = args.matrix.as_deref();
    let train = || ppmi::train(&mut lines, &cutter, &counting, &params, &args.output, matrix, ctx);
    let (model, report) = staged(ctx, "train", train)?;
    model.save(&args.output, cutter.spec())?;
    let mut summary = trained(ppmi::METHOD, &args.output, report, &["pairs", "cells", "dim", "singular_value_error"]);
    exported(&model, args.vectors.as_deref(), &mut summary)?;
    if let Some(path) = matrix {
        summary.set("matrix", path.display().to_string());
    }
    Ok(summary)
}
