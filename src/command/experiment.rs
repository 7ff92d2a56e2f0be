//! `experiment`: settings compared, in the workbench or as a batch.

use std::io::Write;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Context, Result};

use super::is_batch;
use super::opened::OpenProject;
use super::project::batch_on;
use super::workbench::{experiments, open_ui};
use crate::cli::{Experiment, Global};
use crate::config::{Config, PublishedComparison};
use crate::headless::Summary;
use inkstone_base::disk;
use inkstone_base::job::Ctx;
use inkstone_base::message;
use inkstone_features::experiment::Target;
use inkstone_tui::Start;

/// Runs the experiments of a project.
pub(super) fn run(args: &Experiment, global: &Global) -> Result<ExitCode> {
    let preset = args.preset.map(|preset| add(preset, args.target, &args.project.config)).transpose();
    let opened = preset.and_then(|_| OpenProject::read(&args.project.config, "experiment", global));
    let name = args.preset.map(|preset| preset.name().to_owned()).or_else(|| args.name.clone());
    if !is_batch(global) {
        let opened = opened?;
        let run = opened.clone();
        let runner = Arc::new(move |ctx: &Ctx| Ok(experiments(&run.again()?, name.as_deref(), ctx)?.0));
        return open_ui(&opened, Start::Run, global, Some(runner));
    }
    Ok(batch_on("experiment", opened, |opened, ctx| {
        let _held = opened.writing("experiment")?;
        let (reports, findings, pages) = experiments(&opened, name.as_deref(), ctx)?;
        let mut summary = Summary::default();
        summary.set("project", &opened.config.project.name);
        summary.set_note(&opened.config.project.note);
        summary.partial = findings.iter().any(|found| !found.skipped.is_empty());
        summary.set("stages", reports);
        summary.set("experiments", findings);
        summary.set("pages", pages);
        Ok(summary)
    }))
}

/// Writes the experiment of a preset into the configuration, unless it has one of that name.
fn add(preset: PublishedComparison, target: Target, file: &Path) -> Result<()> {
    let config = Config::read(file)?;
    let text =
        std::fs::read_to_string(file).with_context(|| message!("无法读取 {}", "cannot read {}", file.display()))?;
    if let Some(text) = preset.added_to(&text, &config, target)? {
        // A link stays a link: its target is written.
        let place = std::fs::canonicalize(file).unwrap_or_else(|_| file.to_owned());
        disk::write_atomic(&place, |out| Ok(out.write_all(text.as_bytes())?))
            .with_context(|| message!("无法把预设写入 {}", "cannot write the preset into {}", file.display()))?;
    }
    Ok(())
}
