//! `train nnlm`, `lbl`, `rnnlm` and `cw`.

use anyhow::Result;

use super::{exported, open, trained};
use crate::cli::{Cw, Fitting, Language, Lbl, Nnlm, Rnnlm};
use crate::command::staged;
use crate::headless::Summary;
use inkstone_base::job::Ctx;
use inkstone_features::standalone::neural::{Vocabulary, train_language};
use inkstone_features::standalone::windows;
use inkstone_models::neural::{FitParams, LanguageKind, LanguageParams, WindowParams};

pub(super) fn nnlm(args: &Nnlm, ctx: &Ctx) -> Result<Summary> {
    let params = LanguageParams {
        kind: LanguageKind::Nnlm,
        order: args.order,
        dim: args.dim,
        hidden: args.hidden,
        direct: args.direct,
        ..params(&args.language)
    };
    run(&args.language, &params, ctx)
}

pub(super) fn lbl(args: &Lbl, ctx: &Ctx) -> Result<Summary> {
    let own = params(&args.language);
    run(&args.language, &LanguageParams { kind: LanguageKind::Lbl, order: args.order, dim: args.dim, ..own }, ctx)
}

pub(super) fn rnnlm(args: &Rnnlm, ctx: &Ctx) -> Result<Summary> {
    let own = params(&args.language);
    run(&args.language, &LanguageParams { kind: LanguageKind::Rnnlm, hidden: args.hidden, bptt: args.bptt, ..own }, ctx)
}

fn params(args: &Language) -> LanguageParams {
    let fit = fitting(&args.fitting, FitParams::default().batch);
    LanguageParams { samples: args.samples, fit, ..LanguageParams::default() }
}

/// How a network is trained; `batch` is what a step has when nothing is said.
pub(super) fn fitting(args: &Fitting, batch: usize) -> FitParams {
    FitParams {
        epochs: args.epochs,
        batch: args.batch.unwrap_or(batch),
        lr: args.lr,
        clip: args.clip,
        patience: args.patience,
        held_out_share: args.held_out_share,
    }
}

fn run(args: &Language, params: &LanguageParams, ctx: &Ctx) -> Result<Summary> {
    let (mut lines, cutter) = open(&args.corpus)?;
    let vocabulary = Vocabulary { min_count: args.min_count, max_words: args.max_words };
    let train = || train_language(&mut lines, &cutter, vocabulary, params, &args.output, ctx);
    let (vectors, report) = staged(ctx, "train", train)?;
    let facts = ["unknown_tokens", "parameters", "epochs", "perplexity"];
    let mut summary = trained(params.kind.name(), &args.output, report, &facts);
    exported(&vectors, args.vectors.as_deref(), &mut summary)?;
    Ok(summary)
}

pub(super) fn cw(args: &Cw, ctx: &Ctx) -> Result<Summary> {
    let defaults = WindowParams::default();
    let fit = FitParams { epochs: args.epochs, batch: args.batch, lr: args.lr, ..defaults.fit };
    let params = WindowParams { dim: args.dim, window: args.window, hidden: args.hidden, fit };
    let vocabulary = Vocabulary { min_count: args.min_count, max_words: args.max_words };
    let (mut lines, cutter) = open(&args.corpus)?;
    let train = || windows::train(&mut lines, &cutter, vocabulary, &params, &args.output, ctx);
    let (vectors, report) = staged(ctx, "train", train)?;
    let mut summary = trained(windows::METHOD, &args.output, report, &["epochs"]);
    exported(&vectors, args.vectors.as_deref(), &mut summary)?;
    Ok(summary)
}
