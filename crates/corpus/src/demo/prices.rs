//! Daily prices: noise, the returns planted by documents, and the exchanges' limits and suspensions.
//!
//! Each company has a fair log price that moves overnight and between open and close. The printed open and close are
//! the fair price cut to the day's limits, so a move that is too large for one day goes on at the next, and a
//! suspended name jumps when it comes back. Panels are `[days, companies]` row-major; returns are log returns.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;

use anyhow::Result;
use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use rand_distr::StandardNormal;

use super::calendar::Calendar;
use super::companies::Company;
use super::rng::{Stream, rng};
use super::truth::{Effect, SecurityCounts};
use inkstone_base::disk;
use inkstone_base::job::Ctx;

/// Daily standard deviations of the market's and of an industry's return.
const MARKET_SIGMA: f64 = 0.009;
const INDUSTRY_SIGMA: f64 = 0.005;
/// Share of a day's variance that comes overnight.
const OVERNIGHT: f64 = 0.25;
/// On this share of days a name is this many times as volatile as usual: fat tails.
const WILD_DAYS: f64 = 0.05;
const WILD: f64 = 2.2;
/// Share of the same-day part of overnight news that leaks into the session before.
const LEAK: f64 = 0.35;

/// Returns that documents add to the fair prices.
pub(super) struct Planting {
    width: usize,
    overnight: Vec<f32>,
    intraday: Vec<f32>,
}

impl Planting {
    pub(super) fn new(days: usize, width: usize) -> Planting {
        Planting { width, overnight: vec![0.0; days * width], intraday: vec![0.0; days * width] }
    }

    /// Adds the document with tone `tone` that can be traded on day `day` at the earliest. `overnight`: it came out
    /// when the exchanges were closed. `shock`: a further log return at once, for events that lock a name at its limit.
    pub(super) fn add(&mut self, effect: &Effect, i: usize, day: usize, overnight: bool, tone: f64, shock: f64) {
        let at = |t: usize| t * self.width + i;
        let same_day = (effect.same_day * tone) as f32;
        self.overnight[at(day)] += shock as f32;
        if overnight {
            // Somebody knew it in the session before; the rest is in the opening price.
            let leak = LEAK as f32 * same_day;
            if day > 0 {
                self.intraday[at(day - 1)] += leak;
            }
            self.overnight[at(day)] += same_day - leak;
        } else {
            self.overnight[at(day)] += 0.4 * same_day;
            self.intraday[at(day)] += 0.6 * same_day;
        }
        self.drift(effect, i, day, effect.drift * tone);
    }

    /// Adds what a document about a customer that can be traded on day `day` at the earliest does to a supplier.
    pub(super) fn spill_over(&mut self, effect: &Effect, supplier: usize, day: usize, tone: f64) {
        self.drift(effect, supplier, day, effect.spill_over * tone);
    }

    /// Adds a log return that comes over the days from the open of the next day on.
    fn drift(&mut self, effect: &Effect, i: usize, day: usize, total: f64) {
        let days = self.overnight.len() / self.width;
        let at = |t: usize| t * self.width + i;
        for (k, share) in effect.drift_shares.iter().enumerate() {
            let (open, next) = (day + 1 + k, day + 2 + k);
            let drift = total * share;
            if open < days {
                self.intraday[at(open)] += (drift * effect.intraday_share) as f32;
            }
            if next < days {
                self.overnight[at(next)] += (drift * (1.0 - effect.intraday_share)) as f32;
            }
        }
    }
}

/// The daily limit of each company as a share; infinite where there is none, NaN where the company does not trade.
pub(super) fn limits(companies: &[Company], calendar: &Calendar) -> Vec<f32> {
    let limit = |t: usize, c: &Company| match () {
        () if !c.trades_on(t) => f32::NAN,
        () if c.is_new(t) => f32::INFINITY,
        () => c.board.limit(c.span_at(t).st) as f32,
    };
    (0..calendar.len()).flat_map(|t| companies.iter().map(move |c| limit(t, c))).collect()
}

/// Log prices relative to each company's first; NaN on days without trading.
pub(super) struct Walk {
    pub(super) open: Vec<f64>,
    pub(super) close: Vec<f64>,
}

/// One market: redraw 0 is the one that is written, others differ in their noise alone.
pub(super) fn walk(companies: &[Company], limits: &[f32], planting: &Planting, seed: u64, redraw: u64) -> Walk {
    let width = companies.len();
    let mut rng = rng(seed, Stream::Noise, redraw);
    let mut walk = Walk { open: vec![f64::NAN; limits.len()], close: vec![f64::NAN; limits.len()] };
    let mut fair = vec![0.0; width];
    let mut last = vec![0.0; width];
    let industries = companies.iter().map(|c| c.industry + 1).max().unwrap_or(0);
    let mut common = vec![(0.0, 0.0); industries];
    let normal = |rng: &mut ChaCha8Rng| rng.sample::<f64, _>(StandardNormal);
    let (night, day) = (OVERNIGHT.sqrt(), (1.0 - OVERNIGHT).sqrt());
    for t in 0..limits.len() / width {
        let market = (MARKET_SIGMA * night * normal(&mut rng), MARKET_SIGMA * day * normal(&mut rng));
        for pair in &mut common {
            *pair = (INDUSTRY_SIGMA * night * normal(&mut rng), INDUSTRY_SIGMA * day * normal(&mut rng));
        }
        for (i, company) in companies.iter().enumerate() {
            let at = t * width + i;
            let wild = if rng.random_bool(WILD_DAYS) { WILD } else { 1.0 };
            let (z_night, z_day) = (normal(&mut rng), normal(&mut rng));
            if !(company.listed..company.delisted).contains(&t) {
                continue;
            }
            let industry = common[company.industry];
            let own = company.sigma * wild;
            let opening = fair[i]
                + company.beta * market.0
                + industry.0
                + own * night * z_night
                + f64::from(planting.overnight[at]);
            fair[i] =
                opening + company.beta * market.1 + industry.1 + own * day * z_day + f64::from(planting.intraday[at]);
            let limit = f64::from(limits[at]);
            if limit.is_nan() {
                continue;
            }
            let (low, high) = (last[i] + (1.0 - limit.min(0.99)).ln(), last[i] + (1.0 + limit).ln());
            walk.open[at] = opening.clamp(low, high);
            walk.close[at] = fair[i].clamp(low, high);
            last[i] = walk.close[at];
        }
    }
    walk
}

/// Writes `prices.csv`: one row per listed security and day, sorted by date and code.
///
/// Prices need no adjustment: there are no splits and dividends. On suspended days all but date and code is empty;
/// the first five days after a listing have no limits.
pub(super) fn write(
    path: &Path,
    companies: &[Company],
    calendar: &Calendar,
    limits: &[f32],
    walk: &Walk,
    seed: u64,
    ctx: &Ctx,
) -> Result<SecurityCounts> {
    let width = companies.len();
    let mut rng = rng(seed, Stream::Volume, 0);
    let mut last: Vec<f64> = companies.iter().map(|c| cents(c.price)).collect();
    let mut counts = SecurityCounts { securities: width, ..SecurityCounts::default() };
    disk::write_atomic(path, |out| {
        out.write_all(b"date,code,open,high,low,close,vwap,volume,amount,market_cap,up_limit,down_limit\n")?;
        let mut line = String::new();
        for (t, date) in calendar.days().iter().enumerate() {
            for (i, company) in companies.iter().enumerate() {
                if !(company.listed..company.delisted).contains(&t) {
                    continue;
                }
                counts.prices += 1;
                line.clear();
                write!(line, "{date},{}", company.code)?;
                let at = t * width + i;
                if walk.close[at].is_nan() {
                    counts.suspended += 1;
                    line.push_str(",,,,,,,,,,\n");
                } else {
                    let limit = f64::from(limits[at]);
                    let limited = limit.is_finite();
                    let (up, down) = if limited {
                        (cents(last[i] * (1.0 + limit)), cents(last[i] * (1.0 - limit)).max(0.01))
                    } else {
                        (f64::INFINITY, 0.01)
                    };
                    let price = |log: f64| cents(company.price * log.exp()).clamp(down, up);
                    let (open, close) = (price(walk.open[at]), price(walk.close[at]));
                    let locked = limited && open == close && (open == up || open == down);
                    let (reach, dip): (f64, f64) = (rng.random(), rng.random());
                    let spread = 0.6 * company.sigma;
                    let (high, low, turnover) = if locked {
                        counts.locked += 1;
                        (open, open, 0.0008)
                    } else {
                        let busy = 0.4 * rng.sample::<f64, _>(StandardNormal) + 12.0 * (close / last[i] - 1.0).abs();
                        let high = cents(open.max(close) * (1.0 + spread * reach)).min(up);
                        let low = cents(open.min(close) * (1.0 - spread * dip)).max(down);
                        (high, low, 0.01 * busy.exp())
                    };
                    let volume = (company.shares * turnover.min(0.5) / 100.0).round().max(1.0) * 100.0;
                    let vwap = ((open + high + low + 2.0 * close) / 5.0).clamp(low, high);
                    let cap = company.shares * close;
                    write!(
                        line,
                        ",{open:.2},{high:.2},{low:.2},{close:.2},{vwap:.4},{volume:.0},{:.0},{cap:.0}",
                        vwap * volume
                    )?;
                    if limited {
                        write!(line, ",{up:.2},{down:.2}")?;
                    } else {
                        line.push_str(",,");
                    }
                    line.push('\n');
                    last[i] = close;
                }
                out.write_all(line.as_bytes())?;
            }
            ctx.check()?;
        }
        Ok(())
    })?;
    Ok(counts)
}

fn cents(price: f64) -> f64 {
    (price * 100.0).round() / 100.0
}
