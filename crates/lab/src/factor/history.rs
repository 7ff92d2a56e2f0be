//! The past of a factor: every run that makes its table anew compares it with the one that it replaces.
//!
//! A factor of the same definition gives the same rows for the days that it had before, and new days behind them. Where a row differs, its
//! documents or prices were corrected, came late or were adjusted: both values are kept, with the times from which each was known.

use std::path::{Path, PathBuf};

use anyhow::Result;
use chrono::{NaiveDate, NaiveDateTime};
use polars_core::prelude::{Column, DataFrame, IntoColumn, NamedFrom, Series};
use serde::{Deserialize, Serialize};

use super::table::Factor;
use inkstone_base::data::Key;
use inkstone_base::disk;
use inkstone_market::{dates_column, dates_of};
use inkstone_tables::corpus::{column, texts_column, texts_of, times_column, times_of};
use inkstone_tables::frames;

/// The files of a factor's past.
pub struct HistoryFiles {
    /// The table as it was made last.
    pub table: PathBuf,
    /// Runs that made the table, as JSON.
    pub runs: PathBuf,
    /// Values that were other ones before.
    pub revisions: PathBuf,
}

/// A run that made the table of a factor.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TableRun {
    pub at: NaiveDateTime,
    /// The last day of the table.
    pub through: Option<NaiveDate>,
    pub rows: usize,
    /// FactorRows of the table before, up to its last day.
    pub compared: usize,
    /// FactorRows among them, or new ones of those days, that differ.
    pub revised: usize,
    /// The changes of the data that ingest saw, if rows differ.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// True if prices of the past were corrected or withdrawn, so that its returns are other ones.
    pub other_returns: bool,
    /// Key of the file; the default while it is being written.
    pub table: Key,
}

/// Changes of the past that ingest saw.
#[derive(Clone, Debug)]
pub struct Cause {
    pub reason: Option<String>,
    /// True if no price of the past was corrected or withdrawn; one that was adjusted stands.
    pub prices_stand: bool,
}

/// The runs since a factor has been defined as it is.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct History {
    /// Key of everything but data that the values depend on.
    definition: Key,
    pub runs: Vec<TableRun>,
}

impl History {
    /// Keys of the tables that have one past, the newest last: those since a value, or a price of the past, was another one.
    pub fn unbroken(&self) -> Vec<Key> {
        let start = self.runs.iter().rposition(|run| run.revised > 0 || run.other_returns).unwrap_or(0);
        self.runs[start..].iter().map(|run| run.table).collect()
    }

    /// The history of a factor; none if there is none, or its file is damaged.
    pub fn read(files: &HistoryFiles) -> Result<Option<History>> {
        disk::read_json_if_whole(&files.runs)
    }
}

/// A value of a past day that a later run changed.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RevisedValue {
    pub date: NaiveDate,
    pub code: String,
    pub before: Option<f64>,
    pub before_known_at: Option<NaiveDateTime>,
    pub after: Option<f64>,
    /// The run that changed it: nobody knew the new value before.
    pub after_known_at: NaiveDateTime,
}

/// Writes the table of a factor. Before that, compares it with the one in its place, notes the run and keeps the values that differ. A table of
/// another definition begins a new history.
pub fn write_table(
    files: &HistoryFiles,
    factor: &Factor,
    definition: Key,
    cause: Cause,
    at: NaiveDateTime,
) -> Result<TableRun> {
    write(files, factor.to_frame()?, definition, cause, at)
}

fn write(
    files: &HistoryFiles,
    mut table: DataFrame,
    definition: Key,
    cause: Cause,
    at: NaiveDateTime,
) -> Result<TableRun> {
    let mut history = History::read(files)?.filter(|history| history.definition == definition).unwrap_or_default();
    history.definition = definition;
    let through = dates_of(&table, "date")?.last().copied().flatten();
    let mut run = TableRun {
        at,
        through,
        rows: table.height(),
        compared: 0,
        revised: 0,
        reason: None,
        other_returns: !cause.prices_stand && !history.runs.is_empty(),
        table: Key::default(),
    };
    // A run that was killed before it had written its table.
    let unfinished = history.runs.pop_if(|last| last.table == Key::default());
    if history.runs.is_empty() {
        disk::remove_if_there(&files.revisions)?;
    } else if disk::damage_of(&files.table, None)?.is_none() {
        let before = frames::read_parquet(&files.table, None)?;
        let revised = differences(&before, &table, at)?;
        (run.compared, run.revised) = (before.height(), revised.len());
        keep(&files.revisions, &revised)?;
    }
    if let Some(unfinished) = unfinished {
        run.revised = run.revised.max(unfinished.revised);
        run.other_returns |= unfinished.other_returns;
    }
    run.reason = cause.reason.filter(|_| run.revised > 0);
    history.runs.push(run);
    disk::write_json(&files.runs, &history)?;
    frames::write_parquet(&files.table, &mut table)?;
    let (written, number) = (disk::hash_file(&files.table)?, history.runs.len() - 1);
    history.runs[number].table = written;
    let run = history.runs[number].clone();
    // The same table once more is the same run.
    let is_repeated = number > 0 && history.runs[number - 1].table == written && run.revised == 0 && !run.other_returns;
    history.runs.truncate(number + usize::from(!is_repeated));
    disk::write_json(&files.runs, &history)?;
    Ok(run)
}

/// The rows of the earlier table's days that are not in both tables alike. Both are sorted by date, then code.
fn differences(before: &DataFrame, after: &DataFrame, at: NaiveDateTime) -> Result<Vec<RevisedValue>> {
    let height = before.height();
    if after.height() >= height && is_same(before, &after.slice(0, height))? {
        let last = dates_of(&before.slice(height.saturating_sub(1) as i64, 1), "date")?;
        let next = dates_of(&after.slice(height as i64, 1), "date")?;
        if next.is_empty() || next > last {
            return Ok(Vec::new());
        }
    }
    let (ours, theirs) = (FactorRows::read(before)?, FactorRows::read(after)?);
    let last = ours.dates.last().copied().flatten();
    let mut revised = Vec::new();
    let (mut i, mut j) = (0, 0);
    while i < ours.len() || j < theirs.len() {
        let (mine, other) = (ours.key(i), theirs.key(j));
        if mine.is_none() && other.is_some_and(|(date, _)| date > last) {
            break;
        }
        let (was, is) = match (mine, other) {
            (Some(mine), Some(other)) if mine == other => (Some(i), Some(j)),
            (Some(mine), other) if other.is_none_or(|other| mine < other) => (Some(i), None),
            _ => (None, Some(j)),
        };
        let same = was.zip(is).is_some_and(|(i, j)| ours.bits(i) == theirs.bits(j));
        if let Some((Some(date), Some(code))) = if was.is_some() { mine } else { other }
            && !same
        {
            revised.push(RevisedValue {
                date,
                code: code.to_owned(),
                before: was.and_then(|i| ours.values[i]),
                before_known_at: was.and_then(|i| ours.known[i]),
                after: is.and_then(|j| theirs.values[j]),
                after_known_at: at,
            });
        }
        i += usize::from(was.is_some());
        j += usize::from(is.is_some());
    }
    Ok(revised)
}

fn is_same(a: &DataFrame, b: &DataFrame) -> Result<bool> {
    let same = |name: &str| -> Result<bool> { Ok(column(a, name)?.equals_missing(column(b, name)?)) };
    Ok(same("date")? && same("code")? && same("value")? && same("raw")? && same("known_at")?)
}

/// The rows of a factor's table.
struct FactorRows<'a> {
    dates: Vec<Option<NaiveDate>>,
    codes: Vec<Option<&'a str>>,
    values: Vec<Option<f64>>,
    raw: Vec<Option<f64>>,
    known: Vec<Option<NaiveDateTime>>,
}

impl<'a> FactorRows<'a> {
    fn read(frame: &'a DataFrame) -> Result<FactorRows<'a>> {
        let numbers = |name: &str| -> Result<Vec<Option<f64>>> { Ok(column(frame, name)?.f64()?.iter().collect()) };
        Ok(FactorRows {
            dates: dates_of(frame, "date")?,
            codes: column(frame, "code")?.str()?.iter().collect(),
            values: numbers("value")?,
            raw: numbers("raw")?,
            known: times_of(frame, "known_at")?,
        })
    }

    fn len(&self) -> usize {
        self.dates.len()
    }

    fn key(&self, row: usize) -> Option<(Option<NaiveDate>, Option<&'a str>)> {
        (row < self.len()).then(|| (self.dates[row], self.codes[row]))
    }

    fn bits(&self, row: usize) -> ([Option<u64>; 2], Option<NaiveDateTime>) {
        ([self.values[row], self.raw[row]].map(|value| value.map(f64::to_bits)), self.known[row])
    }
}

/// Adds revised values to the file; those of a run that was killed before it wrote its table are there already.
fn keep(path: &Path, revised: &[RevisedValue]) -> Result<()> {
    let bits = |value: Option<f64>| value.map(f64::to_bits);
    let key = |r: &RevisedValue| (r.date, r.code.clone(), bits(r.before), bits(r.after));
    let mut all = revised_values(path)?;
    let tail = &all[all.len().saturating_sub(revised.len())..];
    if revised.is_empty() || tail.iter().map(key).eq(revised.iter().map(key)) {
        return Ok(());
    }
    all.extend_from_slice(revised);
    let values = |name: &str, pick: fn(&RevisedValue) -> Option<f64>| -> Column {
        Series::new(name.into(), all.iter().map(pick).collect::<Vec<_>>()).into_column()
    };
    let mut frame = frames::frame(vec![
        dates_column("date", all.iter().map(|r| Some(r.date)))?,
        texts_column("code", all.iter().map(|r| Some(&r.code))),
        values("before", |r| r.before),
        times_column("before_known_at", all.iter().map(|r| r.before_known_at))?,
        values("after", |r| r.after),
        times_column("after_known_at", all.iter().map(|r| Some(r.after_known_at)))?,
    ])?;
    frames::write_parquet(path, &mut frame)
}

/// The values of a factor that later runs changed, in the order in which they did.
pub fn revised_values(path: &Path) -> Result<Vec<RevisedValue>> {
    if !path.exists() {
        return Ok(Vec::new());
    }
    let frame = frames::read_parquet(path, None)?;
    let (dates, codes) = (dates_of(&frame, "date")?, texts_of(&frame, "code")?);
    let (before, after) = (column(&frame, "before")?.f64()?, column(&frame, "after")?.f64()?);
    let (known_before, known_after) = (times_of(&frame, "before_known_at")?, times_of(&frame, "after_known_at")?);
    let value = |row: usize| {
        Some(RevisedValue {
            date: dates[row]?,
            code: codes.get(row)?.to_owned(),
            before: before.get(row),
            before_known_at: known_before[row],
            after: after.get(row),
            after_known_at: known_after[row]?,
        })
    };
    Ok((0..frame.height()).filter_map(value).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(rows: &[(u32, &str, f64)]) -> DataFrame {
        let day = |day: u32| NaiveDate::from_ymd_opt(2024, 3, day);
        let values =
            |name: &str| Series::new(name.into(), rows.iter().map(|r| Some(r.2)).collect::<Vec<_>>()).into_column();
        let known = rows.iter().map(|r| day(r.0).and_then(|day| day.and_hms_opt(15, 0, 0)));
        frames::frame(vec![
            dates_column("date", rows.iter().map(|r| day(r.0))).unwrap(),
            texts_column("code", rows.iter().map(|r| Some(r.1))),
            values("value"),
            values("raw"),
            times_column("known_at", known).unwrap(),
        ])
        .unwrap()
    }

    #[test]
    fn appended_days_leave_history_equal_and_changed_rows_are_kept_with_both_values() {
        let dir = tempfile::tempdir().unwrap();
        let name = |name: &str| dir.path().join(name);
        let files = HistoryFiles { table: name("t.parquet"), runs: name("h.json"), revisions: name("r.parquet") };
        let at = |day: u32| NaiveDate::from_ymd_opt(2024, 3, day).unwrap().and_hms_opt(18, 0, 0).unwrap();
        let run = |rows: &[(u32, &str, f64)], definition: &str, day: u32| {
            let cause = Cause { reason: Some("why".into()), prices_stand: true };
            let run = write(&files, table(rows), Key::of(definition.as_bytes()), cause, at(day)).unwrap();
            (run.compared, run.revised, run.reason)
        };
        let first = [(1, "a", 0.5), (1, "b", -0.5), (2, "a", 1.0)];
        assert_eq!(run(&first, "d", 2), (0, 0, None));
        let grown = [(1, "a", 0.5), (1, "b", -0.5), (2, "a", 1.0), (3, "a", 2.0)];
        assert_eq!(run(&grown, "d", 3), (3, 0, None));
        assert_eq!(run(&grown, "d", 3), (4, 0, None));
        let history = || History::read(&files).unwrap().unwrap();
        assert_eq!((history().runs.len(), history().unbroken().len()), (2, 2), "the same table is no further run");
        // One value differs, one row is gone, one came to a day of the past, and one day is new.
        let revised = [(1, "a", 0.25), (2, "a", 1.0), (2, "c", 7.0), (3, "a", 2.0), (4, "a", 3.0)];
        assert_eq!(run(&revised, "d", 4), (4, 3, Some("why".into())));
        let kept = revised_values(&files.revisions).unwrap();
        let shown: Vec<_> = kept.iter().map(|r| (r.code.as_str(), r.before, r.after, r.after_known_at)).collect();
        assert_eq!(
            shown,
            [("a", Some(0.5), Some(0.25), at(4)), ("b", Some(-0.5), None, at(4)), ("c", None, Some(7.0), at(4))]
        );
        assert_eq!(kept[0].before_known_at, NaiveDate::from_ymd_opt(2024, 3, 1).unwrap().and_hms_opt(15, 0, 0));
        assert_eq!(history().unbroken().len(), 1);
        // A run that was killed between the note and the table finds the same differences again.
        let mut cut = history();
        cut.runs.last_mut().unwrap().table = Key::default();
        disk::write_json(&files.runs, &cut).unwrap();
        frames::write_parquet(&files.table, &mut table(&grown)).unwrap();
        assert_eq!(run(&revised, "d", 5).1, 3);
        assert_eq!(revised_values(&files.revisions).unwrap(), kept);
        // A value that is added on the last day of the table before is a revision too.
        assert_eq!(run(&[&revised[..], &[(4, "b", 1.0)]].concat(), "d", 6).1, 1);
        // Another definition begins anew.
        assert_eq!(run(&first, "e", 7), (0, 0, None));
        assert!(!files.revisions.exists() && history().runs.len() == 1);
    }
}
