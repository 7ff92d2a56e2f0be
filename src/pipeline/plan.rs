//! Plans of features whose rows workers compute, and the rows that they left.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use anyhow::{Context, Result};

use super::stage::Stage;
use super::{CorpusParts, PipelineRun};
use crate::config::Config;
use inkstone_base::data::{Key, Report};
use inkstone_base::disk;
use inkstone_base::job::Ctx;
use inkstone_base::{ensure, message};
use inkstone_features::extract::{self, Feature, Fits, Inputs};
use inkstone_features::plan::{Plan, PlanSettings};
use inkstone_store::{RowFolder, Store};
use inkstone_tables::project::Project;

/// A request for the plan of a feature.
pub struct PlanRequest<'a> {
    /// Name of the feature.
    pub feature: &'a str,
    /// Tasks at most.
    pub tasks: usize,
    /// Folder of the rows that workers leave.
    pub rows: &'a Path,
    /// True if rows may differ in their last digits.
    pub mixed: bool,
    /// The plan's file.
    pub out: &'a Path,
}

/// Runs a project as far as its texts and writes the plan of a feature, which the project remembers until the feature is computed.
pub fn plan(config: &Config, base: &Path, request: &PlanRequest<'_>, ctx: &Ctx) -> Result<(Plan, Report)> {
    let named = config.feature.iter().find(|feature| feature.name == request.feature);
    let feature = named.with_context(|| {
        let names: Vec<&str> = config.feature.iter().map(|feature| feature.name.as_str()).collect();
        message!(
            "没有特征 {:?}；现有特征：{}",
            "there is no feature {:?}; the features are: {}",
            request.feature,
            names.join(", ")
        )
    })?;
    let mut run = PipelineRun::new(config, base, ctx)?;
    run.run_until(Stage::Rewrite)?;
    if feature.learns() {
        run.open_market();
    }
    let stage = run.extract_key(feature)?;
    let store = Store::open(&run.project.store())?;
    let parts = CorpusParts::new(config, run.base, &run.project);
    let inputs = run.inputs(&parts, &store);
    let PlanRequest { tasks, rows, mixed, out, .. } = *request;
    let settings = PlanSettings { tasks, rows, mixed, stage, project: &run.project };
    let name = format!("plan {}", feature.name);
    let (plan, report) =
        ctx.stage(&name, "docs", run.documents, || Plan::new(feature, &inputs, &settings, &store, ctx))?;
    plan.write(out)?;
    plan.write(&run.project.plan(&feature.name))?;
    Ok((plan, report))
}

/// Looks on while workers compute the features that the project remembers plans of, one after the other, until all are done.
pub fn watch(project: &Project, ctx: &Ctx) -> Result<Vec<Report>> {
    let mut plans: Vec<PathBuf> =
        std::fs::read_dir(project.plans()).into_iter().flatten().flatten().map(|e| e.path()).collect();
    plans.retain(|path| path.extension().is_some_and(|extension| extension == "json"));
    plans.sort();
    ensure!(
        !plans.is_empty(),
        "该项目没有为工作进程计划的特征：用 `inkstone plan` 制定",
        "no feature of this project is planned for workers: `inkstone plan` plans one"
    );
    let mut reports = Vec::new();
    for path in plans {
        let plan = Plan::read(&path)?;
        let tasks = 0..plan.tasks.len();
        let documents = plan.documents(tasks.clone())?;
        let name = format!("work {}", plan.feature.name);
        reports.push(ctx.stage(&name, "docs", Some(documents), || plan.watch(tasks, ctx))?.1);
    }
    Ok(reports)
}

impl PipelineRun<'_> {
    /// The plan of a feature, if it is for the rows that the feature has now.
    pub(super) fn planned(&self, feature: &Feature, stage: Key) -> Option<Plan> {
        // A plan that cannot be read any more is as good as none: the rows are computed here.
        Plan::read(&self.project.plan(&feature.name)).ok().filter(|plan| plan.stage == stage)
    }

    /// Forgets the plan of a feature that is computed.
    pub(super) fn forget_plan(&self, feature: &Feature) -> Result<()> {
        disk::remove_if_there(&self.project.plan(&feature.name))
    }
}

/// Computes a feature with the results of fits that workers left in a folder.
pub(super) fn extract_with_fits(
    feature: &Feature,
    inputs: &Inputs<'_>,
    folder: &RowFolder,
    store: &Store,
    ctx: &Ctx,
) -> Result<(Option<Key>, Report)> {
    let taken = Mutex::new(0);
    let inputs = Inputs { fits: &Fits::Take { folder, taken: &taken }, ..*inputs };
    let (set, mut report) = extract::run(feature, &inputs, store, ctx)?;
    report.fact("taken_parts", taken.into_inner().unwrap_or_else(PoisonError::into_inner));
    Ok((Some(set), report))
}
