//! What can be wrong with a file that this program wrote, in words that name the way out.

use std::fmt;
use std::path::{Path, PathBuf};

use super::FORMAT;

/// What is wrong with a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flaw {
    /// There is no such file.
    Missing,
    /// Its end is not there.
    CutShort,
    /// Bytes have changed since they were written.
    Altered,
    /// It is whole, but not the file that was written last.
    Exchanged,
    /// It is one more than there should be.
    Surplus,
    /// It tells of another number of documents than the part of the corpus that it belongs to.
    OtherRows,
    /// It carries no seal.
    Unsealed,
    /// It is of a later format than [`FORMAT`].
    Newer(u32),
}

impl fmt::Display for Flaw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Flaw::Missing => f.write_str("is gone"),
            Flaw::CutShort => f.write_str("is cut short"),
            Flaw::Altered => f.write_str("is damaged: its bytes are not those that were written"),
            Flaw::Exchanged => f.write_str("is not the file that was written last: another was put in its place"),
            Flaw::Surplus => f.write_str("is one part too many"),
            Flaw::OtherRows => f.write_str("does not tell of as many documents as the corpus has in that part"),
            Flaw::Unsealed => f.write_str("has no seal: an older version wrote it, or it is damaged"),
            Flaw::Newer(format) => {
                write!(f, "was written by a newer version (format {format}; this one reads up to {FORMAT})")
            }
        }
    }
}

/// A file that must not be read on, and why. Travels inside [`anyhow::Error`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Damage {
    /// The file.
    pub path: PathBuf,
    /// What is wrong with it.
    pub flaw: Flaw,
}

impl Damage {
    pub fn new(path: &Path, flaw: Flaw) -> Damage {
        Damage { path: path.to_owned(), flaw }
    }

    /// The same in one line, the path seen from `folder`, without the way out.
    pub fn within(&self, folder: &Path) -> String {
        format!("{} {}", self.path.strip_prefix(folder).unwrap_or(&self.path).display(), self.flaw)
    }
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let way_out = match self.flaw {
            Flaw::Newer(_) => "use that version, or another folder ([project] dir)",
            _ => "inkstone run makes it again",
        };
        write!(f, "{} {} ({way_out})", self.path.display(), self.flaw)
    }
}

impl std::error::Error for Damage {}
