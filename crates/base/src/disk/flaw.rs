//! Flaws of files that this program wrote, as errors that name the way out.

use std::cmp::Ordering;
use std::fmt;
use std::path::{Path, PathBuf};

use super::FORMAT;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flaw {
    Missing,
    /// The end of the file is missing.
    CutShort,
    /// Bytes have changed since they were written.
    Altered,
    /// It is whole, but another than the file that was written last.
    Exchanged,
    /// There are more parts than were written, and this is one of them.
    Surplus,
    /// It has rows for another number of documents than the part of the corpus that it belongs to.
    OtherRows,
    /// It carries no seal.
    Unsealed,
    /// It is of a format before [`FORMAT`].
    Older(u32),
    /// It is of a format after [`FORMAT`].
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
            Flaw::Unsealed => f.write_str("has no seal: it is damaged, or another program wrote it"),
            Flaw::Older(format) => {
                write!(f, "was written by an older version (format {format}; this one reads format {FORMAT})")
            }
            Flaw::Newer(format) => {
                write!(f, "was written by a newer version (format {format}; this one reads format {FORMAT})")
            }
        }
    }
}

/// Fails for a format other than [`FORMAT`].
pub(super) fn check_format(format: u32) -> Result<(), Flaw> {
    match format.cmp(&FORMAT) {
        Ordering::Less => Err(Flaw::Older(format)),
        Ordering::Equal => Ok(()),
        Ordering::Greater => Err(Flaw::Newer(format)),
    }
}

/// A file that must not be used, and its flaw. Travels inside [`anyhow::Error`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Damage {
    pub path: PathBuf,
    pub flaw: Flaw,
}

impl Damage {
    pub fn new(path: &Path, flaw: Flaw) -> Damage {
        Damage { path: path.to_owned(), flaw }
    }

    /// Path, relative to `folder`, and flaw in one line, without the way out.
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
