//! Stores of format 0, which had the rows in the database: the same bytes, in files.

use anyhow::{Context, Result};

use super::check::{Problem, records};
use super::database::Database;
use super::files::RowFiles;
use super::layout::{BatchRecord, block_key, unseal};
use crate::data::Key;
use crate::job::Ctx;

/// Writes a file for every batch that the database has rows of; what is damaged is told and left out.
pub(super) fn rows(old: &Database, files: &RowFiles, problems: &mut Vec<Problem>, ctx: &Ctx) -> Result<()> {
    for (set, batch, record) in records(old, problems) {
        ctx.check()?;
        let moved = record.and_then(|record| {
            let blocks = blocks(old, set, batch, &record)?;
            let file = files.write(set, batch, &blocks, record.digest)?;
            files.sync(set, &[file])
        });
        if let Err(error) = moved {
            let what = format!("{error:#}");
            problems.push(Problem { set: Some(set), batch: Some(batch), what, harmful: false });
        }
    }
    Ok(())
}

/// The blocks of a batch, as they were sealed.
fn blocks(old: &Database, set: Key, batch: Key, record: &BatchRecord) -> Result<Vec<Vec<u8>>> {
    let block = |number| {
        let key = block_key(set, batch, number);
        let sealed = old.get(&key)?.with_context(|| format!("block {number} is missing"))?;
        Ok(unseal(&key, &sealed).with_context(|| format!("block {number}"))?.to_vec())
    };
    (0..record.blocks).map(block).collect()
}
