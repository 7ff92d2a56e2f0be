//! A table as CSV: a byte order mark on request, a header, `\n` after every row.
//!
//! Dates and times are written as `2024-03-01`, and a number with the fewest digits that read back as the same number. Null is nothing, and
//! an empty text is `""`. A text with a comma, a quote or a line end stands in quotes.

use std::borrow::Cow;
use std::io::Write;

use anyhow::Result;
use chrono::{DateTime, NaiveDate};
use polars_core::prelude::{AnyValue, DataFrame, TimeUnit};

use inkstone_base::bail;
use inkstone_base::disk::Formulas;

pub(super) fn write(out: &mut impl Write, table: &DataFrame, bom: bool, formulas: Formulas) -> Result<()> {
    if bom {
        out.write_all("\u{feff}".as_bytes())?;
    }
    let names: Vec<String> =
        table.columns().iter().map(|column| quoted(&formulas.field(column.name())).into_owned()).collect();
    writeln!(out, "{}", names.join(","))?;
    let mut columns: Vec<_> = table.columns().iter().map(|column| column.as_materialized_series().iter()).collect();
    for _ in 0..table.height() {
        for (i, column) in columns.iter_mut().enumerate() {
            if i > 0 {
                out.write_all(b",")?;
            }
            write_value(out, column.next().unwrap_or(AnyValue::Null), formulas)?;
        }
        out.write_all(b"\n")?;
    }
    Ok(())
}

fn write_value(out: &mut impl Write, value: AnyValue<'_>, formulas: Formulas) -> Result<()> {
    match value {
        AnyValue::Null => {}
        AnyValue::String(text) => out.write_all(quoted(&formulas.field(text)).as_bytes())?,
        // JSON writes the fewest digits too, but knows no infinity.
        AnyValue::Float64(number) => match serde_json::Number::from_f64(number) {
            Some(finite) => write!(out, "{finite}")?,
            None => write!(out, "{number}")?,
        },
        AnyValue::Int64(number) => write!(out, "{number}")?,
        AnyValue::Boolean(flag) => write!(out, "{flag}")?,
        AnyValue::Date(days) => match NaiveDate::from_epoch_days(days) {
            Some(date) => write!(out, "{date}")?,
            None => bail!("1970-01-01 之后第 {days} 天不是日期", "day {days} after 1970-01-01 is no date"),
        },
        AnyValue::Datetime(micros, TimeUnit::Microseconds, None) => match DateTime::from_timestamp_micros(micros) {
            Some(time) => write!(out, "{}", time.date_naive())?,
            None => {
                bail!("1970-01-01 之后 {micros} 微秒不是时间", "{micros} microseconds after 1970-01-01 are no time")
            }
        },
        other => bail!("{} 类型的列不能写成 CSV", "a column of the type {} cannot be written as CSV", other.dtype()),
    }
    Ok(())
}

/// A text as a field.
fn quoted(text: &str) -> Cow<'_, str> {
    if text.is_empty() || text.contains([',', '"', '\n', '\r']) {
        Cow::Owned(format!("\"{}\"", text.replace('"', "\"\"")))
    } else {
        Cow::Borrowed(text)
    }
}

#[cfg(test)]
mod tests {
    use polars_core::prelude::{IntoColumn, NamedFrom, Series};

    use super::*;
    use inkstone_market::dates_column;
    use inkstone_tables::corpus::times_column;
    use inkstone_tables::frames;

    #[test]
    fn values_of_every_type_are_written_as_other_tools_read_them() {
        let day = NaiveDate::from_ymd_opt(2024, 3, 1).unwrap();
        let reals = [Some(-2.0), Some(1e300), Some(f64::NEG_INFINITY), Some(0.1 + 0.2), None];
        let texts = [Some("a,b"), Some(""), None, Some("\"甲\"\n乙"), Some("丙")];
        let table = frames::frame(vec![
            dates_column("date", [Some(day), None, None, None, None].into_iter()).unwrap(),
            times_column("time", [day.and_hms_opt(15, 0, 0), None, None, None, None].into_iter()).unwrap(),
            Series::new("a \"name\"".into(), texts).into_column(),
            Series::new("real".into(), reals).into_column(),
            Series::new("count".into(), [1_i64, -2, 3, 4, i64::MAX]).into_column(),
            Series::new("flag".into(), [true, false, true, true, true]).into_column(),
        ])
        .unwrap();
        let mut out = Vec::new();
        write(&mut out, &table, true, Formulas::Keep).unwrap();
        assert_eq!(
            String::from_utf8(out).unwrap(),
            "\u{feff}date,time,\"a \"\"name\"\"\",real,count,flag\n\
             2024-03-01,2024-03-01,\"a,b\",-2.0,1,true\n\
             ,,\"\",1e+300,-2,false\n\
             ,,,-inf,3,true\n\
             ,,\"\"\"甲\"\"\n乙\",0.30000000000000004,4,true\n\
             ,,丙,,9223372036854775807,true\n"
        );
    }
}
