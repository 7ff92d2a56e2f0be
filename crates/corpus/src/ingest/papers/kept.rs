//! Cache of the texts of slow files, by their content, so that a folder which grows by one file costs one file.
//!
//! One JSON file an entry, named by the hash of the content and of everything else that determines what is read. An entry that
//! cannot be read counts as absent.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use super::{Limits, Paper, Refused};
use crate::ingest::source::Format;
use inkstone_base::data::Key;
use inkstone_base::disk;
use inkstone_base::message;

/// Changes whenever the same file would be read differently.
const VERSION: u32 = 1;

/// The folder of the entries.
#[derive(Clone, Debug)]
pub(in crate::ingest) struct Kept {
    folder: PathBuf,
}

impl Kept {
    pub(in crate::ingest) fn new(folder: &Path) -> Kept {
        Kept { folder: folder.to_owned() }
    }

    /// The key of a file; `None` for formats that are read as fast as their hash is taken.
    pub(in crate::ingest) fn key(content: Key, format: Format, name: &str, limits: &Limits) -> Option<Key> {
        matches!(format, Format::Pdf | Format::Docx).then(|| Key::of_json(&(VERSION, content, format, name, limits)))
    }

    pub(super) fn get(&self, key: Key) -> Option<Result<Paper, Refused>> {
        disk::read_json(&self.place(key)).ok()
    }

    pub(super) fn put(&self, key: Key, read: &Result<Paper, Refused>) -> Result<()> {
        let place = self.place(key);
        place.parent().map_or(Ok(()), disk::make_dir)?;
        disk::write_json(&place, read)
    }

    /// Removes all entries but those of `keys`. Files of other names are no entries.
    pub(in crate::ingest) fn prune(&self, keys: &BTreeSet<String>) -> Result<()> {
        if !self.folder.exists() {
            return Ok(());
        }
        for entry in walkdir::WalkDir::new(&self.folder) {
            let entry = entry.with_context(|| message!("无法查看 {}", "cannot look into {}", self.folder.display()))?;
            let name = entry.file_name().to_string_lossy();
            let Some(key) = name.strip_suffix(".json").filter(|key| Key::is_hex(key)) else { continue };
            if entry.file_type().is_file() && !keys.contains(key) {
                fs::remove_file(entry.path())
                    .with_context(|| message!("无法删除 {}", "cannot remove {}", entry.path().display()))?;
            }
        }
        Ok(())
    }

    fn place(&self, key: Key) -> PathBuf {
        let name = key.hex();
        self.folder.join(&name[..2]).join(format!("{name}.json"))
    }
}
