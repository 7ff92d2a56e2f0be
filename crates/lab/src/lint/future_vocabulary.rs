//! Models and vocabularies were fitted on text of the past alone.
//!
//! The number is the share of signals whose model had seen data (labels included) of the moment at which their value is
//! first traded, or of later; the limit is 0. It fails where known-at times do not say so, as nothing then refuses
//! these values, and where the backtest is set to use them all the same. Where known-at times bear `fitted_until` the
//! backtest refuses them, which is a warning: those dates are lost. The gap between dates that the model had seen and
//! dates that it had not stands beside it, with all values used.

use anyhow::Result;

use crate::lint::finding::{FutureVocabulary, SeenAndUnseen};
use crate::lint::power::{Mean, Power};
use crate::lint::{Check, Finding, Params, Standing, Subject, Verdict, no_documents};
use inkstone_base::job::Ctx;

/// Dates that either side of the comparison needs.
const FEWEST: usize = 20;

pub(super) fn check(subject: &Subject<'_>, power: &Power<'_>, params: &Params, ctx: &Ctx) -> Result<Verdict> {
    let Some(texts) = &subject.texts else { return Ok(no_documents(Check::FutureVocabulary, subject)) };
    let market = subject.market;
    let (mut signals, mut fitted, mut future, mut hidden) = (0u64, 0u64, 0u64, 0u64);
    let mut by_date = vec![(0u64, 0u64); market.dates().len()];
    for (signal, document) in texts.counted() {
        signals += 1;
        let date = signal.date as usize;
        by_date[date].0 += 1;
        // A value that several models share in is known when the last of them is.
        let latest = texts.models(signal, document).map(|model| model.fitted_until).max();
        let (Some(latest), Some(traded)) = (latest, subject.backtest.trade_at(market, date)) else { continue };
        fitted += 1;
        if latest >= traded {
            future += 1;
            by_date[date].1 += 1;
            hidden += u64::from(signal.known_at < latest);
        }
    }
    let share = future as f64 / signals.max(1) as f64;
    let standing = match () {
        () if hidden > 0 || (future > 0 && subject.backtest.uses_late_values()) => Standing::Failed,
        () if future > 0 => Standing::Warned,
        () => Standing::Passed,
    };
    let comparison = if future > 0 { compared(subject, &by_date, power, params, ctx)? } else { None };
    let finding = FutureVocabulary { signals, fitted, future, hidden, comparison };
    Ok(Verdict::new(Check::FutureVocabulary, standing, share, Some(0.0), Finding::FutureVocabulary(finding)))
}

/// Mean RankIC of all values on the dates that the models had seen and on those that they had not, told apart by the numbers of
/// signals and of signals from the future; none if either side has too few dates.
fn compared(
    subject: &Subject<'_>,
    by_date: &[(u64, u64)],
    power: &Power<'_>,
    params: &Params,
    ctx: &Ctx,
) -> Result<Option<SeenAndUnseen>> {
    let series = power.ranked.series(&power.ranked.all_rows(subject.factor, ctx)?, ctx)?;
    let side = |wanted: bool| {
        let is = |(signals, future): (u64, u64)| signals > 0 && (2 * future > signals) == wanted;
        let dates = by_date.iter().zip(&series);
        let rank_ics: Vec<f64> = dates.map(|(counts, rank_ic)| if is(*counts) { *rank_ic } else { f64::NAN }).collect();
        Mean::new(&rank_ics, power.overlap, params, ctx)
    };
    let (seen, unseen) = (side(true)?, side(false)?);
    Ok((seen.n >= FEWEST && unseen.n >= FEWEST).then(|| SeenAndUnseen {
        rank_ic_seen: seen.mean,
        rank_ic_unseen: unseen.mean,
        dates_seen: seen.n,
        dates_unseen: unseen.n,
        p: seen.p_against(&unseen),
    }))
}
