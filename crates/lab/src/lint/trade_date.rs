//! The date of each signal is the one that its document's time of publication gives.
//!
//! The date is worked out anew from `published_at` by the calendar of the price table and the cutoff, and compared as a
//! date. The number is how many signals stand on an earlier date, the limit 0: one is a failure, as a value of that
//! date was not there by its close. Signals on a later date are no look-ahead but lost time, and warn.
//!
//! Two errors of a public replication of a study of sentiment are caught here: texts from before the close paired with
//! the return of their own day, which had begun; and hours compared as strings, where `"15" >= "15:00:00"` is false, so
//! that posts at 15:xx count as before the close, and `"9:30" >= "15:00:00"` is true, so that posts of the morning wait
//! for the next day. The second leaves a trace, which is named: early signals at 15:xx alone, late ones from 1:00 to
//! 9:59 alone.

use chrono::{NaiveDateTime, Timelike};

use crate::lint::finding::{EarlySignal, TradeDate};
use crate::lint::{Check, Finding, Standing, Subject, Texts, Verdict, no_documents};
use inkstone_market::{Cutoff, Market, OffCalendar};

/// Examples of signals on a wrong date that are kept.
const EXAMPLES: usize = 5;

pub(super) fn check(subject: &Subject<'_>) -> Verdict {
    let Some(texts) = &subject.texts else { return no_documents(Check::TradeDate, subject) };
    let market = subject.market;
    let (mut signals, mut early, mut late) = (0u64, 0u64, 0u64);
    let (mut early_hours, mut late_hours) = ([0u64; 24], [0u64; 24]);
    let mut examples = Vec::new();
    for (signal, document) in texts.counted() {
        signals += 1;
        let right = earliest(market, texts, document.published_at);
        let (stands, hour) = (signal.date as usize, document.published_at.hour() as usize);
        if stands < right {
            early += 1;
            early_hours[hour] += 1;
            if examples.len() < EXAMPLES {
                let right = market.dates().get(right).map_or("later".to_owned(), |date| date.to_string());
                examples.push(EarlySignal {
                    document: document.id.clone(),
                    published_at: document.published_at.to_string(),
                    date: market.dates()[stands].to_string(),
                    right,
                });
            }
        } else if stands > right {
            late += 1;
            late_hours[hour] += 1;
        }
    }
    let standing = match () {
        () if early > 0 => Standing::Failed,
        () if late > 0 => Standing::Warned,
        () => Standing::Passed,
    };
    let finding = TradeDate {
        signals,
        early,
        late,
        as_strings: early + late > 0 && early == early_hours[15] && late == late_hours[1..10].iter().sum::<u64>(),
        early_by_hour: early_hours.to_vec(),
        late_by_hour: late_hours.to_vec(),
        examples,
    };
    Verdict::new(Check::TradeDate, standing, early as f64, Some(0.0), Finding::TradeDate(finding))
}

/// Number of the earliest date that a document may stand on.
fn earliest(market: &Market, texts: &Texts<'_>, published_at: NaiveDateTime) -> usize {
    match (market.calendar().trade_date(published_at, texts.cutoff), texts.cutoff) {
        (Ok(date), _) => date,
        (Err(OffCalendar::Early), _) => 0,
        (Err(OffCalendar::Late), Cutoff::Close) => market.dates().len(),
        // Past the table nobody knows when the next session began; the last date is right if it had not.
        (Err(OffCalendar::Late), Cutoff::NextOpen) => market.dates().len() - 1,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::backtest;
    use crate::lint::finding::KnownBefore;
    use crate::lint::testing::{Post, World};

    /// Posts at these times of each of ten days, one code each.
    const TIMES: [&str; 6] = ["0:30", "9:30", "10:05", "14:59", "15:20", "20:00"];

    fn posts() -> Vec<Post> {
        let at = |day: usize, k: usize| {
            let (hour, minute) = TIMES[k].split_once(':').unwrap();
            (day, hour.parse().unwrap(), minute.parse().unwrap())
        };
        (0..10).flat_map(|day| (0..TIMES.len()).map(move |k| Post::new(k as u32, at(day, k), 1.0 + k as f64))).collect()
    }

    fn verdict(rule: impl Fn(&Post) -> Option<usize>, backtest: backtest::Params) -> (Verdict, Verdict) {
        let mut world = World::flat(8, 12, posts(), rule);
        world.backtest = backtest;
        world.look(|subject| (check(subject), crate::lint::known_before::check(subject)))
    }

    #[test]
    fn the_rule_of_the_close_passes() {
        let (dates, known) = verdict(|post| Some(post.day + usize::from(post.hour >= 15)), backtest::Params::default());
        assert_eq!((dates.standing, dates.number), (Standing::Passed, Some(0.0)));
        assert_eq!(known.standing, Standing::Passed, "{known:?}");
    }

    #[test]
    fn texts_before_the_close_paired_with_the_return_of_their_day_fail() {
        // A post before 15:00 meets the return from the close before to the close of its day: with a trade a day later, it
        // stands on the day before. Four of the six times are before the close; day 0 has no day before it.
        let rule = |post: &Post| if post.hour < 15 { post.day.checked_sub(1) } else { Some(post.day) };
        let close =
            backtest::Params { price: Some(inkstone_market::Price::Close), delay: Some(0), ..Default::default() };
        let (dates, known) = verdict(rule, close.clone());
        assert_eq!((dates.standing, dates.number), (Standing::Failed, Some((4 * 9 + 2 * 10) as f64)));
        assert_eq!((known.standing, known.number), (Standing::Failed, Some((4 * 9 + 2 * 10) as f64)));
        // The same said by the alignment: dates are right, and the return from open to close of the day is taken.
        let right = |post: &Post| Some(post.day + usize::from(post.hour >= 15));
        let (dates, known) = verdict(right, backtest::Params { delay: Some(0), ..Default::default() });
        assert_eq!(dates.standing, Standing::Passed);
        // 9:30, 10:05 and 14:59 are after 09:15 of their day; 15:20 and 20:00 before that of the next.
        assert_eq!((known.standing, known.number), (Standing::Failed, Some(30.0)));
        let Finding::KnownBefore(KnownBefore { context, .. }) = known.finding else { unreachable!("its own finding") };
        assert!(context.worst.unwrap().trade_at.ends_with("09:15:00"));
    }

    #[test]
    fn hours_compared_as_strings_fail_and_are_named() {
        let next = |hour: &str| hour >= "15:00:00";
        assert!(next("9:30") && !next("15") && !next("0:30") && next("20"));
        let rule = move |post: &Post| {
            let hour =
                if post.hour >= 10 { post.hour.to_string() } else { format!("{}:{:02}", post.hour, post.minute) };
            Some(post.day + usize::from(next(&hour)))
        };
        let close =
            backtest::Params { price: Some(inkstone_market::Price::Close), delay: Some(0), ..Default::default() };
        let (dates, known) = verdict(rule, close);
        assert_eq!((dates.standing, dates.number), (Standing::Failed, Some(10.0)));
        let figures = dates.figures();
        assert_eq!((&figures["late"], &figures["as_strings"]), (&json!(10), &json!(true)));
        // Bought at the close of the date on which they stand, the posts at 15:20 are twenty minutes late.
        assert_eq!((known.standing, known.number), (Standing::Failed, Some(10.0)));
        assert_eq!(known.figures()["worst_lateness_hours"], json!(20.0 / 60.0));
    }

    #[test]
    fn dates_that_are_only_late_warn() {
        let (dates, _) = verdict(|post| Some(post.day + 1), backtest::Params::default());
        assert_eq!((dates.standing, dates.number), (Standing::Warned, Some(0.0)));
        let figures = dates.figures();
        assert_eq!((&figures["late"], &figures["as_strings"]), (&json!(40), &json!(false)));
    }
}
