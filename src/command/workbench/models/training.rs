//! Training from the workbench, with the arguments of `inkstone train`, which clap reads.

use std::path::Path;
use std::sync::{Arc, LazyLock};

use anyhow::{Context, Result};
use clap::error::{ContextKind, ContextValue};
use clap::{CommandFactory, Parser, ValueEnum};
use serde_json::Value;

use crate::cli::{Cli, Command, help};
use crate::train::{self, Train};
use inkstone_base::data::Report;
use inkstone_base::disk;
use inkstone_base::job::Ctx;
use inkstone_base::language::{Language, Message, Word};
use inkstone_base::{bail, message};
use inkstone_features::standalone::LineFormat;
use inkstone_models::VectorizerParams;
use inkstone_tables::corpus::Parts;
use inkstone_tui::{ArgumentFault, Runner};

/// The faults in the arguments of a training: arguments that the command line would refuse, files that do not exist, and a
/// model that would be overwritten.
pub(super) fn check(args: &[String]) -> Vec<ArgumentFault> {
    let mut faults = Vec::new();
    if let Err(error) = read(args) {
        faults.push(refused(&error));
    }
    let mut fault = |flag: &str, why: Message| faults.push(ArgumentFault { flag: flag.to_owned(), why });
    if let Some(input) = value(args, "--input").map(Path::new) {
        if input.is_dir() {
            match Parts::new(input).files() {
                Ok(files) if files.is_empty() => {
                    fault("input", message!("{} 没有文档", "{} holds no documents", input.display()))
                }
                Ok(_) => {}
                Err(error) => fault("input", Message::of_error(&error)),
            }
        } else if !input.is_file() {
            fault("input", message!("没有 {}", "there is no {}", input.display()));
        } else if value(args, "--until").is_some() && !has_times(args, input) {
            fault(
                "until",
                message!(
                    "{} 没有时间；--until 需要 jsonl，或项目的文档",
                    "{} has no times; --until needs jsonl, or the documents of a project",
                    input.display()
                ),
            );
        }
    }
    match value(args, "--output").map(Path::new) {
        Some(output) if output.exists() => {
            fault("output", message!("{} 已存在", "{} exists already", output.display()))
        }
        _ => {}
    }
    faults
}

/// The default of a flag of `inkstone train KIND`, as it is typed; empty if it has none.
pub(super) fn default(kind: &str, flag: &str) -> String {
    let terms = VectorizerParams::default();
    match flag {
        // clap knows none for these: a flag that is left out leaves the choice to the model.
        "ngram-range" => format!("{},{}", terms.ngram_range.0, terms.ngram_range.1),
        "min-df" => terms.min_df.to_string(),
        "max-df" => terms.max_df.to_string(),
        "max-features" => terms.max_features.to_string(),
        _ => {
            static COMMANDS: LazyLock<clap::Command> = LazyLock::new(|| {
                let mut commands = Cli::command();
                commands.build();
                commands
            });
            let train = COMMANDS.find_subcommand("train").and_then(|train| train.find_subcommand(kind));
            let given = train.and_then(|train| train.get_arguments().find(|arg| arg.get_long() == Some(flag)));
            let defaults = given.map(clap::Arg::get_default_values).unwrap_or_default();
            defaults.iter().map(|value| value.to_string_lossy()).collect::<Vec<_>>().join(",")
        }
    }
}

/// True if the lines of a file can have times.
fn has_times(args: &[String], input: &Path) -> bool {
    let given = value(args, "--format").and_then(|name| LineFormat::from_str(name, true).ok());
    given.or_else(|| LineFormat::by_name(input)) == Some(LineFormat::Jsonl)
}

/// The argument after a flag.
fn value<'a>(args: &'a [String], flag: &str) -> Option<&'a str> {
    let at = args.iter().position(|arg| arg == flag)?;
    args.get(at + 1).map(String::as_str)
}

fn read(args: &[String]) -> Result<Train, clap::Error> {
    let line = ["inkstone", "train"].into_iter().chain(args.iter().map(String::as_str));
    match Cli::try_parse_from(line)?.command {
        Some(Command::Train(train)) => Ok(train),
        _ => unreachable!("clap reads train as that command"),
    }
}

/// The message of clap, without its hints on usage.
fn refused(error: &clap::Error) -> ArgumentFault {
    let flag = match error.get(ContextKind::InvalidArg) {
        Some(ContextValue::String(named)) => named.split_whitespace().next().unwrap_or_default(),
        Some(ContextValue::Strings(named)) => {
            named.first().and_then(|named| named.split_whitespace().next()).unwrap_or_default()
        }
        _ => "",
    };
    let text = error.to_string();
    let first = text.lines().next().unwrap_or_default().trim_start_matches("error: ");
    let zh = help::explained(error, Language::Zh).unwrap_or_else(|| first.to_owned());
    let zh = zh.lines().next().unwrap_or_default().trim_start_matches("错误：").to_owned();
    let why = Message { zh, en: first.to_owned() };
    ArgumentFault { flag: flag.trim_start_matches('-').to_owned(), why }
}

/// The training of these arguments.
pub(in crate::command) fn train(args: Vec<String>) -> Runner {
    Arc::new(move |ctx| run(&args, ctx))
}

fn run(args: &[String], ctx: &Ctx) -> Result<Vec<Report>> {
    let faults = check(args);
    if let Some(fault) = faults.first() {
        bail!(fault.why.clone());
    }
    let asked = read(args).map_err(|error| anyhow::Error::new(refused(&error).why))?;
    if let Some(output) = value(args, "--output") {
        // Trainers keep their scratch files beside the model.
        disk::make_dir(disk::folder_of(Path::new(output)))?;
    }
    let mut summary = train::run(&asked, ctx)?;
    let stages = summary.fields.remove("stages").unwrap_or(Value::Array(Vec::new()));
    serde_json::from_value(stages)
        .context(Word("训练结果没有报告列表", "the result of the training has no list of reports"))
}
