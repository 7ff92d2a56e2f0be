//! Documents that are cut and counted once, each thread with a table of its own: the counts of a document wait in a scratch file, no larger
//! than its text, and become a row when the vocabulary is known.

use std::borrow::Cow;
use std::ops::Range;
use std::path::Path;

use anyhow::Result;
use chrono::NaiveDateTime;
use rayon::prelude::*;

use super::spill::{DocumentName, Spill, SpillWriter, SpilledBlock};
use crate::fitted::Rows;
use crate::standalone::write_rows;
use inkstone_base::disk::Formulas;
use inkstone_base::job::Ctx;
use inkstone_models::{Analyzer, Csr, Fields, TermCounts, Vectorizer, VectorizerParams};

/// Blocks whose rows are made at once, before they are given in order.
const WINDOW: usize = 64;

/// The documents that one thread has counted.
pub(crate) struct ThreadCounts<'m> {
    counts: TermCounts,
    /// The model of hashed terms, which needs no vocabulary.
    hashing: Option<&'m Vectorizer>,
    spill: Option<SpillWriter>,
}

impl<'m> ThreadCounts<'m> {
    /// Counts wait in a scratch file in the folder `scratch`; without it no rows can be made.
    pub(crate) fn new(
        params: &VectorizerParams,
        hashing: Option<&'m Vectorizer>,
        scratch: Option<&Path>,
    ) -> Result<ThreadCounts<'m>> {
        let spill = scratch.map(SpillWriter::within).transpose()?;
        Ok(ThreadCounts { counts: TermCounts::new(params), hashing, spill })
    }

    /// Counts a document that became known at `time`. Returns its length in terms.
    pub(crate) fn add(
        &mut self,
        analyzer: &Analyzer,
        fields: Fields<'_>,
        time: Option<NaiveDateTime>,
        name: DocumentName<'_>,
    ) -> Result<u32> {
        let Some(hashing) = self.hashing else {
            self.counts.add(analyzer, fields, time)?;
            let (row, length) = self.counts.row();
            if let Some(spill) = &mut self.spill {
                spill.push(name, row.iter().map(|&(id, count)| (id, count as i32)), length);
            }
            return Ok(length);
        };
        let (row, length) = hashing.count(analyzer, fields);
        if let Some(spill) = &mut self.spill {
            spill.push(name, row.iter().map(|&(column, count)| (column, count as i32)), length);
        }
        Ok(length)
    }

    /// Ends the block of this number.
    pub(crate) fn end_block(&mut self, block: u64) -> Result<()> {
        self.spill.as_mut().map_or(Ok(()), |spill| spill.end(block))
    }
}

/// The counts of all threads.
pub(crate) struct JoinedCounts {
    counts: TermCounts,
    /// For each thread, the number that each of its terms has in `counts`; none where the numbers are the same.
    numbers: Vec<Option<Vec<u32>>>,
    spills: Vec<Spill>,
}

impl JoinedCounts {
    pub(crate) fn new(threads: Vec<ThreadCounts<'_>>, params: &VectorizerParams) -> Result<JoinedCounts> {
        let mut joined = JoinedCounts { counts: TermCounts::new(params), numbers: Vec::new(), spills: Vec::new() };
        for thread in threads {
            // The first table is taken as it is: copying it would cost as much as merging it.
            if joined.counts.is_empty() {
                joined.counts = thread.counts;
                joined.numbers.push(None);
            } else {
                joined.numbers.push(Some(joined.counts.merge(&thread.counts)?));
            }
            joined.spills.extend(thread.spill.map(SpillWriter::finish).transpose()?);
        }
        Ok(joined)
    }

    /// Fits a vectorizer on the counts; without scratch files the rows are none.
    pub(crate) fn fit(self, params: &VectorizerParams, ctx: &Ctx) -> Result<(Vectorizer, TrainedRows)> {
        let (model, columns) = ctx.install(|| Vectorizer::fit_columns(&self.counts, params))?;
        // From the numbers of each thread's table straight to columns.
        let of_thread = |numbers: Option<Vec<u32>>| match numbers {
            None => columns.clone(),
            Some(numbers) => numbers.into_iter().map(|id| columns[id as usize]).collect(),
        };
        let columns = self.numbers.into_iter().map(of_thread).collect();
        let rows = TrainedRows::new(self.spills, Some(columns), model.width());
        Ok((model, rows))
    }

    /// The rows of hashed terms.
    pub(crate) fn hashed(self, model: &Vectorizer) -> TrainedRows {
        TrainedRows::new(self.spills, None, model.width())
    }
}

/// The rows of the documents that a vectorizer was fitted on; they can be read any number of times.
pub struct TrainedRows {
    /// One a thread.
    spills: Vec<Spill>,
    /// The column of each thread's numbers; none where the numbers are columns.
    columns: Option<Vec<Vec<u32>>>,
    width: usize,
    /// Thread and place of each block, in the order of the blocks.
    places: Vec<(usize, SpilledBlock)>,
}

impl TrainedRows {
    fn new(spills: Vec<Spill>, columns: Option<Vec<Vec<u32>>>, width: usize) -> TrainedRows {
        let blocks = |(i, spill): (usize, &Spill)| spill.places.iter().map(|&place| (i, place)).collect::<Vec<_>>();
        let mut places: Vec<(usize, SpilledBlock)> = spills.iter().enumerate().flat_map(blocks).collect();
        places.sort_by_key(|(_, place)| place.block);
        TrainedRows { spills, columns, width, places }
    }

    /// Gives the rows block by block with their documents' ids, in the order of the blocks.
    pub fn for_each(
        &self,
        model: &Vectorizer,
        ctx: &Ctx,
        mut give: impl FnMut(&[Cow<'_, str>], Csr) -> Result<()>,
    ) -> Result<()> {
        for window in self.places.chunks(WINDOW) {
            for (ids, rows) in self.blocks(window, model, ctx)? {
                give(&ids, rows)?;
            }
        }
        Ok(())
    }

    /// The rows of the blocks whose numbers lie in a range, in order.
    pub(crate) fn rows_of(&self, numbers: Range<u64>, model: &Vectorizer, ctx: &Ctx) -> Result<Vec<Csr>> {
        let start = self.places.partition_point(|(_, place)| place.block < numbers.start);
        let end = self.places.partition_point(|(_, place)| place.block < numbers.end);
        Ok(self.blocks(&self.places[start..end], model, ctx)?.into_iter().map(|(_, rows)| rows).collect())
    }

    /// Writes the rows to a file of the format that its name says.
    pub fn write(&self, model: &Vectorizer, path: &Path, ctx: &Ctx) -> Result<()> {
        write_rows(path, &super::plain::columns(model), Formulas::Keep, |sink| {
            self.for_each(model, ctx, |ids, rows| sink.push(ids, &Rows::Sparse(rows)))
        })
    }

    /// Ids and rows of some blocks.
    fn blocks(
        &self,
        places: &[(usize, SpilledBlock)],
        model: &Vectorizer,
        ctx: &Ctx,
    ) -> Result<Vec<(Vec<Cow<'_, str>>, Csr)>> {
        ctx.install(|| {
            let blocks = places.par_iter().map(|&(spill, place)| {
                ctx.check()?;
                self.block(spill, place, model)
            });
            blocks.collect()
        })
    }

    fn block(&self, spill: usize, place: SpilledBlock, model: &Vectorizer) -> Result<(Vec<Cow<'_, str>>, Csr)> {
        let columns = self.columns.as_ref().map(|columns| &columns[spill][..]);
        let mut documents = self.spills[spill].documents(place)?;
        let (mut ids, mut rows) = (Vec::new(), Csr::new(self.width));
        // Column above count, so that ordering by column is ordering numbers.
        let (mut packed, mut row): (Vec<u64>, Vec<(u32, f32)>) = (Vec::new(), Vec::new());
        loop {
            packed.clear();
            let document = documents.next(|id, count| {
                let column = columns.map_or(id, |columns| columns[id as usize]);
                if column != u32::MAX {
                    packed.push(u64::from(column) << 32 | u64::from(count as u32));
                }
            });
            let Some((id, length)) = document else { return Ok((ids, rows)) };
            packed.sort_unstable();
            row.clear();
            row.extend(packed.iter().map(|&packed| ((packed >> 32) as u32, packed as u32 as i32 as f32)));
            model.weigh(&mut row, length);
            rows.push_row(row.iter().copied());
            ids.push(id);
        }
    }
}
