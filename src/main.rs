//! The program: parse, choose a command and a front, give an exit code.

use std::process::ExitCode;

use clap::Parser;
use inkstone::cli::Cli;
use inkstone::command;

fn main() -> ExitCode {
    command::run(Cli::parse())
}
