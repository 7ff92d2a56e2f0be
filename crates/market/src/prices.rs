//! The market as panels: prices on shared date x code axes, with what the dated table of securities says of each name.
//!
//! Codes are sorted, so a market is the same whatever the order of its rows. Prices in CNY a share, volume in shares,
//! market_cap in CNY; NaN where the table has nothing.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result};
use chrono::NaiveDate;
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use crate::table::{DailyTable, read_delimited};
use crate::{Board, Calendar, Panel, Security};
use inkstone_base::code::Code;
use inkstone_base::language::Word;
use inkstone_base::{bail, ensure, message};

/// Trading days without a close after which a name counts among those of a date no more.
const WITHOUT_CLOSE: usize = 20;

/// The price at which a position is entered and left.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Price {
    /// The opening price, struck at 09:25 by the auction that begins at 09:15.
    #[default]
    Open,
    /// The closing price, struck at 15:00.
    Close,
    /// The average over the session, which begins at 09:30.
    Vwap,
}

impl Price {
    /// The name in tables and settings.
    pub fn name(self) -> &'static str {
        match self {
            Price::Open => "open",
            Price::Close => "close",
            Price::Vwap => "vwap",
        }
    }
}

/// Facts on a security over a span of trading dates `from..to`.
#[derive(Clone, Debug)]
struct Span {
    from: usize,
    to: usize,
    industry: Option<u32>,
    st: bool,
}

#[derive(Clone, Debug, Default)]
struct NameFacts {
    board: Option<Board>,
    listed: Option<NaiveDate>,
    spans: Vec<Span>,
    /// First and last date with a close.
    life: Option<(usize, usize)>,
    /// Number of the first date from which the name is in the table no more; that of the dates while it stays.
    gone: usize,
}

/// Calendar, codes, prices and dated facts of a market.
#[derive(Clone, Debug)]
pub struct Market {
    calendar: Calendar,
    codes: Arc<[Code]>,
    index: FxHashMap<Code, usize>,
    names: Vec<NameFacts>,
    industries: Vec<String>,
    open: Option<Panel>,
    close: Panel,
    vwap: Option<Panel>,
    volume: Option<Panel>,
    amount: Option<Panel>,
    market_cap: Option<Panel>,
    pub up_limit: Option<Panel>,
    pub down_limit: Option<Panel>,
    /// True if all trades of a cell were at one price, `[dates, codes]`; empty if the table has no high and low.
    one_price: Vec<bool>,
}

impl Market {
    /// Reads a price table ([`crate::PRICE_COLUMNS`], or a plain Parquet or CSV file with at least a date, a code and a
    /// close). Codes are taken as they stand: the table and the factor must write them in one style.
    pub fn read(prices: &Path, securities: &[Security]) -> Result<Market> {
        let table = DailyTable::open(prices)?;
        Market::from_table(&table, securities)
            .with_context(|| message!("行情表 {}", "the price table {}", prices.display()))
    }

    /// The market of a price table that is written as CSV text, for tests.
    #[doc(hidden)]
    pub fn of_text(prices: &str, securities: &[Security]) -> Result<Market> {
        Market::from_table(&DailyTable::Whole(read_delimited(prices.as_bytes(), b',')?), securities)
    }

    /// The market of a price table, one row per date and code in any order, and of the dated securities (none is fine:
    /// then industries and ST marks are unknown and boards are told by the code).
    pub fn from_table(prices: &DailyTable, securities: &[Security]) -> Result<Market> {
        let row_dates = prices.dates()?;
        let row_codes = prices.codes()?;
        let calendar = Calendar::new(row_dates.distinct.clone())?;
        let codes: Arc<[Code]> = row_codes.distinct.iter().collect::<BTreeSet<_>>().into_iter().cloned().collect();
        let index: FxHashMap<Code, usize> = codes.iter().cloned().enumerate().map(|(i, c)| (c, i)).collect();

        let numbered = |date: NaiveDate| {
            calendar.index_of(date).context(Word("日历缺少自己的日期", "a date is missing in its own calendar"))
        };
        let day_numbers: Vec<usize> = row_dates.distinct.iter().copied().map(numbered).collect::<Result<_>>()?;
        let code_numbers: Vec<usize> = row_codes.distinct.iter().map(|code| index[code]).collect();
        let size = calendar.dates().len() * codes.len();
        ensure!(
            u32::try_from(size).is_ok(),
            "{size} 个日期 x 代码对一个市场来说太多；请去掉一些日期或代码",
            "{size} dates x codes are too many for one market; leave dates or codes out"
        );
        let mut cells = Vec::with_capacity(row_dates.rows.len());
        let mut taken = vec![false; size];
        for (row, (date, code)) in row_dates.rows.iter().zip(&row_codes.rows).enumerate() {
            let cell = day_numbers[*date as usize] * codes.len() + code_numbers[*code as usize];
            if std::mem::replace(&mut taken[cell], true) {
                bail!(
                    "{} 在 {} 有两行；每个日期与代码只留一行",
                    "{} has two rows on {}; keep one row per date and code",
                    row_codes.at(row),
                    row_dates.at(row)
                );
            }
            cells.push(cell as u32);
        }
        drop((row_dates, row_codes));

        let panel = |names: &[&str]| -> Result<Option<Panel>> {
            let mut values = vec![f64::NAN; size];
            if !prices.each_number(names, |row, value| values[cells[row] as usize] = value)? {
                return Ok(None);
            }
            Ok(Some(Panel::from_values(calendar.dates().clone(), codes.clone(), values)))
        };
        let positive = |names: &[&str]| -> Result<Option<Panel>> {
            let Some(mut panel) = panel(names)? else { return Ok(None) };
            // Vendors write 0 for "no price"; a return from or to it would be infinite.
            for t in 0..panel.dates().len() {
                panel.row_mut(t).iter_mut().filter(|v| v.is_infinite() || **v <= 0.0).for_each(|v| *v = f64::NAN);
            }
            Ok(Some(panel))
        };
        let close = positive(&["close", "收盘价"])?.with_context(|| {
            message!(
                "没有名为 close 的列；现有列：{:?}",
                "no column is named close; the columns are {:?}",
                prices.names()
            )
        })?;
        let mut market = Market {
            open: positive(&["open", "开盘价"])?,
            // The table of ingest has all columns; those without a value take no room.
            vwap: positive(&["vwap", "avg_price", "均价"])?.filter(Panel::has_values),
            volume: panel(&["volume", "vol", "成交量"])?,
            amount: positive(&["amount", "成交额"])?.filter(Panel::has_values),
            market_cap: positive(&["market_cap", "circ_mv", "total_mv", "市值"])?.filter(Panel::has_values),
            up_limit: positive(&["up_limit", "limit_up", "涨停价"])?.filter(Panel::has_values),
            down_limit: positive(&["down_limit", "limit_down", "跌停价"])?.filter(Panel::has_values),
            one_price: match (positive(&["high", "最高价"])?, positive(&["low", "最低价"])?) {
                (Some(high), Some(low)) => {
                    let same = |t: usize| high.row(t).iter().zip(low.row(t)).map(|(high, low)| high == low);
                    (0..high.dates().len()).flat_map(same).collect()
                }
                _ => Vec::new(),
            },
            names: codes.iter().map(|c| NameFacts { board: Board::of_code(c), ..NameFacts::default() }).collect(),
            industries: Vec::new(),
            calendar,
            codes,
            index,
            close,
        };
        market.note_lives(&taken);
        market.note_securities(securities)?;
        Ok(market)
    }

    /// Notes the first and last closes, and where the rows of a name end (`taken`: which cells have a row).
    fn note_lives(&mut self, taken: &[bool]) {
        let width = self.codes.len();
        for t in 0..self.dates().len() {
            for (i, (name, close)) in self.names.iter_mut().zip(self.close.row(t)).enumerate() {
                if !close.is_nan() {
                    name.life = Some((name.life.map_or(t, |life| life.0), t));
                }
                if taken[t * width + i] {
                    name.gone = t + 1;
                }
            }
        }
    }

    fn note_securities(&mut self, securities: &[Security]) -> Result<()> {
        let mut industries: Vec<&String> = securities.iter().filter_map(|s| s.industry.as_ref()).collect();
        industries.sort_unstable();
        industries.dedup();
        self.industries = industries.into_iter().cloned().collect();
        for security in securities {
            let Some(&i) = self.index.get(&security.code) else { continue };
            let day = |date: Option<NaiveDate>, open_end: usize| {
                date.map_or(open_end, |date| self.calendar.on_or_after(date))
            };
            let span = Span {
                from: day(security.from, 0),
                to: day(security.to, self.calendar.dates().len()),
                industry: security
                    .industry
                    .as_ref()
                    .and_then(|name| self.industries.binary_search(name).ok().map(|number| number as u32)),
                st: security.st,
            };
            let name = &mut self.names[i];
            if let Some(board) = &security.board {
                name.board = Some(board.parse().with_context(|| message!("证券 {}", "security {}", security.code))?);
            }
            name.listed = security.listed.or(name.listed);
            if let Some(delisted) = security.delisted {
                // A close after that day contradicts the table of securities, and prices are what can be traded.
                let traded_until = name.life.map_or(0, |(_, last)| last + 1);
                name.gone = name.gone.min(self.calendar.on_or_after(delisted)).max(traded_until);
            }
            name.spans.push(span);
        }
        Ok(())
    }

    pub fn calendar(&self) -> &Calendar {
        &self.calendar
    }

    /// The trading dates, ascending: the first axis of every panel.
    pub fn dates(&self) -> &Arc<[NaiveDate]> {
        self.calendar.dates()
    }

    /// The codes, ascending: the second axis of every panel.
    pub fn codes(&self) -> &Arc<[Code]> {
        &self.codes
    }

    pub fn index_of(&self, code: &str) -> Option<usize> {
        self.index.get(code).copied()
    }

    /// Prices of one sort, or an error that says how to go on without them.
    pub fn price(&self, price: Price) -> Result<&Panel> {
        let panel = match price {
            Price::Close => return Ok(&self.close),
            Price::Open => &self.open,
            Price::Vwap => &self.vwap,
        };
        let name = price.name();
        panel.as_ref().with_context(|| {
            message!(
                "行情表没有列 {name:?}；请添加，或换一种价格（[backtest] price）",
                "the price table has no column {name:?}; add it, or choose another price ([backtest] price)"
            )
        })
    }

    pub(crate) fn close_of(&self, t: usize, i: usize) -> f64 {
        self.close.at(t, i)
    }

    /// Market capitalisation in CNY; NaN where unknown.
    pub fn market_cap(&self, t: usize, i: usize) -> f64 {
        self.market_cap.as_ref().map_or(f64::NAN, |cap| cap.at(t, i))
    }

    /// Shares traded; NaN where unknown.
    pub fn volume(&self, t: usize, i: usize) -> f64 {
        self.volume.as_ref().map_or(f64::NAN, |volume| volume.at(t, i))
    }

    /// Value traded in CNY: the amount of the table, else volume x `price`; NaN where neither is known.
    pub fn traded_value(&self, t: usize, i: usize, price: f64) -> f64 {
        let at = |panel: &Option<Panel>| panel.as_ref().map_or(f64::NAN, |panel| panel.at(t, i));
        let amount = at(&self.amount);
        if amount.is_nan() { at(&self.volume) * price } else { amount }
    }

    /// True if all trades of the name that day were at one price; false without high and low.
    pub(crate) fn one_price(&self, t: usize, i: usize) -> bool {
        self.one_price.get(t * self.codes.len() + i).copied().unwrap_or_default()
    }

    /// True if the name traded that day: it has a close, and a volume of at least one (an unknown volume counts as traded). Some vendors
    /// write a suspended day with the volume 5.9e-39.
    pub fn traded(&self, t: usize, i: usize) -> bool {
        !self.close.at(t, i).is_nan() && !self.volume.as_ref().is_some_and(|volume| volume.at(t, i) < 1.0)
    }

    /// Numbers of the first and last date with a close.
    pub fn life(&self, i: usize) -> Option<(usize, usize)> {
        self.names[i].life
    }

    /// True if the name counts among those of a date: it had a close then, or on one of the 20 trading days before. Later prices
    /// do not matter: on the day itself nobody knows whether a name is suspended or gone.
    pub fn lives(&self, t: usize, i: usize) -> bool {
        (t.saturating_sub(WITHOUT_CLOSE)..=t).rev().any(|s| !self.close.at(s, i).is_nan())
    }

    /// Number of the first date on which the name is delisted: past its last close, and past its last row or the day that
    /// the table of securities gives. `None` while it has rows to the end, as a suspended name may have.
    pub fn delisted(&self, i: usize) -> Option<usize> {
        Some(self.names[i].gone).filter(|&gone| gone < self.dates().len())
    }

    /// Names of the industries, which [`Market::industry`] numbers.
    pub fn industries(&self) -> &[String] {
        &self.industries
    }

    /// The industry of that day.
    pub fn industry(&self, t: usize, i: usize) -> Option<u32> {
        self.span(t, i).and_then(|span| span.industry)
    }

    /// True if the name was under special treatment that day.
    pub(crate) fn is_st(&self, t: usize, i: usize) -> bool {
        self.span(t, i).is_some_and(|span| span.st)
    }

    /// The board, from the table or else from the code.
    pub fn board(&self, i: usize) -> Option<Board> {
        self.names[i].board
    }

    /// First day of trading, where the table of securities says so.
    pub fn listed(&self, i: usize) -> Option<NaiveDate> {
        self.names[i].listed
    }

    /// Number of the first date of trading: where the table of securities says so, or else that of the first close of a name
    /// that comes into the table later than others. `None` for what was there from the beginning.
    pub(crate) fn first_traded(&self, i: usize) -> Option<usize> {
        let listed = self.names[i].listed.map(|listed| (listed >= self.dates()[0], self.calendar.on_or_after(listed)));
        let (since, first) = listed.unwrap_or_else(|| self.life(i).map_or((false, 0), |(first, _)| (first > 0, first)));
        since.then_some(first)
    }

    /// True if the table has a volume.
    pub fn has_volume(&self) -> bool {
        self.volume.is_some()
    }

    /// True if the table has a market capitalisation of some name.
    pub fn has_market_cap(&self) -> bool {
        self.market_cap.is_some()
    }

    fn span(&self, t: usize, i: usize) -> Option<&Span> {
        self.names[i].spans.iter().find(|span| span.from <= t && t < span.to)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_without_a_close_counts_for_a_month_whatever_comes_later() {
        let day = |n: u64| NaiveDate::from_ymd_opt(2024, 1, 1).unwrap() + chrono::Days::new(n);
        let mut text = String::from("date,code,close\n");
        for n in 0..60 {
            text += &format!("{},600001.SH,10\n", day(n));
            if n == 5 || n == 40 {
                text += &format!("{},600002.SH,8\n", day(n));
            }
        }
        let market_of_all_days = Market::of_text(&text, &[]).unwrap();
        let alive: Vec<usize> = (0..60).filter(|t| market_of_all_days.lives(*t, 1)).collect();
        assert_eq!(alive, [(5..=25).collect::<Vec<_>>(), (40..60).collect()].concat());
        // An evening sees the same of its day as all that came later.
        let until = |last: u64| {
            text.lines()
                .filter(|line| line[..10] <= *day(last).to_string() || line.starts_with("date"))
                .collect::<Vec<_>>()
                .join("\n")
        };
        for last in [6, 25, 26, 39] {
            let market = Market::of_text(&until(last), &[]).unwrap();
            assert!((0..=last as usize).all(|t| market.lives(t, 1) == market_of_all_days.lives(t, 1)), "{last}");
        }
    }

    #[test]
    fn a_plain_table_becomes_panels_whatever_its_order_and_names() {
        let market = Market::of_text(
            "trade_date,ticker,OPEN,close,vol\n20240103,000002,9.1,9.2,100\n20240102,000002,9,0,0\n2024/1/3,000001,1,1.5,5.9e-39\n",
            &[],
        )
        .unwrap();
        assert_eq!(market.codes().iter().map(Code::as_str).collect::<Vec<_>>(), ["000001.SZ", "000002.SZ"]);
        assert_eq!(market.dates().len(), 2);
        let close = market.price(Price::Close).unwrap();
        assert_eq!([close.at(1, 0), close.at(1, 1)], [1.5, 9.2]);
        assert!(close.at(0, 1).is_nan(), "a price of 0 is no price");
        assert_eq!([market.traded(0, 1), market.traded(1, 0), market.traded(1, 1)], [false, false, true]);
        assert_eq!([market.life(0), market.life(1)], [Some((1, 1)), Some((1, 1))]);
        let error = market.price(Price::Vwap).unwrap_err().to_string();
        assert!(error.contains("[backtest] price"), "{error}");
    }

    #[test]
    fn bad_tables_are_told_where_they_are_wrong() {
        let error = |text: &str| format!("{:#}", Market::of_text(text, &[]).unwrap_err());
        let twice = error("date,code,close\n2024-01-02,000001,1\n2024-01-02,000001,2\n");
        assert!(twice.contains("000001.SZ has two rows on 2024-01-02"), "{twice}");
        let text = error("date,code,close\n2024-01-02,000001,1\n2024-01-03,000001,一\n");
        assert!(text.contains("row 2 of column close"), "{text}");
        assert!(error("date,code,open\n2024-01-02,000001,1\n").contains("no column is named close"));
        assert!(error("date,close\n2024-01-02,1\n").contains("code or asset"));
        assert!(error("date,code,close\n2024-13-02,000001,1\n").contains("is not a date"));
    }

    #[test]
    fn industries_and_marks_hold_for_their_days_only() {
        let row = |from: Option<&str>, to: Option<&str>, industry: &str, st| Security {
            code: Code::canonical("600001.SH"),
            name: "远山".into(),
            from: from.map(|d| d.parse().unwrap()),
            to: to.map(|d| d.parse().unwrap()),
            industry: Some(industry.into()),
            board: None,
            listed: None,
            delisted: None,
            st,
            aliases: vec![],
        };
        let securities = [row(None, Some("2024-01-03"), "电力", false), row(Some("2024-01-03"), None, "传媒", true)];
        let prices = "date,code,close\n2024-01-02,600001.SH,1\n2024-01-03,600001.SH,1\n";
        let market = Market::of_text(prices, &securities).unwrap();
        let industry = |t| market.industry(t, 0).map(|k| market.industries()[k as usize].as_str());
        assert_eq!([industry(0), industry(1)], [Some("电力"), Some("传媒")]);
        assert_eq!([market.is_st(0, 0), market.is_st(1, 0)], [false, true]);
        assert_eq!(market.board(0), Some(Board::Main));
    }
}
