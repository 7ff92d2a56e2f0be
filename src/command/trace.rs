//! `trace`: the documents, sentences and words behind a value of a factor.

use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Context, Result};

use super::project::{OpenProject, batch_on};
use crate::cli::{Global, Trace};
use crate::headless::Summary;
use crate::pipeline::{self, Tracer};
use inkstone_base::code::Code;
use inkstone_lab::lint::Standing;
use inkstone_tui::{Judgement, JudgementOf, Tracing};

/// Gives the dates of a quantile, or the names of a date and, if asked for, the documents and sentences behind one name.
pub(super) fn run(args: &Trace, global: &Global) -> Result<ExitCode> {
    let opened = OpenProject::read(&args.project.config, "trace", global);
    Ok(batch_on("trace", opened, |opened, ctx| {
        let tracer = Tracer::new(&opened.config, &opened.base);
        let mut summary = Summary::default();
        summary.set_note(&opened.config.project.note);
        let Some(day) = args.date else {
            let quantile = args.quantile.context("name a date with --date, or a quantile with --quantile")?;
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

/// The functions by which the workbench traces a factor.
pub(super) fn tracing(opened: &OpenProject) -> Tracing {
    let tracer = Arc::new(Tracer::new(&opened.config, &opened.base));
    let [days, names, documents, sentences] = [tracer.clone(), tracer.clone(), tracer.clone(), tracer];
    Tracing {
        days: Arc::new(move |factor, quantile, ctx| days.days(factor, quantile, ctx)),
        names: Arc::new(move |factor, date, ctx| names.names(factor, date, None, ctx)),
        documents: Arc::new(move |factor, date, code, ctx| documents.documents(factor, date, code, ctx)),
        sentences: Arc::new(move |factor, reading, document, ctx| sentences.sentences(factor, reading, document, ctx)),
    }
}

/// The results of linter and ledger on a factor, as the workbench shows them.
pub(super) fn judgement(opened: &OpenProject) -> JudgementOf {
    let opened = opened.clone();
    Arc::new(move |factor| {
        let Some(result) = pipeline::factor_result(&opened.config, &opened.base, factor)? else { return Ok(None) };
        let count = |standing| result.verdicts.iter().filter(|verdict| verdict.standing == standing).count();
        let looks = result.looks.as_ref();
        Ok(Some(Judgement {
            checks: result.verdicts.len(),
            passed: count(Standing::Passed),
            warned: count(Standing::Warned),
            failed: count(Standing::Failed),
            trials: looks.map_or(0, |looks| looks.trials),
            deflated_sharpe: looks.map_or(f64::NAN, |looks| looks.deflated_sharpe),
            ledger_changed: looks.is_some_and(|looks| looks.problems > 0),
        }))
    })
}
