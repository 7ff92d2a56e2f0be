//! `train mix`.

use std::path::{Path, PathBuf};

use anyhow::Result;
use clap::Args;
use serde_json::json;

use crate::cli::Onnx;
use crate::command::staged::staged;
use crate::config::bounds::flag;
use crate::headless::Summary;
use inkstone_base::disk;
use inkstone_base::ensure;
use inkstone_base::job::Ctx;
use inkstone_features::models::head::Head;
use inkstone_features::models::onnx::{Contextual, LearnedMix, train_mix};
use inkstone_features::models::open_encoder;
use inkstone_features::standalone::{LineFormat, Lines};
use inkstone_onnx::{MixParams, OnnxParams};

/// Flags of `train mix`.
#[derive(Debug, Args)]
pub struct Mix {
    /// The folder of a contextual model that gives its hidden states.
    ///
    /// 能给出隐藏状态的上下文模型的文件夹。
    #[arg(short, long, value_name = "DIR")]
    pub model: PathBuf,
    /// Lines with a label; - is the standard input.
    ///
    /// 带标签的行；- 为标准输入。
    #[arg(short, long, value_name = "FILE")]
    pub input: PathBuf,
    /// How lines are written; labels are in jsonl.
    ///
    /// 行的格式；jsonl 中有标签。
    #[arg(long, value_name = "FORMAT", default_value = "jsonl")]
    pub format: LineFormat,
    /// Also write the classifier that was learned with the weights: a head on the mixed layers, for eval, embed and explain.
    ///
    /// 同时写出与权重一起学得的分类器：混合层上的分类头，供 eval、embed、explain 使用。
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Passes over the documents.
    ///
    /// 遍历文档的轮数。
    #[arg(long, value_name = "N", default_value_t = MixParams::default().epochs, value_parser = flag::<usize>("--epochs"))]
    pub epochs: usize,
    /// Rate of learning.
    ///
    /// 学习率。
    #[arg(long, value_name = "R", default_value_t = MixParams::default().lr, value_parser = flag::<f64>("--lr"))]
    pub lr: f64,
    /// Penalty on weights.
    ///
    /// 权重的惩罚。
    #[arg(long, value_name = "L", default_value_t = MixParams::default().l2, value_parser = flag::<f64>("--weight"))]
    pub l2: f64,
    #[command(flatten)]
    pub onnx: Onnx,
}

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
            "--output 须用不含 max 与 pooler 的池化，且不用 --normalise：对混合的层，它们给出的向量与分类器所学的不同",
            "--output needs a pooling without max and pooler, and no --normalise: of mixed layers these give other vectors than those that the classifier is learned on"
        );
        ensure!(
            folder.is_dir(),
            "没有 --output 所需的文件夹 {}",
            "there is no folder {} for --output",
            folder.display()
        );
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
