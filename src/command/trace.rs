//! Looks behind a value of a factor.

use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Context, Result};

use super::project::Opened;
use crate::cli::{Global, Trace};
use crate::headless::{self, Summary};
use crate::pipeline::{self, Tracer};
use inkstone_base::code::Code;
use inkstone_base::job::Ctx;
use inkstone_lab::lint::Standing;
use inkstone_tui::{Judgement, JudgementOf, Tracing};

/// Tells the dates of a quantile, or the names of a date and as deep as is asked for the documents and sentences behind one.
pub(super) fn run(args: &Trace, global: &Global) -> Result<ExitCode> {
    let opened = Opened::read(&args.project.config, "trace", global);
    let ctx = opened.as_ref().map_or_else(|_| Ctx::new(1, 1), Opened::ctx);
    Ok(headless::run_under("trace", ctx, |ctx| {
        let opened = opened?;
        let tracer = Tracer::new(&opened.config, &opened.base);
        let mut summary = Summary::default();
        if !opened.config.project.note.is_empty() {
            summary.set("note", &opened.config.project.note);
        }
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
            let (reading, number) = Tracer::find(&cells, document)?;
            summary.set("sentences", tracer.sentences(&args.factor, reading, number, ctx)?);
        }
        summary.set("readings", cells);
        Ok(summary)
    }))
}

/// The way from a factor to its words, as the workbench opens it.
pub(super) fn tracing(opened: &Opened) -> Tracing {
    let tracer = Arc::new(Tracer::new(&opened.config, &opened.base));
    let [days, names, documents, sentences] = [tracer.clone(), tracer.clone(), tracer.clone(), tracer];
    Tracing {
        days: Arc::new(move |factor, quantile, ctx| days.days(factor, quantile, ctx)),
        names: Arc::new(move |factor, date, ctx| names.names(factor, date, None, ctx)),
        documents: Arc::new(move |factor, date, code, ctx| documents.documents(factor, date, code, ctx)),
        sentences: Arc::new(move |factor, reading, document, ctx| sentences.sentences(factor, reading, document, ctx)),
    }
}

/// What linter and ledger say of a factor, as the workbench shows it.
pub(super) fn judgement(opened: &Opened) -> JudgementOf {
    let opened = opened.clone();
    Arc::new(move |factor| {
        let Some(judged) = pipeline::judged_of(&opened.config, &opened.base, factor)? else { return Ok(None) };
        let count = |standing| judged.verdicts.iter().filter(|verdict| verdict.standing == standing).count();
        let looks = judged.looks.as_ref();
        Ok(Some(Judgement {
            checks: judged.verdicts.len(),
            passed: count(Standing::Passed),
            warned: count(Standing::Warned),
            failed: count(Standing::Failed),
            trials: looks.map_or(0, |looks| looks.trials),
            deflated_sharpe: looks.map_or(f64::NAN, |looks| looks.deflated_sharpe),
            ledger_changed: looks.is_some_and(|looks| looks.problems > 0),
        }))
    })
}
