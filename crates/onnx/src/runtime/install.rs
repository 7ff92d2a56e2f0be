//! Getting the library from PyPI: with uv where it is there, else with pip, into the user's runtime folder.
//!
//! Only wheels whose hashes stand in requirements.txt and requirements-cuda.txt are installed, whatever registry the user has set. The
//! installers run in the new folder, so they read nothing of the current one. For `runtime/` the new content grows in
//! `.runtime.new-…/` and takes its place in one step; what a killed installation left is removed by the next one.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result};

use super::find::{own_folder, within};
use super::program::program;
use inkstone_base::disk;
use inkstone_base::job::Ctx;
use inkstone_base::language::{Message, Word};
use inkstone_base::lock::{self, Attempt, Lock};
use inkstone_base::{bail, ensure, message};

/// The version of the packages `onnxruntime` and `onnxruntime-gpu` that is installed.
pub const PACKAGE_VERSION: &str = "1.31.1";

const WHEELS: &str = include_str!("requirements.txt");
const WHEELS_CUDA: &str = include_str!("requirements-cuda.txt");
/// The Python whose wheels they are.
const PYTHON: &str = "3.12";
/// Time between two looks at an installer or another installation that has not ended.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// Installs the package for processors, or with `cuda` that for NVIDIA devices with the CUDA and cuDNN libraries, in `folder`, and gives
/// the library's file. What was there is replaced when the new one is whole. Where another process installs, it is waited for.
pub fn install(folder: &Path, cuda: bool, ctx: &Ctx) -> Result<PathBuf> {
    let wheels = if cuda { WHEELS_CUDA } else { WHEELS };
    let _one = only_one(folder, ctx)?;
    clear(folder)?;
    let target = tempfile::Builder::new().prefix(&beside(folder, NEW)?).tempdir_in(disk::folder_of(folder));
    let target = target.with_context(|| message!("无法在 {} 旁写入", "cannot write beside {}", folder.display()))?;
    std::fs::write(target.path().join("requirements.txt"), wheels)
        .with_context(|| message!("无法写入 {}", "cannot write in {}", target.path().display()))?;
    let mut failures = Vec::new();
    for (name, command) in installers() {
        let Some(mut command) = command else {
            failures.push(message!("{name}：本机没有", "{name}: is not on this machine"));
            continue;
        };
        command.current_dir(target.path());
        match run(command, ctx)? {
            None => {
                ensure!(
                    within(target.path()).is_some(),
                    "{name} 安装了 {wheels:?}，但其中没有代码库",
                    "{name} installed {wheels:?}, but no library is in it"
                );
                put(target, folder)?;
                return within(folder)
                    .with_context(|| message!("{} 中没有代码库", "no library is in {}", folder.display()));
            }
            Some(failure) => failures.push(message!("{name}：{failure}", "{name}: {failure}")),
        }
    }
    bail!(
        "无法安装 ONNX Runtime {PACKAGE_VERSION}：{}。请自行安装（pip install onnxruntime），并把 ORT_DYLIB_PATH 设为其文件 libonnxruntime.so 的完整路径",
        "cannot install ONNX Runtime {PACKAGE_VERSION}: {}. Install it by hand (pip install onnxruntime), and set ORT_DYLIB_PATH to the whole path of its file libonnxruntime.so",
        Message::joined(&failures, Word("；", "; "))
    )
}

/// The programs that can install the wheels of ./requirements.txt in the current folder; none where one is not on this machine.
fn installers() -> Vec<(&'static str, Option<Command>)> {
    let pip = ["-I", "-m", "pip", "install", "--disable-pip-version-check"];
    let command = |name: &'static str, first: &[&str]| {
        let mut command = program(name);
        if let Some(command) = &mut command {
            command.args(first).args(["--quiet", "--no-deps", "--require-hashes", "--only-binary", ":all:"]);
            command.args(["--python-version", PYTHON, "--target", ".", "--requirement", "requirements.txt"]);
        }
        (name, command)
    };
    let mut uv = command("uv", &["pip", "install", "--link-mode", "copy"]);
    if let Some(uv) = &mut uv.1 {
        // The user's own settings may name the registry; those of the folders above are anybody's.
        let own = own_folder("XDG_CONFIG_HOME", ".config").map(|folder| folder.with_file_name("uv").join("uv.toml"));
        match own.filter(|file| file.is_file()) {
            Some(file) => uv.arg("--config-file").arg(file),
            None => uv.arg("--no-config"),
        };
    }
    vec![uv, command("python3", &pip), command("python", &pip)]
}

/// Ends of the names of folders beside the one that is installed.
const NEW: &str = "new-";
const PREVIOUS: &str = "previous";

/// The name of a folder beside `folder`, which only this program gives: `.runtime.new-`.
fn beside(folder: &Path, end: &str) -> Result<String> {
    let name = folder
        .file_name()
        .with_context(|| message!("{} 不是可安装的文件夹", "{} is no folder to install in", folder.display()))?;
    Ok(format!(".{}.{end}", name.to_string_lossy()))
}

/// Waits until no other process installs in `folder`, and keeps others from it.
fn only_one(folder: &Path, ctx: &Ctx) -> Result<Lock> {
    let path = folder.with_file_name(beside(folder, "lock")?);
    loop {
        match lock::take(&path, "doctor --fix")? {
            Attempt::Ours(lock) => return Ok(lock),
            Attempt::Theirs(holder) => ctx.note(message!("等待 {}", "waiting for {}", holder.in_words()).to_string()),
        }
        ctx.check()?;
        std::thread::sleep(LOOK_EVERY);
    }
}

/// Puts back what stood in `folder` if a kill fell between two steps of the exchange, and removes what killed installations left.
fn clear(folder: &Path) -> Result<()> {
    let previous = folder.with_file_name(beside(folder, PREVIOUS)?);
    if previous.exists() && !folder.exists() {
        rename(&previous, folder)?;
    }
    let holds_others = folder.exists() && within(folder).is_none() && std::fs::read_dir(folder)?.next().is_some();
    ensure!(
        !holds_others,
        "{} 中有 ONNX Runtime 代码库之外的文件，安装会替换它们；什么也没有安装：请移走",
        "{} holds other things than a library of ONNX Runtime, and would be replaced; nothing was installed: move it away",
        folder.display()
    );
    let new = beside(folder, NEW)?;
    let parent = disk::folder_of(folder);
    let entries =
        std::fs::read_dir(parent).with_context(|| message!("无法列出 {}", "cannot list {}", parent.display()))?;
    for entry in entries.flatten() {
        let left = entry.file_name().to_string_lossy().starts_with(&new) || entry.path() == previous;
        if left && entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            let path = entry.path();
            std::fs::remove_dir_all(&path)
                .with_context(|| message!("无法删除 {}", "cannot remove {}", path.display()))?;
        }
    }
    Ok(())
}

/// Runs a command to its end, or until the work is cancelled; gives the last line of its standard error when it failed.
fn run(mut command: Command, ctx: &Ctx) -> Result<Option<Message>> {
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = match command.spawn() {
        Ok(child) => child,
        Err(error) => {
            let why = Message::of_error(&error.into());
            return Ok(Some(message!("无法启动：{why}", "cannot be started: {why}")));
        }
    };
    let mut stderr =
        child.stderr.take().context(Word("应有命令的错误流", "the error stream of a command was asked for"))?;
    let reader = std::thread::spawn(move || {
        let mut text = Vec::new();
        // The text is for a message only.
        let _ = stderr.read_to_end(&mut text);
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
        std::thread::sleep(LOOK_EVERY);
    };
    let text = reader.join().unwrap_or_default();
    let last = text.lines().rev().map(str::trim).find(|line| !line.is_empty());
    let last_line = || last.map_or(Word("没有输出", "it said nothing").into(), Message::same);
    Ok((!status.success()).then(last_line))
}

/// Puts the new folder in the place of the old one, which is removed afterwards.
fn put(target: tempfile::TempDir, folder: &Path) -> Result<()> {
    if !folder.exists() {
        return rename(&target.keep(), folder);
    }
    // After the exchange `target` holds the old content, and removes it.
    if disk::exchange(target.path(), folder)? { Ok(()) } else { put_in_two_steps(target, folder) }
}

/// The same where the file system has no exchange: a kill between the two steps leaves the old content beside its place, and
/// [`clear`] puts it back.
fn put_in_two_steps(target: tempfile::TempDir, folder: &Path) -> Result<()> {
    let previous = folder.with_file_name(beside(folder, PREVIOUS)?);
    rename(folder, &previous)?;
    rename(&target.keep(), folder)?;
    std::fs::remove_dir_all(&previous).with_context(|| message!("无法删除 {}", "cannot remove {}", previous.display()))
}

fn rename(from: &Path, to: &Path) -> Result<()> {
    std::fs::rename(from, to)
        .with_context(|| message!("无法把 {} 改名为 {}", "cannot rename {} to {}", from.display(), to.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_that_fails_is_quoted_and_one_that_is_missing_told() {
        let ctx = Ctx::new(1, 1).unwrap();
        let mut failing = Command::new("sh");
        failing.args(["-c", "echo first >&2; echo no such package >&2; exit 3"]);
        assert_eq!(run(failing, &ctx).unwrap().as_deref(), Some("no such package"));
        let missing = run(Command::new("no-such-program"), &ctx).unwrap().unwrap();
        assert!(missing.contains("cannot be started"), "{missing}");
        let mut endless = Command::new("sleep");
        endless.arg("60");
        ctx.cancel();
        assert!(run(endless, &ctx).unwrap_err().is::<inkstone_base::job::Cancelled>());
    }

    #[test]
    fn every_wheel_is_of_a_fixed_version_and_hash() {
        for (wheels, package) in [(WHEELS, "onnxruntime"), (WHEELS_CUDA, "onnxruntime-gpu")] {
            assert!(wheels.contains(&format!("\n{package}=={PACKAGE_VERSION} ")), "{wheels}");
            for line in wheels.replace("\\\n", " ").lines().filter(|line| !line.starts_with('#')) {
                let mut words = line.split_whitespace();
                assert!(words.next().is_some_and(|word| word.split_once("==").is_some()), "{line}");
                let hashes: Vec<&str> = words.map(|word| word.strip_prefix("--hash=sha256:").expect(line)).collect();
                assert!(!hashes.is_empty() && hashes.iter().all(|hash| hash.len() == 64), "{line}");
            }
        }
    }

    /// A folder that holds a library and a mark.
    fn installed(folder: &Path, mark: &str) {
        let capi = folder.join("onnxruntime/capi");
        std::fs::create_dir_all(&capi).unwrap();
        std::fs::write(capi.join("libonnxruntime.so.1.31.1"), mark).unwrap();
    }

    fn mark(folder: &Path) -> String {
        std::fs::read_to_string(within(folder).unwrap()).unwrap()
    }

    fn target(parent: &Path, mark: &str) -> tempfile::TempDir {
        let target = tempfile::Builder::new().prefix(".runtime.new-").tempdir_in(parent).unwrap();
        installed(target.path(), mark);
        target
    }

    #[test]
    fn the_new_folder_takes_the_place_of_the_old() {
        let parent = tempfile::tempdir().unwrap();
        let folder = parent.path().join("runtime");
        for mark in ["one", "two"] {
            put(target(parent.path(), mark), &folder).unwrap();
            assert_eq!(self::mark(&folder), mark);
        }
        put_in_two_steps(target(parent.path(), "three"), &folder).unwrap();
        assert_eq!(mark(&folder), "three");
        assert_eq!(std::fs::read_dir(parent.path()).unwrap().count(), 1);
    }

    #[test]
    fn what_killed_installations_left_goes_and_nothing_else() {
        let parent = tempfile::tempdir().unwrap();
        let (folder, at) = (parent.path().join("runtime"), |name: &str| parent.path().join(name));
        // Killed between the two steps: the old one is put back.
        installed(&at(".runtime.previous"), "old");
        installed(&at(".runtime.new-a1b2c3"), "half");
        for other in ["runtime.new-mine", ".runtime.newer", ".other.new-x"] {
            std::fs::create_dir(at(other)).unwrap();
        }
        std::fs::write(at(".runtime.new-file"), "a file is none of ours").unwrap();
        clear(&folder).unwrap();
        assert_eq!(mark(&folder), "old");
        assert!(!at(".runtime.previous").exists() && !at(".runtime.new-a1b2c3").exists());
        assert_eq!(std::fs::read_dir(parent.path()).unwrap().count(), 5);
        // Killed after them: the old one goes.
        installed(&at(".runtime.previous"), "older");
        clear(&folder).unwrap();
        assert!(mark(&folder) == "old" && !at(".runtime.previous").exists());
    }

    #[test]
    fn a_folder_of_other_things_is_not_replaced() {
        let parent = tempfile::tempdir().unwrap();
        let folder = parent.path().join("runtime");
        std::fs::create_dir(&folder).unwrap();
        clear(&folder).unwrap();
        std::fs::write(folder.join("mine.txt"), "mine").unwrap();
        let error = install(&folder, false, &Ctx::new(1, 1).unwrap()).unwrap_err().to_string();
        assert!(error.contains("runtime holds other things") && error.contains("move it away"), "{error}");
        assert!(folder.join("mine.txt").exists());
    }
}
