//! Headers of finished sets: a file each, `rows/SET/header`, the JSON of a [`Header`] in the envelope of `layout`.
//!
//! It is written as a whole when all batches are there, and never changed: a set without it is unfinished. It names its rows by their
//! digests, so a set can be read from its header and files of rows alone, while others write.

use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use super::WAY_OUT;
use super::layout::{Header, header_key, seal, unseal};
use inkstone_base::data::Key;
use inkstone_base::disk;
use inkstone_base::message;

const NAME: &str = "header";

/// The headers of a store.
pub(super) struct Headers {
    folder: PathBuf,
}

impl Headers {
    pub(super) fn new(root: &Path) -> Headers {
        Headers { folder: root.join("rows") }
    }

    fn path(&self, set: Key) -> PathBuf {
        self.folder.join(set.hex()).join(NAME)
    }

    /// Writes a header; it is on the disk when this returns.
    pub(super) fn write(&self, header: &Header) -> Result<()> {
        let sealed = seal(&header_key(header.id()), &serde_json::to_vec(header)?);
        disk::write_atomic(&self.path(header.id()), |out| Ok(out.write_all(&sealed)?))
    }

    /// The header of a set; none when the set is not finished.
    pub(super) fn read(&self, set: Key) -> Result<Option<Header>> {
        let path = self.path(set);
        match std::fs::read(&path) {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            bytes => Header::unsealed(
                set,
                &bytes.with_context(|| message!("无法读取 {}", "cannot read {}", path.display()))?,
            )
            .map(Some),
        }
    }

    /// Removes a header, for good when this returns, and says whether there was one.
    pub(super) fn remove(&self, set: Key) -> Result<bool> {
        let path = self.path(set);
        if !path.exists() {
            return Ok(false);
        }
        disk::remove_if_there(&path)?;
        disk::sync_folder(disk::folder_of(&path))?;
        Ok(true)
    }

    /// The sets that have a header, sound or not.
    pub(super) fn sets(&self) -> Result<Vec<Key>> {
        let cannot = || message!("无法列出 {}", "cannot list {}", self.folder.display());
        let entries = match std::fs::read_dir(&self.folder) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries.with_context(cannot)?,
        };
        let mut sets = Vec::new();
        for entry in entries {
            let entry = entry.with_context(cannot)?;
            sets.extend(entry.file_name().to_str().and_then(Key::from_hex).filter(|set| self.path(*set).exists()));
        }
        sets.sort_unstable();
        Ok(sets)
    }
}

impl Header {
    /// The header in an envelope that was sealed for this set.
    pub(super) fn unsealed(set: Key, sealed: &[u8]) -> Result<Header> {
        let name = || message!("特征集 {set} 的头部{WAY_OUT}", "the header of feature set {set} {WAY_OUT}");
        serde_json::from_slice(unseal(&header_key(set), sealed).with_context(name)?).with_context(name)
    }
}
