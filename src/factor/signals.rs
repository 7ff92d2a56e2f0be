//! Documents to signals: each row of a feature set, tied to the securities and the trading day of its document.

use anyhow::{Context, Result, bail, ensure};
use chrono::{NaiveDate, NaiveDateTime};

use super::Signal;
use crate::clean::clean_from_frame;
use crate::corpus::Parts;
use crate::data::{Kind, Report};
use crate::disk;
use crate::job::Ctx;
use crate::link::{codes_of, links_of_part};
use crate::market::{Cutoff, Market};
use crate::model::FoldReport;
use crate::store::{Set, Values};

/// Which column of a feature set a factor is made of, and from which documents.
pub struct Selection<'a> {
    /// The cleaned corpus.
    pub clean: &'a Parts,
    /// Its links.
    pub links: &'a Parts,
    /// Column of the set's rows; `None`: the first.
    pub column: Option<&'a str>,
    /// Kinds of documents that count; empty: all.
    pub kinds: &'a [Kind],
    /// Until when a text counts for its day.
    pub cutoff: Cutoff,
}

/// Reads a feature set beside its corpus. Documents without a value, a security or a trading day are counted by reason.
pub fn signals(set: &Set<'_>, selection: &Selection<'_>, market: &Market, ctx: &Ctx) -> Result<(Vec<Signal>, Report)> {
    let mut report = Report::new("signals");
    let fits = Fits::of(set)?;
    let column = column_of(set, selection.column)?;
    let files = selection.clean.files()?;
    ensure!(
        files.len() == set.header().batches.len(),
        "the feature set has {} parts, the corpus {}: compute the features again (inkstone extract)",
        set.header().batches.len(),
        files.len()
    );
    let mut signals = Vec::new();
    for (i, rows) in set.batches().enumerate() {
        let rows = rows?;
        let Values::Dense { dim, data } = &rows.values else {
            bail!("a factor needs rows of a fixed size; {:?} is sparse", set.header().spec.name);
        };
        let docs = clean_from_frame(&disk::read_parquet(&selection.clean.path(i), None)?)
            .with_context(|| format!("cannot use {}", selection.clean.path(i).display()))?;
        ensure!(docs.len() == rows.len(), "part {i} has {} documents but {} rows", docs.len(), rows.len());
        let links = links_of_part(&selection.links.path(i))?;
        for (row, doc) in docs.iter().enumerate() {
            report.rows_in += 1;
            let value = f64::from(data[row * dim + column]);
            if !(selection.kinds.is_empty() || selection.kinds.contains(&doc.document.kind)) {
                report.drop_rows("of a kind that is not counted", 1);
                continue;
            }
            if !value.is_finite() {
                report.drop_rows("without a value", 1);
                continue;
            }
            let published_at = doc.document.published_at;
            let date = match market.calendar().trade_date(published_at, selection.cutoff) {
                Ok(date) => date as u32,
                Err(off) => {
                    report.drop_rows(off.reason(), 1);
                    continue;
                }
            };
            let known_at = fits.known_at(published_at, market.dates()[date as usize]);
            let before = signals.len();
            for code in codes_of(&links, row as u32) {
                if let Some(code) = market.index_of(code.as_str()) {
                    signals.push(Signal { code: code as u32, date, known_at, value, first: doc.is_first() });
                }
            }
            match signals.len() > before {
                true => report.rows_out += 1,
                false => report.drop_rows("about no security of the price table", 1),
            }
        }
        ctx.advance(docs.len() as u64)?;
    }
    report.fact("signals", signals.len());
    Ok((signals, report))
}

/// Until when the data reached that a set's models were fitted on.
struct Fits {
    /// Of the set as a whole.
    whole: Option<NaiveDateTime>,
    /// Of the walk-forward models, by the trading days that they scored.
    folds: Vec<FoldReport>,
}

impl Fits {
    fn of(set: &Set<'_>) -> Result<Fits> {
        let header = set.header();
        let folds = match header.meta.get("folds") {
            Some(folds) => serde_json::from_value(folds.clone()).with_context(|| {
                format!(
                    "the folds of feature {:?} are unreadable: compute it again (inkstone extract)",
                    header.spec.name
                )
            })?,
            None => Vec::new(),
        };
        Ok(Fits { whole: header.spec.fitted_until, folds })
    }

    /// When the value of a text was known: when it was published and whatever gave the value had been fitted. Where test
    /// windows overlap, the newest model gave it.
    fn known_at(&self, published_at: NaiveDateTime, day: NaiveDate) -> NaiveDateTime {
        let tests = |fold: &&FoldReport| fold.fitted_until.is_some() && fold.test.0 <= day && day <= fold.test.1;
        let fold = self.folds.iter().rev().find(tests).and_then(|fold| fold.fitted_until);
        [self.whole, fold].into_iter().flatten().fold(published_at, NaiveDateTime::max)
    }
}

fn column_of(set: &Set<'_>, name: Option<&str>) -> Result<usize> {
    let Some(name) = name else { return Ok(0) };
    let columns = set.header().meta["columns"].as_array().cloned().unwrap_or_default();
    columns.iter().position(|c| c == name).with_context(|| {
        let known: Vec<&str> = columns.iter().filter_map(|c| c.as_str()).collect();
        format!("feature {:?} has no column {name:?}; it has {}", set.header().spec.name, known.join(", "))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_known_when_text_and_model_are() {
        let at = |day: u32, hour| NaiveDate::from_ymd_opt(2024, 3, day).unwrap().and_hms_opt(hour, 0, 0).unwrap();
        let day = |day: u32| at(day, 0).date();
        let fold = |first, last, until| FoldReport {
            test: (day(first), day(last)),
            fitted_until: until,
            ..FoldReport::default()
        };
        let folds = vec![fold(4, 8, Some(at(1, 15))), fold(6, 12, Some(at(5, 15))), fold(11, 15, None)];
        let fits = Fits { whole: None, folds };
        assert_eq!(fits.known_at(at(1, 10), day(4)), at(1, 15), "the model of the fold came after the text");
        assert_eq!(fits.known_at(at(5, 20), day(6)), at(5, 20));
        assert_eq!(fits.known_at(at(5, 9), day(6)), at(5, 15), "of two folds the newer");
        assert_eq!(fits.known_at(at(4, 9), day(11)), at(5, 15), "a fold passed over gave nothing");
        let whole = Fits { whole: Some(at(20, 23)), folds: Vec::new() };
        assert_eq!(whole.known_at(at(4, 9), day(4)), at(20, 23));
    }
}
