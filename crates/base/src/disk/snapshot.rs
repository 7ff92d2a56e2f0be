//! Snapshots of files that other programs may change.
//!
//! A mapped file that another program cuts short ends the process, and one that it writes to changes under the reader's hands. So only
//! files that this program wrote are mapped; of a file of others a [`Snapshot`] is taken.

use std::fs::File;
use std::io::{Read, Seek};
use std::ops::Deref;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result};
use memmap2::Mmap;

use super::map_file;

use crate::message;

/// Bytes of a file that are kept in memory; a longer file is copied to the disk.
const IN_MEMORY: u64 = 64 << 20;

/// The bytes that a file had when it was read. What others do to the file afterwards changes nothing of them. Clones share them.
#[derive(Clone)]
pub struct Snapshot(Arc<SnapshotBytes>);

enum SnapshotBytes {
    Memory(Vec<u8>),
    /// A file without a name, in the system's folder of temporary files.
    Copy(Mmap),
}

/// Takes the bytes of a file: into memory, or, of a long file, into a file without a name in the system's folder of temporary files.
pub fn snapshot(path: &Path) -> Result<Snapshot> {
    snapshot_within(path, IN_MEMORY)
}

fn snapshot_within(path: &Path, in_memory: u64) -> Result<Snapshot> {
    let mut file = File::open(path).with_context(|| message!("无法打开 {}", "cannot open {}", path.display()))?;
    let cannot = || message!("无法读取 {}", "cannot read {}", path.display());
    let length = file.metadata().with_context(cannot)?.len();
    if length <= in_memory {
        let mut bytes = Vec::with_capacity(length as usize);
        // A file that grows meanwhile ends where it ended.
        file.take(length).read_to_end(&mut bytes).with_context(cannot)?;
        return Ok(Snapshot(Arc::new(SnapshotBytes::Memory(bytes))));
    }
    let cannot = || {
        message!(
            "无法把 {length} 字节的 {} 复制到临时文件夹 {}（TMPDIR 可指定另一处）",
            "cannot copy {}, of {length} bytes, into the folder of temporary files {} (TMPDIR names another)",
            path.display(),
            std::env::temp_dir().display()
        )
    };
    let mut copy = tempfile::tempfile().with_context(cannot)?;
    std::io::copy(&mut file, &mut copy).and_then(|_| copy.rewind()).with_context(cannot)?;
    Ok(Snapshot(Arc::new(SnapshotBytes::Copy(map_file(&copy).with_context(cannot)?))))
}

impl Deref for Snapshot {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match &*self.0 {
            SnapshotBytes::Memory(bytes) => bytes,
            SnapshotBytes::Copy(map) => map,
        }
    }
}

impl AsRef<[u8]> for Snapshot {
    fn as_ref(&self) -> &[u8] {
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_cut_short_or_written_over_keeps_the_bytes_it_had() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("vectors.txt");
        let bytes: Vec<u8> = (0..200_000_u32).flat_map(u32::to_le_bytes).collect();
        // In memory, and in a copy on the disk.
        for in_memory in [IN_MEMORY, 0] {
            std::fs::write(&path, &bytes).unwrap();
            let taken = snapshot_within(&path, in_memory).unwrap();
            assert_eq!(matches!(&*taken.0, SnapshotBytes::Memory(_)), in_memory > 0);
            // A file that is mapped ends the process here.
            File::options().write(true).open(&path).unwrap().set_len(0).unwrap();
            std::fs::write(&path, "other").unwrap();
            assert!(*taken == *bytes);
        }
    }
}
