//! The right of this workbench to write: the first workbench on a project writes, the others read. [`inkstone_base::lock`] has the locks.

use crate::jobs::words;
use crate::width;
use inkstone_base::disk::NotOurs;
use inkstone_base::language::{Language, Message};
use inkstone_base::lock::{self, Attempt, Holder, Lock};
use inkstone_tables::project::Project;

/// The rights of this workbench on a project.
#[derive(Debug, Default)]
pub struct Instance {
    /// Held by the workbench that remembers its session; none where nobody asked for it.
    desk: Option<Lock>,
    /// The reason why it may not write.
    why: Option<Why>,
}

/// The reason why a workbench may not write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Why {
    /// Another workbench has the project open.
    Workbench(Holder),
    /// A run in another process writes the project.
    Run(Holder),
    /// The folder cannot be written, and this is what the system says of it.
    Folder(String),
    /// The folder is somebody else's: its path, and what it holds.
    NotOurs(String, Message),
}

impl From<anyhow::Error> for Why {
    fn from(error: anyhow::Error) -> Why {
        match error.downcast_ref::<NotOurs>() {
            Some(not_ours) => Why::NotOurs(not_ours.folder.display().to_string(), not_ours.saw()),
            None => Why::Folder(format!("{error:#}")),
        }
    }
}

impl Instance {
    pub fn on(project: &Project) -> Instance {
        let mut instance = Instance::default();
        instance.ask(project);
        instance
    }

    /// Asks once more; true when it may write. Never waits.
    pub fn ask(&mut self, project: &Project) -> bool {
        if self.desk.is_none() {
            match project.own().and_then(|()| lock::take(&project.desk_lock(), "workbench")) {
                Ok(Attempt::Ours(lock)) => self.desk = Some(lock),
                Ok(Attempt::Theirs(holder)) => {
                    self.why = Some(Why::Workbench(holder));
                    return false;
                }
                Err(error) => {
                    self.why = Some(error.into());
                    return false;
                }
            }
        }
        // Taken for a moment: jobs take it for themselves.
        self.why = match lock::take(&project.lock(), "workbench") {
            Ok(Attempt::Ours(_)) => None,
            Ok(Attempt::Theirs(holder)) => Some(Why::Run(holder)),
            Err(error) => Some(error.into()),
        };
        self.why.is_none()
    }

    /// True if session and log are its own to write.
    pub(crate) fn keeps_session(&self) -> bool {
        self.desk.is_some()
    }

    pub fn why(&self) -> Option<&Why> {
        self.why.as_ref()
    }

    /// Says whether another process has the project. A damaged folder does not keep its configuration from being changed.
    pub(crate) fn is_kept_out(&self) -> bool {
        matches!(self.why, Some(Why::Workbench(_) | Why::Run(_)))
    }

    /// An instance that may not write, for pictures.
    #[cfg(test)]
    pub(crate) fn posed(why: Why) -> Instance {
        Instance { desk: None, why: Some(why) }
    }
}

impl Why {
    /// In words, in at most so many cells; what there is no room for is left out from the end.
    pub fn within(&self, language: Language, cells: usize) -> Option<String> {
        let full = self.text(language);
        let short = match self {
            Why::Workbench(holder) | Why::Run(holder) if holder.pid > 0 => {
                format!("{}: pid {}", words::READ_ONLY.to(language), holder.pid)
            }
            _ => String::new(),
        };
        let texts = [full, short, words::READ_ONLY.to(language).to_owned()];
        texts.into_iter().find(|text| !text.is_empty() && width::width(text) <= cells)
    }

    /// In words: `只读: 另一实例 pid 4242 自 10:31`.
    pub fn text(&self, language: Language) -> String {
        let read_only = words::READ_ONLY.to(language);
        let (word, holder) = match self {
            Why::Workbench(holder) => (words::OTHER_INSTANCE, holder),
            Why::Run(holder) => (words::OTHER_RUN, holder),
            Why::Folder(_) => return format!("{read_only}: {}", words::CANNOT_WRITE.to(language)),
            Why::NotOurs(..) => return format!("{read_only}: {}", words::NOT_OURS.to(language)),
        };
        let mut text = format!("{read_only}: {}", word.to(language));
        if holder.pid > 0 {
            text += &format!(" pid {}", holder.pid);
        }
        let since = holder.since_when();
        if !since.is_empty() {
            text += &format!(" {} {since}", words::SINCE.to(language));
        }
        text
    }

    /// All that is known of it, with the way out.
    pub fn sentence(&self, language: Language) -> String {
        match self {
            Why::Folder(error) => format!("{} ({error})", self.text(language)),
            Why::NotOurs(folder, saw) => {
                format!("{} ({folder}: {saw}); {}", self.text(language), words::OUT_NOT_OURS.to(language))
            }
            Why::Workbench(holder) | Why::Run(holder) => {
                let host = if holder.host.is_empty() { String::new() } else { format!(" @ {}", holder.host) };
                format!("{}{host}; {}", self.text(language), words::TRY_AGAIN.to(language))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_writes_the_second_reads_until_the_first_is_gone() {
        let dir = tempfile::tempdir().unwrap();
        let project = Project::new(dir.path());
        let first = Instance::on(&project);
        assert!(first.why().is_none() && first.keeps_session());
        let mut second = Instance::on(&project);
        assert!(matches!(second.why(), Some(Why::Workbench(holder)) if holder.pid == std::process::id()));
        assert!(!second.keeps_session() && !second.ask(&project));
        drop(first);
        assert!(second.ask(&project) && second.keeps_session() && second.why().is_none());
    }

    #[test]
    fn a_workbench_that_is_looked_at_keeps_no_run_from_its_work_and_a_run_makes_it_read_only() {
        let dir = tempfile::tempdir().unwrap();
        let project = Project::new(dir.path());
        let mut desk = Instance::on(&project);
        let run = project.lock_for("run").unwrap();
        assert!(!desk.ask(&project));
        assert!(matches!(desk.why(), Some(Why::Run(holder)) if holder.work == "run"));
        assert!(desk.keeps_session(), "the session is its own all the same");
        drop(run);
        assert!(desk.ask(&project));
    }

    #[test]
    fn a_folder_of_others_is_only_read_and_named() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("thesis.docx"), "mine").unwrap();
        let instance = Instance::on(&Project::new(dir.path()));
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1, "no lock is made there");
        let why = instance.why().unwrap();
        assert!(!instance.is_kept_out() && !instance.keeps_session());
        assert_eq!(why.within(Language::Zh, 40).unwrap(), "只读: 文件夹不是砚创建的");
        let words = why.sentence(Language::En);
        assert!(words.contains("thesis.docx") && words.contains("[project] dir"), "{words}");
    }

    #[test]
    fn the_reason_is_shortened_to_the_room_there_is() {
        let holder = Holder { pid: 4242, ..Holder::default() };
        let why = Why::Workbench(holder);
        assert_eq!(why.within(Language::Zh, 40).unwrap(), "只读: 另一实例 pid 4242");
        assert_eq!(why.within(Language::Zh, 20).unwrap(), "只读: pid 4242");
        assert_eq!(why.within(Language::Zh, 5).unwrap(), "只读");
        assert_eq!(why.within(Language::Zh, 3), None);
        assert_eq!(why.within(Language::En, 60).unwrap(), "read-only: another instance, pid 4242");
    }
}
