//! Mapped files: pages are read when they are used, and given back when memory is short.

use std::fs::File;
use std::path::Path;

use anyhow::{Context, Result};
use bytemuck::Pod;
use memmap2::Mmap;

use crate::message;

/// Maps a file that this program wrote for reading.
pub fn map(path: &Path) -> Result<Mmap> {
    let file = File::open(path).with_context(|| message!("无法打开 {}", "cannot open {}", path.display()))?;
    map_file(&file).with_context(|| message!("无法映射 {}", "cannot map {}", path.display()))
}

/// Maps an open file that this program wrote for reading.
#[allow(unsafe_code)]
pub fn map_file(file: &File) -> std::io::Result<Mmap> {
    // SAFETY: the bytes must not change while they are mapped. Only files that this program wrote are mapped (see `foreign` for
    // others). It writes every file under a temporary name and renames it (see `write_atomic`), so a mapped file is replaced as a
    // whole and its old bytes stay until the map is dropped; scratch files have no name and one writer, which is done before
    // they are mapped.
    unsafe { Mmap::map(file) }
}

/// The numbers that were written to a mapped scratch file; none of an absent map. Nothing else may have been written to the file.
pub fn numbers<T: Pod>(map: Option<&Mmap>) -> &[T] {
    // An empty slice of bytes would do for no map, were it not that its place need not suit larger numbers.
    map.map_or(&[], |map| bytemuck::cast_slice(map))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::Scratch;

    #[test]
    fn numbers_come_back_and_nothing_is_no_numbers() {
        let dir = tempfile::tempdir().unwrap();
        let empty = Scratch::within(dir.path()).unwrap().map().unwrap();
        assert!(numbers::<u64>(empty.as_ref()).is_empty());
        assert!(numbers::<[u32; 4]>(None).is_empty());
        let mut scratch = Scratch::within(dir.path()).unwrap();
        scratch.write(bytemuck::cast_slice(&[7u32, u32::MAX, 1, 2])).unwrap();
        let map = scratch.map().unwrap();
        assert_eq!(numbers::<u32>(map.as_ref()), [7, u32::MAX, 1, 2]);
        assert_eq!(numbers::<[u32; 2]>(map.as_ref()), [[7, u32::MAX], [1, 2]]);
    }
}
