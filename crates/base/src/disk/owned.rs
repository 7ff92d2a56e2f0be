//! Folders that this program made, which have a marker file in them.
//!
//! Code that writes, sweeps or removes in a folder under names that the user did not choose calls [`own_folder`] first.

use std::fmt;
use std::fs::{self, File};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use super::{is_temporary, make_dir};

use crate::language::{Message, Word};
use crate::{ensure, message};

pub const MARKER: &str = ".inkstone-folder";

/// Names that file managers and file systems put into folders that are empty otherwise.
const GUESTS: [&str; 4] = [".DS_Store", "Thumbs.db", "desktop.ini", "lost+found"];

/// Most names of foreign entries that a refusal lists.
const LISTED: usize = 3;

/// The purpose of a folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Room {
    /// The artefacts of a project.
    Project,
    /// The feature store of a project.
    Store,
    Ledger,
    /// Tables for other tools.
    Exports,
    /// An export that is being written.
    Partial,
    /// Pages on factors.
    Reports,
    /// The demo's market and project.
    Demo,
    /// Models of several times.
    Models,
    /// A contextual model that was converted.
    Converted,
    /// Feature sets as tables.
    Sets,
    /// Rows of feature sets that several processes compute.
    Rows,
    /// The text of papers.
    Texts,
    /// Charts that were saved in the workbench.
    Pictures,
    /// A library that was installed.
    Library,
}

impl Room {
    const ALL: [Room; 14] = [
        Room::Project,
        Room::Store,
        Room::Ledger,
        Room::Exports,
        Room::Partial,
        Room::Reports,
        Room::Demo,
        Room::Models,
        Room::Converted,
        Room::Sets,
        Room::Rows,
        Room::Texts,
        Room::Pictures,
        Room::Library,
    ];

    /// The word that stands for it in a marker.
    fn name(self) -> &'static str {
        match self {
            Room::Project => "project",
            Room::Store => "store",
            Room::Ledger => "ledger",
            Room::Exports => "exports",
            Room::Partial => "partial-export",
            Room::Reports => "reports",
            Room::Demo => "demo",
            Room::Models => "models",
            Room::Converted => "converted-model",
            Room::Sets => "sets",
            Room::Rows => "rows",
            Room::Texts => "texts",
            Room::Pictures => "pictures",
            Room::Library => "library",
        }
    }

    /// The way to another folder.
    fn way_out(self) -> Word {
        match self {
            Room::Project | Room::Store => {
                Word("请在 [project] dir 指定新的或空的文件夹", "name a new or empty folder in [project] dir")
            }
            Room::Ledger => Word("请用 --ledger 指定新的或空的文件夹", "name a new or empty folder with --ledger"),
            Room::Exports | Room::Partial => Word(
                "请在 [project] exports 或用 --out 指定新的或空的文件夹",
                "name a new or empty folder in [project] exports, or with --out",
            ),
            Room::Reports => {
                Word("请在 [report] dir 指定新的或空的文件夹", "name a new or empty folder in [report] dir")
            }
            Room::Demo => Word("请用 --dir 指定新的或空的文件夹", "name a new or empty folder with --dir"),
            Room::Models | Room::Converted | Room::Texts => {
                Word("请用 --output 指定新的或空的文件夹", "name a new or empty folder with --output")
            }
            Room::Sets => Word("请用 --out 指定新的或空的文件夹", "name a new or empty folder with --out"),
            Room::Rows => Word("请用 --rows 指定新的或空的文件夹", "name a new or empty folder with --rows"),
            Room::Pictures | Room::Library => {
                Word("请移走该文件夹，会新建一个", "move that folder away, and a new one is made")
            }
        }
    }
}

/// A folder that is not ours, or not for this purpose.
#[derive(Clone, Debug)]
pub struct NotOurs {
    pub folder: PathBuf,
    room: Room,
    why: Why,
}

#[derive(Clone, Debug)]
enum Why {
    /// It has no marker, and these entries: the first of them, sorted, and the number of all.
    Holds(Vec<String>, usize),
    /// The marker says that it is for something else.
    IsFor(Room),
}

impl NotOurs {
    /// The first foreign entries, as a list of names.
    pub fn saw(&self) -> Message {
        match &self.why {
            Why::Holds(names, count) => {
                let listed: Vec<String> = names.iter().map(|name| format!("{name:?}")).collect();
                match count - names.len() {
                    0 => Message::same(listed.join(", ")),
                    more => message!("{} 等（另有 {more} 个）", "{} and {more} more", listed.join(", ")),
                }
            }
            Why::IsFor(room) => Message::same(room.name()),
        }
    }
}

impl fmt::Display for NotOurs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let NotOurs { folder, room, why } = self;
        let (folder, saw, way_out) = (folder.display(), self.saw(), room.way_out());
        match why {
            Why::Holds(..) => message!("{folder} 中有 {saw}，而该文件夹不是 Inkstone 创建的；其中内容未改动：{way_out}。若是早期版本的 Inkstone 创建的，请在其中放一个名为 {MARKER} 的空文件",
                    "{folder} holds {saw}, and Inkstone did not make that folder; nothing in it was touched: {way_out}. If an earlier build of Inkstone did make it, put an empty file named {MARKER} into it").fmt(f),
            Why::IsFor(_) => message!("{folder} 是 Inkstone 用于其他内容（{saw}）的文件夹，不能再用于 {}；其中内容未改动：{way_out}",
                    "{folder} is Inkstone's folder for something else ({saw}) and cannot be its folder for {} as well; nothing in it was touched: {way_out}", room.name()).fmt(f),
        }
    }
}

impl std::error::Error for NotOurs {}

/// Makes a folder ours: one that is absent or empty gets a marker, one that has a marker for this purpose, or an empty marker, is
/// ours already. Fails with [`NotOurs`] for any other, which stays as it is.
pub fn own_folder(folder: &Path, room: Room) -> Result<()> {
    if !is_ours(folder, room)? {
        make_dir(folder)?;
    } else if marked_for(folder)? == Some(room) {
        return Ok(());
    }
    write_marker(folder, room)
}

/// The purpose that the marker of a folder states; none where there is no marker, or one that states none that is known.
pub fn marked_for(folder: &Path) -> Result<Option<Room>> {
    match fs::read(folder.join(MARKER)) {
        Ok(marker) => Ok(room_of(&marker)),
        // A file in the place of the folder becomes an error when the folder is made.
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => Ok(None),
        Err(error) => {
            Err(error).with_context(|| message!("无法读取 {}", "cannot read {}", folder.join(MARKER).display()))
        }
    }
}

/// True if a folder has a marker for this purpose; false if it is absent or empty. Writes nothing. Fails with [`NotOurs`] as
/// [`own_folder`] does.
pub fn is_ours(folder: &Path, room: Room) -> Result<bool> {
    let not_ours = |why| Err(NotOurs { folder: folder.to_owned(), room, why }.into());
    if let Some(other) = marked_for(folder)?.filter(|other| *other != room) {
        return not_ours(Why::IsFor(other));
    }
    if folder.join(MARKER).exists() {
        return Ok(true);
    }
    let mut names = entries_of_others(folder)?;
    // Another process may have made the folder ours while it was listed.
    if names.is_empty() || folder.join(MARKER).exists() {
        return Ok(folder.join(MARKER).exists());
    }
    let count = names.len();
    names.truncate(LISTED);
    not_ours(Why::Holds(names, count))
}

/// Puts a marker into a folder that this program has made, over the one there is. It goes by no temporary name, which another process
/// that owns the folder already might sweep away; one that a kill left empty counts as a marker for any purpose.
pub fn write_marker(folder: &Path, room: Room) -> Result<()> {
    let text = format!(
        "Inkstone made this folder: it writes, replaces and removes files in it.\n\
         此文件夹由砚 (Inkstone) 创建，其中的文件由它写入、替换和删除。\nkind: {}\n",
        room.name()
    );
    let path = folder.join(MARKER);
    let cannot = || message!("无法写入 {}", "cannot write {}", path.display());
    // A link would lead to a foreign file.
    let is_other = fs::symlink_metadata(&path).is_ok_and(|about| !about.is_file());
    ensure!(
        !is_other,
        "{} 不是普通文件，什么也没有写：请移除它",
        "{} is no plain file; nothing was written: remove it",
        path.display()
    );
    let mut file = File::create(&path).with_context(cannot)?;
    file.write_all(text.as_bytes()).and_then(|()| file.sync_all()).with_context(cannot)?;
    // Its name is on the disk before any other in the folder. Some systems open no folders.
    if let Ok(folder) = File::open(folder) {
        folder.sync_all().with_context(cannot)?;
    }
    Ok(())
}

/// The purpose that a marker states; none where it states none that is known.
fn room_of(marker: &[u8]) -> Option<Room> {
    let text = String::from_utf8_lossy(marker);
    let kind = text.lines().find_map(|line| line.strip_prefix("kind: "))?;
    Room::ALL.into_iter().find(|room| room.name() == kind)
}

/// Names in a folder that neither this program's unfinished writes nor file managers put there, sorted; none where it is absent.
fn entries_of_others(folder: &Path) -> Result<Vec<String>> {
    let listed = match fs::read_dir(folder) {
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => return Ok(Vec::new()),
        listed => listed.with_context(|| message!("无法列出 {}", "cannot list {}", folder.display()))?,
    };
    let mut names = Vec::new();
    for entry in listed {
        let name = entry.with_context(|| message!("无法列出 {}", "cannot list {}", folder.display()))?.file_name();
        let name = name.to_string_lossy().into_owned();
        if !is_temporary(&name) && !GUESTS.contains(&name.as_str()) {
            names.push(name);
        }
    }
    names.sort();
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(folder: &Path, room: Room) -> String {
        let error = own_folder(folder, room).unwrap_err();
        assert!(error.is::<NotOurs>(), "{error:#}");
        error.to_string()
    }

    #[test]
    fn an_absent_and_an_empty_folder_become_ours_and_stay_so() {
        let dir = tempfile::tempdir().unwrap();
        let absent = dir.path().join("a/b");
        assert!(!is_ours(&absent, Room::Project).unwrap() && !dir.path().join("a").exists());
        for folder in [dir.path().join("a/b"), dir.path().join("empty"), dir.path().join("finder")] {
            if !folder.ends_with("b") {
                fs::create_dir(&folder).unwrap();
            }
            if folder.ends_with("finder") {
                fs::write(folder.join(".DS_Store"), "").unwrap();
                fs::write(folder.join(format!(".tmp-{}", "0".repeat(32))), "half a marker").unwrap();
            }
            own_folder(&folder, Room::Project).unwrap();
            fs::write(folder.join("table.parquet"), "").unwrap();
            own_folder(&folder, Room::Project).unwrap();
            assert!(is_ours(&folder, Room::Project).unwrap());
        }
    }

    #[test]
    fn a_folder_of_others_is_refused_named_and_left_alone() {
        let dir = tempfile::tempdir().unwrap();
        for name in ["e.txt", "d.txt", "c.parquet", "b", "a.json"] {
            fs::write(dir.path().join(name), "mine").unwrap();
        }
        let refusal = refused(dir.path(), Room::Project);
        for words in [r#"holds "a.json", "b", "c.parquet" and 2 more,"#, "[project] dir", MARKER] {
            assert!(refusal.contains(words), "{words:?} is not in {refusal}");
        }
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 5);
        // The way out that the refusal names.
        fs::write(dir.path().join(MARKER), "").unwrap();
        assert!(is_ours(dir.path(), Room::Exports).unwrap() && marked_for(dir.path()).unwrap().is_none());
        own_folder(dir.path(), Room::Project).unwrap();
        assert_eq!(marked_for(dir.path()).unwrap(), Some(Room::Project));
        refused(dir.path(), Room::Exports);
    }

    #[test]
    fn a_folder_of_ours_has_one_purpose() {
        let dir = tempfile::tempdir().unwrap();
        own_folder(dir.path(), Room::Project).unwrap();
        let refusal = refused(dir.path(), Room::Exports);
        assert!(refusal.contains("something else (project)") && refusal.contains("[project] exports"), "{refusal}");
        for room in Room::ALL {
            write_marker(dir.path(), room).unwrap();
            own_folder(dir.path(), room).unwrap();
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_link_to_a_folder_of_others_is_refused_and_one_to_an_empty_folder_is_not() {
        let dir = tempfile::tempdir().unwrap();
        let [mine, empty, link] = ["mine", "empty", "link"].map(|name| dir.path().join(name));
        fs::create_dir(&mine).unwrap();
        fs::create_dir(&empty).unwrap();
        fs::write(mine.join("notes.txt"), "mine").unwrap();
        std::os::unix::fs::symlink(&mine, &link).unwrap();
        refused(&link, Room::Demo);
        fs::remove_file(&link).unwrap();
        std::os::unix::fs::symlink(&empty, &link).unwrap();
        own_folder(&link, Room::Demo).unwrap();
        assert!(empty.join(MARKER).exists());
        // A marker that is a link is not written through.
        fs::remove_file(empty.join(MARKER)).unwrap();
        std::os::unix::fs::symlink(mine.join("notes.txt"), empty.join(MARKER)).unwrap();
        assert!(own_folder(&empty, Room::Demo).unwrap_err().to_string().contains("is no plain file"));
        assert_eq!(fs::read(mine.join("notes.txt")).unwrap(), b"mine");
    }

    #[test]
    fn processes_that_begin_at_the_same_time_all_own_the_folder() {
        let dir = tempfile::tempdir().unwrap();
        for round in 0..20 {
            let folder = dir.path().join(format!("{round}"));
            std::thread::scope(|scope| {
                for writer in 0..4 {
                    let folder = &folder;
                    scope.spawn(move || {
                        own_folder(folder, Room::Ledger).unwrap();
                        fs::write(folder.join(format!("{writer}")), "").unwrap();
                    });
                }
            });
        }
    }
}
