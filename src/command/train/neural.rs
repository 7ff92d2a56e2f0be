//! `train nnlm`, `lbl`, `rnnlm`, `cw`, `textcnn` and `textrnn`.

use anyhow::Result;

use super::{exported, open, trained, trained_with_figures};
use crate::cli::{Cw, Language, Lbl, NetClasses, Nnlm, Rnnlm, TextCnn, TextRnn};
use crate::command::staged;
use crate::headless::Summary;
use inkstone_base::job::Ctx;
use inkstone_features::standalone::neural::train_language;
use inkstone_features::standalone::{textnet, windows};
use inkstone_models::neural::{FitParams, LanguageKind, LanguageParams, WindowParams};
use inkstone_models::textnet::{TextNetKind, TextNetParams};
use inkstone_models::{WordLimits, WordVectors};

pub(super) fn nnlm(args: &Nnlm, ctx: &Ctx) -> Result<Summary> {
    let (order, dim, hidden, direct) = (args.order, args.dim, args.hidden, args.direct);
    let params =
        LanguageParams { kind: LanguageKind::Nnlm, order, dim, hidden, direct, ..language_params(&args.language) };
    language(&args.language, &params, ctx)
}

pub(super) fn lbl(args: &Lbl, ctx: &Ctx) -> Result<Summary> {
    let (order, dim) = (args.order, args.dim);
    let params = LanguageParams { kind: LanguageKind::Lbl, order, dim, ..language_params(&args.language) };
    language(&args.language, &params, ctx)
}

pub(super) fn rnnlm(args: &Rnnlm, ctx: &Ctx) -> Result<Summary> {
    let (hidden, bptt) = (args.hidden, args.bptt);
    let params = LanguageParams { kind: LanguageKind::Rnnlm, hidden, bptt, ..language_params(&args.language) };
    language(&args.language, &params, ctx)
}

fn language_params(args: &Language) -> LanguageParams {
    LanguageParams { samples: args.samples, fit: args.fit.clone(), ..LanguageParams::default() }
}

fn language(args: &Language, params: &LanguageParams, ctx: &Ctx) -> Result<Summary> {
    let files = &args.files.files;
    let (mut lines, cutter) = open(&files.corpus)?;
    let words = WordLimits { min_count: args.min_count, max_words: args.max_words };
    let train = || train_language(&mut lines, &cutter, words, params, &files.output, ctx);
    let (vectors, report) = staged(ctx, "train", train)?;
    let facts = ["unknown_tokens", "parameters", "epochs", "perplexity"];
    let mut summary = trained(params.kind.name(), &files.output, report, &facts);
    exported(&vectors, &args.files, &mut summary)?;
    Ok(summary)
}

pub(super) fn cw(args: &Cw, ctx: &Ctx) -> Result<Summary> {
    let fit = FitParams { epochs: args.epochs, batch: args.batch, lr: args.lr, ..WindowParams::default().fit };
    let params = WindowParams { fit, ..args.params.clone() };
    let files = &args.files.files;
    let (mut lines, cutter) = open(&files.corpus)?;
    let train = || windows::train(&mut lines, &cutter, args.words, &params, &files.output, ctx);
    let (vectors, report) = staged(ctx, "train", train)?;
    let mut summary = trained(windows::METHOD, &files.output, report, &["epochs"]);
    exported(&vectors, &args.files, &mut summary)?;
    Ok(summary)
}

pub(super) fn textcnn(args: &TextCnn, ctx: &Ctx) -> Result<Summary> {
    let params = TextNetParams {
        kind: TextNetKind::TextCnn,
        widths: args.widths.clone(),
        maps: args.maps,
        pool: args.pool,
        ..TextNetParams::default()
    };
    classes(&args.classes, params, ctx)
}

pub(super) fn textrnn(args: &TextRnn, ctx: &Ctx) -> Result<Summary> {
    let params = TextNetParams {
        kind: TextNetKind::TextRnn,
        cell: args.cell,
        layers: args.layers.clone(),
        hidden: args.hidden,
        pool: args.pool,
        ..TextNetParams::default()
    };
    classes(&args.classes, params, ctx)
}

fn classes(args: &NetClasses, params: TextNetParams, ctx: &Ctx) -> Result<Summary> {
    let pretrained = args.pretrained.as_deref().map(WordVectors::open).transpose()?;
    let given = pretrained.as_ref().map(|vectors| vectors.dim());
    let params = TextNetParams {
        dim: args.dim.or(given).unwrap_or(params.dim),
        dropout: args.dropout,
        max_tokens: args.max_tokens,
        l2: args.l2,
        channels: args.channels,
        fit: args.fit.clone(),
        ..params
    };
    let words = WordLimits { min_count: args.min_count, max_words: args.max_words };
    let (mut lines, cutter) = open(&args.files.corpus)?;
    let (kind, output) = (params.kind.name(), &args.files.output);
    let train = || {
        let pretrained = pretrained.as_ref();
        textnet::train(&mut lines, &cutter, args.learn, words, &params, pretrained, output, ctx).map(|r| ((), r))
    };
    let ((), report) = staged(ctx, "train", train)?;
    Ok(trained_with_figures(kind, output, report))
}
