//! The program: parse, choose a command and a front, give an exit code.

use std::process::ExitCode;

use clap::Parser;
use inkstone::cli::Cli;
use inkstone::command;
use inkstone_base::memory::Memory;

#[global_allocator]
static MEMORY: Memory = Memory;

fn main() -> ExitCode {
    keep_silent();
    match Cli::try_parse() {
        Ok(cli) => command::run(cli),
        Err(message) => command::print_clap(&message),
    }
}

/// From 1.29 on ONNX Runtime tells its maker of every process and model, over the network, unless this is set before it is loaded;
/// its own function for that comes after the first message.
#[allow(unsafe_code)]
fn keep_silent() {
    // SAFETY: there is no other thread yet that could read the environment meanwhile.
    unsafe { std::env::set_var("ORT_DISABLE_TELEMETRY", "1") }
}
