//! The thread that writes what the workbench keeps of itself: its log and its session. The screen hands texts over and never waits.

use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result};

use inkstone_base::disk;
use inkstone_base::language::{Message, Word};
use inkstone_base::message;

/// Bytes of a log file; when it is full it takes the place of the one before it, so that the last half to one megabyte is kept.
pub(crate) const LOG_BYTES: u64 = 512 << 10;

/// The files of the log in its folder: the one before, and the one that is written.
pub(crate) const LOG_FILES: [&str; 2] = ["workbench.before.jsonl", "workbench.jsonl"];

/// A text for the thread that writes.
enum Writing {
    /// A line of the log, without its end.
    Line(String),
    /// The session in the place of the one before.
    Session(String),
}

/// A thread that writes log and session.
pub struct Scribe {
    sender: Sender<Writing>,
    ended: Receiver<()>,
    fault: Arc<Mutex<Option<Message>>>,
}

impl Scribe {
    /// A thread that writes the log into this folder and the session into this file.
    pub fn start(log: PathBuf, session: PathBuf) -> Result<Scribe> {
        let (sender, writings) = channel();
        let (end, ended) = channel();
        let fault = Arc::new(Mutex::new(None));
        let faults = fault.clone();
        thread::Builder::new()
            .name("scribe".to_owned())
            .spawn(move || {
                for writing in writings {
                    let result = match writing {
                        Writing::Line(line) => append(&log, &line),
                        Writing::Session(text) => replace(&session, &text),
                    };
                    if let Err(error) = result {
                        *faults.lock().unwrap_or_else(PoisonError::into_inner) = Some(Message::of_error(&error));
                    }
                }
                // Nobody listens any more when the workbench has lost its patience.
                let _ = end.send(());
            })
            .context(Word("无法启动写日志的线程", "cannot start a thread for the log"))?;
        Ok(Scribe { sender, ended, fault })
    }

    /// Adds a line to the log.
    pub fn line(&self, line: String) {
        // The thread ends only with this.
        let _ = self.sender.send(Writing::Line(line));
    }

    pub fn session(&self, text: String) {
        let _ = self.sender.send(Writing::Session(text));
    }

    /// The fault of a write since the last call.
    pub fn fault(&self) -> Option<Message> {
        self.fault.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Waits until all is written, at most so long.
    pub fn finish(self, patience: Duration) {
        let Scribe { sender, ended, .. } = self;
        drop(sender);
        let _ = ended.recv_timeout(patience);
    }
}

/// Adds a line to the log in this folder; one that was cut short by the end of a process is ended first.
fn append(folder: &Path, line: &str) -> Result<()> {
    disk::make_dir(folder)?;
    let [before, now] = LOG_FILES.map(|name| folder.join(name));
    let cannot = || message!("无法写入 {}", "cannot write {}", now.display());
    if fs::metadata(&now).is_ok_and(|there| there.len() + line.len() as u64 >= LOG_BYTES) {
        fs::rename(&now, &before).with_context(cannot)?;
    }
    let mut file = File::options().create(true).append(true).read(true).open(&now).with_context(cannot)?;
    let mut last = *b"\n";
    if file.seek(SeekFrom::End(-1)).is_ok() {
        file.read_exact(&mut last).with_context(cannot)?;
    }
    let gap = if last == *b"\n" { "" } else { "\n" };
    file.write_all(format!("{gap}{line}\n").as_bytes()).with_context(cannot)
}

/// Puts a text in the place of a file, whole or not at all. The name on the way is not one of those that a run sweeps away as leftovers.
fn replace(path: &Path, text: &str) -> Result<()> {
    let cannot = || message!("无法写入 {}", "cannot write {}", path.display());
    if let Some(folder) = path.parent() {
        disk::make_dir(folder)?;
    }
    let new = path.with_extension("json.new");
    let mut file = File::create(&new).with_context(cannot)?;
    file.write_all(text.as_bytes()).and_then(|()| file.sync_all()).with_context(cannot)?;
    drop(file);
    fs::rename(&new, path).with_context(cannot)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOON: Duration = Duration::from_secs(20);

    #[test]
    fn lines_are_added_also_after_one_that_was_cut_short() {
        let dir = tempfile::tempdir().unwrap();
        let log = dir.path().join("log");
        fs::create_dir(&log).unwrap();
        fs::write(log.join(LOG_FILES[1]), "{\"cut").unwrap();
        let scribe = Scribe::start(log.clone(), dir.path().join("session.json")).unwrap();
        scribe.line("一".to_owned());
        scribe.line("二".to_owned());
        scribe.session("{}".to_owned());
        assert_eq!(scribe.fault(), None);
        scribe.finish(SOON);
        assert_eq!(fs::read_to_string(log.join(LOG_FILES[1])).unwrap(), "{\"cut\n一\n二\n");
        assert_eq!(fs::read_to_string(dir.path().join("session.json")).unwrap(), "{}");
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 2, "nothing is left over");
    }

    #[test]
    fn the_log_takes_no_more_than_a_megabyte() {
        let dir = tempfile::tempdir().unwrap();
        let scribe = Scribe::start(dir.path().to_owned(), dir.path().join("session.json")).unwrap();
        let long = "研".repeat(20_000);
        for _ in 0..60 {
            scribe.line(long.clone());
        }
        scribe.finish(SOON);
        let sizes = LOG_FILES.map(|name| fs::metadata(dir.path().join(name)).unwrap().len());
        assert!(sizes.iter().all(|size| *size <= LOG_BYTES), "{sizes:?}");
        assert!(sizes[0] > LOG_BYTES / 2, "{sizes:?}");
    }

    #[test]
    fn a_folder_that_cannot_be_written_is_told_of() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("log"), "a file where the folder should be").unwrap();
        let scribe = Scribe::start(dir.path().join("log"), dir.path().join("session.json")).unwrap();
        scribe.line("一".to_owned());
        let fault = scribe.fault.clone();
        scribe.finish(SOON);
        assert!(fault.lock().unwrap().as_ref().unwrap().en.contains("cannot make the folder"));
    }
}
