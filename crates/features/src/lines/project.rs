//! The documents of a project as JSON lines, so that whatever reads plain files reads a corpus too.
//!
//! A line has `id`, `title`, `text` and `time`, the moment of publication. Parts are read on a thread of their own, one ahead: Parquet is
//! read on threads that polars shares out, and a worker that waits for these may take up other work of its pool meanwhile, which
//! must not happen while it holds a lock on its input.

use std::io::{Error, Read};
use std::path::Path;
use std::sync::mpsc::{Receiver, sync_channel};

use anyhow::{Context, Result};
use serde::Serialize;

use inkstone_tables::corpus::{Parts, column, times_of};
use inkstone_tables::frames;

use inkstone_base::language::Word;
use inkstone_base::{ensure, message};

const COLUMNS: [&str; 4] = ["doc_id", "title", "body", "published_at"];

/// Documents of a folder of parts, in order, as the bytes of a file of JSON lines.
pub(super) struct ProjectLines {
    /// The lines of the parts to come.
    parts: Receiver<Result<Vec<u8>>>,
    /// Number of the parts to come.
    left: usize,
    /// The lines of the present part.
    lines: Vec<u8>,
    /// Bytes of `lines` that were given.
    at: usize,
}

#[derive(Serialize)]
struct JsonLine<'d> {
    id: &'d str,
    title: &'d str,
    text: &'d str,
    time: String,
}

impl ProjectLines {
    pub(super) fn open(folder: &Path) -> Result<ProjectLines> {
        let files = Parts::new(folder).files()?;
        ensure!(
            !files.is_empty(),
            "{} 没有文档：请指定项目的文档文件夹，如 inkstone clean 之后的 .inkstone/clean",
            "{} holds no documents: name the folder of a project's documents, such as .inkstone/clean, after inkstone clean",
            folder.display()
        );
        let ((sender, parts), left) = (sync_channel(1), files.len());
        let read = move || {
            for path in files {
                let read = lines(&path)
                    .with_context(|| message!("无法读取 {} 的文档", "cannot read the documents of {}", path.display()));
                let failed = read.is_err();
                // Nobody is left to hear it when the reading was broken off.
                if sender.send(read).is_err() || failed {
                    return;
                }
            }
        };
        std::thread::Builder::new()
            .name("documents".to_owned())
            .spawn(read)
            .context(Word("无法启动线程", "cannot start a thread"))?;
        Ok(ProjectLines { parts, left, lines: Vec::new(), at: 0 })
    }
}

fn lines(path: &Path) -> Result<Vec<u8>> {
    let mut lines = Vec::new();
    let frame = frames::read_parquet(path, Some(&COLUMNS))?;
    let text = |name: &str| -> Result<_> { Ok(column(&frame, name)?.str()?.clone()) };
    let [ids, titles, bodies] = [text("doc_id")?, text("title")?, text("body")?];
    let times = times_of(&frame, "published_at")?;
    for (row, time) in times.iter().enumerate() {
        let time = time.context(Word("有文档没有 published_at", "a document without published_at"))?;
        let object = JsonLine {
            id: ids.get(row).unwrap_or_default(),
            title: titles.get(row).unwrap_or_default(),
            text: bodies.get(row).unwrap_or_default(),
            time: time.format("%Y-%m-%d %H:%M:%S%.f").to_string(),
        };
        serde_json::to_writer(&mut lines, &object)?;
        lines.push(b'\n');
    }
    Ok(lines)
}

impl Read for ProjectLines {
    fn read(&mut self, bytes: &mut [u8]) -> std::io::Result<usize> {
        while self.at == self.lines.len() {
            if self.left == 0 {
                return Ok(0);
            }
            // A thread that broke off must not look like the end of the documents.
            let next = self
                .parts
                .recv()
                .map_err(|_| Error::other(Word("文档的读取中断", "the reading of the documents broke off")))?;
            self.left -= 1;
            self.lines = next.map_err(|error| Error::other(format!("{error:#}")))?;
            self.at = 0;
        }
        let n = bytes.len().min(self.lines.len() - self.at);
        bytes[..n].copy_from_slice(&self.lines[self.at..self.at + n]);
        self.at += n;
        Ok(n)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::standalone::{Block, LineFormat, Lines};
    use inkstone_base::data::Document;
    use inkstone_tables::corpus::documents_to_frame;

    #[test]
    fn the_documents_of_a_project_are_lines_with_their_times() {
        let dir = tempfile::tempdir().unwrap();
        let document = |i: usize| Document {
            doc_id: format!("news/{i}"),
            title: "瑞禾电气：回购".to_owned(),
            body: format!("第 {i} 条\n“正文”"),
            published_at: format!("2024-03-0{}T09:30:00", i + 1).parse().unwrap(),
            ..Document::default()
        };
        let documents: Vec<Document> = (0..5).map(document).collect();
        for (i, part) in documents.chunks(2).enumerate() {
            Parts::new(dir.path()).write(i, &mut documents_to_frame(part).unwrap()).unwrap();
        }
        let format = LineFormat::by_name(dir.path()).unwrap();
        let until = "2024-03-04T09:30:00".parse().unwrap();
        let mut lines = Lines::open(dir.path(), format).unwrap().until(Some(until)).unwrap();
        let (mut block, mut seen) = (Block::default(), Vec::new());
        while lines.next_block(&mut block, 1 << 20).unwrap() {
            let read = lines.documents(&block).into_iter();
            seen.extend(read.map(|line| (line.name().into_owned(), line.whole().into_owned(), line.time.unwrap())));
        }
        assert_eq!(seen.len(), 4, "the fifth is later");
        assert_eq!(seen[3], ("news/3".to_owned(), "瑞禾电气：回购\n第 3 条\n“正文”".to_owned(), until));
        assert!(Lines::open(dir.path(), LineFormat::Text).is_err());
        // A part that cannot be read is told by its name, not passed over.
        std::fs::write(Parts::new(dir.path()).path(1), b"no parquet").unwrap();
        let mut lines = Lines::open(dir.path(), format).unwrap();
        let read =
            std::iter::repeat_with(|| lines.next_block(&mut block, 1 << 20)).find(|read| !matches!(read, Ok(true)));
        let error = format!("{:#}", read.unwrap().unwrap_err());
        assert!(error.contains("part-00001.parquet"), "{error}");
        let empty = tempfile::tempdir().unwrap();
        assert!(Lines::open(empty.path(), format).err().unwrap().to_string().contains("holds no documents"));
    }
}
