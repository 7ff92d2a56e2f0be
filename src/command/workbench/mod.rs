//! The workbench on a project: what its pages work with, made of the configuration.

mod features;
mod ledger;
mod models;
mod onnx;
mod text;

use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Context, Result};

use super::project::Opened;
use super::reader::marker;
use crate::cli::Global;
use crate::config::Language;
use crate::job::Ctx;
use crate::pipeline::{self, Stage};
use crate::text::{Cut as JiebaCut, Mode, Segmenter};
use crate::tui::{self, Cut, Start, Tokeniser, Workspace};

/// Opens the workbench on a project; `runner` is the whole pipeline unless given.
pub(in crate::command) fn open_ui(
    opened: &Opened,
    start: Start,
    global: &Global,
    runner: Option<tui::Runner>,
) -> Result<ExitCode> {
    let config = &opened.config;
    let project = pipeline::project(config, &opened.base);
    let whole = opened.clone();
    let run = runner
        .unwrap_or_else(|| Arc::new(move |ctx: &Ctx| pipeline::run(&whole.config, &whole.base, Stage::Report, ctx)));
    let segmenter = Segmenter::new(&config.tokenizer, &opened.base)?;
    let (marker, reports) = (marker(opened, &project), project.clone());
    tui::open(Workspace {
        title: config.project.name.clone(),
        project,
        factors: config.factor.iter().map(|f| f.name.clone()).collect(),
        run,
        start,
        threads: config.project.threads,
        seed: config.project.seed,
        tokeniser: tokeniser(segmenter),
        marker: Some(marker),
        laboratory: super::experiment::laboratory(opened),
        text: text::bench(opened),
        models: models::bench(opened),
        onnx: onnx::bench(opened),
        features: features::bench(opened),
        ledger: ledger::bench(opened),
        tracing: Some(super::trace::tracing(opened)),
        judgement: Some(super::trace::judgement(opened)),
        reports: Arc::new(move || pipeline::last_reports(&reports)),
        language: language(config.ui.language, global.lang.as_deref())?,
        note: (!config.project.note.is_empty()).then(|| config.project.note.clone()),
        command: opened.command.clone(),
        red_up: config.ui.red_up,
        keys: config.ui.keys.clone(),
    })?;
    Ok(ExitCode::SUCCESS)
}

fn tokeniser(segmenter: Segmenter) -> Tokeniser {
    let characters = segmenter.recut(Mode::Char, JiebaCut::Precise);
    let words = segmenter.recut(Mode::Jieba, JiebaCut::Precise);
    Arc::new(move |text, cut| {
        let segmenter = match cut {
            Cut::Characters => &characters,
            Cut::Words => &words,
        };
        segmenter.tokens(text).into_iter().map(|t| t.start..t.end).collect()
    })
}

fn language(configured: Language, flag: Option<&str>) -> Result<tui::Language> {
    match (flag, configured) {
        (Some("zh"), _) | (None, Language::Zh) => Ok(tui::Language::Zh),
        (Some("en"), _) | (None, Language::En) => Ok(tui::Language::En),
        (Some(other), _) => Err(anyhow::anyhow!("{other:?}")).context("--lang is zh or en"),
        (None, Language::Auto) => {
            let set = ["LC_ALL", "LC_MESSAGES", "LANG"]
                .iter()
                .find_map(|name| std::env::var(name).ok().filter(|v| !v.is_empty()));
            Ok(if set.is_some_and(|v| v.starts_with("zh")) { tui::Language::Zh } else { tui::Language::En })
        }
    }
}
