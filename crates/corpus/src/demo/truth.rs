//! The planted effect: the parameters, the counts, and the rank correlations that a good reader must find.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::Params;

/// The truth of a demo market, written to `truth.json`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Truth {
    /// Says that all of it is invented.
    pub notice: String,
    /// Hash of the grammar and the generator's version: equal values and equal parameters mean equal files.
    pub generator: String,
    /// Parameters that it was made with.
    pub scale: f64,
    /// Seed that it was made with.
    pub seed: u64,
    /// First and last trading day, and their number.
    pub calendar: (chrono::NaiveDate, chrono::NaiveDate, usize),
    /// Securities, their dated rows, suspended and limit-locked security-days.
    pub securities: SecurityCounts,
    /// Documents by source as a reader must accept them.
    pub sources: BTreeMap<String, SourceTruth>,
    /// Documents in all that a reader must accept.
    pub documents: u64,
    /// Rows in all that a reader must refuse.
    pub rejects: u64,
    /// Accepted documents that repeat an earlier one with light edits.
    pub reposts: u64,
    /// Accepted documents that speak of two companies.
    pub about_two: u64,
    /// Accepted documents that speak of no company.
    pub market_wide: u64,
    /// Accepted documents on events so grave that the price jumps to its limit at once.
    pub shocks: u64,
    /// The phrases that make the tones.
    pub phrases: Phrases,
    pub effect: Effect,
    /// The factor that the correlations below are those of.
    pub factor: String,
    /// Method of the intervals, in words.
    pub interval_method: String,
    /// Mean RankIC, bought at the open of T+1 and sold at the open of T+2.
    pub rank_ic_1: Planted,
    /// Mean RankIC, bought at the open of T+1 and sold at the open of T+6.
    pub rank_ic_5: Planted,
    /// Mean RankIC with the return from the close of T-1 to the close of T: it was there before the text.
    pub rank_ic_same_day: Planted,
    /// Definition of the placebo, in words.
    pub placebo: String,
    /// Mean RankIC of the placebo, bought at the open of T+1 and sold at the open of T+2.
    pub placebo_rank_ic_1: Planted,
    /// Mean RankIC of the mean factor of a company's customers, bought at the open of T+1 and sold at the open of T+2.
    pub customers_rank_ic_1: Planted,
}

/// Counts of the security table and the price table.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct SecurityCounts {
    pub securities: usize,
    /// Rows of the dated table.
    pub rows: usize,
    pub prices: u64,
    /// Security-days without trading.
    pub suspended: u64,
    /// Security-days that traded at one price, the limit.
    pub locked: u64,
}

/// The phrases that count as positive or negative where they are written, ascending. The sign is that after negation.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Phrases {
    /// Words that count as positive.
    pub positive: Vec<String>,
    /// Words that count as negative.
    pub negative: Vec<String>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct SourceTruth {
    /// Files, relative to the folder of the market; `*` stands for anything.
    pub path: String,
    pub format: String,
    pub files: u64,
    /// Documents to accept.
    pub documents: u64,
    /// Rows to refuse, by reason.
    pub rejects: BTreeMap<String, u64>,
}

/// Effect of the tone s of a document on the price of each company that it is about: log returns for s = 1.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Effect {
    /// Before and at publication: a share before, the rest in the gap that cannot be traded.
    pub same_day: f64,
    /// Over the days after the open of T+1, in all.
    pub drift: f64,
    /// Shares of the drift from the open of T+k to the open of T+k+1, k = 1, 2, ...
    pub drift_shares: Vec<f64>,
    /// Share of each of those days' drift that comes between open and close.
    pub intraday_share: f64,
    /// Over the same days as the drift, in all, on each company that supplies one that the document is about (`relations.csv`).
    pub spill_over: f64,
    /// Only first mentions move prices.
    pub first_mentions_only: bool,
}

/// A mean rank correlation: its distribution over redrawn return noise, and the value in the market as written.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Planted {
    /// Mean over the redraws.
    pub mean: f64,
    /// Lower end of the 95 % interval.
    pub low: f64,
    /// Upper end of the 95 % interval.
    pub high: f64,
    /// RankIC of the written tones in the written prices (before prices are rounded to 0.01).
    pub realised: f64,
    /// Dates that count, and names a date on average.
    pub dates: usize,
    /// Names with a value and a return, on average over the dates.
    pub names: f64,
}

impl Truth {
    /// True if the market beside this truth is the one that these parameters give with this program.
    pub fn stands_for(&self, params: &Params) -> bool {
        self.scale == params.scale && self.seed == params.seed && self.generator == super::generator().hex()
    }
}
