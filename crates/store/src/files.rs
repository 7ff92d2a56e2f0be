//! Files of rows: one for each batch, whole or absent, named by what is in it.
//!
//! `rows/SET/BATCH-DIGEST.rows`, little-endian: `magic "IKROWS"`, `version: u16`, `set: [16]`, `batch: [16]`, then blocks (see `block`), each
//! as `length: u32` and so many bytes in the envelope of `layout`. A file gets its name when it is whole, and is never changed:
//! other rows of a batch are another file. A file alone identifies its rows, so the database can be made again from the files.

use std::fs::File;
use std::io::{BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use super::block;
use super::layout::{BatchEntry, BatchRecord, ENVELOPE, block_key, seal, unseal};
use super::{RowKind, Rows, Values};
use inkstone_base::data::Key;
use inkstone_base::disk;
use inkstone_base::language::Word;
use inkstone_base::{bail, ensure, message};

const MAGIC: &[u8; 6] = b"IKROWS";
const VERSION: u16 = 1;
const HEAD: usize = 40;

/// The files of a store's rows.
pub(super) struct RowFiles {
    folder: PathBuf,
}

/// A file with the name of a file of rows.
pub(super) struct RowFile {
    pub(super) set: Key,
    pub(super) batch: Key,
    pub(super) digest: Key,
    pub(super) bytes: u64,
    pub(super) path: PathBuf,
}

impl RowFiles {
    /// The files of the store in `root`.
    pub(super) fn new(root: &Path) -> RowFiles {
        RowFiles::within(&root.join("rows"))
    }

    /// The files in `folder`, which has a folder for each set.
    pub(super) fn within(folder: &Path) -> RowFiles {
        RowFiles { folder: folder.to_owned() }
    }

    fn path(&self, set: Key, batch: Key, digest: Key) -> PathBuf {
        self.folder.join(set.hex()).join(format!("{batch}-{digest}.rows"))
    }

    /// Writes the blocks of a batch. The file outlives a kill of the process, and a loss of power once the file that this gives and its folder
    /// are synchronised ([`RowFiles::sync`]).
    pub(super) fn write(&self, set: Key, batch: Key, blocks: &[Vec<u8>], digest: Key) -> Result<File> {
        let path = self.path(set, batch, digest);
        let cannot = || message!("无法写入 {}（磁盘满了？）", "cannot write {} (disk full?)", path.display());
        let folder = disk::folder_of(&path);
        disk::make_dir(folder)?;
        let mut pending = disk::temporary(true).tempfile_in(folder).with_context(cannot)?;
        let mut out = BufWriter::with_capacity(1 << 16, pending.as_file_mut());
        out.write_all(&head(set, batch)).with_context(cannot)?;
        for (number, content) in (0..).zip(blocks) {
            let sealed = seal(&block_key(set, batch, number), content);
            let length =
                u32::try_from(sealed.len()).context(Word("一行过长，放不进块", "a row is too long for a block"))?;
            out.write_all(&length.to_le_bytes()).and_then(|()| out.write_all(&sealed)).with_context(cannot)?;
        }
        out.flush().with_context(cannot)?;
        drop(out);
        pending.persist(&path).map_err(|e| e.error).with_context(cannot)
    }

    /// Brings files of a set to the disk, and their names.
    pub(super) fn sync(&self, set: Key, files: &[File]) -> Result<()> {
        let folder = self.folder.join(set.hex());
        let cannot = || {
            message!("无法把 {} 写入磁盘（磁盘满了？）", "cannot bring {} to the disk (disk full?)", folder.display())
        };
        files.iter().try_for_each(File::sync_all).with_context(cannot)?;
        [folder.as_path(), &self.folder].into_iter().try_for_each(disk::sync_folder)
    }

    /// Gives the blocks of a batch to `each` in order, every one checked; then checks the digest of all.
    pub(super) fn read(
        &self,
        set: Key,
        entry: &BatchEntry,
        mut each: impl FnMut(u32, &[u8]) -> Result<()>,
    ) -> Result<()> {
        let path = self.path(set, entry.key, entry.record.digest);
        let read = read(&path, set, entry.key, &mut each)?;
        ensure!(
            read.digest == entry.record.digest && read.blocks == entry.record.blocks,
            "它的行不是特征集完成时的行",
            "its rows are not those that the set was finished with"
        );
        Ok(())
    }

    /// The record of a file, every block checked and its rows counted.
    pub(super) fn examine(&self, found: &RowFile) -> Result<BatchRecord> {
        examine(&found.path, found, |_| Ok(()))
    }

    /// The values of a file of dense rows, row after row. Fails if it is damaged or of another kind.
    pub(super) fn values(&self, found: &RowFile, dim: usize) -> Result<Vec<f32>> {
        let mut values = Vec::new();
        examine(&found.path, found, |more| match &more.values {
            Values::Dense { dim: own, data } if *own == dim => {
                values.extend_from_slice(data);
                Ok(())
            }
            _ => bail!(
                "它的行为 {:?}，而不是 {dim} 列的稠密行",
                "its rows are {:?}, and not dense ones of {dim} columns",
                more.kind()
            ),
        })?;
        Ok(values)
    }

    /// Copies a file from elsewhere. The inner result says why it is not taken: it is damaged, or has not so many rows of this kind.
    pub(super) fn copy_in(&self, found: &RowFile, kind: RowKind, rows: u64) -> Result<Result<(BatchRecord, File)>> {
        let bytes = match std::fs::read(&found.path) {
            Ok(bytes) => bytes,
            Err(error) => return Ok(Err(error).context(Word("它无法读取", "it cannot be read"))),
        };
        let path = self.path(found.set, found.batch, found.digest);
        let cannot = || message!("无法写入 {}（磁盘满了？）", "cannot write {} (disk full?)", path.display());
        let folder = disk::folder_of(&path);
        disk::make_dir(folder)?;
        let mut pending = disk::temporary(true).tempfile_in(folder).with_context(cannot)?;
        pending.as_file_mut().write_all(&bytes).with_context(cannot)?;
        let is_of_kind = |more: &Rows| {
            ensure!(
                more.kind() == kind,
                "它的行为 {:?}，而特征集的为 {kind:?}",
                "its rows are {:?}, those of the set {kind:?}",
                more.kind()
            );
            Ok(())
        };
        let examined = examine(pending.path(), found, is_of_kind).and_then(|record| {
            ensure!(
                record.rows == rows,
                "它有 {} 行，而语料该份有 {rows} 行",
                "it has {} rows, the part of the corpus {rows}",
                record.rows
            );
            Ok(record)
        });
        match examined {
            Ok(record) => Ok(Ok((record, pending.persist(&path).map_err(|e| e.error).with_context(cannot)?))),
            Err(error) => Ok(Err(error)),
        }
    }

    /// The open file of a batch, if all of it is as it was written.
    pub(super) fn sound(&self, set: Key, batch: Key, record: &BatchRecord) -> Option<File> {
        let path = self.path(set, batch, record.digest);
        let read = read(&path, set, batch, &mut |_, _| Ok(())).ok()?;
        (read.digest == record.digest && read.blocks == record.blocks).then(|| File::open(path).ok())?
    }

    /// True if the file of a batch is there with the right length. Reads nothing of it.
    pub(super) fn has(&self, set: Key, batch: Key, record: &BatchRecord) -> bool {
        let bytes = HEAD as u64 + record.bytes + u64::from(record.blocks) * (4 + ENVELOPE as u64);
        self.path(set, batch, record.digest).metadata().is_ok_and(|file| file.is_file() && file.len() == bytes)
    }

    /// Removes the file of a batch, if it is there.
    pub(super) fn remove(&self, set: Key, batch: Key, digest: Key) -> Result<()> {
        disk::remove_if_there(&self.path(set, batch, digest))
    }

    /// Removes all files of a set, and says whether there were any.
    pub(super) fn remove_set(&self, set: Key) -> Result<bool> {
        let folder = self.folder.join(set.hex());
        match std::fs::remove_dir_all(&folder) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error).with_context(|| message!("无法删除 {}", "cannot remove {}", folder.display())),
        }
    }

    /// All files of rows, by set, batch and digest. Files of other names were not written by a store.
    pub(super) fn list(&self) -> Result<Vec<RowFile>> {
        found_below(&self.folder, 2)
    }

    /// The files of a set, by batch and digest.
    pub(super) fn list_set(&self, set: Key) -> Result<Vec<RowFile>> {
        found_below(&self.folder.join(set.hex()), 1)
    }

    /// Removes folders of sets that are empty.
    pub(super) fn tidy(&self) {
        for folder in walkdir::WalkDir::new(&self.folder).min_depth(1).max_depth(1).into_iter().flatten() {
            // Where there is something in it, the system refuses.
            let _ = std::fs::remove_dir(folder.path());
        }
    }
}

fn found_below(folder: &Path, depth: usize) -> Result<Vec<RowFile>> {
    let mut all = Vec::new();
    for entry in walkdir::WalkDir::new(folder).min_depth(depth).max_depth(depth) {
        match entry {
            Err(error) if error.io_error().is_some_and(|e| e.kind() == std::io::ErrorKind::NotFound) => {}
            entry => all.extend(RowFile::from_entry(
                &entry.with_context(|| message!("无法列出 {}", "cannot list {}", folder.display()))?,
            )),
        }
    }
    all.sort_unstable_by_key(|found| (found.set, found.batch, found.digest));
    Ok(all)
}

impl RowFile {
    fn from_entry(entry: &walkdir::DirEntry) -> Option<RowFile> {
        let set = Key::from_hex(entry.path().parent()?.file_name()?.to_str()?)?;
        let (batch, digest) = entry.file_name().to_str()?.strip_suffix(".rows")?.split_once('-')?;
        let (batch, digest) = (Key::from_hex(batch)?, Key::from_hex(digest)?);
        let bytes = entry.metadata().ok().filter(|m| m.is_file())?.len();
        Some(RowFile { set, batch, digest, bytes, path: entry.path().to_owned() })
    }
}

/// The record of the file at `path`, which has the name of `found`: every block checked, its rows given to `each` and counted.
fn examine(path: &Path, found: &RowFile, mut each: impl FnMut(&Rows) -> Result<()>) -> Result<BatchRecord> {
    let mut rows = 0;
    let mut record = read(path, found.set, found.batch, &mut |number, content| {
        let (first, more) = block::unpack(content)?;
        ensure!(
            first as u64 == rows,
            "块 {number} 始于第 {first} 行，而不是第 {rows} 行",
            "block {number} begins with row {first}, not {rows}"
        );
        rows += more.len() as u64;
        each(&more)
    })?;
    ensure!(
        record.digest == found.digest,
        "它的行不是其名称所示的行",
        "its rows are not those that its name stands for"
    );
    record.rows = rows;
    Ok(record)
}

fn head(set: Key, batch: Key) -> Vec<u8> {
    [MAGIC.as_slice(), &VERSION.to_le_bytes(), &set.0, &batch.0].concat()
}

/// Reads a file block by block. Memory never exceeds the rest of the file.
fn read(path: &Path, set: Key, batch: Key, each: &mut dyn FnMut(u32, &[u8]) -> Result<()>) -> Result<BatchRecord> {
    let cannot = || message!("它的文件 {} 无法读取", "its file {} cannot be read", path.display());
    let file = File::open(path).with_context(cannot)?;
    let mut left = file.metadata().with_context(cannot)?.len();
    let mut file = BufReader::with_capacity(1 << 16, file);
    let mut take = |bytes: &mut [u8]| {
        left = left.checked_sub(bytes.len() as u64).context(Word("它的文件不完整", "its file is cut short"))?;
        file.read_exact(bytes).with_context(cannot)?;
        anyhow::Ok(left)
    };
    let mut start = [0; HEAD];
    let mut left = take(&mut start)?;
    let version = u16::from_le_bytes([start[6], start[7]]);
    ensure!(
        start[..6] != *MAGIC || version == VERSION,
        "它的文件格式为 {version}，本版本读取格式 {VERSION}",
        "its file is of format {version}, and this version reads format {VERSION}"
    );
    ensure!(
        start == head(set, batch).as_slice(),
        "它的文件开头不是这一批的",
        "its file does not begin as that of this batch"
    );
    let mut record = BatchRecord { rows: 0, blocks: 0, bytes: 0, digest: Key::default() };
    let (mut digest, mut sealed) = (blake3::Hasher::new(), Vec::new());
    while left > 0 {
        let mut length = [0; 4];
        left = take(&mut length)?;
        let length = u32::from_le_bytes(length);
        ensure!(u64::from(length) <= left, "块 {} 不完整", "block {} is cut short", record.blocks);
        sealed.resize(length as usize, 0);
        left = take(&mut sealed)?;
        let number = record.blocks;
        let content = unseal(&block_key(set, batch, number), &sealed)
            .with_context(|| message!("块 {number}", "block {number}"))?;
        digest.update(&(content.len() as u64).to_le_bytes());
        digest.update(content);
        each(number, content).with_context(|| message!("块 {number}", "block {number}"))?;
        record.bytes += content.len() as u64;
        record.blocks += 1;
    }
    record.digest.0.copy_from_slice(&digest.finalize().as_bytes()[..16]);
    Ok(record)
}
