//! Returns of the backtest that go across a change of the adjustment of prices.
//!
//! A share that goes ex rights falls by what it gave away, and rows that are appended to an adjusted table without adjustment break at their
//! first date: such a return is no gain or loss of anybody. The signs are those of [`inkstone_market::Adjustment`]. The number is the share
//! of the values whose return goes across a date on which all names change, or across a fall of the name itself; any warns.

use std::collections::BTreeSet;

use crate::lint::finding::{DeepestFall, Unadjusted};
use crate::lint::{Check, Finding, Standing, Subject, Verdict};
use inkstone_market::{Adjustment, AdjustmentScan, Bar, Market, Price};

pub(super) fn check(subject: &Subject<'_>) -> Verdict {
    let market = subject.market;
    let found = signs(market);
    let (mut values, mut across) = (0u64, 0u64);
    if !found.is_sound() {
        let day = |date| market.calendar().on_or_after(date);
        let of_all: BTreeSet<usize> = found.breaks.iter().chain(&found.grid).map(|seam| day(seam.date)).collect();
        let falls = found.falls.iter().filter(|_| found.has_falls());
        let of_names: BTreeSet<(usize, usize)> =
            falls.filter_map(|fall| Some((market.index_of(fall.code.as_str())?, day(fall.date)))).collect();
        let delay = subject.backtest.delay_days();
        let horizon = subject.backtest.horizons.first().copied().unwrap_or(1);
        for t in 0..market.dates().len() {
            // The return goes from the price of the first day to that of the last.
            let Some(first) = t.checked_add_signed(delay as isize) else { continue };
            let is_across_all = of_all.range(first + 1..first + 1 + horizon).next().is_some();
            for i in (0..market.codes().len()).filter(|i| !subject.factor.values.at(t, *i).is_nan()) {
                values += 1;
                let is_across = || of_names.range((i, first + 1)..(i, first + 1 + horizon)).next().is_some();
                across += u64::from(is_across_all || is_across());
            }
        }
    }
    let share = if values == 0 { 0.0 } else { across as f64 / values as f64 };
    let standing = if across > 0 { Standing::Warned } else { Standing::Passed };
    let dates_of = |seams: &[inkstone_market::Seam]| seams.iter().map(|seam| seam.date.to_string()).collect();
    let finding = Unadjusted {
        breaks: dates_of(&found.breaks),
        changes_of_the_grid: dates_of(&found.grid),
        falls: if found.has_falls() { found.falls.len() as u64 } else { 0 },
        values_across: across,
        deepest: found.deepest().filter(|_| found.has_falls()).map(|fall| DeepestFall {
            date: fall.date.to_string(),
            code: fall.code.to_string(),
            change: fall.change,
        }),
    };
    Verdict::new(Check::Unadjusted, standing, share, Some(0.0), Finding::Unadjusted(finding))
}

/// The signs in the opening and closing prices of a market.
fn signs(market: &Market) -> Adjustment {
    let mut scan = AdjustmentScan::default();
    market.codes().iter().for_each(|code| scan.add_name(code.clone()));
    let (open, close) = (market.price(Price::Open).ok(), market.price(Price::Close).ok());
    for (t, date) in market.dates().iter().enumerate() {
        let bar = |i: usize| Bar {
            open: open.map_or(f64::NAN, |open| open.at(t, i)),
            high: f64::NAN,
            low: f64::NAN,
            close: close.map_or(f64::NAN, |close| close.at(t, i)),
        };
        scan.take(*date, (0..market.codes().len()).map(|i| (i, bar(i))));
    }
    scan.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lint::testing::World;
    use serde_json::json;

    #[test]
    fn returns_across_days_on_which_names_go_ex_rights_are_counted() {
        // Twelve names lose two sevenths from one day to the next, each on its own day.
        let ex_day = |i: usize| if i < 12 { 50 + 5 * i } else { usize::MAX };
        let world = World::priced(40, 200, |t, i| if t < ex_day(i) { 14.0 } else { 10.0 });
        let verdict = world.look(check);
        let values = 40.0 * 200.0;
        assert_eq!((verdict.standing, verdict.number), (Standing::Warned, Some(12.0 / values)), "{verdict:?}");
        let figures = verdict.figures();
        assert_eq!((&figures["falls"], &figures["values_across"]), (&json!(12), &json!(12)));
        // All names at once, from the day on from which rows are not adjusted.
        let broken = World::priced(40, 200, |t, _| if t < 150 { 14.0 } else { 10.0 });
        let verdict = broken.look(check);
        assert_eq!((verdict.standing, verdict.number), (Standing::Warned, Some(40.0 / values)), "{verdict:?}");
        assert_eq!(verdict.figures()["breaks"].as_array().map(Vec::len), Some(1));
        let sound = World::priced(40, 200, |t, _| 10.0 + (t % 7) as f64 / 10.0);
        assert_eq!(sound.look(check).standing, Standing::Passed);
    }
}
