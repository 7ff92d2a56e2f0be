//! Files that are written as their content comes, and appear under their name when they are whole.
//!
//! # What a loss of power can take
//!
//! A kill of the process takes nothing that was written: the system keeps it. A loss of power takes whatever was not brought to the
//! disk by `fsync`, in any order. The promises after a loss of power, and the calls that keep them:
//!
//! | promised | when | carried by |
//! |---|---|---|
//! | a folder | [`super::make_dir`] returns | `fsync` of the folder above each one that was made |
//! | a file under its name: the old content or all of the new | [`Pending::finish`] returns | `fsync` of the file, then the rename, then `fsync` of its folder |
//! | a move or removal that a later file tells of | that file is written | [`sync_folder`] of the folders concerned before it is (`ingest/commit`) |
//! | rows of a batch in the feature store | `Writer::flush`, at the latest a second after the batch was kept | `fsync` of their files and folders, then of the database that notes them |
//! | a finished feature set | `Writer::finish` returns | the same, then its header, which is a file as above |
//! | a line of the ledger | `Journal::append` returns | `fsync` of the frames in `copy`, then of the database |
//!
//! So nothing on the disk tells of something that is not there yet, except a note of a batch whose writer was stopped: such a batch is
//! read and checked before it counts. Scratch files, locks and crash reports promise nothing and are not synchronised. Where a file
//! system cannot synchronise folders, its own order has to do; every other failure of `fsync` is an error.

use std::fs::File;
use std::io::{self, BufWriter, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use memmap2::Mmap;
use tempfile::TempPath;

use super::{folder_of, make_dir, map_file};
#[cfg(unix)]
use crate::data::Key;
use crate::language::Word;
use crate::message;

/// Bytes gathered before they are written.
const BUFFER: usize = 1 << 18;

/// A file under a temporary name beside its place. [`Pending::finish`] gives it its name; dropped before, it leaves nothing,
/// and the file that was there stays as it was.
///
/// A new file gets the permissions that the umask and the folder give; one that replaces another keeps the other's permissions, and is
/// private to its owner until then.
pub struct Pending {
    path: PathBuf,
    out: BufWriter<File>,
    temporary: TempPath,
}

impl Pending {
    /// Creates a file, and the folders on its path.
    pub fn create(path: &Path) -> Result<Pending> {
        let parent = folder_of(path);
        make_dir(parent)?;
        let named = temporary_for(path);
        let (file, temporary) = named.with_context(|| message!("无法写入 {}", "cannot write {}", path.display()))?;
        Ok(Pending { path: path.to_owned(), out: BufWriter::with_capacity(BUFFER, file), temporary })
    }

    /// Path of the file when it is finished.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The writer of its content.
    pub fn out(&mut self) -> &mut BufWriter<File> {
        &mut self.out
    }

    /// Brings all to the disk and gives the file its name.
    pub fn finish(mut self) -> Result<()> {
        let cannot = || message!("无法写入 {}", "cannot write {}", self.path.display());
        self.out.flush().with_context(cannot)?;
        let file = self.out.get_ref();
        keep_permissions(file, &self.path).with_context(cannot)?;
        file.sync_all().with_context(cannot)?;
        self.temporary.persist(&self.path).map_err(|e| e.error).with_context(cannot)?;
        sync_folder(folder_of(&self.path)).with_context(cannot)
    }
}

/// Brings the names in a folder to the disk. A folder that the system cannot synchronise, or does not open for that, is passed over.
pub fn sync_folder(folder: &Path) -> Result<()> {
    let cannot =
        || message!("无法把 {} 中的文件名写入磁盘", "cannot bring the names in {} to the disk", folder.display());
    let opened = match File::open(folder) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => return Ok(()),
        opened => opened.with_context(cannot)?,
    };
    match opened.sync_all() {
        Err(error) if matches!(error.kind(), io::ErrorKind::InvalidInput | io::ErrorKind::Unsupported) => Ok(()),
        synced => synced.with_context(cannot),
    }
}

/// Makes a folder and those above it that are missing, and brings their names to the disk.
pub(super) fn make_folders(path: &Path) -> Result<()> {
    if path.as_os_str().is_empty() || path.is_dir() {
        return Ok(());
    }
    let above = folder_of(path);
    let mut made = std::fs::create_dir(path);
    if made.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::NotFound) && above != path {
        make_folders(above)?;
        made = std::fs::create_dir(path);
    }
    match made {
        // Another thread or process was faster.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists && path.is_dir() => {}
        made => made?,
    }
    sync_folder(above)
}

/// Gives a file the permissions of the file that it will replace, and its group if the system allows it. If not, the new group gets only
/// the rights that everybody has.
fn keep_permissions(file: &File, path: &Path) -> io::Result<()> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::{MetadataExt, PermissionsExt, fchown};
        let Ok(replaced) = std::fs::metadata(path) else { return Ok(()) };
        let own = file.metadata()?;
        let mut mode = replaced.mode() & 0o777;
        if replaced.gid() != own.gid() && fchown(file, None, Some(replaced.gid())).is_err() {
            mode = mode & 0o707 | (mode & 0o007) << 3;
        }
        if mode != own.mode() & 0o777 {
            file.set_permissions(std::fs::Permissions::from_mode(mode))?;
        }
    }
    #[cfg(not(unix))]
    let _ = (file, path);
    Ok(())
}

/// Prepares names and permissions of temporary files: with `usual`, those that a file gets which replaces none; without, private ones.
pub fn temporary(usual: bool) -> tempfile::Builder<'static, 'static> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(".tmp-");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        // The system takes away what the umask forbids.
        builder.permissions(std::fs::Permissions::from_mode(if usual { 0o666 } else { 0o600 }));
    }
    #[cfg(not(unix))]
    let _ = usual;
    builder
}

/// A temporary file beside `path`. The leftover of a killed writer of the same file is removed first; the temporary file of a living
/// writer, which holds a lock on it, stays.
fn temporary_for(path: &Path) -> io::Result<(File, TempPath)> {
    let is_new = !path.exists();
    #[cfg(unix)]
    {
        let name = temporary_name(path);
        if let Some(file) = claimed(&name, if is_new { 0o666 } else { 0o600 }) {
            return Ok((file, TempPath::try_from_path(name)?));
        }
    }
    Ok(temporary(is_new).tempfile_in(folder_of(path))?.into_parts())
}

/// The temporary name of the first writer of a file.
#[cfg(unix)]
fn temporary_name(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default().as_encoded_bytes();
    folder_of(path).join(format!(".tmp-{}", Key::of(name).hex()))
}

/// Removes what a killed writer of this file left. The temporary file of a writer that is alive stays.
pub fn sweep_file(path: &Path) -> Result<()> {
    #[cfg(unix)]
    {
        let name = temporary_name(path);
        if let Some(_left) = locked(File::options().read(true), &name) {
            super::remove_if_there(&name)
                .context(Word("中断的运行留下的文件没有清除", "a leftover of an interrupted run stays"))?;
        }
    }
    #[cfg(not(unix))]
    let _ = path;
    Ok(())
}

/// The new file of this name, locked; none where something else has the name, and where the file system knows no locks.
#[cfg(unix)]
fn claimed(path: &Path, mode: u32) -> Option<File> {
    use std::os::unix::fs::OpenOptionsExt;
    if std::fs::symlink_metadata(path).is_ok() {
        let _left = locked(File::options().read(true), path)?;
        std::fs::remove_file(path).ok()?;
    }
    locked(File::options().read(true).write(true).create_new(true).mode(mode), path)
}

/// Opens and locks a file. None for a link, a pipe or a folder, and where another has the lock.
#[cfg(unix)]
fn locked(options: &mut std::fs::OpenOptions, path: &Path) -> Option<File> {
    let file = open_plain(options, path).ok()?;
    // Between two steps another writer may have put another file under the name.
    (file.try_lock().is_ok() && is_at(&file, path)).then_some(file)
}

/// Opens a file, and nothing else: never follows a link in its last place, and never waits at a pipe.
pub fn open_plain(options: &mut std::fs::OpenOptions, path: &Path) -> io::Result<File> {
    #[cfg(unix)]
    {
        use rustix::fs::OFlags;
        use std::os::unix::fs::OpenOptionsExt;
        options.custom_flags((OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed());
    }
    let file = options.open(path)?;
    match file.metadata()?.is_file() {
        true => Ok(file),
        false => Err(io::Error::new(io::ErrorKind::InvalidInput, Word("它不是文件", "it is no file"))),
    }
}

/// True if an open file is still the one under its name.
pub(crate) fn is_at(file: &File, path: &Path) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        let (Ok(own), Ok(there)) = (file.metadata(), std::fs::symlink_metadata(path)) else { return false };
        (own.dev(), own.ino()) == (there.dev(), there.ino())
    }
    #[cfg(not(unix))]
    {
        // The system lets nobody remove a file that is open.
        let _ = (file, path);
        true
    }
}

/// A file without a name for what does not fit in memory; it is gone when it is dropped, or the program is killed.
pub struct Scratch {
    out: BufWriter<File>,
    written: u64,
}

impl Scratch {
    /// Creates a scratch file in the folder of `path`, which is on a disk large enough for what will be written there.
    pub fn beside(path: &Path) -> Result<Scratch> {
        Scratch::within(folder_of(path))
    }

    /// Creates a scratch file in a folder.
    pub fn within(folder: &Path) -> Result<Scratch> {
        make_dir(folder)?;
        let file = tempfile::tempfile_in(folder).with_context(|| {
            message!("无法在 {} 创建临时文件", "cannot make a scratch file in {}", folder.display())
        })?;
        Ok(Scratch { out: BufWriter::with_capacity(BUFFER, file), written: 0 })
    }

    pub fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.written += bytes.len() as u64;
        self.out
            .write_all(bytes)
            .context(Word("无法写入临时文件（磁盘满了？）", "cannot write a scratch file (is the disk full?)"))
    }

    pub fn written(&self) -> u64 {
        self.written
    }

    /// All that was written, as memory; `None` when that is nothing.
    pub fn map(self) -> Result<Option<Mmap>> {
        if self.written == 0 {
            return Ok(None);
        }
        Ok(Some(map_file(&self.into_file()?).context(Word("无法映射临时文件", "cannot map a scratch file"))?))
    }

    /// All that was written, as a file at its beginning.
    pub fn into_file(self) -> Result<File> {
        let mut file = self
            .out
            .into_inner()
            .map_err(|error| error.into_error())
            .context(Word("无法写入临时文件（磁盘满了？）", "cannot write a scratch file (is the disk full?)"))?;
        file.seek(SeekFrom::Start(0))?;
        Ok(file)
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
    fn a_file_keeps_the_permissions_of_the_one_that_it_replaces_and_a_new_one_follows_the_umask() {
        use std::os::unix::fs::PermissionsExt;
        let dir = tempfile::tempdir().unwrap();
        let mode = |name: &str| std::fs::metadata(dir.path().join(name)).unwrap().permissions().mode() & 0o777;
        // Whatever the umask is, the system itself has applied it here.
        File::create(dir.path().join("usual")).unwrap();
        for kept in [0o600, 0o664, 0o640, 0o400] {
            let path = dir.path().join("config");
            std::fs::write(&path, "old").unwrap();
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(kept)).unwrap();
            let pending = Pending::create(&path).unwrap();
            let begun = pending.out.get_ref().metadata().unwrap().permissions().mode() & 0o777;
            assert_eq!(begun & !0o600, 0, "others read it before it is finished: {begun:o}");
            pending.finish().unwrap();
            assert_eq!((mode("config"), std::fs::read(&path).unwrap().len()), (kept, 0));
            std::fs::remove_file(path).unwrap();
        }
        let path = dir.path().join("new");
        let [first, second] = [(); 2].map(|()| Pending::create(&path).unwrap());
        first.finish().unwrap();
        assert_eq!(mode("new"), mode("usual"));
        std::fs::remove_file(&path).unwrap();
        second.finish().unwrap();
        assert_eq!(mode("new"), mode("usual"));
    }

    #[test]
    fn a_pipe_or_a_link_under_the_temporary_name_neither_holds_a_writer_up_nor_is_written_to() {
        let dir = tempfile::tempdir().unwrap();
        let (path, theirs) = (dir.path().join("table"), dir.path().join("theirs"));
        let name = temporary_name(&path);
        std::fs::write(&theirs, "mine").unwrap();
        let pipe = || rustix::fs::mkfifoat(rustix::fs::CWD, &name, 0o600.into()).unwrap();
        for put in [&pipe as &dyn Fn(), &|| std::os::unix::fs::symlink(&theirs, &name).unwrap()] {
            put();
            let (sender, written) = std::sync::mpsc::channel();
            let path = path.clone();
            std::thread::spawn(move || {
                let mut pending = Pending::create(&path).unwrap();
                pending.out().write_all(b"whole").unwrap();
                pending.finish().unwrap();
                sweep_file(&path).unwrap();
                sender.send(std::fs::read(&path).unwrap()).unwrap();
            });
            let written = written.recv_timeout(std::time::Duration::from_secs(20));
            assert_eq!(written.expect("the writer waits at the pipe"), b"whole");
            assert_eq!(std::fs::read(&theirs).unwrap(), b"mine");
            std::fs::remove_file(&name).expect("what is not ours stays");
        }
    }

    #[test]
    fn a_folder_that_cannot_be_synchronised_is_told() {
        let dir = tempfile::tempdir().unwrap();
        sync_folder(dir.path()).unwrap();
        let error = format!("{:#}", sync_folder(&dir.path().join("gone")).unwrap_err());
        assert!(error.contains("cannot bring the names in ") && error.contains("gone"), "{error}");
        // Nothing there that knows of files to be synchronised.
        sync_folder(Path::new("/proc/self")).unwrap();
    }

    #[test]
    fn folders_are_made_down_to_the_last_and_a_file_in_the_way_is_told() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a/b/../c");
        make_folders(&path).unwrap();
        make_folders(&path).unwrap();
        assert!(dir.path().join("a/c").is_dir());
        std::fs::write(dir.path().join("file"), "").unwrap();
        for path in ["file", "file/below"] {
            make_folders(&dir.path().join(path)).unwrap_err();
        }
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
