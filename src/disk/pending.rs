//! Files that are written as their content comes, and appear under their name when they are whole.

use std::fs::File;
use std::io::{BufWriter, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use memmap2::Mmap;
use tempfile::TempPath;

use super::{folder_of, make_dir, map_file};
use crate::data::Key;

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
        let named = temporary_for(path);
        let (file, temporary) = named.with_context(|| format!("cannot write {}", path.display()))?;
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
        // The rename itself is durable once the folder is on disk.
        sync_folder(folder_of(&self.path));
        Ok(())
    }
}

/// Brings the names in a folder to the disk, where the file system lets folders be opened for that.
pub(crate) fn sync_folder(folder: &Path) {
    if let Ok(folder) = File::open(folder) {
        let _ = folder.sync_all();
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

/// A temporary file beside `path`. Whoever writes a file first takes away what a killed writer of the same file left; of a writer that
/// is alive, which shows by its lock, it stays.
fn temporary_for(path: &Path) -> std::io::Result<(File, TempPath)> {
    let parent = folder_of(path);
    #[cfg(unix)]
    {
        let name = path.file_name().unwrap_or_default().as_encoded_bytes();
        let usual = parent.join(format!(".tmp-{}", Key::of(name).hex()));
        if let Some(file) = claimed(&usual) {
            return Ok((file, TempPath::try_from_path(usual)?));
        }
    }
    Ok(tempfile::Builder::new().prefix(".tmp-").tempfile_in(parent)?.into_parts())
}

/// The new file of this name, locked; none where another writer has it, and where the file system knows no locks.
#[cfg(unix)]
fn claimed(path: &Path) -> Option<File> {
    use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
    // Between two steps another writer may have put another file under the name: only who holds the lock of the one that is there may go on.
    let held = |file: &File| {
        let (Ok(()), Ok(own), Ok(there)) = (file.try_lock(), file.metadata(), std::fs::metadata(path)) else {
            return false;
        };
        (own.dev(), own.ino()) == (there.dev(), there.ino())
    };
    if let Ok(left) = File::open(path) {
        if !held(&left) {
            return None;
        }
        std::fs::remove_file(path).ok()?;
    }
    let file = File::options().read(true).write(true).create_new(true).mode(0o600).open(path).ok()?;
    held(&file).then_some(file)
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

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    fn count(dir: &tempfile::TempDir) -> usize {
        std::fs::read_dir(dir.path()).unwrap().count()
    }

    #[test]
    fn what_a_killed_writer_left_goes_with_the_next_and_a_living_one_is_left_alone() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("table");
        // A killed process drops nothing; its locks go with it.
        let mut killed = Pending::create(&path).unwrap();
        killed.out().write_all(b"half").unwrap();
        let Pending { out, temporary, .. } = killed;
        temporary.keep().unwrap();
        drop(out);
        assert_eq!(count(&dir), 1);
        let mut first = Pending::create(&path).unwrap();
        assert_eq!(count(&dir), 1, "the leftover is gone");
        let mut second = Pending::create(&path).unwrap();
        assert_eq!(count(&dir), 2, "two writers have a file each");
        first.out().write_all(b"first").unwrap();
        second.out().write_all(b"second").unwrap();
        first.finish().unwrap();
        let third = Pending::create(&path).unwrap();
        second.finish().unwrap();
        drop(third);
        assert_eq!((std::fs::read(&path).unwrap(), count(&dir)), (b"second".to_vec(), 1));
    }

    #[test]
    fn many_writers_of_one_file_leave_one_whole_file() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("table");
        std::thread::scope(|scope| {
            for writer in 0..8u8 {
                let path = &path;
                scope.spawn(move || {
                    for _ in 0..50 {
                        let mut pending = Pending::create(path).unwrap();
                        pending.out().write_all(&[writer; 1000]).unwrap();
                        pending.finish().unwrap();
                    }
                });
            }
        });
        let bytes = std::fs::read(&path).unwrap();
        assert!(bytes.len() == 1000 && bytes.iter().all(|byte| *byte == bytes[0]) && count(&dir) == 1);
    }
}
