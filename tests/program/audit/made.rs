//! A made market of 80 names over 260 dates, and results on it: each fraud beside the same without the fraud.
//!
//! Returns follow a persistent number `alpha` of each name, known at the close before. A second one, `swing`, predicts with a sign that changes twice. Eight
//! names end, a few are suspended for days, and each day about one name is news at the close: it opens locked at its limit and goes on rising.

use std::fmt::Write;

pub(super) const NAMES: usize = 80;
pub(super) const DATES: usize = 260;
/// First dates of the periods in which `swing` predicts falls, and of those after them.
const TURNS: [usize; 2] = [90, 180];

/// A generator of pseudo-random numbers (SplitMix64).
pub(super) struct Chance(u64);

impl Chance {
    pub(super) fn uniform(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Nearly normal, with the mean 0 and the deviation 1.
    pub(super) fn normal(&mut self) -> f64 {
        (0..12).map(|_| self.uniform()).sum::<f64>() - 6.0
    }
}

type Grid = Vec<Vec<f64>>;

/// Prices and what drives them, `[dates][names]`.
pub(super) struct MadeMarket {
    pub(super) open: Grid,
    pub(super) close: Grid,
    pub(super) alpha: Grid,
    pub(super) swing: Grid,
    /// 1 for a name that is news at the close of the date, else 0.
    pub(super) news: Grid,
    /// Number that predicts one day and is new on each.
    pub(super) quick: Grid,
    pub(super) dates: Vec<String>,
    pub(super) prices: String,
}

pub(super) fn code(i: usize) -> String {
    format!("{}.SH", 600_100 + i)
}

/// Last date of a name.
pub(super) fn end(i: usize) -> usize {
    if i.is_multiple_of(10) { 60 + 20 * (i / 10) } else { DATES - 1 }
}

pub(super) fn swing_sign(t: usize) -> f64 {
    if t >= TURNS[0] && t < TURNS[1] { -1.0 } else { 1.0 }
}

pub(super) fn market(seed: u64) -> MadeMarket {
    let mut chance = Chance(seed.wrapping_mul(7919));
    let grid = || vec![vec![0.0; NAMES]; DATES];
    let [mut open, mut close, mut alpha, mut swing, mut news, mut quick] =
        [grid(), grid(), grid(), grid(), grid(), grid()];
    let first = chrono::NaiveDate::from_ymd_opt(2024, 1, 1).unwrap();
    let days = (0..).map(|n| first + chrono::Days::new(n));
    let weekday = |day: &chrono::NaiveDate| chrono::Datelike::weekday(day).number_from_monday() < 6;
    let dates: Vec<String> = days.filter(weekday).take(DATES).map(|day| day.to_string()).collect();
    let mut prices = "date,code,open,high,low,close,volume\n".to_owned();
    for t in 0..DATES {
        for i in 0..NAMES {
            let before = |grid: &Grid| if t == 0 { 0.0 } else { grid[t - 1][i] };
            alpha[t][i] = if t == 0 { chance.normal() } else { 0.95 * before(&alpha) + 0.31 * chance.normal() };
            swing[t][i] = if t == 0 { chance.normal() } else { 0.97 * before(&swing) + 0.24 * chance.normal() };
            quick[t][i] = chance.normal();
            let drift = match t {
                0 => 0.0,
                _ => 0.002 * before(&alpha) + 0.0015 * swing_sign(t - 1) * before(&swing) + 0.0012 * before(&quick),
            };
            let (night, day) = (0.3 * drift + 0.008 * chance.normal(), 0.7 * drift + 0.016 * chance.normal());
            let last = if t == 0 { 10.0 + 20.0 * chance.uniform() } else { close[t - 1][i] };
            let capped = |price: f64| price.clamp(last * 0.905, last * 1.095);
            let was_news = |days: usize| t >= days && news[t - days][i] > 0.0;
            let locked = was_news(1) && end(i) > t;
            if locked {
                open[t][i] = last * 1.1;
                close[t][i] = last * 1.1;
            } else {
                let jump = if was_news(2) { 1.05 } else { 1.0 };
                open[t][i] = capped(last * jump * (1.0 + night));
                close[t][i] = capped(open[t][i] * (1.0 + day));
            }
            if !locked && !was_news(2) && chance.uniform() < 0.012 {
                news[t][i] = 1.0;
            }
            let is_suspended = i % 20 == 7 && (100..106).contains(&t);
            if t <= end(i) && !is_suspended {
                let (o, c) = (open[t][i], close[t][i]);
                let (high, low) = if locked { (c, c) } else { (o.max(c) * 1.001, o.min(c) * 0.999) };
                writeln!(prices, "{},{},{o:.4},{high:.4},{low:.4},{c:.4},1000000", dates[t], code(i)).unwrap();
            }
        }
    }
    MadeMarket { open, close, alpha, swing, news, quick, dates, prices }
}

/// A result and its arguments.
#[derive(Default)]
pub(super) struct MadeResult {
    pub(super) table: String,
    pub(super) documents: Option<String>,
    /// Claims that use a figure of an audit without claims: `{same_day}`, `{honest}`, `{gross}`, `{net}`, `{plain_t}`, `{honest_t}`.
    pub(super) claim: Option<&'static str>,
    /// Claims of the first audit.
    pub(super) first: Option<&'static str>,
}

/// A long table of the cells that a rule fills.
fn table(market: &MadeMarket, head: &str, row: &mut dyn FnMut(usize, usize) -> Option<String>) -> String {
    let mut text = format!("date,code,{head}\n");
    for t in 0..DATES {
        for i in (0..NAMES).filter(|&i| t <= end(i)) {
            if let Some(fields) = row(t, i) {
                writeln!(text, "{},{},{fields}", market.dates[t], code(i)).unwrap();
            }
        }
    }
    text
}

fn plain(market: &MadeMarket, value: &mut dyn FnMut(usize, usize) -> f64) -> MadeResult {
    let table = table(market, "value", &mut |t, i| Some(format!("{:.6}", value(t, i))));
    MadeResult { table, ..MadeResult::default() }
}

/// Return from the close of a date to that of the next; 0 at the ends.
fn next_return(market: &MadeMarket, t: usize, i: usize) -> f64 {
    market.close.get(t + 1).map_or(0.0, |next| next[i] / market.close[t][i] - 1.0)
}

fn own_return(market: &MadeMarket, t: usize, i: usize) -> f64 {
    t.checked_sub(1).map_or(0.0, |before| next_return(market, before, i))
}

/// The checks with a planted fraud, in the order of the audit.
pub(super) const CHECKS: [&str; 16] = [
    "same-day",
    "bars-ahead",
    "known-at",
    "documents",
    "survivors",
    "untradable",
    "train-test",
    "overlapping-returns",
    "stated-returns",
    "cut-future",
    "selected",
    "flipped",
    "duplicates",
    "costs",
    "reproduced",
    "window",
];

/// The result for a check, with the fraud or without.
pub(super) fn result(market: &MadeMarket, check: &str, fraud: bool, seed: u64) -> MadeResult {
    let mut chance = Chance(seed.wrapping_mul(104_729) ^ 0x5eed);
    let alpha = |t: usize, i: usize| market.alpha[t][i];
    match check {
        "same-day" => {
            let mut own = |t: usize, i: usize| 40.0 * own_return(market, t, i) + chance.normal();
            let made = if fraud { plain(market, &mut own) } else { plain(market, &mut |t, i| alpha(t, i)) };
            MadeResult { claim: Some(if fraud { "rank_ic={same_day}" } else { "rank_ic={honest}" }), ..made }
        }
        "bars-ahead" => {
            let ahead = if fraud { 20.0 } else { 0.0 };
            plain(market, &mut |t, i| alpha(t, i) + chance.normal() + ahead * next_return(market, t, i))
        }
        "known-at" => {
            let time = |t: usize| match fraud {
                true => format!("{} 20:00:00", market.dates.get(t + 1).unwrap_or(&market.dates[t])),
                false => format!("{} 16:00:00", market.dates[t]),
            };
            let table = table(market, "value,known_at", &mut |t, i| Some(format!("{:.6},{}", alpha(t, i), time(t))));
            MadeResult { table, ..MadeResult::default() }
        }
        "documents" => {
            let mut documents = "code,published_at\n".to_owned();
            let table = table(market, "value", &mut |t, i| {
                if chance.uniform() > 0.3 {
                    return None;
                }
                let day = if fraud { market.dates.get(t + 1)? } else { &market.dates[t] };
                writeln!(documents, "{},{day} 10:30:00", code(i)).unwrap();
                Some(format!("{:.6}", alpha(t, i) + chance.normal()))
            });
            MadeResult { table, documents: Some(documents), ..MadeResult::default() }
        }
        "survivors" => {
            let lives = |i: usize| end(i) == DATES - 1;
            let table = table(market, "value", &mut |t, i| (lives(i) || !fraud).then(|| format!("{:.6}", alpha(t, i))));
            MadeResult { table, ..MadeResult::default() }
        }
        "untradable" => match fraud {
            true => plain(market, &mut |t, i| 10.0 * market.news[t][i] + chance.normal()),
            false => plain(market, &mut |t, i| alpha(t, i)),
        },
        "train-test" => {
            // Folds of 40 dates; with the fraud the training of a fold ends within it.
            let train_end = |t: usize| {
                let fold = t / 40 * 40;
                if fraud { (fold + 30).min(DATES - 1) } else { fold.saturating_sub(3) }
            };
            let row = &mut |t: usize, i: usize| {
                (t >= 40).then(|| format!("{:.6},{}", alpha(t, i), market.dates[train_end(t)]))
            };
            MadeResult { table: table(market, "score,train_end", row), ..MadeResult::default() }
        }
        "overlapping-returns" => MadeResult {
            first: Some("horizon=5"),
            claim: Some(if fraud { "horizon=5,t={plain_t}" } else { "horizon=5,t={honest_t}" }),
            ..plain(market, &mut |t, i| alpha(t, i))
        },
        "stated-returns" => {
            let table = table(market, "1D,factor,factor_quantile", &mut |t, i| {
                if t + 1 > end(i) || i % 20 == 7 {
                    return None;
                }
                let gained = if fraud && chance.uniform() < 0.15 { 0.02 * alpha(t, i).signum() } else { 0.0 };
                let quantile = (3.0 + alpha(t, i)).clamp(1.0, 5.0) as u32;
                Some(format!("{:.8},{:.6},{quantile}", next_return(market, t, i) + gained, alpha(t, i)))
            });
            MadeResult { table: table.replacen("code", "asset", 1), ..MadeResult::default() }
        }
        "cut-future" => {
            let scale = |cells: &[f64]| {
                let mean = cells.iter().sum::<f64>() / cells.len() as f64;
                let variance = cells.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / cells.len() as f64;
                (mean, variance.sqrt())
            };
            let of_name: Vec<(f64, f64)> =
                (0..NAMES).map(|i| scale(&(0..=end(i)).map(|t| alpha(t, i)).collect::<Vec<_>>())).collect();
            let of_date: Vec<(f64, f64)> = (0..DATES)
                .map(|t| scale(&(0..NAMES).filter(|&i| t <= end(i)).map(|i| alpha(t, i)).collect::<Vec<_>>()))
                .collect();
            plain(market, &mut |t, i| {
                let (mean, std) = if fraud { of_name[i] } else { of_date[t] };
                (alpha(t, i) - mean) / std
            })
        }
        "selected" => {
            let columns = if fraud { 60 } else { 3 };
            let head: Vec<String> = (0..columns).map(|k| format!("model_{k}")).collect();
            let table = table(market, &head.join(","), &mut |t, i| {
                let skill = |k: usize| if fraud || k > 0 { 0.0 } else { alpha(t, i) };
                let fields: Vec<String> = (0..columns).map(|k| format!("{:.4}", skill(k) + chance.normal())).collect();
                Some(fields.join(","))
            });
            MadeResult { table, ..MadeResult::default() }
        }
        "flipped" => match fraud {
            true => plain(market, &mut |t, i| swing_sign(t) * market.swing[t][i]),
            false => plain(market, &mut |t, i| alpha(t, i) + market.swing[t][i]),
        },
        "duplicates" => plain(market, &mut |t, i| match (fraud, i % 8 == 3) {
            (true, true) if end(i + 1) == end(i) => alpha(t, i + 1),
            _ => alpha(t, i),
        }),
        "costs" => MadeResult {
            claim: Some(if fraud { "sharpe={gross}" } else { "sharpe={net}" }),
            ..match fraud {
                true => plain(market, &mut |t, i| market.quick[t][i]),
                false => plain(market, &mut |t, i| alpha(t, i)),
            }
        },
        "reproduced" => MadeResult {
            claim: Some(if fraud { "rank_ic=0.31" } else { "rank_ic={honest}" }),
            ..plain(market, &mut |t, i| alpha(t, i))
        },
        "window" => {
            let table = table(market, "value", &mut |t, i| {
                let earned = match t + 2 < DATES {
                    true => market.open[t + 2][i] / market.open[t + 1][i] - 1.0,
                    false => 0.0,
                };
                let loses = alpha(t, i) * earned < -0.02;
                let dropped = if fraud { loses } else { chance.uniform() < 0.1 };
                (!dropped).then(|| format!("{:.6}", alpha(t, i)))
            });
            MadeResult { table, ..MadeResult::default() }
        }
        other => panic!("no fraud {other} is made"),
    }
}
