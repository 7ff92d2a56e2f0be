//! `train pooling`.

use std::path::PathBuf;

use anyhow::Result;
use clap::Args;

use super::{Files, open, trained};
use crate::command::staged::staged;
use crate::headless::Summary;
use inkstone_base::job::Ctx;
use inkstone_features::models::pooling;
use inkstone_models::{PoolingParams, WordVectors};

/// Flags of `train pooling`.
#[derive(Debug, Args)]
pub struct Pooling {
    #[command(flatten)]
    pub files: Files,
    /// The word vectors: a model of train glove, ppmi, ..., or a file in the formats of word2vec.
    ///
    /// 词向量：train glove、ppmi 等的模型，或 word2vec 格式的文件。
    #[arg(long, value_name = "FILE")]
    pub vectors: PathBuf,
    #[command(flatten)]
    pub params: PoolingParams,
}

pub(super) fn pooling(args: &Pooling, ctx: &Ctx) -> Result<Summary> {
    let output = &args.files.output;
    let (mut lines, cutter) = open(&args.files.corpus)?;
    let vectors = WordVectors::open(&args.vectors)?;
    let train = || pooling::train(&mut lines, &cutter, vectors, &args.params, output, ctx);
    let (model, report) = staged(ctx, "train", train)?;
    model.save(output, cutter.spec())?;
    Ok(trained(pooling::KIND, output, report, &["known_tokens", "dim"]))
}
