//! RankIC that remains when each code's values are moved to other dates of the code.
//!
//! All values are moved by the same number of trading days, those that fall off the end coming round to the beginning:
//! so values keep their autocorrelation and what names have in common on a day, and only their tie to the date is cut.
//! By at least 20 trading days (a quarter of the dates if that is less), as a factor with a look-back hardly changes
//! from one day to the next. Each way to move them is drawn at most once.
//!
//! The number is the absolute mean RankIC of the draws as a share of the one found. News of the day leaves nothing; a
//! trait of the names (size, survival, an industry that went well) leaves all of it, as its values stand on every date.
//! More than `max_share` fails; less, with p above 1 - `confidence`, warns: other dates do as well as the right ones.

use anyhow::Result;
use rand::{SeedableRng, seq::index::sample};
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;

use crate::lint::finding::{CoveredDays, ShuffledDates};
use crate::lint::power::{Placebo, Power};
use crate::lint::{Check, Finding, Params, Verdict, nothing_to_break};
use inkstone_base::job::Ctx;

/// Fewest trading days by which values are moved.
const FAR: usize = 20;

pub(super) fn check(power: &Power<'_>, params: &Params, ctx: &Ctx) -> Result<Verdict> {
    if !power.is_there(params) {
        return Ok(nothing_to_break(Check::ShuffledDates, power));
    }
    let span = power.rows.span();
    let far = FAR.min(span.len() / 4).max(1);
    let ways = (span.len() + 1).saturating_sub(2 * far);
    if ways < 2 {
        let finding = Finding::TooFewDays { context: CoveredDays { days: span.len() } };
        return Ok(Verdict::skipped(Check::ShuffledDates, finding));
    }
    let mut rng = ChaCha8Rng::seed_from_u64(ctx.seed());
    let mut shifts: Vec<usize> =
        sample(&mut rng, ways, params.date_draws.min(ways)).into_iter().map(|way| far + way).collect();
    shifts.sort_unstable();
    let placements = power.ranked.placements(&power.rows, span, ctx)?;
    let moved = |&shift: &usize| {
        ctx.check()?;
        Ok(placements.mean_rank_ic(shift))
    };
    let draws: Vec<f64> = ctx.install(|| shifts.par_iter().map(moved).collect::<Result<_>>())?;
    let Placebo { mean, std, share, standing, figures } = power.placebo(draws, params);
    let finding = Finding::ShuffledDates(ShuffledDates { rank_ic_moved: mean, std_moved: std, draws: figures });
    Ok(Verdict::new(Check::ShuffledDates, standing, share, Some(params.max_share), finding))
}
