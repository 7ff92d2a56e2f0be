//! Values that are loaded when they are first needed.

use std::sync::OnceLock;

use anyhow::{Result, anyhow};

/// A value that is loaded when it is first needed. An error is kept like a value.
pub(super) struct Lazy<T> {
    loaded: OnceLock<Result<T, String>>,
}

impl<T> Default for Lazy<T> {
    fn default() -> Lazy<T> {
        Lazy { loaded: OnceLock::new() }
    }
}

impl<T> Lazy<T> {
    pub(super) fn get_or_load(&self, load: impl FnOnce() -> Result<T>) -> Result<&T> {
        let loaded = self.loaded.get_or_init(|| load().map_err(|error| format!("{error:#}")));
        loaded.as_ref().map_err(|error| anyhow!("{error}"))
    }

    /// The value, if it was loaded.
    pub(super) fn get(&self) -> Option<&T> {
        self.loaded.get()?.as_ref().ok()
    }
}
