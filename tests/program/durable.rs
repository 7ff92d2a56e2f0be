//! Files keep what the user gave them: permissions, and ledgers that are only read. A machine that lacks something while a ledger is
//! opened, and a disk without locks, are named with the way out.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use crate::desk::Desk;
use crate::faults::{ran_under, under};
use crate::{Ran, assert_same_files, assert_says, copy_folder, files_below, run};

/// A folder with the ledger of a small project, `theirs`.
fn with_ledger() -> tempfile::TempDir {
    let desk = Desk::new();
    desk.run().finished();
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("theirs")).unwrap();
    copy_folder(&desk.folder().join(".inkstone/ledger"), &folder.path().join("theirs"));
    folder
}

#[test]
fn whoever_reads_a_ledger_leaves_its_folder_as_it_is() {
    let folder = with_ledger();
    let (theirs, temporary) = (folder.path().join("theirs"), folder.path().join("temporary"));
    fs::create_dir(&temporary).unwrap();
    for name in [".tmp-mine", ".tmp-abcdef", "notes/.tmp-abcdef", "notes/thesis.txt"] {
        fs::create_dir_all(theirs.join("notes")).unwrap();
        fs::write(theirs.join(name), "mine").unwrap();
    }
    fs::remove_file(theirs.join("lock")).unwrap();
    let before = files_below(&theirs);
    let read = |dir: &str, args: &[&str]| {
        let args = [&["ledger", "--ledger", dir], args].concat();
        let ran = Ran::of(under("export TMPDIR=$PWD/temporary", folder.path(), &args).output().unwrap());
        assert_eq!(fs::read_dir(&temporary).unwrap().count(), 0, "{args:?} leaves temporary files");
        ran
    };
    for args in [&["list"][..], &["show", "1"], &["verify"]] {
        let json = read("theirs", args).finished();
        assert_eq!(json["problems"], serde_json::json!([]), "{json:#}");
        assert_same_files(&before, &files_below(&theirs));
    }
    // A folder that holds no ledger is no place to begin one.
    for args in [&["list"][..], &["delete", "1", "--reason", "x"]] {
        let error = read("theirs/notes", args).refusal();
        assert_says(&error, &["there is no ledger in theirs/notes", "another folder with --ledger"]);
    }
    assert_same_files(&before, &files_below(&theirs));
}

#[test]
fn a_ledger_stays_in_its_place_however_few_files_the_system_opens() {
    let folder = with_ledger();
    let theirs = folder.path().join("theirs");
    // Half of the copy is lost: what it had is in the database alone.
    let copy = fs::read(theirs.join("copy")).unwrap();
    fs::write(theirs.join("copy"), &copy[..copy.len() / 2]).unwrap();
    let delete = ["ledger", "--ledger", "theirs", "delete", "99", "--reason", "x"];
    let mut refused = 0;
    for files in 4..24 {
        let ran = ran_under(&format!("ulimit -n {files}"), folder.path(), &delete);
        assert_ne!(ran.code, Some(0), "there is no entry 99");
        refused += usize::from(ran.stderr.contains("Too many open files") && ran.stderr.contains("ulimit -n 1024"));
        let names = fs::read_dir(&theirs).unwrap().map(|entry| entry.unwrap().file_name());
        let aside: Vec<_> = names.filter(|name| name.to_string_lossy().contains("damaged")).collect();
        assert!(aside.is_empty(), "{aside:?} with {files} files: {}", ran.stderr);
    }
    assert!(refused > 0, "no limit was too small");
    let json = run(folder.path(), &["ledger", "--ledger", "theirs"]).finished();
    assert_eq!(json["problems"], serde_json::json!([]), "{json:#}");
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[test]
fn files_get_no_more_permissions_than_the_user_gives() {
    let desk = Desk::new();
    let ran = ran_under("umask 077", desk.folder(), &["run", "--headless"]);
    ran.finished();
    let below = |part: &str| walkdir::WalkDir::new(desk.folder().join(part)).into_iter().map(Result::unwrap);
    let files: Vec<_> = [".inkstone", "exports"].iter().flat_map(|part| below(part)).collect();
    let open: Vec<_> = files.iter().filter(|e| e.file_type().is_file() && mode(e.path()) & 0o077 != 0).collect();
    assert!(files.len() > 20 && open.is_empty(), "others may read {open:?}");

    for (umask, expected) in [("077", 0o600), ("007", 0o660), ("022", 0o644)] {
        let folder = tempfile::tempdir().unwrap();
        let ran = ran_under(&format!("umask {umask}"), folder.path(), &["init"]);
        assert_eq!((ran.code, mode(&folder.path().join("workbench.toml"))), (Some(0), expected), "{}", ran.stderr);
    }
}

#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
mod without_locks {
    use std::os::unix::process::CommandExt;
    use std::process::{Command, Stdio};
    use std::{env, path::Path};

    use seccompiler::{BpfProgram, SeccompAction, SeccompFilter, apply_filter};

    use super::*;
    use crate::inkstone;

    const FOLDER: &str = "INKSTONE_TEST_WITHOUT_LOCKS";
    const ERROR: &str = "INKSTONE_TEST_ERROR";
    /// This test, as the harness knows it.
    const NAME: &str = "durable::without_locks::a_disk_without_locks_is_named_with_the_way_out";

    /// The system answers whoever asks for a lock with this error from now on.
    fn refuse_locks(error: u32) {
        let arch = env::consts::ARCH.try_into().unwrap();
        let calls = [(libc::SYS_flock, vec![])].into();
        let filter = SeccompFilter::new(calls, SeccompAction::Allow, SeccompAction::Errno(error), arch).unwrap();
        let filter: BpfProgram = filter.try_into().unwrap();
        apply_filter(&filter).unwrap();
    }

    #[test]
    fn a_disk_without_locks_is_named_with_the_way_out() {
        if let Ok(folder) = env::var(FOLDER) {
            let mut program = inkstone(Path::new(&folder), &["run", "--headless"]);
            refuse_locks(env::var(ERROR).unwrap().parse().unwrap());
            // Returns only when the program could not be started.
            panic!("{}", program.exec());
        }
        let desk = Desk::new();
        for error in [libc::ENOLCK, libc::ENOSYS, libc::EOPNOTSUPP] {
            let mut test = Command::new(env::current_exe().unwrap());
            test.args(["--exact", NAME, "--nocapture"]).env(FOLDER, desk.folder()).env(ERROR, error.to_string());
            let ran = Ran::of(test.stdin(Stdio::null()).output().unwrap());
            assert_eq!(ran.code, Some(2), "{}\n{}", ran.text(), ran.stderr);
            let words = [
                "cannot lock ",
                "lock: its file system keeps no locks",
                "to a local disk, or mount its disk with locks",
            ];
            assert_says(&ran.stderr, &words);
        }
    }
}
