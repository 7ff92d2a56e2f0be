//! The user's notes on documents: a line of JSON a note in the project's folder.

use std::fs;
use std::io::{ErrorKind, Write};
use std::path::Path;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

use super::facts::Notes;
use super::load::hash;
use inkstone_base::disk;
use inkstone_base::{bail, ensure, message};

/// Characters of a note.
pub(super) const LONGEST: usize = 500;

/// Bytes of the file; what is longer was not written by this program.
const MOST: u64 = 64 << 20;

#[derive(Serialize, Deserialize)]
struct Note {
    document: String,
    note: String,
}

/// The notes of a project, in the order of the file. Fails at a line that is no note, so that nothing is written over it.
fn lines(path: &Path) -> Result<Vec<Note>> {
    match fs::metadata(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        Ok(about) if about.len() > MOST => {
            bail!("{} 超过 {} MB，不是笔记", "{} has more than {} MB and holds no notes", path.display(), MOST >> 20)
        }
        _ => {}
    }
    let text = fs::read_to_string(path).with_context(|| message!("无法读取 {}", "cannot read {}", path.display()))?;
    let mut notes = Vec::new();
    for (at, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let note: Note = serde_json::from_str(line).with_context(|| {
            message!(
                "{1} 的第 {0} 行不是笔记；请改正该行或移走该文件",
                "line {} of {} is no note; mend the line, or move the file away",
                at + 1,
                path.display()
            )
        })?;
        notes.push(note);
    }
    Ok(notes)
}

pub(super) fn read(path: &Path) -> Result<Notes> {
    Ok(by_document(&lines(path)?))
}

fn by_document(notes: &[Note]) -> Notes {
    notes.iter().map(|note| (hash(&note.document), note.note.clone())).collect()
}

/// Writes the note of a document in the place of its earlier one; an empty note removes it. Gives all notes.
pub(super) fn write(path: &Path, document: &str, note: &str) -> Result<Notes> {
    let note = note.trim();
    ensure!(
        note.chars().count() <= LONGEST,
        "笔记有 {} 字，最多 {LONGEST} 字",
        "the note has {} characters; {LONGEST} at the most",
        note.chars().count()
    );
    let mut notes = lines(path)?;
    let old = notes.iter().position(|other| other.document == document);
    match (old, note.is_empty()) {
        (None, true) => {}
        (Some(old), true) => drop(notes.remove(old)),
        (Some(old), false) => note.clone_into(&mut notes[old].note),
        (None, false) => notes.push(Note { document: document.to_owned(), note: note.to_owned() }),
    }
    disk::write_atomic(path, |out| {
        for note in &notes {
            serde_json::to_writer(&mut *out, note)?;
            out.write_all(b"\n")?;
        }
        Ok(())
    })?;
    Ok(by_document(&notes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notes_are_written_changed_and_removed_and_others_stay() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("notes.jsonl");
        assert!(read(&path).unwrap().is_empty());
        write(&path, "news/1", " 值得再读 ").unwrap();
        write(&path, "news/2", "口径\"调整\"").unwrap();
        assert_eq!(read(&path).unwrap()[&hash("news/1")], "值得再读");
        write(&path, "news/1", "改写").unwrap();
        let left = write(&path, "news/2", "").unwrap();
        assert_eq!(left.into_iter().collect::<Vec<_>>(), [(hash("news/1"), "改写".to_owned())]);
        assert_eq!(fs::read_to_string(&path).unwrap(), "{\"document\":\"news/1\",\"note\":\"改写\"}\n");
        assert!(write(&path, "news/1", &"长".repeat(LONGEST + 1)).is_err());
    }

    #[test]
    fn a_line_that_is_no_note_is_named_and_not_written_over() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("notes.jsonl");
        fs::write(&path, "{\"document\":\"a\",\"note\":\"b\"}\n{\"docu").unwrap();
        let error = format!("{:#}", write(&path, "c", "d").unwrap_err());
        assert!(error.contains("line 2 of") && error.contains("move the file away"), "{error}");
        assert!(fs::read_to_string(&path).unwrap().ends_with("{\"docu"));
    }
}
