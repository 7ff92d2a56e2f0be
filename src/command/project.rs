//! Commands on a project, in the workbench or as a batch.

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use indicatif::{HumanCount, HumanDuration};
use serde_json::json;

use super::is_batch;
use super::opened::{OpenProject, RunFlags, language};
use super::workbench::open_ui;
use crate::cli::{Backtest, Drift, Global, Run};
use crate::headless::{self, Summary};
use crate::pipeline::{self, Basis, DueReason, FactorResult, Forecast, NOTIFY, Stage, StageId};
use inkstone_base::data::Report;
use inkstone_base::ensure;
use inkstone_base::job::Ctx;
use inkstone_base::language::{Language, Message, Word};
use inkstone_corpus::ingest::fetch::FETCH;
use inkstone_corpus::ingest::reason::REPEATED_PRICE;
use inkstone_lab::backtest::Outcome;
use inkstone_lab::lint::{Standing, Verdict};
use inkstone_report::verdict_sentences;
use inkstone_tui::Start;

/// Opens the workbench without starting anything.
pub(super) fn browse(path: &Path, global: &Global) -> Result<ExitCode> {
    if !path.exists() && !is_batch(global) {
        return super::first::run(path, global);
    }
    ensure!(
        path.exists(),
        "这里没有 {}。用合成数据了解全部功能：inkstone demo。开始一个项目：inkstone init",
        "there is no {} here. To see the whole product on synthetic data: inkstone demo. To start a project: inkstone init",
        path.display()
    );
    let opened = OpenProject::read(path, "run", global);
    if opened.is_err() && !is_batch(global) {
        return super::first::mend(path, global);
    }
    let opened = opened?;
    ensure!(
        !is_batch(global),
        "工作台需要终端；批处理请运行：{}",
        "the workbench needs a terminal; to run as a batch: {}",
        opened.command
    );
    open_ui(&opened, Start::Browse, global, None)
}

/// Runs the stages up to `last`, in the workbench or as a batch.
pub(super) fn run(name: &str, path: &Path, last: Stage, global: &Global) -> Result<ExitCode> {
    front(name, OpenProject::read(path, name, global), last, RunFlags::default(), global)
}

/// Runs all stages, or those up to the one that is named, with the commands of the configuration and its sealed period if they are asked for.
pub(super) fn run_all(args: &Run, global: &Global) -> Result<ExitCode> {
    let name = if args.commands { "run --commands" } else { "run" };
    let opened = OpenProject::read(&args.project.config, name, global);
    let flags = RunFlags { commands: args.commands, open_vault: args.open_vault.clone() };
    front("run", opened, args.stage.unwrap_or(Stage::Report), flags, global)
}

/// Says what a run up to `last` would do.
pub(super) fn forecast(path: &Path, last: Stage, global: &Global) -> ExitCode {
    let lang = global.lang.clone();
    batch_on("run", OpenProject::read(path, "run", global), move |opened, ctx| {
        let language = language(opened.config.ui.language, lang.as_deref())?;
        let stages = pipeline::forecast(&opened.config, &opened.base, last, ctx)?;
        let mut summary = Summary::default();
        summary.set("project", &opened.config.project.name);
        for line in forecast_lines(&stages, language) {
            headless::say(&line);
        }
        let due = || stages.iter().filter(|stage| stage.due.is_some());
        summary.set("due", due().count());
        summary.set("expected_seconds", rounded(due().map(|stage| stage.seconds).sum()));
        let costliest = due().max_by(|a, b| a.seconds.total_cmp(&b.seconds));
        summary.set("most_costly", costliest.map(|stage| stage.stage.to_string()));
        let stage = |stage: &Forecast| {
            json!({
                "stage": stage.stage, "kept": stage.due.is_none(), "due": stage.due, "rows": stage.rows,
                "expected_seconds": rounded(stage.seconds), "basis": stage.basis,
            })
        };
        summary.set("plan", stages.iter().map(stage).collect::<Vec<_>>());
        Ok(summary)
    })
}

fn rounded(seconds: f64) -> f64 {
    (seconds * 1000.0).round() / 1000.0
}

/// The plan of a run for people: a line a stage, and the sum.
fn forecast_lines(stages: &[Forecast], language: Language) -> Vec<String> {
    let word = |word: Word| word.to(language);
    let mut lines = Vec::new();
    let about = |seconds: f64| {
        if seconds < 9.95 {
            format!("{seconds:.1} s")
        } else {
            format!("{}", HumanDuration(Duration::from_secs_f64(seconds)))
        }
    };
    for Forecast { stage, due, rows, seconds, basis } in stages {
        let Some(why) = due else {
            lines.push(format!("{:<24} {}", stage.to_string(), word(Word("保留", "kept"))));
            continue;
        };
        let reason = match why {
            DueReason::NeverRan => word(Word("未曾运行", "never ran")).to_owned(),
            DueReason::Files => word(Word("文件有新增或变动", "files are new or changed")).to_owned(),
            DueReason::Reads { stage } => {
                format!("{} {stage}", word(Word("所读的阶段将运行：", "reads what will run:")))
            }
            DueReason::Changed => {
                word(Word("设置、程序或所引用的文件已变", "its settings, the program or a file that it names changed"))
                    .to_owned()
            }
            DueReason::Fault { reason } => reason.clone(),
        };
        let basis = match basis {
            Basis::Measured => word(Word("按上次用时", "by its last run")),
            Basis::Alike => word(Word("按同类阶段的用时", "by a stage of its kind")),
            Basis::Rough => word(Word("粗略估计", "a rough guess")),
        };
        let (rows, stage, seconds) = (HumanCount(*rows), stage.to_string(), about(*seconds));
        lines.push(format!("{stage:<24} {:>10}  {rows} {}, {basis}; {reason}", seconds, word(Word("行", "rows"))));
    }
    let due = || stages.iter().filter(|stage| stage.due.is_some());
    let all: f64 = due().map(|stage| stage.seconds).sum();
    match due().max_by(|a, b| a.seconds.total_cmp(&b.seconds)) {
        None => lines.push(word(Word("没有需要运行的阶段", "nothing is due")).to_owned()),
        Some(most) => lines.push(format!(
            "{} {}; {} {} ({})",
            word(Word("合计约", "in all about")),
            about(all),
            word(Word("最费时：", "most of it:")),
            most.stage,
            about(most.seconds)
        )),
    }
    lines
}

/// Runs the stages up to the backtests with the flags of `backtest` put over the configuration.
pub(super) fn backtest(args: &Backtest, global: &Global) -> Result<ExitCode> {
    let flags = args.clone();
    let opened = OpenProject::read(&args.project.config, "backtest", global)
        .and_then(|opened| opened.with(move |config| super::files::apply(&flags, &mut config.backtest)));
    front("backtest", opened, Stage::Backtest, RunFlags::default(), global)
}

/// Compares two forms of a feature's model.
pub(super) fn drift(args: &Drift, global: &Global) -> Result<ExitCode> {
    let opened = OpenProject::read(&args.project.config, "drift", global)?;
    Ok(headless::run_under("drift", opened.ctx(), |ctx| {
        let _held = opened.writing("drift")?;
        let drifted = pipeline::drift(&opened.config, &opened.base, &args.feature, &args.against, ctx)?;
        let mut summary = Summary::default();
        summary.set("feature", &args.feature);
        summary.set("drift", drifted);
        Ok(summary)
    }))
}

fn front(name: &str, opened: Result<OpenProject>, last: Stage, flags: RunFlags, global: &Global) -> Result<ExitCode> {
    if !is_batch(global) {
        let opened = opened?;
        let run = opened.clone();
        let runner = Arc::new(move |ctx: &Ctx| run.run_again(last, &flags, ctx));
        return open_ui(&opened, Start::Run, global, Some(runner));
    }
    Ok(batch_on(name, opened, |opened, ctx| {
        let _held = opened.writing(name)?;
        opened.ensure_writable(last)?;
        let reports = opened.run(last, &flags, ctx)?;
        let mut summary = summary(&opened, reports, last)?;
        if opened.config.has_commands() && !flags.commands {
            summary.set("commands", "not run: add --commands to run those of the configuration");
        }
        Ok(summary)
    }))
}

/// Runs a command on a project as a batch. A broken configuration, too, is answered by one JSON object.
pub(super) fn batch_on(
    name: &str,
    opened: Result<OpenProject>,
    work: impl FnOnce(OpenProject, &Ctx) -> Result<Summary>,
) -> ExitCode {
    let ctx = opened.as_ref().map_or_else(|_| Ctx::new(1, 1), OpenProject::ctx);
    headless::run_under(name, ctx, |ctx| work(opened?, ctx))
}

/// The summary of a run: every stage's report and, once tested, every factor's figures.
pub(super) fn summary(opened: &OpenProject, reports: Vec<Report>, last: Stage) -> Result<Summary> {
    let mut summary = Summary::default();
    let config = &opened.config;
    summary.set("project", &config.project.name);
    summary.set_note(&config.project.note);
    if let Some(from) = config.vault.from {
        let openings = pipeline::vault_openings(config, &opened.base)?;
        summary.set("vault", json!({"from": from, "openings": openings}));
    }
    let left_out = pipeline::left_out(&reports);
    let failed_command =
        |report: &Report| [FETCH, NOTIFY].contains(&report.stage.as_str()) && report.facts.contains_key("failed");
    let is_lost = |(reason, rows): (&String, &u64)| *rows > 0 && reason != REPEATED_PRICE;
    let lost_rows = reports.iter().any(|report| StageId::Ingest.is_of(report) && report.dropped.iter().any(is_lost));
    summary.partial = lost_rows || !left_out.is_empty() || reports.iter().any(failed_command);
    let stage = |(stage, reason): &(StageId, Message)| json!({"stage": stage.to_string(), "reason": reason.en});
    if !left_out.is_empty() {
        summary.set("left_out", left_out.iter().map(stage).collect::<Vec<_>>());
    }
    summary.set("stages", reports);
    if last >= Stage::Backtest && !config.factor.is_empty() {
        let mut tested = config.clone();
        tested.factor.retain(|factor| {
            let own = [StageId::Factor, StageId::Backtest].map(|stage| stage(factor.name.clone()));
            !left_out.iter().any(|(stage, _)| own.contains(stage))
        });
        let results = pipeline::factor_results(&tested, &opened.base)?;
        let failed = results.iter().flat_map(|result| &result.verdicts).any(|v| v.standing == Standing::Failed);
        summary.partial |= last == Stage::Lint && failed;
        summary.set("factors", results.iter().map(factor_json).collect::<Vec<_>>());
    }
    if last >= Stage::Export && !config.factor.is_empty() {
        summary.set("exports", opened.base.join(&config.project.exports).display().to_string());
    }
    if last == Stage::Report && !config.factor.is_empty() {
        summary.set("reports", opened.base.join(&config.report.dir).display().to_string());
    }
    Ok(summary)
}

/// The results on a factor, as a summary has them.
pub(super) fn factor_json(result: &FactorResult) -> serde_json::Value {
    let verdict = |v: &Verdict| {
        json!({
            "check": v.check, "standing": v.standing, "number": v.number, "limit": v.limit,
            "finding": verdict_sentences(v)[1], "figures": v.figures(),
        })
    };
    let mut value = figures(&result.outcome);
    value["looks"] = json!(result.looks);
    value["lint"] = result.verdicts.iter().map(verdict).collect();
    value["events"] = json!(result.events);
    value
}

/// The figures of a backtest: all that the workbench shows but what goes by date.
fn figures(outcome: &Outcome) -> serde_json::Value {
    let grown = outcome.layers.wealth.iter().map(|curve| curve.last().copied()).collect::<Vec<_>>();
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let book = &outcome.long_short;
    json!({
        "name": outcome.factor,
        "alignment": outcome.alignment_in_words().en,
        "lookahead": outcome.lookahead,
        "refused": outcome.refused.values,
        "coverage": outcome.coverage.mean_share(),
        "days_per_year": outcome.days_per_year,
        "ic": outcome.ic.iter().map(|s| json!({
            "horizon": s.horizon, "ic": s.ic_summary, "rank_ic": s.rank_ic_summary,
        })).collect::<Vec<_>>(),
        "decay": outcome.decay,
        "layers": {
            "horizons": outcome.layers.horizons,
            "mean": outcome.layers.mean,
            "stderr": outcome.layers.stderr,
            "spread": outcome.layers.spread.iter().map(|spread| mean(spread)).collect::<Vec<_>>(),
            "growth": grown,
            "demeaned": outcome.layers.demeaned,
        },
        "long_short": book.total,
        "long_short_by_year": book.by_year,
        "turnover": book.mean_turnover(),
        "cost": book.mean_cost(),
        "portfolios": outcome.portfolios.iter().map(|p| json!({
            "name": p.name, "total": p.total, "by_year": p.by_year, "excess": p.excess_total, "turnover": mean(&p.turnover),
        })).collect::<Vec<_>>(),
        "benchmark": outcome.benchmark.as_ref().map(|b| json!({"name": b.name, "total": b.total})),
        "samples": outcome.samples,
        "capacity": outcome.capacity,
        "execution": outcome.execution,
        "new_names": outcome.new_names,
        "rank_autocorrelation": outcome.rank_autocorrelation,
        "stability": outcome.stability,
        "untradable": outcome.untradable,
    })
}
