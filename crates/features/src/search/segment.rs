//! The inverted index of one part of the corpus: for each term the documents that have it, and how often.
//!
//! | bytes | content |
//! |---|---|
//! | 8 | magic |
//! | 16 | key of all that follows |
//! | 16 | key of what the segment was made of: the part, the segmenter, this format |
//! | 4, 4, 4, 8 | documents, terms, bytes of terms, bytes of text that was read |
//! | 8 a document | time of publication in microseconds |
//! | 4 a document | terms of the document |
//! | 4, 4 a term | end of its name, end of its postings |
//! | | names of the terms, ascending |
//! | | postings: the distance to the document before and the count, as numbers of seven bits a byte |

use std::path::Path;

use anyhow::{Context, Result};
use memmap2::Mmap;
use rustc_hash::FxHashMap;

use inkstone_base::data::Key;
use inkstone_base::disk;
use inkstone_base::language::Word;
use inkstone_base::message;
use inkstone_tables::corpus;
use inkstone_tables::frames;
use inkstone_text::Segmenter;

const MAGIC: &[u8; 8] = b"INKFIND1";
const HEAD: usize = 60;

/// Row of a document within its part, and count of a term in the document.
pub(super) type Posting = (u32, u32);

pub(super) struct Segment {
    bytes: SegmentBytes,
    rows: usize,
    terms: usize,
    names: usize,
    /// Bytes of the text that was indexed.
    pub(super) text_bytes: u64,
}

enum SegmentBytes {
    Mapped(Mmap),
    Made(Vec<u8>),
}

impl Segment {
    /// Opens the segment in a file. `None` if there is no file, or the segment was made from another source; an error if the file is damaged.
    pub(super) fn open(path: &Path, source: Key) -> Option<Result<Segment>> {
        if !path.exists() {
            return None;
        }
        disk::map(path).and_then(|map| Segment::read(SegmentBytes::Mapped(map), source)).transpose()
    }

    /// Reads a segment. `None` if the segment was made from another source; fails if the bytes are damaged.
    fn read(bytes: SegmentBytes, source: Key) -> Result<Option<Segment>> {
        const DAMAGED: Word = Word("检索索引的一段已损坏", "a segment of the search index is damaged");
        let all = bytes.all();
        let head = all.get(..HEAD).filter(|head| head.starts_with(MAGIC)).context(DAMAGED)?;
        let [rows, terms, names] = [40, 44, 48].map(|at| number(head, at) as usize);
        anyhow::ensure!(Key::of(&all[24..]).0 == head[8..24], DAMAGED);
        if source.0 != head[24..40] {
            return Ok(None);
        }
        let text_bytes = u64::from_le_bytes(head[52..60].try_into().expect("eight bytes"));
        Ok(Some(Segment { bytes, rows, terms, names, text_bytes }))
    }

    /// The segment of a part of the clean corpus, and its bytes.
    pub(super) fn make(part: &Path, source: Key, segmenter: &Segmenter) -> Result<Segment> {
        let frame = frames::read_parquet(part, Some(&["title", "body", "published_at"]))?;
        let text = |name: &str| corpus::texts_of(&frame, name);
        let (titles, bodies, times) = (text("title")?, text("body")?, corpus::times_of(&frame, "published_at")?);
        let mut making = Making::default();
        for (row, time) in times.iter().enumerate() {
            let time = time
                .with_context(|| message!("{} 的第 {row} 行没有时间", "row {row} of {} has no time", part.display()))?;
            let texts = [titles.get(row), bodies.get(row)].map(Option::unwrap_or_default);
            making.add(texts, time.and_utc().timestamp_micros(), segmenter);
        }
        let bytes = SegmentBytes::Made(making.bytes(source)?);
        Segment::read(bytes, source)?.context(Word("新的一段应可读", "a new segment can be read"))
    }

    pub(super) fn all(&self) -> &[u8] {
        self.bytes.all()
    }

    pub(super) fn len(&self) -> usize {
        self.rows
    }

    /// Time of publication of a document, in microseconds.
    pub(super) fn time(&self, row: usize) -> i64 {
        let at = HEAD + row * 8;
        i64::from_le_bytes(self.all()[at..at + 8].try_into().expect("eight bytes"))
    }

    /// Terms of a document.
    pub(super) fn length(&self, row: usize) -> u32 {
        number(self.all(), HEAD + self.rows * 8 + row * 4)
    }

    /// The documents with a term, ascending; none where no document has it.
    pub(super) fn postings(&self, term: &str) -> Vec<Posting> {
        let Some(i) = self.find(term) else { return Vec::new() };
        let tables = HEAD + self.rows * 12;
        let end_of = |i: usize| number(self.all(), tables + self.terms * 4 + i * 4) as usize;
        let begin = tables + self.terms * 8 + self.names;
        let bytes = &self.all()[begin + if i == 0 { 0 } else { end_of(i - 1) }..begin + end_of(i)];
        let (mut at, mut row, mut found) = (0, 0, Vec::new());
        while at < bytes.len() {
            row += small(bytes, &mut at);
            found.push((row - 1, small(bytes, &mut at)));
        }
        found
    }

    fn find(&self, term: &str) -> Option<usize> {
        let (mut from, mut to) = (0, self.terms);
        while from < to {
            let middle = (from + to) / 2;
            match self.name(middle).cmp(term.as_bytes()) {
                std::cmp::Ordering::Less => from = middle + 1,
                std::cmp::Ordering::Greater => to = middle,
                std::cmp::Ordering::Equal => return Some(middle),
            }
        }
        None
    }

    fn name(&self, i: usize) -> &[u8] {
        let tables = HEAD + self.rows * 12;
        let end_of = |i: usize| number(self.all(), tables + i * 4) as usize;
        let names = tables + self.terms * 8;
        &self.all()[names + if i == 0 { 0 } else { end_of(i - 1) }..names + end_of(i)]
    }
}

impl SegmentBytes {
    fn all(&self) -> &[u8] {
        match self {
            SegmentBytes::Mapped(map) => map,
            SegmentBytes::Made(bytes) => bytes,
        }
    }
}

/// The documents of a part on their way to a segment.
#[derive(Default)]
struct Making {
    ids: FxHashMap<Box<str>, usize>,
    postings: Vec<Vec<Posting>>,
    times: Vec<i64>,
    lengths: Vec<u32>,
    text_bytes: u64,
}

impl Making {
    fn add(&mut self, texts: [&str; 2], time: i64, segmenter: &Segmenter) {
        let (row, mut length) = (self.times.len() as u32, 0);
        for text in texts {
            self.text_bytes += text.len() as u64;
            segmenter.for_each_term(text, |term| {
                length += 1;
                let id = match self.ids.get(&*term) {
                    Some(id) => *id,
                    None => {
                        self.ids.insert(term.into(), self.postings.len());
                        self.postings.push(Vec::new());
                        self.postings.len() - 1
                    }
                };
                match self.postings[id].last_mut() {
                    Some((last, count)) if *last == row => *count += 1,
                    _ => self.postings[id].push((row, 1)),
                }
            });
        }
        self.times.push(time);
        self.lengths.push(length);
    }

    fn bytes(self, source: Key) -> Result<Vec<u8>> {
        let mut terms: Vec<(Box<str>, usize)> = self.ids.into_iter().collect();
        terms.sort_unstable();
        let (mut names, mut name_ends) = (Vec::new(), Vec::new());
        let (mut postings, mut posting_ends) = (Vec::new(), Vec::new());
        for (term, id) in &terms {
            names.extend_from_slice(term.as_bytes());
            name_ends.push(names.len());
            let mut before = 0;
            for (row, count) in &self.postings[*id] {
                push_small(&mut postings, row + 1 - before);
                push_small(&mut postings, *count);
                before = row + 1;
            }
            posting_ends.push(postings.len());
        }
        let too_large = Word("语料的一份文本过多，无法索引", "a part of the corpus has too much text to be indexed");
        let narrow = |number: usize| u32::try_from(number).context(too_large);
        let mut kept: Vec<u8> = source.0.to_vec();
        for number in [self.times.len(), terms.len(), names.len()] {
            kept.extend_from_slice(&narrow(number)?.to_le_bytes());
        }
        kept.extend_from_slice(&self.text_bytes.to_le_bytes());
        self.times.iter().for_each(|time| kept.extend_from_slice(&time.to_le_bytes()));
        self.lengths.iter().for_each(|length| kept.extend_from_slice(&length.to_le_bytes()));
        for end in name_ends.into_iter().chain(posting_ends) {
            kept.extend_from_slice(&narrow(end)?.to_le_bytes());
        }
        kept.extend_from_slice(&names);
        kept.extend_from_slice(&postings);
        let mut bytes = MAGIC.to_vec();
        bytes.extend_from_slice(&Key::of(&kept).0);
        bytes.extend_from_slice(&kept);
        Ok(bytes)
    }
}

fn number(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
}

/// Writes a number in bytes of seven bits, the lowest first; all but the last have their highest bit set.
fn push_small(bytes: &mut Vec<u8>, mut value: u32) {
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
}

fn small(bytes: &[u8], at: &mut usize) -> u32 {
    let (mut value, mut shift) = (0, 0);
    while let Some(byte) = bytes.get(*at) {
        *at += 1;
        value |= u32::from(byte & 0x7f) << shift;
        shift += 7;
        if byte & 0x80 == 0 || shift > 28 {
            break;
        }
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_any_size_come_back() {
        let numbers = [0, 1, 127, 128, 16_383, 16_384, 4_000_000_000, u32::MAX];
        let mut bytes = Vec::new();
        numbers.iter().for_each(|number| push_small(&mut bytes, *number));
        let mut at = 0;
        assert_eq!(numbers.map(|_| small(&bytes, &mut at)), numbers);
        assert_eq!(at, bytes.len());
    }
}
