//! What a part was made of: a note beside it, so that a stage that was killed, or a corpus that grew, costs only the parts that are new.
//!
//! A note is written when its part is. It has the key of everything that the part depends on, the hash of the part itself, and what the
//! stage counted in it; a part stands while both still hold. Useful for: stages whose parts depend each on its own input. Not for: what
//! hangs on the whole corpus.

use std::path::PathBuf;

use anyhow::Result;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::corpus::Parts;
use inkstone_base::data::Key;
use inkstone_base::disk;

#[derive(Serialize, Deserialize)]
struct Note<T> {
    /// Everything that the part depends on.
    of: Key,
    /// Hash of its file.
    made: Key,
    /// What was counted in it.
    counted: T,
}

fn place(parts: &Parts, part: usize) -> PathBuf {
    parts.path(part).with_extension("json")
}

/// What was counted in a part, if it stands as it would be made again; a note that cannot be read counts as none.
pub fn stands<T: DeserializeOwned>(parts: &Parts, part: usize, of: Key) -> Option<T> {
    let note: Note<T> = disk::read_json(&place(parts, part)).ok()?;
    (note.of == of && disk::hash_file(&parts.path(part)).ok()? == note.made).then_some(note.counted)
}

/// Notes what a part that was just written was made of.
pub fn note<T: Serialize>(parts: &Parts, part: usize, of: Key, counted: T) -> Result<()> {
    let made = disk::hash_file(&parts.path(part))?;
    disk::write_json(&place(parts, part), &Note { of, made, counted })
}

/// Removes part `n` and all after it, with their notes.
pub fn truncate(parts: &Parts, n: usize) -> Result<()> {
    parts.truncate(n)?;
    let first = place(parts, n);
    parts.numbered("json")?.iter().filter(|note| **note >= first).try_for_each(|note| disk::remove_if_there(note))
}

#[cfg(test)]
mod tests {
    use polars::prelude::{IntoColumn, NamedFrom, Series};

    use super::*;

    #[test]
    fn a_part_stands_while_what_it_depends_on_and_its_bytes_do() {
        let dir = tempfile::tempdir().unwrap();
        let parts = Parts::new(dir.path());
        let write = |part, value: i64| {
            let column = Series::new("n".into(), [value]).into_column();
            parts.write(part, &mut crate::frames::frame(vec![column]).unwrap()).unwrap();
        };
        let (old, new) = (Key::of(b"old"), Key::of(b"new"));
        write(0, 1);
        assert_eq!(stands::<u64>(&parts, 0, old), None);
        note(&parts, 0, old, 7u64).unwrap();
        assert_eq!((stands(&parts, 0, old), stands::<u64>(&parts, 0, new)), (Some(7u64), None));
        write(0, 2);
        assert_eq!(stands::<u64>(&parts, 0, old), None, "killed between the part and its note");
        note(&parts, 0, new, 8u64).unwrap();
        write(1, 3);
        note(&parts, 1, new, 9u64).unwrap();
        truncate(&parts, 1).unwrap();
        assert_eq!((stands(&parts, 0, new), stands::<u64>(&parts, 1, new)), (Some(8u64), None));
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 2);
    }
}
