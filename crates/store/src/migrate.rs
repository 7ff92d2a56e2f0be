//! Stores of older formats: what they had in the database, byte by byte in files.

use anyhow::{Context, Result};

use super::Reader;
use super::check::{Problem, records};
use super::database::Database;
use super::files::RowFiles;
use super::layout::{BatchRecord, Header, block_key, unseal};
use inkstone_base::data::Key;
use inkstone_base::job::Ctx;

/// Writes files of the rows (format 0) and headers (formats 0 and 1) that a database has; what is damaged is told and left out.
pub(super) fn migrate(format: u32, old: &Database, new: &Reader, problems: &mut Vec<Problem>, ctx: &Ctx) -> Result<()> {
    if format == 0 {
        rows(old, &new.files, problems, ctx)?;
    }
    let mut tell = |set, error: anyhow::Error| {
        problems.push(Problem { set, batch: None, what: format!("{error:#}"), harmful: true });
    };
    for entry in old.scan(b"h") {
        let (key, value) = match entry {
            Ok(entry) => entry,
            Err(error) => {
                tell(None, error);
                break;
            }
        };
        let Some(set) = key[1..].try_into().ok().map(Key) else { continue };
        match Header::unsealed(set, &value) {
            Ok(header) => new.headers.write(&header)?,
            Err(error) => tell(Some(set), error),
        }
    }
    Ok(())
}

fn rows(old: &Database, files: &RowFiles, problems: &mut Vec<Problem>, ctx: &Ctx) -> Result<()> {
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
