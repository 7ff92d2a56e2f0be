//! `train mix`.

use anyhow::Result;

use crate::cli::Mix;
use crate::headless::Summary;
use inkstone_base::job::Ctx;
use inkstone_features::standalone::Lines;
use inkstone_features::standalone::onnx::{Contextual, train_mix};
use inkstone_onnx::{MixParams, OnnxParams};

pub(super) fn run(args: &Mix, ctx: &Ctx) -> Result<Summary> {
    let using = args.onnx.contextual();
    let using = Contextual { params: OnnxParams { model: args.model.clone(), ..using.params.clone() }, ..using };
    let params = MixParams { epochs: args.epochs, lr: args.lr, l2: args.l2 };
    let mut lines = Lines::open(&args.input, args.format)?;
    let mut made = None;
    let report = ctx.stage("train", "docs", None, || {
        let (layers, mix, report) = train_mix(&using, &mut lines, args.format, &params, ctx)?;
        made = Some((layers, mix));
        Ok(report)
    })?;
    let mut summary = Summary { partial: report.dropped_rows() > 0, ..Summary::default() };
    if let Some((layers, mix)) = made {
        summary.set("layers", layers);
        summary.set("learned", mix);
    }
    summary.set("stages", [report]);
    Ok(summary)
}
