//! The truncation laboratory, in the workbench or as a batch.

use std::process::ExitCode;
use std::sync::{Arc, OnceLock};

use anyhow::{Context, Result};

use super::is_batch;
use super::project::Opened;
use super::workbench::open_ui;
use crate::cli::{Experiment, Global};
use crate::headless::{self, Summary};
use crate::pipeline;
use inkstone_base::disk::{self, Room};
use inkstone_base::job::Ctx;
use inkstone_features::experiment::{Findings, Params, Preset};
use inkstone_features::extract::Model;
use inkstone_report::experiment_html;
use inkstone_store::Reader;
use inkstone_text::Segmenter;
use inkstone_tui::{Kept, Laboratory, Start, Truncated};

/// Runs the experiments of a project.
pub(super) fn run(args: &Experiment, global: &Global) -> Result<ExitCode> {
    let preset = args.preset.filter(|preset| *preset != Preset::None);
    let opened = Opened::read(&args.project.config, "experiment", global).and_then(|opened| {
        opened.with(move |config| {
            if let Some(preset) = preset {
                config.experiment.iter_mut().for_each(|params| params.preset = preset);
            }
            Ok(())
        })
    });
    let name = args.name.clone();
    if !is_batch(global) {
        let opened = opened?;
        let run = opened.clone();
        let runner = Arc::new(move |ctx: &Ctx| Ok(experiments(&run.again()?, name.as_deref(), ctx)?.0));
        return open_ui(&opened, Start::Run, global, Some(runner));
    }
    let ctx = opened.as_ref().map_or_else(|_| Ctx::new(1, 1), Opened::ctx);
    Ok(headless::run_under("experiment", ctx, |ctx| {
        let opened = opened?;
        let _held = opened.writing("experiment")?;
        let (reports, findings, pages) = experiments(&opened, name.as_deref(), ctx)?;
        let mut summary = Summary::default();
        summary.set("project", &opened.config.project.name);
        if !opened.config.project.note.is_empty() {
            summary.set("note", &opened.config.project.note);
        }
        summary.partial = findings.iter().any(|found| !found.skipped.is_empty());
        summary.set("stages", reports);
        summary.set("experiments", findings);
        summary.set("pages", pages);
        Ok(summary)
    }))
}

type Ran = (Vec<inkstone_base::data::Report>, Vec<Findings>, Vec<String>);

/// Runs experiments, and writes the page of each among the exports.
fn experiments(opened: &Opened, name: Option<&str>, ctx: &Ctx) -> Result<Ran> {
    let config = &opened.config;
    disk::is_ours(&opened.base.join(&config.project.exports), Room::Exports)?;
    let (reports, findings) = pipeline::experiments(config, &opened.base, name, ctx)?;
    let mut pages = Vec::new();
    let exports = opened.base.join(&config.project.exports);
    disk::own_folder(&exports, Room::Exports)?;
    for found in &findings {
        let path = exports.join("experiments").join(format!("{}.html", found.name));
        let page = experiment_html(found, &config.project.note)?;
        disk::write_atomic(&path, |out| Ok(std::io::Write::write_all(out, page.as_bytes())?))
            .with_context(|| format!("cannot write {}", path.display()))?;
        pages.push(path.display().to_string());
    }
    Ok((reports, findings, pages))
}

/// The laboratory as the workbench opens it; none where the configuration has no experiments.
pub(super) fn laboratory(opened: &Opened) -> Option<Laboratory> {
    if opened.config.experiment.is_empty() {
        return None;
    }
    let [ran, found, filling, looked] = [(); 4].map(|()| opened.clone());
    let words = OnceLock::new();
    Some(Laboratory {
        findings: Arc::new(move || {
            Ok(pipeline::findings(&found.config, &pipeline::project(&found.config, &found.base)))
        }),
        grids: Arc::new(move || {
            Ok(pipeline::grids(&filling.config, &pipeline::project(&filling.config, &filling.base)))
        }),
        document: Arc::new(move |name, number| {
            let segmenter =
                || Segmenter::new(&looked.config.tokenizer, &looked.base).map_err(|error| format!("{error:#}"));
            let words = words.get_or_init(segmenter).as_ref().map_err(|error| anyhow::anyhow!("{error}"))?;
            let params = looked.config.experiment.iter().find(|params| params.name == name);
            truncated(&looked, params.context("there is no such experiment")?, number, words)
        }),
        run: Arc::new(move |ctx: &Ctx| Ok(experiments(&ran.again()?, None, ctx)?.0)),
    })
}

/// A document as the strategies of an experiment cut it. Tokens are words, or characters where strategies count these or a contextual
/// model has tokens of its own.
fn truncated(opened: &Opened, params: &Params, number: usize, words: &Segmenter) -> Result<Option<Truncated>> {
    let config = &opened.config;
    let project = pipeline::project(config, &opened.base);
    let found = pipeline::findings(config, &project).into_iter().find(|found| found.name == params.name);
    let Some(found) = found else { return Ok(None) };
    let Some(looked) = pipeline::look_at(config, &project, params, number)? else { return Ok(None) };
    let (store, without_scores) = match Reader::open(&project.store()) {
        Ok(store) => (Some(store), None),
        Err(error) => (None, Some(format!("{error:#}"))),
    };
    let mut strategies = Vec::with_capacity(found.cells.len());
    for (cell, of) in found.cells.iter().enumerate() {
        let feature = config.feature.iter().find(|feature| feature.name == of.feature);
        let strategy = match feature.map(|feature| feature.model) {
            Some(Model::Onnx) => of.strategy.in_characters(),
            _ => of.strategy.clone(),
        };
        let (layout, views, tokens) = looked.document.views(&strategy, words);
        let score = match (&store, of.set) {
            (Some(store), Some(set)) => looked.score(store, set)?,
            _ => None,
        };
        strategies.push(Kept { score, ..Kept::new(cell, &layout, &views, &tokens) });
    }
    Ok(Some(Truncated {
        title: looked.document.clean.document.title.clone(),
        text: looked.document.text,
        documents: looked.documents,
        strategies,
        without_scores,
    }))
}
