//! The second copy of a journal: a plain file to which frames are only added, so that damage to it costs the frames it touches.
//!
//! `copy`, little-endian: `magic "IKJOUR"`, `version: u16`, then frames: `magic "IKJF"`, `key: [9]`, `length: u32` and so many bytes in the
//! envelope of `layout`. Keys are those of the journal, and `d` number says that the attachment of this number was dropped. After what
//! is no frame, the next magic that begins a sound one is looked for.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use super::layout::{seal, unseal};
use inkstone_base::disk;
use inkstone_base::{ensure, message};

pub(super) const NAME: &str = "copy";
const MAGIC: &[u8; 6] = b"IKJOUR";
const VERSION: u16 = 1;
const FRAME: &[u8; 4] = b"IKJF";
/// Magic, key and length of a frame.
const HEAD: usize = 17;

type Address = [u8; 9];

/// The frames in the second copy of a journal's folder, by their keys.
pub fn copied(root: &Path) -> Result<BTreeMap<[u8; 9], Vec<u8>>> {
    Copy::open(root).map(|copy| copy.frames)
}

pub(super) struct Copy {
    path: PathBuf,
    frames: BTreeMap<Address, Vec<u8>>,
}

impl Copy {
    /// Reads the copy in a journal's folder; there need be none.
    pub(super) fn open(root: &Path) -> Result<Copy> {
        let path = root.join(NAME);
        let cannot = || message!("无法读取 {}", "cannot read {}", path.display());
        let bytes = match std::fs::read(&path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Vec::new(),
            bytes => bytes.with_context(cannot)?,
        };
        if let Some(version) = bytes.strip_prefix(MAGIC).and_then(|rest| rest.first_chunk()) {
            let version = u16::from_le_bytes(*version);
            ensure!(
                version <= VERSION,
                "日志库 {} 的格式为 {version}，本版本读到 {VERSION}：请用写它的 inkstone 版本",
                "the journal {} is of format {version}, and this version reads up to {VERSION}: use the version of inkstone that wrote it",
                root.display()
            );
        }
        let mut frames = BTreeMap::new();
        let mut rest = bytes.as_slice();
        while !rest.is_empty() {
            if let Some((key, content, after)) = frame(rest) {
                frames.insert(key, content.to_vec());
                rest = after;
            } else {
                let next = rest[1..].windows(FRAME.len()).position(|window| window == FRAME);
                rest = next.map_or(&[], |next| &rest[1 + next..]);
            }
        }
        Ok(Copy { path, frames })
    }

    pub(super) fn is_empty(&self) -> bool {
        self.frames.is_empty()
    }

    /// Number of the last record; 0 when there is none.
    pub(super) fn last(&self) -> u64 {
        let numbers = self.frames.keys().filter(|key| key[0] == b'j').filter_map(|key| key[1..].try_into().ok());
        numbers.map(u64::from_be_bytes).max().unwrap_or(0)
    }

    pub(super) fn get(&self, key: &Address) -> Option<&Vec<u8>> {
        self.frames.get(key)
    }

    /// True if the attachment of this number was dropped.
    pub(super) fn has_dropped(&self, number: u64) -> bool {
        self.frames.contains_key(&dropped(number))
    }

    /// Adds frames in their order; in the same step the attachments of the records in `drop` go. All of it is on the disk when this
    /// returns. A kill may leave the first of the frames and half of another, so an attachment comes before its record.
    pub(super) fn add(&mut self, entries: &[(Address, Vec<u8>)], drop: &[u64]) -> Result<()> {
        let cannot = || message!("无法写入 {}（磁盘满了？）", "cannot write {} (disk full?)", self.path.display());
        if drop.is_empty() && !self.frames.is_empty() {
            let mut file = File::options().append(true).open(&self.path).with_context(cannot)?;
            let bytes: Vec<u8> = entries.iter().flat_map(|(key, content)| framed(key, content)).collect();
            file.write_all(&bytes).and_then(|()| file.sync_all()).with_context(cannot)?;
            self.frames.extend(entries.iter().cloned());
            return Ok(());
        }
        let mut frames = self.frames.clone();
        frames.extend(entries.iter().cloned());
        for &number in drop {
            let mut attachment = dropped(number);
            attachment[0] = b'a';
            frames.remove(&attachment);
            frames.insert(dropped(number), Vec::new());
        }
        self.frames = frames;
        self.rewrite()
    }

    fn rewrite(&self) -> Result<()> {
        disk::write_atomic(&self.path, |out| {
            out.write_all(MAGIC)?;
            out.write_all(&VERSION.to_le_bytes())?;
            Ok(self.frames.iter().try_for_each(|(key, content)| out.write_all(&framed(key, content)))?)
        })
    }

    /// Removes the frames of records that were never whole: an attachment after record `last`, which a kill left without its record.
    pub(super) fn end_at(&mut self, last: u64) -> Result<()> {
        let is_after = |key: &Address| key[1..].try_into().is_ok_and(|number| u64::from_be_bytes(number) > last);
        if !self.frames.keys().any(is_after) {
            return Ok(());
        }
        self.frames.retain(|key, _| !is_after(key));
        self.rewrite()
    }

    pub(super) fn forget(&mut self, key: &[u8]) {
        self.frames.retain(|known, _| known != key);
        self.rewrite().unwrap();
    }
}

fn dropped(number: u64) -> Address {
    let mut key = [b'd'; 9];
    key[1..].copy_from_slice(&number.to_be_bytes());
    key
}

fn framed(key: &Address, content: &[u8]) -> Vec<u8> {
    let sealed = seal(key, content);
    [FRAME.as_slice(), key, &(sealed.len() as u32).to_le_bytes(), &sealed].concat()
}

/// The frame that bytes begin with, and what follows it.
fn frame(bytes: &[u8]) -> Option<(Address, &[u8], &[u8])> {
    let (head, rest) = bytes.split_at_checked(HEAD)?;
    let head = head.strip_prefix(FRAME)?;
    let (key, length) = (head.first_chunk::<9>()?, head.last_chunk::<4>()?);
    let (sealed, rest) = rest.split_at_checked(u32::from_le_bytes(*length) as usize)?;
    Some((*key, unseal(key, sealed).ok()?, rest))
}
