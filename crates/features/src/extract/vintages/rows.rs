//! Rows that are made in the order of time and stored in the order of the corpus: they wait in a scratch file.

use std::path::Path;

use anyhow::Result;

use super::super::documents::{DocumentPlace, NumberedCorpus};
use inkstone_base::data::Key;
use inkstone_base::disk::{self, Scratch};
use inkstone_base::job::Ctx;
use inkstone_store::Writer;

/// Stands for the row number of a document without a row.
const NONE: u32 = u32::MAX;

/// Rows of `dim` values.
pub(crate) struct WaitingRows {
    dim: usize,
    scratch: Scratch,
    /// By part and row of the corpus the number of the row in the file.
    numbers: Vec<Vec<u32>>,
    next: u32,
}

impl WaitingRows {
    pub(crate) fn new(corpus: &NumberedCorpus, dim: usize, folder: &Path) -> Result<WaitingRows> {
        let numbers = corpus.batches.sizes().map(|rows| vec![NONE; rows]).collect();
        Ok(WaitingRows { dim, scratch: Scratch::within(folder)?, numbers, next: 0 })
    }

    /// Adds the rows of these documents, one after the other.
    pub(crate) fn push(&mut self, documents: &[DocumentPlace], rows: &[f32]) -> Result<()> {
        for place in documents {
            self.numbers[place.part][place.row] = self.next;
            self.next += 1;
        }
        self.scratch.write(bytemuck::cast_slice(rows))
    }

    /// Documents that have a row.
    pub(crate) fn len(&self) -> u64 {
        u64::from(self.next)
    }

    /// Writes all parts; documents without a row get NaN. Returns the order of the batches.
    pub(crate) fn write(self, corpus: &NumberedCorpus, writer: &Writer<'_>, ctx: &Ctx) -> Result<Vec<Key>> {
        let map = self.scratch.map()?;
        let rows: &[f32] = disk::numbers(map.as_ref());
        let part = |part: usize| {
            let numbers = &self.numbers[part];
            let mut data = vec![f32::NAN; self.dim * numbers.len()];
            for (out, &number) in data.chunks_mut(self.dim).zip(numbers).filter(|(_, number)| **number != NONE) {
                out.copy_from_slice(&rows[number as usize * self.dim..][..self.dim]);
            }
            data
        };
        corpus.batches.write(writer, self.dim, part, ctx)
    }
}
