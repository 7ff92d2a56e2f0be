//! The rejects file: one JSON object a line for each row that was set aside, with the bytes it had in its file.

use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;

use anyhow::{Context, Result};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};

use crate::ingest::row::RowFault;

use inkstone_base::language::Word;
use inkstone_base::{ensure, message};

/// A row that was set aside.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Reject {
    pub source: String,
    /// Path of the file, relative to the configuration's folder; of a text file, its own.
    pub file: String,
    /// Number of the record in the file, from 1, the header not counted.
    pub row: u64,
    /// Column at fault; empty when it is the row as a whole.
    pub column: String,
    pub reason: String,
    /// The value at fault, its first 200 characters.
    pub value: String,
    /// The row's own bytes in base64 (for Parquet and Excel, which have none, its cells as JSON; for PDF, HTML and DOCX, whose file
    /// is there to be looked at, nothing).
    pub raw: String,
}

impl Reject {
    pub(super) fn new(source: &str, file: &str, row: u64, fault: RowFault, bytes: &[u8]) -> Reject {
        Reject {
            source: source.to_owned(),
            file: file.to_owned(),
            row,
            column: fault.column,
            reason: fault.reason,
            value: fault.value,
            raw: STANDARD.encode(bytes),
        }
    }

    pub(super) fn write(&self, out: &mut dyn Write) -> Result<()> {
        let mut line = serde_json::to_vec(self)?;
        line.push(b'\n');
        out.write_all(&line).context(Word("无法写入拒收记录", "cannot write the rejects"))
    }
}

/// Copies rejects line by line from a file in which those of each source file stand together.
pub(super) struct RejectLines {
    input: Option<BufReader<File>>,
    line: Vec<u8>,
}

impl RejectLines {
    /// Opens a rejects file; an absent one has no lines.
    pub(super) fn open(path: &Path) -> Result<RejectLines> {
        let open = || File::open(path).with_context(|| message!("无法打开 {}", "cannot open {}", path.display()));
        let input = if path.exists() { Some(BufReader::new(open()?)) } else { None };
        Ok(RejectLines { input, line: Vec::new() })
    }

    /// Passes over `skip` lines, then copies `count`.
    pub(super) fn copy(&mut self, skip: u64, count: u64, out: &mut impl Write) -> Result<()> {
        for i in 0..skip + count {
            self.line.clear();
            let read = match &mut self.input {
                Some(input) => input.read_until(b'\n', &mut self.line)?,
                None => 0,
            };
            ensure!(
                read > 0,
                "拒收文件的行数少于其日志所记；删除该日志即可重新读取全部数据",
                "the rejects file has fewer lines than its log says; remove the log to read everything again"
            );
            if i >= skip {
                out.write_all(&self.line)?;
            }
        }
        Ok(())
    }
}
