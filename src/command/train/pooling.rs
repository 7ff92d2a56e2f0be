//! `train pooling`.

use anyhow::Result;

use super::{open, trained};
use crate::cli::Pooling;
use crate::command::staged;
use crate::headless::Summary;
use inkstone_base::job::Ctx;
use inkstone_features::standalone::pooling;
use inkstone_models::{PoolingParams, WordVectors};

pub(super) fn run(args: &Pooling, ctx: &Ctx) -> Result<Summary> {
    let params = PoolingParams { form: args.pooling, a: args.a, components: args.components };
    let (mut lines, cutter) = open(&args.corpus)?;
    let vectors = WordVectors::open(&args.vectors)?;
    let train = || pooling::train(&mut lines, &cutter, vectors, &params, &args.output, ctx);
    let (model, report) = staged(ctx, "train", train)?;
    model.save(&args.output, cutter.spec())?;
    let summary = trained(pooling::KIND, &args.output, report, &["known_tokens", "dim"]);
    Ok(summary)
}
