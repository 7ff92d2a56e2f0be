//! The program: parse, choose a command and a front, give an exit code.

use std::process::ExitCode;

use clap::Parser;
use inkstone::cli::Cli;
use inkstone::command;
use inkstone::memory::Memory;

#[global_allocator]
static MEMORY: Memory = Memory;

fn main() -> ExitCode {
    match Cli::try_parse() {
        Ok(cli) => command::run(cli),
        Err(said) => command::say(&said),
    }
}
