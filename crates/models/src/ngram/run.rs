//! Sorted runs on disk: what counting writes when memory is short, and their merging.
//!
//! A run is records of `order + 1` numbers (u32): the words of a sequence, 0 beyond its end, and how often it was seen; records
//! are ascending and no sequence comes twice.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::ops::Range;
use std::path::Path;

use anyhow::{Context, Result};
use memmap2::Mmap;

use super::share::{Share, ShareBuilder};
use inkstone_base::disk;
use inkstone_base::language::Word;
use inkstone_base::message;

pub(super) struct Writer {
    out: BufWriter<File>,
    order: usize,
    written: u64,
}

pub(super) struct SortedRun {
    map: Option<Mmap>,
    order: usize,
}

/// The records of a run.
#[derive(Clone, Copy)]
pub(super) struct Records<'r> {
    numbers: &'r [u32],
    order: usize,
}

impl Writer {
    /// A run in a file without a name, which the system removes when nothing holds it any more.
    pub(super) fn new(folder: &Path, order: usize) -> Result<Writer> {
        disk::make_dir(folder)?;
        let file = tempfile::tempfile_in(folder).with_context(|| {
            message!(
                "无法在 {} 创建计数文件（用 --temp 另选文件夹）",
                "cannot make a file for counts in {} (choose another folder with --temp)",
                folder.display()
            )
        })?;
        Ok(Writer { out: BufWriter::with_capacity(1 << 20, file), order, written: 0 })
    }

    pub(super) fn write(&mut self, records: &[u32]) -> Result<()> {
        self.written += records.len() as u64;
        self.out.write_all(bytemuck::cast_slice(records)).context(FULL)
    }

    pub(super) fn finish(self) -> Result<SortedRun> {
        let file = self.out.into_inner().map_err(|error| error.into_error()).context(FULL)?;
        // An empty file cannot be mapped.
        let map = (self.written > 0).then(|| disk::map_file(&file)).transpose();
        Ok(SortedRun {
            map: map.context(Word("无法读回一段计数", "cannot read back a run of counts"))?,
            order: self.order,
        })
    }
}

const FULL: Word = Word(
    "无法写出一段计数（--temp 的磁盘满了？加大 --memory 可减少段数）",
    "cannot write a run of counts (is the disk of --temp full? --memory makes fewer of them)",
);

impl SortedRun {
    pub(super) fn records(&self) -> Result<Records<'_>> {
        let numbers = match &self.map {
            Some(bytes) => bytemuck::try_cast_slice(bytes).map_err(|error| {
                inkstone_base::error!("一段计数无法读回：“{error}”", "a run of counts cannot be read back: {error}")
            })?,
            None => &[],
        };
        Ok(Records { numbers, order: self.order })
    }
}

impl<'r> Records<'r> {
    fn len(self) -> usize {
        self.numbers.len() / (self.order + 1)
    }

    fn words(self, at: usize) -> &'r [u32] {
        &self.numbers[at * (self.order + 1)..][..self.order]
    }

    fn count(self, at: usize) -> u32 {
        self.numbers[at * (self.order + 1) + self.order]
    }

    /// The first record whose first word is `word` or more.
    fn first_of(self, word: u32) -> usize {
        let (mut low, mut high) = (0, self.len());
        while low < high {
            let middle = low + (high - low) / 2;
            if self.words(middle)[0] < word { low = middle + 1 } else { high = middle }
        }
        low
    }
}

/// The share of the trie whose first words lie in `range`, from all runs.
pub(super) fn merge(runs: &[Records<'_>], range: Range<u32>, order: usize) -> Share {
    let mut builder = ShareBuilder::new(range.start, order);
    let ends: Vec<usize> = runs.iter().map(|run| run.first_of(range.end)).collect();
    let starts = runs.iter().map(|run| run.first_of(range.start));
    let mut heads: BinaryHeap<Reverse<(&[u32], usize, usize)>> = (starts.zip(runs).zip(&ends).enumerate())
        .filter(|(_, ((start, _), end))| start < end)
        .map(|(number, ((start, run), _))| Reverse((run.words(start), number, start)))
        .collect();
    let mut before: Option<&[u32]> = None;
    while let Some(Reverse((words, ..))) = heads.peek() {
        let words = *words;
        let mut count = 0u32;
        while let Some(mut head) = heads.peek_mut().filter(|head| head.0.0 == words) {
            let Reverse((_, number, at)) = *head;
            count = count.saturating_add(runs[number].count(at));
            if at + 1 < ends[number] {
                *head = Reverse((runs[number].words(at + 1), number, at + 1));
            } else {
                std::collections::binary_heap::PeekMut::pop(head);
            }
        }
        let same = before.map_or(0, |before| before.iter().zip(words).take_while(|(a, b)| a == b).count());
        let length = words.iter().position(|&word| word == 0).unwrap_or(order);
        builder.push(&words[..length], same, count);
        before = Some(words);
    }
    builder.finish(range.end)
}
