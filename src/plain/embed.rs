//! Documents to rows, block by block: memory is that of a block, whatever the corpus.

use std::path::Path;

use anyhow::Result;
use rayon::prelude::*;

use super::{Block, Fitted, Line, Lines, write_rows};
use crate::data::Report;
use crate::job::Ctx;

/// Bytes of lines read at once.
const BLOCK: usize = 1 << 22;
/// Documents that one thread turns into rows before it looks whether the run was cancelled.
const CHUNK: usize = 64;

/// Writes a model's rows of all documents to `output`, whose name says the format.
pub fn embed(model: &dyn Fitted, lines: &mut Lines, output: &Path, ctx: &Ctx) -> Result<Report> {
    let columns = model.columns()?;
    write_rows(output, &columns, |sink| {
        let mut block = Block::default();
        while lines.next_block(&mut block, BLOCK)? {
            let documents = lines.documents(&block);
            let chunks = ctx.install(|| {
                let rows = documents.par_chunks(CHUNK).map(|chunk| {
                    ctx.advance(chunk.len() as u64)?;
                    Ok((chunk, model.rows(chunk)?))
                });
                rows.collect::<Result<Vec<_>>>()
            })?;
            for (chunk, rows) in chunks {
                let ids: Vec<_> = chunk.iter().map(Line::name).collect();
                sink.push(&ids, &rows)?;
            }
        }
        lines.finish()
    })
}
