//! Events of tables as signals of the readings that take them. They are no documents: kinds of documents and gates leave them alone.

use super::expression::DocumentField;
use super::plan::Reading;
use super::{Inputs, Signal};
use inkstone_base::data::Report;
use inkstone_market::CompanyEvent;

/// The signals that a reading takes of events of tables; those that it cannot take go into the report by reason.
pub(super) fn signals(reading: &Reading, number: usize, inputs: &Inputs<'_>, report: &mut Report) -> Vec<Signal> {
    let mut signals = Vec::new();
    for event in inputs.events.iter().filter(|event| reading.events.contains(&event.kind)) {
        match signal(event, reading, number, inputs) {
            Ok(signal) => signals.push(signal),
            Err(reason) => {
                report.rows_in += 1;
                report.drop_rows(reason, 1);
            }
        }
    }
    signals
}

fn signal(event: &CompanyEvent, reading: &Reading, number: usize, inputs: &Inputs<'_>) -> Result<Signal, &'static str> {
    let market = inputs.market;
    let code = market.index_of(event.code.as_str()).ok_or("about no security of the price table")?;
    let date = market.calendar().trade_date(event.known_at, inputs.cutoff).map_err(|off| off.reason())?;
    let field = |field| match field {
        DocumentField::Event(field) => field.number(&event.arguments),
        _ => f64::NAN,
    };
    let value = reading.value.value(&|_, _| f64::NAN, &field);
    if !value.is_finite() {
        return Err("without a value");
    }
    let weight = reading.weight.value(&|_, _| f64::NAN, &field);
    if !weight.is_finite() || weight < 0.0 {
        return Err("without a weight of 0 or more");
    }
    Ok(Signal {
        code: code as u32,
        date: date as u32,
        known_at: event.known_at,
        value,
        weight,
        first: true,
        // The row of a table has no document.
        document: u32::MAX,
        reading: number as u32,
    })
}

#[cfg(test)]
mod tests {
    use chrono::NaiveDateTime;

    use super::*;
    use crate::factor::{Factor, Params, Plan, build};
    use inkstone_base::code::Code;
    use inkstone_base::job::Ctx;
    use inkstone_market::{Cutoff, EventArguments, Market};

    fn market() -> Market {
        let mut prices = "date,code,close,market_cap\n".to_owned();
        for day in 2..=12 {
            prices += &format!("2024-01-{day:02},600001,10,1000\n2024-01-{day:02},600002,10,2000\n");
        }
        Market::of_text(&prices, &[]).unwrap()
    }

    fn event(code: &str, kind: &str, known_at: &str, amount: Option<f64>) -> CompanyEvent {
        let arguments = EventArguments { amount, ..EventArguments::default() };
        let known_at: NaiveDateTime = known_at.parse().unwrap();
        CompanyEvent { code: Code::canonical(code), kind: kind.into(), known_at, arguments }
    }

    fn made(expression: &str, events: &[CompanyEvent]) -> Factor {
        let params = Params {
            name: "f".into(),
            expression: expression.parse().unwrap(),
            winsorise: super::super::Winsorise::None,
            standardise: super::super::Standardise::None,
            ..Params::default()
        };
        let (market, plan) = (market(), Plan::new(&params).unwrap());
        let inputs = Inputs {
            market: &market,
            cutoff: Cutoff::Close,
            signals: &[],
            factors: &[],
            graphs: Default::default(),
            events,
        };
        build(&plan, &inputs, &params, &Ctx::new(1, 1).unwrap()).unwrap().0
    }

    #[test]
    fn events_of_a_table_count_from_the_day_on_which_they_are_known() {
        let events = [
            event("600001.SH", "回购", "2024-01-03T10:00:00", Some(50.0)),
            event("600001.SH", "回购", "2024-01-04T18:00:00", Some(30.0)),
            event("600002.SH", "回购", "2024-01-04T10:00:00", None),
            event("600002.SH", "减持", "2024-01-04T10:00:00", Some(9.0)),
            event("600003.SH", "回购", "2024-01-04T10:00:00", Some(9.0)),
        ];
        let sum = made("sum(event.amount, events = 回购, days = 3) / market.cap", &events);
        let row = |factor: &Factor, i: usize| (0..7).map(|t| factor.raw.at(t, i)).collect::<Vec<f64>>();
        let shown = |row: Vec<f64>| row.iter().map(|x| format!("{x}")).collect::<Vec<_>>().join(" ");
        // The second one came after the close of the fourth, so the day is the fifth.
        assert_eq!(shown(row(&sum, 0)), "NaN 0.05 0.05 0.08 0.03 0.03 NaN");
        assert!(row(&sum, 1).iter().all(|value| value.is_nan()), "no amount is given");
        assert_eq!(sum.known_at(3, 0).unwrap().to_string(), "2024-01-05 15:00:00");
        let count = made("count(events = 回购 + 减持, days = 2)", &events);
        assert_eq!(shown(row(&count, 1)), "NaN NaN 2 2 NaN NaN NaN");
        assert_eq!(count.known_at(2, 1).unwrap().to_string(), "2024-01-04 10:00:00");
    }

    #[test]
    fn later_events_change_no_earlier_value() {
        let event = |k: usize| {
            let (day, hour) = (2 + k / 2, 9 + 8 * (k % 2));
            let code = if k.is_multiple_of(3) { "600001.SH" } else { "600002.SH" };
            event(code, "回购", &format!("2024-01-{day:02}T{hour:02}:00:00"), Some(1.0 + k as f64))
        };
        let all: Vec<CompanyEvent> = (0..20).map(event).collect();
        let expression = "sum(event.amount, events = 回购, days = 5) + count(events = 回购, days = 2)";
        let complete = made(expression, &all);
        for n in 1..all.len() {
            let until = all[n].known_at;
            let part = made(expression, &all[..n]);
            for t in 0..11 {
                for i in 0..2 {
                    let known = complete.known_at(t, i).filter(|known| *known < until);
                    // A value known before the next event is the value without that event.
                    if known.is_some() {
                        assert_eq!(complete.raw.at(t, i).to_bits(), part.raw.at(t, i).to_bits(), "{n} {t} {i}");
                    }
                }
            }
        }
    }
}
