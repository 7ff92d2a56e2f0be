//! Files that are written as their content comes, and appear under their name when they are whole.

use std::fs::File;
use std::io::{BufWriter, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use memmap2::Mmap;
use tempfile::TempPath;

use super::{folder_of, make_dir, map_file};

/// Bytes gathered before they are written.
const BUFFER: usize = 1 << 18;

/// A file under a temporary name beside its place. [`Pending::finish`] gives it its name; dropped before, it leaves nothing,
/// and the file that was there stays as it was.
pub struct Pending {
    path: PathBuf,
    out: BufWriter<File>,
    temporary: TempPath,
}

impl Pending {
    /// Begins a file. Folders on the way are made.
    pub fn create(path: &Path) -> Result<Pending> {
        let parent = folder_of(path);
        make_dir(parent)?;
        let named = tempfile::Builder::new().prefix(".tmp-").tempfile_in(parent);
        let (file, temporary) = named.with_context(|| format!("cannot write {}", path.display()))?.into_parts();
        Ok(Pending { path: path.to_owned(), out: BufWriter::with_capacity(BUFFER, file), temporary })
    }

    /// Where the file will be.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What is written to.
    pub fn out(&mut self) -> &mut BufWriter<File> {
        &mut self.out
    }

    /// Brings all to the disk and gives the file its name.
    pub fn finish(mut self) -> Result<()> {
        let cannot = || format!("cannot write {}", self.path.display());
        self.out.flush().with_context(cannot)?;
        let file = self.out.get_ref();
        file.sync_all().with_context(cannot)?;
        make_readable(file).with_context(cannot)?;
        self.temporary.persist(&self.path).map_err(|e| e.error).with_context(cannot)?;
        // The rename itself is durable once the folder is on disk; some file systems refuse to open folders for that.
        if let Ok(folder) = File::open(folder_of(&self.path)) {
            let _ = folder.sync_all();
        }
        Ok(())
    }
}

/// A temporary file is private to its owner; a finished one has the usual permissions.
pub(crate) fn make_readable(file: &File) -> std::io::Result<()> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        file.set_permissions(std::fs::Permissions::from_mode(0o644))?;
    }
    Ok(())
}

/// A file without a name for what does not fit in memory; it is gone when it is dropped, or the program is killed.
pub struct Scratch {
    out: BufWriter<File>,
    written: u64,
}

impl Scratch {
    /// Begins a scratch file in the folder of `path`, which is on a disk large enough for what will be written there.
    pub fn beside(path: &Path) -> Result<Scratch> {
        Scratch::within(folder_of(path))
    }

    /// Begins a scratch file in a folder.
    pub fn within(folder: &Path) -> Result<Scratch> {
        make_dir(folder)?;
        let file = tempfile::tempfile_in(folder)
            .with_context(|| format!("cannot make a scratch file in {}", folder.display()))?;
        Ok(Scratch { out: BufWriter::with_capacity(BUFFER, file), written: 0 })
    }

    /// Adds bytes.
    pub fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.written += bytes.len() as u64;
        self.out.write_all(bytes).context("cannot write a scratch file (is the disk full?)")
    }

    /// Bytes written so far.
    pub fn written(&self) -> u64 {
        self.written
    }

    /// All that was written, as memory; `None` when that is nothing.
    pub fn map(self) -> Result<Option<Mmap>> {
        if self.written == 0 {
            return Ok(None);
        }
        let mut file = self.out.into_inner().context("cannot write a scratch file (is the disk full?)")?;
        file.seek(SeekFrom::Start(0))?;
        Ok(Some(map_file(&file).context("cannot map a scratch file")?))
    }
}
