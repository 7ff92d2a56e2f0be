//! Training from the workbench, with the arguments of `inkstone train`, which clap reads.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result};
use clap::error::{ContextKind, ContextValue};
use clap::{ArgAction, Parser, ValueEnum};
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
use inkstone_tui::{ArgumentFault, FlagTakes, Runner, TrainableModel, TrainingFlag};

/// The faults in the arguments of a training: arguments that the command line would refuse, files that do not exist, and a
/// model that would be overwritten.
pub(super) fn check(args: &[String]) -> Vec<ArgumentFault> {
    let mut faults = Vec::new();
    let mut left = args.to_vec();
    while let Err(error) = read(&left) {
        let fault = refused(&error);
        // clap stops at the first argument that it refuses: the others are seen without it.
        let flag = format!("--{}", fault.flag);
        let at = left.iter().position(|arg| *arg == flag);
        faults.push(fault);
        let Some(at) = at else { break };
        let takes_value = left.get(at + 1).is_some_and(|value| !value.starts_with("--"));
        left.drain(at..at + 1 + usize::from(takes_value));
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

/// Flags that the form has lines of its own for, that the project gives, or that every command has.
const APART: [&str; 7] = ["input", "output", "format", "until", "seed", "help", "version"];

/// Groups of flags that are not of the model itself.
const OTHER_GROUPS: [&str; 3] = ["Every command", "Cutting text", "Files"];

/// Values that a form begins with where another than the command's own suits Chinese words, which have two characters.
const PROPOSED: [(&str, &str, &str); 2] = [("fasttext", "minn", "1"), ("fasttext", "maxn", "3")];

/// The kinds of models that `inkstone train` fits, word2vec first, then in the order of its help.
pub(super) fn kinds() -> Vec<TrainableModel> {
    let [zh, en] = [Language::Zh, Language::En].map(help::command);
    let train = |command: &clap::Command| command.find_subcommand("train").cloned().unwrap_or_default();
    let (zh, en) = (train(&zh), train(&en));
    let kinds =
        en.get_subcommands().filter(|kind| ["input", "output"].iter().all(|flag| argument(kind, flag).is_some()));
    let mut kinds: Vec<TrainableModel> =
        kinds.filter_map(|kind| Some(trainable(kind, zh.find_subcommand(kind.get_name())?))).collect();
    kinds.sort_by_key(|kind| kind.name != "word2vec");
    kinds
}

fn argument<'c>(command: &'c clap::Command, flag: &str) -> Option<&'c clap::Arg> {
    command.get_arguments().find(|arg| arg.get_long() == Some(flag))
}

/// A kind of model by its command in English and in Chinese.
fn trainable(kind: &clap::Command, zh: &clap::Command) -> TrainableModel {
    let own = |arg: &&clap::Arg| {
        let long = arg.get_long().unwrap_or_default();
        let other = arg.get_help_heading().is_some_and(|heading| OTHER_GROUPS.contains(&heading));
        !long.is_empty() && !APART.contains(&long) && !other && !arg.is_hide_set() && !arg.is_global_set()
    };
    let flag = |arg: &clap::Arg| training_flag(kind.get_name(), arg, argument(zh, arg.get_long()?)?);
    let output = argument(kind, "output").and_then(clap::Arg::get_value_names).unwrap_or_default();
    let about = |command: &clap::Command| command.get_about().map(ToString::to_string).unwrap_or_default();
    TrainableModel {
        name: kind.get_name().to_owned(),
        about: Message { zh: about(zh), en: about(kind) },
        flags: kind.get_arguments().filter(own).filter_map(flag).collect(),
        is_folder: output.iter().any(|name| name == "FOLDER"),
        cuts: argument(kind, "dict").is_some(),
    }
}

fn training_flag(kind: &str, arg: &clap::Arg, zh: &clap::Arg) -> Option<TrainingFlag> {
    let name = arg.get_long()?.to_owned();
    let about = |arg: &clap::Arg| {
        let help = arg.get_help().map(ToString::to_string).unwrap_or_default();
        // The form shows defaults and choices itself.
        help.split(" [默认").next().and_then(|help| help.split(" [可选").next()).unwrap_or_default().to_owned()
    };
    let choices: Vec<String> = match arg.get_action().takes_values() {
        true => arg.get_possible_values().iter().map(|value| value.get_name().to_owned()).collect(),
        false => Vec::new(),
    };
    let takes = match (arg.get_action(), choices.is_empty()) {
        (ArgAction::SetTrue, _) => FlagTakes::Switch,
        (ArgAction::Set, false) if arg.get_num_args().is_none_or(|range| range.max_values() <= 1) => {
            FlagTakes::One(choices)
        }
        _ => FlagTakes::Text,
    };
    let (terms, by_tfidf) = (VectorizerParams::default(), ["tfidf", "lsa"].contains(&kind));
    let default = match (&takes, &*name) {
        (FlagTakes::Switch, _) => "off".to_owned(),
        // clap knows none for these: a flag that is left out leaves the choice to the model.
        (_, "ngram-range") if by_tfidf => format!("{},{}", terms.ngram_range.0, terms.ngram_range.1),
        (_, "min-df") if by_tfidf => terms.min_df.to_string(),
        (_, "max-df") if by_tfidf => terms.max_df.to_string(),
        (_, "max-features") if by_tfidf => terms.max_features.to_string(),
        _ => {
            let defaults = arg.get_default_values().iter().map(|value| value.to_string_lossy());
            defaults.collect::<Vec<_>>().join(",")
        }
    };
    let proposed = PROPOSED.iter().find(|(of_kind, flag, _)| *of_kind == kind && *flag == name);
    Some(TrainingFlag {
        about: Message { zh: about(zh), en: about(arg) },
        proposed: proposed.map_or_else(|| default.clone(), |(_, _, value)| (*value).to_owned()),
        is_required: arg.is_required_set(),
        name,
        takes,
        default,
    })
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
