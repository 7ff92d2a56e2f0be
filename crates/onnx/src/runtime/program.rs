//! Other programs that are asked or that install: found in absolute folders of `PATH` alone, and run where nobody puts files.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A command that runs the program of this name, without input; none where no absolute folder of `PATH` has it.
///
/// An empty or relative folder of `PATH` is the current one, which may be anybody's. The command runs in the root of the file system,
/// so that it takes no settings from the current folder either.
pub fn program(name: &str) -> Option<Command> {
    let file = on_path(name, std::env::var_os("PATH"))?;
    let mut command = Command::new(file);
    command.current_dir(Path::new("/")).stdin(Stdio::null());
    Some(command)
}

fn on_path(name: &str, path: Option<OsString>) -> Option<PathBuf> {
    let name = format!("{name}{}", std::env::consts::EXE_SUFFIX);
    std::env::split_paths(&path?)
        .filter(|folder| folder.is_absolute())
        .map(|folder| folder.join(&name))
        .find(|file| runs(file))
}

#[cfg(unix)]
fn runs(file: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;

    file.metadata().is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
}

#[cfg(not(unix))]
fn runs(file: &Path) -> bool {
    file.is_file()
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn only_absolute_folders_are_looked_into() {
        let found = on_path("sh", Some("/nowhere:/bin".into()));
        assert_eq!(found.as_deref(), Some(Path::new("/bin/sh")));
        // `src` and `` are folders of this crate, where the tests run.
        for path in ["", ":", "src", "./src:", "src/model/onnx/runtime"] {
            assert_eq!(on_path("lib.rs", Some(path.into())), None, "{path:?}");
        }
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("uv"), "no program").unwrap();
        assert_eq!(on_path("uv", Some(folder.path().into())), None, "a file that nobody may run");
        assert_eq!(on_path("sh", None), None);
    }
}
