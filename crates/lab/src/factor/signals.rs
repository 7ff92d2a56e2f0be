//! The signals of a factor as a table, kept beside the factor: the number that each reading takes of each document.
//!
//! Columns `reading, date, code, document` are numbers: of the reading in the expression, of the date and code in the market, of the
//! document in the corpus.

use anyhow::{Context, Result};
use polars_core::prelude::{DataFrame, IntoColumn, NamedFrom, Series};

use super::Signal;
use inkstone_tables::corpus::{column, times_column, times_of};
use inkstone_tables::frames;

use inkstone_base::{ensure, message};

/// Signals as a table, a row each.
pub fn signals_to_frame(signals: &[Signal]) -> Result<DataFrame> {
    let integers = |name: &str, field: fn(&Signal) -> u32| {
        Series::new(name.into(), signals.iter().map(field).collect::<Vec<u32>>()).into_column()
    };
    let reals = |name: &str, field: fn(&Signal) -> f64| {
        Series::new(name.into(), signals.iter().map(field).collect::<Vec<f64>>()).into_column()
    };
    frames::frame(vec![
        integers("reading", |s| s.reading),
        integers("date", |s| s.date),
        integers("code", |s| s.code),
        integers("document", |s| s.document),
        times_column("known_at", signals.iter().map(|s| Some(s.known_at)))?,
        reals("value", |s| s.value),
        reals("weight", |s| s.weight),
        Series::new("first".into(), signals.iter().map(|s| s.first).collect::<Vec<bool>>()).into_column(),
    ])
}

/// Reads [`signals_to_frame`]'s table.
pub fn signals_from_frame(frame: &DataFrame) -> Result<Vec<Signal>> {
    let integers = |name: &str| -> Result<Vec<u32>> {
        let values: Vec<u32> = column(frame, name)?.u32()?.iter().flatten().collect();
        ensure!(values.len() == frame.height(), "列 {name} 有空值", "column {name} has empty fields");
        Ok(values)
    };
    let reals = |name: &str| -> Result<Vec<f64>> {
        Ok(column(frame, name)?.f64()?.iter().map(|value| value.unwrap_or(f64::NAN)).collect())
    };
    let (readings, dates, codes, documents) =
        (integers("reading")?, integers("date")?, integers("code")?, integers("document")?);
    let (known, values, weights) = (times_of(frame, "known_at")?, reals("value")?, reals("weight")?);
    let firsts = column(frame, "first")?.bool()?.clone();
    (0..frame.height())
        .map(|row| {
            Ok(Signal {
                code: codes[row],
                date: dates[row],
                known_at: known[row]
                    .with_context(|| message!("第 {row} 行没有 known_at", "row {row} has no known_at"))?,
                value: values[row],
                weight: weights[row],
                first: firsts.get(row).unwrap_or(false),
                document: documents[row],
                reading: readings[row],
            })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use chrono::NaiveDate;

    use super::*;

    #[test]
    fn signals_come_back_from_their_table() {
        let at = NaiveDate::from_ymd_opt(2024, 3, 1).unwrap().and_hms_opt(14, 59, 59).unwrap();
        let second = Signal { first: false, document: 7, reading: 1, weight: 0.5, ..Signal::of(3, 4, at, -1.5) };
        let signals = [Signal::of(1, 2, at, 0.25), second];
        assert_eq!(signals_from_frame(&signals_to_frame(&signals).unwrap()).unwrap(), signals);
        assert!(signals_from_frame(&signals_to_frame(&[]).unwrap()).unwrap().is_empty());
    }
}
