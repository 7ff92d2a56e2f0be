//! Plans of features, and work on them.

use std::process::ExitCode;

use super::opened::OpenProject;
use super::project::batch_on;
use crate::cli::{Global, Plan, Work};
use crate::headless::{self, Summary};
use crate::pipeline::{self, PlanRequest, Stage};
use inkstone_base::job::Ctx;
use inkstone_features::plan::{self, WorkerResources};

/// Writes the plan of a feature.
pub(super) fn plan(args: &Plan, global: &Global) -> ExitCode {
    batch_on("plan", OpenProject::read(&args.project.config, "plan", global), |opened, ctx| {
        let _held = opened.writing("plan")?;
        opened.ensure_writable(Stage::Extract)?;
        let rows = args.rows.clone().unwrap_or_else(|| args.out.with_extension("rows"));
        let Plan { feature, tasks, mixed, out, .. } = args;
        let request = PlanRequest { feature, tasks: *tasks, rows: &rows, mixed: *mixed, out };
        let (plan, report) = pipeline::plan(&opened.config, &opened.base, &request, ctx)?;
        let mut summary = Summary::default();
        summary.set("written", out);
        summary.set("set", plan.set());
        summary.set("tasks", plan.tasks.len());
        summary.set("rows", &plan.rows);
        if let Some(memory) = report.facts.get("memory_mb") {
            summary.set("memory_mb", memory);
        }
        summary.set("plan", report);
        Ok(summary)
    })
}

/// Works on tasks of a plan, or says how far they are.
pub(super) fn work(args: &Work, global: &Global) -> ExitCode {
    let read = plan::Plan::read(&args.plan);
    let seed = read.as_ref().map_or(1, |plan| plan.seed);
    headless::run_under("work", Ctx::new(global.threads.unwrap_or(0), seed), |ctx| {
        let plan = read?;
        let tasks = args.task.clone().unwrap_or(0..plan.tasks.len());
        let mut summary = Summary::default();
        if args.check {
            let progress = plan.progress(tasks)?;
            let missing: usize = progress.tasks.iter().map(|task| task.parts - task.done).sum();
            summary.set("missing_parts", missing);
            summary.set("progress", progress);
            return Ok(summary);
        }
        let name = format!("work {}", plan.feature.name);
        let documents = plan.documents(tasks.clone())?;
        if args.watch {
            let (progress, _) = ctx.stage(&name, "docs", Some(documents), || plan.watch(tasks, ctx))?;
            summary.set("progress", progress);
            return Ok(summary);
        }
        let mut onnx = plan.onnx.clone();
        onnx.device = args.device.unwrap_or(onnx.device);
        onnx.trusted = global.trust;
        // A worker on fits reads the whole corpus, and each document once more for every window that it is in.
        let total = plan.folder_of_fits().is_none().then_some(documents);
        let (market, prices) = pipeline::market_of(&plan)?;
        let resources = WorkerResources { onnx: &onnx, market: market.as_ref(), prices };
        let (worked, report) = ctx.stage(&name, "docs", total, || plan.work(tasks, &resources, ctx))?;
        summary.partial = !worked.left.is_empty();
        summary.set("worked", worked);
        summary.set("report", report);
        Ok(summary)
    })
}
