//! Changes of what was ingested before: documents and prices that a later delivery corrected, withdrew, or added to the past.
//!
//! The tables hold what the sources say now. What they said before is kept here, a row each, with the time of the run that saw the change.
//! A price series that was adjusted anew changes by one factor over many days: such days of a code are one row.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use anyhow::{Context, Result};
use chrono::{NaiveDate, NaiveDateTime};
use polars_core::prelude::{DataFrame, IntoColumn, NamedFrom, Series};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use inkstone_base::data::{Document, Key};
use inkstone_base::message;
use inkstone_market::{PRICE_COLUMNS, dates_column, dates_of};
use inkstone_tables::corpus::{self, column, texts_column, texts_of, times_column, times_of};
use inkstone_tables::frames;

/// Relative difference up to which two factors of a price series are one.
const SAME_FACTOR: f64 = 1e-6;

/// A kind of change of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ChangeOfRow {
    /// A field has another value.
    Corrected,
    /// Prices of several days were multiplied by one factor.
    Adjusted,
    /// A document that is older than the newest of its source was, or a price of a day that had been read.
    Late,
    Withdrawn,
}

impl ChangeOfRow {
    fn name(self) -> &'static str {
        match self {
            ChangeOfRow::Corrected => "corrected",
            ChangeOfRow::Adjusted => "adjusted",
            ChangeOfRow::Late => "late",
            ChangeOfRow::Withdrawn => "withdrawn",
        }
    }
}

/// One row of the table of revisions.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Revision {
    /// Id of a document, or code.
    key: String,
    change: ChangeOfRow,
    /// Field or column; empty for a whole row.
    field: String,
    before: Option<String>,
    after: Option<String>,
    /// The first and the last day that it is about.
    days: (NaiveDate, NaiveDate),
    /// Rows that it stands for.
    rows: u32,
}

/// The changes that one run saw.
#[derive(Default)]
pub(super) struct Revisions {
    documents: Vec<Revision>,
    prices: Vec<Revision>,
}

impl Revisions {
    pub(super) fn is_empty(&self) -> bool {
        self.documents.is_empty() && self.prices.is_empty()
    }

    /// Compares the parts of files that were read again or are gone with those that were read now. `newest`: time of the newest document of
    /// each source before.
    pub(super) fn add_documents(
        &mut self,
        before: &[impl AsRef<Path>],
        after: &[impl AsRef<Path>],
        newest: &BTreeMap<String, NaiveDateTime>,
    ) -> Result<()> {
        if newest.is_empty() {
            return Ok(());
        }
        let mut old: HashMap<String, (Key, usize, usize)> = HashMap::new();
        for (part, path) in before.iter().enumerate() {
            for (row, document) in documents(path.as_ref())?.into_iter().enumerate() {
                old.insert(document.doc_id.clone(), (Key::of_json(&document), part, row));
            }
        }
        // Places of old documents beside the new ones: the old parts are read again for these alone.
        let mut corrected: BTreeMap<usize, Vec<(usize, Document)>> = BTreeMap::new();
        for path in after {
            for document in documents(path.as_ref())? {
                match old.remove(&document.doc_id) {
                    Some((key, part, row)) if key != Key::of_json(&document) => {
                        corrected.entry(part).or_default().push((row, document));
                    }
                    Some(_) => {}
                    None if newest.get(&document.source).is_some_and(|newest| document.published_at < *newest) => {
                        self.documents.push(as_a_whole(ChangeOfRow::Late, &document));
                    }
                    None => {}
                }
            }
        }
        let mut withdrawn: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        old.into_values().for_each(|(_, part, row)| withdrawn.entry(part).or_default().push(row));
        for (part, path) in before.iter().enumerate() {
            let (corrected, withdrawn) = (corrected.remove(&part), withdrawn.remove(&part));
            if corrected.is_none() && withdrawn.is_none() {
                continue;
            }
            let old = documents(path.as_ref())?;
            for (row, now) in corrected.into_iter().flatten() {
                self.documents.extend(fields_that_differ(&old[row], &now)?);
            }
            self.documents
                .extend(withdrawn.into_iter().flatten().map(|row| as_a_whole(ChangeOfRow::Withdrawn, &old[row])));
        }
        self.documents.sort_by(|a, b| (a.days, &a.key, &a.field).cmp(&(b.days, &b.key, &b.field)));
        Ok(())
    }

    /// Compares two price tables, both sorted by date, then code.
    pub(super) fn add_prices(&mut self, before: &Path, after: &Path) -> Result<()> {
        let keys = |path: &Path| -> Result<(Vec<Option<NaiveDate>>, DataFrame)> {
            let frame = frames::read_parquet(path, Some(&["date", "code"]))?;
            Ok((dates_of(&frame, "date")?, frame))
        };
        let ((old_dates, old), (new_dates, new)) = (keys(before)?, keys(after)?);
        let (old_codes, new_codes) = (texts_of(&old, "code")?, texts_of(&new, "code")?);
        let last = old_dates.last().copied().flatten();
        let mut pairs = Vec::with_capacity(old.height());
        let (mut i, mut j) = (0, 0);
        while i < old.height() || j < new.height() {
            let mine = (i < old.height()).then(|| (old_dates[i], old_codes.get(i)));
            let theirs = (j < new.height()).then(|| (new_dates[j], new_codes.get(j)));
            let change = match (mine, theirs) {
                (Some(mine), Some(theirs)) if mine == theirs => {
                    pairs.push((i as u32, j as u32));
                    (i, j) = (i + 1, j + 1);
                    continue;
                }
                (Some(mine), theirs) if theirs.is_none_or(|theirs| mine < theirs) => {
                    i += 1;
                    (mine, ChangeOfRow::Withdrawn)
                }
                (_, Some(theirs)) => {
                    j += 1;
                    if theirs.0 > last {
                        break;
                    }
                    (theirs, ChangeOfRow::Late)
                }
                _ => break,
            };
            if let ((Some(day), Some(code)), change) = change {
                let none = (String::new(), None, None);
                self.prices.push(Revision::new(code, change, none, (day, day), 1));
            }
        }
        drop((new, new_dates));
        for name in &PRICE_COLUMNS[2..] {
            let values = |path: &Path| frames::read_parquet(path, Some(&[name]));
            let (before, after) = (values(before)?, values(after)?);
            let (before, after) = (column(&before, name)?.f64()?, column(&after, name)?.f64()?);
            let mut runs: BTreeMap<&str, FactorRun> = BTreeMap::new();
            for &(i, j) in &pairs {
                let (was, is) = (before.get(i as usize), after.get(j as usize));
                if was.map(f64::to_bits) == is.map(f64::to_bits) {
                    continue;
                }
                let (Some(day), Some(code)) = (old_dates[i as usize], old_codes.get(i as usize)) else { continue };
                let goes_on = runs.get_mut(code).is_some_and(|run| run.takes(day, was, is));
                if !goes_on && let Some(ended) = runs.insert(code, FactorRun::new(day, was, is)) {
                    self.prices.push(ended.revision(code, name));
                }
            }
            self.prices.extend(runs.into_iter().map(|(code, run)| run.revision(code, name)));
        }
        self.prices.sort_by(|a, b| (a.days, &a.key, &a.field).cmp(&(b.days, &b.key, &b.field)));
        Ok(())
    }

    /// Rows that changed, by table and kind of change.
    pub(super) fn counts(&self) -> Map<String, Value> {
        let of_table = |revisions: &[Revision]| {
            let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
            for revision in revisions {
                *counts.entry(revision.change.name()).or_default() += u64::from(revision.rows);
            }
            serde_json::to_value(counts).unwrap_or_default()
        };
        [("documents", &self.documents), ("prices", &self.prices)]
            .into_iter()
            .filter(|(_, revisions)| !revisions.is_empty())
            .map(|(table, revisions)| (table.to_owned(), of_table(revisions)))
            .collect()
    }

    /// Writes the revisions of `earlier`, if that is there, and behind them these, seen at `at`, to `path`.
    pub(super) fn write_behind(&self, earlier: &Path, path: &Path, at: NaiveDateTime) -> Result<()> {
        let tables = self.documents.iter().map(|r| ("documents", r)).chain(self.prices.iter().map(|r| ("prices", r)));
        let rows: Vec<(&str, &Revision)> = tables.collect();
        let day = |pick: fn(&Revision) -> NaiveDate| dates_column_of(&rows, pick);
        let mut frame = frames::frame(vec![
            times_column("seen_at", rows.iter().map(|_| Some(at)))?,
            texts_column("table", rows.iter().map(|(table, _)| Some(table))),
            texts_column("key", rows.iter().map(|(_, r)| Some(&r.key))),
            texts_column("change", rows.iter().map(|(_, r)| Some(r.change.name()))),
            texts_column("field", rows.iter().map(|(_, r)| Some(&r.field))),
            texts_column("before", rows.iter().map(|(_, r)| r.before.as_ref())),
            texts_column("after", rows.iter().map(|(_, r)| r.after.as_ref())),
            day(|r| r.days.0)?.with_name("first_day".into()),
            day(|r| r.days.1)?.with_name("last_day".into()),
            Series::new("rows".into(), rows.iter().map(|(_, r)| r.rows).collect::<Vec<_>>()).into_column(),
        ])?;
        if earlier.exists() {
            let mut all = frames::read_parquet(earlier, None)?;
            all.vstack_mut(&frame)?;
            all.rechunk_mut_par();
            frame = all;
        }
        frames::write_parquet(path, &mut frame)
    }
}

fn dates_column_of(
    rows: &[(&str, &Revision)],
    day: fn(&Revision) -> NaiveDate,
) -> Result<polars_core::prelude::Column> {
    dates_column("day", rows.iter().map(|(_, revision)| Some(day(revision))))
}

impl Revision {
    fn new(
        key: &str,
        change: ChangeOfRow,
        (field, before, after): (String, Option<String>, Option<String>),
        days: (NaiveDate, NaiveDate),
        rows: u32,
    ) -> Revision {
        Revision { key: key.to_owned(), change, field, before, after, days, rows }
    }
}

fn documents(part: &Path) -> Result<Vec<Document>> {
    corpus::documents_from_frame(&frames::read_parquet(part, None)?)
        .with_context(|| message!("无法使用 {}", "cannot use {}", part.display()))
}

/// A document that came or went as a whole. What was withdrawn is kept as JSON.
fn as_a_whole(change: ChangeOfRow, document: &Document) -> Revision {
    let before = (change == ChangeOfRow::Withdrawn).then(|| serde_json::to_string(document).unwrap_or_default());
    let day = document.published_at.date();
    Revision::new(&document.doc_id, change, (String::new(), before, None), (day, day), 1)
}

/// The fields of a document that have other values now.
fn fields_that_differ(before: &Document, after: &Document) -> Result<Vec<Revision>> {
    let (Value::Object(before_fields), Value::Object(after_fields)) =
        (serde_json::to_value(before)?, serde_json::to_value(after)?)
    else {
        return Ok(Vec::new());
    };
    let text = |value: Option<&Value>| match value {
        None | Some(Value::Null) => None,
        Some(Value::String(text)) => Some(text.clone()),
        Some(other) => Some(other.to_string()),
    };
    let day = before.published_at.date();
    let differing = before_fields.iter().filter(|(field, value)| after_fields.get(*field) != Some(*value));
    let revision = |(field, value): (&String, &Value)| {
        let values = (field.clone(), text(Some(value)), text(after_fields.get(field)));
        // A document with several changed fields is counted once, at the first of them.
        Revision::new(&before.doc_id, ChangeOfRow::Corrected, values, (day, day), 0)
    };
    let mut revisions: Vec<Revision> = differing.map(revision).collect();
    if let Some(first) = revisions.first_mut() {
        first.rows = 1;
    }
    Ok(revisions)
}

/// Days in a row on which a column of a code changed by one factor.
struct FactorRun {
    days: (NaiveDate, NaiveDate),
    first: (Option<f64>, Option<f64>),
    rows: u32,
}

impl FactorRun {
    fn new(day: NaiveDate, before: Option<f64>, after: Option<f64>) -> FactorRun {
        FactorRun { days: (day, day), first: (before, after), rows: 1 }
    }

    /// Takes a further day if its factor is the same.
    fn takes(&mut self, day: NaiveDate, before: Option<f64>, after: Option<f64>) -> bool {
        let factor = |before: Option<f64>, after: Option<f64>| Some(after? / before.filter(|value| *value != 0.0)?);
        let (Some(mine), Some(theirs)) = (factor(self.first.0, self.first.1), factor(before, after)) else {
            return false;
        };
        // Prices have two decimals: a factor of them is as exact as that.
        let rounding = SAME_FACTOR + before.map_or(0.0, |value| 0.011 / value.abs());
        if (theirs / mine - 1.0).abs() > rounding {
            return false;
        }
        self.days.1 = day;
        self.rows += 1;
        true
    }

    fn revision(self, code: &str, field: &str) -> Revision {
        let text = |value: Option<f64>| value.map(|value| value.to_string());
        let change = if self.rows > 1 { ChangeOfRow::Adjusted } else { ChangeOfRow::Corrected };
        Revision::new(code, change, (field.to_owned(), text(self.first.0), text(self.first.1)), self.days, self.rows)
    }
}

/// A revision as `inkstone revisions` shows it.
#[derive(Debug, Serialize)]
pub struct ShownRevision {
    pub seen_at: NaiveDateTime,
    pub table: String,
    pub key: String,
    pub change: String,
    pub field: String,
    pub before: Option<String>,
    pub after: Option<String>,
    pub first_day: NaiveDate,
    pub last_day: NaiveDate,
    pub rows: u32,
}

/// All revisions of documents and prices that runs of a project saw, oldest first.
pub fn read(path: &Path) -> Result<Vec<ShownRevision>> {
    if !path.exists() {
        return Ok(Vec::new());
    }
    let frame = frames::read_parquet(path, None)?;
    let text = |name: &str| texts_of(&frame, name);
    let [table, key, change, field, before, after] =
        &[text("table")?, text("key")?, text("change")?, text("field")?, text("before")?, text("after")?];
    let (seen, first, last) =
        (times_of(&frame, "seen_at")?, dates_of(&frame, "first_day")?, dates_of(&frame, "last_day")?);
    let rows = column(&frame, "rows")?.u32()?;
    let owned = |texts: &polars_core::prelude::StringChunked, row: usize| texts.get(row).unwrap_or_default().to_owned();
    let revision = |row: usize| {
        Some(ShownRevision {
            seen_at: seen[row]?,
            table: owned(table, row),
            key: owned(key, row),
            change: owned(change, row),
            field: owned(field, row),
            before: before.get(row).map(str::to_owned),
            after: after.get(row).map(str::to_owned),
            first_day: first[row]?,
            last_day: last[row]?,
            rows: rows.get(row)?,
        })
    };
    Ok((0..frame.height()).filter_map(revision).collect())
}

#[cfg(test)]
mod tests {
    use crate::ingest::source::Table;
    use crate::ingest::tests::{Desk, source};
    use crate::ingest::{Source, revisions};

    fn shown(desk: &Desk) -> Vec<String> {
        let all = revisions::read(&desk.project().revisions()).unwrap();
        all.into_iter()
            .map(|r| {
                let value = |value: Option<String>| value.unwrap_or_else(|| "-".into());
                let days = if r.first_day == r.last_day {
                    r.first_day.to_string()
                } else {
                    format!("{}..{}", r.first_day, r.last_day)
                };
                format!("{} {} {} {} {}>{}", r.change, r.key, days, r.field, value(r.before), value(r.after))
            })
            .collect()
    }

    #[test]
    fn corrected_withdrawn_and_late_documents_are_kept_with_what_they_said() {
        let (desk, sources) = (Desk::new(), [source("news", "in")]);
        let header = "id,published_at,title,body\n";
        let row = |id: u32, day: u32, body: &str| format!("{id},2024-03-{day:02} 10:00:00,题,{body}\n");
        desk.put("in/1.csv", format!("{header}{}{}{}", row(1, 1, "甲"), row(2, 2, "乙"), row(3, 3, "丙")));
        desk.run(&sources);
        assert!(!desk.project().revisions().exists(), "a first run revises nothing");
        desk.put("in/2.csv", format!("{header}{}", row(4, 4, "丁")));
        let report = desk.run(&sources);
        assert!(!report.facts.contains_key("revisions") && shown(&desk).is_empty(), "new days revise nothing");
        // Appended, corrected and withdrawn rows, and one that comes after its time.
        desk.put("in/1.csv", format!("{header}{}{}{}", row(1, 1, "甲"), row(2, 2, "改"), row(5, 2, "迟")));
        let report = desk.run(&sources);
        assert_eq!(
            report.facts["revisions"]["documents"],
            serde_json::json!({"corrected": 1, "late": 1, "withdrawn": 1})
        );
        let all = shown(&desk);
        assert_eq!(all[..2], ["corrected news/2 2024-03-02 body 乙>改", "late news/5 2024-03-02  ->-"]);
        assert!(all[2].starts_with("withdrawn news/3 2024-03-03") && all[2].contains("丙"), "{all:?}");
        // The same once more is no new revision, and rows moved to another file are none.
        desk.put("in/1.csv", format!("{header}{}{}", row(1, 1, "甲"), row(2, 2, "改")));
        desk.put("in/2.csv", format!("{header}{}{}", row(5, 2, "迟"), row(4, 4, "丁")));
        desk.run(&sources);
        assert_eq!(shown(&desk), all);
    }

    #[test]
    fn other_settings_of_a_source_are_no_revision_of_its_documents() {
        let desk = Desk::new();
        desk.put("in.csv", "id,published_at,title,body,other\n1,2024-03-01 10:00:00,题,甲,乙\n");
        desk.run(&[source("news", "in.csv")]);
        let columns = [("body".to_owned(), crate::ingest::Column::Name("other".into()))].into();
        desk.run(&[Source { columns, ..source("news", "in.csv") }]);
        assert!(!desk.project().revisions().exists());
    }

    #[test]
    fn a_series_that_was_adjusted_anew_is_one_row_and_single_corrections_are_their_own() {
        let (desk, sources) = (Desk::new(), [Source { table: Table::Prices, ..source("prices", "prices.csv") }]);
        let rows = |factor: f64, wrong: f64| {
            let mut text = String::from("date,code,close\n");
            for day in 1..=9 {
                text += &format!("2024-03-{day:02},600000.SH,{:.2}\n", 100.0 * f64::from(day) * factor);
                text += &format!("2024-03-{day:02},000001.SZ,{}\n", if day == 5 { wrong } else { 10.0 });
            }
            text
        };
        desk.put("prices.csv", rows(1.0, 10.0));
        desk.run(&sources);
        // Only the appended day is new; the adjusted code and the corrected day are revisions.
        desk.put("prices.csv", rows(0.9, 10.5) + "2024-03-10,600000.SH,901\n");
        let report = desk.run(&sources);
        assert_eq!(report.facts["revisions"]["prices"], serde_json::json!({"adjusted": 9, "corrected": 1}));
        assert_eq!(
            shown(&desk),
            ["adjusted 600000.SH 2024-03-01..2024-03-09 close 100>90", "corrected 000001.SZ 2024-03-05 close 10>10.5"]
        );
        desk.put("prices.csv", rows(0.9, 10.5).replace("2024-03-02,000001.SZ,10\n", "") + "2024-03-10,600000.SH,901\n");
        desk.run(&sources);
        assert_eq!(shown(&desk)[2..], ["withdrawn 000001.SZ 2024-03-02  ->-"]);
    }
}
