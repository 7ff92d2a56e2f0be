//! RankIC that remains when the graph of a factor is rewired: each name keeps the number of its ties, but not its neighbours.
//!
//! The number is the absolute mean RankIC of the draws as a share of the one found. A spill-over from neighbour to neighbour leaves
//! nothing; what all names have in common, or what names with many ties have, stays. More than `max_share` fails; less, with p above
//! 1 - `confidence`, warns. Only a factor that has a graph gets this verdict.

use anyhow::{Context, Result};
use rayon::prelude::*;

use crate::factor::Factor;
use crate::lint::finding::RewiredGraph;
use crate::lint::power::{Placebo, Power};
use crate::lint::{Check, Finding, Params, Verdict, nothing_to_break};
use inkstone_base::job::Ctx;
use inkstone_base::language::Word;
use inkstone_base::stats::mean;

/// Builds the factor with its graphs rewired by a seed, all else the same.
pub type Rewire<'a> = &'a (dyn Fn(u64) -> Result<Factor> + Sync);

pub(super) fn check(rewire: Rewire<'_>, power: &Power<'_>, params: &Params, ctx: &Ctx) -> Result<Verdict> {
    if !power.is_there(params) {
        return Ok(nothing_to_break(Check::RewiredGraph, power));
    }
    let draw = |number: usize| -> Result<f64> {
        ctx.check()?;
        let factor = rewire(ctx.seed().wrapping_add(number as u64))
            .context(Word("无法计算图被重连后的因子", "cannot build the factor of a rewired graph"))?;
        Ok(mean(power.series_of(&factor, ctx)?.into_iter()))
    };
    let draws = ctx.install(|| (0..params.text_draws).into_par_iter().map(draw).collect::<Result<Vec<_>>>())?;
    let Placebo { mean, std, share, standing, figures } = power.placebo(draws, params);
    let finding = Finding::RewiredGraph(RewiredGraph { rank_ic_rewired: mean, std_rewired: std, draws: figures });
    Ok(Verdict::new(Check::RewiredGraph, standing, share, Some(params.max_share), finding))
}

#[cfg(test)]
mod tests {
    use crate::backtest;
    use crate::factor::{Factor, SPREAD, SpillOver};
    use crate::lint::{Check, Finding, Masked, Params, Standing, Subject, Verdict, run};
    use inkstone_base::job::Ctx;

    fn verdicts(world: &SpillOver, factor: &Factor, rewire: Option<super::Rewire<'_>>) -> Vec<Verdict> {
        let subject = Subject {
            factor,
            market: &world.market,
            backtest: &backtest::Params { horizons: vec![1], max_loss: 1.0, ..backtest::Params::default() },
            times_assumed: false,
            texts: None,
            factors: Some(&[]),
            masked: Masked::Unknown,
            rewire,
        };
        run(&subject, &Params::default(), &Ctx::new(2, 1).unwrap()).unwrap().0
    }

    #[test]
    fn a_spill_over_dies_with_its_graph_and_what_all_share_does_not() {
        let world = SpillOver::planted(usize::MAX);
        let rewire = |seed| Ok(world.factor(SPREAD, Some(seed)));
        let found = verdicts(&world, &world.factor(SPREAD, None), Some(&rewire));
        let verdict = found.last().unwrap();
        assert_eq!((verdict.check, verdict.standing, found.len()), (Check::RewiredGraph, Standing::Passed, 13));
        let Finding::RewiredGraph(finding) = &verdict.finding else { panic!("{verdict:?}") };
        assert!(finding.draws.rank_ic > 0.2 && finding.rank_ic_rewired.abs() < 0.03, "{finding:?}");
        // A factor whose values do not come of its graph loses nothing.
        let unchanged = |_| Ok(world.factor(SPREAD, None));
        let verdict = verdicts(&world, &world.factor(SPREAD, None), Some(&unchanged)).pop().unwrap();
        assert!(verdict.standing == Standing::Failed && (verdict.number.unwrap() - 1.0).abs() < 1e-9, "{verdict:?}");
        assert_eq!(verdicts(&world, &world.factor("tone", None), None).len(), 12, "no verdict without a graph");
    }
}
