//! A user whom permissions stop. Tests that run as root give up that right in the child that they start.

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tempfile::TempDir;

/// User and group of nobody, who owns no file of a test.
const NOBODY: u32 = 65534;

/// The program as it runs for a user who may not write what others own.
pub(crate) struct PlainUser {
    /// Holds the program where everybody may read it, and a home that is this user's own.
    place: TempDir,
    program: PathBuf,
    is_root: bool,
}

impl PlainUser {
    pub(crate) fn new() -> PlainUser {
        let place = tempfile::tempdir().unwrap();
        let home = place.path().join("home");
        fs::create_dir(&home).unwrap();
        // Whoever runs the test owns what the test makes.
        let is_root = fs::metadata(&home).unwrap().uid() == 0;
        if is_root {
            std::os::unix::fs::chown(&home, Some(NOBODY), Some(NOBODY)).unwrap();
        }
        fs::set_permissions(place.path(), Permissions::from_mode(0o755)).unwrap();
        let [program, library] = [Path::new(env!("CARGO_BIN_EXE_inkstone")), crate::library()].map(|file| {
            let lent = place.path().join(file.file_name().unwrap());
            if fs::hard_link(file, &lent).is_err() {
                fs::copy(file, &lent).unwrap();
            }
            lent
        });
        assert!(library.exists());
        PlainUser { place, program, is_root }
    }

    /// A folder that this user owns.
    pub(crate) fn home(&self) -> PathBuf {
        self.place.path().join("home")
    }

    /// The program in a folder, which must be one that everybody may read ([`show`]).
    pub(crate) fn inkstone(&self, folder: &Path, args: &[&str]) -> Command {
        let as_usual = crate::inkstone(folder, args);
        let mut command = Command::new(&self.program);
        command.current_dir(folder).args(args).stdin(Stdio::null());
        for (name, value) in as_usual.get_envs() {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        command.env("HOME", self.home());
        command.env("ORT_DYLIB_PATH", self.place.path().join(crate::library().file_name().unwrap()));
        if self.is_root {
            command.uid(NOBODY).gid(NOBODY);
        }
        command
    }
}

/// A tree of files that everybody may read and nobody but root may change, until this is dropped.
pub(crate) struct ReadOnly(PathBuf);

impl ReadOnly {
    pub(crate) fn new(folder: &Path) -> ReadOnly {
        set_modes(folder, 0o555, 0o444);
        ReadOnly(folder.to_owned())
    }
}

impl Drop for ReadOnly {
    fn drop(&mut self) {
        set_modes(&self.0, 0o755, 0o644);
    }
}

/// Lets everybody read a tree of files.
pub(crate) fn show(folder: &Path) {
    set_modes(folder, 0o755, 0o644);
}

fn set_modes(folder: &Path, folders: u32, files: u32) {
    for entry in walkdir::WalkDir::new(folder) {
        let entry = entry.unwrap();
        let mode = if entry.file_type().is_dir() { folders } else { files };
        fs::set_permissions(entry.path(), Permissions::from_mode(mode)).unwrap();
    }
}

#[test]
fn a_plain_user_may_not_write_what_is_read_only() {
    let user = PlainUser::new();
    let folder = tempfile::tempdir().unwrap();
    show(folder.path());
    let _read_only = ReadOnly::new(folder.path());
    let ran = crate::Ran::of(user.inkstone(folder.path(), &["init", "--headless"]).output().unwrap());
    crate::assert_says(&ran.refusal(), &["cannot write", "Permission denied"]);
}
