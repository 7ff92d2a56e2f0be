//! `train glove`.

use anyhow::Result;
use clap::Args;

use super::{VectorFiles, exported, open, trained};
use crate::command::staged::staged;
use crate::config::bounds::flag;
use crate::headless::Summary;
use inkstone_base::job::Ctx;
use inkstone_features::models::glove;
use inkstone_models::{CooccurrenceParams, GloveParams, PairWeighting, WordLimits};

/// Flags of `train glove`, with the names of the authors' program.
#[derive(Debug, Args)]
pub struct Glove {
    #[command(flatten)]
    pub files: VectorFiles,
    /// Words from one of a pair to the other at the most; a pair counts 1 / distance.
    ///
    /// 词对之间最多隔几个词；每对计 1 / 距离。
    #[arg(long, value_name = "N", default_value_t = 15, value_parser = flag::<usize>("feature.glove.window"))]
    pub window: usize,
    #[command(flatten)]
    pub words: WordLimits,
    #[command(flatten)]
    pub params: GloveParams,
    /// Memory for pairs that are not yet sorted, in MB; more goes to scratch files beside the output.
    ///
    /// 未排序词对可用的内存（MB）；更多的写到输出旁的临时文件。
    #[arg(long, value_name = "MB", default_value_t = CooccurrenceParams::default().memory, value_parser = flag::<usize>("--memory"))]
    pub memory: usize,
}

pub(super) fn glove(args: &Glove, ctx: &Ctx) -> Result<Summary> {
    let counting = CooccurrenceParams {
        window: args.window,
        weighting: PairWeighting::Harmonic,
        min_count: args.words.min_count,
        max_words: args.words.max_words,
        memory: args.memory,
    };
    let files = &args.files.files;
    let (mut lines, cutter) = open(&files.corpus)?;
    let train = || glove::train(&mut lines, &cutter, &counting, &args.params, &files.output, ctx);
    let (model, report) = staged(ctx, "train", train)?;
    let mut summary = trained(glove::METHOD, &files.output, report, &["pairs", "dim", "losses", "pairs_per_second"]);
    exported(&model, &args.files, &mut summary)?;
    Ok(summary)
}
