//! `train tfidf`.

use anyhow::Result;

use super::{open, trained};
use crate::cli::Tfidf;
use crate::command::staged;
use crate::headless::Summary;
use crate::job::Ctx;
use crate::model::TfidfParams;
use crate::plain::tfidf;

pub(super) fn run(args: &Tfidf, ctx: &Ctx) -> Result<Summary> {
    let params = TfidfParams {
        formula: args.formula,
        min_df: args.min_df,
        max_df: args.max_df,
        max_features: args.max_features,
        sublinear_tf: args.sublinear_tf,
        norm: args.norm,
    };
    let (mut lines, cutter) = open(&args.corpus)?;
    let (model, report) = staged(ctx, "train", || tfidf::train(&mut lines, &cutter, &params, ctx))?;
    model.save(&args.output, cutter.spec())?;
    Ok(trained("tfidf", &args.output, report))
}
