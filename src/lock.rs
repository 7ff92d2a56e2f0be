//! Who works on a project: two advisory locks, each a file that its holder keeps locked and writes its name into.
//!
//! [`Project::lock`] is held while somebody writes artefacts: by a batch for as long as it runs, by a workbench only while one of its
//! jobs does. A workbench that is only looked at therefore keeps no batch from its work. [`Project::desk_lock`] is held by the first
//! workbench on a project for as long as it is open: that one starts jobs and remembers its session, others only read.
//!
//! The system lets go of a lock when its holder ends, however that came about, so what a dead process has left is simply taken. The
//! feature store and the ledger have locks of this kind besides, held for as long as they are open.

use std::fs::{File, TryLockError};
use std::io::{Read, Seek, Write};
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use chrono::{DateTime, Local, SecondsFormat};
use serde::{Deserialize, Serialize};

use crate::disk;
use crate::project::Project;

/// Bytes of a lock's file that are read: what is longer was not written by this program.
const MOST: u64 = 4096;

/// Characters of each thing that a holder says of itself.
const LONGEST: usize = 80;

/// How long another may hold a lock that is only looked at.
const MOMENT: Duration = Duration::from_millis(200);

/// Time between two looks at whether another has let go of a lock.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// Who holds a lock.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Holder {
    /// Number of the process; 0 where it is not known.
    pub pid: u32,
    /// Name of the machine, which on a shared disk may be another one.
    pub host: String,
    /// When it took the lock, as RFC 3339; empty where that is not known.
    pub since: String,
    /// What it does: the name of a command or of a job.
    pub work: String,
}

impl Holder {
    /// This process, from now on.
    fn here(work: &str) -> Holder {
        Holder {
            pid: std::process::id(),
            host: host(),
            since: Local::now().to_rfc3339_opts(SecondsFormat::Secs, false),
            work: work.to_owned(),
        }
    }

    /// When it took the lock, on the clock of here: the time of today, else date and time. Empty where that is not known.
    pub fn since_when(&self) -> String {
        let Ok(since) = DateTime::parse_from_rfc3339(&self.since) else { return String::new() };
        let since = since.with_timezone(&Local);
        let form = if since.date_naive() == Local::now().date_naive() { "%H:%M" } else { "%Y-%m-%d %H:%M" };
        since.format(form).to_string()
    }

    /// The process in words: `process 4242 on this-host, since 10:31`.
    pub(crate) fn in_words(&self) -> String {
        let mut words = if self.pid == 0 { "process unknown".to_owned() } else { format!("process {}", self.pid) };
        if !self.host.is_empty() {
            words += &format!(" on {}", self.host);
        }
        let since = self.since_when();
        if !since.is_empty() {
            words += &format!(", since {since}");
        }
        words
    }
}

/// A lock that is held until this is dropped.
#[derive(Debug)]
pub struct Lock {
    /// Closing it lets go of the lock.
    _file: File,
}

/// Whether a lock was to be had.
#[derive(Debug)]
pub enum Taken {
    /// It is held from now on.
    Ours(Lock),
    /// Somebody else holds it.
    Theirs(Holder),
}

/// Takes a lock if it is free, and never waits for it. Fails where the file cannot be made.
pub fn take(path: &Path, work: &str) -> Result<Taken> {
    let cannot = || format!("cannot lock {}", path.display());
    if let Some(folder) = path.parent() {
        disk::make_dir(folder)?;
    }
    let options = File::options().create(true).truncate(false).read(true).write(true).open(path);
    let mut file = options.with_context(|| format!("{} (if it is no file of this program, remove it)", cannot()))?;
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => return Ok(Taken::Theirs(written_in(&file))),
        Err(TryLockError::Error(error)) => return Err(error).with_context(cannot),
    }
    // What is written is only for the messages of others, so a failure to write it is none of the lock.
    let holder = serde_json::to_string(&Holder::here(work)).unwrap_or_default();
    let _ = file.set_len(0).and_then(|()| file.rewind()).and_then(|()| writeln!(file, "{holder}"));
    Ok(Taken::Ours(Lock { _file: file }))
}

/// The same, but another who holds it has some time to let go of it.
pub fn take_within(path: &Path, work: &str, patience: Duration) -> Result<Taken> {
    let began = Instant::now();
    loop {
        match take(path, work)? {
            Taken::Theirs(_) if began.elapsed() < patience => std::thread::sleep(LOOK_EVERY),
            taken => return Ok(taken),
        }
    }
}

/// Takes the lock of those who write artefacts. Fails where another holds it for more than a moment, and says who.
pub fn writing(project: &Project, work: &str) -> Result<Lock> {
    // A workbench only looks whether it is free.
    match take_within(&project.lock(), work, MOMENT)? {
        Taken::Ours(lock) => Ok(lock),
        Taken::Theirs(holder) => bail!(
            "the project {} is being written by another run ({}{}); wait until it has ended, or stop it",
            project.dir().display(),
            if holder.work.is_empty() { String::new() } else { format!("{}, ", holder.work) },
            holder.in_words()
        ),
    }
}

/// What the holder of a lock says of itself; nothing where the system lets nobody read a locked file.
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

    #[test]
    fn a_lock_is_held_by_one_and_says_by_whom() {
        let dir = tempfile::tempdir().unwrap();
        let project = Project::new(dir.path().join("not/yet"));
        let held = writing(&project, "run").unwrap();
        let refused = writing(&project, "experiment").unwrap_err().to_string();
        let process = format!("(run, process {}", std::process::id());
        assert!(
            refused.contains(&process) && refused.contains("since ") && refused.contains("wait until"),
            "{refused}"
        );
        drop(held);
        writing(&project, "experiment").unwrap();
    }

    #[test]
    fn what_a_dead_process_has_left_is_taken() {
        let dir = tempfile::tempdir().unwrap();
        let project = Project::new(dir.path());
        std::fs::write(project.lock(), r#"{"pid":4242,"host":"elsewhere","since":"2026-03-01T10:31:00+08:00"}"#)
            .unwrap();
        let held = take(&project.lock(), "run").unwrap();
        assert!(matches!(held, Taken::Ours(_)), "{held:?}");
        let Taken::Theirs(holder) = take(&project.lock(), "run").unwrap() else { panic!("two hold it") };
        assert_eq!((holder.pid, holder.work.as_str()), (std::process::id(), "run"));
    }

    #[test]
    fn what_a_holder_says_gives_no_orders_to_a_terminal() {
        let dir = tempfile::tempdir().unwrap();
        let project = Project::new(dir.path());
        let mut file = File::create(project.lock()).unwrap();
        file.lock().unwrap();
        let work = format!("\\u001b]0;owned\\u0007run{}", "!".repeat(1000));
        write!(file, r#"{{"pid":1,"host":"a\u001b[2Jb","work":"{work}"}}"#).unwrap();
        let refused = writing(&project, "run").unwrap_err().to_string();
        assert!(refused.contains("]0;ownedrun!!") && refused.contains("on a[2Jb"), "{refused}");
        assert!(!refused.chars().any(char::is_control) && refused.len() < 500, "{refused}");
    }

    #[test]
    fn a_folder_in_the_place_of_a_lock_is_named_with_the_way_out() {
        let dir = tempfile::tempdir().unwrap();
        let project = Project::new(dir.path());
        std::fs::create_dir(project.lock()).unwrap();
        let refused = format!("{:#}", writing(&project, "run").unwrap_err());
        assert!(refused.contains(&project.lock().display().to_string()) && refused.contains("remove it"), "{refused}");
    }

    #[test]
    fn a_lock_of_unknown_content_has_an_unknown_holder() {
        let dir = tempfile::tempdir().unwrap();
        let project = Project::new(dir.path());
        let mut file = File::create(project.lock()).unwrap();
        file.lock().unwrap();
        file.write_all("\u{1b}[31m 砚".as_bytes()).unwrap();
        let refused = writing(&project, "run").unwrap_err().to_string();
        assert!(refused.contains("another run (process unknown)"), "{refused}");
    }
}
