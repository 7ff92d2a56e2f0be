//! Factors as tables: long, wide, alphalens and Qlib.

use std::collections::BTreeSet;

use anyhow::Result;
use chrono::{NaiveDate, NaiveTime};
use polars_core::prelude::{Column, DataFrame, IntoColumn, NamedFrom, Series};

use super::{CodeStyle, ExportFactor};
use inkstone_base::code::Code;
use inkstone_base::job::Ctx;
use inkstone_market::{Panel, dates_column};
use inkstone_tables::corpus::times_column;
use inkstone_tables::frames;

/// Factors laid over one another: all dates and codes of any of them. Where a factor has no such cell, it is NaN.
pub(super) struct ExportGrid<'a> {
    dates: Vec<NaiveDate>,
    codes: Vec<Code>,
    names: Vec<&'a str>,
    layers: Vec<ExportLayer<'a>>,
}

/// A factor and, for each date and code of the grid, its number in the factor's own panel.
struct ExportLayer<'a> {
    panel: &'a Panel,
    dates: Vec<Option<usize>>,
    codes: Vec<Option<usize>>,
}

impl<'a> ExportGrid<'a> {
    pub(super) fn new(factors: &[ExportFactor<'a>]) -> ExportGrid<'a> {
        let dates: BTreeSet<NaiveDate> = factors.iter().flat_map(|f| f.values.dates().iter().copied()).collect();
        let codes: BTreeSet<Code> = factors.iter().flat_map(|f| f.values.codes().iter().cloned()).collect();
        let (dates, codes) = (Vec::from_iter(dates), Vec::from_iter(codes));
        let layers = factors
            .iter()
            .map(|f| ExportLayer {
                panel: f.values,
                dates: places(&dates, f.values.dates()),
                codes: places(&codes, f.values.codes()),
            })
            .collect();
        ExportGrid { dates, codes, names: factors.iter().map(|f| f.name).collect(), layers }
    }

    /// Dates of any factor, ascending.
    pub(super) fn dates(&self) -> &[NaiveDate] {
        &self.dates
    }

    /// Codes of any factor, ascending.
    pub(super) fn codes(&self) -> &[Code] {
        &self.codes
    }

    pub(super) fn names(&self) -> &[&'a str] {
        &self.names
    }

    /// Value of factor `f` at date number `t` and code number `i`.
    pub(super) fn at(&self, f: usize, t: usize, i: usize) -> f64 {
        let layer = &self.layers[f];
        match (layer.dates[t], layer.codes[i]) {
            (Some(t), Some(i)) => layer.panel.at(t, i),
            _ => f64::NAN,
        }
    }

    pub(super) fn count_values(&self) -> u64 {
        let panels = self.layers.iter().map(|l| l.panel);
        panels
            .map(|p| (0..p.dates().len()).map(|t| p.row(t).iter().filter(|v| !v.is_nan()).count() as u64).sum::<u64>())
            .sum()
    }

    /// `date, code, factor...`
    pub(super) fn long(&self, style: CodeStyle, ctx: &Ctx) -> Result<DataFrame> {
        let (dates, mut columns) = self.stack(&Vec::from_iter(0..self.names.len()), "code", style, ctx)?;
        columns.insert(0, dates_column("date", dates.into_iter().map(Some))?);
        frames::frame(columns)
    }

    /// `date, asset, factor` of factor `f`.
    pub(super) fn alphalens(&self, f: usize, style: CodeStyle, ctx: &Ctx) -> Result<DataFrame> {
        let (dates, mut columns) = self.stack(&[f], "asset", style, ctx)?;
        columns[1].rename("factor".into());
        columns.insert(0, midnights("date", &dates)?);
        frames::frame(columns)
    }

    /// `datetime, instrument, factor...`
    pub(super) fn qlib(&self, ctx: &Ctx) -> Result<DataFrame> {
        let factors = Vec::from_iter(0..self.names.len());
        let (dates, mut columns) = self.stack(&factors, "instrument", CodeStyle::Qlib, ctx)?;
        columns.insert(0, midnights("datetime", &dates)?);
        frames::frame(columns)
    }

    /// `date` and a column per code, of factor `f`.
    pub(super) fn wide(&self, f: usize, style: CodeStyle, ctx: &Ctx) -> Result<DataFrame> {
        let mut columns = vec![dates_column("date", self.dates.iter().copied().map(Some))?];
        for (code, i) in self.written_codes(style) {
            let values: Vec<Option<f64>> = (0..self.dates.len()).map(|t| option(self.at(f, t, i))).collect();
            columns.push(Series::new(code.as_str().into(), values).into_column());
            ctx.check()?;
        }
        frames::frame(columns)
    }

    /// The codes as written in a style with their numbers, sorted as written.
    pub(super) fn written_codes(&self, style: CodeStyle) -> Vec<(String, usize)> {
        let mut codes: Vec<_> = self.codes.iter().enumerate().map(|(i, c)| (style.write(c), i)).collect();
        codes.sort_unstable();
        codes
    }

    /// The cells at which any of these factors has a value: their dates, then columns of the code and of each factor.
    fn stack(
        &self,
        factors: &[usize],
        code_name: &str,
        style: CodeStyle,
        ctx: &Ctx,
    ) -> Result<(Vec<NaiveDate>, Vec<Column>)> {
        let written = self.written_codes(style);
        let (mut dates, mut codes) = (Vec::new(), Vec::new());
        let mut values: Vec<Vec<Option<f64>>> = vec![Vec::new(); factors.len()];
        for (t, &date) in self.dates.iter().enumerate() {
            for (code, i) in &written {
                if factors.iter().all(|&f| self.at(f, t, *i).is_nan()) {
                    continue;
                }
                dates.push(date);
                codes.push(code.as_str());
                for (column, &f) in values.iter_mut().zip(factors) {
                    column.push(option(self.at(f, t, *i)));
                }
            }
            ctx.check()?;
        }
        let mut columns = vec![Series::new(code_name.into(), codes).into_column()];
        for (column, &f) in values.into_iter().zip(factors) {
            columns.push(Series::new(self.names[f].into(), column).into_column());
        }
        Ok((dates, columns))
    }
}

/// For each of `all`, its number in `own`.
fn places<T: Ord>(all: &[T], own: &[T]) -> Vec<Option<usize>> {
    let mut places = vec![None; all.len()];
    for (number, item) in own.iter().enumerate() {
        if let Ok(place) = all.binary_search(item) {
            places[place] = Some(number);
        }
    }
    places
}

/// NaN as null: readers tell a missing value from a number that is none.
pub(super) fn option(value: f64) -> Option<f64> {
    (!value.is_nan()).then_some(value)
}

fn midnights(name: &str, dates: &[NaiveDate]) -> Result<Column> {
    times_column(name, dates.iter().map(|d| Some(d.and_time(NaiveTime::MIN))))
}
