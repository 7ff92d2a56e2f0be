//! `trace`: the documents, sentences and words behind a value of a factor.

use std::process::ExitCode;

use anyhow::{Context, Result};

use super::opened::OpenProject;
use super::project::batch_on;
use crate::cli::{Global, Trace};
use crate::headless::Summary;
use crate::pipeline::Tracer;
use inkstone_base::code::Code;
use inkstone_base::language::Word;

/// Gives the dates of a quantile, or the names of a date and, if asked for, the documents and sentences behind one name.
pub(super) fn run(args: &Trace, global: &Global) -> Result<ExitCode> {
    let opened = OpenProject::read(&args.project.config, "trace", global);
    Ok(batch_on("trace", opened, |opened, ctx| {
        let tracer = Tracer::new(&opened.config, &opened.base);
        let mut summary = Summary::default();
        summary.set_note(&opened.config.project.note);
        let Some(day) = args.date else {
            let quantile = args.quantile.context(Word(
                "请用 --date 指定日期，或用 --quantile 指定分层",
                "name a date with --date, or a quantile with --quantile",
            ))?;
            summary.set("days", tracer.days(&args.factor, quantile, ctx)?);
            return Ok(summary);
        };
        let mut date = tracer.names(&args.factor, day, args.quantile, ctx)?;
        let Some(code) = &args.code else {
            summary.set("date", date);
            return Ok(summary);
        };
        let cells = tracer.documents(&args.factor, day, code, ctx)?;
        let canonical = Code::parse(code);
        date.names.retain(|name| name.code == *code || canonical.as_ref().is_some_and(|c| c.as_str() == name.code));
        summary.set("date", date);
        if let Some(document) = &args.document {
            let (reading, number) = tracer.find(&args.factor, code, &cells, document, ctx)?;
            summary.set("sentences", tracer.sentences(&args.factor, reading, number, ctx)?);
        }
        summary.set("readings", cells);
        Ok(summary)
    }))
}
