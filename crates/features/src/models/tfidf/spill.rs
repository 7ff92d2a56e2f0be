//! Term counts of documents, kept in scratch files until the weights of terms are known.
//!
//! A document is u32 numbers: its id (bytes of the id, then the bytes, padded; or 2^32 - 1 and the line's number, two numbers),
//! its length in terms, how many distinct terms it has, and each of them: twice its number, plus 1 when a count (i32)
//! follows, which is 1 otherwise. Numbers of terms are those of the thread that counted them.

use std::borrow::Cow;
use std::path::Path;

use anyhow::{Context, Result};
use memmap2::Mmap;

use inkstone_base::disk::{self, Scratch};
use inkstone_base::language::Word;

const NUMBERED: u32 = u32::MAX;

/// Position of the documents of a block of lines.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SpilledBlock {
    /// Number of the block in the input.
    pub(crate) block: u64,
    /// First number and the one behind the last.
    start: usize,
    end: usize,
}

/// The id of a document, or the number of its line where it has none.
#[derive(Clone, Copy, Debug)]
pub(crate) enum DocumentName<'d> {
    Id(&'d str),
    Number(u64),
}

/// Takes the documents of one thread, block by block.
pub(crate) struct SpillWriter {
    scratch: Scratch,
    numbers: Vec<u32>,
    written: usize,
    places: Vec<SpilledBlock>,
}

impl SpillWriter {
    /// The scratch file is made in a folder.
    pub(crate) fn within(folder: &Path) -> Result<SpillWriter> {
        Ok(SpillWriter { scratch: Scratch::within(folder)?, numbers: Vec::new(), written: 0, places: Vec::new() })
    }

    /// Adds a document to the block: its distinct terms with their counts, and its length in terms.
    pub(crate) fn push(
        &mut self,
        name: DocumentName<'_>,
        terms: impl ExactSizeIterator<Item = (u32, i32)>,
        length: u32,
    ) {
        match name {
            DocumentName::Number(number) => self.numbers.extend([NUMBERED, number as u32, (number >> 32) as u32]),
            DocumentName::Id(id) => {
                self.numbers.push(id.len() as u32);
                let bytes = id.as_bytes().chunks(4).map(|piece| {
                    let mut four = [0; 4];
                    four[..piece.len()].copy_from_slice(piece);
                    u32::from_le_bytes(four)
                });
                self.numbers.extend(bytes);
            }
        }
        self.numbers.extend([length, terms.len() as u32]);
        for (id, count) in terms {
            match count {
                1 => self.numbers.push(id << 1),
                count => self.numbers.extend([id << 1 | 1, count as u32]),
            }
        }
    }

    pub(crate) fn end(&mut self, block: u64) -> Result<()> {
        self.scratch.write(bytemuck::cast_slice(&self.numbers))?;
        let start = self.written;
        self.written += self.numbers.len();
        self.places.push(SpilledBlock { block, start, end: self.written });
        self.numbers.clear();
        Ok(())
    }

    pub(crate) fn finish(self) -> Result<Spill> {
        Ok(Spill { map: self.scratch.map()?, places: self.places })
    }
}

/// The documents of one thread.
pub(crate) struct Spill {
    map: Option<Mmap>,
    pub(crate) places: Vec<SpilledBlock>,
}

impl Spill {
    /// The documents of a block, in order.
    pub(crate) fn documents(&self, place: SpilledBlock) -> Result<SpilledDocuments<'_>> {
        let numbers: &[u32] = disk::numbers(self.map.as_ref());
        Ok(SpilledDocuments {
            numbers: numbers
                .get(place.start..place.end)
                .context(Word("临时文件不完整", "a scratch file is cut short"))?,
        })
    }
}

/// Reads documents out of a scratch file.
pub(crate) struct SpilledDocuments<'s> {
    numbers: &'s [u32],
}

impl<'s> SpilledDocuments<'s> {
    /// The next document's id and length; its terms go to `terms`.
    pub(crate) fn next(&mut self, mut term: impl FnMut(u32, i32)) -> Option<(Cow<'s, str>, u32)> {
        let name = match self.take()? {
            NUMBERED => {
                let (low, high) = (self.take()?, self.take()?);
                (u64::from(high) << 32 | u64::from(low)).to_string().into()
            }
            length => {
                let (id, rest) = self.numbers.split_at_checked((length as usize).div_ceil(4))?;
                self.numbers = rest;
                Cow::Borrowed(std::str::from_utf8(&bytemuck::cast_slice(id)[..length as usize]).ok()?)
            }
        };
        let (length, distinct) = (self.take()?, self.take()?);
        for _ in 0..distinct {
            let coded = self.take()?;
            let count = if coded & 1 == 1 { self.take()? as i32 } else { 1 };
            term(coded >> 1, count);
        }
        Some((name, length))
    }

    #[inline]
    fn take(&mut self) -> Option<u32> {
        let (&first, rest) = self.numbers.split_first()?;
        self.numbers = rest;
        Some(first)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_come_back_block_by_block() {
        let dir = tempfile::tempdir().unwrap();
        let mut writer = SpillWriter::within(dir.path()).unwrap();
        writer.push(DocumentName::Number(1 << 33), [(3, 1), (7, -2)].into_iter(), 9);
        writer.end(1).unwrap();
        writer.push(DocumentName::Id("公告7"), [].into_iter(), 0);
        writer.push(DocumentName::Id(""), [(0, 40)].into_iter(), 40);
        writer.end(0).unwrap();
        let spill = writer.finish().unwrap();
        let read = |place| {
            let mut documents = spill.documents(place).unwrap();
            let (mut all, mut terms) = (Vec::new(), Vec::new());
            while let Some((name, length)) = documents.next(|id, count| terms.push((id, count))) {
                all.push((name.into_owned(), length, std::mem::take(&mut terms)));
            }
            all
        };
        assert_eq!(spill.places.iter().map(|place| place.block).collect::<Vec<_>>(), [1, 0]);
        assert_eq!(read(spill.places[0]), [((1u64 << 33).to_string(), 9, vec![(3, 1), (7, -2)])]);
        assert_eq!(read(spill.places[1]), [("公告7".into(), 0, vec![]), (String::new(), 40, vec![(0, 40)])]);
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0, "scratch files have no name");
    }
}
