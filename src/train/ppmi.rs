//! `train ppmi`.

use std::path::PathBuf;

use anyhow::Result;
use clap::Args;

use super::{VectorFiles, exported, open, trained};
use crate::command::staged::staged;
use crate::headless::Summary;
use inkstone_base::job::Ctx;
use inkstone_features::models::ppmi;
use inkstone_features::models::ppmi::Matrices;
use inkstone_models::{CooccurrenceParams, PpmiParams};

/// Flags of `train ppmi`, with the names that hyperwords gives them.
#[derive(Debug, Args)]
pub struct Ppmi {
    #[command(flatten)]
    pub files: VectorFiles,
    /// Also write the matrix of positive pointwise mutual information: .npz
    ///
    /// 另写正逐点互信息矩阵：.npz。
    #[arg(long, value_name = "FILE.npz")]
    pub matrix: Option<PathBuf>,
    /// Also write the counts of pairs, for nearest --ratio and other tools: .npz
    ///
    /// 另写词对的次数，供 nearest --ratio 与其他工具使用：.npz。
    #[arg(long, value_name = "FILE.npz")]
    pub counts: Option<PathBuf>,
    #[command(flatten)]
    pub counting: CooccurrenceParams,
    #[command(flatten)]
    pub params: PpmiParams,
}

pub(super) fn ppmi(args: &Ppmi, ctx: &Ctx) -> Result<Summary> {
    let files = &args.files.files;
    let (mut lines, cutter) = open(&files.corpus)?;
    let matrices = Matrices { counts: args.counts.as_deref(), ppmi: args.matrix.as_deref() };
    let train = || ppmi::train(&mut lines, &cutter, &args.counting, &args.params, &files.output, matrices, ctx);
    let (model, report) = staged(ctx, "train", train)?;
    model.save(&files.output, cutter.spec())?;
    let mut summary = trained(ppmi::METHOD, &files.output, report, &["pairs", "cells", "dim", "singular_value_error"]);
    exported(&model, &args.files, &mut summary)?;
    for (name, path) in [("counts", &args.counts), ("matrix", &args.matrix)] {
        if let Some(path) = path {
            summary.set(name, path.display().to_string());
        }
    }
    Ok(summary)
}
