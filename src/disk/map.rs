//! Files as memory: pages are read when they are touched, and given back when memory is short.

use std::fs::File;
use std::path::Path;

use anyhow::{Context, Result};
use memmap2::Mmap;

/// Maps a file for reading.
pub fn map(path: &Path) -> Result<Mmap> {
    let file = File::open(path).with_context(|| format!("cannot open {}", path.display()))?;
    map_file(&file).with_context(|| format!("cannot map {}", path.display()))
}

/// Maps an open file for reading.
#[allow(unsafe_code)]
pub fn map_file(file: &File) -> std::io::Result<Mmap> {
    // SAFETY: the bytes must not change while they are mapped. This program writes every file under a temporary name and
    // renames it (see `write_atomic`), so a mapped file is replaced as a whole and its old bytes stay until the map is
    // dropped; scratch files have no name and one writer, which is done before they are mapped.
    unsafe { Mmap::map(file) }
}
