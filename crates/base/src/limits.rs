//! Limits of input files, all in one place. A row or file beyond its limit is set aside or refused, with the limit in its reason.
//!
//! | what | limit | what happens |
//! |---|---|---|
//! | a row, an element of a JSON array, the text of a row of Parquet, a text or HTML file | [`RECORD`] | set aside with its place and beginning; an array ends there |
//! | a line of a plain file | [`LINE`] | set aside with its number |
//! | a quote that does not close | [`RECORD`] | its line is set aside, the next ones are read |
//! | columns of a table | [`COLUMNS`] | the file is refused |
//! | a row of a Parquet file with the pages that it lies in | [`PAGES`] and three quarters of the file | the file is refused |
//! | nested JSON | [`JSON_DEPTH`] | the row is set aside |
//! | nested XML of a DOCX | [`XML_DEPTH`] | the file is set aside |
//! | nested tables and articles of HTML and DOCX | [`TABLE_DEPTH`] | deeper ones are text and no tables |
//! | a file that is one document | [`FILE`] | the file is set aside |
//! | an unpacked PDF or DOCX | [`UNPACKED`] and the size of the file | the file is set aside |
//! | parts of an archive (XLSX, DOCX) | `ARCHIVE_PARTS` | the file is refused or set aside |
//! | an unpacked workbook | [`WORKBOOK`] | the file is refused |
//! | cells of a sheet, empty ones up to the last of a row included | [`CELLS`] | the file is refused |
//! | memory for the cells and texts of a workbook | [`HELD`] and three times the file | the file is refused |
//! | a text or a tag of a workbook | [`RECORD`] | the file is refused |
//! | things drawn on all pages of a PDF | [`DRAWN`] | the file is set aside |
//! | letters on a page of a PDF, pieces of text on all | [`GLYPHS`], [`FRAGMENTS`] | the file is set aside |
//! | pages of a PDF | `[ingest] max_pages` | the file is set aside |
//! | a compiled regular expression of the user's | `PATTERN` | the expression is an error |
//! | settings of a published model (config.json and its like) | [`SETTINGS`] | the model is refused |
//! | the header of a file of weights | [`WEIGHTS_HEADER`] | the model is refused |
//! | layers of a published model | [`LAYERS`] | the model is refused |

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use anyhow::{Context, Result};
use regex::{Regex, RegexBuilder};

use crate::{bail, message};

/// Bytes of a compiled regular expression: a repetition that is counted in thousands takes more.
pub(crate) const PATTERN: usize = 1 << 20;
/// Bytes of a row, of an element of a JSON array, of the text in a row of Parquet, and of a text or HTML file.
pub const RECORD: usize = 8 << 20;
/// Bytes of a line of a plain file, which may hold a whole corpus.
pub const LINE: usize = 64 << 20;
/// Bytes of a row set aside for its length that are kept.
pub const RECORD_KEPT: usize = 1 << 16;
pub const COLUMNS: usize = 10_000;
/// Bytes of the name of a column of JSON, the names that it is nested in included; values below longer ones are not looked at.
pub const COLUMN_NAME: usize = 1_000;
/// Arrays and objects of JSON inside one another. (The reader's own; here to be stated and tested.)
pub const JSON_DEPTH: usize = 127;
/// Elements of a DOCX inside one another.
pub const XML_DEPTH: usize = 1_000;
/// Tables, rows, cells and articles of HTML and DOCX inside one another.
pub const TABLE_DEPTH: usize = 256;
/// Bytes of a file that is one document.
pub const FILE: u64 = 256 << 20;
/// Bytes that a file that is one document may unpack to beyond its own size. What a PDF draws several times counts each time.
pub const UNPACKED: u64 = 96 << 20;
/// Files in an archive.
pub(crate) const ARCHIVE_PARTS: usize = 10_000;
/// Bytes that a workbook may unpack to.
pub const WORKBOOK: u64 = 1 << 30;
/// Bytes of memory that the cells and texts of a workbook may take beside three times its size.
pub const HELD: u64 = 192 << 20;
pub const CELLS: usize = 16_000_000;
/// Bytes of the unpacked pages in which a row of a Parquet file may lie, beside three quarters of the size of the file.
pub const PAGES: u64 = 44 << 20;
/// Things drawn on all pages of a PDF: letters, lines, pictures.
pub const DRAWN: usize = 4_000_000;
/// Letters on one page of a PDF; a page with more is no page of a document.
pub const GLYPHS: usize = 200_000;
/// Pieces of text, each apart from the others, on all pages of a PDF.
pub const FRAGMENTS: usize = 500_000;

/// Bytes of a JSON file that says how a published model is used. Read as JSON it takes some 16 times as much memory.
pub const SETTINGS: u64 = 8 << 20;
/// Bytes of the header of a file in the format safetensors, which names its tensors.
pub const WEIGHTS_HEADER: u64 = 16 << 20;
/// Layers of a published model.
pub const LAYERS: usize = 1_024;

/// Fails if the header of a file of `size` bytes in the format safetensors has more than [`WEIGHTS_HEADER`] bytes. A header that is said to be
/// longer than the file is damage, which the reader of the file names.
pub fn check_weights_header(path: &Path, header: u64, size: u64) -> Result<()> {
    if header > WEIGHTS_HEADER && header <= size {
        bail!(
            "{} 的张量目录有 {header} 字节，最多只读 {} MB",
            "{} names its tensors in {header} bytes, and {} MB are the most that is read",
            path.display(),
            WEIGHTS_HEADER >> 20
        );
    }
    Ok(())
}

/// Reads a JSON file that says how a published model is used, of at most [`SETTINGS`] bytes.
pub fn settings_file(path: &Path) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let file = File::open(path).and_then(|file| file.take(SETTINGS + 1).read_to_end(&mut bytes));
    file.with_context(|| message!("无法读取 {}", "cannot read {}", path.display()))?;
    if bytes.len() as u64 > SETTINGS {
        bail!(
            "{} 大于 {} MB，不可能是模型设置：请重新获取",
            "{} is larger than {} MB, which no settings of a model are: fetch it again",
            path.display(),
            SETTINGS >> 20
        );
    }
    Ok(bytes)
}

/// Compiles a regular expression of the user's.
pub fn pattern(pattern: &str) -> Result<Regex, regex::Error> {
    RegexBuilder::new(pattern).size_limit(PATTERN).build()
}

/// Bytes that a document of so many bytes may unpack to.
pub fn unpacked(file: u64) -> u64 {
    UNPACKED + file
}

/// First bytes of an entry in the directory of an archive.
const ENTRY: &[u8; 4] = b"PK\x01\x02";

/// Refuses an archive that has more files than `ARCHIVE_PARTS`, before its directory is read into memory. The entries are counted; the
/// number that the archive claims is not used.
pub fn check_archive(mut archive: impl Read) -> Result<()> {
    let (mut buffer, mut kept, mut entries) = (vec![0; 1 << 16], 0, 0);
    loop {
        let n = match archive.read(&mut buffer[kept..]) {
            Ok(0) => return Ok(()),
            Ok(n) => kept + n,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error.into()),
        };
        entries += buffer[..n].windows(ENTRY.len()).filter(|piece| piece == ENTRY).count();
        if entries > ARCHIVE_PARTS {
            bail!("压缩包中的文件超过 {ARCHIVE_PARTS} 个", "an archive of more than {ARCHIVE_PARTS} files");
        }
        // An entry may begin in one piece and end in the next.
        kept = n.min(ENTRY.len() - 1);
        buffer.copy_within(n - kept..n, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Gives a few bytes at a time.
    struct Slow<'a>(&'a [u8]);

    impl Read for Slow<'_> {
        fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
            let n = self.0.len().min(3).min(out.len());
            out[..n].copy_from_slice(&self.0[..n]);
            self.0 = &self.0[n..];
            Ok(n)
        }
    }

    #[test]
    fn files_of_an_archive_are_counted_wherever_its_pieces_end() {
        let archive = |n: usize| [b"PK\x03\x04".as_slice(), &b"PK\x01\x02..".repeat(n)].concat();
        for pad in 0..4 {
            let within = [vec![b'P'; pad], archive(ARCHIVE_PARTS)].concat();
            check_archive(Slow(&within)).unwrap();
            check_archive(within.as_slice()).unwrap();
            let over = [vec![b'P'; pad], archive(ARCHIVE_PARTS + 1)].concat();
            assert!(check_archive(Slow(&over)).is_err() && check_archive(over.as_slice()).is_err());
        }
    }
}
