//! The workbench on a project: the functions that its pages call, made of the configuration.

mod detached;
mod dictionary;
mod features;
pub(crate) mod forms;
mod laboratory;
mod lazy;
mod ledger;
mod models;
mod news;
mod onnx;
mod reader;
mod stock;
mod text;
mod tracing;

use std::io::Write;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use clap::ValueEnum;

use self::dictionary::{Dictionary, tokeniser};
pub(super) use self::laboratory::experiments;
use self::laboratory::laboratory;
pub(super) use self::models::train;
use self::reader::marker;
use super::opened::{OpenProject, RunFlags, language};
use crate::cli::{Global, Picture};
use crate::config::{Ambiguous, LanguageSetting};
use crate::headless::{self, Summary};
use crate::pipeline::{self, Stage};
use inkstone_base::bail;
use inkstone_base::disk;
use inkstone_base::job::Ctx;
use inkstone_report::png;
use inkstone_tui as tui;
use inkstone_tui::{Start, Workspace};

/// Longest time until a page that is drawn without a terminal is complete.
const PATIENCE: Duration = Duration::from_secs(120);

/// Columns and rows of the picture of a stock.
const STOCK_SIZE: (u16, u16) = (120, 40);

/// Opens the workbench on a project; `runner` is the whole pipeline unless given.
pub(in crate::command) fn open_ui(
    opened: &OpenProject,
    start: Start,
    global: &Global,
    runner: Option<tui::Runner>,
) -> Result<ExitCode> {
    tui::open(workspace(opened, start, global, runner)?)?;
    Ok(ExitCode::SUCCESS)
}

pub(in crate::command) fn keys(global: &Global) -> Result<ExitCode> {
    let page = tui::keys(language(LanguageSetting::Auto, global.lang.as_deref())?);
    headless::print(&page)?;
    Ok(ExitCode::SUCCESS)
}

/// Draws a page without a terminal and writes the picture.
pub(in crate::command) fn picture(args: &Picture, global: &Global) -> Result<Summary> {
    let opened = OpenProject::read(&args.project.config, "run", global)?;
    // Nobody sits before a picture who could be asked: what is not agreed to is not loaded.
    let workspace = Workspace { unknown_library: None, ..workspace(&opened, Start::Browse, global, None)? };
    let drawn = tui::picture(workspace, args.size, &args.keys, PATIENCE)?;
    let bytes = write_picture(drawn, &args.output)?;
    let mut summary = Summary::default();
    summary.set("written", args.output.display().to_string());
    summary.set("bytes", bytes);
    Ok(summary)
}

/// Draws the page of one stock and writes the picture.
pub(in crate::command) fn picture_of_stock(
    opened: &OpenProject,
    (code, factor): (&str, Option<&str>),
    output: &Path,
    global: &Global,
) -> Result<()> {
    let workspace = Workspace { unknown_library: None, ..workspace(opened, Start::Browse, global, None)? };
    write_picture(tui::picture_of_stock(workspace, STOCK_SIZE, code, factor, PATIENCE)?, output).map(drop)
}

/// Writes a picture in the format that the ending of its file names; gives its bytes.
fn write_picture(drawn: tui::Picture, output: &Path) -> Result<usize> {
    let bytes = match output.extension().and_then(|ending| ending.to_str()) {
        Some("txt") => drawn.text.into_bytes(),
        Some("svg") => drawn.svg.into_bytes(),
        Some("png") => png(&drawn.svg, 2.0)?,
        _ => bail!(
            "{}：图片请写成 .svg、.png 或 .txt",
            "{}: a picture is written as .svg, .png or .txt",
            output.display()
        ),
    };
    disk::write_atomic(output, |out| Ok(out.write_all(&bytes)?))?;
    Ok(bytes.len())
}

/// The user's own colours, where the configuration names a file of them.
fn own_colours(opened: &OpenProject) -> Result<Option<tui::Colours>> {
    let palette = &opened.config.ui.palette;
    (!palette.is_empty()).then(|| tui::Colours::read(&opened.base.join(palette))).transpose()
}

/// The workspace of a project; `runner` is the whole pipeline unless given.
pub(in crate::command) fn workspace(
    opened: &OpenProject,
    start: Start,
    global: &Global,
    runner: Option<tui::Runner>,
) -> Result<Workspace> {
    let config = &opened.config;
    let project = opened.project();
    let [before, to_run, to_stage, to_watch] = [(); 4].map(|()| opened.clone());
    let (flags, then) = (global.clone(), runner.clone());
    let run =
        runner.unwrap_or_else(|| Arc::new(move |ctx: &Ctx| to_run.run_again(Stage::Report, &RunFlags::default(), ctx)));
    let dictionary = Arc::new(Dictionary::new(opened));
    let (marker, reports) = (marker(opened, &project), project.clone());
    Ok(Workspace {
        title: config.project.name.clone(),
        project,
        factors: config.factor.iter().map(|f| f.name.clone()).collect(),
        run,
        stages: Some(Arc::new(move |name: &str, ctx: &Ctx| {
            let last = Stage::from_str(name, false).map_err(|error| anyhow::anyhow!("{error}"))?;
            to_stage.run_again(last, &RunFlags::default(), ctx)
        })),
        watch: Some(Arc::new(move |ctx: &Ctx| pipeline::watch(&to_watch.project(), ctx))),
        start,
        threads: config.project.threads,
        seed: config.project.seed,
        tokeniser: tokeniser(dictionary.clone()),
        marker: Some(marker),
        laboratory: laboratory(opened, dictionary.clone()),
        text: Some(text::bench(opened, dictionary)),
        models: models::bench(opened),
        onnx: onnx::bench(opened),
        unknown_library: onnx::unknown_library(opened)?,
        features: features::bench(opened),
        ledger: ledger::bench(opened),
        tracing: Some(tracing::tracing(opened)),
        judgement: Some(tracing::judgement(opened)),
        planted: Some(tracing::planted(opened)),
        stock: Some(stock::bench(opened)),
        reports: Arc::new(move || pipeline::last_reports(&reports)),
        language: language(config.ui.language, global.lang.as_deref())?,
        language_given: global.lang.is_some(),
        note: (!config.project.note.is_empty()).then(|| config.project.note.clone()),
        command: opened.command.clone(),
        flags: opened.config_flags(),
        red_up: config.ui.red_up,
        csv_formulas: config.export.csv_formulas,
        pictures: opened.base.join("pictures"),
        reports_folder: opened.base.join(&config.report.dir),
        detach: detached::detach(opened),
        detached: Some(detached::find(opened)),
        shade: config.ui.theme,
        depth: config.ui.colours,
        own_colours: own_colours(opened)?,
        wide_ambiguous: config.ui.ambiguous == Ambiguous::Wide,
        mouse: config.ui.mouse,
        news: news::news(opened),
        forms: Some(forms::bench(&opened.path)),
        reopen: Some(Arc::new(move || workspace(&before.again()?, Start::Browse, &flags, then.clone()))),
        keys: config.ui.keys.clone(),
    })
}
