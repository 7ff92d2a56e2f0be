//! `train lsa`.

use anyhow::{Context, Result};

use super::{open, trained, vectorize};
use crate::cli::Lsa;
use crate::headless::Summary;
use crate::job::Ctx;
use crate::model::{Preset, SvdParams};
use crate::plain::lsa::{self, LsaParams};

pub(super) fn run(args: &Lsa, ctx: &Ctx) -> Result<Summary> {
    let flags = &args.vectorize;
    let params = LsaParams {
        vectorizer: vectorize::params(Preset::Tfidf, flags)?,
        svd: SvdParams { dim: args.dim, tolerance: args.tolerance },
    };
    let (mut lines, cutter) = open(&flags.corpus)?;
    let mut model = None;
    let report = ctx.stage("train", "docs", None, || {
        let rows = flags.transform.as_deref();
        let (fitted, report) = lsa::train(&mut lines, &cutter, &params, &flags.output, rows, ctx)?;
        model = Some(fitted);
        Ok(report)
    })?;
    model.context("a finished training has a model")?.save(&flags.output, cutter.spec())?;
    let facts = report.facts.clone();
    let mut summary = trained("lsa", &flags.output, report);
    for name in ["dim", "explained_variance", "singular_value_error"] {
        summary.set(name, &facts[name]);
    }
    if let Some(path) = &flags.transform {
        summary.set("rows", path.display().to_string());
    }
    Ok(summary)
}
