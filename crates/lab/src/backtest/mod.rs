//! The test of a factor against later returns, without look-ahead.
//!
//! A value of date `t` is traded at a price of date `t + delay`. It is refused unless it was known strictly before that
//! price's session or auction: 15:00 for the close, 09:15 for the open, 09:30 for the average price. IC is Pearson's
//! correlation of value and return over the names of a date, RankIC Spearman's with average ranks. Quantiles are cut from all
//! known values, equal values staying together; what could not be bought on the day of entry (suspended, or locked at the upper limit) enters no
//! correlation and no layer's mean. A position whose name is suspended is valued at its last close, one whose name is delisted
//! at what is assumed to be left of that.
//!
//! Books are held beside: the legs, all names by their value, the best names ([`Portfolio`]). They are compared with a
//! benchmark, and the factor is looked at among names of one size, industry and coverage ([`SubSample`]).
//!
//! Useful for: any factor on a market's axes. Not for: building one (that is `factor`).

mod beside;
mod by_horizon;
mod compare;
mod correlation;
mod cross;
pub mod events;
mod ic;
mod layers;
mod names;
mod names_table;
mod outcome;
mod params;
#[cfg(test)]
mod parity;
mod portfolio;
mod preset;
mod quick;
mod rank_order;
mod samples;
mod styles;
mod tear_sheet;
#[cfg(test)]
mod tests;

use anyhow::Result;

pub use beside::beside;
pub use by_horizon::ByHorizon;
pub use compare::{Comparison, FactorPair, IC_WINDOW, compare};
pub(crate) use correlation::summarise;
pub use layers::top_layer;
pub use names::{DateName, DateNames, Dates, names_on};
pub use names_table::{NameOfDate, NamesOfDate, NamesTable, names_frame};
pub use outcome::{
    Alignment, Benchmark, Capacity, Coverage, Execution, FactorBeside, IcDecay, IcSeries, IcSummary, IndustryExposure,
    LayerReturns, Layers, LongShort, Outcome, Portfolio, PortfolioFigures, Refusal, Stability, StyleExposure, Styles,
    SubSample, YearFigures,
};
pub use params::{Params, Weights};
pub(crate) use portfolio::figures;
pub use preset::Preset;
pub use quick::{Placements, Ranked, RankedValues};
pub use tear_sheet::{
    Drawdown, MonthReturn, ROLLING_DATES, ROLLING_DAYS, compound, drawdowns, months, rolling_mean, rolling_sharpe,
};

use crate::backtest::cross::{Prices, pair};
use crate::backtest::layers::{layers, stability};
use crate::factor::Factor;
use inkstone_base::data::{Report, TooLittle};
use inkstone_base::job::Ctx;
use inkstone_base::{bail, message};
use inkstone_market::Market;

/// True if a factor has several values on some date, and on no date two that differ.
fn is_constant(factor: &Factor) -> bool {
    let mut several = false;
    for t in 0..factor.values.dates().len() {
        let mut values = factor.values.row(t).iter().filter(|value| !value.is_nan());
        let Some(first) = values.next() else { continue };
        for value in values {
            if value != first {
                return false;
            }
            several = true;
        }
    }
    several
}

/// Tests a factor on the market that it was built on.
pub fn run(factor: &Factor, market: &Market, params: &Params, ctx: &Ctx) -> Result<(Outcome, Report)> {
    params.validate()?;
    factor.check_axes(market)?;
    let tradability = params.tradability(market)?;
    let prices = Prices::new(factor, market, &tradability, params)?;
    let (crosses, tally) = pair(factor, market, &prices, params, ctx)?;
    tally.check_alignment(params)?;

    let mut report = Report::new("backtest");
    report.rows_in = tally.values;
    tally.dropped.iter().for_each(|(reason, n)| report.drop_rows(reason, *n));
    report.rows_out = report.rows_in - report.dropped_rows();
    if report.rows_in == 0 {
        bail!(TooLittle(message!(
            "因子 {:?} 没有值，没有可检验的",
            "factor {:?} has no values, so there is nothing to test",
            factor.name
        )));
    }
    let lost = report.check_loss(params.max_loss, "[backtest] max_loss, --max-loss");
    lost.map_err(|error| TooLittle(message!("{error:#}", "{error:#}")))?;
    if is_constant(factor) {
        bail!(TooLittle(message!(
            "因子 {:?} 在每个日期上所有个股的值都相同，不能排序：没有可检验的",
            "factor {:?} has the same value for all names of each date, so it orders nothing: there is nothing to test",
            factor.name
        )));
    }
    if tally.before_first > 0 {
        report.rows_in += tally.before_first;
        report.drop_rows("of dates before a model behind them was fitted", tally.before_first);
    }
    // A few returns end in a suspension or a delisting; many tell of a price table with holes, on which a horizon means nothing.
    for (horizon, (returns, stale)) in &tally.ends {
        let share = *stale as f64 / (*returns).max(1) as f64;
        if share > params.max_loss {
            bail!(TooLittle(message!(
                "[backtest] horizons：{:.1} % 的 {horizon} 日收益止于没有价格的日子（上限 {:.1} %，max_loss、--max-loss），行情表那里有缺口：请去掉 {horizon}，或补上价格",
                "[backtest] horizons: {:.1} % of the returns over {horizon} days end on a day without a price (limit {:.1} %, max_loss, --max-loss), for the price table has holes there: take {horizon} out, or add the prices",
                100.0 * share,
                100.0 * params.max_loss
            )));
        }
    }

    let lookahead = params.uses_late_values() && tally.late > 0;
    let mut outcome = Outcome {
        factor: factor.name.clone(),
        alignment: params.alignment(),
        lookahead,
        refused: tally.refusal(params),
        coverage: coverage(factor, market, prices.benchmark),
        ic: ic::series(&crosses, market, params, ctx)?,
        decay: ic::decay(&crosses, &prices, market, params, ctx)?,
        layers: layers(&crosses, market, params, ctx),
        days_per_year: params.days_per_year,
        ..Outcome::default()
    };
    ctx.check()?;
    let books = portfolio::run(&crosses, market, &prices, params, &mut outcome.layers, ctx);
    outcome.long_short = books.long_short;
    outcome.portfolios = books.portfolios;
    outcome.benchmark = books.benchmark;
    outcome.capacity = books.capacity;
    outcome.execution = books.execution;
    outcome.untradable = books.untradable;
    ctx.check()?;
    outcome.samples = samples::samples(&crosses, factor, market, params, ctx)?;
    outcome.styles = styles::styles(&crosses, market, params, ctx)?;
    outcome.untradable.extend(tally.blocked.iter().map(|(reason, n)| (format!("value: {reason}"), *n)));

    let width = market.codes().len();
    let factor_dates: Vec<usize> =
        (0..market.dates().len()).filter(|&t| factor.values.row(t).iter().any(|v| !v.is_nan())).collect();
    let over = |period: usize| stability(&crosses, &factor_dates, period, width, params, ctx);
    outcome.stability = params.horizons.iter().map(|&period| over(period)).collect();
    let daily = over(1);
    outcome.new_names = (daily.turnover[0] + daily.turnover[params.quantiles - 1]) / 2.0;
    outcome.rank_autocorrelation = daily.rank_autocorrelation;

    report.fact("alignment", outcome.alignment_in_words());
    report.fact("lookahead", lookahead);
    report.fact("refused", outcome.refused.values);
    report.fact("dates", crosses.len());
    for (horizon, (returns, stale)) in &tally.ends {
        report.fact(&format!("ends_without_a_price_{horizon}"), *stale as f64 / (*returns).max(1) as f64);
    }
    for series in &outcome.ic {
        report.fact(&format!("rank_ic_{}", series.horizon), series.rank_ic_summary.mean);
        report.fact(&format!("rank_ic_t_{}", series.horizon), series.rank_ic_summary.t_nw);
    }
    Ok((outcome, report))
}

/// Names with a value and names that traded, from the first to the last date with a value.
fn coverage(factor: &Factor, market: &Market, benchmark: Option<usize>) -> Coverage {
    let is_value = |(i, value): &(usize, &f64)| !value.is_nan() && benchmark != Some(*i);
    let names = |t: usize| factor.values.row(t).iter().enumerate().filter(is_value).count() as u32;
    let counts: Vec<u32> = (0..market.dates().len()).map(names).collect();
    let (Some(first), Some(last)) = (counts.iter().position(|n| *n > 0), counts.iter().rposition(|n| *n > 0)) else {
        return Coverage::default();
    };
    let universe =
        |t: usize| (0..market.codes().len()).filter(|&i| market.traded(t, i) && benchmark != Some(i)).count() as u32;
    Coverage {
        dates: market.dates()[first..=last].to_vec(),
        names: counts[first..=last].to_vec(),
        universe: (first..=last).map(universe).collect(),
    }
}
