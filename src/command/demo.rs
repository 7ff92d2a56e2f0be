//! demo
use crate::cli::{Demo, Global};
use anyhow::Result;
use std::process::ExitCode;
pub(super) fn run(_args: &Demo, _global: &Global) -> Result<ExitCode> {
    anyhow::bail!("soon")
}
