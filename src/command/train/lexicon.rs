//! `train lexicon`.

use anyhow::Result;

use super::{open, trained};
use crate::cli::{Lexicon, Method};
use crate::command::staged;
use crate::headless::Summary;
use inkstone_base::job::Ctx;
use inkstone_features::standalone::lexicon;
use inkstone_models::{InduceParams, SeedParams};

pub(super) fn run(args: &Lexicon, ctx: &Ctx) -> Result<Summary> {
    let (mut lines, cutter) = open(&args.corpus)?;
    let (found, report) = staged(ctx, "train", || match args.method {
        Method::Returns => {
            let params = InduceParams {
                statistic: args.statistic,
                min_df: args.min_df,
                fdr: args.fdr,
                max_words: args.max_words,
            };
            lexicon::from_returns(&mut lines, &cutter, args.label_form, &params, ctx)
        }
        Method::Seeds => {
            let params = SeedParams {
                positive: args.positive.clone(),
                negative: args.negative.clone(),
                window: args.window,
                min_count: args.min_count,
                fdr: args.fdr,
                max_words: args.max_words,
            };
            lexicon::from_seeds(&mut lines, &cutter, &params, ctx)
        }
    })?;
    found.save(&args.output)?;
    Ok(trained("lexicon", &args.output, report, &[]))
}
