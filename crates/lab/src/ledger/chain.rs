//! The ledger on disk: lines that are only ever added, each sealed by the hash of the one before.
//!
//! A line says that a trial ran or that entries were deleted; it holds what counts for others (key of the trial, group, moments, p) and
//! stays for ever. What can be deleted, names, parameters and figures, is attached to it, and its hash is in the line; the returns, which
//! count for the probability of overfitting, are then attached to the deletion, without a name. So a line that was changed or taken away, and details that went without a deletion, are noticed whenever the ledger is read. What cannot be noticed is
//! that the whole folder was replaced, or put back as it once was; the seal of an entry, wherever it was printed, tells that.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result};
use chrono::{DateTime, NaiveDate, Utc};
use serde::{Deserialize, Serialize};

use super::entry::{Deletion, Details, Entry, EntryKind, Series, Trial};
use super::sharpe::Moments;
use inkstone_base::data::Key;
use inkstone_base::language::{Message, Word};
use inkstone_base::{bail, ensure, message};
use inkstone_store::{Journal, Slot};

/// Longest time for which another run may hold the ledger.
const PATIENCE: Duration = Duration::from_secs(10);

/// Correlation of returns from which on two trials are one idea: they share half of their variance.
const ALIKE: f64 = std::f64::consts::FRAC_1_SQRT_2;

/// A research ledger in a folder. One process holds it at a time, so it should be closed (dropped) soon.
pub struct Ledger {
    path: PathBuf,
    journal: Journal,
    entries: Vec<Entry>,
    openings: Vec<VaultOpening>,
    /// The seal that the next line has to name.
    seal: Key,
    /// Lines that are gone or cannot be read.
    missing: u64,
    problems: Vec<Message>,
}

/// A line as it is kept.
#[derive(Serialize, Deserialize)]
struct LedgerLine {
    /// Hash of the line before; the zero key in the first.
    previous: Key,
    when: DateTime<Utc>,
    event: LedgerEvent,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum LedgerEvent {
    Ran(Ran),
    Deleted {
        entries: Vec<u64>,
        reason: String,
        /// Hash of the attached returns of these entries; none where there are none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        returns: Option<Key>,
    },
    /// The sealed period of a project was opened.
    Opened {
        from: NaiveDate,
        reason: String,
    },
}

/// An opening of the sealed period.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct VaultOpening {
    pub number: u64,
    pub when: DateTime<Utc>,
    /// First day of the period.
    pub from: NaiveDate,
    pub reason: String,
}

nan_as_null! {
    #[derive(Clone, Copy, Serialize, Deserialize)]
    struct Ran {
        kind: EntryKind,
        trial: Key,
        group: u64,
        moments: Option<Moments>,
        days_per_year: u32,
        p: f64,
        details: Key,
    }
}

impl Ledger {
    /// Opens the ledger in a folder to be written, and checks all of it; the folder is made when it does not exist. Waits some seconds for
    /// another run that has it open.
    pub fn open(path: &Path) -> Result<Ledger> {
        Ledger::from_journal(path, Journal::open(path, PATIENCE))
    }

    /// Opens the ledger in a folder to be read, and checks all of it. Nothing is written there, and nothing can be recorded or deleted.
    pub fn read(path: &Path) -> Result<Ledger> {
        Ledger::from_journal(path, Journal::read(path, PATIENCE))
    }

    /// Says whether there is a ledger in a folder.
    pub fn is_in(path: &Path) -> bool {
        Journal::is_in(path)
    }

    fn from_journal(path: &Path, journal: Result<Journal>) -> Result<Ledger> {
        let mut ledger = Ledger {
            path: path.to_owned(),
            journal: journal.with_context(|| message!("台账 {}", "the ledger {}", path.display()))?,
            entries: Vec::new(),
            openings: Vec::new(),
            seal: Key::default(),
            missing: 0,
            problems: Vec::new(),
        };
        ledger.check().with_context(|| message!("无法读取台账 {}", "cannot read the ledger {}", path.display()))?;
        Ok(ledger)
    }

    /// The entries in the order of their numbers, the deleted ones as what is left of them.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// The openings of the sealed period, oldest first. Nothing deletes them.
    pub fn openings(&self) -> &[VaultOpening] {
        &self.openings
    }

    /// Records that the sealed period is about to be read, and gives the number of the line.
    pub fn note_opening(&mut self, from: NaiveDate, reason: &str, when: DateTime<Utc>) -> Result<u64> {
        let reason = reason.trim().to_owned();
        ensure!(
            !reason.is_empty(),
            "请写明理由：打开封存期连同理由记入台账",
            "say why: an opening stands in the ledger with its reason"
        );
        let event = LedgerEvent::Opened { from, reason: reason.clone() };
        let number = self.append(&LedgerLine { previous: self.seal, when, event }, None, &[])?;
        self.openings.push(VaultOpening { number, when, from, reason });
        Ok(number)
    }

    /// Changes that were not made by the program, in words; empty for a sound ledger.
    pub fn problems(&self) -> &[Message] {
        &self.problems
    }

    /// Lines that are gone or cannot be read. Each counts as a trial with unknown figures.
    pub fn missing(&self) -> u64 {
        self.missing
    }

    /// Number of the last line, entry or deletion, and its seal, which stands for the whole ledger.
    pub fn last(&self) -> Result<(u64, Key)> {
        Ok((self.journal.last()?.0, self.seal))
    }

    /// Records a trial that ran, and gives the number of its entry. It is on disk when this returns.
    pub fn record(&mut self, trial: &Trial, when: DateTime<Utc>) -> Result<u64> {
        let key = trial.key();
        let returns = trial.details.returns.as_ref();
        let values: Option<Vec<f64>> = returns.map(|series| series.values.iter().map(|v| f64::from(*v)).collect());
        let packed = trial.details.pack();
        let ran = Ran {
            kind: trial.kind,
            trial: key,
            group: self.group(trial, key)?,
            moments: values.and_then(|values| Moments::from_returns(&values)),
            days_per_year: trial.days_per_year,
            p: trial.p,
            details: Key::of(&packed),
        };
        let line = LedgerLine { previous: self.seal, when, event: LedgerEvent::Ran(ran) };
        let number = self.append(&line, Some(&packed), &[])?;
        self.entries.push(entry(number, when, ran, self.seal, Some(trial.details.clone())));
        Ok(number)
    }

    /// Deletes names, parameters and figures of entries. When, why, the key, the moments, p and the returns stay, and count as before.
    pub fn delete(&mut self, numbers: &[u64], reason: &str, when: DateTime<Utc>) -> Result<u64> {
        let reason = reason.trim();
        ensure!(
            !reason.is_empty(),
            "请写明理由：删除连同理由记入台账",
            "say why: a deletion stands in the ledger with its reason"
        );
        ensure!(!numbers.is_empty(), "请写出要删除的记录", "say which entries are to be deleted");
        let mut numbers = numbers.to_vec();
        numbers.sort_unstable();
        numbers.dedup();
        for number in &numbers {
            let entry = self.entry(*number)?;
            if let Some(deletion) = &entry.deleted {
                bail!(
                    "记录 {number} 已经删除（{}）：{}",
                    "entry {number} was deleted already ({}): {}",
                    day(deletion.when),
                    deletion.reason
                );
            }
        }
        let gone = self.entries.iter().filter(|entry| numbers.binary_search(&entry.number).is_ok());
        let packed = Series::pack_all(gone.filter_map(|entry| Some((entry.number, entry.returns()?))));
        let packed = (!packed.is_empty()).then_some(packed);
        let returns = packed.as_deref().map(Key::of);
        let event = LedgerEvent::Deleted { entries: numbers.clone(), reason: reason.to_owned(), returns };
        let number = self.append(&LedgerLine { previous: self.seal, when, event }, packed.as_deref(), &numbers)?;
        let deletion = Deletion { number, when, reason: reason.to_owned() };
        for entry in self.entries.iter_mut().filter(|entry| numbers.binary_search(&entry.number).is_ok()) {
            entry.left = entry.details.take().and_then(|details| details.returns);
            entry.deleted = Some(deletion.clone());
        }
        Ok(number)
    }

    pub fn entry(&self, number: u64) -> Result<&Entry> {
        let found = self.entries.iter().find(|entry| entry.number == number);
        found.with_context(|| {
            let path = self.path.display();
            match self.entries.last() {
                None => message!("台账 {path} 还没有记录", "the ledger {path} has no entries yet"),
                Some(last) => message!(
                    "台账 {path} 没有记录 {number}；最后一条为 {}",
                    "the ledger {path} has no entry {number}; its last one is {}",
                    last.number
                ),
            }
        })
    }

    fn append(&mut self, line: &LedgerLine, details: Option<&[u8]>, drop: &[u64]) -> Result<u64> {
        let bytes = serde_json::to_vec(line).context(Word("一行应有 JSON 形式", "a line has a JSON form"))?;
        let number =
            self.journal.append(&bytes, details, drop).context(Word("无法写入台账", "cannot write to the ledger"))?;
        self.seal = Key::of(&bytes);
        Ok(number)
    }

    /// The group of a trial: that which it had before, else that of the returns which resemble its own most, else one of its own. Of a
    /// group the first entry with returns stands for it.
    fn group(&self, trial: &Trial, key: Key) -> Result<u64> {
        if let Some(before) = self.entries.iter().find(|entry| entry.trial == key) {
            return Ok(before.group);
        }
        let mut stands_for = BTreeMap::new();
        for entry in &self.entries {
            if let Some(returns) = entry.returns() {
                stands_for.entry(entry.group).or_insert(returns);
            }
        }
        let mut best = (ALIKE, self.journal.last()?.0 + 1);
        for (group, returns) in stands_for {
            let correlation = trial.details.returns.as_ref().map_or(f64::NAN, |own| own.correlation(returns));
            if correlation > best.0 {
                best = (correlation, group);
            }
        }
        Ok(best.1)
    }

    fn check(&mut self) -> Result<()> {
        let (last, noted) = self.journal.last()?;
        let mut deletions = BTreeMap::new();
        let mut left = BTreeMap::new();
        let mut hashes = Vec::new();
        let mut previous = Some(Key::default());
        for number in 1..=last {
            let line = match self.journal.record(number)? {
                Slot::Whole(bytes) => serde_json::from_slice::<LedgerLine>(&bytes)
                    .map(|line| (line, Key::of(&bytes)))
                    .map_err(|_| Word("不是本版本所读的格式", "is not what this version reads").into()),
                Slot::Damaged(what) => Err(what),
                Slot::Absent => Err(Word("被取走", "was taken away").into()),
            };
            let (line, seal) = match line {
                Ok(read) => read,
                Err(what) => {
                    self.problems.push(message!("第 {number} 行{what}", "line {number} {what}"));
                    self.missing += 1;
                    previous = None;
                    continue;
                }
            };
            if previous.is_some_and(|previous| previous != line.previous) {
                self.problems.push(message!(
                    "第 {number} 行与上一行不衔接：其中一行被改动过",
                    "line {number} does not follow from the line before it: one of them was changed"
                ));
            }
            previous = Some(seal);
            match line.event {
                LedgerEvent::Ran(ran) => {
                    hashes.push(ran.details);
                    self.entries.push(entry(number, line.when, ran, seal, None));
                }
                LedgerEvent::Opened { from, reason } => {
                    self.openings.push(VaultOpening { number, when: line.when, from, reason });
                }
                LedgerEvent::Deleted { entries, reason, returns } => {
                    if let Some(hash) = returns {
                        match self.attached(number, hash, Series::unpack_all)? {
                            Ok(series) => left.extend(series),
                            Err(what) => self.problems.push(message!(
                                "删除 {number} 所保留的收益{what}",
                                "the returns that deletion {number} keeps {what}"
                            )),
                        }
                    }
                    let deletion = Deletion { number, when: line.when, reason };
                    deletions.extend(entries.into_iter().map(|entry| (entry, deletion.clone())));
                }
            }
        }
        match noted {
            None => self
                .problems
                .push(Word("末行的附记被取走或改动", "the note of the last line was taken away or changed").into()),
            Some(noted) if previous.is_some_and(|previous| previous != noted) => {
                self.problems.push(message!("末行（第 {last} 行）被改动", "line {last}, the last one, was changed"));
            }
            Some(_) => {}
        }
        // A note that is lost is never made up for: what follows does not fit what was before, and says so for ever.
        self.seal = noted.unwrap_or_else(|| Key::of(b"the note of the last line was lost"));
        let mut entries = std::mem::take(&mut self.entries);
        for (entry, hash) in entries.iter_mut().zip(hashes) {
            entry.deleted = deletions.remove(&entry.number);
            if entry.deleted.is_some() {
                entry.left = left.remove(&entry.number);
                continue;
            }
            match self.attached(entry.number, hash, Details::unpack)? {
                Ok(details) => entry.details = Some(details),
                Err(what) => {
                    self.problems.push(message!("记录 {} 的详情{what}", "the details of entry {} {what}", entry.number))
                }
            }
        }
        self.entries = entries;
        Ok(())
    }

    /// Reads the attachment of a line; where it is not the one with this hash, says why.
    fn attached<T>(&self, number: u64, hash: Key, read: fn(&[u8]) -> Result<T>) -> Result<Result<T, Message>> {
        Ok(match self.journal.attachment(number)? {
            Slot::Whole(bytes) if Key::of(&bytes) == hash => read(&bytes).map_err(|error| Message::of_error(&error)),
            Slot::Whole(_) => Err(Word("被改动", "were changed").into()),
            Slot::Damaged(what) => Err(what),
            Slot::Absent => Err(Word("未经删除即被取走", "were taken away without a deletion").into()),
        })
    }
}

fn entry(number: u64, when: DateTime<Utc>, ran: Ran, seal: Key, details: Option<Details>) -> Entry {
    let Ran { kind, trial, group, moments, days_per_year, p, .. } = ran;
    Entry { number, when, kind, trial, group, moments, days_per_year, p, seal, details, deleted: None, left: None }
}

fn day(when: DateTime<Utc>) -> impl std::fmt::Display {
    when.format("%Y-%m-%d")
}
