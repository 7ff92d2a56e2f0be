//! The entries of a folder, and which of them ingest can read.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use chrono::{DateTime, Local};

use crate::errand::{Errand, Messenger};
use inkstone_base::job::Ctx;
use inkstone_base::language::Message;
use inkstone_base::message;

/// Entries of a folder below that are looked at to tell whether it holds documents, and of all such folders together.
const LOOKED_AT: usize = 200;
const LOOKED_AT_IN_ALL: usize = 5000;

/// Endings of files that hold many rows, and of files that are one document each.
const TABLES: &[&str] = &["csv", "tsv", "tab", "jsonl", "ndjson", "json", "parquet", "pq", "xlsx", "xls", "xlsm"];
const PAPERS: &[&str] = &["txt", "pdf", "html", "htm", "docx"];

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ItemKind {
    /// A folder, with this many documents that are files, of those looked at.
    Folder(usize),
    /// A file that ingest reads, by its ending.
    Usable(String),
    /// Another file.
    Other,
    /// Nothing behind it can be reached, for this reason.
    Lost(Message),
}

#[derive(Clone, Debug)]
pub(super) struct Item {
    pub(super) name: String,
    pub(super) path: PathBuf,
    pub(super) sort: ItemKind,
    pub(super) link: bool,
    /// Bytes of a file.
    pub(super) size: u64,
    pub(super) changed: Option<DateTime<Local>>,
}

/// Asks for the entries of a folder.
pub(super) fn read(folder: &Path, messenger: &Messenger) -> Errand<Vec<Item>> {
    let folder = folder.to_owned();
    messenger.send("read a folder", move |ctx| items_of(&folder, ctx))
}

/// The entries of a folder: folders first, each sort by name. Hidden ones are left out.
fn items_of(folder: &Path, ctx: &Ctx) -> Result<Vec<Item>> {
    let cannot = || message!("无法读取文件夹 {}", "cannot read the folder {}", folder.display());
    let mut items = Vec::new();
    let mut left = LOOKED_AT_IN_ALL;
    for entry in fs::read_dir(folder).with_context(cannot)? {
        ctx.check()?;
        let entry = entry.with_context(cannot)?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if !name.starts_with('.') {
            items.push(item(name, entry.path(), &mut left));
        }
    }
    items.sort_by_key(|item| (!matches!(item.sort, ItemKind::Folder(_)), item.name.to_lowercase(), item.name.clone()));
    Ok(items)
}

fn item(name: String, path: PathBuf, left: &mut usize) -> Item {
    let link = path.is_symlink();
    // The metadata of what a link leads to.
    let found = fs::metadata(&path);
    let changed = found.as_ref().ok().and_then(|found| found.modified().ok()).map(DateTime::from);
    let size = found.as_ref().map_or(0, fs::Metadata::len);
    let lost = |error: std::io::Error| {
        ItemKind::Lost(Message::of_error(&anyhow::Error::new(error).context(path.display().to_string())))
    };
    let sort = match found {
        Err(error) => lost(error),
        Ok(found) if found.is_dir() => match papers_in(&path, left) {
            Ok(count) => ItemKind::Folder(count),
            Err(error) => lost(error),
        },
        Ok(_) => ending(&path).filter(|ending| known(ending)).map_or(ItemKind::Other, ItemKind::Usable),
    };
    Item { name, path, sort, link, size, changed }
}

fn papers_in(folder: &Path, left: &mut usize) -> std::io::Result<usize> {
    let looked_at = LOOKED_AT.min(*left);
    let mut papers = 0;
    for entry in fs::read_dir(folder)?.take(looked_at).flatten() {
        *left = left.saturating_sub(1);
        papers += usize::from(ending(&entry.path()).is_some_and(|ending| PAPERS.contains(&ending.as_str())));
    }
    Ok(papers)
}

fn ending(path: &Path) -> Option<String> {
    Some(path.extension()?.to_string_lossy().to_ascii_lowercase())
}

fn known(ending: &str) -> bool {
    TABLES.contains(&ending) || PAPERS.contains(&ending)
}

/// A folder that was typed. Fails when it cannot be read.
pub(super) fn look_up(path: PathBuf) -> Result<PathBuf> {
    fs::read_dir(&path).with_context(|| message!("无法读取文件夹 {}", "cannot read the folder {}", path.display()))?;
    Ok(path)
}

/// A path whose `~` is the home of the user.
pub(super) fn home(text: &str) -> PathBuf {
    let rest = text.strip_prefix('~').filter(|rest| rest.is_empty() || rest.starts_with('/'));
    match (rest, std::env::var_os("HOME")) {
        (Some(rest), Some(home)) => PathBuf::from(home).join(rest.trim_start_matches('/')),
        _ => PathBuf::from(text),
    }
}

/// Completes a path up to where names differ; none if no name begins so.
pub(super) fn completed(folder: &Path, typed: &str) -> Option<String> {
    let (above, begun) = match typed.rfind('/') {
        Some(at) => (&typed[..=at], &typed[at + 1..]),
        None => ("", typed),
    };
    let mut names: Vec<String> = fs::read_dir(folder.join(home(above)))
        .ok()?
        .flatten()
        .map(|entry| {
            let slash = if entry.path().is_dir() { "/" } else { "" };
            format!("{}{slash}", entry.file_name().to_string_lossy())
        })
        .filter(|name| name.starts_with(begun) && (!begun.is_empty() || !name.starts_with('.')))
        .collect();
    names.sort();
    let (first, last) = (names.first()?, names.last()?);
    let common: String = first.chars().zip(last.chars()).take_while(|(a, b)| a == b).map(|(a, _)| a).collect();
    Some(format!("{above}{common}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_completed_as_far_as_names_agree() {
        let dir = tempfile::tempdir().unwrap();
        for name in ["新闻一.csv", "新闻二.csv", "x.txt"] {
            fs::write(dir.path().join(name), "a").unwrap();
        }
        fs::create_dir(dir.path().join("研报")).unwrap();
        assert_eq!(completed(dir.path(), "新").as_deref(), Some("新闻"));
        assert_eq!(completed(dir.path(), "研").as_deref(), Some("研报/"));
        assert_eq!(completed(dir.path(), "none"), None);
        let typed = format!("{}/x", dir.path().display());
        assert_eq!(completed(Path::new("/"), &typed), Some(format!("{typed}.txt")));
    }

    #[cfg(unix)]
    #[test]
    fn links_and_what_they_lead_to_are_told() {
        use std::os::unix::fs::symlink;
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("docs")).unwrap();
        fs::write(dir.path().join("docs/a.pdf"), "x").unwrap();
        fs::write(dir.path().join("a.CSV"), "x").unwrap();
        fs::write(dir.path().join("b.py"), "x").unwrap();
        symlink("docs", dir.path().join("link")).unwrap();
        symlink("nowhere", dir.path().join("broken.csv")).unwrap();
        symlink(".", dir.path().join("docs/round")).unwrap();
        let items = items_of(dir.path(), &Ctx::new(1, 1).unwrap()).unwrap();
        let seen: Vec<(&str, bool)> = items.iter().map(|item| (item.name.as_str(), item.link)).collect();
        assert_eq!(seen, [("docs", false), ("link", true), ("a.CSV", false), ("b.py", false), ("broken.csv", true)]);
        assert_eq!((&items[0].sort, &items[1].sort), (&ItemKind::Folder(1), &ItemKind::Folder(1)));
        assert_eq!((&items[2].sort, &items[3].sort), (&ItemKind::Usable("csv".into()), &ItemKind::Other));
        assert!(matches!(&items[4].sort, ItemKind::Lost(why) if why.en.contains("No such file")));
    }
}
