//! The audit of anybody's result: what of a factor table, of predictions, of a frame of alphalens or of a recorder of Qlib holds with what was
//! known at the time.
//!
//! Three sets of figures stand side by side: those claimed; those of the result's own alignment with these prices, whatever was known, before
//! costs; and the honest ones, of values known before the trade, of names that could be bought, after costs. Each [`AuditCheck`] looks for one
//! kind of fraud and ends as passed, warned, failed (the fraud is named) or skipped (it says why). A file holds the checks of one kind; its head
//! says how they end. Thresholds are constants there.
//!
//! Correlations are per date over names with value and return; a mean over dates is called different from zero by its t.
//!
//! Useful for: a table that came without the program that made it. Not for: factors of a project, whose documents and models `lint` knows.

mod aligned;
mod choice;
mod claim;
mod finding;
mod future;
mod pickle;
mod returns;
mod sample;
mod table;
mod timing;

use anyhow::Result;
use chrono::{NaiveDate, NaiveDateTime};
use serde::Serialize;

pub use claim::Claim;
pub use finding::{AuditCase, AuditCheck, AuditVerdict, Measured};
pub use table::{AuditedTable, DocumentTime, ResultShape, read_documents};

use self::aligned::{Lag, RankedDates, TradeWindow};
use self::returns::ClaimedWindow;
use crate::backtest::{self, IcSummary, LongShort, Outcome, PortfolioFigures, summarise};
use crate::factor::Factor;
use crate::lint::Standing;
use inkstone_base::data::Report;
use inkstone_base::ensure;
use inkstone_base::job::Ctx;
use inkstone_base::stats::mean;
use inkstone_market::{CLOSE, Market, Panel, Price};

/// Names that a date needs for a correlation.
const LEAST_NAMES: usize = 10;
/// Dates that a check needs.
const LEAST_DATES: usize = 20;
/// t from which on a mean over dates is called different from zero. An audit makes many comparisons.
const CLEAR: f64 = 4.0;

/// The result that is audited, with everything that is known beside it.
pub struct AuditInput<'a> {
    pub table: &'a AuditedTable,
    pub market: &'a Market,
    /// Claimed figures; those of the table itself included.
    pub claim: Claim,
    /// Times of documents by code; none if they were not given.
    pub documents: Option<&'a [DocumentTime]>,
    /// The same result as it was made at an earlier day.
    pub earlier: Option<&'a AuditedTable>,
    /// Other results that were tried.
    pub others: &'a [AuditedTable],
}

/// Figures of a result under one alignment; what does not exist is NaN.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct AuditFigures {
    pub ic: f64,
    pub rank_ic: f64,
    pub icir: f64,
    pub rank_icir: f64,
    /// t of the mean IC: with independent dates as the result has it, after Newey and West in the honest figures.
    pub t: f64,
    pub annual_return: f64,
    pub sharpe: f64,
    pub max_drawdown: f64,
    pub turnover: f64,
    pub excess_return: f64,
    pub information_ratio: f64,
}

/// The whole audit.
#[derive(Clone, Debug, Serialize)]
pub struct Audit {
    pub name: String,
    pub shape: ResultShape,
    /// The audited column.
    pub column: String,
    pub rows: u64,
    /// Values on the dates and codes of the prices.
    pub values: u64,
    pub dates: u64,
    pub names: u64,
    pub first: NaiveDate,
    pub last: NaiveDate,
    pub claim: Claim,
    /// The trade of the result's own alignment, as `close t+1 → close t+2`.
    pub aligned_trade: String,
    pub aligned: AuditFigures,
    /// The trade of the honest figures.
    pub honest_trade: String,
    pub honest: AuditFigures,
    /// Mean RankIC of the value of date t with the return from the close before date t + lag to its close.
    pub lags: Vec<(i32, f64)>,
    pub verdicts: Vec<AuditVerdict>,
}

impl Audit {
    /// True if a fraud was named.
    pub fn is_fraud(&self) -> bool {
        self.verdicts.iter().any(|verdict| verdict.standing == Standing::Failed)
    }
}

/// The inputs of the checks.
struct Audited<'a> {
    input: &'a AuditInput<'a>,
    market: &'a Market,
    /// The audited column on the axes of the market; of repeated rows the first.
    factor: Factor,
    /// Ranks of values and of daily returns by date.
    ranked: RankedDates,
    lags: Vec<Lag>,
    /// Correlations under all trades in use; empty without a claim of coefficients.
    windows: Vec<ClaimedWindow>,
    horizon: usize,
    /// Alignment of the result itself.
    aligned: backtest::Params,
    honest: backtest::Params,
    /// IC and RankIC of the result's own alignment, of all names.
    aligned_ic: (IcSummary, IcSummary),
    aligned_outcome: Outcome,
    honest_outcome: Outcome,
    ctx: &'a Ctx,
}

/// Audits a result. The report counts checks; those that could not be done are its dropped rows.
pub fn run(input: &AuditInput<'_>, ctx: &Ctx) -> Result<(Audit, Report)> {
    let market = input.market;
    let table = input.table;
    let mut factor = on_market(table, 0, market)?;
    let mut ranked = RankedDates::new(&factor, market, ctx)?;
    let mut column = table.scores[0].0.clone();
    if !table.is_named {
        // Nobody shows the worst of several columns.
        let best = choice::best_column(table, market, ctx)?;
        if best > 0 {
            factor = on_market(table, best, market)?;
            ranked = RankedDates::new(&factor, market, ctx)?;
            column = table.scores[best].0.clone();
        }
    }
    let lags = ranked.lags(ctx)?;
    let shift = timing::bars_ahead(&lags);
    let horizon = input.claim.horizon.or(stated_horizon(table)).unwrap_or(1);
    let open = market.price(Price::Open).is_ok();
    let aligned = returns::alignment(input, &factor, market, horizon, open, ctx)?;
    let honest = honest_params(&aligned, &factor, market, shift, open);
    let backtest =
        |params: &backtest::Params| -> Result<Outcome> { Ok(backtest::run(&factor, market, params, ctx)?.0) };
    let (aligned_outcome, honest_outcome) = (backtest(&aligned)?, backtest(&honest)?);
    let mut audited = Audited {
        input,
        market,
        factor,
        ranked,
        lags,
        windows: Vec::new(),
        horizon,
        aligned,
        honest,
        aligned_ic: (summarise(&[], 1), summarise(&[], 1)),
        aligned_outcome,
        honest_outcome,
        ctx,
    };
    audited.aligned_ic = audited.correlations(TradeWindow::of(&audited.aligned))?.summaries(horizon);
    audited.windows = audited.claimed_windows()?;
    let verdicts = audited.verdicts(shift)?;
    let mut report = Report::new("audit");
    report.rows_in = verdicts.len() as u64;
    let count = |standing| verdicts.iter().filter(|verdict| verdict.standing == standing).count() as u64;
    report.drop_rows("could not be tested", count(Standing::Skipped));
    report.rows_out = report.rows_in - report.dropped_rows();
    Ok((audited.conclude(column, verdicts), report))
}

/// A column of a table as a factor on the axes of a market.
fn on_market(table: &AuditedTable, column: usize, market: &Market) -> Result<Factor> {
    let (name, values) = &table.scores[column];
    let mut factor = Factor::empty(name, market);
    let places: Vec<Option<usize>> = table.codes.distinct.iter().map(|code| market.index_of(code.as_str())).collect();
    let days: Vec<Option<usize>> = table.dates.distinct.iter().map(|date| market.calendar().index_of(*date)).collect();
    let mut placed = 0_u64;
    for (row, &value) in values.iter().enumerate().filter(|(row, value)| value.is_finite() && table.is_tested(*row)) {
        let (Some(t), Some(i)) = (days[table.dates.rows[row] as usize], places[table.codes.rows[row] as usize]) else {
            continue;
        };
        placed += 1;
        if factor.values.at(t, i).is_nan() {
            let known: Option<NaiveDateTime> = table.known_at.as_ref().and_then(|known| known[row]);
            factor.put(t, i, value, known.unwrap_or(table.dates.at(row).and_time(CLOSE)), 0);
        }
    }
    ensure!(
        placed > 0,
        "列 {name:?} 没有值与行情表对得上：结果的代码如 {:?}、日期如 {}，行情的代码如 {:?}、日期从 {} 到 {}；请给出相同证券与日期的行情",
        "no value of column {name:?} meets the price table: the result has codes like {:?} and dates like {}, the prices have {:?} and {} to {}; give prices of the same names and days",
        table.codes.distinct.first().map(|code| code.as_str()),
        table.dates.distinct.first().map_or(String::new(), ToString::to_string),
        market.codes().first().map(|code| code.as_str()),
        market.dates()[0],
        market.dates()[market.dates().len() - 1]
    );
    Ok(factor)
}

/// Numbers of a table by row as a panel of the market; of repeated rows the first.
fn on_market_values(table: &AuditedTable, values: &[f64], market: &Market) -> Panel {
    let mut panel = Panel::empty(market.dates().clone(), market.codes().clone());
    let places: Vec<Option<usize>> = table.codes.distinct.iter().map(|code| market.index_of(code.as_str())).collect();
    let days: Vec<Option<usize>> = table.dates.distinct.iter().map(|date| market.calendar().index_of(*date)).collect();
    for (row, &value) in values.iter().enumerate().filter(|(row, value)| value.is_finite() && table.is_tested(*row)) {
        let place = (days[table.dates.rows[row] as usize], places[table.codes.rows[row] as usize]);
        if let (Some(t), Some(i)) = place
            && panel.at(t, i).is_nan()
        {
            panel.set(t, i, value);
        }
    }
    panel
}

/// Holding period of the first returns that the result states.
fn stated_horizon(table: &AuditedTable) -> Option<usize> {
    table.returns.iter().find_map(|returns| returns.horizon)
}

/// The alignment of the result where its values were known in time, else the next open after the close of their date.
fn honest_params(
    aligned: &backtest::Params,
    factor: &Factor,
    market: &Market,
    shift: usize,
    open: bool,
) -> backtest::Params {
    let next = backtest::Params {
        delay: Some(1),
        price: Some(if open { Price::Open } else { Price::Close }),
        allow_lookahead: false,
        ..aligned.clone()
    };
    let own = backtest::Params { allow_lookahead: false, ..aligned.clone() };
    let mut honest = if timing::late_share(factor, market, &own).1 <= timing::MAX_LATE { own } else { next };
    // A value that holds the returns of so many days ahead is known that much later.
    honest.delay = honest.delay.map(|delay| delay + shift as i32);
    honest
}

impl Audited<'_> {
    fn verdicts(&self, shift: usize) -> Result<Vec<AuditVerdict>> {
        let window = self.window()?;
        let mut verdicts = vec![
            self.same_day()?,
            self.ahead(shift, window.standing == Standing::Failed),
            self.known_at(),
            self.documents(),
            self.survivors(),
            self.untradable()?,
            self.train_test(),
            self.overlapping_returns(),
        ];
        verdicts.push(self.stated_returns()?);
        verdicts.push(self.cut_future()?);
        verdicts.push(self.selected()?);
        verdicts.push(self.flipped()?);
        verdicts.push(self.duplicates());
        verdicts.push(self.costs());
        verdicts.push(self.reproduced(&verdicts)?);
        verdicts.push(window);
        for _ in &verdicts {
            self.ctx.advance(1)?;
        }
        Ok(verdicts)
    }

    fn conclude(&self, column: String, verdicts: Vec<AuditVerdict>) -> Audit {
        let table = self.input.table;
        let (dates, width) = (self.market.dates(), self.market.codes().len());
        let covered: Vec<usize> = (0..dates.len()).filter(|&t| self.ranked.has_values(t)).collect();
        let has = |i: &usize| covered.iter().any(|&t| !self.factor.values.at(t, *i).is_nan());
        let values = covered.iter().map(|&t| self.ranked.count(t) as u64).sum();
        Audit {
            name: table.name.clone(),
            shape: table.shape,
            column,
            rows: table.rows() as u64,
            values,
            dates: covered.len() as u64,
            names: (0..width).filter(has).count() as u64,
            first: dates[covered.first().copied().unwrap_or(0)],
            last: dates[covered.last().copied().unwrap_or(0)],
            claim: self.input.claim.clone(),
            aligned_trade: TradeWindow::of(&self.aligned).to_string(),
            aligned: self.figures(&self.aligned_outcome, false),
            honest_trade: TradeWindow::of(&self.honest).to_string(),
            honest: self.figures(&self.honest_outcome, true),
            lags: self.lags.iter().map(|lag| (lag.days, lag.mean)).collect(),
            verdicts,
        }
    }

    /// -1 if the values of the result predict falls where they are high, so that its portfolio is the other way round.
    fn direction(&self) -> f64 {
        let claimed = self.input.claim.rank_ic.or(self.input.claim.ic);
        let (ic, rank_ic) = self.aligned_ic;
        // A few names that move far are no matter of ranks.
        let found = if rank_ic.t.abs() > 2.0 { rank_ic.mean } else { ic.mean };
        if claimed.unwrap_or(found) < 0.0 { -1.0 } else { 1.0 }
    }

    /// Returns of the long-short portfolio in the direction of the result, before or after costs.
    fn book(&self, book: &LongShort, after_costs: bool) -> Vec<f64> {
        let cost = |cost: &f64| if after_costs { *cost } else { 0.0 };
        book.gross.iter().zip(&book.cost).map(|(r, c)| self.direction() * r - cost(c)).collect()
    }

    fn figures(&self, outcome: &Outcome, honest: bool) -> AuditFigures {
        let none = (summarise(&[], 1), summarise(&[], 1));
        let of_honest = outcome.ic.first().map_or(none, |series| (series.ic_summary, series.rank_ic_summary));
        let (ic, rank_ic) = if honest { of_honest } else { self.aligned_ic };
        let total: PortfolioFigures = backtest::figures(&self.book(&outcome.long_short, honest), &self.honest);
        let best = outcome.portfolios.iter().find(|portfolio| portfolio.name.starts_with("top_"));
        // The portfolio holds the highest values, which are the worst where the result predicts falls.
        let excess = best.filter(|_| self.direction() > 0.0).and_then(|best| best.excess_total);
        AuditFigures {
            ic: ic.mean,
            rank_ic: rank_ic.mean,
            icir: ic.icir,
            rank_icir: rank_ic.icir,
            t: if honest { ic.t_nw } else { ic.t },
            annual_return: total.annual_return,
            sharpe: total.sharpe,
            max_drawdown: total.max_drawdown,
            turnover: mean(outcome.long_short.turnover.iter().copied()),
            excess_return: excess.map_or(f64::NAN, |excess| excess.annual_return),
            information_ratio: excess.map_or(f64::NAN, |excess| excess.sharpe),
        }
    }
}
