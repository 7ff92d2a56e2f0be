//! `train mix`.

use std::path::Path;

use anyhow::{Result, ensure};
use serde_json::json;

use crate::cli::Mix;
use crate::command::staged;
use crate::headless::Summary;
use inkstone_base::disk;
use inkstone_base::job::Ctx;
use inkstone_features::standalone::head::Head;
use inkstone_features::standalone::onnx::{Contextual, LearnedMix, train_mix};
use inkstone_features::standalone::{Lines, open_encoder};
use inkstone_onnx::{MixParams, OnnxParams};

pub(super) fn run(args: &Mix, ctx: &Ctx) -> Result<Summary> {
    let using = args.onnx.contextual();
    // Layers are mixed before anything is scaled, and pooled as the folder says.
    let params = OnnxParams { model: args.model.clone(), ..using.params.clone() };
    let pooling = params.settled_pooling(Path::new(""))?;
    let normalise = params.normalise.unwrap_or(false);
    let settled = OnnxParams { pooling: Some(pooling.clone()), normalise: Some(normalise), ..params };
    let using = Contextual { params: settled, ..using };
    let params = MixParams { epochs: args.epochs, lr: args.lr, l2: args.l2 };
    let mut lines = Lines::open(&args.input, args.format)?;
    if let Some(folder) = args.output.as_deref().map(disk::folder_of) {
        ensure!(
            pooling.is_linear() && !normalise,
            "--output needs a pooling without max and pooler, and no --normalise: of mixed layers these give other vectors than those that \
             the classifier is learned on"
        );
        ensure!(folder.is_dir(), "there is no folder {} for --output", folder.display());
    }
    let train = || train_mix(&using, &mut lines, args.format, &params, ctx);
    let (LearnedMix { layers, mix, estimator, documents, labelled_until }, report) = staged(ctx, "train", train)?;
    let mut summary = Summary { partial: report.dropped_rows() > 0, ..Summary::default() };
    if let Some(output) = &args.output {
        let mixed = OnnxParams { layers: layers.clone(), ..using.params.clone() };
        let using = Contextual { params: mixed, ..using };
        let encoder = open_encoder(&args.model, &using, args.format, output, ctx)?;
        Head::of_classes(estimator, &encoder, documents, labelled_until, json!({"mix": params})).save(output)?;
        summary.set("output", output.display().to_string());
    }
    summary.set("layers", layers);
    summary.set("learned", mix);
    summary.set("stages", [report]);
    Ok(summary)
}
