//! `train ppmi`.

use anyhow::Result;

use super::{open, trained};
use crate::cli::Ppmi;
use crate::command::staged;
use crate::headless::Summary;
use crate::job::Ctx;
use crate::model::{CooccurrenceParams, PpmiParams, SvdParams, VectorFormat};
use crate::plain::ppmi;

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
    if let Some(path) = &args.vectors {
        model.export(path, VectorFormat::by_name(path))?;
    }
    let facts = report.facts.clone();
    let mut summary = trained(ppmi::METHOD, &args.output, report);
    for name in ["pairs", "cells", "dim", "singular_value_error"] {
        summary.set(name, &facts[name]);
    }
    for (name, path) in [("vectors", &args.vectors), ("matrix", &args.matrix)] {
        if let Some(path) = path {
            summary.set(name, path.display().to_string());
        }
    }
    Ok(summary)
}
