//! A factor's results with made-up numbers, for tests.

use std::collections::BTreeMap;

use chrono::{Datelike, NaiveDate, NaiveTime, Weekday};
use serde_json::{Value, json};

use super::FactorReport;
use super::series::{falls, growth};
use inkstone_base::stats::{mean, std};
use inkstone_features::experiment::Findings;
use inkstone_lab::backtest::events::{EventGroup, EventStudy, EventTest};
use inkstone_lab::backtest::{
    Alignment, Benchmark, Capacity, Coverage, Execution, IcDecay, IcSeries, IcSummary, IndustryExposure, Layers,
    LongShort, Outcome, Portfolio, PortfolioFigures, Refusal, Stability, StyleExposure, Styles, SubSample, YearFigures,
};
use inkstone_lab::factor::{TracedDate, TracedName};
use inkstone_lab::ledger::Looks;
use inkstone_lab::lint::finding::{
    Draws, KnownBefore, KnownBeforeContext, LateValue, NamesOfYear, ShuffledDates, Survivors, SurvivorsContext, Trade,
};
use inkstone_lab::lint::{Check, Finding, Standing, Verdict};
use inkstone_market::Price;

/// The data of a page.
pub(crate) struct Made {
    pub outcome: Outcome,
    pub events: EventStudy,
    pub verdicts: Vec<Verdict>,
    pub looks: Looks,
    pub newest: TracedDate,
    pub experiments: Vec<Findings>,
    pub manifest: Value,
}

impl Made {
    /// Results over so many trading days, with everything that a report can hold.
    pub(crate) fn new(days: usize) -> Made {
        Made {
            outcome: outcome(days),
            events: events(),
            verdicts: verdicts(),
            looks: Looks {
                trials: 37,
                runs: 52,
                deleted: 2,
                sharpe: 1.31,
                expected_best: 1.12,
                probabilistic_sharpe: 0.991,
                deflated_sharpe: 0.62,
                overfitting: 0.23,
                p: 0.002,
                q: 0.031,
                ..Looks::default()
            },
            newest: newest(),
            experiments: vec![crate::testing::findings()],
            manifest: manifest(),
        }
    }

    /// The page of all of it.
    pub(crate) fn page(&self) -> FactorReport<'_> {
        FactorReport {
            outcome: &self.outcome,
            events: Some(&self.events),
            verdicts: &self.verdicts,
            looks: Some(&self.looks),
            beside: None,
            newest: Some(&self.newest),
            experiments: &self.experiments,
            manifest: &self.manifest,
            note: "合成数据 <demo>",
        }
    }
}

/// Fourteen names, of which the one in the middle has no document.
fn newest() -> TracedDate {
    let date = NaiveDate::from_ymd_opt(2022, 3, 1).unwrap();
    let name = |k: usize| TracedName {
        code: format!("{:06}", 600_000 + k),
        name: format!("公司{k}"),
        value: 1.5 - 0.2 * k as f64,
        raw: 0.1,
        rank: k + 1,
        quantile: 5 - (k / 3) as u16,
        documents: usize::from(k != 7) * (k + 1),
        first_mentions: 1,
        known_at: date.and_hms_opt(8, 30, 0),
        returns: vec![f64::NAN],
        blocked: None,
        title: if k == 7 { String::new() } else { format!("公司{k}公告") },
    };
    TracedDate {
        factor: "tone".to_owned(),
        date,
        entry: None,
        price: "open".to_owned(),
        delay: 0,
        horizons: vec![5],
        quantiles: 5,
        without_quantiles: None,
        names: (0..14).map(name).collect(),
    }
}

/// Numbers that look like chance, the same for the same seed: mean 0, between -1 and 1.
fn noise(seed: u64) -> impl FnMut() -> f64 {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((state >> 33) as f64 / f64::from(1u32 << 31) - 0.5) * 2.0
    }
}

fn series(seed: u64, n: usize, mean: f64, scale: f64) -> Vec<f64> {
    let mut noise = noise(seed);
    (0..n).map(|_| mean + scale * noise()).collect()
}

/// Weekdays from 2021 on.
pub(crate) fn dates(n: usize) -> Vec<NaiveDate> {
    let weekday = |date: &NaiveDate| !matches!(date.weekday(), Weekday::Sat | Weekday::Sun);
    NaiveDate::from_ymd_opt(2021, 1, 4).unwrap().iter_days().filter(weekday).take(n).collect()
}

fn summary(values: &[f64]) -> IcSummary {
    let (n, mean, std) = (values.len(), mean(values.iter().copied()), std(values));
    let t = mean / std * (n as f64).sqrt();
    let positive = values.iter().filter(|v| **v > 0.0).count() as f64 / n as f64;
    let p = if t.abs() > 3.0 { 0.0004 } else { 0.31 };
    IcSummary { n, mean, std, icir: mean / std, t, t_nw: 0.8 * t, p, positive, skew: 0.1, kurtosis: -0.4 }
}

fn figures(returns: &[f64]) -> PortfolioFigures {
    let wealth = growth(returns);
    let annual_return = wealth.last().map_or(f64::NAN, |w| w.powf(242.0 / returns.len() as f64) - 1.0);
    let max_drawdown = falls(&wealth).into_iter().fold(0.0, f64::min);
    let volatility = std(returns) * 242f64.sqrt();
    PortfolioFigures {
        annual_return,
        volatility,
        sharpe: mean(returns.iter().copied()) * 242.0 / volatility,
        max_drawdown,
        calmar: -annual_return / max_drawdown,
        hit_rate: returns.iter().filter(|r| **r > 0.0).count() as f64 / returns.len() as f64,
    }
}

fn years(dates: &[NaiveDate], returns: &[f64]) -> Vec<YearFigures> {
    let pairs: Vec<(NaiveDate, f64)> = dates.iter().copied().zip(returns.iter().copied()).collect();
    let year = |days: &[(NaiveDate, f64)]| YearFigures {
        year: days[0].0.year(),
        figures: figures(&days.iter().map(|day| day.1).collect::<Vec<_>>()),
    };
    pairs.chunk_by(|a, b| a.0.year() == b.0.year()).map(year).collect()
}

fn outcome(days: usize) -> Outcome {
    let dates = dates(days);
    let ic = |(i, horizon): (usize, usize)| {
        let rank_ic = series(i as u64, days, -0.03 / (1.0 + i as f64), 0.22);
        let ic = series(10 + i as u64, days, -0.024, 0.2);
        IcSeries {
            horizon,
            dates: dates.clone(),
            names: vec![240; days],
            ic_summary: summary(&ic),
            rank_ic_summary: summary(&rank_ic),
            ic,
            rank_ic,
        }
    };
    let gross = series(21, days, 0.0009, 0.012);
    let net: Vec<f64> = gross.iter().map(|r| r - 0.0004).collect();
    let long = series(22, days, 0.0001, 0.011);
    let benchmark = series(30, days, 0.0002, 0.013);
    let portfolio = |(i, name): (usize, &str)| {
        let gross = series(40 + i as u64, days, 0.0004 - 0.0002 * i as f64, 0.012);
        let net: Vec<f64> = gross.iter().map(|r| r - 0.0002).collect();
        let excess: Vec<f64> = net.iter().zip(&benchmark).map(|(r, b)| r - b).collect();
        Portfolio {
            name: name.to_owned(),
            dates: dates.clone(),
            turnover: series(50 + i as u64, days, 0.2, 0.1),
            total: figures(&net),
            by_year: years(&dates, &net),
            excess_total: Some(figures(&excess)),
            gross,
            net,
            excess,
        }
    };
    let mean_of = |h: usize| (0..5).map(|q| 0.0004 * (2.0 - q as f64) * (1 + h) as f64).collect::<Vec<_>>();
    let sample = |(i, (by, group)): (usize, (&str, &str))| SubSample {
        by: by.to_owned(),
        group: group.to_owned(),
        names: 80.0,
        rank_ic: (0..3).map(|h| summary(&series(60 + 3 * i as u64 + h, days, -0.05 + 0.012 * i as f64, 0.3))).collect(),
        spread: vec![-0.0012, -0.003, f64::NAN],
    };
    let kinds = [
        ("size", "small"),
        ("size", "middle"),
        ("size", "large"),
        ("industry", "银行"),
        ("industry", "食品<饮料>"),
        ("coverage", "few"),
        ("coverage", "many"),
    ];
    let time = |hour| dates[days / 2].and_time(NaiveTime::from_hms_opt(hour, 15, 0).unwrap());
    Outcome {
        factor: "语气 <tone>".to_owned(),
        alignment: Alignment {
            delay: 1,
            known_before: NaiveTime::from_hms_opt(9, 15, 0).unwrap(),
            horizons: vec![1, 5, 20],
            ..Alignment::default()
        },
        refused: Refusal { values: 1204, examples: vec![(dates[days / 2], "600000.SH".to_owned(), time(10), time(9))] },
        coverage: Coverage {
            dates: dates.clone(),
            names: (0..days as u32).map(|i| 120 + i % 37).collect(),
            universe: (0..days as u32).map(|i| 240 + i / 40).collect(),
        },
        ic: [1, 5, 20].into_iter().enumerate().map(ic).collect(),
        layers: Layers {
            horizons: vec![1, 5, 20],
            mean: (0..3).map(mean_of).collect(),
            stderr: vec![vec![0.0002; 5]; 3],
            spread_dates: vec![dates.clone(); 3],
            spread: (0..3).map(|h| series(70 + h, days, -0.0016, 0.01)).collect(),
            dates: dates.clone(),
            wealth: (0..5).map(|q| growth(&series(80 + q, days, 0.0004 - 0.0002 * q as f64, 0.012))).collect(),
            demeaned: false,
        },
        long_short: LongShort {
            dates: dates.clone(),
            short: gross.iter().zip(&long).map(|(g, l)| g - l).collect(),
            long,
            turnover: series(90, days, 0.3, 0.15),
            cost: vec![0.0004; days],
            total: figures(&net),
            by_year: years(&dates, &net),
            gross,
            net,
        },
        new_names: 0.31,
        rank_autocorrelation: 0.72,
        stability: [1, 5, 20]
            .map(|period| Stability {
                period,
                turnover: vec![0.1 * (period as f64).ln_1p(); 5],
                rank_autocorrelation: 0.9 - 0.03 * period as f64,
            })
            .to_vec(),
        decay: IcDecay {
            lags: (1..=20).collect(),
            rank_ic: (1..=20).map(|lag| -0.03 * (-0.18 * f64::from(lag)).exp()).collect(),
            half_life: 4.85,
        },
        days_per_year: 242,
        untradable: BTreeMap::from([
            ("long leg: could not be entered".to_owned(), 312),
            ("value: locked at the upper limit on the day of entry".to_owned(), 41),
            ("something <new>".to_owned(), 3),
        ]),
        portfolios: ["long", "short", "factor_weighted", "top_50"].into_iter().enumerate().map(portfolio).collect(),
        benchmark: Some(Benchmark {
            name: "universe".to_owned(),
            dates,
            total: figures(&benchmark),
            returns: benchmark,
        }),
        samples: kinds.into_iter().enumerate().map(sample).collect(),
        styles: Some(Styles {
            styles: vec![
                StyleExposure { name: "momentum".to_owned(), correlation: 0.062, bottom: -0.04, top: 0.05 },
                StyleExposure { name: "a style <of later>".to_owned(), correlation: -0.31, bottom: 0.21, top: -0.2 },
            ],
            industries: vec![IndustryExposure { name: "食品<饮料>".to_owned(), share: 0.11, top: 0.35 }],
            rank_ic: IcSummary { n: 499, mean: -0.03, icir: -0.4, t_nw: -4.0, p: 0.0001, ..IcSummary::default() },
            residual: IcSummary { n: 499, mean: -0.012, icir: -0.1, t_nw: -1.5, p: 0.13, ..IcSummary::default() },
        }),
        capacity: Capacity { share: 0.1, days: 480, median: 182_345_678.0, low: 23_456_789.0 },
        execution: Execution {
            orders: 51_234,
            filled: 50_010,
            delisted: 3,
            delisting_return: -0.3,
            capital: Some(1e8),
            idle: 0.012,
        },
        ..Outcome::default()
    }
}

fn events() -> EventStudy {
    let days: Vec<i32> = (-5..=20).collect();
    let group = |group: usize| {
        let drift = 0.0012 * (group as f64 - 3.0);
        let abnormal: Vec<f64> = days.iter().map(|day| if *day >= 0 { drift } else { 0.1 * drift }).collect();
        let cumulative: Vec<f64> = abnormal
            .iter()
            .scan(0.0, |sum, r| {
                *sum += r;
                Some(*sum)
            })
            .collect();
        let test =
            |test: &str, p| EventTest { days: (0, 5), mean: 6.0 * drift, test: test.to_owned(), statistic: 2.1, p };
        EventGroup {
            group,
            values: (group as f64 - 1.0, group as f64),
            events: 1200 + group as u64,
            margin: (0..days.len()).map(|i| 0.0006 * (1.0 + i as f64).sqrt()).collect(),
            days: days.clone(),
            abnormal,
            cumulative,
            tests: vec![test("bmp", 0.03), test("corrado", 0.2), test("new <test>", f64::NAN)],
        }
    };
    EventStudy {
        window: (-5, 20),
        estimation: (-120, -21),
        groups: (1..=5).map(group).collect(),
        excluded: BTreeMap::from([("too few days to estimate".to_owned(), 88)]),
        ..EventStudy::default()
    }
}

/// A verdict of each standing.
pub(crate) fn verdicts() -> Vec<Verdict> {
    let late = || LateValue {
        date: "2024-01-05".to_owned(),
        code: "600000.SH".to_owned(),
        known_at: "never".to_owned(),
        trade_at: "2024-01-08 09:15:00".to_owned(),
    };
    let known_before = KnownBefore {
        values: 120_000,
        late: 1,
        backdated: 0,
        used: false,
        times_assumed: false,
        examples: vec![late()],
        worst_lateness_hours: Some(1.5),
        context: KnownBeforeContext {
            trade: Trade { delay: 1, price: Price::Open },
            beyond_limit: false,
            worst: Some(late()),
        },
    };
    let draws = Draws { rank_ic: 0.06, low: -0.01, high: 0.01, p: 0.005, draws: 200 };
    let shuffled_dates = ShuffledDates { rank_ic_moved: 0.0001, std_moved: 0.004, draws };
    let survivors = Survivors {
        names: 300,
        ended: 0,
        expected: 3.6,
        through: 0.9,
        by_year: BTreeMap::from([("2024".to_owned(), NamesOfYear { names: 300, ended: 0 })]),
        growth_ended: f64::NAN,
        growth_others: 0.05,
        context: SurvivorsContext { years: 3.0, fewest: 1 },
    };
    let verdict = |check, standing, number, limit, finding| Verdict { check, standing, number, limit, finding };
    vec![
        verdict(Check::KnownBefore, Standing::Passed, Some(0.0), Some(0.0), Finding::KnownBefore(known_before)),
        verdict(
            Check::ShuffledDates,
            Standing::Passed,
            Some(0.0012),
            Some(0.01),
            Finding::ShuffledDates(shuffled_dates),
        ),
        verdict(Check::Survivors, Standing::Warned, Some(0.0), None, Finding::Survivors(survivors)),
        verdict(Check::MaskedNames, Standing::Skipped, None, None, Finding::NoMaskedFactor),
    ]
}

fn manifest() -> Value {
    json!({
        "seed": 7,
        "known_at": "a value is known when the last of its documents was published",
        "versions": { "inkstone": "0.1.0", "jieba-rs": "0.11.0" },
        "inputs": { "prices": "b3".repeat(32), "documents": "a7".repeat(32) },
        "parameters": {
            "backtest": { "horizons": [1, 5, 20], "delay": null, "price": "open" },
            "limits": [{ "board": "main", "limit": 0.1 }, { "board": "star", "limit": 0.2 }],
            "note": "<&>"
        }
    })
}
