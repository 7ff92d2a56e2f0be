//! The commands: each makes objects of its flags and files, and runs them in the workbench or as a batch.
//!
//! On a terminal a project's commands open the workbench at that job; with `--headless`, or when stdout is no terminal, they run
//! as a batch. Models on plain files, `read`, `tokenize`, `store`, `init`, `completions` and `man` are for pipes and scripts and never open a
//! screen.

mod alignment;
mod audit;
mod boilerplate;
mod capsule;
mod compare;
mod demo;
mod doctor;
mod events;
mod experiment;
mod files;
mod first;
mod keywords;
mod ledger;
mod man;
mod models;
mod opened;
mod plan;
mod project;
mod read;
mod revisions;
mod search;
pub(crate) mod staged;
mod stock;
mod store;
mod trace;
pub(crate) mod workbench;
mod worker;

use std::io::{ErrorKind, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result};

use crate::cli::{Cli, Command, Global, help};
use crate::config::TEMPLATE;
use crate::headless::{self, ERROR, Summary};
use crate::pipeline::Stage;
use crate::train;
use inkstone_base::disk;
use inkstone_base::job::Ctx;
use inkstone_base::language::{Language, Word};
use inkstone_base::{bail, ensure, error, message};
use inkstone_base::{remedy, signals, simd, width};

/// Runs the command line to its end.
pub fn run(cli: Cli) -> ExitCode {
    signals::survive_limits();
    let global = cli.global;
    if let Err(error) = simd::check() {
        return or_explain(Err(error));
    }
    let given = cli.path.or(cli.config);
    let Some(command) = cli.command else {
        return or_explain(configuration(given).and_then(|path| project::browse(&path, &global)));
    };
    if let Some(path) = given {
        let path = path.display();
        return or_explain(Err(error!(
            "{path} 写在了命令之前；请在命令之后写 -c {path}",
            "{path} stands before the command; write -c {path} behind it"
        )));
    }
    let stage = |name, args: crate::cli::Project, last| or_explain(project::run(name, &args.config, last, &global));
    match command {
        Command::Demo(args) => or_explain(demo::run(&args, &global)),
        Command::Run(args) if args.plan => {
            project::forecast(&args.project.config, args.stage.unwrap_or(Stage::Report), &global)
        }
        Command::Run(args) => or_explain(project::run_all(&args, &global)),
        Command::Ingest(args) => stage("ingest", args, Stage::Ingest),
        Command::Clean(args) => stage("clean", args, Stage::Clean),
        Command::Link(args) => stage("link", args, Stage::Link),
        Command::Structure(args) => stage("structure", args, Stage::Structure),
        Command::Boilerplate(args) => batch("boilerplate", &global, |_| boilerplate::run(&args)),
        Command::Rewrite(args) => stage("rewrite", args, Stage::Rewrite),
        Command::Extract(args) => stage("extract", args, Stage::Extract),
        Command::Plan(args) => plan::plan(&args, &global),
        Command::Work(args) => plan::work(&args, &global),
        Command::Factor(args) => stage("factor", args, Stage::Factor),
        Command::Backtest(args) if args.factor.is_some() => {
            batch("backtest", &global, |ctx| files::backtest(&args, ctx))
        }
        Command::Backtest(args) => or_explain(project::backtest(&args, &global)),
        Command::Experiment(args) => or_explain(experiment::run(&args, &global)),
        Command::Export(args) => stage("export", args, Stage::Export),
        Command::Lint(args) => stage("lint", args, Stage::Lint),
        Command::Revisions(args) => batch("revisions", &global, |_| revisions::run(&args)),
        Command::Audit(args) => audit::run(&args, &global),
        Command::Trace(args) => or_explain(trace::run(&args, &global)),
        Command::Compare(args) => or_explain(compare::run(&args, &global)),
        Command::Events(args) => or_explain(events::run(&args, &global)),
        Command::Search(args) => or_explain(search::run(&args, &global)),
        Command::Stock(args) => or_explain(stock::run(&args, &global)),
        Command::Report(args) => stage("report", args, Stage::Report),
        Command::Read(args) => batch("read", &global, |ctx| read::run(&args, ctx)),
        Command::Tokenize(args) => or_explain(files::tokenize(&args, &global)),
        Command::Train(args) => batch("train", &global, |ctx| train::run(&args, ctx)),
        Command::Eval(args) => batch("eval", &global, |ctx| models::eval(&args, ctx)),
        Command::Embed(args) => batch("embed", &global, |ctx| models::embed(&args, ctx)),
        Command::Worker(args) => or_explain(worker::run(&args, &global)),
        Command::Explain(args) if args.alignment => or_explain(alignment::run(&args, &global)),
        Command::Explain(args) => batch("explain", &global, |ctx| models::explain(&args, ctx)),
        Command::Generate(args) => batch("generate", &global, |ctx| models::generate(&args, ctx)),
        Command::Sample(args) => batch("sample", &global, |ctx| models::sample(&args, ctx)),
        Command::Shift(args) => batch("shift", &global, |ctx| models::shift(&args, ctx)),
        Command::Projection(args) => batch("projection", &global, |ctx| models::projection(&args, ctx)),
        Command::Nearest(args) => batch("nearest", &global, |ctx| models::nearest(&args, ctx)),
        Command::Keywords(args) => batch("keywords", &global, |ctx| keywords::run(&args, ctx)),
        Command::Convert(args) => batch("convert", &global, |ctx| models::convert(&args, ctx)),
        Command::Drift(args) => or_explain(project::drift(&args, &global)),
        Command::Replay(args) => or_explain(capsule::replay(&args, &global)),
        Command::Diff(args) => batch("diff", &global, |_| capsule::diff(&args)),
        Command::Doctor(args) => doctor::run(&args, &global),
        Command::Ledger(args) => ledger::run(&args, &global),
        Command::Store(args) => batch("store", &global, |ctx| store::run(&args, ctx)),
        Command::Picture(args) => batch("picture", &global, |_| workbench::picture(&args, &global)),
        Command::Keys => or_explain(workbench::keys(&global)),
        Command::Init(args) => batch("init", &global, |_| init(&args.config)),
        Command::Completions { shell } => {
            // clap panics when it writes to a pipe that was closed.
            let mut script = Vec::new();
            let mut program = help::command(Language::of_messages());
            clap_complete::generate(shell, &mut program, "inkstone", &mut script);
            or_explain(headless::print(&String::from_utf8_lossy(&script)).map(|()| ExitCode::SUCCESS))
        }
        Command::Man => or_explain(man::page().and_then(|page| headless::print(&page)).map(|()| ExitCode::SUCCESS)),
    }
}

/// The configuration that the workbench opens: the file that is named, or the one of the folder. Fails on a word that is neither, with the
/// command of the nearest name.
fn configuration(given: Option<PathBuf>) -> Result<PathBuf> {
    const FILE: &str = "workbench.toml";
    let Some(path) = given else { return Ok(FILE.into()) };
    if path.is_dir() {
        return Ok(path.join(FILE));
    }
    let is_word = path.parent().is_some_and(|folder| folder.as_os_str().is_empty()) && path.extension().is_none();
    if path.exists() || !is_word {
        return Ok(path);
    }
    let word = path.display().to_string();
    let commands = help::command(Language::En);
    let distance = |name: &str| strsim::osa_distance(&word, name);
    let nearest = commands.get_subcommands().map(clap::Command::get_name).min_by_key(|name| distance(name));
    let meant =
        nearest.filter(|name| distance(name) <= 2).map(|name| message!("；是不是 {name}？", "; did you mean {name}?"));
    bail!(
        "没有命令、文件或文件夹 {word:?}{}；inkstone --help 列出全部命令",
        "there is no command, file or folder {word:?}{}; inkstone --help lists the commands",
        meant.clone().unwrap_or_default()
    )
}

/// Prints what clap has to say: help, the version, or the errors in the flags.
pub fn print_clap(message: &clap::Error, language: Language) -> ExitCode {
    let code = u8::try_from(message.exit_code()).unwrap_or(2);
    // clap repeats an unknown flag as it was given, and it may hold control characters that terminals obey: the message is made again
    // of the flags as they may be shown.
    let printable = std::env::args_os().map(|arg| width::shown(&arg.to_string_lossy()).into_owned());
    let again = help::command(language).try_get_matches_from(printable).err();
    let message = again.as_ref().unwrap_or(message);
    if let Some(text) = help::explained(message, language) {
        let _ = write!(std::io::stderr(), "{}", width::shown(&text));
        return ExitCode::from(code);
    }
    or_explain(match message.print() {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(error).context(Word("无法写入", "cannot write")),
        _ => Ok(ExitCode::from(code)),
    })
}

/// True if this run has no screen.
fn is_batch(global: &Global) -> bool {
    global.headless || !std::io::stdout().is_terminal() || !std::io::stdin().is_terminal()
}

/// Runs a command that never has a screen.
fn batch(name: &str, global: &Global, work: impl FnOnce(&Ctx) -> Result<Summary>) -> ExitCode {
    headless::run_under(name, Ctx::new(global.threads.unwrap_or(0), global.seed.unwrap_or(1)), work)
}

/// An error before any front is up goes to stderr, with exit code 2.
fn or_explain(result: Result<ExitCode>) -> ExitCode {
    result.unwrap_or_else(|error| {
        let _ = writeln!(std::io::stderr(), "{ERROR}{}", width::shown(&remedy::with_remedy(&error)));
        ExitCode::from(2)
    })
}

fn init(path: &Path) -> Result<Summary> {
    ensure!(!path.exists(), "{} 已存在；什么也没有写", "{} exists already; nothing was written", path.display());
    disk::write_atomic(path, |out| Ok(out.write_all(TEMPLATE.as_bytes())?))
        .context(Word("无法写入配置", "cannot write the configuration"))?;
    let mut summary = Summary::default();
    summary.set("written", path.display().to_string());
    Ok(summary)
}
