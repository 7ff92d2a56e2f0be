//! Checking a whole store, and making a damaged one sound.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::Path;

use anyhow::Result;
use serde::Serialize;

use super::database::{Damaged, Database, Unreadable};
use super::files::RowFiles;
use super::generations::{Generations, copied_database, is_there};
use super::headers::Headers;
use super::layout::{BatchRecord, batch_key, parse_batch_key, seal};
use super::{PATIENCE, Reader, Store, read_record};
use inkstone_base::data::Key;
use inkstone_base::disk;
use inkstone_base::job::Ctx;
use inkstone_base::language::{Message, Word};
use inkstone_base::message;

/// Something wrong in a store.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Problem {
    /// The set; none where the database itself is damaged.
    pub set: Option<Key>,
    /// The batch, unless the header itself is damaged.
    pub batch: Option<Key>,
    /// The flaw, with the number of the block.
    pub what: Message,
    /// True if rows of a finished set may be lost; otherwise the problem only costs space.
    pub harmful: bool,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(set) = self.set {
            message!("特征集 {set}", "feature set {set}").fmt(f)?;
        }
        if let Some(batch) = self.batch {
            write!(f, ", batch {batch}")?;
        }
        write!(f, "{}{}", if self.set.is_some() { ": " } else { "" }, self.what)
    }
}

/// Records of the sound files of rows, by set and batch.
type Sound = BTreeMap<(Key, Key), Vec<BatchRecord>>;

impl Store {
    /// Reads everything and lists the problems. What is wrong with a batch that belongs to no finished set is left out: a loss of power may
    /// damage such a batch, and the next run computes it. Advances by one for each file.
    pub fn verify(&self, ctx: &Ctx) -> Result<Vec<Problem>> {
        verify(&self.database, &self.reader, ctx)
    }

    /// Makes the store in `path` sound, and lists the problems that it had. A new database is made of the files whose every block is sound;
    /// damaged files and the headers of sets that lack a batch are removed. A set that lost a batch is unfinished from then on; the next run
    /// computes that batch alone. Advances by one for each file.
    pub fn repair(path: &Path, ctx: &Ctx) -> Result<Vec<Problem>> {
        let (mut generations, reader) = (Generations::take(path, PATIENCE, true)?, Reader::new(path));
        let Reader { files, headers, .. } = &reader;
        let mut problems = Vec::new();
        let old = match generations.database() {
            Err(error) if error.is::<Damaged>() || error.is::<Unreadable>() => {
                problems.push(Problem { set: None, batch: None, what: Message::of_error(&error), harmful: true });
                None
            }
            opened => Some(opened?),
        };
        let (sound, damaged) = examine_files(files, &mut problems, ctx)?;
        let mut finished = BTreeMap::new();
        for set in headers.sets()? {
            let batches = headers.read(set).ok().flatten().into_iter().flat_map(|header| header.batches);
            finished.extend(batches.map(|batch| ((set, batch.key), batch.record)));
        }
        let (database, ()) = generations.replace(|new| {
            for (&(set, batch), records) in &sound {
                let key = batch_key(set, batch);
                let recorded = || old.as_ref()?.get(&key).ok()?.and_then(|value| read_record(&key, &value).ok());
                // Among several rows of a batch, those that counted; another may be one that was being replaced.
                let counted = finished.get(&(set, batch)).copied().or_else(recorded);
                let Some(record) = records.iter().find(|r| Some(**r) == counted).or(records.first()) else { continue };
                new.apply(vec![(key.clone(), seal(&key, &serde_json::to_vec(record)?))], Vec::new())?;
            }
            Ok(())
        })?;
        database.flush()?;
        let unsound = unsound(headers, &sound, &mut problems)?;
        unsound.into_iter().try_for_each(|set| headers.remove(set).map(drop))?;
        damaged.iter().try_for_each(|path| disk::remove_if_there(path))?;
        files.tidy();
        Ok(problems)
    }
}

impl Reader {
    /// Checks the store like [`Store::verify`], but changes nothing in its folder: the database is read from a copy. Fails while another
    /// process writes the store.
    pub fn verify(&self, ctx: &Ctx) -> Result<Vec<Problem>> {
        // A loss of power may leave the folder of a store that was about to begin.
        if !is_there(self.root())? {
            return Ok(Vec::new());
        }
        let (_copy, database) = copied_database(self.root(), PATIENCE)?;
        verify(&database, self, ctx)
    }
}

fn verify(database: &Database, reader: &Reader, ctx: &Ctx) -> Result<Vec<Problem>> {
    let mut problems = Vec::new();
    let (sound, _) = examine_files(&reader.files, &mut problems, ctx)?;
    let mut known = BTreeMap::new();
    for (set, batch, record) in records(database, &mut problems) {
        let mut add = |what| problems.push(Problem { set: Some(set), batch: Some(batch), what, harmful: false });
        match record {
            Ok(record) if holds(&sound, set, batch, &record) => drop(known.insert((set, batch), record)),
            Ok(_) => add(Word("它的行缺失或损坏", "its rows are missing or damaged").into()),
            Err(error) => add(message!("它的记录{}", "its record {}", error.root_cause())),
        }
    }
    for ((set, batch), known) in known {
        for other in sound[&(set, batch)].iter().filter(|record| **record != known) {
            let what = message!("{} 个被替换的行块", "{} blocks of rows that were replaced", other.blocks);
            problems.push(Problem { set: Some(set), batch: Some(batch), what, harmful: false });
        }
    }
    unsound(&reader.headers, &sound, &mut problems)?;
    let mut finished = BTreeSet::new();
    for set in reader.headers.sets()? {
        let batches = reader.headers.read(set).ok().flatten().into_iter().flat_map(|header| header.batches);
        finished.extend(batches.map(|batch| (set, batch.key)));
    }
    problems.retain(|problem| {
        let batch = problem.set.zip(problem.batch);
        problem.harmful || batch.is_none_or(|batch| finished.contains(&batch))
    });
    Ok(problems)
}

/// Set, batch and record of each batch in a database; an error where a record cannot be read. Where the database cannot be read on, that
/// becomes a problem.
fn records(database: &Database, problems: &mut Vec<Problem>) -> Vec<(Key, Key, Result<BatchRecord>)> {
    let mut records = Vec::new();
    for entry in database.scan(b"b") {
        match entry {
            Ok((key, value)) => {
                if let Some((set, batch)) = parse_batch_key(&key) {
                    records.push((set, batch, read_record(&key, &value)));
                }
            }
            Err(error) => {
                problems.push(Problem { set: None, batch: None, what: Message::of_error(&error), harmful: true });
                break;
            }
        }
    }
    records
}

fn holds(sound: &Sound, set: Key, batch: Key, record: &BatchRecord) -> bool {
    sound.get(&(set, batch)).is_some_and(|records| records.contains(record))
}

/// Records of the sound files, and the paths of the others.
fn examine_files(files: &RowFiles, problems: &mut Vec<Problem>, ctx: &Ctx) -> Result<(Sound, Vec<std::path::PathBuf>)> {
    let (mut sound, mut damaged) = (Sound::new(), Vec::new());
    for found in files.list()? {
        match files.examine(&found) {
            Ok(record) => sound.entry((found.set, found.batch)).or_default().push(record),
            Err(error) => {
                let what = Message::of_error(&error);
                problems.push(Problem { set: Some(found.set), batch: Some(found.batch), what, harmful: false });
                damaged.push(found.path);
            }
        }
        ctx.advance(1)?;
    }
    Ok((sound, damaged))
}

/// The sets whose headers are damaged or lack a sound batch; each becomes a problem.
fn unsound(headers: &Headers, sound: &Sound, problems: &mut Vec<Problem>) -> Result<Vec<Key>> {
    let mut unsound = Vec::new();
    for set in headers.sets()? {
        let before = problems.len();
        let mut add = |batch, what| problems.push(Problem { set: Some(set), batch, what, harmful: true });
        match headers.read(set) {
            Ok(header) => {
                let batches = header.into_iter().flat_map(|header| header.batches);
                for batch in batches.filter(|batch| !holds(sound, set, batch.key, &batch.record)) {
                    add(
                        Some(batch.key),
                        Word("已完成特征集的一批缺失或损坏", "a batch of the finished set is missing or damaged")
                            .into(),
                    );
                }
            }
            Err(error) => add(None, message!("它的头部{}", "its header {}", error.root_cause())),
        }
        if problems.len() > before {
            unsound.push(set);
        }
    }
    Ok(unsound)
}
