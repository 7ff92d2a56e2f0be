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
use serde_json::json;

use crate::lint::{Check, Standing, Subject, Texts, Verdict, no_documents};
use inkstone_market::{Cutoff, Market, OffCalendar};

/// Examples of signals on a wrong date that are kept.
const EXAMPLES: usize = 5;

pub(super) fn check(subject: &Subject<'_>) -> Verdict {
    let Some(texts) = &subject.texts else { return no_documents(Check::TradeDate) };
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
                examples.push(json!({
                    "document": document.id,
                    "published_at": document.published_at.to_string(),
                    "date": market.dates()[stands].to_string(),
                    "right": right,
                }));
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
    let strings = early + late > 0 && early == early_hours[15] && late == late_hours[1..10].iter().sum::<u64>();
    let (mut zh, mut en) = match (early, late) {
        (0, 0) => (
            format!("{signals} 条记录的交易日均与其发布时间相符。"),
            format!("All {signals} signals stand on the trading date that their time of publication gives."),
        ),
        (0, late) => (
            format!(
                "{signals} 条记录中没有过早的，但有 {late} 条比应属的交易日更晚，白白失去时效；请按发布时间重新归日。"
            ),
            format!(
                "None of {signals} signals stands too early, but {late} stand on a later date than theirs, which \
                 loses time and no more; give dates by the time of publication."
            ),
        ),
        _ => (
            format!(
                "{signals} 条记录中有 {early} 条归入了比发布时间应属的更早的交易日（另有 {late} 条更晚）：\
                 那一天收盘时文本尚未发布，与当日或次日收益相配即用到未来。请按发布时间与 15:00:00（[market] cutoff）重新归日。"
            ),
            format!(
                "{early} of {signals} signals stand on an earlier trading date than their time of publication gives \
                 ({late} on a later one): the text was not there at that day's close, so returns that it is paired \
                 with may have begun. Give dates by the time of publication and 15:00:00 ([market] cutoff)."
            ),
        ),
    };
    if strings {
        zh += "出错的只有 15 点（过早）与 1 至 9 点（过晚）的文本，像是把小时当作字符串与 \"15:00:00\" 比较；请按时间比较。";
        en += " Only texts at 15:xx (early) and from 1:00 to 9:59 (late) are wrong, as when hours are compared with \
         \"15:00:00\" as strings; compare times.";
    }
    Verdict::of(Check::TradeDate, standing, early as f64, Some(0.0), (zh, en))
        .with("signals", signals)
        .with("early", early)
        .with("late", late)
        .with("early_by_hour", early_hours.to_vec())
        .with("late_by_hour", late_hours.to_vec())
        .with("as_strings", strings)
        .with("examples", examples)
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
    use super::*;
    use crate::backtest;
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
        assert_eq!(known.standing, Standing::Passed, "{}", known.finding.1);
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
        assert!(known.finding.1.contains("09:15:00"), "{}", known.finding.1);
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
        assert_eq!((&dates.figures["late"], &dates.figures["as_strings"]), (&json!(10), &json!(true)));
        assert!(dates.finding.1.contains("15:xx") && dates.finding.0.contains("字符串"), "{}", dates.finding.1);
        // Bought at the close of the date on which they stand, the posts at 15:20 are twenty minutes late.
        assert_eq!((known.standing, known.number), (Standing::Failed, Some(10.0)));
        assert_eq!(known.figures["worst_lateness_hours"], json!(20.0 / 60.0));
    }

    #[test]
    fn dates_that_are_only_late_warn() {
        let (dates, _) = verdict(|post| Some(post.day + 1), backtest::Params::default());
        assert_eq!((dates.standing, dates.number), (Standing::Warned, Some(0.0)));
        assert_eq!((&dates.figures["late"], &dates.figures["as_strings"]), (&json!(40), &json!(false)));
    }
}
