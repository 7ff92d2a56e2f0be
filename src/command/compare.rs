//! `compare`: two factors over one another, date by date.

use std::process::ExitCode;

use anyhow::{Context, Result};
use serde_json::json;

use super::opened::OpenProject;
use super::project::batch_on;
use crate::cli::{Compare, Global};
use crate::headless::Summary;
use inkstone_base::ensure;
use inkstone_base::language::Word;
use inkstone_lab::backtest::compare;

pub(super) fn run(args: &Compare, global: &Global) -> Result<ExitCode> {
    let opened = OpenProject::read(&args.project.config, "compare", global);
    Ok(batch_on("compare", opened, |opened, ctx| {
        let factors = [&args.a, &args.b].map(|name| name.to_owned());
        for name in &factors {
            opened.config.find_factor(name)?;
        }
        ensure!(args.a != args.b, "请写两个不同的因子", "name two different factors");
        let found = compare(&opened.project(), &factors, ctx)?;
        let pair = found.pair(0, 1).context(Word("没有可比的因子", "there are no factors to compare"))?;
        let last = |values: &[f64]| values.iter().rfind(|value| value.is_finite()).copied();
        let mut summary = Summary::default();
        summary.set_note(&opened.config.project.note);
        summary.set("factors", &factors);
        summary.set("last", json!({"correlation": last(&pair.correlations), "overlap": last(&pair.overlaps)}));
        summary.set("pair", pair);
        Ok(summary)
    }))
}
