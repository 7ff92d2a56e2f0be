//! Checking a whole store, and making a damaged one sound.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::Path;

use anyhow::Result;
use serde::Serialize;

use super::database::Database;
use super::files::RowFiles;
use super::generations::{FORMAT, Generations};
use super::layout::{Address, BatchRecord, Header, seal};
use super::{PATIENCE, Store, migrate, read_header, read_record};
use crate::data::Key;
use crate::disk;
use crate::job::Ctx;

/// Something wrong in a store.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Problem {
    /// The set; none where the database itself is damaged.
    pub set: Option<Key>,
    /// The batch, unless the header itself is damaged.
    pub batch: Option<Key>,
    /// What is wrong, block number included.
    pub what: String,
    /// Whether rows of a finished set are lost. Otherwise it only costs space.
    pub harmful: bool,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(set) = self.set {
            write!(f, "feature set {set}")?;
        }
        if let Some(batch) = self.batch {
            write!(f, ", batch {batch}")?;
        }
        write!(f, "{}{}", if self.set.is_some() { ": " } else { "" }, self.what)
    }
}

/// What the files of rows hold, by set and batch.
type Sound = BTreeMap<(Key, Key), Vec<BatchRecord>>;

impl Store {
    /// Reads everything and tells what is wrong. Batches of unfinished sets are checked as well, and are no problem by themselves.
    /// Advances by one for each file.
    pub fn verify(&self, ctx: &Ctx) -> Result<Vec<Problem>> {
        let mut problems = Vec::new();
        let (sound, _) = examine_files(&self.files, &mut problems, ctx)?;
        let mut known = BTreeMap::new();
        for (set, batch, record) in records(&self.database, &mut problems) {
            let mut tell = |what| problems.push(Problem { set: Some(set), batch: Some(batch), what, harmful: false });
            match record {
                Ok(record) if holds(&sound, set, batch, &record) => drop(known.insert((set, batch), record)),
                Ok(_) => tell("its rows are missing or damaged".to_owned()),
                Err(error) => tell(format!("its record {}", error.root_cause())),
            }
        }
        for ((set, batch), known) in known {
            for other in sound[&(set, batch)].iter().filter(|record| **record != known) {
                let what = format!("{} blocks of rows that were replaced", other.blocks);
                problems.push(Problem { set: Some(set), batch: Some(batch), what, harmful: false });
            }
        }
        headers(&self.database, &self.files, &mut problems, |set, batch, record| holds(&sound, set, batch, record))?;
        Ok(problems)
    }

    /// Makes the store in `path` sound, whatever was damaged, and tells what was wrong. A new database is made of the files whose every
    /// block is sound, and of the finished sets that have all their batches; damaged files are removed. A set that lost a batch is
    /// unfinished from then on; the next run computes that batch alone. Advances by one for each file.
    pub fn repair(path: &Path, ctx: &Ctx) -> Result<Vec<Problem>> {
        let mut generations = Generations::take(path, PATIENCE, true)?;
        let files = RowFiles::new(path);
        let mut problems = Vec::new();
        let whole = |what| Problem { set: None, batch: None, what, harmful: true };
        let old = generations.database().map_err(|error| problems.push(whole(format!("{error:#}")))).ok();
        if let Some(old) = old.as_ref().filter(|_| generations.format() < FORMAT) {
            migrate::rows(old, &files, &mut problems, ctx)?;
        }
        let (sound, damaged) = examine_files(&files, &mut problems, ctx)?;
        let (database, ()) = generations.replace(|new| {
            for (&(set, batch), records) in &sound {
                let key = Address::Batch { set, batch }.bytes();
                let told = old.as_ref().and_then(|old| old.get(&key).ok().flatten());
                let told = told.and_then(|value| read_record(&key, &value).ok());
                // Of several rows of a batch, those that counted; any other may be what was being replaced.
                let Some(record) = records.iter().find(|r| Some(**r) == told).or(records.first()) else { continue };
                new.apply(vec![(key.clone(), seal(&key, &serde_json::to_vec(record)?))], Vec::new())?;
            }
            let Some(old) = &old else { return Ok(()) };
            let kept = headers(old, &files, &mut problems, |set, batch, record| holds(&sound, set, batch, record))?;
            kept.into_iter().try_for_each(|header| {
                let key = Address::Header { set: header.id() }.bytes();
                let value = seal(&key, &serde_json::to_vec(&header)?);
                new.apply(vec![(key, value)], Vec::new())
            })
        })?;
        database.flush()?;
        damaged.iter().try_for_each(|path| disk::remove_if_there(path))?;
        files.tidy();
        Ok(problems)
    }
}

/// What a database says of batches: set, batch and record, or why that cannot be read. Where it cannot be read on, that is told.
pub(super) fn records(database: &Database, problems: &mut Vec<Problem>) -> Vec<(Key, Key, Result<BatchRecord>)> {
    let mut records = Vec::new();
    for entry in database.scan(b"b") {
        match entry {
            Ok((key, value)) => {
                if let Some(Address::Batch { set, batch }) = Address::parse(&key) {
                    records.push((set, batch, read_record(&key, &value)));
                }
            }
            Err(error) => {
                problems.push(Problem { set: None, batch: None, what: format!("{error:#}"), harmful: true });
                break;
            }
        }
    }
    records
}

fn holds(sound: &Sound, set: Key, batch: Key, record: &BatchRecord) -> bool {
    sound.get(&(set, batch)).is_some_and(|records| records.contains(record))
}

/// What the sound files hold, and the paths of the others.
fn examine_files(files: &RowFiles, problems: &mut Vec<Problem>, ctx: &Ctx) -> Result<(Sound, Vec<std::path::PathBuf>)> {
    let (mut sound, mut damaged) = (Sound::new(), Vec::new());
    for found in files.list()? {
        match files.examine(&found) {
            Ok(record) => sound.entry((found.set, found.batch)).or_default().push(record),
            Err(error) => {
                let what = format!("{error:#}");
                problems.push(Problem { set: Some(found.set), batch: Some(found.batch), what, harmful: false });
                damaged.push(found.path);
            }
        }
        ctx.advance(1)?;
    }
    Ok((sound, damaged))
}

/// The headers whose batches are all there, as `sound` sees them. They are looked for by their keys as well as in order, because a damaged
/// database may give the one and not the other.
fn headers(
    database: &Database,
    files: &RowFiles,
    problems: &mut Vec<Problem>,
    sound: impl Fn(Key, Key, &BatchRecord) -> bool,
) -> Result<Vec<Header>> {
    let mut sets: BTreeSet<Key> = files.list()?.iter().map(|found| found.set).collect();
    for key in database.scan_keys(b"h") {
        match key {
            Ok(key) => sets.extend(Address::parse(&key).map(|address| address.set())),
            Err(error) => {
                problems.push(Problem { set: None, batch: None, what: format!("{error:#}"), harmful: true });
                break;
            }
        }
    }
    let mut whole = Vec::new();
    for set in sets {
        let key = Address::Header { set }.bytes();
        let header = match database.get(&key).and_then(|value| value.map(|v| read_header(&key, &v)).transpose()) {
            Ok(Some(header)) => header,
            Ok(None) => continue,
            Err(error) => {
                let what = format!("its header {}", error.root_cause());
                problems.push(Problem { set: Some(set), batch: None, what, harmful: true });
                continue;
            }
        };
        let lost = header.batches.iter().filter(|batch| !sound(set, batch.key, &batch.record));
        let before = problems.len();
        problems.extend(lost.map(|batch| Problem {
            set: Some(set),
            batch: Some(batch.key),
            what: "a batch of the finished set is missing or damaged".to_owned(),
            harmful: true,
        }));
        if problems.len() == before {
            whole.push(header);
        }
    }
    Ok(whole)
}
