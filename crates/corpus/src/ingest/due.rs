//! The files that the next run would read, found by comparing the files of the sources with the log. The project is not changed.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use anyhow::Result;
use serde::Serialize;

use crate::ingest::Params;
use crate::ingest::files;
use crate::ingest::log::IngestLog;
use crate::ingest::source::{Source, Table};
use inkstone_base::data::Key;
use inkstone_base::job::Ctx;
use inkstone_tables::project::Project;

/// The files that ingest would read, and what it has read.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Due {
    /// Files that were not read before, or whose content is another one.
    pub new_files: usize,
    /// Files that are longer than before, and the same up to there.
    pub grown_files: usize,
    /// Files of the last run that are there no longer.
    pub gone_files: usize,
    /// Bytes that were not read before, unpacked.
    pub bytes: u64,
    /// Bytes of all files, unpacked, by table.
    pub bytes_of: BTreeMap<&'static str, u64>,
    /// Bytes of the files that an earlier run read, by table, and the rows that it made of them.
    pub bytes_known: BTreeMap<&'static str, u64>,
    pub rows_known: BTreeMap<&'static str, u64>,
    /// Tables that would change.
    pub tables: BTreeSet<&'static str>,
}

impl Due {
    /// True if nothing is new.
    pub fn is_nothing(&self) -> bool {
        self.tables.is_empty()
    }

    /// True if the files of a table are not as they were read.
    pub fn changes(&self, table: Table) -> bool {
        self.tables.contains(table.name())
    }

    /// Rows that a table would have, in proportion to its bytes; `None` where nothing of it was read before.
    pub fn rows_of(&self, table: Table) -> Option<u64> {
        let count_of = |counts: &BTreeMap<&'static str, u64>| counts.get(table.name()).copied().unwrap_or_default();
        let (known, bytes) = (count_of(&self.bytes_known), count_of(&self.bytes_of));
        (known > 0).then(|| (count_of(&self.rows_known) as f64 * bytes as f64 / known as f64) as u64)
    }
}

/// Bytes of a file as plain text: Parquet and Excel pack it to about a quarter.
fn unpacked(path: &str, bytes: u64) -> u64 {
    let is_packed = [".parquet", ".pq", ".xlsx"].iter().any(|end| path.to_ascii_lowercase().ends_with(end));
    if is_packed { 4 * bytes } else { bytes }
}

/// A key that changes when files of the sources come, go, or change their length or time.
pub fn state_of_files(sources: &[Source], base: &Path) -> Result<Key> {
    let (units, _) = files::find(sources, base)?;
    let about = |path: &PathBuf| {
        let file = std::fs::metadata(path).ok();
        let modified = file.as_ref().and_then(|file| file.modified().ok()?.duration_since(UNIX_EPOCH).ok());
        (path.clone(), file.map(|file| file.len()), modified)
    };
    Ok(Key::of_json(&units.iter().flat_map(|unit| unit.files()).map(about).collect::<Vec<_>>()))
}

/// Compares the files of the sources with what the last run read of them. Changes of settings are seen as far as they change what is read of a
/// file. Fails where a source has no file.
pub fn due(sources: &[Source], params: &Params, base: &Path, project: &Project, ctx: &Ctx) -> Result<Due> {
    let log = IngestLog::load(&project.ingest_log())?;
    let (units, _) = files::find(sources, base)?;
    let mut due = Due::default();
    let mut seen = BTreeSet::new();
    for file in &log.files {
        *due.bytes_known.entry(file.table.name()).or_default() += unpacked(&file.path, file.size);
        *due.rows_known.entry(file.table.name()).or_default() += file.rows_out;
    }
    for unit in units {
        let name = unit.source.table.name();
        let known = log.files.iter().find(|file| file.source == unit.source.name && file.path == unit.path);
        let same_settings = known.filter(|file| file.settings == params.settings_of(&unit));
        let content = unit.content(same_settings, ctx)?;
        *due.bytes_of.entry(name).or_default() += unpacked(&unit.path, content.size);
        if let Some(file) = known {
            seen.insert((file.source.clone(), file.path.clone()));
        }
        match same_settings {
            Some(file) if file.size == content.size && file.hash == content.hash => {}
            Some(file) if content.grown => {
                due.grown_files += 1;
                due.bytes += unpacked(&unit.path, content.size - file.size);
                due.tables.insert(name);
            }
            _ => {
                due.new_files += 1;
                due.bytes += unpacked(&unit.path, content.size);
                due.tables.insert(name);
            }
        }
    }
    for file in log.files.iter().filter(|file| !seen.contains(&(file.source.clone(), file.path.clone()))) {
        due.gone_files += 1;
        due.tables.insert(file.table.name());
    }
    Ok(due)
}
