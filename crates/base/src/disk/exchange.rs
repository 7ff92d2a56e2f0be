//! Two folders that exchange their names in one step.

use std::path::Path;

use anyhow::Result;

use crate::message;

/// Exchanges two folders in one step; `false` where the file system cannot.
pub fn exchange(a: &Path, b: &Path) -> Result<bool> {
    #[cfg(any(target_os = "linux", target_vendor = "apple"))]
    {
        use anyhow::Context;
        use rustix::fs::{CWD, RenameFlags, renameat_with};
        use rustix::io::Errno;
        match renameat_with(CWD, a, CWD, b, RenameFlags::EXCHANGE) {
            Ok(()) => Ok(true),
            Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => Ok(false),
            Err(error) => Err(error).with_context(|| message!("无法替换 {}", "cannot replace {}", b.display())),
        }
    }
    #[cfg(not(any(target_os = "linux", target_vendor = "apple")))]
    {
        let _ = (a, b);
        Ok(false)
    }
}
