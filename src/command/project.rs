//! Commands on a project, in the workbench or as a batch.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use serde_json::json;

use super::is_batch;
use super::workbench::open_ui;
use crate::cli::{Backtest, Drift, Global};
use crate::config::Config;
use crate::headless::{self, Summary};
use crate::pipeline::{self, FactorResult, Stage, StageId};
use inkstone_base::data::Report;
use inkstone_base::job::Ctx;
use inkstone_base::lock::Lock;
use inkstone_base::shell::quoted;
use inkstone_lab::backtest::Outcome;
use inkstone_lab::lint::{Standing, Verdict};
use inkstone_report::verdict_sentences;
use inkstone_tables::project::Project;
use inkstone_tui::Start;

/// Puts flags of the command line over a configuration.
type Flags = Arc<dyn Fn(&mut Config) -> Result<()> + Send + Sync>;

/// A configuration that was read, with the flags of the command line put over it.
#[derive(Clone)]
pub(super) struct OpenProject {
    pub(super) config: Config,
    /// The configuration's file.
    pub(super) path: PathBuf,
    /// Folder of the configuration: paths in it are relative to this.
    pub(super) base: PathBuf,
    /// The command line that runs the same as a batch.
    pub(super) command: String,
    flags: Flags,
}

impl OpenProject {
    pub(super) fn read(path: &Path, command: &str, global: &Global) -> Result<OpenProject> {
        let (threads, seed, trust) = (global.threads, global.seed, global.trust);
        let flags: Flags = Arc::new(move |config| {
            config.project.threads = threads.unwrap_or(config.project.threads);
            config.project.seed = seed.unwrap_or(config.project.seed);
            config.onnx.trusted = trust;
            Ok(())
        });
        let mut config = Config::read(path)?;
        flags(&mut config)?;
        let base = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let trusted = if trust { " --trust" } else { "" };
        let command = format!("inkstone {command} -c {} --headless{trusted}", quoted(&path.display().to_string()));
        Ok(OpenProject { config, path: path.to_owned(), base: base.to_owned(), command, flags })
    }

    /// A configuration that is in no file.
    #[cfg(test)]
    pub(super) fn from_config(config: Config, base: &Path) -> OpenProject {
        let flags: Flags = Arc::new(|_| Ok(()));
        OpenProject { config, path: base.join("workbench.toml"), base: base.to_owned(), command: String::new(), flags }
    }

    /// The flags that name the configuration on the command line.
    pub(super) fn config_flags(&self) -> String {
        format!("-c {}", quoted(&self.path.display().to_string()))
    }

    /// Puts further flags over the configuration, now and whenever it is read again.
    pub(super) fn with(
        mut self,
        further: impl Fn(&mut Config) -> Result<()> + Send + Sync + 'static,
    ) -> Result<OpenProject> {
        further(&mut self.config)?;
        let flags = self.flags.clone();
        self.flags = Arc::new(move |config| {
            flags(config)?;
            further(config)
        });
        Ok(self)
    }

    /// Reads the file again, which an editor may have changed since, and puts the flags over it.
    pub(super) fn again(&self) -> Result<OpenProject> {
        let mut config = Config::read(&self.path)?;
        (self.flags)(&mut config)?;
        Ok(OpenProject { config, ..self.clone() })
    }

    pub(super) fn project(&self) -> Project {
        pipeline::project(&self.config, &self.base)
    }

    /// Reads the file again and runs the stages up to `last`.
    pub(super) fn run_again(&self, last: Stage, ctx: &Ctx) -> Result<Vec<Report>> {
        let now = self.again()?;
        pipeline::run(&now.config, &now.base, last, ctx)
    }

    /// Holds the lock of the project for as long as this command writes.
    pub(super) fn writing(&self, command: &str) -> Result<Lock> {
        self.project().lock_for(command)
    }

    /// Fails where a folder that the stages up to `last` write into cannot be written: now, and not after hours of work.
    pub(super) fn ensure_writable(&self, last: Stage) -> Result<()> {
        let project = self.project();
        let mut folders = vec![project.dir().to_owned()];
        if last >= Stage::Extract {
            folders.push(project.store());
        }
        if last >= Stage::Backtest {
            folders.push(project.ledger());
        }
        if last >= Stage::Export {
            // A new folder of exports is made beside the old one.
            folders.extend(self.base.join(&self.config.project.exports).parent().map(Path::to_owned));
        }
        if last >= Stage::Report {
            folders.push(self.base.join(&self.config.report.dir));
        }
        folders.iter().try_for_each(|folder| ensure_writable(folder))
    }

    pub(super) fn ctx(&self) -> Result<Ctx> {
        Ctx::new(self.config.project.threads, self.config.project.seed)
    }
}

/// Fails where nothing can be written in a folder, or where it cannot be made.
fn ensure_writable(folder: &Path) -> Result<()> {
    let is_named = |folder: &Path| !folder.as_os_str().is_empty();
    let nearest = folder.ancestors().find(|folder| is_named(folder) && folder.exists()).unwrap_or(Path::new("."));
    // A file without a name: nothing is left of it.
    tempfile::tempfile_in(nearest)
        .map(drop)
        .with_context(|| format!("cannot write in {}: nothing was run", folder.display()))
}

/// Opens the workbench without starting anything.
pub(super) fn browse(path: &Path, global: &Global) -> Result<ExitCode> {
    if !path.exists() && !is_batch(global) {
        return super::first::run(path, global);
    }
    ensure!(
        path.exists(),
        "there is no {} here. To see the whole product on synthetic data: inkstone demo. To start a project: inkstone init",
        path.display()
    );
    let opened = OpenProject::read(path, "run", global)?;
    ensure!(!is_batch(global), "the workbench needs a terminal; to run as a batch: {}", opened.command);
    open_ui(&opened, Start::Browse, global, None)
}

/// Runs the stages up to `last`, in the workbench or as a batch.
pub(super) fn run(name: &str, path: &Path, last: Stage, global: &Global) -> Result<ExitCode> {
    front(name, OpenProject::read(path, name, global), last, global)
}

/// Runs the stages up to the backtests with the flags of `backtest` put over the configuration.
pub(super) fn backtest(args: &Backtest, global: &Global) -> Result<ExitCode> {
    let flags = args.clone();
    let opened = OpenProject::read(&args.project.config, "backtest", global)
        .and_then(|opened| opened.with(move |config| super::files::apply(&flags, &mut config.backtest)));
    front("backtest", opened, Stage::Backtest, global)
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

fn front(name: &str, opened: Result<OpenProject>, last: Stage, global: &Global) -> Result<ExitCode> {
    if !is_batch(global) {
        let opened = opened?;
        let run = opened.clone();
        let runner = Arc::new(move |ctx: &Ctx| run.run_again(last, ctx));
        return open_ui(&opened, Start::Run, global, Some(runner));
    }
    Ok(batch_on(name, opened, |opened, ctx| {
        let _held = opened.writing(name)?;
        opened.ensure_writable(last)?;
        let reports = pipeline::run(&opened.config, &opened.base, last, ctx)?;
        summary(&opened, reports, last)
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
    let left_out = pipeline::left_out(&reports);
    let lost_rows = reports.iter().any(|report| StageId::Ingest.is_of(report) && report.dropped_rows() > 0);
    summary.partial = lost_rows || !left_out.is_empty();
    let stage = |(stage, reason): &(StageId, String)| json!({"stage": stage.to_string(), "reason": reason});
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
        "alignment": outcome.alignment_in_words(),
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
