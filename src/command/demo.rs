//! The demo: a synthetic market is generated in a folder of its own, and the whole pipeline runs on it.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::Result;
use serde_json::{Value, json};

use super::is_batch;
use super::opened::OpenProject;
use super::project::summary;
use super::workbench::{experiments, train, workspace as workspace_of};
use crate::cli::{Demo, Global};
use crate::config::Config;
use crate::headless;
use crate::pipeline::{self, Stage};
use inkstone_base::data::Report;
use inkstone_base::disk::{self, Room};
use inkstone_base::expected::ExpectedStage;
use inkstone_base::job::Ctx;
use inkstone_corpus::demo::{self, Params, Planted, Truth};
use inkstone_features::extract::Model;
use inkstone_lab::backtest::Outcome;
use inkstone_tui as tui;
use inkstone_tui::{Start, Workspace};

const CONFIG: &str = include_str!("../../assets/demo.toml");
/// The demonstration model: its files in the demo's folder.
const MODEL: [(&str, &[u8]); 3] = [
    ("model.onnx", include_bytes!("../../assets/model/model.onnx")),
    ("config.json", include_bytes!("../../assets/model/config.json")),
    ("tokenizer.json", include_bytes!("../../assets/model/tokenizer.json")),
];
/// The words of the placebo, which the configuration names as a file.
const PLACEBO: &str = include_str!("../../datasets/demo/placebo.txt");

/// Seconds of generating a market of scale 1 and of training a model on it, on two cores of a common machine.
const GENERATE_SECONDS: f64 = 2.0;
const TRAIN_SECONDS: f64 = 1.2;

/// Documents and rows of prices of a market of scale 1.
const DOCUMENTS: f64 = 9_500.0;
const PRICES: f64 = 94_000.0;

/// Generates the market unless it exists, runs everything, and shows or prints the result.
pub(super) fn run(args: &Demo, global: &Global) -> Result<ExitCode> {
    if is_batch(global) {
        let ready = open(args, global);
        // Also a folder that is refused is answered by one JSON object.
        let ctx = ready.as_ref().map_or_else(|_| Ctx::new(1, 1), |(opened, ..)| opened.ctx());
        return Ok(headless::run_under("demo", ctx, |ctx| {
            let (mut opened, params, data) = ready?;
            let _held = opened.writing("demo")?;
            opened.ensure_writable(Stage::Report)?;
            let left_out = ready_models(&mut opened, &args.dir, ctx)?;
            let (truth, reports) = generate_and_run(&opened, &data, &params, args.full, ctx)?;
            let mut summary = summary(&opened, reports, Stage::Report)?;
            // A factor of a small market may order nothing, and is left out then.
            let mut tested = opened.config.clone();
            tested.factor.retain(|factor| opened.project().backtest(&factor.name).exists());
            let outcomes = pipeline::outcomes(&tested, &opened.project())?;
            summary.set("truth", check(&truth, &outcomes));
            // The demo's bad rows were planted: only others make it a partial success.
            summary.partial = rejected(&summary.fields) != truth.rejects;
            if let Some(reason) = left_out {
                summary.set("left_out", reason);
            }
            Ok(summary)
        }));
    }
    tui::open(workspace(args, global)?)?;
    Ok(ExitCode::SUCCESS)
}

/// The workspace of the demo.
pub(super) fn workspace(args: &Demo, global: &Global) -> Result<Workspace> {
    let (opened, params, data) = open(args, global)?;
    let (run, dir) = (opened.clone(), args.dir.clone());
    let runner: tui::Runner = Arc::new(move |ctx| {
        let mut run = run.again()?;
        ready_models(&mut run, &dir, ctx)?;
        Ok(generate_and_run(&run, &data, &params, true, ctx)?.1)
    });
    workspace_of(&opened, Start::RunThenFactor, global, Some(runner))
}

/// The demo's configuration, what its market is made of, and the folder of its data.
fn open(args: &Demo, global: &Global) -> Result<(OpenProject, Params, PathBuf)> {
    let defaults = Params::default();
    let params = Params { scale: args.scale, seed: global.seed.unwrap_or(defaults.seed) };
    let path = args.dir.join("workbench.toml");
    disk::own_folder(&args.dir, Room::Demo)?;
    // A configuration that the user changed stays as it is.
    if !path.exists() {
        disk::write_atomic(&path, |out| Ok(out.write_all(CONFIG.as_bytes())?))?;
    }
    let mut opened = OpenProject::read(&path, "demo", global)?;
    let seed = global.seed.map_or(String::new(), |seed| format!(" --seed {seed}"));
    opened.command =
        format!("inkstone demo --full --scale {} --dir {}{seed} --headless", args.scale, args.dir.display());
    Ok((opened, params, args.dir.join("data")))
}

/// Writes the files of the demonstration model. If this machine has no library that runs it, the features that need it and the factors
/// made of them are left out, with the reason and the command that installs one: nothing is fetched unasked.
fn ready_models(opened: &mut OpenProject, dir: &Path, ctx: &Ctx) -> Result<Option<String>> {
    for (name, bytes) in MODEL {
        let path = dir.join("model").join(name);
        if !std::fs::read(&path).is_ok_and(|there| there == bytes) {
            disk::write_atomic(&path, |out| Ok(out.write_all(bytes)?))?;
        }
    }
    let config = &mut opened.config;
    let contextual = |config: &Config| config.feature.iter().any(|feature| feature.model == Model::Onnx);
    if !contextual(config) {
        return Ok(None);
    }
    let Err(error) = config.onnx.load(&opened.base) else { return Ok(None) };
    let (kept, left): (Vec<_>, Vec<_>) = config.feature.drain(..).partition(|feature| feature.model != Model::Onnx);
    config.feature = kept;
    let names: Vec<String> = left.into_iter().map(|feature| feature.name).collect();
    let mut gone: Vec<String> = Vec::new();
    config.factor.retain(|factor| {
        let rests = |name: &&str| gone.iter().any(|gone| gone == name);
        let kept = !names.iter().any(|name| factor.reads(name))
            && !factor.expressions().any(|expression| expression.factors().iter().any(rests));
        if !kept {
            gone.push(factor.name.clone());
        }
        kept
    });
    let reason = format!("features {}: {error:#}", names.join(", "));
    ctx.stage("leave out", "features", None, || {
        let mut report = Report { rows_in: names.len() as u64, ..Report::new("leave out") };
        report.drop_rows(&format!("{error:#}"), report.rows_in);
        Ok(report)
    })?;
    Ok(Some(reason))
}

/// Generates the market unless it exists and runs the pipeline on it; `full`: also trains the models and runs the experiments that the
/// workbench shows.
fn generate_and_run(
    opened: &OpenProject,
    data: &Path,
    params: &Params,
    full: bool,
    ctx: &Ctx,
) -> Result<(Truth, Vec<Report>)> {
    let of_scale = |count: f64| (count * params.scale) as u64;
    let documents = of_scale(DOCUMENTS);
    let stage = |name: &str, seconds: f64| ExpectedStage {
        name: name.to_owned(),
        seconds: seconds * params.scale,
        units: documents,
    };
    let further = || {
        let train = MODELS.iter().map(|_| stage("train", TRAIN_SECONDS));
        let cells = pipeline::expected_experiments(&opened.config, documents);
        if full { train.chain(cells).collect() } else { Vec::new() }
    };
    let truth_path = data.join("truth.json");
    let standing = truth_path.exists().then(|| disk::read_unsealed_json::<Truth>(&truth_path).ok()).flatten();
    disk::sweep(data)?;
    let mut reports = Vec::new();
    let truth = match standing.filter(|t| t.stands_for(params)) {
        Some(truth) => truth,
        None => {
            let rows = of_scale(PRICES);
            let pipeline = pipeline::expected_of_rows(&opened.config, &opened.base, documents, rows, ctx);
            let generate = stage("generate", GENERATE_SECONDS);
            ctx.expect([generate].into_iter().chain(pipeline).chain(further()).collect());
            let (truth, report) = ctx.stage("generate", "docs", None, || demo::generate(data, params, ctx))?;
            reports.push(report);
            truth
        }
    };
    disk::write_atomic(&data.join("placebo.txt"), |out| Ok(out.write_all(PLACEBO.as_bytes())?))?;
    ctx.expect_later(further());
    let between = || if full { train_and_compare(opened, ctx) } else { Ok(Vec::new()) };
    reports.extend(pipeline::run_around(&opened.config, &opened.base, Stage::Report, ctx, between)?);
    Ok((truth, reports))
}

/// The models of the demo: name of the file, and how `inkstone train` makes it.
const MODELS: [(&str, &[&str]); 2] =
    [("words.w2v", &["word2vec", "--epochs", "3", "--dim", "64"]), ("language.ngram", &["ngram", "--order", "3"])];

/// Trains the models on the cleaned corpus and runs the experiments: pages of the workbench that a run does not fill.
fn train_and_compare(opened: &OpenProject, ctx: &Ctx) -> Result<Vec<Report>> {
    let clean = opened.project().clean();
    let mut reports = Vec::new();
    for (name, args) in MODELS {
        let output = opened.base.join("models").join(name);
        let written = |path: &Path| path.metadata().and_then(|about| about.modified()).ok();
        let newest = clean.files()?.iter().filter_map(|part| written(part)).max();
        if written(&output) > newest {
            continue;
        }
        disk::remove_if_there(&output)?;
        let text = |path: &Path| path.display().to_string();
        let files = ["--input".to_owned(), text(clean.folder()), "--output".to_owned(), text(&output)];
        let args = args.iter().map(|arg| (*arg).to_owned()).chain(files).collect();
        reports.extend(train(args)(ctx)?);
    }
    reports.extend(experiments(opened, None, ctx)?.0);
    Ok(reports)
}

/// The planted figures beside those that were found.
fn check(truth: &Truth, outcomes: &[Outcome]) -> Value {
    let found = |factor: &str, horizon: usize| {
        let outcome = outcomes.iter().find(|o| o.factor == factor)?;
        outcome.ic.iter().find(|s| s.horizon == horizon).map(|s| s.rank_ic_summary)
    };
    let beside = |planted: &Planted, factor: &str, horizon: usize| {
        let found = found(factor, horizon).map(|s| s.mean);
        json!({
            "planted": planted.mean, "low": planted.low, "high": planted.high, "found": found,
            "inside": found.is_some_and(|f| (planted.low..=planted.high).contains(&f)),
        })
    };
    json!({
        "notice": truth.notice,
        "rank_ic_1": beside(&truth.rank_ic_1, "tone", 1),
        "rank_ic_5": beside(&truth.rank_ic_5, "tone", 5),
        "customers_rank_ic_1": beside(&truth.customers_rank_ic_1, "customers", 1),
        "placebo": {"found": found("placebo", 1).map(|s| s.mean), "p": found("placebo", 1).map(|s| s.p)},
        "documents": truth.documents,
        "rejects": truth.rejects,
    })
}

/// Rows that ingest set aside.
fn rejected(fields: &serde_json::Map<String, Value>) -> u64 {
    let stages = fields.get("stages").and_then(Value::as_array).cloned().unwrap_or_default();
    let ingest = stages.iter().find(|s| s["stage"] == "ingest");
    ingest.and_then(|s| s["dropped"].as_object()).map_or(0, |d| d.values().filter_map(Value::as_u64).sum())
}
