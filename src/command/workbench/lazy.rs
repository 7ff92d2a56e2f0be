//! Values that are loaded when they are first needed, and tables of files that are kept until the file changes.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::SystemTime;

use anyhow::{Context, Result};

use inkstone_base::message;

/// A value that is loaded when it is first needed. After an error it is loaded anew: what was missing may have come.
pub(super) struct Lazy<T> {
    loaded: OnceLock<T>,
}

impl<T> Default for Lazy<T> {
    fn default() -> Lazy<T> {
        Lazy { loaded: OnceLock::new() }
    }
}

impl<T> Lazy<T> {
    pub(super) fn get_or_load(&self, load: impl FnOnce() -> Result<T>) -> Result<&T> {
        if let Some(loaded) = self.loaded.get() {
            return Ok(loaded);
        }
        let loaded = load()?;
        Ok(self.loaded.get_or_init(|| loaded))
    }

    /// The value, if it was loaded.
    pub(super) fn get(&self) -> Option<&T> {
        self.loaded.get()
    }
}

/// The content of the last file that was asked for, kept until the file changes.
pub(super) struct LastFile<T> {
    last: Mutex<Option<(FileStamp, Arc<T>)>>,
}

impl<T> Default for LastFile<T> {
    fn default() -> LastFile<T> {
        LastFile { last: Mutex::default() }
    }
}

/// A file as it was when it was read; another run may write it anew.
#[derive(PartialEq)]
struct FileStamp {
    path: PathBuf,
    written: SystemTime,
}

impl FileStamp {
    fn read(path: &Path) -> Result<FileStamp> {
        let written = path.metadata().and_then(|m| m.modified());
        let written = written.with_context(|| message!("无法查看 {}", "cannot look at {}", path.display()))?;
        Ok(FileStamp { path: path.to_owned(), written })
    }
}

impl<T> LastFile<T> {
    /// The content that `read` makes of a file; none where the file does not exist.
    pub(super) fn get(&self, path: &Path, read: impl FnOnce(&Path) -> Result<T>) -> Result<Option<Arc<T>>> {
        if !path.exists() {
            return Ok(None);
        }
        let stamp = FileStamp::read(path)?;
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, kept)) = last.as_ref().filter(|(read, _)| *read == stamp) {
            return Ok(Some(kept.clone()));
        }
        let made = Arc::new(read(path)?);
        *last = Some((stamp, made.clone()));
        Ok(Some(made))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_is_forgotten_and_a_value_is_kept() {
        let lazy: Lazy<u8> = Lazy::default();
        assert_eq!(lazy.get_or_load(|| anyhow::bail!("not yet")).unwrap_err().to_string(), "not yet");
        assert_eq!((lazy.get(), *lazy.get_or_load(|| Ok(7)).unwrap()), (None, 7));
        assert_eq!(*lazy.get_or_load(|| anyhow::bail!("loaded twice")).unwrap(), 7);
    }

    #[test]
    fn a_file_is_read_again_when_it_has_changed() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("table");
        let kept: LastFile<String> = LastFile::default();
        let read = |path: &Path| Ok(std::fs::read_to_string(path)?);
        assert_eq!(kept.get(&path, read).unwrap(), None);
        std::fs::write(&path, "a").unwrap();
        assert_eq!(kept.get(&path, read).unwrap().unwrap().as_str(), "a");
        assert_eq!(kept.get(&path, |_| anyhow::bail!("read twice")).unwrap().unwrap().as_str(), "a");
        std::fs::write(&path, "b").unwrap();
        std::fs::File::open(&path).unwrap().set_modified(SystemTime::UNIX_EPOCH).unwrap();
        assert_eq!(kept.get(&path, read).unwrap().unwrap().as_str(), "b");
    }
}
