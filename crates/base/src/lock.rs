//! Locks of a project: files that their holders keep locked and write their names into.
//!
//! `Project::lock` is held while artefacts are written: by a batch for as long as it runs, by a workbench only while one of its
//! jobs runs. An idle workbench therefore keeps no batch from its work. `Project::desk_lock` is held by the first
//! workbench on a project for as long as it is open: that one starts jobs and remembers its session, others only read.
//!
//! The system releases a lock when its holder ends in any way, so the lock of a dead process is free. The
//! feature store and the ledger have such locks as well, held for as long as they are open.
//!
//! A file can be removed while it is locked, and the next process then locks another file of the same name. So a lock counts only if its
//! file is still the one under its name, and the holder of a lock named `lock` has locked its folder as well.

use std::fs::{File, TryLockError};
use std::io::{ErrorKind, Read, Seek, Write};
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Error, Result};
use chrono::{DateTime, Local, SecondsFormat};
use serde::{Deserialize, Serialize};

use crate::disk;
use crate::language::Word;
use crate::{bail, message};

/// Bytes of a lock's file that are read; this program writes fewer.
const MOST: u64 = 4096;

/// Characters of each text of a holder that are shown.
const LONGEST: usize = 80;

/// Time for which another process may hold a lock while it looks whether the lock is free.
const MOMENT: Duration = Duration::from_millis(200);

/// Time between two tries to take a lock.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// The process that holds a lock.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Holder {
    /// Process id; 0 if unknown.
    pub pid: u32,
    pub host: String,
    /// Time at which it took the lock, RFC 3339; empty if unknown.
    pub since: String,
    /// Name of its command or job.
    pub work: String,
}

impl Holder {
    /// This process, which takes a lock now.
    fn here(work: &str) -> Holder {
        Holder {
            pid: std::process::id(),
            host: host(),
            since: Local::now().to_rfc3339_opts(SecondsFormat::Secs, false),
            work: work.to_owned(),
        }
    }

    /// Local time at which it took the lock, with the date unless that is today; empty if unknown.
    pub fn since_when(&self) -> String {
        let Ok(since) = DateTime::parse_from_rfc3339(&self.since) else { return String::new() };
        let since = since.with_timezone(&Local);
        let form = if since.date_naive() == Local::now().date_naive() { "%H:%M" } else { "%Y-%m-%d %H:%M" };
        since.format(form).to_string()
    }

    /// The process in words: `process 4242 on this-host, since 10:31`.
    pub fn in_words(&self) -> String {
        let mut words = if self.pid == 0 {
            Word("进程未知", "process unknown").to_string()
        } else {
            format!("{} {}", Word("进程", "process"), self.pid)
        };
        if !self.host.is_empty() {
            words += &format!("{}{}", Word("，位于 ", " on "), self.host);
        }
        let since = self.since_when();
        if !since.is_empty() {
            words += &format!("{}{since}", Word("，始于 ", ", since "));
        }
        words
    }
}

/// A lock that is held until this is dropped.
#[derive(Debug)]
pub struct Lock {
    /// The folder. It is unlocked before the file, so that the next holder of the file finds it free.
    _folder: Option<File>,
    /// Closing the file unlocks it.
    _file: File,
}

/// Outcome of a try to take a lock.
#[derive(Debug)]
pub enum Attempt {
    /// This process holds the lock.
    Ours(Lock),
    /// Another process holds the lock.
    Theirs(Holder),
}

/// Name of a lock that also locks its folder.
const OF_THE_FOLDER: &str = "lock";

/// Takes a lock if it is free, and never waits for it. Fails where the file cannot be made.
pub fn take(path: &Path, work: &str) -> Result<Attempt> {
    let cannot = || message!("无法锁定 {}", "cannot lock {}", path.display());
    let folder = disk::folder_of(path);
    disk::make_dir(folder)?;
    // The folder is opened before the file: a process that ends releases them in that order. Some systems lock no folders; there the lock
    // of the file has to do.
    let is_folders = path.file_name().is_some_and(|name| name == OF_THE_FOLDER);
    let around = File::open(folder).ok().filter(|_| is_folders);
    let mut file = loop {
        let file = disk::open_plain(File::options().create(true).truncate(false).read(true).write(true), path)
            .with_context(|| {
                message!(
                    "{}（如果它不是本程序的文件，请移除）",
                    "{} (if it is no file of this program, remove it)",
                    cannot()
                )
            })?;
        match file.try_lock() {
            Ok(()) if disk::is_at(&file, path) => break file,
            // Somebody removed it since it was opened.
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Ok(Attempt::Theirs(written_in(&file))),
            Err(TryLockError::Error(error)) => return Err(without_locks(error, path)),
        }
    };
    if matches!(around.as_ref().map(File::try_lock), Some(Err(TryLockError::WouldBlock))) {
        // Another holds a lock whose file was removed.
        return Ok(Attempt::Theirs(Holder::default()));
    }
    // The text is only for messages of other processes, so a failure to write it is no failure of the lock.
    let holder = serde_json::to_string(&Holder::here(work)).unwrap_or_default();
    let _ = file.set_len(0).and_then(|()| file.rewind()).and_then(|()| writeln!(file, "{holder}"));
    Ok(Attempt::Ours(Lock { _folder: around, _file: file }))
}

/// The error of a file that cannot be locked, with the way out where its file system has no locks.
fn without_locks(error: std::io::Error, path: &Path) -> Error {
    #[cfg(unix)]
    let no_room = error.raw_os_error() == Some(rustix::io::Errno::NOLCK.raw_os_error());
    #[cfg(not(unix))]
    let no_room = false;
    let remedy = match no_room || error.kind() == ErrorKind::Unsupported {
        true => Word(
            "：其文件系统不支持锁，两个运行可能同时写入（是网络磁盘或容器的磁盘吗？）。请把该文件夹移到本地磁盘，或以支持锁的方式挂载",
            ": its file system keeps no locks, without which two runs could write at once (a network disk, or one of a container?). Move that folder to a local disk, or mount its disk with locks",
        ),
        false => Word("", ""),
    };
    Error::new(error).context(message!("无法锁定 {}{remedy}", "cannot lock {}{remedy}", path.display()))
}

/// Keeps writers out, but no readers, until the file that it returns is dropped. Fails with the holder where somebody writes for longer than
/// `patience`. Writes nothing: a lock file that is absent or unreadable keeps nobody out.
pub fn reading(path: &Path, patience: Duration) -> Result<Option<File>, Holder> {
    let Ok(file) = disk::open_plain(File::options().read(true), path) else { return Ok(None) };
    let began = Instant::now();
    loop {
        match file.try_lock_shared() {
            Err(TryLockError::WouldBlock) if began.elapsed() < patience => std::thread::sleep(LOOK_EVERY),
            Err(TryLockError::WouldBlock) => return Err(written_in(&file)),
            Err(TryLockError::Error(_)) => return Ok(None),
            Ok(()) => return Ok(Some(file)),
        }
    }
}

/// Takes a lock, and waits at most `patience` until another process has released it.
pub fn take_within(path: &Path, work: &str, patience: Duration) -> Result<Attempt> {
    let began = Instant::now();
    loop {
        match take(path, work)? {
            Attempt::Theirs(_) if began.elapsed() < patience => std::thread::sleep(LOOK_EVERY),
            taken => return Ok(taken),
        }
    }
}

/// Takes the lock of those who write what `name` names. Fails where another run holds the lock for more than a moment, and says which run
/// that is.
pub fn writing(path: &Path, name: &str, work: &str) -> Result<Lock> {
    // A workbench only looks whether it is free.
    match take_within(path, work, MOMENT)? {
        Attempt::Ours(lock) => Ok(lock),
        Attempt::Theirs(holder) => bail!(
            "{name} 正由另一个运行写入（{}{}）；请等它结束，或停止它",
            "{name} is being written by another run ({}{}); wait until it has ended, or stop it",
            if holder.work.is_empty() { String::new() } else { format!("{}, ", holder.work) },
            holder.in_words()
        ),
    }
}

/// The holder that a lock's file names; unknown where the system lets nobody read a locked file.
fn written_in(file: &File) -> Holder {
    let mut text = String::new();
    let _ = file.take(MOST).read_to_string(&mut text);
    let mut holder: Holder = serde_json::from_str(&text).unwrap_or_default();
    // It is shown on terminals, and anybody may have written it.
    for text in [&mut holder.host, &mut holder.since, &mut holder.work] {
        *text = text.chars().filter(|c| !c.is_control()).take(LONGEST).collect();
    }
    holder
}

fn host() -> String {
    let named = |path| std::fs::read_to_string(path).ok().map(|name| name.trim().to_owned());
    let variable = |name| std::env::var(name).ok();
    let names =
        [named("/proc/sys/kernel/hostname"), named("/etc/hostname"), variable("COMPUTERNAME"), variable("HOSTNAME")];
    names.into_iter().flatten().find(|name| !name.is_empty()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write_to(project: &Path, work: &str) -> Result<Lock> {
        writing(&project.join("lock"), &format!("the project {}", project.display()), work)
    }

    #[test]
    fn a_lock_is_held_by_one_and_says_by_whom() {
        let dir = tempfile::tempdir().unwrap();
        let project = dir.path().join("not/yet");
        let held = write_to(&project, "run").unwrap();
        let refused = write_to(&project, "experiment").unwrap_err().to_string();
        let process = format!("(run, process {}", std::process::id());
        assert!(
            refused.contains(&process) && refused.contains("since ") && refused.contains("wait until"),
            "{refused}"
        );
        drop(held);
        write_to(&project, "experiment").unwrap();
    }

    #[test]
    fn what_a_dead_process_has_left_is_taken() {
        let dir = tempfile::tempdir().unwrap();
        let project = dir.path().to_owned();
        std::fs::write(project.join("lock"), r#"{"pid":4242,"host":"elsewhere","since":"2026-03-01T10:31:00+08:00"}"#)
            .unwrap();
        let held = take(&project.join("lock"), "run").unwrap();
        assert!(matches!(held, Attempt::Ours(_)), "{held:?}");
        let Attempt::Theirs(holder) = take(&project.join("lock"), "run").unwrap() else { panic!("two hold it") };
        assert_eq!((holder.pid, holder.work.as_str()), (std::process::id(), "run"));
    }

    #[test]
    fn what_a_holder_says_gives_no_orders_to_a_terminal() {
        let dir = tempfile::tempdir().unwrap();
        let project = dir.path().to_owned();
        let mut file = File::create(project.join("lock")).unwrap();
        file.lock().unwrap();
        let work = format!("\\u001b]0;owned\\u0007run{}", "!".repeat(1000));
        write!(file, r#"{{"pid":1,"host":"a\u001b[2Jb","work":"{work}"}}"#).unwrap();
        let refused = write_to(&project, "run").unwrap_err().to_string();
        assert!(refused.contains("]0;ownedrun!!") && refused.contains("on a[2Jb"), "{refused}");
        assert!(!refused.chars().any(char::is_control) && refused.len() < 500, "{refused}");
    }

    #[test]
    fn a_folder_in_the_place_of_a_lock_is_named_with_the_way_out() {
        let dir = tempfile::tempdir().unwrap();
        let project = dir.path().to_owned();
        std::fs::create_dir(project.join("lock")).unwrap();
        let refused = format!("{:#}", write_to(&project, "run").unwrap_err());
        assert!(
            refused.contains(&project.join("lock").display().to_string()) && refused.contains("remove it"),
            "{refused}"
        );
    }

    #[cfg(unix)]
    #[test]
    fn a_lock_whose_file_was_removed_is_still_held() {
        let dir = tempfile::tempdir().unwrap();
        let project = dir.path().to_owned();
        let held = write_to(&project, "run").unwrap();
        std::fs::remove_file(project.join("lock")).unwrap();
        let refused = write_to(&project, "experiment").unwrap_err().to_string();
        assert!(refused.contains("is being written by another run"), "{refused}");
        // The workbench's own lock lies in the same folder, and is another.
        assert!(matches!(take(&project.join("desk.lock"), "workbench").unwrap(), Attempt::Ours(_)));
        drop(held);
        write_to(&project, "experiment").unwrap();
    }

    #[cfg(unix)]
    #[test]
    fn a_link_in_the_place_of_a_lock_is_not_followed() {
        let dir = tempfile::tempdir().unwrap();
        let project = dir.path().join("project");
        let theirs = dir.path().join("thesis.txt");
        std::fs::write(&theirs, "years of work").unwrap();
        std::fs::create_dir(&project).unwrap();
        std::os::unix::fs::symlink(&theirs, project.join("lock")).unwrap();
        let refused = format!("{:#}", write_to(&project, "run").unwrap_err());
        assert!(refused.contains("remove it"), "{refused}");
        assert_eq!(std::fs::read(&theirs).unwrap(), b"years of work");
        std::fs::remove_file(project.join("lock")).unwrap();
        rustix::fs::mkfifoat(rustix::fs::CWD, project.join("lock"), 0o600.into()).unwrap();
        let refused = format!("{:#}", write_to(&project, "run").unwrap_err());
        assert!(refused.contains("it is no file"), "{refused}");
    }

    #[cfg(unix)]
    #[test]
    fn a_file_system_without_locks_is_told_with_the_way_out() {
        use rustix::io::Errno;
        for errno in [Errno::NOLCK, Errno::NOSYS, Errno::OPNOTSUPP] {
            let error = std::io::Error::from_raw_os_error(errno.raw_os_error());
            let text = format!("{:#}", without_locks(error, Path::new("desk/.inkstone/lock")));
            for part in
                ["cannot lock desk/.inkstone/lock: its file system keeps no locks", "to a local disk", "(os error"]
            {
                assert!(text.contains(part), "{text}");
            }
        }
        let other = without_locks(std::io::Error::from_raw_os_error(Errno::IO.raw_os_error()), Path::new("lock"));
        assert!(!format!("{other:#}").contains("keeps no locks"), "{other:#}");
    }

    #[test]
    fn readers_share_what_a_writer_has_alone_and_leave_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("lock");
        assert!(reading(&path, MOMENT).unwrap().is_none() && !path.exists());
        let written = take(&path, "run").unwrap();
        assert_eq!(reading(&path, MOMENT).unwrap_err().work, "run");
        drop(written);
        let readers = [(); 2].map(|()| reading(&path, MOMENT).unwrap().unwrap());
        assert!(matches!(take(&path, "run").unwrap(), Attempt::Theirs(_)));
        drop(readers);
        assert!(matches!(take(&path, "run").unwrap(), Attempt::Ours(_)));
    }

    #[test]
    fn a_lock_of_unknown_content_has_an_unknown_holder() {
        let dir = tempfile::tempdir().unwrap();
        let project = dir.path().to_owned();
        let mut file = File::create(project.join("lock")).unwrap();
        file.lock().unwrap();
        file.write_all("\u{1b}[31m 砚".as_bytes()).unwrap();
        let refused = write_to(&project, "run").unwrap_err().to_string();
        assert!(refused.contains("another run (process unknown)"), "{refused}");
    }
}
