//! Rows become the price table: typed, checked, sorted by date and code, unique.

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anyhow::Result;
use chrono::{Datelike, NaiveDate};
use polars::prelude::{IntoColumn, NamedFrom, Series, StringChunked};
use rustc_hash::FxHashMap;
use serde_json::{Value, json};

use crate::disk;
use crate::ingest::reader::Fault;
use crate::ingest::view::View;
use crate::market::{Code, PRICE_COLUMNS, dates_column};

/// Columns behind date and code.
const VALUES: usize = PRICE_COLUMNS.len() - 2;

/// One row: prices in CNY, NaN where unknown, in the order of [`PRICE_COLUMNS`].
pub(super) struct Price {
    date: NaiveDate,
    code: Code,
    values: [f64; VALUES],
}

/// Makes a price of a row.
pub(super) fn price(view: &View<'_>) -> Result<Price, Fault> {
    let moment = view.time("date")?.ok_or_else(|| view.fault("date", "no date", ""))?;
    let text = view.value("code").ok_or_else(|| view.fault("code", "no code", ""))?;
    let code = Code::parse(&text).ok_or_else(|| view.fault("code", "not a security code", &text))?;
    let mut values = [f64::NAN; VALUES];
    for (value, field) in values.iter_mut().zip(&PRICE_COLUMNS[2..]) {
        *value = view.number(field)?.unwrap_or(f64::NAN);
    }
    let [open, high, low, close, vwap, volume, amount, market_cap, up_limit, down_limit] = &mut values;
    // Vendors write a suspended day as zeros; a zero price of a day with trading is wrong.
    let traded = volume.is_nan() && *close != 0.0 || *volume > 0.0;
    let prices = [("open", open), ("high", high), ("low", low), ("close", close), ("vwap", vwap)];
    for (field, value) in prices.into_iter().chain([("up_limit", up_limit), ("down_limit", down_limit)]) {
        if *value == 0.0 && !traded {
            *value = f64::NAN;
        } else if *value <= 0.0 {
            return Err(view.fault(field, "price not positive", &value.to_string()));
        }
    }
    for (field, value) in [("volume", volume), ("amount", amount), ("market_cap", market_cap)] {
        if *value < 0.0 {
            return Err(view.fault(field, "negative amount", &value.to_string()));
        }
    }
    let (high, low) = (values[1], values[2]);
    if high < low {
        return Err(view.fault("high", "high below low", &format!("{high} < {low}")));
    }
    Ok(Price { date: moment.time.date(), code, values })
}

/// All prices read so far.
#[derive(Default)]
pub(super) struct Prices {
    codes: FxHashMap<Code, u32>,
    rows: FxHashMap<(NaiveDate, u32), [f64; VALUES]>,
}

impl Prices {
    /// Takes a price; gives its date and code back when that code has one of that date already.
    pub(super) fn take(&mut self, price: Price) -> Result<(), String> {
        let next = self.codes.len() as u32;
        let code = *self.codes.entry(price.code.clone()).or_insert(next);
        match self.rows.entry((price.date, code)) {
            Entry::Occupied(_) => Err(format!("{} {}", price.date, price.code)),
            Entry::Vacant(free) => {
                free.insert(price.values);
                Ok(())
            }
        }
    }

    /// Writes the table; gives the codes of each date, counted.
    pub(super) fn write(self, path: &Path) -> Result<BTreeMap<NaiveDate, u64>> {
        let mut codes: Vec<(Code, u32)> = self.codes.into_iter().collect();
        codes.sort();
        let mut rank = vec![0u32; codes.len()];
        codes.iter().enumerate().for_each(|(i, (_, number))| rank[*number as usize] = i as u32);
        let mut rows: Vec<((NaiveDate, u32), [f64; VALUES])> =
            self.rows.into_iter().map(|((date, code), values)| ((date, rank[code as usize]), values)).collect();
        rows.sort_unstable_by_key(|(key, _)| *key);
        let mut names: StringChunked =
            rows.iter().map(|((_, code), _)| Some(codes[*code as usize].0.as_str())).collect();
        names.rename("code".into());
        let mut columns =
            vec![dates_column("date", rows.iter().map(|((date, _), _)| Some(*date)))?, names.into_column()];
        for (i, name) in PRICE_COLUMNS[2..].iter().enumerate() {
            let values: Vec<Option<f64>> = rows.iter().map(|(_, v)| (!v[i].is_nan()).then_some(v[i])).collect();
            columns.push(Series::new((*name).into(), values).into_column());
        }
        disk::write_parquet(path, &mut disk::frame(columns)?)?;
        let mut by_date = BTreeMap::new();
        rows.iter().for_each(|((date, _), _)| *by_date.entry(*date).or_default() += 1);
        Ok(by_date)
    }
}

/// What the dates of the prices say beside the dates of the documents.
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
    use super::*;

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
