//! Factors over one another, date by date, from what their backtests left: how alike they rank names, how many names their top layers share, and
//! how alike their RankICs move. No prices are needed.
//!
//! The correlation of a date is that of ranks (Spearman), over the names that both have in a layer; a date with fewer than three has
//! none.

use std::collections::BTreeSet;

use anyhow::{Context, Result};
use chrono::NaiveDate;
use rayon::prelude::*;
use rustc_hash::FxHashMap;
use serde::Serialize;

use crate::backtest::{NamesTable, Outcome};
use crate::nan::{null_number, null_numbers};
use inkstone_base::disk;
use inkstone_base::job::Ctx;
use inkstone_base::stats::{average_ranks, complete, mean, pearson};
use inkstone_base::{ensure, message};
use inkstone_tables::project::Project;

/// Dates that are read at once.
const CHUNK: usize = 32;
/// Dates of a correlation of RankICs over time.
pub const IC_WINDOW: usize = 60;
/// Names that a correlation needs.
const LEAST: usize = 3;

/// Some factors of a project, each beside each.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Comparison {
    pub factors: Vec<String>,
    /// Each pair once: the first with all that follow it, then the second.
    pub pairs: Vec<FactorPair>,
}

/// Two factors.
#[derive(Clone, Debug, Default, Serialize)]
pub struct FactorPair {
    pub a: String,
    pub b: String,
    /// The dates on which both have a name in a layer, ascending.
    pub dates: Vec<NaiveDate>,
    /// Names that both have in a layer, by date.
    pub names: Vec<u32>,
    /// Correlation of the ranks, by date; NaN where there is none.
    #[serde(serialize_with = "null_numbers")]
    pub correlations: Vec<f64>,
    /// Share of the smaller top layer that the other one has as well, by date.
    #[serde(serialize_with = "null_numbers")]
    pub overlaps: Vec<f64>,
    #[serde(serialize_with = "null_number")]
    pub mean_correlation: f64,
    #[serde(serialize_with = "null_number")]
    pub mean_overlap: f64,
    /// Holding period of the RankICs in `ic_correlation`, the first that both were tested at; 0 without one.
    pub horizon: usize,
    /// Correlation of the RankICs over the dates of both.
    #[serde(serialize_with = "null_number")]
    pub ic_correlation: f64,
    /// Dates of that correlation.
    pub ic_dates: usize,
    /// The last date of each run of [`IC_WINDOW`] dates on which both have a RankIC.
    pub ic_ends: Vec<NaiveDate>,
    /// Correlation of the RankICs of each run.
    #[serde(serialize_with = "null_numbers")]
    pub ic_correlations: Vec<f64>,
}

impl Comparison {
    /// The pair of two factors by their numbers, in either order; none for a factor and itself.
    pub fn pair(&self, a: usize, b: usize) -> Option<&FactorPair> {
        let [a, b] = [self.factors.get(a.min(b))?, self.factors.get(a.max(b))?];
        self.pairs.iter().find(|pair| pair.a == *a && pair.b == *b)
    }
}

/// The names of one date in one factor.
struct DayRow {
    /// By the number of the name; NaN for names in no layer.
    values: Vec<f64>,
    top: BTreeSet<usize>,
}

/// Compares factors of a project that have been tested.
pub fn compare(project: &Project, factors: &[String], ctx: &Ctx) -> Result<Comparison> {
    let mut tables = Vec::with_capacity(factors.len());
    let mut outcomes = Vec::with_capacity(factors.len());
    for name in factors {
        let (names, backtest) = (project.backtest_names(name), project.backtest(name));
        ensure!(
            names.exists() && backtest.exists(),
            "因子 {name:?} 尚未回测：请运行 inkstone backtest",
            "factor {name:?} is not tested yet: run inkstone backtest"
        );
        let table = NamesTable::open(&names, &[])?;
        tables.push(table.with_context(|| message!("无法读取 {}", "cannot read {}", names.display()))?);
        outcomes.push(disk::read_json::<Outcome>(&backtest)?);
    }
    let places: Vec<(usize, usize)> =
        (0..factors.len()).flat_map(|a| (a + 1..factors.len()).map(move |b| (a, b))).collect();
    let mut pairs: Vec<FactorPair> = places.iter().map(|(a, b)| pair(&outcomes[*a], &outcomes[*b])).collect();
    let dates: Vec<NaiveDate> =
        tables.iter().flat_map(|table| table.dates()).copied().collect::<BTreeSet<_>>().into_iter().collect();
    let mut numbers: FxHashMap<String, usize> = FxHashMap::default();
    for chunk in dates.chunks(CHUNK) {
        ctx.check()?;
        let mut days: Vec<Vec<Option<DayRow>>> = Vec::with_capacity(tables.len());
        for (table, outcome) in tables.iter().zip(&outcomes) {
            days.push(rows_of(table, outcome.layers.wealth.len(), chunk, &mut numbers)?);
        }
        let of_date = |at: usize| -> Vec<Option<(u32, f64, f64)>> {
            let both = |(a, b): &(usize, usize)| Some(beside(days[*a][at].as_ref()?, days[*b][at].as_ref()?));
            places.iter().map(|pair| both(pair).filter(|(names, ..)| *names > 0)).collect()
        };
        let found: Vec<Vec<_>> = ctx.install(|| (0..chunk.len()).into_par_iter().map(of_date).collect());
        for (date, found) in chunk.iter().zip(found) {
            for (pair, found) in pairs.iter_mut().zip(found) {
                let Some((names, correlation, overlap)) = found else { continue };
                pair.dates.push(*date);
                pair.names.push(names);
                pair.correlations.push(correlation);
                pair.overlaps.push(overlap);
            }
        }
    }
    for pair in &mut pairs {
        pair.mean_correlation = mean(pair.correlations.iter().copied());
        pair.mean_overlap = mean(pair.overlaps.iter().copied());
    }
    Ok(Comparison { factors: factors.to_vec(), pairs })
}

/// A pair with the correlation of its RankICs.
fn pair(a: &Outcome, b: &Outcome) -> FactorPair {
    let mut pair = FactorPair { a: a.factor.clone(), b: b.factor.clone(), ..FactorPair::default() };
    let both = a.ic.iter().find_map(|ic| Some((ic, b.ic.iter().find(|other| other.horizon == ic.horizon)?)));
    let Some((own, other)) = both else {
        pair.ic_correlation = f64::NAN;
        return pair;
    };
    let by_date: FxHashMap<NaiveDate, f64> = other.dates.iter().copied().zip(other.rank_ic.iter().copied()).collect();
    let (mut x, mut y) = (Vec::new(), Vec::new());
    for (date, value) in own.dates.iter().zip(&own.rank_ic) {
        let Some(other) = by_date.get(date).filter(|other| value.is_finite() && other.is_finite()) else { continue };
        x.push(*value);
        y.push(*other);
        if let Some(start) = x.len().checked_sub(IC_WINDOW) {
            pair.ic_ends.push(*date);
            pair.ic_correlations.push(pearson(&x[start..], &y[start..]));
        }
    }
    (pair.horizon, pair.ic_dates) = (own.horizon, x.len());
    pair.ic_correlation = if x.len() < LEAST { f64::NAN } else { pearson(&x, &y) };
    pair
}

/// The rows of a table on some dates; none on dates that it lacks. `top` is its highest layer, `numbers` are those of names.
fn rows_of(
    table: &NamesTable,
    top: usize,
    dates: &[NaiveDate],
    numbers: &mut FxHashMap<String, usize>,
) -> Result<Vec<Option<DayRow>>> {
    let days = table.layers_of(dates[0], dates[dates.len() - 1])?;
    let mut days = days.into_iter().peekable();
    let mut rows = Vec::with_capacity(dates.len());
    for date in dates {
        let Some(day) = days.next_if(|day| day.date == *date) else {
            rows.push(None);
            continue;
        };
        let mut row = DayRow { values: Vec::new(), top: BTreeSet::new() };
        for ((code, value), layer) in day.codes.into_iter().zip(day.values).zip(day.layers) {
            if layer == 0 {
                continue;
            }
            let next = numbers.len();
            let number = *numbers.entry(code).or_insert(next);
            if row.values.len() <= number {
                row.values.resize(number + 1, f64::NAN);
            }
            row.values[number] = value;
            if usize::from(layer) == top {
                row.top.insert(number);
            }
        }
        rows.push(Some(row));
    }
    Ok(rows)
}

/// Names of both, the correlation of their ranks, and the share of the smaller top layer that the other has.
fn beside(a: &DayRow, b: &DayRow) -> (u32, f64, f64) {
    let (x, y) = complete(&a.values, &b.values);
    let correlation = if x.len() < LEAST { f64::NAN } else { pearson(&average_ranks(&x), &average_ranks(&y)) };
    let smaller = a.top.len().min(b.top.len());
    let shared = a.top.intersection(&b.top).count();
    let overlap = if smaller > 0 { shared as f64 / smaller as f64 } else { f64::NAN };
    (x.len() as u32, correlation, overlap)
}

#[cfg(test)]
mod tests {
    use chrono::{Days, NaiveDateTime};

    use super::*;
    use crate::backtest::{self, Params, names_frame};
    use crate::factor::Factor;
    use inkstone_market::{CLOSE, Market};
    use inkstone_tables::frames;

    #[test]
    fn a_factor_and_its_opposite_are_told_apart_and_half_a_copy_is_seen() {
        let (days, names) = (100, 30);
        let date = |t: usize| NaiveDate::from_ymd_opt(2024, 1, 1).unwrap() + Days::new(t as u64);
        let mut text = "date,code,open,close\n".to_owned();
        for t in 0..days {
            for i in 0..names {
                let price = 10.0 + ((t * (3 + i) + i * i) % 17) as f64 / 10.0;
                text += &format!("{},{:06}.SH,{price},{price}\n", date(t), 600_000 + i);
            }
        }
        let market = Market::of_text(&text, &[]).unwrap();
        let value = |t: usize, i: usize| ((t * 7 + i * 11) % 31) as f64 + i as f64 / 100.0;
        let params = Params { limits: Vec::new(), min_listed_days: 0, min_names: 5, ..Params::default() };
        let ctx = Ctx::new(2, 1).unwrap();
        let dir = tempfile::tempdir().unwrap();
        let project = Project::new(dir.path().join("project"));
        project.own().unwrap();
        let known = |t: usize| -> NaiveDateTime { date(t).and_time(CLOSE) };
        for (name, sign, first) in [("one", 1.0, 0), ("opposite", -1.0, 0), ("late", 1.0, 20)] {
            let mut factor = Factor::empty(name, &market);
            for t in first..days - 8 {
                (0..names).for_each(|i| factor.put(t, i, sign * value(t, i), known(t), 1));
            }
            let outcome = backtest::run(&factor, &market, &params, &ctx).unwrap().0;
            disk::write_json(&project.backtest(name), &outcome).unwrap();
            let mut frame = names_frame(&factor, &market, &params, |_, _| 1, &ctx).unwrap();
            frames::write_parquet(&project.backtest_names(name), &mut frame).unwrap();
        }
        let factors = ["one", "opposite", "late"].map(str::to_owned);
        let found = compare(&project, &factors, &ctx).unwrap();
        assert_eq!(found.pairs.len(), 3);
        let opposite = found.pair(1, 0).unwrap();
        assert_eq!((opposite.dates.len(), opposite.names[0]), (days - 8, names as u32));
        assert!((opposite.mean_correlation + 1.0).abs() < 1e-12 && opposite.mean_overlap == 0.0, "{opposite:?}");
        assert!((opposite.ic_correlation + 1.0).abs() < 1e-9 && opposite.horizon == params.horizons[0]);
        // A run of RankICs ends on each date from the 60th on.
        let ends = opposite.ic_dates - (IC_WINDOW - 1);
        assert_eq!((opposite.ic_ends.len(), opposite.ic_correlations.len()), (ends, ends));
        assert!(opposite.ic_correlations.iter().all(|c| (c + 1.0).abs() < 1e-9), "{opposite:?}");
        let late = found.pair(0, 2).unwrap();
        assert_eq!((late.dates.len(), late.dates[0]), (days - 28, date(20)));
        assert!(late.correlations.iter().all(|c| (c - 1.0).abs() < 1e-12) && late.mean_overlap == 1.0, "{late:?}");
        assert_eq!(late.ic_ends.len(), late.ic_dates - (IC_WINDOW - 1));
        assert!(found.pair(1, 1).is_none());
        let error = compare(&project, &["one".to_owned(), "nobody".to_owned()], &ctx).unwrap_err().to_string();
        assert!(error.contains("inkstone backtest"), "{error}");
    }
}
