//! The dated table of securities: names, industries and listing dates, each row with the span of days it holds for.

use anyhow::{Context, Result};
use chrono::NaiveDate;
use polars_core::prelude::{Column, DataFrame, DataType, IntoColumn, NamedFrom, Series, StringChunked};
use serde::{Deserialize, Serialize};

use inkstone_base::code::Code;
use inkstone_base::language::Word;
use inkstone_tables::corpus::column;
use inkstone_tables::frames;

/// One row: what was true of a security from one day to another. A security has as many rows as it had names,
/// industries or markings.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Security {
    pub code: Code,
    /// Short name (简称) of that time, as printed, ST marks included.
    pub name: String,
    /// First day this row holds; `None`: from the beginning.
    pub from: Option<NaiveDate>,
    /// First day this row no longer holds (half-open); `None`: still holds.
    pub to: Option<NaiveDate>,
    /// Industry, by whichever classification the table uses.
    pub industry: Option<String>,
    /// Board: `main`, `chinext`, `star`, `bse`; `None`: told by the code.
    pub board: Option<String>,
    /// First day of trading.
    pub listed: Option<NaiveDate>,
    /// First day without trading after delisting.
    pub delisted: Option<NaiveDate>,
    /// Under special treatment (ST, *ST).
    pub st: bool,
    /// Further names by which texts call the company (曾用简称, full name, brands).
    pub aliases: Vec<String>,
}

impl Security {
    /// A security of which nothing is known but its code.
    pub fn unnamed(code: Code) -> Security {
        Security {
            code,
            name: String::new(),
            from: None,
            to: None,
            industry: None,
            board: None,
            listed: None,
            delisted: None,
            st: false,
            aliases: Vec::new(),
        }
    }

    /// True if this row holds on `day`.
    pub fn holds_on(&self, day: NaiveDate) -> bool {
        self.from.is_none_or(|from| from <= day) && self.to.is_none_or(|to| day < to)
    }
}

/// Securities as a frame: `code name from to industry board listed delisted st aliases`; aliases joined by `|`.
pub fn securities_to_frame(rows: &[Security]) -> Result<DataFrame> {
    let option = |name: &str, get: &dyn Fn(&Security) -> Option<String>| -> Column {
        let mut values: StringChunked = rows.iter().map(get).collect();
        values.rename(name.into());
        values.into_column()
    };
    let st: Vec<bool> = rows.iter().map(|r| r.st).collect();
    frames::frame(vec![
        option("code", &|r| Some(r.code.as_str().to_owned())),
        option("name", &|r| Some(r.name.clone())),
        dates_column("from", rows.iter().map(|r| r.from))?,
        dates_column("to", rows.iter().map(|r| r.to))?,
        option("industry", &|r| r.industry.clone()),
        option("board", &|r| r.board.clone()),
        dates_column("listed", rows.iter().map(|r| r.listed))?,
        dates_column("delisted", rows.iter().map(|r| r.delisted))?,
        Series::new("st".into(), st).into_column(),
        option("aliases", &|r| Some(r.aliases.join("|"))),
    ])
}

pub fn securities_from_frame(frame: &DataFrame) -> Result<Vec<Security>> {
    let text = |name: &str| -> Result<StringChunked> { Ok(column(frame, name)?.str()?.clone()) };
    let [code, name, industry, board, aliases] =
        [text("code")?, text("name")?, text("industry")?, text("board")?, text("aliases")?];
    let [from, to, listed, delisted] =
        [dates_of(frame, "from")?, dates_of(frame, "to")?, dates_of(frame, "listed")?, dates_of(frame, "delisted")?];
    let st = column(frame, "st")?.bool()?.clone();
    (0..frame.height())
        .map(|i| {
            Ok(Security {
                code: Code::canonical(code.get(i).context(Word("有证券没有代码", "a security without a code"))?),
                name: name.get(i).unwrap_or_default().to_owned(),
                from: from[i],
                to: to[i],
                industry: industry.get(i).map(str::to_owned),
                board: board.get(i).map(str::to_owned),
                listed: listed[i],
                delisted: delisted[i],
                st: st.get(i).unwrap_or(false),
                aliases: aliases
                    .get(i)
                    .unwrap_or_default()
                    .split('|')
                    .filter(|a| !a.is_empty())
                    .map(str::to_owned)
                    .collect(),
            })
        })
        .collect()
}

/// A column of dates.
pub fn dates_column(name: &str, dates: impl Iterator<Item = Option<NaiveDate>>) -> Result<Column> {
    let days: Vec<Option<i32>> = dates.map(|d| d.map(|d| d.to_epoch_days())).collect();
    Ok(Series::new(name.into(), days).cast(&DataType::Date)?.into_column())
}

/// Reads back [`dates_column`]; a column of times gives their dates.
pub fn dates_of(frame: &DataFrame, name: &str) -> Result<Vec<Option<NaiveDate>>> {
    let days = column(frame, name)?.cast(&DataType::Date)?.cast(&DataType::Int32)?;
    Ok(days.i32()?.iter().map(|d| d.and_then(NaiveDate::from_epoch_days)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn securities_survive_the_way_to_a_frame_and_back() {
        let day = |s: &str| s.parse::<NaiveDate>().ok();
        let row = Security {
            code: Code::canonical("600001.SH"),
            name: "*ST远山".into(),
            from: day("1969-05-06"),
            to: day("2024-05-06"),
            industry: Some("电力设备".into()),
            board: None,
            listed: day("2001-01-02"),
            delisted: None,
            st: true,
            aliases: vec!["远山股份".into(), "远山科技".into()],
        };
        let rows = vec![row.clone(), Security { from: day("2024-05-06"), to: None, st: false, ..row }];
        assert_eq!(securities_from_frame(&securities_to_frame(&rows).unwrap()).unwrap(), rows);
        let may = day("2024-05-06").unwrap();
        assert_eq!([rows[0].holds_on(may), rows[1].holds_on(may)], [false, true]);
    }
}
