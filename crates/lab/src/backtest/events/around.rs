//! Abnormal returns of one name around single documents, as the event study has them.

use anyhow::{Context, Result};

use super::Event;
use super::fit::Fit;
use super::params::{Model, Params};
use super::returns::{NameReturns, Returns};
use inkstone_base::job::Ctx;
use inkstone_base::message;
use inkstone_market::{Market, TableByName};

/// The benchmark by day, for the returns of single names: that of the parameters, or the mean of all names of the table.
pub struct Benchmark {
    level: Vec<f64>,
}

/// The returns of one name, less what is expected of them.
pub struct AbnormalReturns<'p> {
    returns: Returns,
    params: &'p Params,
}

/// Abnormal returns around a document.
#[derive(Clone, Debug, PartialEq)]
pub struct ReturnsAround {
    /// Of day 0, the trading day that the document counts for; NaN if the name did not trade.
    pub day: f64,
    /// Sums over days 1 to each of the ends that were asked for; NaN where the table ends before, or the name traded on none of them.
    pub after: Vec<f64>,
}

impl Benchmark {
    /// Reads the benchmark off prices with the columns `close` and `volume`.
    pub fn new(prices: &TableByName, params: &Params, ctx: &Ctx) -> Result<Benchmark> {
        let days = prices.calendar().dates().len();
        let level = match &params.benchmark {
            _ if params.model == Model::MeanAdjusted => vec![1.0; days],
            Some(code) => traded_closes(prices, prices.index_of(code).with_context(|| no_benchmark(code))?)?,
            None => {
                // Names in the order of the market, so that the sums are those of the study.
                let mut moves = vec![(0.0, 0usize); days];
                for code in 0..prices.codes().len() {
                    ctx.check()?;
                    let closes = traded_closes(prices, code)?;
                    for (t, pair) in closes.windows(2).enumerate() {
                        let by = pair[1] / pair[0] - 1.0;
                        if !by.is_nan() {
                            moves[t + 1] = (moves[t + 1].0 + by, moves[t + 1].1 + 1);
                        }
                    }
                }
                let mut level = vec![1.0; days];
                for t in 1..days {
                    let (sum, names) = moves[t];
                    level[t] = level[t - 1] * if names > 0 { 1.0 + sum / names as f64 } else { 1.0 };
                }
                level
            }
        };
        Ok(Benchmark { level })
    }
}

/// Says that the benchmark has no prices.
pub(super) fn no_benchmark(code: &str) -> inkstone_base::language::Message {
    message!(
        "行情表没有基准 {code}；请以该代码给出其价格，或省略以取全部个股的均值（[events] benchmark）",
        "the benchmark {code} is not in the price table; give its prices as those of a code, or leave it away to take the mean of all names ([events] benchmark)"
    )
}

/// Closes of the days on which a name traded, as [`Market::traded`] has it; NaN on others.
fn traded_closes(prices: &TableByName, code: usize) -> Result<Vec<f64>> {
    let volumes = prices.column("volume", code)?;
    let mut closes = prices.column("close", code)?;
    for (close, volume) in closes.iter_mut().zip(volumes) {
        if !close.is_finite() || *close <= 0.0 || volume < 1.0 {
            *close = f64::NAN;
        }
    }
    Ok(closes)
}

impl<'p> AbnormalReturns<'p> {
    /// The returns of the one name of a market ([`TableByName::market`]).
    pub fn new(market: &Market, benchmark: &Benchmark, params: &'p Params, ctx: &Ctx) -> Result<AbnormalReturns<'p>> {
        Ok(AbnormalReturns { returns: Returns::against(market, &[0], benchmark.level.clone(), ctx)?, params })
    }

    /// The returns around a trading date, after it up to each of these days.
    ///
    /// Where the estimation has too few returns, those of a model that needs none stand and others are NaN.
    pub fn around(&self, date: usize, ends: &[usize]) -> ReturnsAround {
        let name = self.returns.name(0);
        let event = Event { code: 0, date: date as u32, value: 0.0 };
        let fit = match Fit::new(name, &event, self.params) {
            Err(_) if self.params.model == Model::MarketAdjusted => Some(Fit::of_benchmark()),
            fit => fit.ok(),
        };
        let days = self.returns.days();
        let abnormal = |t: usize| fit.as_ref().zip(at(name, t, days)).map(|(fit, day)| fit.abnormal(&day));
        let after = ends.iter().map(|&end| {
            let there =
                (date + 1..=date + end).filter_map(abnormal).fold(None, |sum, by| Some(sum.unwrap_or(0.0) + by));
            there.filter(|_| date + end < days).unwrap_or(f64::NAN)
        });
        ReturnsAround { day: abnormal(date).unwrap_or(f64::NAN), after: after.collect() }
    }
}

fn at(name: NameReturns<'_>, t: usize, days: usize) -> Option<super::returns::Return> {
    if t < days { name.at(t) } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backtest::events::run;
    use inkstone_market::table::DailyTable;

    /// Six names over forty days; the third is suspended on days 21 and 22.
    fn text() -> String {
        let first = chrono::NaiveDate::from_ymd_opt(2024, 1, 1).unwrap();
        let mut text = "date,code,close,volume\n".to_owned();
        for t in 0..40_u64 {
            for i in 0..6_u64 {
                let close = 10.0 + i as f64 + ((t * (7 + 3 * i)) % 17) as f64 / 10.0;
                let volume = if i == 2 && (t == 21 || t == 22) { 0 } else { 100 };
                text += &format!("{},{},{close},{volume}\n", first + chrono::Days::new(t), 600_001 + i);
            }
        }
        text
    }

    #[test]
    fn returns_around_one_document_are_those_of_the_event_study() {
        let ctx = Ctx::new(2, 1).unwrap();
        let market = Market::of_text(&text(), &[]).unwrap();
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("prices.csv");
        std::fs::write(&path, text()).unwrap();
        let prices =
            TableByName::new(&DailyTable::open(&path).unwrap(), &["close", "volume"], dir.path(), &ctx).unwrap();
        for model in [Model::MarketAdjusted, Model::MarketModel, Model::MeanAdjusted] {
            for benchmark in [None, Some("600006.SH".to_owned())] {
                let params = Params {
                    model,
                    benchmark,
                    window: (-1, 5),
                    estimation: (-15, -2),
                    min_returns: 8,
                    parts: vec![(0, 0), (1, 1), (1, 5)],
                    ..Params::default()
                };
                let level = Benchmark::new(&prices, &params, &ctx).unwrap();
                for date in [18, 20, 25] {
                    let event = Event { code: 2, date, value: 1.0 };
                    let study = run(&[event], &market, &params, &ctx).unwrap().0;
                    let one = prices.market(2, &[]).unwrap();
                    let around = AbnormalReturns::new(&one, &level, &params, &ctx).unwrap();
                    let found = around.around(date as usize, &[1, 5]);
                    let mean = |days| study.groups[0].tests.iter().find(|t| t.days == days).unwrap().mean;
                    for (own, other) in [found.day, found.after[0], found.after[1]].iter().zip([(0, 0), (1, 1), (1, 5)])
                    {
                        let other = mean(other);
                        assert!((own - other).abs() < 1e-12 || own.is_nan() && other.is_nan(), "{own} for {other}");
                    }
                }
            }
        }
    }

    #[test]
    fn what_the_table_does_not_reach_has_no_return() {
        let ctx = Ctx::new(1, 1).unwrap();
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("prices.csv");
        std::fs::write(&path, text()).unwrap();
        let prices =
            TableByName::new(&DailyTable::open(&path).unwrap(), &["close", "volume"], dir.path(), &ctx).unwrap();
        let params = Params::default();
        let level = Benchmark::new(&prices, &params, &ctx).unwrap();
        let one = prices.market(2, &[]).unwrap();
        let around = AbnormalReturns::new(&one, &level, &params, &ctx).unwrap();
        // Sixty returns are nowhere before; the benchmark needs none.
        let found = around.around(36, &[3, 4]);
        assert!(found.day.is_finite() && found.after[0].is_finite() && found.after[1].is_nan(), "{found:?}");
        assert!(around.around(21, &[1]).day.is_nan(), "no trade");
        let fitted = Params { model: Model::MarketModel, ..Params::default() };
        let around = AbnormalReturns::new(&one, &level, &fitted, &ctx).unwrap();
        assert!(around.around(20, &[1]).day.is_nan());
    }
}
