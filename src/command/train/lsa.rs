//! `train lsa`.

use anyhow::Result;

use super::{open, trained, vectorize};
use crate::cli::Lsa;
use crate::command::staged;
use crate::headless::Summary;
use inkstone_base::job::Ctx;
use inkstone_features::standalone::lsa::{self, LsaParams};
use inkstone_models::{Preset, SvdParams};

pub(super) fn run(args: &Lsa, ctx: &Ctx) -> Result<Summary> {
    let flags = &args.vectorize;
    let params = LsaParams {
        vectorizer: vectorize::params(Preset::Tfidf, &flags.terms)?,
        svd: SvdParams { dim: args.dim, tolerance: args.tolerance },
    };
    let (mut lines, cutter) = open(&flags.corpus)?;
    let points = flags.transform.as_deref();
    let train = || lsa::train(&mut lines, &cutter, &params, &flags.output, points, ctx);
    let (model, report) = staged(ctx, "train", train)?;
    model.save(&flags.output, cutter.spec())?;
    let mut summary = trained(lsa::KIND, &flags.output, report, &["dim", "explained_variance", "singular_value_error"]);
    if let Some(path) = points {
        summary.set("rows", path.display().to_string());
    }
    Ok(summary)
}
