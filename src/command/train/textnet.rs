//! `train textcnn` and `textrnn`.

use anyhow::Result;

use super::neural::fitting;
use super::{open, trained};
use crate::cli::{NetClasses, TextCnn, TextRnn};
use crate::command::staged;
use crate::headless::Summary;
use inkstone_base::job::Ctx;
use inkstone_features::standalone::neural::Vocabulary;
use inkstone_features::standalone::textnet;
use inkstone_models::WordVectors;
use inkstone_models::textnet::{TextNetKind, TextNetParams};

pub(super) fn cnn(args: &TextCnn, ctx: &Ctx) -> Result<Summary> {
    let params = TextNetParams {
        kind: TextNetKind::TextCnn,
        widths: args.widths.clone(),
        maps: args.maps,
        ..TextNetParams::default()
    };
    run(&args.classes, params, ctx)
}

pub(super) fn rnn(args: &TextRnn, ctx: &Ctx) -> Result<Summary> {
    let params =
        TextNetParams { kind: TextNetKind::TextRnn, hidden: args.hidden, pool: args.pool, ..TextNetParams::default() };
    run(&args.classes, params, ctx)
}

fn run(args: &NetClasses, params: TextNetParams, ctx: &Ctx) -> Result<Summary> {
    let pretrained = args.pretrained.as_deref().map(WordVectors::open).transpose()?;
    let given = pretrained.as_ref().map(|vectors| vectors.dim());
    let params = TextNetParams {
        dim: args.dim.or(given).unwrap_or(params.dim),
        dropout: args.dropout,
        max_tokens: args.max_tokens,
        fixed: args.fixed,
        fit: fitting(&args.fitting, params.fit.batch),
        ..params
    };
    let vocabulary = Vocabulary { min_count: args.min_count, max_words: args.max_words };
    let (mut lines, cutter) = open(&args.corpus)?;
    let (kind, output) = (params.kind.name(), &args.output);
    let train =
        || textnet::train(&mut lines, &cutter, vocabulary, &params, pretrained.as_ref(), output, ctx).map(|r| ((), r));
    let ((), report) = staged(ctx, "train", train)?;
    let figures = report.facts.clone();
    let mut summary = trained(kind, output, report, &[]);
    for (name, value) in figures {
        summary.fields.entry(name).or_insert(value);
    }
    Ok(summary)
}
