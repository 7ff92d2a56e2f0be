//! An input that can be read more than once, also when it is the standard input.

use std::fs::File;
use std::io::{BufReader, Read, Write, stdin};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use super::{LineFormat, Lines};
use inkstone_base::job::Ctx;
use inkstone_base::language::Word;

/// Bytes of the standard input that are copied between two checks for cancellation.
const PIECE: usize = 1 << 16;

/// A plain file for models that read it in several passes. The standard input is kept in a temporary file, which has no
/// name and goes with the process.
pub struct Source {
    path: PathBuf,
    format: LineFormat,
    kept: Option<File>,
}

impl Source {
    /// Makes a file ready, or the standard input (`-`), which is read to its end.
    pub fn open(path: &Path, format: LineFormat, ctx: &Ctx) -> Result<Source> {
        let kept = if path.as_os_str() == "-" { Some(keep(stdin().lock(), ctx)?) } else { None };
        Ok(Source { path: path.to_owned(), format, kept })
    }

    /// All lines from the first on.
    pub fn lines(&self) -> Result<Lines> {
        match &self.kept {
            None => Lines::open(&self.path, self.format),
            Some(kept) => {
                let again =
                    kept.try_clone().context(Word("无法读取留存的标准输入", "cannot read the kept standard input"))?;
                Ok(Lines::new(BufReader::with_capacity(PIECE, FromStart { file: again, at: 0 }), self.format))
            }
        }
    }
}

fn keep(mut input: impl Read, ctx: &Ctx) -> Result<File> {
    let cannot = Word(
        "无法把标准输入存入临时文件；TMPDIR 可指定其文件夹",
        "cannot keep the standard input in a temporary file; TMPDIR names their folder",
    );
    let mut file = tempfile::tempfile().context(cannot)?;
    let mut piece = vec![0; PIECE];
    loop {
        ctx.check()?;
        let n = input.read(&mut piece).context(Word("无法读取标准输入", "cannot read the standard input"))?;
        if n == 0 {
            return Ok(file);
        }
        file.write_all(&piece[..n]).context(cannot)?;
    }
}

/// Reads a file from its start whatever others that share it do: clones of a file have one position.
struct FromStart {
    file: File,
    at: u64,
}

impl Read for FromStart {
    #[cfg(unix)]
    fn read(&mut self, bytes: &mut [u8]) -> std::io::Result<usize> {
        let n = std::os::unix::fs::FileExt::read_at(&self.file, bytes, self.at)?;
        self.at += n as u64;
        Ok(n)
    }

    #[cfg(windows)]
    fn read(&mut self, bytes: &mut [u8]) -> std::io::Result<usize> {
        let n = std::os::windows::fs::FileExt::seek_read(&self.file, bytes, self.at)?;
        self.at += n as u64;
        Ok(n)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::standalone::Block;

    #[test]
    fn what_was_kept_is_read_from_the_start_each_time() {
        let ctx = Ctx::new(1, 1).unwrap();
        let text = "一\n二\n".repeat(PIECE);
        let kept = keep(text.as_bytes(), &ctx).unwrap();
        let source = Source { path: "-".into(), format: LineFormat::Text, kept: Some(kept) };
        for _ in 0..2 {
            let mut lines = source.lines().unwrap();
            let mut block = Block::default();
            let mut bytes = 0;
            while lines.next_block(&mut block, 1 << 20).unwrap() {
                bytes += block.bytes();
            }
            assert_eq!((bytes, lines.report().rows_in), (text.len(), 2 * PIECE as u64));
        }
        ctx.cancel();
        assert!(keep(text.as_bytes(), &ctx).is_err());
    }
}
