//! Runs a command on plain files as a stage with progress.

use anyhow::Result;

use inkstone_base::data::Report;
use inkstone_base::job::Ctx;

/// Runs one stage of a command on plain files, counted in documents, and returns its output and its report.
pub(crate) fn staged<T>(ctx: &Ctx, name: &str, work: impl FnOnce() -> Result<(T, Report)>) -> Result<(T, Report)> {
    counted(ctx, (name, "docs", None), work)
}

/// The same, counted in a unit, with the number of units if it is known.
pub(crate) fn counted<T>(
    ctx: &Ctx,
    (name, unit, total): (&str, &'static str, Option<u64>),
    work: impl FnOnce() -> Result<(T, Report)>,
) -> Result<(T, Report)> {
    ctx.stage(name, unit, total, || {
        let (output, report) = work()?;
        Ok((output, Report { stage: name.to_owned(), ..report }))
    })
}
