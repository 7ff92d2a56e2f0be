//! Getting the library from PyPI: with uv where it is there, else with pip, into the user's runtime folder.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};

use super::find::within;
use crate::job::Ctx;

/// The version of the packages `onnxruntime` and `onnxruntime-gpu` that is installed.
pub const PACKAGE_VERSION: &str = "1.31.1";

/// Installs the package for processors, or with `cuda` that for NVIDIA devices with the CUDA and cuDNN libraries, in `folder`, and gives
/// the library's file. What was there is replaced when the new one is whole.
pub fn install(folder: &Path, cuda: bool, ctx: &Ctx) -> Result<PathBuf> {
    let parent = folder.parent().context("the runtime folder has no parent")?;
    std::fs::create_dir_all(parent).with_context(|| format!("cannot make the folder {}", parent.display()))?;
    let target = tempfile::tempdir_in(parent).with_context(|| format!("cannot write in {}", parent.display()))?;
    let wanted = match cuda {
        true => vec![format!("onnxruntime-gpu[cuda,cudnn]=={PACKAGE_VERSION}")],
        false => vec!["--no-deps".to_owned(), format!("onnxruntime=={PACKAGE_VERSION}")],
    };
    let mut failures = Vec::new();
    for mut command in installers(target.path()) {
        let name = command.get_program().to_string_lossy().into_owned();
        command.args(&wanted).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        match run(command, ctx)? {
            None => {
                let found = within(target.path());
                ensure!(found.is_some(), "{name} installed {wanted:?}, but no library is in it");
                put(target, folder)?;
                return within(folder).with_context(|| format!("no library is in {}", folder.display()));
            }
            Some(failure) => failures.push(format!("{name}: {failure}")),
        }
    }
    bail!(
        "cannot install ONNX Runtime {PACKAGE_VERSION}: {}. Install it by hand (pip install onnxruntime), and set [onnx] library or \
         ORT_DYLIB_PATH to its file libonnxruntime.so",
        failures.join("; ")
    )
}

/// The commands that can install a package in a folder, the packages still to be named.
fn installers(target: &Path) -> Vec<Command> {
    let command = |program: &str, args: &[&str]| {
        let mut command = Command::new(program);
        command.args(args).arg("--target").arg(target);
        command
    };
    vec![
        command("uv", &["pip", "install", "--quiet"]),
        command("python3", &["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]),
        command("python", &["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]),
    ]
}

/// Runs a command to its end, or until the work is cancelled; gives the last lines that it said when it failed.
fn run(mut command: Command, ctx: &Ctx) -> Result<Option<String>> {
    let Ok(mut child) = command.spawn() else { return Ok(Some("is not on this machine".into())) };
    let mut said = child.stderr.take().context("the error stream of a command was asked for")?;
    let reader = std::thread::spawn(move || {
        let mut text = Vec::new();
        // What it said is for a message only.
        let _ = said.read_to_end(&mut text);
        String::from_utf8_lossy(&text).into_owned()
    });
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break status;
        }
        if let Err(cancelled) = ctx.check() {
            child.kill()?;
            child.wait()?;
            return Err(cancelled.into());
        }
        std::thread::sleep(Duration::from_millis(50));
    };
    let text = reader.join().unwrap_or_default();
    let last = text.lines().rev().map(str::trim).find(|line| !line.is_empty()).unwrap_or("it said nothing");
    Ok((!status.success()).then(|| last.to_owned()))
}

/// Puts the new folder in the place of the old one.
fn put(target: tempfile::TempDir, folder: &Path) -> Result<()> {
    let said = || format!("cannot put the library in {}", folder.display());
    if folder.exists() {
        std::fs::remove_dir_all(folder).with_context(said)?;
    }
    std::fs::rename(target.keep(), folder).with_context(said)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_that_fails_is_quoted_and_one_that_is_missing_told() {
        let ctx = Ctx::new(1, 1).unwrap();
        let mut failing = Command::new("sh");
        failing.args(["-c", "echo first >&2; echo no such package >&2; exit 3"]).stderr(Stdio::piped());
        assert_eq!(run(failing, &ctx).unwrap().as_deref(), Some("no such package"));
        assert_eq!(run(Command::new("no-such-program"), &ctx).unwrap().as_deref(), Some("is not on this machine"));
        let mut endless = Command::new("sleep");
        endless.arg("60").stderr(Stdio::piped());
        ctx.cancel();
        assert!(run(endless, &ctx).unwrap_err().is::<crate::job::Cancelled>());
    }

    #[test]
    fn the_new_folder_takes_the_place_of_the_old() {
        let parent = tempfile::tempdir().unwrap();
        let folder = parent.path().join("runtime");
        for round in ["one", "two"] {
            let target = tempfile::tempdir_in(parent.path()).unwrap();
            std::fs::write(target.path().join(round), "").unwrap();
            put(target, &folder).unwrap();
            assert!(folder.join(round).exists());
        }
        assert!(!folder.join("one").exists());
        assert_eq!(std::fs::read_dir(parent.path()).unwrap().count(), 1);
    }
}
