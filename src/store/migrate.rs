//! Stores of format 0, which had the rows in the database: the same bytes, in files.

use anyhow::{Context, Result};

use super::check::Problem;
use super::database::Database;
use super::files::RowFiles;
use super::layout::{Address, BatchRecord, block_key, unseal};
use super::read_record;
use crate::data::Key;
use crate::job::Ctx;

/// Writes a file for every batch that the database has rows of; what is damaged is told and left out.
pub(super) fn rows(old: &Database, files: &RowFiles, problems: &mut Vec<Problem>, ctx: &Ctx) -> Result<()> {
    for entry in old.scan(b"b") {
        ctx.check()?;
        let (key, value) = match entry {
            Ok(entry) => entry,
            Err(error) => {
                problems.push(Problem { set: None, batch: None, what: format!("{error:#}"), harmful: true });
                break;
            }
        };
        let Some(Address::Batch { set, batch }) = Address::parse(&key) else { continue };
        let moved = read_record(&key, &value).and_then(|record| {
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
