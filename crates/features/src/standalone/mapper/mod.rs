//! A fixed model on frames that come from elsewhere: partitions of an engine, a pipe, a notebook.
//!
//! Each document gets the model's values and `known_at`: the later of its publication and the last time of the data that the model was fitted
//! on. Times with a zone are converted to that of Shanghai, and times without one are taken as Shanghai's. A session that reads the local
//! times of a text as UTC moves all of them by eight hours, which no single row shows: [`NightWatch`] stops at the share of documents that
//! seem to be published in the small hours.

mod stream;

use std::sync::Arc;

use anyhow::{Context, Result};
use chrono::{DateTime, Days, NaiveDate, NaiveDateTime, NaiveTime, TimeDelta, Timelike};
use polars_core::prelude::{
    Column, DataFrame, DataType, Float32Type, Int32Type, IntoColumn, ListBuilderTrait, ListPrimitiveChunkedBuilder,
    NamedFrom, PolarsNumericType, Series, TimeUnit, TimeZone,
};

use crate::fitted::{Columns, END_OF_DAY, Fitted, Rows, fitted_until};
use crate::lines::Line;
use inkstone_base::job::Ctx;
use inkstone_base::{bail, ensure, message};
use inkstone_corpus::ingest::read_time;

pub use stream::{StreamColumns, map_arrow, map_tsv};

/// Hours from UTC to the time of Shanghai.
const SHANGHAI: TimeDelta = TimeDelta::hours(8);

/// Gives the documents of frames the columns of a model.
pub struct FrameMapper {
    model: Arc<dyn Fitted>,
    columns: Columns,
    fitted_until: NaiveDateTime,
    night: NightWatch,
}

/// The columns of some documents, a row each. `titles` may be missing.
pub struct FrameDocuments<'a> {
    pub titles: Option<&'a Column>,
    pub texts: &'a Column,
    /// Times with or without a zone, dates, or texts that hold either.
    pub times: &'a Column,
}

impl FrameMapper {
    /// `stated` is the last day of the text that the model was fitted on, for models that do not say it; `setting` is its name for the
    /// user.
    pub fn new(
        model: Arc<dyn Fitted>,
        stated: Option<NaiveDate>,
        setting: &str,
        night: NightWatch,
    ) -> Result<FrameMapper> {
        let columns = model.columns()?;
        let fitted_until = fitted_until(model.header(), stated, model.name(), setting)?;
        Ok(FrameMapper { model, columns, fitted_until, night })
    }

    /// The columns of the model and `known_at`. Vectors are one column `vector`, sparse rows are `indices` and `values`, figures have a column
    /// each. A document without a text or without a time that can be read has no values. Fails at the share of [`NightWatch`].
    pub fn map(&mut self, documents: &FrameDocuments<'_>, ctx: &Ctx) -> Result<DataFrame> {
        let texts = strings(documents.texts)?;
        let titles = documents.titles.map(strings).transpose()?;
        let times = shanghai_times(documents.times)?;
        self.night.see(&times)?;
        let read: Vec<bool> = texts.iter().zip(&times).map(|(text, time)| text.is_some() && time.is_some()).collect();
        let lines = texts.iter().enumerate().filter(|(row, _)| read[*row]).map(|(row, text)| Line {
            number: row as u64 + 1,
            title: titles.as_ref().and_then(|titles| titles[row]).unwrap_or_default().into(),
            text: text.unwrap_or_default().into(),
            ..Line::default()
        });
        let lines: Vec<Line<'_>> = lines.collect();
        let chunks = if lines.is_empty() { Vec::new() } else { self.model.many(&lines, ctx)? };
        let mut columns = model_columns(&self.columns, &chunks, &read)?;
        let times = times.into_iter().zip(&read).map(|(time, read)| time.filter(|_| *read));
        columns.push(self.known_column(times, documents.times)?);
        Ok(DataFrame::new(read.len(), columns)?)
    }

    /// The column `known_at` of documents that are published at these times.
    pub fn known_at(&self, times: &Column) -> Result<Column> {
        self.known_column(shanghai_times(times)?.into_iter(), times)
    }

    /// Times of publication as `known_at`: with the zone UTC where the times of `like` have a zone, else without one.
    fn known_column(&self, times: impl Iterator<Item = Option<NaiveDateTime>>, like: &Column) -> Result<Column> {
        let zoned = matches!(like.dtype(), DataType::Datetime(_, Some(_)));
        let (shift, zone) = if zoned { (SHANGHAI, Some(TimeZone::UTC)) } else { (TimeDelta::zero(), None) };
        let ticks =
            times.map(|time| time.map(|time| (time.max(self.fitted_until) - shift).and_utc().timestamp_micros()));
        let ticks = Series::new("known_at".into(), ticks.collect::<Vec<Option<i64>>>());
        Ok(ticks.into_datetime(TimeUnit::Microseconds, zone).into_column())
    }

    /// The last time of the data that the model was fitted on.
    pub fn fitted_until(&self) -> NaiveDateTime {
        self.fitted_until
    }
}

/// The share of documents that are published between 01:00 and 05:00 in Shanghai, where little is; dates without a time of day do not count.
#[derive(Clone, Copy, Debug)]
pub struct NightWatch {
    /// The largest share that is let through.
    pub allowed: f64,
    timed: u64,
    at_night: u64,
}

impl NightWatch {
    /// A day-and-night service published 8 % of 37,000 flashes in these hours; 18 % or 25 % stand in them if all times are moved by eight hours.
    pub const ALLOWED: f64 = 0.15;
    /// Documents before which a share says nothing.
    const FEWEST: u64 = 500;

    pub fn new(allowed: f64) -> NightWatch {
        NightWatch { allowed, timed: 0, at_night: 0 }
    }

    fn see(&mut self, times: &[Option<NaiveDateTime>]) -> Result<()> {
        let timed = times.iter().flatten().map(|time| time.time());
        for time in timed.filter(|time| *time != NaiveTime::MIN && *time != END_OF_DAY) {
            self.timed += 1;
            self.at_night += u64::from((1..5).contains(&time.hour()));
        }
        let share = self.at_night as f64 / self.timed as f64;
        ensure!(
            self.timed < NightWatch::FEWEST || share <= self.allowed,
            "{1} 篇文档中有 {0} 篇似乎发布于上海时间 01:00 到 05:00（{share:.2}）：时间可能差八小时，例如 UTC 会话读取了本地时间。请给出带时区的时间或文本；若时间无误，请允许 {share:.2} 的比例",
            "{} of {} documents seem to be published between 01:00 and 05:00 in Shanghai ({share:.2}): their times may be eight hours off, as where a session in UTC reads local times. Give times with their zone, or texts; if the times are right, allow a share of {share:.2}",
            self.at_night,
            self.timed
        );
        Ok(())
    }
}

fn strings(column: &Column) -> Result<Vec<Option<&str>>> {
    let texts = column
        .str()
        .with_context(|| message!("列 {:?} 没有文本", "column {:?} holds no texts", column.name().as_str()))?;
    Ok(texts.iter().collect())
}

/// Times of a column as Shanghai's; none where a cell has none that can be read.
pub fn shanghai_times(column: &Column) -> Result<Vec<Option<NaiveDateTime>>> {
    let name = column.name().as_str();
    Ok(match column.dtype() {
        DataType::Null => vec![None; column.len()],
        DataType::String => column.str()?.iter().map(|text| text.and_then(read_time)).collect(),
        DataType::Date => {
            let days = column.to_physical_repr();
            let time = |day: i32| {
                let (origin, span) = (NaiveDate::default(), Days::new(day.unsigned_abs().into()));
                let day = if day >= 0 { origin.checked_add_days(span) } else { origin.checked_sub_days(span) };
                day.map(|day| day.and_time(END_OF_DAY))
            };
            days.i32()?.iter().map(|day| day.and_then(time)).collect()
        }
        DataType::Datetime(unit, zone) => {
            let shift = if zone.is_some() { SHANGHAI } else { TimeDelta::zero() };
            let time = |ticks: i64| {
                let time = match unit {
                    TimeUnit::Milliseconds => DateTime::from_timestamp_millis(ticks),
                    TimeUnit::Microseconds => DateTime::from_timestamp_micros(ticks),
                    TimeUnit::Nanoseconds => Some(DateTime::from_timestamp_nanos(ticks)),
                };
                time.and_then(|time| time.naive_utc().checked_add_signed(shift))
            };
            let ticks = column.to_physical_repr();
            ticks.i64()?.iter().map(|ticks| ticks.and_then(time)).collect()
        }
        other => bail!(
            "列 {name:?} 为 {other}，而时间须为时间戳、日期或文本",
            "column {name:?} holds {other}, and times are timestamps, dates or texts"
        ),
    })
}

/// The columns of rows that a model gave the documents that are `read`, as [`FrameMapper::map`] has them; nulls for the others.
pub fn model_columns(columns: &Columns, chunks: &[(usize, Rows)], read: &[bool]) -> Result<Vec<Column>> {
    const OTHER_KIND: &str = "rows of another kind than their columns";
    match columns {
        Columns::Dense(names) => {
            let mut vectors = ListColumn::<Float32Type>::new("vector", read, DataType::Float32);
            for (_, rows) in chunks {
                let Rows::Dense(values) = rows else { bail!(OTHER_KIND) };
                values.chunks(names.len()).for_each(|row| vectors.push(row));
            }
            Ok(vec![vectors.finish()])
        }
        Columns::Sparse { .. } => {
            let mut indices = ListColumn::<Int32Type>::new("indices", read, DataType::Int32);
            let mut values = ListColumn::<Float32Type>::new("values", read, DataType::Float32);
            for (_, rows) in chunks {
                let Rows::Sparse(rows) = rows else { bail!(OTHER_KIND) };
                for row in (0..rows.rows()).map(|row| rows.row(row)) {
                    // Spark has no numbers without a sign.
                    indices.push(&row.indices.iter().map(|&index| index as i32).collect::<Vec<_>>());
                    values.push(row.values);
                }
            }
            Ok(vec![indices.finish(), values.finish()])
        }
        Columns::Table { text, numbers } => {
            let (mut texts, mut figures) = (Vec::new(), vec![Vec::with_capacity(read.len()); numbers.len()]);
            let mut given = chunks.iter().flat_map(|(count, rows)| (0..*count).map(move |row| (rows, row)));
            for read in read {
                let Some((rows, row)) = read.then(|| given.next()).flatten() else {
                    texts.push(None);
                    figures.iter_mut().for_each(|column| column.push(None));
                    continue;
                };
                let Rows::Table { texts: labels, numbers: values } = rows else { bail!(OTHER_KIND) };
                texts.push(labels.get(row).map(String::as_str));
                for (column, value) in figures.iter_mut().zip(&values[row * numbers.len()..]) {
                    column.push((!value.is_nan()).then_some(*value));
                }
            }
            let texts = text.iter().map(|name| Series::new(name.into(), &texts).into_column());
            let figures =
                numbers.iter().zip(&figures).map(|(name, values)| Series::new(name.into(), values).into_column());
            Ok(texts.chain(figures).collect())
        }
    }
}

/// A column of lists, with nulls for the documents that are not read.
struct ListColumn<'r, T: PolarsNumericType> {
    builder: ListPrimitiveChunkedBuilder<T>,
    rest: &'r [bool],
}

impl<'r, T: PolarsNumericType> ListColumn<'r, T> {
    fn new(name: &str, read: &'r [bool], values: DataType) -> ListColumn<'r, T> {
        ListColumn {
            builder: ListPrimitiveChunkedBuilder::new(name.into(), read.len(), read.len(), values),
            rest: read,
        }
    }

    /// Adds the list of the next document that is read.
    fn push(&mut self, list: &[T::Native]) {
        self.skip();
        self.builder.append_slice(list);
        self.rest = self.rest.get(1..).unwrap_or_default();
    }

    /// Adds nulls for the documents before the next that is read.
    fn skip(&mut self) {
        let nulls = self.rest.iter().take_while(|read| !**read).count();
        (0..nulls).for_each(|_| self.builder.append_null());
        self.rest = &self.rest[nulls..];
    }

    fn finish(mut self) -> Column {
        self.skip();
        self.builder.finish().into_column()
    }
}

#[cfg(test)]
mod tests;
