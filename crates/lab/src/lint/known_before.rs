//! Each value was known strictly before the return that it is paired with began.
//!
//! The return of a value of date `t` begins on date `t + delay`, at 09:15 (open: the auction), 09:30 (vwap) or 15:00
//! (close). The number is how many values were known at that moment or later, the limit 0. They fail where the backtest
//! uses them (look-ahead allowed, or the preset of alphalens), and where they are more than it refuses quietly
//! (`max_refused`): then the alignment itself is wrong. Fewer are refused one by one, which is a warning: another tool
//! would use them. A known-at time earlier than the publication of the text is no proof, and fails. Times that were not
//! given but taken as 15:00 of the date warn.

use chrono::NaiveDateTime;

use crate::lint::finding::{KnownBefore, KnownBeforeContext, LateValue};
use crate::lint::power::trade;
use crate::lint::{Check, Finding, Standing, Subject, Verdict};

/// Examples of late values that are kept.
const EXAMPLES: usize = 5;

pub(super) fn check(subject: &Subject<'_>) -> Verdict {
    let (factor, market) = (subject.factor, subject.market);
    let (mut values, mut late) = (0u64, 0u64);
    let mut worst: Option<(i64, LateValue)> = None;
    let mut examples = Vec::new();
    for t in 0..market.dates().len() {
        let Some(begins) = subject.backtest.trade_at(market, t) else { continue };
        for i in (0..market.codes().len()).filter(|&i| !factor.values.at(t, i).is_nan()) {
            values += 1;
            let known = factor.known_at(t, i);
            if known.is_some_and(|known| known < begins) {
                continue;
            }
            late += 1;
            let text = |time: Option<NaiveDateTime>| time.map_or("never".to_owned(), |time| time.to_string());
            let example = || LateValue {
                date: market.dates()[t].to_string(),
                code: market.codes()[i].to_string(),
                known_at: text(known),
                trade_at: begins.to_string(),
            };
            let seconds = known.map_or(i64::MAX, |known| (known - begins).num_seconds());
            if worst.as_ref().is_none_or(|(most, _)| seconds > *most) {
                worst = Some((seconds, example()));
            }
            if examples.len() < EXAMPLES {
                examples.push(example());
            }
        }
    }
    let backdated = subject.texts.as_ref().map_or(0, |texts| {
        texts.counted().filter(|(signal, document)| signal.known_at < document.published_at).count() as u64
    });
    let used = late > 0 && subject.backtest.uses_late_values();
    let beyond_limit = late as f64 > subject.backtest.max_refused * values as f64;
    let standing = match () {
        () if used || beyond_limit || backdated > 0 => Standing::Failed,
        () if late > 0 || subject.times_assumed => Standing::Warned,
        () => Standing::Passed,
    };
    let finding = KnownBefore {
        values,
        late,
        backdated,
        used,
        times_assumed: subject.times_assumed,
        examples,
        worst_lateness_hours: worst.as_ref().map(|(seconds, _)| *seconds as f64 / 3600.0),
        context: KnownBeforeContext {
            trade: trade(subject.backtest),
            beyond_limit,
            worst: worst.map(|(_, value)| value),
        },
    };
    Verdict::new(Check::KnownBefore, standing, (late + backdated) as f64, Some(0.0), Finding::KnownBefore(finding))
}
