//! `train sentences`.

use anyhow::Result;
use clap::Args;

use super::{Files, open, trained_with_figures};
use crate::command::staged::staged;
use crate::config::bounds::flag;
use crate::headless::Summary;
use inkstone_base::job::Ctx;
use inkstone_features::models::sentences::{self, Positives};
use inkstone_models::WordLimits;
use inkstone_models::sentences::SentenceParams;

/// Flags of `train sentences`.
#[derive(Debug, Args)]
pub struct Sentences {
    #[command(flatten)]
    pub files: Files,
    /// Texts that stand beside each other: sentences (the title and the sentences of the text in a row), title (the title and the text) or
    /// summary (the field summary and the text). Without effect on infersent, whose lines are pairs with a label.
    ///
    /// 相邻的文本：sentences（标题与正文各句依次）、title（标题与正文）或 summary（summary 字段与正文）。对 infersent 无效，其每行为带标签的句对。
    #[arg(long, value_enum, default_value_t)]
    pub positives: Positives,
    /// Words that occur less often count as one unknown word.
    ///
    /// 出现更少的词合为一个未知词。
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = flag::<u64>("feature.words.min_count"))]
    pub min_count: u64,
    /// Know at the most this many words, the most frequent; 0 knows all.
    ///
    /// 最多认识这么多词，取最常见者；0 为全部。
    #[arg(long, value_name = "N", default_value_t = 20000, value_parser = flag::<usize>("feature.words.max_words"))]
    pub max_words: usize,
    #[command(flatten)]
    pub params: SentenceParams,
}

pub(super) fn run(args: &Sentences, ctx: &Ctx) -> Result<Summary> {
    let words = WordLimits { min_count: args.min_count, max_words: args.max_words };
    let (mut lines, cutter) = open(&args.files.corpus)?;
    let (params, output) = (&args.params, &args.files.output);
    let train =
        || sentences::train(&mut lines, &cutter, args.positives, words, params, output, ctx).map(|report| ((), report));
    let ((), report) = staged(ctx, "train", train)?;
    Ok(trained_with_figures(sentences::METHOD, output, report))
}
