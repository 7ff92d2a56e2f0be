//! Signs that the prices of a table are not adjusted alike: rows that were appended without adjustment, and shares that go ex rights in it.
//!
//! Three signs, all of names of the mainland's boards, whose moves in a day have limits:
//!
//! - a *break*: on one date many names move beyond their limit at once;
//! - a *change of the grid*: adjusted prices lie between whole cents, traded ones on them; on one date many names change from the one to the
//!   other at once, where each would do so on its own last ex-dividend day;
//! - *falls*: a name opens and closes far below its limit, as a share does that goes ex rights and is not adjusted for that.
//!
//! Dividends of a few per cent are not seen one by one: where there are falls, there are gaps of dividends as well.

use chrono::NaiveDate;
use serde::{Deserialize, Serialize};

use crate::Board;
use inkstone_base::code::Code;

/// Names that a sign is seen in at the least, and their share of those that could show it.
const NAMES: u64 = 20;
const SHARE_OF_BREAK: f64 = 0.05;
const SHARE_OF_GRID: f64 = 0.2;
/// Falls by which a table is told to be unadjusted.
const FALLS: usize = 10;
/// Rows of a name before its moves have a limit for certain, and days of the calendar that it may have been absent.
const ROWS_BEFORE: u32 = 20;
const DAYS_ABSENT: u32 = 3;
/// Days of the calendar without falls, a year, behind which falls have a beginning.
const DAYS_WITHOUT: u32 = 240;
/// Rows of a name before and behind a change of the grid: a price between cents may fall on one by chance.
const ROWS_OF_GRID: u32 = 3;
/// Share by which a move may lie beyond its limit: limits are rounded to cents, and adjusted prices too.
const MARGIN: f64 = 0.015;
const MARGIN_OF_OPEN: f64 = 0.005;

/// Prices of a name on a day, NaN where unknown.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bar {
    pub open: f64,
    pub high: f64,
    pub low: f64,
    pub close: f64,
}

impl Bar {
    /// True if a price lies between whole cents.
    fn is_between_cents(&self) -> bool {
        let between = |price: &f64| !price.is_nan() && (price * 100.0 - (price * 100.0).round()).abs() > 1e-4;
        [self.open, self.high, self.low, self.close].iter().any(between)
    }
}

/// A date on which many names show a sign at once.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Seam {
    pub date: NaiveDate,
    pub names: u64,
    /// Names that could show it.
    pub of: u64,
}

/// A day on which a name fell as a share does that goes ex rights without adjustment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Fall {
    pub date: NaiveDate,
    pub code: Code,
    /// Close over the last close, less one.
    pub change: f64,
    /// Days of the table before it.
    days_before: u32,
}

/// The signs found in a table.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Adjustment {
    pub breaks: Vec<Seam>,
    pub grid: Vec<Seam>,
    pub falls: Vec<Fall>,
}

impl Adjustment {
    /// The date from which on rows are not adjusted as those before: of the first break or change of the grid, or of the first fall where a
    /// year before it had none. `None` if there is no such date, though falls may be found throughout.
    pub fn since(&self) -> Option<NaiveDate> {
        let seam = self.breaks.iter().chain(&self.grid).map(|seam| seam.date).min();
        let first = self.falls.first().filter(|fall| self.has_falls() && fall.days_before >= DAYS_WITHOUT);
        seam.into_iter().chain(first.map(|fall| fall.date)).min()
    }

    /// True if so many names fall that ex-right days are not adjusted.
    pub fn has_falls(&self) -> bool {
        self.falls.len() >= FALLS
    }

    /// True if nothing was found that makes returns wrong.
    pub fn is_sound(&self) -> bool {
        self.breaks.is_empty() && self.grid.is_empty() && !self.has_falls()
    }

    /// The fall that is deepest.
    pub fn deepest(&self) -> Option<&Fall> {
        self.falls.iter().min_by(|a, b| a.change.total_cmp(&b.change))
    }
}

/// Looks through the rows of a table, day by day.
#[derive(Default)]
pub struct AdjustmentScan {
    names: Vec<Name>,
    day: u32,
    grid: Vec<DayOfGrid>,
    found: Adjustment,
}

struct Name {
    code: Code,
    /// The widest limit of its board; `None` for names whose moves have none.
    limit: Option<f64>,
    last: Option<LastBar>,
    rows: u32,
    /// Rows up to the last whose prices lay between cents, one after the other; those before `on_cents` while there are such.
    between_cents: u32,
    /// Rows with whole cents behind them, and the day of the first.
    on_cents: u32,
    on_cents_since: u32,
}

#[derive(Clone, Copy)]
struct LastBar {
    day: u32,
    close: f64,
}

/// Names on a day, for changes of the grid: those with prices between cents until then, and those that changed on it.
struct DayOfGrid {
    date: NaiveDate,
    between_cents: u64,
    changed: u64,
}

impl AdjustmentScan {
    /// Adds a name, whose number is the count of those before.
    pub fn add_name(&mut self, code: Code) {
        let limit = Board::of_code(&code).map(|board| match board {
            Board::Main => 0.1,
            Board::Chinext | Board::Star => 0.2,
            Board::Bse => 0.3,
        });
        let (rows, between_cents, on_cents, on_cents_since) = (0, 0, 0, 0);
        self.names.push(Name { code, limit, last: None, rows, between_cents, on_cents, on_cents_since });
    }

    /// Takes the rows of the next date, each with the number of its name.
    pub fn take(&mut self, date: NaiveDate, rows: impl Iterator<Item = (usize, Bar)>) {
        let (mut moved, mut beyond, mut between_cents) = (0, 0, 0);
        for (number, bar) in rows.filter(|(_, bar)| bar.close > 0.0) {
            let name = &mut self.names[number];
            let known = name.last.filter(|last| name.rows >= ROWS_BEFORE && self.day - last.day <= DAYS_ABSENT);
            if let Some((last, limit)) = known.zip(name.limit) {
                let change = bar.close / last.close - 1.0;
                moved += 1;
                beyond += u64::from(change.abs() > limit + MARGIN);
                let opened = if bar.open > 0.0 { bar.open / last.close - 1.0 } else { change };
                if change < -limit - MARGIN && opened < -limit - MARGIN_OF_OPEN {
                    self.found.falls.push(Fall { date, code: name.code.clone(), change, days_before: self.day });
                }
            }
            between_cents +=
                u64::from(name.limit.is_some() && name.between_cents >= ROWS_OF_GRID && name.on_cents == 0);
            if let Some(day) = name.look_at_grid(bar.is_between_cents(), self.day) {
                // Certain only rows later, so that day is there.
                if let Some(day) = self.grid.get_mut(day as usize) {
                    day.changed += 1;
                }
            }
            name.last = Some(LastBar { day: self.day, close: bar.close });
            name.rows += 1;
        }
        self.grid.push(DayOfGrid { date, between_cents, changed: 0 });
        if is_sign(beyond, moved, SHARE_OF_BREAK) {
            self.found.breaks.push(Seam { date, names: beyond, of: moved });
            // What all names show at once is the break, and no share that went ex rights.
            self.found.falls.retain(|fall| fall.date != date);
        }
        self.day += 1;
    }

    pub fn finish(mut self) -> Adjustment {
        for DayOfGrid { date, between_cents, changed } in self.grid {
            if is_sign(changed, between_cents, SHARE_OF_GRID) {
                self.found.grid.push(Seam { date, names: changed, of: between_cents });
            }
        }
        self.found
    }
}

impl Name {
    /// Notes if the prices of the next row lie between cents; gives the first day of the new grid once a change is certain.
    fn look_at_grid(&mut self, is_between_cents: bool, day: u32) -> Option<u32> {
        if is_between_cents {
            self.between_cents = if self.on_cents == 0 { self.between_cents + 1 } else { 1 };
            self.on_cents = 0;
            return None;
        }
        if self.on_cents == 0 {
            self.on_cents_since = day;
        }
        self.on_cents += 1;
        let is_certain = self.on_cents == ROWS_OF_GRID && self.between_cents >= ROWS_OF_GRID && self.limit.is_some();
        is_certain.then_some(self.on_cents_since)
    }
}

/// True if so many names of those that could show a sign show it.
fn is_sign(names: u64, of: u64, share: f64) -> bool {
    names >= NAMES && names as f64 >= share * of as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAMES: usize = 40;

    fn date(day: u32) -> NaiveDate {
        NaiveDate::from_ymd_opt(2022, 1, 3).unwrap() + chrono::Days::new(u64::from(day))
    }

    /// The signs in a table of 40 names over 400 days, whose close on a day is that of `price`.
    fn found(price: impl Fn(usize, u32) -> f64) -> Adjustment {
        let mut scan = AdjustmentScan::default();
        (0..NAMES).for_each(|name| scan.add_name(Code::canonical(&format!("{}.SH", 600_000 + name))));
        for day in 0..400 {
            let bar = |name: usize| {
                let close = price(name, day);
                (name, Bar { open: close, high: close, low: close, close })
            };
            scan.take(date(day), (0..NAMES).map(bar));
        }
        scan.finish()
    }

    fn cents(price: f64) -> f64 {
        (price * 100.0).round() / 100.0
    }

    #[test]
    fn prices_that_are_adjusted_alike_show_no_sign() {
        // Moves within the limit, a crash of all names to it, and one name between cents until its own day.
        let price = |name: usize, day: u32| {
            let crash = if day >= 200 { 0.9 } else { 1.0 };
            let traded = cents((10.0 + 0.05 * f64::from(day % 7) + name as f64) * crash);
            if day < 10 * name as u32 { traded * 0.98765 / 0.98 } else { traded }
        };
        let found = found(price);
        assert!(found.is_sound() && found.since().is_none(), "{found:?}");
    }

    #[test]
    fn rows_appended_without_adjustment_break_at_their_first_date() {
        // Prices before day 300 are adjusted by a factor of the name.
        let factor = |name: usize, day: u32| if day < 300 { 0.6 + 0.01 * (name % 30) as f64 } else { 1.0 };
        let broken = found(|name, day| cents(10.0 + 0.05 * f64::from(day % 7)) * factor(name, day));
        assert_eq!(broken.since(), Some(date(300)));
        assert_eq!((broken.breaks.len(), broken.falls.len()), (1, 0));
        assert!(broken.breaks[0].names >= 30 && broken.breaks[0].of == 40, "{broken:?}");
        // Small factors move no name beyond its limit, but the grid changes.
        let small = |name: usize, day: u32| if day < 300 { 0.951 + 0.00137 * (name % 30) as f64 } else { 1.0 };
        let hidden = found(|name, day| cents(10.0 + 0.05 * f64::from(day % 7)) * small(name, day));
        assert_eq!((hidden.breaks.len(), hidden.since()), (0, Some(date(300))));
        assert!(hidden.grid[0].names >= 35, "{hidden:?}");
    }

    #[test]
    fn shares_that_go_ex_rights_are_told_and_have_a_beginning_where_a_year_before_had_none() {
        // From a day on a name a fortnight goes ex rights.
        let from = |first: u32| {
            move |name: usize, day: u32| {
                let ex_day = first + 7 * name as u32;
                if name < 12 && day >= ex_day { 10.0 / 1.4 } else { 10.0 }
            }
        };
        let late = found(from(300));
        assert_eq!((late.falls.len(), late.since()), (12, Some(date(300))));
        assert!((late.deepest().unwrap().change - (1.0 / 1.4 - 1.0)).abs() < 1e-9);
        let throughout = found(from(100));
        assert_eq!((throughout.has_falls(), throughout.is_sound(), throughout.since()), (true, false, None));
    }
}
