//! Documents to rows, block by block: memory holds one block, whatever the size of the corpus.

use std::path::Path;

use anyhow::Result;

use super::{Fitted, Line, Lines, write_rows};
use crate::lines::BLOCK;
use inkstone_base::data::Report;
use inkstone_base::disk::Formulas;
use inkstone_base::job::Ctx;

/// Writes a model's rows of all documents to `output`, whose name says the format.
pub fn embed(model: &dyn Fitted, lines: &mut Lines, output: &Path, formulas: Formulas, ctx: &Ctx) -> Result<Report> {
    let columns = model.columns()?;
    write_rows(output, &columns, formulas, |sink| {
        lines.for_each_block(BLOCK, |documents| {
            let mut rest = documents.as_slice();
            for (count, rows) in model.many(&documents, ctx)? {
                let (chunk, others) = rest.split_at(count);
                let ids: Vec<_> = chunk.iter().map(Line::name).collect();
                sink.push(&ids, &rows)?;
                rest = others;
            }
            Ok(())
        })?;
        lines.finish()
    })
}
