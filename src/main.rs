//! The program: parse, choose a command and a front, give an exit code.

use std::process::ExitCode;

use clap::FromArgMatches;
use inkstone::cli::{Cli, help};
use inkstone::command;
use inkstone_base::language::Language;
use inkstone_base::memory::Memory;

#[global_allocator]
static MEMORY: Memory = Memory;

fn main() -> ExitCode {
    keep_silent();
    let language = asked_language();
    language.use_for_messages();
    let matches = help::command(language).try_get_matches();
    match matches.and_then(|matches| Cli::from_arg_matches(&matches)) {
        Ok(cli) => command::run(cli),
        Err(message) => command::print_clap(&message, language),
    }
}

/// The language of `--lang`, which errors in other flags are told in too, else that of the environment.
fn asked_language() -> Language {
    let args: Vec<String> = std::env::args_os().map(|arg| arg.to_string_lossy().into_owned()).collect();
    let behind = args.iter().position(|arg| arg == "--lang").and_then(|at| args.get(at + 1)).map(String::as_str);
    let joined = args.iter().find_map(|arg| arg.strip_prefix("--lang="));
    joined.or(behind).and_then(Language::parse).unwrap_or_else(Language::of_environment)
}

/// From 1.29 on ONNX Runtime tells its maker of every process and model, over the network, unless this is set before it is loaded;
/// its own function for that comes after the first message.
#[allow(unsafe_code)]
fn keep_silent() {
    // SAFETY: there is no other thread yet that could read the environment meanwhile.
    unsafe { std::env::set_var("ORT_DISABLE_TELEMETRY", "1") }
}
