//! Events of companies, as vendors list them: buybacks, sales of holders, contracts, penalties, each with its numbers.

use anyhow::{Context, Result};
use chrono::{NaiveDate, NaiveDateTime};
use polars_core::prelude::{Column, DataFrame, IntoColumn, NamedFrom, Series};
use serde::{Deserialize, Serialize};

use crate::{dates_column, dates_of};
use inkstone_base::code::Code;
use inkstone_base::language::Word;
use inkstone_tables::corpus::{column, texts_column, texts_of, times_column, times_of};
use inkstone_tables::frames;

/// An event of a security, from the time at which it was known.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CompanyEvent {
    pub code: Code,
    /// Kind of the event, as its source or the configuration calls it.
    pub kind: String,
    pub known_at: NaiveDateTime,
    #[serde(flatten)]
    pub arguments: EventArguments,
}

/// The arguments of an event; `None` where the text or the table does not give one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct EventArguments {
    /// Yuan.
    pub amount: Option<f64>,
    /// Yuan a share.
    pub price: Option<f64>,
    /// 0.02 is 2 %.
    pub percent: Option<f64>,
    /// Number of shares.
    pub shares: Option<f64>,
    /// Day of the event itself, which may lie before or after the day on which it was known.
    pub date: Option<NaiveDate>,
}

impl EventArguments {
    /// Number of the arguments that are given.
    pub fn count(&self) -> usize {
        let numbers = [self.amount, self.price, self.percent, self.shares];
        numbers.iter().flatten().count() + usize::from(self.date.is_some())
    }
}

/// Events as a frame: `code kind known_at amount price percent shares date`.
pub fn events_to_frame(rows: &[CompanyEvent]) -> Result<DataFrame> {
    let numbers = |name: &str, number: fn(&EventArguments) -> Option<f64>| -> Column {
        let numbers: Vec<Option<f64>> = rows.iter().map(|row| number(&row.arguments)).collect();
        Series::new(name.into(), numbers).into_column()
    };
    frames::frame(vec![
        texts_column("code", rows.iter().map(|r| Some(r.code.as_str()))),
        texts_column("kind", rows.iter().map(|r| Some(r.kind.as_str()))),
        times_column("known_at", rows.iter().map(|r| Some(r.known_at)))?,
        numbers("amount", |arguments| arguments.amount),
        numbers("price", |arguments| arguments.price),
        numbers("percent", |arguments| arguments.percent),
        numbers("shares", |arguments| arguments.shares),
        dates_column("date", rows.iter().map(|r| r.arguments.date))?,
    ])
}

pub fn events_from_frame(frame: &DataFrame) -> Result<Vec<CompanyEvent>> {
    let [code, kind] = [texts_of(frame, "code")?, texts_of(frame, "kind")?];
    let number = |name: &str| Ok::<_, anyhow::Error>(column(frame, name)?.f64()?.clone());
    let [amount, price, percent, shares] = [number("amount")?, number("price")?, number("percent")?, number("shares")?];
    let (known_at, date) = (times_of(frame, "known_at")?, dates_of(frame, "date")?);
    let row = |i: usize| {
        Some(CompanyEvent {
            code: Code::canonical(code.get(i)?),
            kind: kind.get(i)?.to_owned(),
            known_at: known_at[i]?,
            arguments: EventArguments {
                amount: amount.get(i),
                price: price.get(i),
                percent: percent.get(i),
                shares: shares.get(i),
                date: date[i],
            },
        })
    };
    let incomplete = Word("事件表有不完整的行", "the table of events has an incomplete row");
    (0..frame.height()).map(|i| row(i).context(incomplete)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_survive_the_way_to_a_frame_and_back() {
        let arguments =
            EventArguments { amount: Some(3e8), date: "2024-03-01".parse().ok(), ..EventArguments::default() };
        let row = CompanyEvent {
            code: Code::canonical("600001.SH"),
            kind: "回购".into(),
            known_at: "2024-03-04T23:59:59".parse().unwrap(),
            arguments,
        };
        let rows = vec![row.clone(), CompanyEvent { arguments: EventArguments::default(), ..row }];
        assert_eq!(events_from_frame(&events_to_frame(&rows).unwrap()).unwrap(), rows);
        assert_eq!((rows[0].arguments.count(), rows[1].arguments.count()), (2, 0));
    }
}
