//! `train glove`.

use anyhow::Result;

use super::{exported, open, trained};
use crate::cli::Glove;
use crate::command::staged;
use crate::headless::Summary;
use inkstone_base::job::Ctx;
use inkstone_features::standalone::glove;
use inkstone_models::{CooccurrenceParams, GloveParams, PairWeighting};

pub(super) fn run(args: &Glove, ctx: &Ctx) -> Result<Summary> {
    let counting = CooccurrenceParams {
        window: args.window,
        weighting: PairWeighting::Harmonic,
        min_count: args.min_count,
        max_words: args.max_words,
        memory: args.memory,
    };
    let params = GloveParams { dim: args.dim, epochs: args.epochs, lr: args.lr, x_max: args.x_max, alpha: args.alpha };
    let (mut lines, cutter) = open(&args.corpus)?;
    let train = || glove::train(&mut lines, &cutter, &counting, &params, &args.output, ctx);
    let (model, report) = staged(ctx, "train", train)?;
    let mut summary = trained(glove::METHOD, &args.output, report, &["pairs", "dim", "losses", "pairs_per_second"]);
    exported(&model, args.vectors.as_deref(), &mut summary)?;
    Ok(summary)
}
