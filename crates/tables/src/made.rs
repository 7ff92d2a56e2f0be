//! Notes beside parts: from what a part was made. With them a stage that was killed, or whose corpus grew, makes only the parts that are
//! new.
//!
//! A note is written after its part. It has the key of everything that the part depends on, the key of the part itself
//! ([`disk::key_of`]), and the counts of the stage; a part is kept while both keys hold. Useful for: stages whose parts each depend on their
//! own input. Not for: what depends on the whole corpus.

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
    inputs: Key,
    /// The part, by [`disk::key_of`].
    part: Key,
    /// Counts of the stage.
    counts: T,
}

fn note_path(parts: &Parts, part: usize) -> PathBuf {
    parts.path(part).with_extension("json")
}

/// The counts of a part that is whole and was made of these inputs; none for any other part, and where there is no readable note.
pub fn stands<T: DeserializeOwned>(parts: &Parts, part: usize, inputs: Key) -> Option<T> {
    let note: Note<T> = disk::read_json(&note_path(parts, part)).ok()?;
    (note.inputs == inputs && disk::check(&parts.path(part)).ok()? == note.part).then_some(note.counts)
}

/// The counts of a part that is whole, whatever it was made of; none where there is no readable note.
pub fn counts<T: DeserializeOwned>(parts: &Parts, part: usize) -> Option<T> {
    let note: Note<T> = disk::read_json(&note_path(parts, part)).ok()?;
    (disk::check(&parts.path(part)).ok()? == note.part).then_some(note.counts)
}

/// Writes the note of a part that was just written.
pub fn note<T: Serialize>(parts: &Parts, part: usize, inputs: Key, counts: T) -> Result<()> {
    let key = disk::key_of(&parts.path(part))?;
    disk::write_json(&note_path(parts, part), &Note { inputs, part: key, counts })
}

/// Removes part `n` and all after it, with their notes.
pub fn truncate(parts: &Parts, n: usize) -> Result<()> {
    parts.truncate(n)?;
    let first = note_path(parts, n);
    parts.numbered("json")?.iter().filter(|note| **note >= first).try_for_each(|note| disk::remove_if_there(note))
}

#[cfg(test)]
mod tests {
    use polars_core::prelude::{IntoColumn, NamedFrom, Series};

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
