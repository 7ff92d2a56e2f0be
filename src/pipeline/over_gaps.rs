//! Values of factors, and first mentions, whose window lies over days that the archive lacks.

use anyhow::Result;
use chrono::{Days, NaiveDate};

use inkstone_base::data::Report;
use inkstone_corpus::ingest::Gap;
use inkstone_lab::factor::{Factor, Gaps, LookbackUnit, Plan};
use inkstone_market::Market;
use inkstone_tables::corpus::{Parts, texts_of, times_of};
use inkstone_tables::frames;

/// Tells of the values whose window of documents lies over a gap, and takes them out where the factor asks for that.
pub(super) fn look(factor: &mut Factor, plan: &Plan, market: &Market, gaps: &[Gap], rule: Gaps, report: &mut Report) {
    let Some((days, unit)) = plan.longest_window().filter(|_| !gaps.is_empty()) else { return };
    let dates = market.dates();
    // Documents after the close of the day before the window count for its first day.
    let begins = |t: usize| -> NaiveDate {
        let before = match unit {
            LookbackUnit::Trading => t.checked_sub(days).map(|t| dates[t]),
            LookbackUnit::Natural => dates[t].checked_sub_days(Days::new(days as u64)),
        };
        before.unwrap_or(NaiveDate::MIN)
    };
    let (mut values, mut days_over) = (0u64, 0u64);
    for t in (0..dates.len()).filter(|t| gaps.iter().any(|gap| gap.overlaps(begins(*t), dates[*t]))) {
        let there = factor.values.row(t).iter().filter(|value| !value.is_nan()).count() as u64;
        values += there;
        days_over += u64::from(there > 0);
        if rule == Gaps::Drop {
            factor.values.row_mut(t).fill(f64::NAN);
            factor.raw.row_mut(t).fill(f64::NAN);
        }
    }
    report.fact("values_over_gaps", values);
    report.fact("dates_over_gaps", days_over);
    report.fact("gaps", rule);
}

/// Documents that count as first mentions although a gap lies in the window in which the story may have been told before.
pub(super) fn first_mentions_behind(gaps: &[Gap], clean: &Parts, window_days: u32) -> Result<u64> {
    let mut behind = 0;
    for path in clean.files()?.iter().filter(|_| !gaps.is_empty()) {
        let frame = frames::read_parquet(path, Some(&["doc_id", "first_mention", "published_at"]))?;
        let (ids, firsts) = (texts_of(&frame, "doc_id")?, texts_of(&frame, "first_mention")?);
        for (row, time) in times_of(&frame, "published_at")?.into_iter().enumerate() {
            let Some(day) = time.map(|time| time.date()).filter(|_| ids.get(row) == firsts.get(row)) else { continue };
            let begin = match window_days {
                0 => NaiveDate::MIN,
                days => day.checked_sub_days(Days::new(days.into())).unwrap_or(NaiveDate::MIN),
            };
            behind += u64::from(gaps.iter().any(|gap| gap.overlaps(begin, day)));
        }
    }
    Ok(behind)
}
