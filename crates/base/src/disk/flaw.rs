//! Flaws of files that this program wrote, as errors that name the way out.

use std::cmp::Ordering;
use std::fmt;
use std::path::{Path, PathBuf};

use super::FORMAT;

use crate::language::Word;
use crate::message;

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
            Flaw::Missing => Word("不见了", "is gone").fmt(f),
            Flaw::CutShort => Word("不完整", "is cut short").fmt(f),
            Flaw::Altered => {
                Word("已损坏：字节与写入时不同", "is damaged: its bytes are not those that were written").fmt(f)
            }
            Flaw::Exchanged => Word(
                "不是最后写入的文件：被换成了另一个",
                "is not the file that was written last: another was put in its place",
            )
            .fmt(f),
            Flaw::Surplus => Word("多出一份", "is one part too many").fmt(f),
            Flaw::OtherRows => {
                Word("所述文档数与语料该份不同", "does not tell of as many documents as the corpus has in that part")
                    .fmt(f)
            }
            Flaw::Unsealed => {
                Word("没有校验：已损坏，或由其他程序写成", "has no seal: it is damaged, or another program wrote it")
                    .fmt(f)
            }
            Flaw::Older(format) => message!(
                "由旧版本写成（格式 {format}；本版本读取格式 {FORMAT}）",
                "was written by an older version (format {format}; this one reads format {FORMAT})"
            )
            .fmt(f),
            Flaw::Newer(format) => message!(
                "由新版本写成（格式 {format}；本版本读取格式 {FORMAT}）",
                "was written by a newer version (format {format}; this one reads format {FORMAT})"
            )
            .fmt(f),
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
            Flaw::Newer(_) => Word(
                "请用该版本，或换一个文件夹（[project] dir）",
                "use that version, or another folder ([project] dir)",
            ),
            _ => Word("运行 inkstone run 即可重新生成", "inkstone run makes it again"),
        };
        write!(f, "{} {} ({way_out})", self.path.display(), self.flaw)
    }
}

impl std::error::Error for Damage {}
