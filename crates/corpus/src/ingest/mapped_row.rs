//! A row seen through its mapping: the text, time or number of a field.

use std::borrow::Cow;

use chrono::{NaiveDate, NaiveDateTime};

use crate::ingest::mapping::{FieldRule, Mapping};
use crate::ingest::reason;
use crate::ingest::row::{Cells, RowFault};
use crate::ingest::times::{self, Moment, TimeFormat};

/// Rules by which the rows of one file are read.
pub(super) struct RowRules<'a> {
    pub(super) mapping: &'a Mapping,
    pub(super) time_format: &'a TimeFormat,
    /// Times after this one are impossible.
    pub(super) latest: NaiveDateTime,
    pub(super) sealed_from: Option<NaiveDate>,
}

impl<'a> RowRules<'a> {
    pub(super) fn row(&'a self, cells: &'a Cells) -> MappedRow<'a> {
        MappedRow { rules: self, cells }
    }
}

pub(super) struct MappedRow<'a> {
    rules: &'a RowRules<'a>,
    cells: &'a Cells,
}

impl MappedRow<'_> {
    fn cell(&self, i: usize) -> Option<&str> {
        self.cells.get(i).map(str::trim).filter(|text| !text.is_empty())
    }

    /// The text of a field, trimmed; `None` when there is none.
    pub(super) fn text(&self, field: &str) -> Option<Cow<'_, str>> {
        match self.rules.mapping.pick(field) {
            FieldRule::Absent => None,
            FieldRule::Constant(text) => Some(Cow::Owned(text.clone())),
            FieldRule::Cell(i, _) => self.cell(*i).map(Cow::Borrowed),
            FieldRule::Two(i, j) => {
                let texts: Vec<&str> = [*i, *j].into_iter().filter_map(|i| self.cell(i)).collect();
                (!texts.is_empty()).then(|| Cow::Owned(texts.join(" ")))
            }
            FieldRule::Found(pattern, i) => {
                let captures = pattern.captures(self.cell(*i)?)?;
                captures.get(1).or_else(|| captures.get(0)).map(|m| Cow::Owned(m.as_str().to_owned()))
            }
        }
    }

    /// The text of a field, where the words for "nothing" count as nothing.
    pub(super) fn value(&self, field: &str) -> Option<Cow<'_, str>> {
        self.text(field).filter(|text| !is_nothing(text))
    }

    pub(super) fn time(&self, field: &str) -> Result<Option<Moment>, RowFault> {
        match self.any_time(field)? {
            Some(moment) if self.begins(moment) > self.rules.latest => {
                let fault = self.fault(field, reason::FUTURE_TIME, &self.value(field).unwrap_or_default());
                Err(RowFault { until: Some(self.begins(moment)), ..fault })
            }
            moment => Ok(moment),
        }
    }

    /// A time that may lie in the future, as the end of a contract does.
    pub(super) fn any_time(&self, field: &str) -> Result<Option<Moment>, RowFault> {
        let Some(text) = self.value(field) else { return Ok(None) };
        let parsed = match self.rules.mapping.pick(field) {
            FieldRule::Two(i, j) => {
                times::parse_two(self.cell(*i).unwrap_or_default(), self.cell(*j).unwrap_or_default())
            }
            _ => self.rules.time_format.parse(&text),
        };
        parsed.map(Some).map_err(|error| self.fault(field, error.reason(), &text))
    }

    /// True if a day is in the sealed period.
    pub(super) fn is_sealed(&self, day: NaiveDate) -> bool {
        self.rules.sealed_from.is_some_and(|from| day >= from)
    }

    /// Until when it is in the future. A date alone stands for its last second, but is in the future only when the day is.
    fn begins(&self, moment: Moment) -> NaiveDateTime {
        if moment.is_day_end() { moment.time.date().into() } else { moment.time }
    }

    /// The number of a field, times its factor; `None` when it is absent or not finite.
    pub(super) fn number(&self, field: &str) -> Result<Option<f64>, RowFault> {
        let Some(text) = self.value(field) else { return Ok(None) };
        let factor = if let FieldRule::Cell(_, factor) = self.rules.mapping.pick(field) { *factor } else { 1.0 };
        let parsed = text.parse::<f64>().or_else(|_| text.replace([',', '，'], "").parse());
        match parsed {
            Ok(value) if value.is_finite() => Ok(Some(value * factor)),
            Ok(_) => Ok(None),
            Err(_) => Err(self.fault(field, "not a number", &text)),
        }
    }

    pub(super) fn fault(&self, field: &str, reason: &str, value: &str) -> RowFault {
        RowFault::new(self.rules.mapping.column_of(field), reason, value)
    }
}

/// True if a text is one of the words by which tables say that there is no value.
fn is_nothing(text: &str) -> bool {
    if text.starts_with(|c: char| c.is_ascii_digit()) {
        return false;
    }
    matches!(text, "-" | "--" | "—" | "——" | "\\N" | "NaT" | "停牌" | "无")
        || ["nan", "null", "none", "n/a", "na", "nat"].iter().any(|word| text.eq_ignore_ascii_case(word))
}
