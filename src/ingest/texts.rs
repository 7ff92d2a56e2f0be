//! Text files, one document each: the file's name is its id, a few `标题:` lines at its head are its fields, the rest its body.

use std::collections::BTreeMap;
use std::fs;
use std::io::Cursor;
use std::path::PathBuf;

use anyhow::{Context, Result};
use rayon::prelude::*;

use crate::ingest::encoding::{self, Charset};
use crate::ingest::reader::{Cells, Fault, Row};
use crate::ingest::reason;
use crate::ingest::records::RECORD_LIMIT;

/// Files read at a time.
const BATCH: usize = 256;

/// Names of the head lines, by column.
const HEAD: &[(&str, &[&str])] = &[
    ("title", &["标题", "题目", "title"]),
    ("published_at", &["时间", "日期", "发布时间", "发布日期", "date", "time", "published_at"]),
    ("codes", &["代码", "证券代码", "股票代码", "code", "codes"]),
    ("author", &["作者", "研究员", "分析师", "author"]),
    ("org", &["机构", "来源", "org"]),
    ("rating", &["评级", "投资评级", "rating"]),
];

/// A list of text files read as rows.
pub(super) struct TextFiles {
    /// Path, and the document's id.
    files: Vec<(PathBuf, String)>,
    declared: Option<Charset>,
    given: usize,
    encodings: BTreeMap<String, u64>,
}

impl TextFiles {
    /// The columns of such rows.
    pub(super) const COLUMNS: [&'static str; 8] =
        ["id", "title", "body", "published_at", "codes", "author", "org", "rating"];

    pub(super) fn new(files: Vec<(PathBuf, String)>, declared: Option<Charset>) -> TextFiles {
        TextFiles { files, declared, given: 0, encodings: BTreeMap::new() }
    }

    pub(super) fn encodings(&self) -> Vec<(String, u64)> {
        self.encodings.iter().map(|(name, n)| (name.clone(), *n)).collect()
    }

    pub(super) fn next_batch(&mut self) -> Result<Vec<Row>> {
        let end = self.files.len().min(self.given + BATCH);
        let files = &self.files[self.given..end];
        let first = self.given;
        let read: Vec<(Row, Option<String>)> = files
            .par_iter()
            .enumerate()
            .map(|(i, (path, id))| {
                let bytes = fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
                let (cells, encoding) = cells_of(&bytes, id, self.declared);
                Ok((Row { number: (first + i + 1) as u64, cells, bytes }, encoding))
            })
            .collect::<Result<_>>()?;
        self.given = end;
        let count = |(row, encoding): (Row, Option<String>)| {
            encoding.into_iter().for_each(|e| *self.encodings.entry(e).or_default() += 1);
            row
        };
        Ok(read.into_iter().map(count).collect())
    }
}

fn cells_of(bytes: &[u8], id: &str, declared: Option<Charset>) -> (Result<Cells, Fault>, Option<String>) {
    if bytes.len() > RECORD_LIMIT {
        return (Err(Fault::new("", "record over 8 MB", id)), None);
    }
    let encoded = match encoding::detect(&mut Cursor::new(bytes), declared) {
        Ok(encoded) => encoded,
        Err(error) => return (Err(Fault::new("", format!("{error:#}"), id)), None),
    };
    let charset = encoded.charset();
    let content = &bytes[encoded.bom_len() as usize..];
    let mut utf8 = Vec::new();
    let text = if charset.is_utf16() {
        let read = std::io::Read::read_to_end(&mut encoding::Utf16Reader::new(content, charset), &mut utf8);
        read.ok().and_then(|_| charset.decode(&utf8))
    } else {
        charset.decode(content)
    };
    let cells = match text {
        Some(text) => Ok(split_head(&text, id)),
        None => Err(Fault::new("body", reason::not_in(charset.name()), &charset.decode_lossy(content))),
    };
    (cells, Some(encoded.name))
}

fn split_head(text: &str, id: &str) -> Cells {
    let mut cells: Cells = vec![None; TextFiles::COLUMNS.len()];
    cells[0] = Some(id.to_owned());
    let mut rest = text;
    while let Some((line, after)) = rest.split_once('\n')
        && let Some((name, value)) = line.split_once([':', '：'])
        && let Some((column, _)) = HEAD.iter().find(|(_, names)| names.contains(&name.trim()))
        && let Some(i) = TextFiles::COLUMNS.iter().position(|c| c == column)
    {
        cells[i] = Some(value.trim().to_owned());
        rest = after;
    }
    cells[2] = Some(rest.trim_matches(['\n', '\r']).to_owned());
    cells
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn head_lines_are_fields_and_the_rest_is_the_body() {
        let gbk = encoding_rs::GBK.encode("标题：产能投放\n日期: 2024-03-01\n\n第一段：净利润增长。\n第二段").0;
        let (cells, encoding) = cells_of(&gbk, "a/1", None);
        let cells: Vec<String> = cells.unwrap().into_iter().map(Option::unwrap_or_default).collect();
        assert_eq!(cells[..4], ["a/1", "产能投放", "第一段：净利润增长。\n第二段", "2024-03-01"]);
        assert_eq!(encoding.as_deref(), Some("gb18030"));
    }
}
