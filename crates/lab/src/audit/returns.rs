//! Checks of returns: those that the result states, those that a claim needs, overlapping ones, costs.
//!
//! Stated returns are looked for among the trades in use ([`TradeWindow::usual`]) by their mean rank correlation with the prices' returns. A claim is
//! reproduced by a trade if it is no further from what is found than [`NEAR`] of itself.

use anyhow::Result;
use rayon::prelude::*;

use super::aligned::{TradeWindow, correlate, ranks, window_returns};
use super::table::StatedReturns;
use super::{
    AuditCase, AuditCheck, AuditInput, AuditVerdict, Audited, CLEAR, Claim, LEAST_DATES, LEAST_NAMES, Measured,
    ResultShape, on_market_values,
};
use crate::backtest::{self, IcSummary, summarise};
use crate::factor::Factor;
use crate::lint::Standing;
use inkstone_base::job::Ctx;
use inkstone_base::stats::mean;
use inkstone_market::{Market, Panel, Price};

/// Greatest distance of a reproduced figure from the claim, as a share of the claim.
const NEAR: f64 = 0.15;
/// Greatest distance of a reproduced figure from a claim near zero.
const NEAR_LEAST: f64 = 0.004;
/// Mean rank correlation from which on stated returns are those of a trade.
const SAME_RETURNS: f64 = 0.9;
/// Dates on which stated returns are compared with each trade.
const COMPARED_DATES: usize = 60;
/// Share of the stated returns that may differ from the prices.
const MAX_DIFFERENT: f64 = 0.005;
/// Share of the IC that may come from returns that the prices do not have.
const MAX_GAINED: f64 = 0.1;
/// Holding periods that are tried for returns whose name tells none.
const HORIZONS: [usize; 6] = [1, 2, 5, 10, 20, 3];

/// Correlations under a trade.
pub(super) struct ClaimedWindow {
    pub window: TradeWindow,
    pub ic: IcSummary,
    pub rank_ic: IcSummary,
}

impl ClaimedWindow {
    /// True if the claimed coefficients are found under this trade.
    pub(super) fn fits(&self, claim: &Claim) -> bool {
        let near = |claimed: Option<f64>, found: f64| claimed.is_none_or(|claimed| is_near(claimed, found));
        (claim.ic.is_some() || claim.rank_ic.is_some())
            && near(claim.ic, self.ic.mean)
            && near(claim.rank_ic, self.rank_ic.mean)
    }
}

/// True if a coefficient is the claimed one, whatever its sign.
pub(super) fn is_near(claimed: f64, found: f64) -> bool {
    (claimed.abs() - found.abs()).abs() <= (NEAR * claimed.abs()).max(NEAR_LEAST)
}

/// The alignment of the result itself: what is claimed, else that of its returns, else the custom of its kind.
pub(super) fn alignment(
    input: &AuditInput<'_>,
    factor: &Factor,
    market: &Market,
    horizon: usize,
    open: bool,
    ctx: &Ctx,
) -> Result<backtest::Params> {
    let next = if open { Price::Open } else { Price::Close };
    let custom = match input.table.shape {
        ResultShape::AlphalensFrame => (0, Price::Close),
        ResultShape::QlibRecorder => (1, Price::Close),
        ResultShape::FactorTable | ResultShape::Predictions => (1, next),
    };
    let (delay, price) = match (input.claim.delay, input.claim.price) {
        (None, None) => {
            let stated = input.table.returns.first().map(|stated| identify(stated, input, factor, market, open, ctx));
            let found = stated.transpose()?.flatten().filter(|found| found.likeness >= SAME_RETURNS);
            found.map_or(custom, |found| found.window.buy)
        }
        (delay, price) => (delay.unwrap_or(1), price.unwrap_or(next)),
    };
    Ok(backtest::Params {
        delay: Some(delay),
        price: Some(price),
        horizons: vec![horizon],
        max_loss: 1.0,
        max_refused: 1.0,
        allow_lookahead: true,
        ..backtest::Params::default()
    })
}

/// The trade whose returns are most like the stated ones.
struct Likeness {
    window: TradeWindow,
    horizon: usize,
    /// Mean rank correlation over dates.
    likeness: f64,
    stated: Panel,
}

fn identify(
    stated: &StatedReturns,
    input: &AuditInput<'_>,
    factor: &Factor,
    market: &Market,
    open: bool,
    ctx: &Ctx,
) -> Result<Option<Likeness>> {
    let panel = on_market_values(input.table, &stated.values, market);
    let covered: Vec<usize> = (0..market.dates().len())
        .filter(|&t| panel.row(t).iter().filter(|v| !v.is_nan()).count() >= LEAST_NAMES)
        .filter(|&t| factor.values.row(t).iter().any(|v| !v.is_nan()))
        .collect();
    let step = covered.len().div_ceil(COMPARED_DATES).max(1);
    let compared: Vec<(usize, Vec<f64>)> = covered.iter().step_by(step).map(|&t| (t, ranks(panel.row(t)))).collect();
    let horizons: Vec<usize> = stated.horizon.map_or(HORIZONS.to_vec(), |horizon| vec![horizon]);
    let mut best: Option<(TradeWindow, usize, f64)> = None;
    for horizon in horizons {
        for window in TradeWindow::usual(horizon, open) {
            ctx.check()?;
            let likeness = |(t, ranked): &(usize, Vec<f64>)| {
                let returns = window_returns(market, window, *t)?;
                Ok(returns.map_or(f64::NAN, |returns| correlate(ranked, &ranks(&returns))))
            };
            let each: Vec<f64> = ctx.install(|| compared.par_iter().map(likeness).collect::<Result<_>>())?;
            let likeness = mean(each.into_iter());
            if !likeness.is_nan() && best.is_none_or(|(_, _, most)| likeness > most) {
                best = Some((window, horizon, likeness));
            }
        }
    }
    Ok(best.map(|(window, horizon, likeness)| Likeness { window, horizon, likeness, stated: panel }))
}

impl Audited<'_> {
    pub(super) fn stated_returns(&self) -> Result<AuditVerdict> {
        let check = AuditCheck::StatedReturns;
        let open = self.market.price(Price::Open).is_ok();
        let mut worst: Option<AuditVerdict> = None;
        for stated in &self.input.table.returns {
            let Some(found) = identify(stated, self.input, &self.factor, self.market, open, self.ctx)? else {
                continue;
            };
            let (own, theirs, differ) = self.compare(&found)?;
            let gaps: Vec<f64> = own.iter().zip(&theirs).map(|(a, b)| a - b).collect();
            let (own, theirs) = (summarise(&own, found.horizon), summarise(&theirs, found.horizon));
            let gap = summarise(&gaps, found.horizon);
            let gained = gap.mean * own.mean.signum();
            let is_gain = gained > MAX_GAINED * own.mean.abs() && gap.t_nw.abs() > CLEAR;
            let (standing, case) = match () {
                () if found.likeness < SAME_RETURNS && is_gain => (Standing::Failed, AuditCase::StatedOther),
                () if found.likeness < SAME_RETURNS => (Standing::Warned, AuditCase::StatedOther),
                () if found.window.begins_early() => (Standing::Failed, AuditCase::StatedEarly),
                () if differ > MAX_DIFFERENT && is_gain => (Standing::Failed, AuditCase::StatedAltered),
                () if differ > MAX_DIFFERENT => (Standing::Warned, AuditCase::StatedDiffer),
                () if found.window.buy == (0, Price::Close) => (Standing::Warned, AuditCase::StatedAtClose),
                () => (Standing::Passed, AuditCase::StatedFine),
            };
            let figures = [
                ("column", Measured::Text(stated.name.clone())),
                ("trade", Measured::Text(found.window.to_string())),
                ("likeness", Measured::Ratio(found.likeness)),
                ("differ", Measured::Share(differ)),
                ("stated", Measured::Correlation(own.mean)),
                ("prices", Measured::Correlation(theirs.mean)),
            ];
            let verdict = AuditVerdict::new(check, standing, case, figures);
            let weight = |standing| match standing {
                Standing::Failed => 2,
                Standing::Warned => 1,
                Standing::Passed | Standing::Skipped => 0,
            };
            if worst.as_ref().is_none_or(|worst| weight(verdict.standing) > weight(worst.standing)) {
                worst = Some(verdict);
            }
        }
        Ok(worst.unwrap_or_else(|| AuditVerdict::new(check, Standing::Skipped, AuditCase::StatedAbsent, [])))
    }

    /// RankIC by date with the stated returns and with those of the prices, over the same names; and the share of the stated ones that differ.
    /// Where stated returns have another scale, as standardised labels, that share is one of ranks.
    fn compare(&self, found: &Likeness) -> Result<(Vec<f64>, Vec<f64>, f64)> {
        let date = |t: usize| {
            self.ctx.check()?;
            let nothing = (f64::NAN, f64::NAN, 0, 0, 0);
            let Some(returns) = window_returns(self.market, found.window, t)? else { return Ok(nothing) };
            let stated = found.stated.row(t);
            let both = |i: usize| !stated[i].is_nan() && !returns[i].is_nan() && !self.factor.values.at(t, i).is_nan();
            let cells: Vec<usize> = (0..stated.len()).filter(|&i| both(i)).collect();
            if cells.len() < LEAST_NAMES {
                return Ok(nothing);
            }
            let ranks_of =
                |column: &dyn Fn(usize) -> f64| ranks(&cells.iter().map(|&i| column(i)).collect::<Vec<f64>>());
            let (values, own, theirs) =
                (ranks_of(&|i| self.factor.values.at(t, i)), ranks_of(&|i| stated[i]), ranks_of(&|i| returns[i]));
            let far = |&i: &usize| (stated[i] - returns[i]).abs() > 1e-3 + 0.02 * returns[i].abs();
            let moved = own.iter().zip(&theirs).filter(|(a, b)| (*a - *b).abs() > 0.1 * cells.len() as f64).count();
            let differ = cells.iter().filter(|i| far(i)).count();
            Ok((correlate(&values, &own), correlate(&values, &theirs), differ, moved, cells.len()))
        };
        type Compared = (f64, f64, usize, usize, usize);
        let dates = self.market.dates().len();
        let rows: Vec<Compared> = self.ctx.install(|| (0..dates).into_par_iter().map(date).collect::<Result<_>>())?;
        let sum = |get: fn(&Compared) -> usize| rows.iter().map(get).sum::<usize>() as f64;
        let cells = sum(|row| row.4).max(1.0);
        let (far, moved) = (sum(|row| row.2) / cells, sum(|row| row.3) / cells);
        let differ = if far > 0.5 { moved } else { far };
        Ok((rows.iter().map(|row| row.0).collect(), rows.iter().map(|row| row.1).collect(), differ))
    }

    pub(super) fn overlapping_returns(&self) -> AuditVerdict {
        let check = AuditCheck::OverlappingReturns;
        if self.horizon < 2 {
            return AuditVerdict::new(check, Standing::Passed, AuditCase::OverlapNone, []);
        }
        let (ic, rank_ic) = self.aligned_ic;
        let is_ranked = self.input.claim.ic.is_none() && self.input.claim.rank_ic.is_some();
        let summary = if is_ranked { rank_ic } else { ic };
        let claimed = self.input.claim.t.unwrap_or(f64::NAN);
        let (plain, honest) = (summary.t.abs(), summary.t_nw.abs());
        let ignores = claimed.abs() > 1.3 * honest && (claimed.abs() - plain).abs() < (claimed.abs() - honest).abs();
        let (standing, case) = match () {
            () if ignores => (Standing::Failed, AuditCase::OverlapClaimed),
            () if claimed.is_nan() && plain > 1.3 * honest => (Standing::Warned, AuditCase::OverlapWide),
            () => (Standing::Passed, AuditCase::OverlapFine),
        };
        let figures = [
            ("horizon", Measured::Count(self.horizon as u64)),
            ("claimed", Measured::Ratio(claimed)),
            ("plain", Measured::Ratio(plain)),
            ("newey_west", Measured::Ratio(honest)),
        ];
        AuditVerdict::new(check, standing, case, figures)
    }

    pub(super) fn costs(&self) -> AuditVerdict {
        let check = AuditCheck::Costs;
        let of_book = |after| backtest::figures(&self.book(&self.honest_outcome.long_short, after), &self.honest);
        let (gross, net) = (of_book(false), of_book(true));
        if gross.sharpe.is_nan() {
            return AuditVerdict::new(check, Standing::Skipped, AuditCase::CostsNothing, []);
        }
        let claim = &self.input.claim;
        let claims =
            [(claim.sharpe, gross.sharpe, net.sharpe), (claim.annual_return, gross.annual_return, net.annual_return)];
        // A claim is one before costs if it is nearer to that, where costs take half of it. What lies far above that has another reason.
        let within = |claimed: f64, gross: f64| claimed <= 1.3 * gross + 0.3;
        let leaves_out = |(claimed, gross, net): &(Option<f64>, f64, f64)| {
            let halved = *gross > 0.0 && *net < 0.5 * gross;
            claimed.is_some_and(|claimed| {
                halved && claimed > (gross + net) / 2.0 && within(claimed, *gross) && claimed > 0.0
            })
        };
        let left_out = claims.iter().any(leaves_out);
        let beyond = claims.iter().any(|(claimed, gross, _)| claimed.is_some_and(|claimed| !within(claimed, *gross)));
        let (standing, case) = match () {
            () if left_out => (Standing::Failed, AuditCase::CostsLeftOut),
            () if beyond => (Standing::Warned, AuditCase::CostsBeyond),
            () if gross.annual_return > 0.0 && net.annual_return < 0.0 => (Standing::Warned, AuditCase::CostsEat),
            () => (Standing::Passed, AuditCase::CostsFine),
        };
        let figures = [
            ("gross", Measured::Ratio(gross.sharpe)),
            ("net", Measured::Ratio(net.sharpe)),
            ("gross_return", Measured::Share(gross.annual_return)),
            ("net_return", Measured::Share(net.annual_return)),
            ("turnover", Measured::Share(self.honest_outcome.long_short.mean_turnover())),
            ("open_bps", Measured::Ratio(self.honest.open_bps)),
            ("close_bps", Measured::Ratio(self.honest.close_bps)),
        ];
        AuditVerdict::new(check, standing, case, figures)
    }

    /// Looks whether the claimed coefficients are found under any trade. A claim that another check has explained is left to that.
    pub(super) fn reproduced(&self, before: &[AuditVerdict]) -> Result<AuditVerdict> {
        let check = AuditCheck::Reproduced;
        let claim = &self.input.claim;
        let Some(claimed) = claim.rank_ic.or(claim.ic) else {
            return Ok(AuditVerdict::new(check, Standing::Skipped, AuditCase::ReproducedNothing, []));
        };
        let ranked = claim.rank_ic.is_some();
        let found = |window: &ClaimedWindow| if ranked { window.rank_ic.mean } else { window.ic.mean };
        let nearest = |window: &&ClaimedWindow| (found(window).abs() - claimed.abs()).abs();
        let best = self.windows.iter().min_by(|a, b| nearest(a).total_cmp(&nearest(b)));
        let honest = self
            .honest_outcome
            .ic
            .first()
            .map_or(f64::NAN, |series| if ranked { series.rank_ic_summary.mean } else { series.ic_summary.mean });
        let explains = [AuditCheck::SameDay, AuditCheck::StatedReturns, AuditCheck::Untradable, AuditCheck::TrainTest];
        let explained = before.iter().any(|v| v.standing == Standing::Failed && explains.contains(&v.check));
        let below = claimed.abs() <= honest.abs() && claimed * honest >= 0.0;
        let days = self.windows.iter().map(|window| window.rank_ic.n).max().unwrap_or(0);
        let (standing, case) = match () {
            () if days < LEAST_DATES => (Standing::Skipped, AuditCase::ReproducedNothing),
            () if self.is_reproduced_honestly() || below => (Standing::Passed, AuditCase::ReproducedFine),
            () if explained => (Standing::Warned, AuditCase::ReproducedAhead),
            () => (Standing::Failed, AuditCase::NotReproduced),
        };
        let figures = [
            ("claimed", Measured::Correlation(claimed)),
            ("nearest", Measured::Correlation(best.map_or(f64::NAN, found))),
            ("trade", Measured::Text(best.map_or(String::new(), |best| best.window.to_string()))),
            ("honest", Measured::Correlation(honest)),
        ];
        Ok(AuditVerdict::new(check, standing, case, figures))
    }

    /// Correlations under all trades in use, for a claim of coefficients; nothing without one.
    pub(super) fn claimed_windows(&self) -> Result<Vec<ClaimedWindow>> {
        let claim = &self.input.claim;
        if claim.ic.is_none() && claim.rank_ic.is_none() {
            return Ok(Vec::new());
        }
        let open = self.market.price(Price::Open).is_ok();
        let found = |window: TradeWindow| {
            let (ic, rank_ic) = self.correlations(window)?.summaries(self.horizon);
            Ok(ClaimedWindow { window, ic, rank_ic })
        };
        TradeWindow::usual(self.horizon, open).into_iter().map(found).collect()
    }
}
