//! A backtest as tables.
//!
//! | table | columns |
//! |---|---|
//! | `ic` | `horizon, date, ic, rank_ic, names` |
//! | `decay` | `lag, rank_ic`; mean RankIC of the single day that ends `lag` days after the trade |
//! | `layers` | `horizon, quantile, mean_return, stderr`; quantile 1 has the lowest factor |
//! | `spread` | `horizon, date, spread`; top minus bottom quantile |
//! | `wealth` | `date, quantile, wealth`; net asset value, start 1, before costs |
//! | `long_short` | `date, gross, net, long, short, turnover, cost`; per day |
//! | `by_year` | `year, annual_return, volatility, sharpe, max_drawdown, calmar, hit_rate`; after costs |
//! | `portfolios` | `book, date, gross, net, excess, turnover`; per day; excess null without a benchmark |
//! | `portfolio_figures` | `book, returns, year` and the figures of `by_year`; `returns` is net, excess or benchmark, year null in total |
//! | `benchmark` | `benchmark, date, return`; per day |
//! | `samples` | `by, group, names, horizon, spread` and `rank_ic_*`: the factor among names of one size, industry or coverage |
//! | `stability` | `period, quantile, turnover, rank_autocorrelation`; turnover is the share of names new to the quantile |
//! | `coverage` | `date, names, universe` |
//! | `summary` | `figure, horizon, value, alignment`; horizon null where the figure has none |
//!
//! Each ends with `delay, price, lookahead`: trading days from the factor's date to the trade, the price traded at, and
//! whether values were used that were not known in time.

use anyhow::Result;
use polars_core::prelude::{Column, DataFrame, IntoColumn, NamedFrom, Series};

use super::shapes::option;
use crate::backtest::{IcSummary, Outcome, PortfolioFigures, SubSample, YearFigures};
use inkstone_market::dates_column;
use inkstone_tables::frames;

/// The tables of a backtest with their names.
pub(super) fn backtest_tables(outcome: &Outcome) -> Result<Vec<(&'static str, DataFrame)>> {
    let tables = [
        ("ic", ic(outcome)?),
        ("decay", decay(outcome)?),
        ("layers", layers(outcome)?),
        ("spread", spread(outcome)?),
        ("wealth", wealth(outcome)?),
        ("long_short", long_short(outcome)?),
        ("by_year", by_year(outcome)?),
        ("portfolios", portfolios(outcome)?),
        ("portfolio_figures", books(outcome)?),
        ("benchmark", benchmark(outcome)?),
        ("samples", samples(outcome)?),
        ("stability", stability(outcome)?),
        ("coverage", coverage(outcome)?),
        ("summary", summary(outcome)?),
    ];
    tables.into_iter().map(|(name, table)| Ok((name, aligned(table, outcome)?))).collect()
}

/// A table with the alignment beside every figure: a file travels without its manifest.
fn aligned(mut table: DataFrame, outcome: &Outcome) -> Result<DataFrame> {
    let rows = table.height();
    let (delay, price) = (outcome.alignment.delay, outcome.alignment.price.name());
    table.with_column(integers("delay", std::iter::repeat_n(delay, rows)))?;
    table.with_column(Series::new("price".into(), vec![price; rows]).into_column())?;
    table.with_column(Series::new("lookahead".into(), vec![outcome.lookahead; rows]).into_column())?;
    Ok(table)
}

fn ic(outcome: &Outcome) -> Result<DataFrame> {
    let series = &outcome.ic;
    frames::frame(vec![
        integers("horizon", series.iter().flat_map(|s| repeated(s.horizon, s.dates.len()))),
        dates_column("date", series.iter().flat_map(|s| s.dates.iter().copied().map(Some)))?,
        reals("ic", series.iter().flat_map(|s| s.ic.iter().copied())),
        reals("rank_ic", series.iter().flat_map(|s| s.rank_ic.iter().copied())),
        integers("names", series.iter().flat_map(|s| s.names.iter().map(|&n| n.into()))),
    ])
}

fn layers(outcome: &Outcome) -> Result<DataFrame> {
    let layers = outcome.layers.by_horizon();
    frames::frame(vec![
        integers("horizon", layers.iter().flat_map(|(horizon, returns)| repeated(horizon, returns.mean.len()))),
        integers("quantile", layers.iter().flat_map(|(_, returns)| 1..=returns.mean.len() as i64)),
        reals("mean_return", layers.iter().flat_map(|(_, returns)| returns.mean.iter().copied())),
        reals("stderr", layers.iter().flat_map(|(_, returns)| returns.stderr.iter().copied())),
    ])
}

fn decay(outcome: &Outcome) -> Result<DataFrame> {
    let decay = &outcome.decay;
    frames::frame(vec![
        integers("lag", decay.lags.iter().map(|&lag| lag as i64)),
        reals("rank_ic", decay.rank_ic.iter().copied()),
    ])
}

fn spread(outcome: &Outcome) -> Result<DataFrame> {
    let layers = outcome.layers.by_horizon();
    frames::frame(vec![
        integers("horizon", layers.iter().flat_map(|(horizon, returns)| repeated(horizon, returns.spread_dates.len()))),
        dates_column("date", layers.iter().flat_map(|(_, returns)| returns.spread_dates.iter().copied().map(Some)))?,
        reals("spread", layers.iter().flat_map(|(_, returns)| returns.spread.iter().copied())),
    ])
}

fn wealth(outcome: &Outcome) -> Result<DataFrame> {
    let layers = &outcome.layers;
    let quantiles = layers.wealth.len();
    let cells = || (0..layers.dates.len()).flat_map(|t| (0..quantiles).map(move |q| (t, q)));
    frames::frame(vec![
        dates_column("date", cells().map(|(t, _)| Some(layers.dates[t])))?,
        integers("quantile", cells().map(|(_, q)| q as i64 + 1)),
        reals("wealth", cells().map(|(t, q)| layers.wealth[q][t])),
    ])
}

fn long_short(outcome: &Outcome) -> Result<DataFrame> {
    let ls = &outcome.long_short;
    frames::frame(vec![
        dates_column("date", ls.dates.iter().copied().map(Some))?,
        reals("gross", ls.gross.iter().copied()),
        reals("net", ls.net.iter().copied()),
        reals("long", ls.long.iter().copied()),
        reals("short", ls.short.iter().copied()),
        reals("turnover", ls.turnover.iter().copied()),
        reals("cost", ls.cost.iter().copied()),
    ])
}

fn by_year(outcome: &Outcome) -> Result<DataFrame> {
    let years = &outcome.long_short.by_year;
    let mut columns = vec![integers("year", years.iter().map(|y| y.year.into()))];
    for (i, (name, _)) in portfolio_figures(&PortfolioFigures::default()).into_iter().enumerate() {
        columns.push(reals(name, years.iter().map(|y| portfolio_figures(&y.figures)[i].1)));
    }
    frames::frame(columns)
}

fn portfolios(outcome: &Outcome) -> Result<DataFrame> {
    let books = &outcome.portfolios;
    let days = || books.iter().flat_map(|book| (0..book.dates.len()).map(move |t| (book, t)));
    frames::frame(vec![
        texts("book", days().map(|(book, _)| book.name.as_str())),
        dates_column("date", days().map(|(book, t)| Some(book.dates[t])))?,
        reals("gross", days().map(|(book, t)| book.gross[t])),
        reals("net", days().map(|(book, t)| book.net[t])),
        reals("excess", days().map(|(book, t)| book.excess.get(t).copied().unwrap_or(f64::NAN))),
        reals("turnover", days().map(|(book, t)| book.turnover[t])),
    ])
}

/// Figures of all books by year and, where the year is null, in total: after costs, of the excess, and of the benchmark.
fn books(outcome: &Outcome) -> Result<DataFrame> {
    let mut rows: Vec<(&str, &str, Option<i32>, PortfolioFigures)> = Vec::new();
    let mut book = |name, total, by_year: &[YearFigures]| {
        rows.push((name, "net", None, total));
        rows.extend(by_year.iter().map(|year| (name, "net", Some(year.year), year.figures)));
    };
    book("long_short", outcome.long_short.total, &outcome.long_short.by_year);
    outcome.portfolios.iter().for_each(|portfolio| book(&portfolio.name, portfolio.total, &portfolio.by_year));
    for portfolio in &outcome.portfolios {
        rows.extend(portfolio.excess_total.map(|total| (portfolio.name.as_str(), "excess", None, total)));
    }
    rows.extend(
        outcome.benchmark.iter().map(|benchmark| (benchmark.name.as_str(), "benchmark", None, benchmark.total)),
    );
    let mut columns = vec![
        texts("book", rows.iter().map(|row| row.0)),
        texts("returns", rows.iter().map(|row| row.1)),
        Series::new("year".into(), rows.iter().map(|row| row.2.map(i64::from)).collect::<Vec<_>>()).into_column(),
    ];
    for (i, (name, _)) in portfolio_figures(&PortfolioFigures::default()).into_iter().enumerate() {
        columns.push(reals(name, rows.iter().map(|row| portfolio_figures(&row.3)[i].1)));
    }
    frames::frame(columns)
}

fn benchmark(outcome: &Outcome) -> Result<DataFrame> {
    let benchmark = outcome.benchmark.iter();
    frames::frame(vec![
        texts("benchmark", benchmark.clone().flat_map(|b| b.dates.iter().map(|_| b.name.as_str()))),
        dates_column("date", benchmark.clone().flat_map(|b| b.dates.iter().copied().map(Some)))?,
        reals("return", benchmark.flat_map(|b| b.returns.iter().copied())),
    ])
}

fn samples(outcome: &Outcome) -> Result<DataFrame> {
    let mut rows: Vec<(&SubSample, usize, IcSummary, f64)> = Vec::new();
    for sample in &outcome.samples {
        let figures = outcome.sample_by_horizon(sample);
        rows.extend(figures.iter().map(|(horizon, &(rank_ic, spread))| (sample, horizon, rank_ic, spread)));
    }
    let mut columns = vec![
        texts("by", rows.iter().map(|(sample, ..)| sample.by.as_str())),
        texts("group", rows.iter().map(|(sample, ..)| sample.group.as_str())),
        reals("names", rows.iter().map(|(sample, ..)| sample.names)),
        integers("horizon", rows.iter().map(|(_, horizon, ..)| *horizon as i64)),
        reals("spread", rows.iter().map(|(.., spread)| *spread)),
    ];
    for (i, (name, _)) in ic_figures(&IcSummary::default()).into_iter().enumerate() {
        columns.push(reals(&format!("rank_ic_{name}"), rows.iter().map(|(_, _, rank_ic, _)| ic_figures(rank_ic)[i].1)));
    }
    frames::frame(columns)
}

fn stability(outcome: &Outcome) -> Result<DataFrame> {
    let rows =
        || outcome.stability.iter().flat_map(|s| s.turnover.iter().enumerate().map(move |(q, share)| (s, q, *share)));
    frames::frame(vec![
        integers("period", rows().map(|(stability, ..)| stability.period as i64)),
        integers("quantile", rows().map(|(_, q, _)| q as i64 + 1)),
        reals("turnover", rows().map(|(.., share)| share)),
        reals("rank_autocorrelation", rows().map(|(stability, ..)| stability.rank_autocorrelation)),
    ])
}

fn coverage(outcome: &Outcome) -> Result<DataFrame> {
    let coverage = &outcome.coverage;
    frames::frame(vec![
        dates_column("date", coverage.dates.iter().copied().map(Some))?,
        integers("names", coverage.names.iter().map(|&n| n.into())),
        integers("universe", coverage.universe.iter().map(|&n| n.into())),
    ])
}

fn summary(outcome: &Outcome) -> Result<DataFrame> {
    let mut rows: Vec<(String, Option<i64>, f64)> = Vec::new();
    for series in &outcome.ic {
        for (measure, summary) in [("ic", &series.ic_summary), ("rank_ic", &series.rank_ic_summary)] {
            let horizon = Some(series.horizon as i64);
            let figures = ic_figures(summary);
            rows.extend(figures.into_iter().map(|(name, value)| (format!("{measure}_{name}"), horizon, value)));
        }
    }
    let total = portfolio_figures(&outcome.long_short.total);
    rows.extend(total.into_iter().map(|(name, value)| (format!("long_short_{name}"), None, value)));
    rows.push(("turnover".into(), None, outcome.long_short.mean_turnover()));
    rows.push(("cost".into(), None, outcome.long_short.mean_cost()));
    rows.push(("coverage".into(), None, outcome.coverage.mean_share()));
    rows.push(("new_names".into(), None, outcome.new_names));
    rows.push(("rank_autocorrelation".into(), None, outcome.rank_autocorrelation));
    rows.push(("half_life_days".into(), None, outcome.decay.half_life));
    rows.push(("values_refused".into(), None, outcome.refused.values as f64));
    let (capacity, execution) = (&outcome.capacity, &outcome.execution);
    for (name, value) in [
        ("capacity_volume_share", capacity.share),
        ("capacity_days", capacity.days as f64),
        ("capacity_median_cny", capacity.median),
        ("capacity_low_cny", capacity.low),
        ("orders", execution.orders as f64),
        ("orders_filled", execution.filled as f64),
        ("holdings_delisted", execution.delisted as f64),
        ("delisting_return", execution.delisting_return),
        ("capital_cny", execution.capital.unwrap_or(f64::NAN)),
        ("capital_idle", execution.idle),
        ("days_per_year", f64::from(outcome.days_per_year)),
    ] {
        rows.push((name.into(), None, value));
    }
    for (reason, &orders) in &outcome.untradable {
        rows.push((format!("untradable: {reason}"), None, orders as f64));
    }
    let names: Vec<&str> = rows.iter().map(|(name, _, _)| name.as_str()).collect();
    let horizons: Vec<Option<i64>> = rows.iter().map(|(_, horizon, _)| *horizon).collect();
    frames::frame(vec![
        Series::new("figure".into(), names).into_column(),
        Series::new("horizon".into(), horizons).into_column(),
        reals("value", rows.iter().map(|(_, _, value)| *value)),
        Series::new("alignment".into(), vec![outcome.alignment_in_words().en; rows.len()]).into_column(),
    ])
}

fn ic_figures(s: &IcSummary) -> [(&'static str, f64); 10] {
    [
        ("dates", s.n as f64),
        ("mean", s.mean),
        ("std", s.std),
        ("ir", s.icir),
        ("t", s.t),
        ("t_newey_west", s.t_nw),
        ("p", s.p),
        ("share_positive", s.positive),
        ("skew", s.skew),
        ("kurtosis", s.kurtosis),
    ]
}

fn portfolio_figures(f: &PortfolioFigures) -> [(&'static str, f64); 6] {
    [
        ("annual_return", f.annual_return),
        ("volatility", f.volatility),
        ("sharpe", f.sharpe),
        ("max_drawdown", f.max_drawdown),
        ("calmar", f.calmar),
        ("hit_rate", f.hit_rate),
    ]
}

/// A horizon, once a row.
fn repeated(horizon: usize, rows: usize) -> impl Iterator<Item = i64> {
    std::iter::repeat_n(horizon as i64, rows)
}

fn texts<'a>(name: &str, values: impl Iterator<Item = &'a str>) -> Column {
    Series::new(name.into(), values.collect::<Vec<_>>()).into_column()
}

fn reals(name: &str, values: impl Iterator<Item = f64>) -> Column {
    Series::new(name.into(), values.map(option).collect::<Vec<_>>()).into_column()
}

fn integers(name: &str, values: impl Iterator<Item = i64>) -> Column {
    Series::new(name.into(), values.collect::<Vec<_>>()).into_column()
}
