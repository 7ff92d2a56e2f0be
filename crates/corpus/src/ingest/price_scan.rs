//! One pass over a price table: it counts the dates, and finds changes of the unit of volumes and rows that are not adjusted alike.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Result;
use chrono::{Datelike, NaiveDate};
use polars_core::frame::DataFrame;
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use inkstone_base::code::Code;
use inkstone_base::language::{Message, Word};
use inkstone_base::message;
use inkstone_market::{Adjustment, AdjustmentScan, Bar, dates_of};

/// Names that a change of the unit of volumes is seen in at the least, and the factor by which their median then changes in a day.
const BREAK_NAMES: usize = 20;
const BREAK_FACTOR: f64 = 30.0;
/// Findings that are told one by one.
const TOLD: usize = 5;

/// Findings in a price table.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct PriceFindings {
    /// Rows of each date.
    pub(super) by_date: BTreeMap<NaiveDate, u64>,
    /// Dates on which the volumes of all names change their unit, each with the median of the volumes over those of the day before.
    pub(super) volume_breaks: Vec<(NaiveDate, f64)>,
    pub(super) adjustment: Adjustment,
    names: usize,
}

impl PriceFindings {
    /// Findings on the adjustment, for the report; none where nothing is wrong.
    pub(super) fn adjustment_facts(&self) -> Option<Map<String, Value>> {
        let found = &self.adjustment;
        if found.is_sound() {
            return None;
        }
        let facts = json!({
            "unadjusted_since": found.since(),
            "breaks": found.breaks.iter().take(TOLD).collect::<Vec<_>>(),
            "changes_of_the_grid": found.grid.iter().take(TOLD).collect::<Vec<_>>(),
            "falls": found.falls.len(),
            "falls_first": found.falls.iter().take(TOLD).collect::<Vec<_>>(),
            "deepest_fall": found.deepest(),
        });
        facts.as_object().cloned()
    }

    /// The signs of adjustment as a sentence with the way out.
    pub(super) fn warning(&self) -> Option<Message> {
        let found = &self.adjustment;
        let way_out = Word(
            "跨过这些日子的收益是错的。请给出从首行到末行以同一复权方式处理的价格",
            "Returns across such days are wrong. Give prices that one adjustment covers from the first row to the last",
        );
        let falls = || {
            let (first, last, deepest) = (found.falls.first()?, found.falls.last()?, found.deepest()?);
            found.has_falls().then(|| {
                message!("从 {1} 到 {2}，{3} 只个股共有 {0} 次开盘与收盘都低于跌停价，像是未复权的除权（最深：{4} {5:.1} %，{6}）", "{} times from {} to {} one of the {} names opens and closes below its daily limit, as a share does that goes ex rights and is not adjusted (deepest: {} {:.1} % on {})",
                    found.falls.len(),
                    first.date,
                    last.date,
                    self.names,
                    deepest.code,
                    100.0 * deepest.change,
                    deepest.date
                )
            })
        };
        let seam = |seams: &[inkstone_market::Seam], what: Word| {
            let first = *seams.first()?;
            Some(message!(
                "在 {}，{2} 只个股中有 {1} 只{what}：此后各行与此前的复权方式不同",
                "on {} {} of {} names {what}: rows from there on are not adjusted as those before",
                first.date,
                first.names,
                first.of
            ))
        };
        let signs: Vec<Message> = [
            seam(&found.breaks, Word("同时超出涨跌幅限制", "move beyond their daily limit at once")),
            seam(
                &found.grid,
                Word("的价格同时由非整分变为整分", "change from prices between whole cents to whole cents at once"),
            ),
            falls(),
        ]
        .into_iter()
        .flatten()
        .collect();
        (!signs.is_empty()).then(|| {
            let signs = Message::joined(signs, Word("；", "; "));
            message!("{signs}。{way_out}", "{signs}. {way_out}")
        })
    }
}

/// State of the scan behind the rows that it was given, which are sorted by date and code.
#[derive(Default)]
pub(super) struct PriceScan {
    day: Option<NaiveDate>,
    rows: Vec<(usize, Bar, f64)>,
    numbers: FxHashMap<String, usize>,
    /// Last volume of each name, NaN before the first.
    volumes: Vec<f64>,
    by_date: BTreeMap<NaiveDate, u64>,
    volume_breaks: Vec<(NaiveDate, f64)>,
    adjustment: AdjustmentScan,
}

impl PriceScan {
    /// Goes on with the next rows of the table.
    pub(super) fn add(&mut self, frame: &DataFrame) -> Result<()> {
        let codes = frame.column("code")?.str()?;
        let number = |name: &str| -> Result<Vec<f64>> {
            Ok(frame.column(name)?.f64()?.iter().map(|value| value.unwrap_or(f64::NAN)).collect())
        };
        let (open, high, low) = (number("open")?, number("high")?, number("low")?);
        let (close, volume) = (number("close")?, number("volume")?);
        for (i, date) in dates_of(frame, "date")?.into_iter().enumerate() {
            let (Some(date), Some(code)) = (date, codes.get(i)) else { continue };
            if self.day != Some(date) {
                self.end_day();
                self.day = Some(date);
            }
            let bar = Bar { open: open[i], high: high[i], low: low[i], close: close[i] };
            let name = self.number(code);
            self.rows.push((name, bar, volume[i]));
        }
        Ok(())
    }

    pub(super) fn finish(mut self) -> PriceFindings {
        self.end_day();
        PriceFindings {
            by_date: self.by_date,
            volume_breaks: self.volume_breaks,
            adjustment: self.adjustment.finish(),
            names: self.volumes.len(),
        }
    }

    fn number(&mut self, code: &str) -> usize {
        if let Some(number) = self.numbers.get(code) {
            return *number;
        }
        self.numbers.insert(code.to_owned(), self.volumes.len());
        self.volumes.push(f64::NAN);
        self.adjustment.add_name(Code::canonical(code));
        self.volumes.len() - 1
    }

    fn end_day(&mut self) {
        let Some(date) = self.day else { return };
        let rows = std::mem::take(&mut self.rows);
        self.by_date.insert(date, rows.len() as u64);
        let traded = || rows.iter().filter(|(_, _, volume)| *volume > 0.0);
        let mut changes: Vec<f64> = traded().map(|(name, _, volume)| volume / self.volumes[*name]).collect();
        changes.retain(|change| !change.is_nan());
        if changes.len() >= BREAK_NAMES {
            changes.sort_unstable_by(f64::total_cmp);
            let median = changes[changes.len() / 2];
            if !(1.0 / BREAK_FACTOR..=BREAK_FACTOR).contains(&median) {
                self.volume_breaks.push((date, median));
            }
        }
        traded().for_each(|(name, _, volume)| self.volumes[*name] = *volume);
        self.adjustment.take(date, rows.iter().map(|(name, bar, _)| (*name, *bar)));
    }
}

/// Comparison of the dates of the prices with the dates of the documents.
///
/// A weekday without prices on which documents were published is a holiday or a hole in the prices; a date with far
/// fewer codes than is usual is a hole for most of them.
pub(super) fn calendar_facts(by_date: &BTreeMap<NaiveDate, u64>, documents: &BTreeMap<NaiveDate, u64>) -> Value {
    let (Some(first), Some(last)) = (by_date.keys().next(), by_date.keys().next_back()) else { return Value::Null };
    let mut counts: Vec<u64> = by_date.values().copied().collect();
    counts.sort_unstable();
    let median = counts[counts.len() / 2];
    let thin: Vec<String> =
        by_date.iter().filter(|(_, n)| **n * 10 < median).map(|(d, n)| format!("{d} ({n} codes)")).collect();
    let holes: BTreeSet<&NaiveDate> = documents
        .keys()
        .filter(|d| *d > first && *d < last && d.weekday().num_days_from_monday() < 5 && !by_date.contains_key(d))
        .collect();
    let outside: u64 = documents.iter().filter(|(d, _)| *d < first || *d > last).map(|(_, n)| n).sum();
    json!({
        "first": first,
        "last": last,
        "dates": by_date.len(),
        "codes_per_date_median": median,
        "dates_with_few_codes": thin.len(),
        "dates_with_few_codes_first": thin.iter().take(5).collect::<Vec<_>>(),
        "weekdays_with_documents_without_prices": holes.len(),
        "weekdays_with_documents_without_prices_first": holes.iter().take(5).collect::<Vec<_>>(),
        "documents_outside_the_price_dates": outside,
    })
}

#[cfg(test)]
mod tests {
    use polars_core::prelude::{IntoColumn, NamedFrom, Series};

    use super::*;
    use inkstone_market::dates_column;
    use inkstone_tables::corpus::texts_column;
    use inkstone_tables::frames;

    #[test]
    fn a_day_from_which_on_volumes_have_another_unit_is_told() {
        let date = |day: u64| NaiveDate::from_ymd_opt(2024, 1, 1).unwrap() + chrono::Days::new(day);
        let (mut dates, mut codes, mut volumes) = (Vec::new(), Vec::new(), Vec::new());
        for (day, name) in (0..6).flat_map(|day| (0..25).map(move |name| (day, name))) {
            // A name that stood still for a day is compared with the day before that.
            if (day, name) != (2, 7) {
                let shares = 1000.0 + 10.0 * f64::from(name) + day as f64;
                dates.push(Some(date(day)));
                codes.push(format!("{}.SH", 600_000 + name));
                volumes.push(if day < 3 { shares / 100.0 } else { shares });
            }
        }
        let values = |name: &str, values: Vec<f64>| Series::new(name.into(), values).into_column();
        let ten = || vec![10.0; dates.len()];
        let columns = vec![
            dates_column("date", dates.iter().copied()).unwrap(),
            texts_column("code", codes.iter().map(Some)),
            values("open", ten()),
            values("high", ten()),
            values("low", ten()),
            values("close", ten()),
            values("volume", volumes),
        ];
        let table = frames::frame(columns).unwrap();
        let mut scan = PriceScan::default();
        // Cut in the middle of a day.
        scan.add(&table.head(Some(60))).unwrap();
        scan.add(&table.slice(60, table.height())).unwrap();
        let found = scan.finish();
        assert_eq!(found.volume_breaks.len(), 1);
        assert!((found.volume_breaks[0].1 - 100.0).abs() < 1.0 && found.volume_breaks[0].0 == date(3));
        assert_eq!((found.by_date.len(), found.by_date[&date(2)]), (6, 24));
        assert_eq!((found.warning(), found.adjustment_facts()), (None, None));
    }

    #[test]
    fn holes_and_thin_dates_are_told() {
        let day = |s: &str| s.parse::<NaiveDate>().unwrap();
        let prices = [("2024-03-01", 50), ("2024-03-04", 1), ("2024-03-06", 50), ("2024-03-07", 49)];
        let documents = [("2024-02-01", 2), ("2024-03-03", 5), ("2024-03-05", 3), ("2024-03-06", 1)];
        let map = |rows: &[(&str, u64)]| rows.iter().map(|(d, n)| (day(d), *n)).collect::<BTreeMap<_, _>>();
        let facts = calendar_facts(&map(&prices), &map(&documents));
        assert_eq!(facts["dates_with_few_codes_first"], json!(["2024-03-04 (1 codes)"]));
        assert_eq!(facts["weekdays_with_documents_without_prices_first"], json!(["2024-03-05"]));
        assert_eq!(facts["documents_outside_the_price_dates"], json!(2));
    }
}
